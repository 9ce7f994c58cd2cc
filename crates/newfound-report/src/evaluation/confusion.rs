//! What was taken for what.

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::words::{self, visible};

/// Images by true class (rows) and predicted class (columns).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confusion {
    /// True classes: the known names, then those that were new to the model.
    pub rows: Vec<String>,
    /// Predicted classes: the known names in the same order, then `unknown-1`, `unknown-2`, …
    pub columns: Vec<String>,
    /// Number of known classes: where the new rows, and the new columns, begin.
    pub known: usize,
    /// `counts[row][column]`, in images.
    pub counts: Vec<Vec<usize>>,
}

impl Confusion {
    /// Labels may name many classes that have nothing to do with these images.
    fn matters(&self, row: usize) -> bool {
        row < self.known || self.counts[row].iter().any(|&n| n > 0)
    }

    /// The first row of a class that was new to the model.
    fn first_new(&self) -> Option<usize> {
        (self.known..self.counts.len()).find(|&row| self.matters(row))
    }

    /// A known image is right in its own column, a new one in any new column.
    fn is_right(&self, row: usize, column: usize) -> bool {
        if row < self.known {
            row == column
        } else {
            column >= self.known
        }
    }
}

pub fn table(confusion: &Confusion) -> Markup {
    html! {
        h3 { "What was taken for what" }
        @if confusion.counts.is_empty() { p.aside { "Nothing was counted." } } @else {
            p {
                "A row is what the images are, a column is what they were taken for. The stronger the colour, the larger the share of the row: "
                span.swatch.right { "right" } " or " span.swatch.wrong { "wrong" } ". Good is a matrix where nearly all is right."
            }
            div.scroll tabindex="0" role="region" aria-label="Confusion matrix" {
                table.confusion {
                    thead {
                        tr {
                            th {}
                            @for (column, raw) in confusion.columns.iter().enumerate() {
                                th.border[column == confusion.known] scope="col" title=(visible(raw)) {
                                    span { (words::name(raw)) }
                                }
                            }
                        }
                    }
                    tbody { @for row in (0..confusion.counts.len()).filter(|&row| confusion.matters(row)) { (line(confusion, row)) } }
                }
            }
        }
    }
}

fn line(confusion: &Confusion, row: usize) -> Markup {
    let counts = &confusion.counts[row];
    let total = counts.iter().sum::<usize>().max(1);
    let truth = confusion.rows.get(row).map_or("", String::as_str);
    html! {
        tr.border[Some(row) == confusion.first_new()] {
            th scope="row" title=(visible(truth)) { (words::name(truth)) }
            @for (column, &n) in counts.iter().enumerate() {
                td class=(class(confusion, row, column, n)) style=[shade(n, total)] {
                    @if n > 0 { (words::count(n)) }
                }
            }
        }
    }
}

fn class(confusion: &Confusion, row: usize, column: usize, n: usize) -> String {
    let verdict = match (n, confusion.is_right(row, column)) {
        (0, _) => "none",
        (_, true) => "right",
        (_, false) => "wrong",
    };
    let border = if column == confusion.known {
        " border"
    } else {
        ""
    };
    format!("{verdict}{border}")
}

/// The share of the row, for the style sheet to turn into a colour.
fn shade(n: usize, total: usize) -> Option<String> {
    (n > 0).then(|| format!("--share:{:.0}%", 100.0 * n as f64 / total as f64))
}
