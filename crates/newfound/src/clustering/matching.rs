//! Which cluster is which known class.

use serde::{Deserialize, Serialize};

use crate::metrics::assignment::{self, AssignmentError};

/// How prototypes and centroids are paired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Matching {
    /// The pairs of highest total similarity.
    Hungarian,
    /// The most similar pair first, then the most similar of what is left.
    Greedy,
}

/// The cluster that a known class was given.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Match {
    /// Its cluster.
    pub centroid: usize,
    /// Cosine of prototype and centroid.
    pub similarity: f64,
    /// By how much this beats the prototype's best other centroid; negative if another one was nearer.
    pub margin: f64,
}

/// A match whose margin is below this looks arbitrary: the prototype is about as near to another cluster.
pub const DOUBTFUL_MARGIN: f64 = 0.02;

impl Match {
    /// Of a prototype, given its cosines with all centroids, and its centroid.
    pub fn of(cosines: &[f64], centroid: usize) -> Self {
        let others = cosines
            .iter()
            .enumerate()
            .filter(|&(other, _)| other != centroid);
        let runner_up = others.map(|(_, &s)| s).fold(f64::NEG_INFINITY, f64::max);
        let similarity = cosines[centroid];
        // With a single centroid there is no other to compare with: cosines span 2.
        let margin = if runner_up.is_finite() {
            similarity - runner_up
        } else {
            2.0
        };
        Self {
            centroid,
            similarity,
            margin,
        }
    }

    /// Whether the pairing looks arbitrary.
    pub fn is_doubtful(&self) -> bool {
        self.margin < DOUBTFUL_MARGIN
    }
}

/// Pairs each prototype with a centroid of its own.
///
/// **Section III-B.** The paper takes "the highest similarity" for each prototype, which can give two classes the
/// same cluster although it speaks of a permutation; both forms here are one-to-one.
///
/// # Shapes
///
/// `similarities` [C, K] cosines, row by row, C ≤ K → C
///
/// # Errors
///
/// If a cosine is not finite.
pub fn match_prototypes(
    similarities: &[f64],
    clusters: usize,
    matching: Matching,
) -> Result<Vec<Match>, AssignmentError> {
    let classes = similarities.len() / clusters;
    let centroids = match matching {
        Matching::Hungarian => assignment::hungarian(similarities, classes, clusters),
        Matching::Greedy => assignment::greedy(similarities, classes, clusters),
    }?;
    Ok(similarities
        .chunks_exact(clusters)
        .zip(centroids)
        .map(|(row, centroid)| Match::of(row, centroid))
        .collect())
}
