//! The only file that writes to the terminal. Standard output is for data, standard error for people.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use newfound::Error;
use newfound::events::{Event, Observer, Stage, Step, StopFlag};
use newfound::health::{Health, Predictions, Verdict};

/// Talks to the person at the keyboard.
pub struct Terminal {
    quiet: bool,
    live: bool,
    colour: bool,
    stop: Arc<StopFlag>,
    bar: Mutex<Option<Running>>,
}

/// The stage under way.
struct Running {
    bar: ProgressBar,
    stage: Stage,
    total: usize,
    began: Instant,
    /// What the stage last said about itself.
    note: String,
}

impl Terminal {
    /// Live bars on a terminal, plain lines elsewhere.
    pub fn new(quiet: bool) -> Self {
        let live = std::io::stderr().is_terminal();
        let colour = live && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self {
            quiet,
            live,
            colour,
            stop: Arc::default(),
            bar: Mutex::new(None),
        }
    }

    /// The first interrupt asks the work to stop at the next safe place; the second ends the program at once.
    pub fn stop_on_interrupt(&self) {
        let stop = self.stop.clone();
        let handler = move || {
            if stop.is_requested() {
                std::process::exit(130);
            }
            stop.request();
            let _ = writeln!(
                std::io::stderr(),
                "\nstopping at the next safe place (again to stop at once) …"
            );
        };
        // Without a handler an interrupt just ends the program, and the last checkpoint is still there.
        let _ = ctrlc::set_handler(handler);
    }

    /// Writes data to standard output; a closed pipe is not a failure but the reader's choice.
    pub fn data(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            let code = if error.kind() == std::io::ErrorKind::BrokenPipe {
                0
            } else {
                1
            };
            std::process::exit(code);
        }
    }

    /// Says something, unless asked to be quiet.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            self.line(&visible(text));
        }
    }

    /// An error with its hint.
    pub fn error(&self, error: &Error) {
        if let Some(running) = self.bar().take() {
            running.bar.abandon();
        }
        let message = visible(&error.to_string());
        self.line(&format!("{} {message}", self.painted("error:", "31;1")));
        if let Some(hint) = error.hint() {
            let hint = visible(&hint);
            self.line(&format!("\n{} {hint}", self.painted("hint:", "36;1")));
        }
    }

    fn painted(&self, text: &str, code: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }

    fn line(&self, text: &str) {
        match &*self.bar() {
            Some(running) if self.live && !self.quiet => running.bar.println(text),
            _ => {
                let _ = writeln!(std::io::stderr(), "{text}");
            }
        }
    }

    fn bar(&self) -> MutexGuard<'_, Option<Running>> {
        self.bar
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn begin(&self, stage: Stage, total: usize) {
        let bar = if self.live && !self.quiet {
            ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr())
        } else {
            ProgressBar::hidden()
        };
        let template = match stage {
            _ if total == 0 => "{prefix:<11} {spinner} {elapsed}",
            // Their figures are too many for the line of the bar.
            Stage::Adapting | Stage::Training => {
                "{prefix:<11} {wide_bar} {pos}/{len}  {per_sec}  {eta} left\n            {wide_msg}"
            }
            _ => "{prefix:<11} {wide_bar} {pos}/{len}  {per_sec}  {eta} left",
        };
        let unit = if stage == Stage::Caching {
            "views"
        } else {
            "images"
        };
        let style = ProgressStyle::with_template(template)
            .expect("the template is ours")
            .with_key(
                "per_sec",
                move |state: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
                    let _ = write!(out, "{:.1} {unit}/s", state.per_sec());
                },
            );
        bar.set_style(style.progress_chars("━━─"));
        bar.set_prefix(title(stage));
        if total == 0 {
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        *self.bar() = Some(Running {
            bar,
            stage,
            total,
            began: Instant::now(),
            note: String::new(),
        });
    }

    fn end(&self, stage: Stage) {
        let Some(running) = self.bar().take_if(|running| running.stage == stage) else {
            return;
        };
        running.bar.finish_and_clear();
        let seconds = running.began.elapsed().as_secs_f64();
        let count = match (running.total, stage) {
            (0, _) => String::new(),
            (_, Stage::Adapting | Stage::Training) => String::new(),
            (total, Stage::Caching) => format!("{total} views, "),
            (total, _) => format!("{total} images, "),
        };
        let note = if running.note.is_empty() {
            String::new()
        } else {
            format!("; {}", running.note)
        };
        self.say(&format!("{:<11} {count}{seconds:.1} s{note}", title(stage)));
    }

    /// Figures of the moment, below the bar; nothing where there is none.
    fn live_note(&self, step: &Step) {
        if let Some(running) = &*self.bar() {
            let after = running.note.split_once("  changed ");
            let after = after.map_or(String::new(), |(_, after)| format!("  changed {after}"));
            running.bar.set_message(format!("{}{after}", of_step(step)));
        }
    }

    /// The verdict on a run and what it rests on.
    fn judge(&self, health: &Health) {
        let colour = match health.verdict {
            Verdict::Good => "32;1",
            Verdict::Doubtful => "33;1",
            Verdict::Harmful => "31;1",
        };
        let name = self.painted(health.verdict.name(), colour);
        let reasons = match health.reasons.as_slice() {
            [] => String::new(),
            reasons => format!(": {}", reasons.join("; ")),
        };
        let instead = match health.predictions {
            Predictions::Adapted => "",
            Predictions::Clustering => {
                "; the predictions are those of the model as it started, from the clustering"
            }
            Predictions::Source => {
                "; the predictions are the source model's, and what it is undecided about is new"
            }
        };
        self.say(&format!("verdict     {name}{reasons}{instead}"));
    }

    /// A figure worth showing beside the bar, or as a line where there is none.
    fn note(&self, text: String) {
        let live = self.live;
        if let Some(running) = &mut *self.bar() {
            running.bar.set_message(text.clone());
            running.note = text.clone();
        }
        if !live {
            self.say(&format!("            {text}"));
        }
    }
}

