//! `newfound predict`

use std::collections::HashMap;

use newfound::events::{Event, Observer};
use newfound::images::{self, ImageList};
use newfound::network::model::Model;
use newfound::outcome::{Reference, row};
use newfound::run::{Manifest, Row, RunFolder};
use newfound::supply::for_each_inferred;
use newfound::{Error, Result, device, request};

use crate::args::{Format, PredictArgs};
use crate::terminal::Terminal;

/// Images looked at before the first of them is predicted: keeps memory and waiting short, however many there are.
const CHUNK: usize = 256;

pub fn run(args: &PredictArgs, terminal: &Terminal) -> Result<()> {
    let place = device::place(&args.device)?;
    let foreign = args.foreign.to_foreign()?;
    let (model, reference, rows) = if args.model.is_dir() {
        let folder = RunFolder::finished(&args.model)?;
        (
            Model::read(&folder.model(), &foreign)?,
            Some(Reference::read(&folder.bank())?),
            rows_of(&Manifest::read(&folder.manifest())?),
        )
    } else {
        (Model::read(&args.model, &foreign)?, None, HashMap::new())
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
    let mut bad = 0;
    for chunk in list.paths.chunks(CHUNK) {
        let chunk = ImageList {
            root: list.root.clone(),
            paths: chunk.to_vec(),
        };
        let survey = images::survey(&chunk, &|_, _| {});
        bad += survey.bad.len();
        for image in &survey.bad {
            let path = chunk.root.join(&image.path);
            let message = format!("left out, {}: {}", image.reason, path.display());
            terminal.on(&Event::Warning { message });
        }
        // An image of the run itself may have a row in the bank and must not vote for itself.
        let own: Vec<usize> = survey
            .good
            .iter()
            .map(|image| rows.get(&image.blake3).copied().unwrap_or(usize::MAX))
            .collect();
        let paths = survey.good.into_iter().map(|image| image.path).collect();
        let good = ImageList {
            root: list.root.clone(),
            paths,
        };
        for_each_inferred(
            &network,
            &parameters,
            &good,
            description,
            &place.device,
            |range, outputs| {
                if terminal.stop_requested() {
                    return Err(Error::failed(
                        "stopped as asked",
                        "run the same command again",
                    ));
                }
                if outputs.probabilities.values.iter().any(|p| !p.is_finite()) {
                    return Err(Error::failed(
                        "the model's answers are not finite",
                        "its weights are too large; use another model",
                    ));
                }
                let refined = reference.as_ref().map(|reference| {
                    let prototypes = network.prototypes(&parameters);
                    reference.refine(
                        &outputs.features,
                        &own[range.clone()],
                        prototypes,
                        &place.device,
                    )
                });
                for (i, image) in range.enumerate() {
                    let of = |values: &[f32]| values[i * classes..][..classes].to_vec();
                    let probabilities = of(&outputs.probabilities.values);
                    let row = match &refined {
                        None => row(
                            good.name(image),
                            &description.classes,
                            description.known,
                            &probabilities,
                            None,
                        ),
                        Some(refined) => {
                            let p = of(&refined.probabilities.values);
                            let refined = Some((p.as_slice(), refined.u_nc[i], refined.u_cs[i]));
                            row(
                                good.name(image),
                                &description.classes,
                                description.known,
                                &probabilities,
                                refined,
                            )
                        }
                    };
                    terminal.data(&line(&row, args.format));
                }
                Ok(())
            },
        )?;
    }
    request::accept_bad(bad, list.len(), args.max_bad)
}

/// Which image of the run each is, by its hash.
fn rows_of(manifest: &Manifest) -> HashMap<[u8; 32], usize> {
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
