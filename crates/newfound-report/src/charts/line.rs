//! A figure's course over the epochs.

use maud::{Markup, html};

use super::Axis;
use super::frame::{at, drawing, figure, x, y};

/// Above this many epochs the points would touch, and only the line is drawn.
const MOST_POINTS: usize = 40;

/// One curve: a value per epoch.
pub struct Line<'a> {
    /// What is shown.
    pub title: &'a str,
    /// How to read it.
    pub note: &'a str,
    /// Epoch and value, epochs ascending.
    pub points: &'a [(usize, f64)],
    /// The vertical axis.
    pub axis: Axis,
    /// A value in words.
    pub format: fn(f64) -> String,
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
        let runs = self.runs();
        let mut drawn = runs.iter().flatten();
        let chart = drawn.next().map(|first| {
            let last = drawn.last();
            let end = last.map_or(String::new(), |last| format!("; {}", last.spoken));
            let spoken = format!("{}: {}{end}", self.title, first.spoken);
            let epochs = self.ends();
            let below: Vec<_> = epochs
                .iter()
                .map(|(p, label)| (*p, label.as_str()))
                .collect();
            drawing(&spoken, &self.axis, &below, curves(&runs))
        });
        figure(self.title, self.note, chart)
    }

    /// The points that can be drawn, broken where one cannot: a line across a gap would be made up.
    fn runs(&self) -> Vec<Vec<Point>> {
        let mut runs = vec![Vec::new()];
        for &(epoch, value) in self.points {
            let last = runs.last_mut().expect("there is always one");
            match self.axis.position(value) {
                Some(position) => last.push(Point {
                    x: x(self.along(epoch)),
                    y: y(position),
                    spoken: format!("epoch {epoch}, {}", (self.format)(value)),
                }),
                None if !last.is_empty() => runs.push(Vec::new()),
                None => {}
            }
        }
        runs
    }

    /// Where an epoch lies between the first and the last; a single one in the middle.
    fn along(&self, epoch: usize) -> f64 {
        match (self.points.first(), self.points.last()) {
            (Some(&(first, _)), Some(&(last, _))) if last > first => {
                epoch.saturating_sub(first) as f64 / (last - first) as f64
            }
            _ => 0.5,
        }
    }

    /// The labels below the first and the last epoch.
    fn ends(&self) -> Vec<(f64, String)> {
        let mut epochs: Vec<usize> = self.points.iter().map(|&(epoch, _)| epoch).collect();
        epochs.dedup();
        let ends = [epochs.first(), epochs.last().filter(|_| epochs.len() > 1)];
        let label = |&epoch: &usize| (self.along(epoch), format!("epoch {epoch}"));
        ends.into_iter().flatten().map(label).collect()
    }
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