/// A text whose control characters show instead of act: the name of a file may hold any of them, and
/// must not recolour the terminal, ring its bell or rewrite its lines.
fn visible(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' => c,
        '\0'..='\x1f' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
}

fn title(stage: Stage) -> &'static str {
    match stage {
        Stage::Drawing => "drawing",
        Stage::Reading => "reading",
        Stage::Training => "training",
        Stage::Caching => "caching",
        Stage::Extracting => "extracting",
        Stage::Clustering => "clustering",
        Stage::Adapting => "adapting",
        Stage::Predicting => "predicting",
        Stage::Picturing => "picturing",
        Stage::Reporting => "reporting",
    }
}

/// The losses of a step and the share it selected.
fn of_step(step: &Step) -> String {
    format!(
        "epoch {}  loss {:.3} (cls {:.3}, ctr {:.3}, div {:.3})  selected {:.0} %",
        step.epoch,
        step.loss,
        step.classification,
        step.contrastive,
        step.diversity,
        100.0 * step.selected
    )
}

impl Observer for Terminal {
    fn on(&self, event: &Event) {
        match event {
            Event::Began { stage, total } => self.begin(*stage, *total),
            Event::Advanced { done, .. } => {
                if let Some(running) = &*self.bar() {
                    running.bar.set_position(*done as u64);
                }
            }
            Event::Ended { stage } => self.end(*stage),
            Event::Resumed { epoch, step } => {
                self.say(&format!("resuming in epoch {epoch} after {step} steps"));
            }
            Event::Epoch(epoch) => self.note(format!(
                "epoch {}  loss {:.3}  selected {:.0} %  changed {}  unknown {:.0} %",
                epoch.epoch,
                epoch.loss,
                100.0 * epoch.selected,
                epoch.label_changes,
                100.0 * epoch.unknown
            )),
            Event::TrainingEpoch {
                epoch,
                loss,
                accuracy,
            } => {
                let accuracy = accuracy.map(|a| format!("  held-out accuracy {a:.1} %"));
                let accuracy = accuracy.unwrap_or_default();
                self.note(format!("epoch {epoch}  loss {loss:.3}{accuracy}"));
            }
            Event::Warning { message } => {
                let message = visible(message);
                self.line(&format!("{} {message}", self.painted("warning:", "33;1")))
            }
            Event::Caching {
                bytes,
                images,
                found,
                path,
            } => {
                let megabytes = *bytes as f64 / 1e6;
                let found = match found {
                    0 => String::new(),
                    _ => format!(", {found} of {images} images as computed before"),
                };
                self.say(&format!(
                    "caching     {megabytes:.0} MB of activations{found}: {}",
                    path.display()
                ));
            }
            Event::Estimated(estimate) => self.say(&format!(
                "estimate    {}, between {} and {}: {}",
                counted(estimate.private, "new class", "new classes"),
                estimate.low,
                estimate.high,
                estimate.reason
            )),
            Event::Judged(health) => self.judge(health),
            Event::Step(step) => self.live_note(step),
            Event::Finished { .. } | Event::Checkpoint { .. } => {}
        }
    }

    fn stop_requested(&self) -> bool {
        self.stop.is_requested()
    }
}

/// A number and the noun that fits it.
pub(crate) fn counted(number: usize, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {many}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        assert_eq!(visible("a\x1b[31mb\x07\rc\u{9b}d"), "a␛[31mb␇␍c\u{fffd}d");
        assert_eq!(visible("猫.jpg: two\nlines"), "猫.jpg: two\nlines");
    }
}
