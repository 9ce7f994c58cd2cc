//! Charts as SVG, drawn when the page is written: no script, no library, sharp on paper.
//!
//! Colours and fonts come from the style sheet through classes, so that a chart follows the page
//! from light to dark. A chart never contains a coordinate that is not a number: values that cannot
//! be drawn are left out, and a chart without any value says so.

pub mod axis;
pub mod bars;
pub mod dots;
mod frame;
pub mod histogram;
pub mod line;
pub mod reliability;

pub use axis::Axis;
pub use bars::{Bar, bars};
pub use dots::{DotChart, DotRow};
pub use histogram::histogram;
pub use line::{Line, SERIES, Series};
pub use reliability::{ReliabilityChart, ReliabilityCurve};
