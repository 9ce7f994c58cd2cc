//! Accuracy of every true class.

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::ClassKind;
use crate::charts::{Bar, bars};
use crate::words::{counted, decimal_or_dash, visible};

/// The result for one true class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassScore {
    /// Its name in the labels.
    pub name: String,
    /// Whether the source model knew it; `Discovered` for a class that was new to it.
    pub kind: ClassKind,
    /// Images it has.
    pub images: usize,
    /// Known class: percentage of its images that were given to it. New class: percentage of its
    /// images that were recognised as new.
    pub accuracy: Option<f64>,
    /// The same for the model before the adaptation, if known.
    pub source_accuracy: Option<f64>,
}

impl ClassScore {
    /// Labels may name many classes that have nothing to do with these images.
    fn matters(&self) -> bool {
        self.kind == ClassKind::Known || self.images > 0
    }
}

pub fn chart(classes: &[ClassScore]) -> Markup {
    let compared = classes.iter().any(|class| class.source_accuracy.is_some());
    html! {
        h3 { "Accuracy of each class" }
        p {
            "Known classes: images that were given to the right class. New classes: images that were recognised as new, in whatever class. Long bars are good, and longer than before is better."
            @if compared { " The mark across a bar is the model before the adaptation." }
        }
        (bars(&classes.iter().filter(|class| class.matters()).map(bar).collect::<Vec<_>>()))
    }
}

fn bar(class: &ClassScore) -> Bar<'_> {
    let share = |percentage: Option<f64>| percentage.map(|figure| figure / 100.0);
    Bar {
        name: &class.name,
        kind: class.kind,
        share: share(class.accuracy),
        mark: share(class.source_accuracy),
        value: decimal_or_dash(class.accuracy, 0),
        title: format!(
            "{}: {} of {}, before {}",
            visible(&class.name),
            decimal_or_dash(class.accuracy, 1),
            counted(class.images, "image", "images"),
            decimal_or_dash(class.source_accuracy, 1),
        ),
    }
}
