//! A chart of its own: what probabilities say against what is true.

use maud::{Markup, PreEscaped, html};

use super::frame::at;

/// One curve for each thing compared.
#[derive(Debug, Clone, PartialEq)]
pub struct ReliabilityChart {
    /// Above the chart.
    pub title: String,
    /// Thin curves; the last one, of all together, is drawn thick with a dot for each of its bins.
    pub curves: Vec<ReliabilityCurve>,
}

/// Stated probabilities in bins, and the truth in each.
#[derive(Debug, Clone, PartialEq)]
pub struct ReliabilityCurve {
    /// Its name.
    pub name: String,
    /// Stated and true share in percent, and the images; from low to high.
    pub bins: Vec<(f64, f64, u64)>,
}

/// Told apart by colour-blind readers too (Tol's muted scheme), on white.
const COLOURS: [&str; 6] = [
    "#88ccee", "#44aa99", "#999933", "#ddaa33", "#cc6677", "#aa4499",
];

const SIDE: f64 = 360.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 44.0;
const WIDTH: f64 = LEFT + SIDE + 150.0;
const HEIGHT: f64 = TOP + SIDE + 52.0;

fn x(percent: f64) -> f64 {
    LEFT + SIDE * percent / 100.0
}

fn y(percent: f64) -> f64 {
    TOP + SIDE * (1.0 - percent / 100.0)
}

impl ReliabilityChart {
    /// An SVG file.
    pub fn render(&self) -> String {
        let last = self.curves.len().saturating_sub(1);
        let svg = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } width=(WIDTH) height=(HEIGHT)
                role="img" aria-label=(self.title) font-family="system-ui, sans-serif" font-size="13" {
                rect width="100%" height="100%" fill="#ffffff" {}
                text x="12" y="24" font-size="15" font-weight="600" { (self.title) }
                @for tick in [0.0, 25.0, 50.0, 75.0, 100.0] {
                    line x1=(at(x(tick))) x2=(at(x(tick))) y1=(at(y(0.0))) y2=(at(y(100.0))) stroke="#dddddd" {}
                    line x1=(at(x(0.0))) x2=(at(x(100.0))) y1=(at(y(tick))) y2=(at(y(tick))) stroke="#dddddd" {}
                    text x=(at(x(tick))) y=(at(y(0.0) + 18.0)) text-anchor="middle" fill="#555555" { (tick) }
                    text x=(at(x(0.0) - 8.0)) y=(at(y(tick) + 4.0)) text-anchor="end" fill="#555555" { (tick) }
                }
                line x1=(at(x(0.0))) x2=(at(x(100.0))) y1=(at(y(0.0))) y2=(at(y(100.0))) stroke="#888888" stroke-dasharray="4 4" {}
                text x=(at(x(50.0))) y=(at(y(0.0) + 40.0)) text-anchor="middle" fill="#555555" { "stated probability of being new, %" }
                text x="16" y=(at(y(50.0))) text-anchor="middle" fill="#555555"
                    transform={ "rotate(-90 16 " (at(y(50.0))) ")" } { "new, %" }
                @for (index, curve) in self.curves.iter().enumerate() {
                    (curve.draw(colour(index, last), dashes(index, last), index == last))
                    (legend(&curve.name, index, last))
                }
            }
        };
        let PreEscaped(text) = svg;
        text
    }
}

fn colour(index: usize, last: usize) -> &'static str {
    match index == last {
        true => "#222222",
        false => COLOURS[index % COLOURS.len()],
    }
}

/// Curves beyond the colours begin again with dashes.
fn dashes(index: usize, last: usize) -> &'static str {
    match index < COLOURS.len() || index == last {
        true => "none",
        false => "5 3",
    }
}

fn legend(name: &str, index: usize, last: usize) -> Markup {
    let (colour, dashes, thick) = (colour(index, last), dashes(index, last), index == last);
    let (left, height) = (x(100.0) + 20.0, TOP + 12.0 + 22.0 * index as f64);
    html! {
        line x1=(at(left)) x2=(at(left + 22.0)) y1=(at(height)) y2=(at(height)) stroke=(colour) stroke-dasharray=(dashes)
            stroke-width=(if thick { 3 } else { 2 }) {}
        text x=(at(left + 30.0)) y=(at(height + 4.0)) { (name) }
    }
}

impl ReliabilityCurve {
    fn draw(&self, colour: &str, dashes: &str, thick: bool) -> Markup {
        let point =
            |&(stated, new, _): &(f64, f64, u64)| format!("{},{}", at(x(stated)), at(y(new)));
        let points: Vec<String> = self.bins.iter().map(point).collect();
        let most = self.bins.iter().map(|bin| bin.2).max().unwrap_or(1) as f64;
        html! {
            polyline points=(points.join(" ")) fill="none" stroke=(colour) stroke-dasharray=(dashes) stroke-width=(if thick { 3 } else { 1 }) {}
            @if thick {
                // The more images, the larger.
                @for (stated, new, images) in &self.bins {
                    circle cx=(at(x(*stated))) cy=(at(y(*new))) r=(at(2.0 + 9.0 * (*images as f64 / most).sqrt())) fill=(colour)
                        fill-opacity="0.75" { title { (images) " images" } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_lie_where_their_bins_are() {
        let chart = ReliabilityChart {
            title: "a < b".into(),
            curves: vec![
                ReliabilityCurve {
                    name: "one".into(),
                    bins: vec![(0.0, 100.0, 4)],
                },
                ReliabilityCurve {
                    name: "all".into(),
                    bins: vec![(0.0, 0.0, 4), (100.0, 50.0, 16)],
                },
            ],
        };
        let svg = chart.render();
        assert!(svg.contains("a &lt; b") && svg.contains(">one<") && svg.contains(">all<"));
        // The upper left corner, the lower left one, and the middle of the right edge.
        assert!(svg.contains(r#"points="64,44""#), "{svg}");
        assert!(svg.contains(r#"points="64,404 424,224""#), "{svg}");
        // Only the last has dots, a quarter of the images on half the radius beyond the smallest.
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(
            svg.contains(r#"r="6.5""#) && svg.contains(r#"r="11""#),
            "{svg}"
        );
    }
}
