//! How far a pseudo-label can be trusted, and which images are used. Section III-D of the paper.

mod class_separation;
mod neighbour_consensus;
mod selection;
mod weight;

pub use class_separation::{Separation, class_separation};
pub use neighbour_consensus::neighbour_consensus_uncertainty;
pub use selection::{Combination, select};
pub use weight::{WeightFunction, weight};
