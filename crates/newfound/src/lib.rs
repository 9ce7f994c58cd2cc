//! Adapts an image classifier to a new place, tells unknown images from known ones, and sorts the unknown into new
//! classes of their own, without the data the classifier was trained on.
//!
//! The method is that of Litrico et al., "Uncertainty-guided Open-Set Source-Free Unsupervised Domain Adaptation with
//! Target-private Class Segregation". `PAPER.md` leads from each of its equations to the function, test and fixture.
//!
//! The modules in reading order:

// The pieces.
// One seeded generator, split by name.
pub mod random;
// Folders, lists and files of images.
pub mod images;
// Weak, strong and test views of an image.
pub mod views;
// Files of named tensors.
pub mod weights;
// Files that appear whole or not at all.
pub mod atomic;
// Directions and angles.
pub mod geometry;
// Classes as rows of yes and no.
pub mod indicator;
// The model g = h ∘ φ.
pub mod network;
// K-means, matching, private prototypes.
pub mod clustering;
// How many new classes, and which images are new.
pub mod discovery;
// Which images the source model is undecided about.
pub mod indecision;
// The bank, the key queue, the label history.
pub mod memory;
// First probabilities, neighbours' consensus, complementary labels.
pub mod pseudo_labels;
// u_nc, u_cs and the selection.
pub mod uncertainty;
// Negative learning, contrast, diversity.
pub mod losses;
// OS*, UNK, HOS and the rest.
pub mod metrics;
// SGD and its rates.
pub mod optimiser;

// The work.
// The paper's loop.
pub mod algorithm;
// Every choice by name.
pub mod config;
// What a run tells while it works.
pub mod events;
// What frozen layers make of images, kept on disk.
pub mod cache;
// Batches of views, ahead of the network.
pub mod supply;
// Source training.
pub mod train;
// The job of `adapt`.
pub mod adapt;
// The target model before the first step.
pub mod initialise;
// Whether the result can be believed.
pub mod health;
// As many new classes as were counted, in one classifier.
mod settle;
// Predictions of the final model.
pub mod outcome;
// The run folder.
pub mod run;
// The final model as a file for other tools.
pub mod export;
// The paper's experiments.
pub mod bench;
// Scores of a run; the only module that reads target labels.
pub mod evaluate;
// Devices by name.
pub mod device;
// From paths and options to a job.
pub mod request;
// The built-in two-domain image set.
pub mod demo;
// A map of the target, for people to look at.
pub mod map;
// What a finished run says about its images and classes.
pub mod insight;
// What the system says about this process.
pub mod process;
// Names someone may have meant.
mod near;
// What can go wrong, and what to do.
pub mod error;

pub use error::{Error, ErrorKind, Result};
