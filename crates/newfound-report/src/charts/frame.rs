//! What all charts have in common: a caption, a plotting area and a labelled vertical axis.

use maud::{Markup, html};

use super::Axis;

/// Size of a chart in its own units; the style sheet scales it to the width there is.
const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 150.0;

/// The plotting area.
pub const LEFT: f64 = 44.0;
pub const RIGHT: f64 = WIDTH - 8.0;
pub const TOP: f64 = 10.0;
pub const BOTTOM: f64 = HEIGHT - 22.0;

/// A coordinate, short and always a number.
pub fn at(value: f64) -> String {
    debug_assert!(value.is_finite(), "only what can be drawn has a coordinate");
    let text = format!("{value:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// From a position on the vertical axis, 0 at the low end, to a coordinate.
pub fn y(position: f64) -> f64 {
    BOTTOM - position * (BOTTOM - TOP)
}

/// From a position along the horizontal axis, 0 at the left end, to a coordinate.
pub fn x(position: f64) -> f64 {
    LEFT + position * (RIGHT - LEFT)
}

/// A figure with its title, a line of explanation and the chart, or words where there is nothing to draw.
pub fn figure(title: &str, note: &str, chart: Option<Markup>) -> Markup {
    html! {
        figure.chart {
            figcaption { b { (title) } " " span { (note) } }
            @match chart {
                Some(chart) => (chart),
                None => p.aside { "Nothing to draw." },
            }
        }
    }
}

/// The drawing: grid lines and labels of the axis, words below the area, and what is drawn inside it.
pub fn drawing(spoken: &str, axis: &Axis, below: &[(f64, &str)], inside: Markup) -> Markup {
    html! {
        svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(spoken) {
            @for (position, label) in axis.ticks() {
                line class="grid" x1=(at(LEFT)) x2=(at(RIGHT)) y1=(at(y(position))) y2=(at(y(position))) {}
                text x=(at(LEFT - 6.0)) y=(at(y(position) + 3.5)) text-anchor="end" { (label) }
            }
            @for (position, label) in below {
                text x=(at(x(*position))) y=(at(HEIGHT - 6.0)) text-anchor=(anchor(*position)) { (label) }
            }
            (inside)
        }
    }
}

/// Words at an end of the axis stay inside the drawing.
fn anchor(position: f64) -> &'static str {
    match position {
        p if p < 0.25 => "start",
        p if p > 0.75 => "end",
        _ => "middle",
    }
}
