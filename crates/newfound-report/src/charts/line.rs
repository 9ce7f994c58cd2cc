//! A figure's course over the epochs, of one run or of several.

use maud::{Markup, html};

use super::Axis;
use super::frame::{at, drawing, figure, x, y};

/// Above this many epochs the points would touch, and only the line is drawn.
const MOST_POINTS: usize = 40;

/// One chart: a value per epoch and run.
pub struct Line<'a> {
    /// What is shown.
    pub title: &'a str,
    /// How to read it, and what is good.
    pub note: &'a str,
    /// One curve for each run; several are told apart by colour and dashes.
    pub series: &'a [Series<'a>],
    /// The vertical axis.
    pub axis: Axis,
    /// A value in words.
    pub format: fn(f64) -> String,
}

/// One curve.
pub struct Series<'a> {
    /// The run, if there are several.
    pub name: Option<&'a str>,
    /// Epoch and value, epochs ascending.
    pub points: Vec<(usize, f64)>,
}

/// Where an epoch's value lies in the drawing, and the two in words.
struct Point {
    x: f64,
    y: f64,
    spoken: String,
}

impl Line<'_> {
    /// The chart with its caption.
    pub fn render(&self) -> Markup {
        let drawn: Vec<Vec<Vec<Point>>> =
            self.series.iter().map(|series| self.runs(series)).collect();
        let spoken: Vec<String> = drawn.iter().filter_map(|runs| ends(runs)).collect();
        let chart = (!spoken.is_empty()).then(|| {
            let spoken = format!("{}: {}", self.title, spoken.join("; "));
            let epochs = self.labels();
            let below: Vec<_> = epochs.iter().map(|(p, label)| (*p, label.as_str())).collect();
            let several = self.series.len() > 1;
            let inside = html! {
                @for (i, runs) in drawn.iter().enumerate() {
                    @if several { g class={ "s" (i % SERIES) } { (curves(runs)) } } @else { (curves(runs)) }
                }
            };
            drawing(&spoken, &self.axis, &below, inside)
        });
        figure(self.title, self.note, chart)
    }

    /// The points that can be drawn, broken where one cannot: a line across a gap would be made up.
    fn runs(&self, series: &Series) -> Vec<Vec<Point>> {
        let run = series.name.map_or(String::new(), |name| {
            format!("{}, ", crate::words::visible(name))
        });
        let mut runs = vec![Vec::new()];
        for &(epoch, value) in &series.points {
            let last = runs.last_mut().expect("there is always one");
            match self.axis.position(value) {
                Some(position) => last.push(Point {
                    x: x(self.along(epoch)),
                    y: y(position),
                    spoken: format!("{run}epoch {epoch}, {}", (self.format)(value)),
                }),
                None if !last.is_empty() => runs.push(Vec::new()),
                None => {}
            }
        }
        runs
    }

    /// The first and the last epoch of all curves.
    fn span(&self) -> Option<(usize, usize)> {
        let epochs = || {
            self.series
                .iter()
                .flat_map(|series| &series.points)
                .map(|&(epoch, _)| epoch)
        };
        Some((epochs().min()?, epochs().max()?))
    }

    /// Where an epoch lies between the first and the last; a single one in the middle.
    fn along(&self, epoch: usize) -> f64 {
        match self.span() {
            Some((first, last)) if last > first => {
                epoch.saturating_sub(first) as f64 / (last - first) as f64
            }
            _ => 0.5,
        }
    }

    /// The labels below the first and the last epoch.
    fn labels(&self) -> Vec<(f64, String)> {
        let Some((first, last)) = self.span() else {
            return Vec::new();
        };
        let ends = if first == last {
            vec![first]
        } else {
            vec![first, last]
        };
        ends.into_iter()
            .map(|epoch| (self.along(epoch), format!("epoch {epoch}")))
            .collect()
    }
}

/// As many kinds of curves has the style sheet.
pub const SERIES: usize = 6;

/// The first and the last point of a curve in words.
fn ends(runs: &[Vec<Point>]) -> Option<String> {
    let mut drawn = runs.iter().flatten();
    let first = drawn.next()?.spoken.clone();
    let last = drawn
        .last()
        .map_or(String::new(), |last| format!("; {}", last.spoken));
    Some(first + &last)
}

fn curves(runs: &[Vec<Point>]) -> Markup {
    let crowded = runs.iter().map(Vec::len).sum::<usize>() > MOST_POINTS;
    html! {
        @for run in runs.iter().filter(|run| !run.is_empty()) {
            polyline class="curve" points=(path(run)) {}
            // A point between two gaps has no line that would show it.
            @if !crowded || run.len() == 1 {
                @for point in run {
                    circle class="point" cx=(at(point.x)) cy=(at(point.y)) r="2.5" { title { (point.spoken) } }
                }
            }
        }
    }
}

fn path(run: &[Point]) -> String {
    let corners = run
        .iter()
        .map(|point| format!("{},{}", at(point.x), at(point.y)));
    corners.collect::<Vec<_>>().join(" ")
}
