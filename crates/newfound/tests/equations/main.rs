//! Every equation of the method, verified four ways:
//!
//! - `by_hand`: a value that can be worked out on paper;
//! - `limits`: one-hot, uniform, empty, single, huge;
//! - `twin`: the same formula as scalar loops in double precision, on generated inputs, with gradients by central
//!   differences;
//! - `golden`: a fixture with value and gradient from an independent PyTorch transcription of the paper.

#[allow(
    dead_code,
    reason = "the networks read more of a case than the equations"
)]
mod fixture;
mod generate;
mod layers;

mod geometry;

// Section III-B: where the target model starts.
mod k_means;
mod matching;
mod prototypes;

// Section III-A: the layers after the body.
mod bottleneck;
mod classifier;

// Section III-C: pseudo-labels.
mod bank;
mod first_fill;
mod neighbours;
mod neighbour_consensus;

// Section III-D: uncertainty and selection.
mod u_nc;
mod u_cs;
mod weight;
mod selection;

// Sections III-E to III-G: losses.
mod complementary;
mod negative_learning;
mod queue;
mod history;
mod negatives;
mod contrastive;
mod diversity;
mod total;

// How parameters move.
mod cross_entropy;
mod optimiser;
mod ema;
