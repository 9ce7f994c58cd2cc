//! Figures other people have published, to stand beside ours.

use crate::images::Split;

/// HOS of one method, per task in the order of [`Benchmark::tasks`](super::Benchmark::tasks), and its average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    /// Who.
    pub name: &'static str,
    /// Per task; empty where only the average is known to us.
    pub tasks: &'static [f64],
    /// As published.
    pub average: f64,
}

/// What is published for a split: ResNet-50, source-free.
pub fn published(split: Split) -> &'static [Published] {
    match split {
        Split::Office31Paper => &[
            Published {
                name: "the paper",
                tasks: &[89.2, 83.9, 78.0, 93.2, 71.8, 96.6],
                average: 85.4,
            },
            Published {
                name: "USD",
                tasks: &[81.2, 77.9, 73.9, 97.3, 74.0, 95.2],
                average: 83.3,
            },
            Published {
                name: "AaD",
                tasks: &[78.3, 74.3, 74.2, 87.0, 73.0, 95.7],
                average: 80.4,
            },
            Published {
                name: "SHOT",
                tasks: &[62.0, 58.7, 53.3, 86.1, 59.6, 82.1],
                average: 67.0,
            },
        ],
        Split::OfficeHome => &[
            Published {
                name: "the paper",
                tasks: &[],
                average: 66.0,
            },
            Published {
                name: "USD",
                tasks: &[],
                average: 65.9,
            },
            Published {
                name: "AaD",
                tasks: &[],
                average: 63.6,
            },
            Published {
                name: "SHOT",
                tasks: &[],
                average: 45.6,
            },
            Published {
                name: "GLC",
                tasks: &[],
                average: 69.8,
            },
        ],
        _ => &[],
    }
}
