//! Where the target model starts: clusters of the target's features. Section III-B of the paper.

mod grouping;
mod kmeans;
mod matching;
mod prototypes;

pub use grouping::{Grouping, KnownClusters, one_to_one, several};
pub use kmeans::{Clusters, KMeans, KMeansOptions, assign, k_means};
pub(crate) use kmeans::{fill_empty, means, plus_plus};
pub use matching::{Match, Matching, match_prototypes};
pub use prototypes::{SharedPrototypes, extend, ordered_centroids};
