//! Labels for images nobody has labelled. Section III-C of the paper.

mod complementary;
mod first_fill;
mod neighbour_consensus;
mod neighbours;

pub use complementary::complementary_labels;
pub use first_fill::first_fill;
pub use neighbour_consensus::neighbour_consensus;
pub use neighbours::nearest;
