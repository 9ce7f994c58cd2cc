//! Images on disk: which there are, what is in them, and which of them can be used.
//!
//! [`listing`] finds the files, [`decode`] turns one into pixels, [`survey`] looks at all of them before a run
//! starts, [`thumbnail`] makes a small picture to look at.

pub mod listing;
pub mod decode;
mod survey;
mod thumbnail;

pub use decode::Reason;
pub use listing::{Drawn, ImageList, LabelledList, ListError, Side, Split, labelled, list};
pub use survey::{BadImage, Survey, Surveyed, survey};
pub use thumbnail::thumbnail;
