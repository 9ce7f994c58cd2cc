//! `newfound demo`

use std::path::Path;

use newfound::clustering::SharedPrototypes;
use newfound::config::{AdaptConfig, Private, StartNorm, TrainConfig, Trained};
use newfound::evaluate::evaluate;
use newfound::events::{Event, Observer, Stage};
use newfound::images::{Side, labelled};
use newfound::network::Backbone;
use newfound::network::model::Foreign;
use newfound::request::{AdaptRequest, TrainRequest, adapt, train};
use newfound::train::checkpoint_folder;
use newfound::{Error, ErrorKind, Result, atomic, demo, device};

use crate::args::DemoArgs;
use crate::terminal::Terminal;

/// Draws, trains, adapts and scores through the same functions as any user's data.
pub fn run(args: &DemoArgs, terminal: &Terminal) -> Result<()> {
    let DemoArgs { out, seed } = args;
    let place = device::place("cpu")?;
    claim(out)?;
    let stopped = |error: Error| match error.kind() {
        ErrorKind::Stopped { .. } => Error::failed("stopped as asked", "the demo starts anew"),
        _ => error,
    };
    terminal.on(&Event::Began {
        stage: Stage::Drawing,
        total: 0,
    });
    let folders = demo::write(out, *seed).map_err(|error| {
        Error::failed(
            error.to_string(),
            "choose a folder you may write to with --out DIR",
        )
    })?;
    terminal.on(&Event::Ended {
        stage: Stage::Drawing,
    });
    let model = out.join("source.safetensors");
    let run = out.join("run");
    let general = out.join("general.safetensors");
    // The demo owns its folder: what an earlier demo left in it is replaced.
    for left in [
        &run,
        &checkpoint_folder(&model),
        &checkpoint_folder(&general),
    ] {
        if left.is_dir() {
            std::fs::remove_dir_all(left)
                .map_err(|source| Error::io("remove the earlier demo's run", left, source))?;
        }
    }
    for left in [&model, &general] {
        if left.is_file() {
            std::fs::remove_file(left)
                .map_err(|source| Error::io("remove the earlier demo's model", left, source))?;
        }
    }
    let learn = |images: &Path, weights: Option<&Path>, out: &Path, config: TrainConfig| {
        let request = TrainRequest {
            images,
            split: None,
            classes: None,
            backbone: Some(Backbone::Small),
            stride: None,
            weights,
            crop: Some(demo::SIZE),
            out,
            resume: false,
            cache: None,
            config: TrainConfig {
                seed: *seed,
                ..config
            },
        };
        train(&request, &place, terminal).map_err(stopped)
    };
    let (kinds, known, private) = (
        demo::GENERAL_KINDS,
        demo::KNOWN.join(", "),
        demo::PRIVATE.join(", "),
    );
    terminal.say(&format!(
        "1. A network learns {kinds} invented things: it stands for one that somebody pretrained."
    ));
    let first = TrainConfig {
        epochs: 10,
        batch: 32,
        learning_rate: 0.05,
        patience: 10,
        train: Trained::All,
        ..TrainConfig::default()
    };
    learn(&folders.general, None, &general, first)?;
    terminal.say(&format!("2. It becomes the source classifier: {known}."));
    let second = TrainConfig {
        epochs: 15,
        label_smoothing: 0.1,
        train: Trained::All,
        ..TrainConfig::default()
    };
    learn(&folders.source, Some(&general), &model, second)?;
    terminal.say(&format!(
        "3. It is adapted to another place, without labels; there are new things: {private}."
    ));
    let request = AdaptRequest {
        images: &folders.target,
        split: None,
        model: &model,
        foreign: Foreign::default(),
        out: &run,
        resume: false,
        cache: None,
        // The defaults, but for the epochs, for batch-norm (statistics of the target from the start) and for where the known
        // prototypes start; and a network as small as this one is trained whole. It has seen too few classes for its features to
        // tell new ones from known ones by themselves, so the number of new classes is the paper's. README.md says how this was chosen.
        config: AdaptConfig {
            seed: *seed,
            epochs: 12,
            train: Trained::All,
            start_norm: StartNorm::Target,
            shared_prototypes: SharedPrototypes::Centroid,
            private: Private::SAME,
            ..AdaptConfig::default()
        },
    };
    let folder = adapt(&request, &place, terminal).map_err(stopped)?;
    let labels = labelled(&folders.target, None, Side::Both, None)?;
    let evaluation = evaluate(&folder, &labels, 0.0)?;
    let scores = serde_json::to_vec_pretty(&evaluation).expect("scores are plain data");
    let path = out.join("scores.json");
    atomic::write(&path, &scores).map_err(|source| Error::io("write the scores", &path, source))?;
    evaluation.write(&folder)?;
    super::report::write(&folder, terminal)?;
    terminal.data(&super::evaluate::table(&evaluation));
    terminal.say(&format!("report      {}", folder.report().display()));
    Ok(())
}

/// Makes the folder the demo's own; one that holds anything else is left alone.
fn claim(out: &Path) -> Result<()> {
    let mark = out.join("demo.txt");
    let io = |source| Error::io("use the demo's folder", out, source);
    std::fs::create_dir_all(out).map_err(io)?;
    if !mark.is_file() && std::fs::read_dir(out).map_err(io)?.next().is_some() {
        let message = format!("this folder is not empty: {}", out.display());
        return Err(Error::request(message, "give a new one with --out DIR"));
    }
    let text = b"Everything in this folder was made by newfound demo, which replaces it when it runs again.\n";
    atomic::write(&mark, text).map_err(|source| Error::io("write", &mark, source))
}
