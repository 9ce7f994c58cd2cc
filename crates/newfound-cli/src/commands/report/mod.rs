//! `newfound report`: the run as a page, or several runs beside each other.

mod compare;
mod evidence;
mod found;
mod next;
mod scores;

use std::path::{Path, PathBuf};

use newfound::config::AdaptConfig;
use newfound::discovery::{Estimate, Kind};
use newfound::evaluate::Evaluation;
use newfound::events::{Event, Observer, Stage};
use newfound::health::{Health, Predictions, Verdict};
use newfound::initialise::ClusteringReport;
use newfound::insight::Insight;
use newfound::network::model::{Description, Foreign, Model};
use newfound::run::{
    Manifest, Probabilities, Row, RunFolder, Thumbnails, keep_thumbnails, read_predictions,
    read_thumbnails,
};
use newfound::{Error, Result, atomic};
use newfound_report as page;

use crate::args::ReportArgs;
use crate::terminal::Terminal;

pub fn run(args: &ReportArgs, terminal: &Terminal) -> Result<()> {
    let folders: Result<Vec<RunFolder>> = args
        .runs
        .iter()
        .map(|run| RunFolder::finished(run))
        .collect();
    match &folders?[..] {
        [folder] => {
            let path = args.out.clone().unwrap_or_else(|| folder.report());
            write_to(folder, &path, terminal)?;
            terminal.say(&format!("report      {}", path.display()));
        }
        several => {
            let path = args
                .out
                .clone()
                .unwrap_or_else(|| PathBuf::from("comparison.html"));
            compare::write(several, &path, terminal)?;
            terminal.say(&format!("comparison  {}", path.display()));
        }
    }
    Ok(())
}

/// Writes the page of a run into its folder, with scores where the run was evaluated.
pub fn write(folder: &RunFolder, observer: &dyn Observer) -> Result<()> {
    write_to(folder, &folder.report(), observer)
}

/// Everything a page is made of.
struct Finished {
    manifest: Manifest,
    description: Description,
    rows: Vec<Row>,
    config: AdaptConfig,
    /// `config.toml` as it is.
    configuration: String,
    evaluation: Option<Evaluation>,
    thumbnails: Thumbnails,
}

impl Finished {
    fn read(folder: &RunFolder, observer: &dyn Observer) -> Result<Self> {
        let configuration = read_text(&folder.config())?;
        let config = toml::from_str(&configuration).map_err(|error| {
            let message = format!(
                "the configuration cannot be understood ({error}): {}",
                folder.config().display()
            );
            Error::request(
                message,
                "it was changed by hand or is from another version; run adapt again",
            )
        })?;
        let manifest = Manifest::read(&folder.manifest())?;
        let rows = read_predictions(&folder.predictions())?;
        let thumbnails = match read_thumbnails(folder, rows.len()) {
            Some(thumbnails) => thumbnails,
            None => make_thumbnails(folder, &manifest, &rows, observer)?,
        };
        Ok(Self {
            description: Model::read(&folder.model(), &Foreign::default())?.description,
            evaluation: Evaluation::read(folder)?,
            manifest,
            rows,
            config,
            configuration,
            thumbnails,
        })
    }

    fn picture(&self, row: usize) -> Option<page::Picture> {
        let bytes = self.thumbnails.get(row)?.clone()?;
        Some(page::Picture {
            image_type: page::ImageType::Jpeg,
            bytes,
        })
    }

    fn truth(&self, row: usize) -> Option<String> {
        self.evaluation.as_ref()?.truth.get(row)?.clone()
    }
}

fn write_to(folder: &RunFolder, path: &Path, observer: &dyn Observer) -> Result<()> {
    let run = Finished::read(folder, observer)?;
    let stage = Stage::Reporting;
    observer.on(&Event::Began { stage, total: 0 });
    let known = run.description.known;
    let outputs = run.description.classes.len();
    let probabilities = Probabilities::of_run(folder, run.rows.len(), known, outputs)?;
    let insight = Insight::of(folder, &probabilities, known)?;
    let images = found::images(&run, &insight, &probabilities);
    let report = page::Report {
        overview: page::Overview {
            model: run.manifest.model.path.clone(),
            images: run.manifest.source.clone(),
            epochs: run.config.epochs,
            seed: run.config.seed,
            estimate: estimate(folder)?,
            verdict: verdict(folder)?,
        },
        classes: found::classes(&run, &insight, &images),
        images,
        evidence: evidence::evidence(folder, &run)?,
        evaluation: run
            .evaluation
            .as_ref()
            .map(|evaluation| scores::scores(evaluation, known)),
        next: next::commands(folder, &run.manifest, run.description.private),
        making: page::Making {
            facts: next::facts(folder, &run.manifest)?,
            configuration: run.configuration.clone(),
        },
    };
    atomic::write(path, page::render(&report).as_bytes())
        .map_err(|source| Error::io("write the report", path, source))?;
    observer.on(&Event::Ended { stage });
    Ok(())
}

fn make_thumbnails(
    folder: &RunFolder,
    manifest: &Manifest,
    rows: &[Row],
    observer: &dyn Observer,
) -> Result<Thumbnails> {
    let images: Vec<PathBuf> = rows
        .iter()
        .map(|row| image_path(manifest, &row.path))
        .collect();
    let stage = Stage::Picturing;
    observer.on(&Event::Began {
        stage,
        total: images.len(),
    });
    let advanced = |done: usize| observer.on(&Event::Advanced { stage, done });
    let thumbnails = keep_thumbnails(folder, &images, &advanced)?;
    observer.on(&Event::Ended { stage });
    Ok(thumbnails)
}

fn read_text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|source| Error::io("read", path, source))
}

/// Where an image of the run is: relative to the folder that was given, or to the folder of the list.
fn image_path(manifest: &Manifest, name: &str) -> PathBuf {
    let source = Path::new(&manifest.source);
    let root = if source.is_dir() {
        source
    } else {
        source.parent().unwrap_or(Path::new(""))
    };
    root.join(name)
}

/// How many new classes there seem to be, in words; none in a run with too few images to tell.
fn estimate(folder: &RunFolder) -> Result<Option<String>> {
    let estimate = ClusteringReport::read(folder)?.estimate;
    let words = |found: Estimate| {
        let Estimate {
            private,
            low,
            high,
            ref reason,
            ..
        } = found;
        match found.kind {
            Kind::NoNew => format!("None, it seems, and hardly more than {high}: {reason}."),
            _ => format!("About {private}, between {low} and {high}: {reason}."),
        }
    };
    Ok(estimate.map(words))
}

/// The verdict in words; none in a run from before there were verdicts.
fn verdict(folder: &RunFolder) -> Result<Option<String>> {
    let words = |health: Health| {
        let verdict = match health.verdict {
            Verdict::Good => "Good: no sign speaks against it".to_string(),
            Verdict::Doubtful => format!("Doubtful: {}", health.reasons.join("; ")),
            Verdict::Harmful => format!("Harmful: {}", health.reasons.join("; ")),
        };
        let instead = match health.predictions {
            Predictions::Adapted => "",
            Predictions::Clustering => {
                " The labels here are those of the model as it started, from the clustering."
            }
            Predictions::Source => {
                " The labels here are the source model's, and what it is undecided about is new."
            }
        };
        let stop = if verdict.ends_with('?') { "" } else { "." };
        format!("{verdict}{stop}{instead}")
    };
    Ok(Health::read(folder)?.map(words))
}
