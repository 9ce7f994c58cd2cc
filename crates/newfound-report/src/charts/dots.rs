//! A chart of its own: one row for each thing compared, one dot for each way it was measured.

use maud::{Markup, PreEscaped, html};

use super::Axis;
use super::frame::at;

/// What is compared.
#[derive(Debug, Clone, PartialEq)]
pub struct DotChart {
    /// Above the chart.
    pub title: String,
    /// Below the axis.
    pub unit: String,
    /// The ways, in the order of the dots; at most four of them.
    pub series: Vec<String>,
    /// From top to bottom.
    pub rows: Vec<DotRow>,
}

/// One thing.
#[derive(Debug, Clone, PartialEq)]
pub struct DotRow {
    /// Its name.
    pub name: String,
    /// For each way its value and how far it spreads; absent values are not drawn.
    pub values: Vec<Option<(f64, Option<f64>)>>,
}

/// One colour for each way, told apart by colour-blind readers too, on white and on black.
const COLOURS: [&str; 4] = ["#8a8a8a", "#d08700", "#0077bb", "#b3367e"];

const WIDTH: f64 = 720.0;
const LEFT: f64 = 250.0;
const RIGHT: f64 = WIDTH - 24.0;
const TOP: f64 = 64.0;
const ROW: f64 = 34.0;

impl DotChart {
    /// An SVG file.
    pub fn render(&self) -> String {
        let ends = self.rows.iter().flat_map(|row| &row.values).flatten();
        let axis = Axis::covering(ends.flat_map(|&(value, spread)| {
            let spread = spread.unwrap_or(0.0);
            [value - spread, value + spread]
        }));
        let bottom = TOP + ROW * self.rows.len() as f64;
        let height = bottom + 44.0;
        let svg = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (height) } width=(WIDTH) height=(height)
                role="img" aria-label=(self.title) font-family="system-ui, sans-serif" font-size="13" {
                rect width="100%" height="100%" fill="#ffffff" {}
                text x="12" y="24" font-size="15" font-weight="600" { (self.title) }
                (self.legend())
                @for (position, label) in axis.ticks() {
                    line x1=(at(along(position))) x2=(at(along(position))) y1=(at(TOP)) y2=(at(bottom)) stroke="#dddddd" {}
                    text x=(at(along(position))) y=(at(bottom + 18.0)) text-anchor="middle" fill="#555555" { (label) }
                }
                text x=(at((LEFT + RIGHT) / 2.0)) y=(at(bottom + 36.0)) text-anchor="middle" fill="#555555" { (self.unit) }
                @for (index, row) in self.rows.iter().enumerate() {
                    (self.row(row, TOP + ROW * (index as f64 + 0.5), &axis))
                }
            }
        };
        let PreEscaped(text) = svg;
        text + "\n"
    }

    fn legend(&self) -> Markup {
        html! {
            @for (index, name) in self.series.iter().enumerate() {
                @let x = LEFT + 150.0 * index as f64;
                circle cx=(at(x)) cy="44" r="5" fill=(colour(index)) {}
                text x=(at(x + 10.0)) y="48" { (name) }
            }
        }
    }

    fn row(&self, row: &DotRow, y: f64, axis: &Axis) -> Markup {
        let ways = row.values.len() as f64;
        html! {
            text x=(at(LEFT - 14.0)) y=(at(y + 4.5)) text-anchor="end" { (row.name) }
            @for (index, value) in row.values.iter().enumerate() {
                @if let Some((value, spread)) = value {
                    // One below the other, so that equal values stay visible.
                    @let y = y + 7.0 * (index as f64 - (ways - 1.0) / 2.0);
                    @let reach = spread.and_then(|s| axis.position(value - s).zip(axis.position(value + s)));
                    @if let Some((low, high)) = reach {
                        line x1=(at(along(low))) x2=(at(along(high))) y1=(at(y)) y2=(at(y)) stroke=(colour(index)) stroke-width="2"
                            opacity="0.45" {}
                    }
                    @if let Some(position) = axis.position(*value) {
                        circle cx=(at(along(position))) cy=(at(y)) r="4" fill=(colour(index)) {
                            title { (row.name) ": " (format!("{value:.1}")) }
                        }
                    }
                }
            }
        }
    }
}

fn along(position: f64) -> f64 {
    LEFT + position * (RIGHT - LEFT)
}

fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(name: &str, value: f64) -> String {
        DotChart {
            title: "HOS".into(),
            unit: "percent".into(),
            series: vec!["clustering".into(), "adapted".into()],
            rows: vec![DotRow {
                name: name.into(),
                values: vec![Some((80.0, Some(2.0))), Some((value, None))],
            }],
        }
        .render()
    }

    #[test]
    fn a_dot_for_each_value_and_a_line_for_each_spread() {
        let svg = chart("A→W", 90.0);
        // Two in the legend, two in the row.
        assert_eq!(svg.matches("<circle").count(), 4);
        assert_eq!(svg.matches("opacity").count(), 1);
        assert!(svg.contains("<title>A→W: 90.0</title>"), "{svg}");
    }

    #[test]
    fn names_are_escaped_and_what_is_no_number_is_not_drawn() {
        let svg = chart("<script>", f64::NAN);
        assert!(svg.contains("&lt;script&gt;") && !svg.contains("<script>"));
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(!svg.contains("NaN\""), "{svg}");
    }
}
