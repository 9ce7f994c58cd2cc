//! `newfound predict`

use std::collections::HashMap;

use newfound::events::{Event, Observer};
use newfound::health::{Health, Predictions};
use newfound::images;
use newfound::network::model::Model;
use newfound::outcome::{Reference, row};
use newfound::run::{Manifest, Probabilities, Row, RunFolder, doubt_limit, read_predictions};
use newfound::supply::{Seen, for_each_seen};
use newfound::weights::Array;
use newfound::{Error, Result, device, request};

use crate::args::{Format, PredictArgs};
use crate::terminal::Terminal;

pub fn run(args: &PredictArgs, terminal: &Terminal) -> Result<()> {
    let place = device::place(&args.device)?;
    let foreign = args.foreign.to_foreign()?;
    let (model, reference, run_images, kept) = if args.model.is_dir() {
        let folder = RunFolder::finished(&args.model)?;
        let model = Model::read(&folder.model(), &foreign)?;
        let manifest = Manifest::read(&folder.manifest())?;
        let reference = Reference::read(&folder.bank())?;
        let kept = kept(&folder, &model, manifest.images.len())?;
        (model, Some(reference), run_images(&manifest), kept)
    } else {
        let model = Model::read(&args.model, &foreign)?;
        (model, None, HashMap::new(), None)
    };
    let width = model.description.architecture.features();
    if let Some(reference) = &reference
        && !reference.fits(width, model.description.classes.len())
    {
        let message = format!(
            "model and bank do not belong together: {}",
            args.model.display()
        );
        return Err(Error::request(
            message,
            "the run is damaged; run adapt again",
        ));
    }
    let list = images::list(&args.images.images, args.images.split)?;
    let (network, parameters) = model.load(place.engine, &place.device);
    let description = &model.description;
    let classes = description.classes.len();
    if matches!(args.format, Format::Csv) {
        terminal.data("path,label,confidence,unknown,refined_label,u_nc,u_cs\n");
    }
    if reference.is_none() && description.private == 0 {
        terminal.say("this model has no new classes, so `unknown` is 0 for every image; only a run of `newfound adapt` can say what is new");
    }
    let limit = doubt_limit_of(args)?;
    // The written model is not as sure as what is kept: its doubt is compared with its own.
    let foreign_limit = match (&kept, &reference) {
        (Some(kept), Some(reference)) if args.abstain > 0.0 => {
            let (features, device) = (&kept.features, &place.device);
            let rows = reference.rows_of_run(&network, &parameters, description, features, device);
            doubt_limit(&rows, args.abstain)
        }
        _ => limit,
    };
    let (mut bad, mut abstained) = (0, 0);
    let consume = |seen: Seen| {
        if terminal.stop_requested() {
            return Err(Error::failed(
                "stopped as asked",
                "run the same command again",
            ));
        }
        bad += seen.bad.len();
        for (image, reason) in &seen.bad {
            let path = list.full_path(*image);
            let message = format!("left out, {reason}: {}", path.display());
            terminal.on(&Event::Warning { message });
        }
        let Some(outputs) = seen.outputs else {
            return Ok(());
        };
        if outputs.probabilities.values.iter().any(|p| !p.is_finite()) {
            return Err(Error::failed(
                "the model's answers are not finite",
                "its weights are too large; use another model",
            ));
        }
        // An image of the run itself may have a row in the bank and must not vote for itself.
        let own = |&(_, hash): &(usize, [u8; 32])| run_images.get(&hash).copied();
        let own: Vec<usize> = seen
            .good
            .iter()
            .map(|image| own(image).unwrap_or(usize::MAX))
            .collect();
        let refined = reference.as_ref().map(|reference| {
            let prototypes = network.prototypes(&parameters);
            reference.refine(&outputs.features, &own, prototypes, &place.device)
        });
        for (i, &(image, _)) in seen.good.iter().enumerate() {
            let of = |array: &Array, at: usize| array.values[at * classes..][..classes].to_vec();
            let (probabilities, limit) = match &kept {
                Some(kept) if own[i] < kept.adapted.shape[0] => (of(&kept.adapted, own[i]), limit),
                _ => (of(&outputs.probabilities, i), foreign_limit),
            };
            let votes = refined.as_ref().map(|refined| refined.votes(i));
            let mut row = row(
                list.name(image),
                &description.classes,
                description.known,
                &probabilities,
                votes.as_ref(),
            );
            if row.doubt() > limit {
                row.label.clear();
                row.refined_label.clear();
                abstained += 1;
            }
            terminal.data(&line(&row, args.format));
        }
        Ok(())
    };
    for_each_seen(
        &network,
        &parameters,
        &list,
        description,
        &place.device,
        consume,
    )?;
    if args.abstain > 0.0 {
        terminal.say(&format!("{abstained} images have no label: too doubtful"));
    }
    request::accept_bad(bad, list.len(), args.max_bad)
}

/// What a run says of its own images where it did not keep the adapted model's predictions: the model that it wrote is fitted to that, and has other labels
/// for some of them.
fn kept(folder: &RunFolder, model: &Model, images: usize) -> Result<Option<Probabilities>> {
    let adapted = |health: &Health| health.predictions == Predictions::Adapted;
    if Health::read(folder)?.is_none_or(|health| adapted(&health)) {
        return Ok(None);
    }
    let (known, classes) = (model.description.known, model.description.classes.len());
    Probabilities::of_run(folder, images, known, classes).map(Some)
}

/// The doubt beyond which an image gets no label: that of the run's own images.
fn doubt_limit_of(args: &PredictArgs) -> Result<f64> {
    if args.abstain == 0.0 {
        return Ok(f64::INFINITY);
    }
    if !args.model.is_dir() {
        let message = format!(
            "--abstain compares with the images of a run: {}",
            args.model.display()
        );
        return Err(Error::request(message, "give the run folder as --model"));
    }
    let rows = read_predictions(&RunFolder::finished(&args.model)?.predictions())?;
    Ok(doubt_limit(&rows, args.abstain))
}

/// Which image of the run each is, by its hash.
fn run_images(manifest: &Manifest) -> HashMap<[u8; 32], usize> {
    let hashes = manifest
        .images
        .iter()
        .map(|file| blake3::Hash::from_hex(&file.blake3));
    let known = hashes
        .enumerate()
        .filter_map(|(row, hash)| Some((*hash.ok()?.as_bytes(), row)));
    known.collect()
}

fn line(row: &Row, format: Format) -> String {
    match format {
        Format::Csv => newfound::run::csv_line(row),
        Format::Jsonl => {
            let mut text = serde_json::to_string(row).expect("a row is plain data");
            text.push('\n');
            text
        }
    }
}
