//! What the loop remembers between steps: the bank, the key queue and the label history.

mod bank;
mod history;
mod negatives;
mod queue;

pub use bank::Bank;
pub use history::History;
pub use negatives::{draw_negatives, negatives};
pub use queue::Queue;
