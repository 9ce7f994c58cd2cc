//! Divisions of a benchmark's classes by lot, each a function of its name.

use std::fmt;

use super::split::Cut;
use crate::random::Stream;

/// Known and private classes drawn from all of a benchmark's: what holds on one division only is no finding.
///
/// `office31-draw3-20-11` is the third draw, of 20 known and 11 private classes; of `office31-draw3-20-11-here-15` only the first 15 known ones occur in the
/// target. Draws with the same number have the same order of classes, however they are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Drawn {
    benchmark: &'static str,
    classes: usize,
    draw: u64,
    known: usize,
    private: usize,
    here: usize,
}

/// What stands before the number of a draw, and how many classes there are to draw from.
const BENCHMARKS: [(&str, usize); 2] = [("office31", 31), ("office-home", 65)];

impl Drawn {
    /// What a name of one looks like.
    pub const SHAPE: &str = "office31-draw1-10-11: draw 1, 10 known classes, 11 private";

    /// The division of this name; none if it is not the name of a draw, and what is wrong if it is one that cannot be.
    pub(super) fn parse(name: &str) -> Option<Result<Self, String>> {
        BENCHMARKS.into_iter().find_map(|(benchmark, classes)| {
            let rest = name.strip_prefix(benchmark)?.strip_prefix("-draw")?;
            Some(
                Self::numbers(rest, benchmark, classes)
                    .map_err(|wrong| format!("`{name}`: {wrong}")),
            )
        })
    }

    fn numbers(rest: &str, benchmark: &'static str, classes: usize) -> Result<Self, String> {
        let parts: Vec<&str> = rest.split('-').collect();
        let (draw, known, private, here) = match parts[..] {
            [draw, known, private] => (draw, known, private, known),
            [draw, known, private, "here", here] => (draw, known, private, here),
            _ => return Err(format!("a division by lot is named as {}", Self::SHAPE)),
        };
        let number = |text: &str| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            let number = text.parse::<usize>().ok().filter(|_| digits);
            number.ok_or_else(|| {
                format!(
                    "`{text}` is not a number; a division by lot is named as {}",
                    Self::SHAPE
                )
            })
        };
        let drawn = Self {
            benchmark,
            classes,
            draw: number(draw)? as u64,
            known: number(known)?,
            private: number(private)?,
            here: number(here)?,
        };
        let Self {
            known,
            private,
            here,
            ..
        } = drawn;
        if known == 0 || known.saturating_add(private) > classes {
            return Err(format!(
                "{known} known and {private} private classes cannot be drawn from {classes}; at least one must be known"
            ));
        }
        if here > known || here + private == 0 {
            return Err(format!(
                "{here} of {known} known classes and {private} private ones are no target"
            ));
        }
        Ok(drawn)
    }

    pub(super) fn cut(self) -> Cut {
        Cut {
            classes: self.classes,
            known: 0..self.known,
            here: 0..self.here,
            private: self.known..self.known + self.private,
        }
    }

    /// The classes in the order of the draw.
    pub(super) fn shuffled(self, classes: Vec<String>) -> Vec<String> {
        let order = Stream::new(self.draw, "classes", &[]).permutation(classes.len());
        order
            .into_iter()
            .map(|class| classes[class].clone())
            .collect()
    }
}

impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            benchmark,
            draw,
            known,
            private,
            here,
            ..
        } = self;
        write!(f, "{benchmark}-draw{draw}-{known}-{private}")?;
        match here == known {
            true => Ok(()),
            false => write!(f, "-here-{here}"),
        }
    }
}
