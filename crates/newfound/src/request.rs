//! From paths and options to a job: what the program and the demo share.

use std::path::{Path, PathBuf};

use crate::cache;
use crate::config::{AdaptConfig, TrainConfig, Trained};
use crate::device::Place;
use crate::error::{Error, Result};
use crate::events::{Event, Observer, Stage};
use crate::images::{self, ImageList, Side, Split, Survey};
use crate::network::model::{self, Description, Foreign, Model};
use crate::network::{Architecture, Backbone, Network, Part, StridePlacement, shapes};
use crate::run::{BadFile, HashedFile, Manifest, RunFolder};
use crate::train::LabelledSet;
use crate::views::{Geometry, Normalisation};
use crate::weights::{self, Tolerated};
use crate::{adapt, train};

/// What `newfound adapt` was asked for.
#[derive(Debug, Clone)]
pub struct AdaptRequest<'a> {
    /// A folder, a list or an image.
    pub images: &'a Path,
    /// The benchmark whose class folders are used.
    pub split: Option<Split>,
    /// The source model.
    pub model: &'a Path,
    /// What a model made elsewhere does not say about itself.
    pub foreign: Foreign,
    /// The run folder.
    pub out: &'a Path,
    /// Go on with an interrupted run.
    pub resume: bool,
    /// Where activations of frozen layers are kept; the user's cache folder unless given.
    pub cache: Option<&'a Path>,
    /// All choices.
    pub config: AdaptConfig,
}

/// Reads model and images, adapts, and writes the run.
pub fn adapt(request: &AdaptRequest, place: &Place, observer: &dyn Observer) -> Result<RunFolder> {
    let config = AdaptConfig {
        train: request.config.train.on(place),
        ..request.config.clone()
    };
    let source = Model::read(request.model, &request.foreign)?;
    if source.description.private > 0 {
        let message = format!(
            "this model has been adapted already: {}",
            request.model.display()
        );
        return Err(Error::request(message, "start from the source model"));
    }
    let model_hash = hash_file(request.model)?;
    let list = images::list(request.images, request.split)?;
    let survey = surveyed(&list, config.max_bad, observer)?;
    let paths = survey.good.iter().map(|image| image.path.clone()).collect();
    let good = ImageList {
        root: list.root.clone(),
        paths,
    };
    let manifest = Manifest {
        newfound: env!("CARGO_PKG_VERSION").into(),
        burn: "0.22.1".into(),
        seed: config.seed,
        device: place.name.clone(),
        model: HashedFile {
            path: request.model.display().to_string(),
            blake3: model_hash,
        },
        source: request.images.display().to_string(),
        split: request.split.map(|split| split.name()),
        images: survey
            .good
            .iter()
            .enumerate()
            .map(|(i, image)| HashedFile {
                path: good.name(i),
                blake3: hex(&image.blake3),
            })
            .collect(),
        bad: survey
            .bad
            .iter()
            .map(|bad| BadFile {
                path: bad.path.display().to_string(),
                reason: bad.reason.to_string(),
            })
            .collect(),
    };
    // Checked before the folder is touched: a request that cannot work leaves nothing behind.
    adapt::check(&source.description, good.len(), &config)?;
    let folder = RunFolder::prepare(request.out, request.resume)?;
    adapt::adapt(&adapt::Adaptation {
        model: &source,
        images: &good,
        config: &config,
        manifest: &manifest,
        folder: &folder,
        resume: request.resume,
        cache: &cache_folder(request.cache),
        device: &place.device,
        engine: place.engine,
        observer,
    })?;
    Ok(folder)
}

/// What `newfound train` was asked for.
#[derive(Debug, Clone)]
pub struct TrainRequest<'a> {
    /// A folder of class folders, or a list of `path label` lines.
    pub images: &'a Path,
    /// The benchmark whose known classes are used.
    pub split: Option<Split>,
    /// The classes to train, in this order.
    pub classes: Option<Vec<String>>,
    /// The body; that of the weights where they are given.
    pub backbone: Option<Backbone>,
    /// Where its stride is; as the weights say where they do.
    pub stride: Option<StridePlacement>,
    /// Weights of the body to start from.
    pub weights: Option<&'a Path>,
    /// Side of the square images the network sees.
    pub crop: Option<u32>,
    /// The model to write.
    pub out: &'a Path,
    /// Go on with an interrupted training.
    pub resume: bool,
    /// Where activations of frozen layers are kept; the user's cache folder unless given.
    pub cache: Option<&'a Path>,
    /// All choices.
    pub config: TrainConfig,
}

/// Reads images and weights, trains, and writes the model.
pub fn train(request: &TrainRequest, place: &Place, observer: &dyn Observer) -> Result<Model> {
    if request.out.is_dir() {
        let message = format!("this is a folder, not a file: {}", request.out.display());
        return Err(Error::request(
            message,
            "give a file for the model, such as --out source.safetensors",
        ));
    }
    if request.out.exists() && !train::checkpoint_folder(request.out).exists() {
        if request.resume {
            let message = format!(
                "this training is complete; there is nothing to resume: {}",
                request.out.display()
            );
            observer.on(&Event::Warning { message });
            return Model::read(request.out, &Foreign::default());
        }
        let message = format!("there is a file here already: {}", request.out.display());
        return Err(Error::request(
            message,
            "give another one with --out, or remove it",
        ));
    }
    if train::checkpoint_folder(request.out).exists() && !request.resume {
        let folder = train::checkpoint_folder(request.out);
        let message = format!("a training was interrupted here: {}", folder.display());
        return Err(Error::request(
            message,
            "add --resume to go on with it, give another --out, or remove that folder",
        ));
    }
    let list = images::labelled(
        request.images,
        request.split,
        Side::Known,
        request.classes.as_deref(),
    )?;
    if list.classes.len() < 2 {
        let message = format!(
            "a classifier needs at least two classes, here is {}: {}",
            list.classes.len(),
            request.images.display()
        );
        return Err(Error::request(
            message,
            "put the images of each class into a folder of its own",
        ));
    }
    model::check_names(&list.classes)?;
    let file = request
        .weights
        .map(|path| Ok::<_, Error>((path, weights::read(path)?)))
        .transpose()?;
    let (found, stated) = match &file {
        Some((path, file)) => (
            Some(model::recognise(file, path)?),
            model::stated_stride(file),
        ),
        None => (None, None),
    };
    if let (Some(found), Some(asked)) = (found, request.backbone)
        && found != asked
    {
        let message = format!("these are the weights of a {found}, but a {asked} was asked for");
        return Err(Error::request(
            message,
            "leave --backbone out, or give other weights",
        ));
    }
    let backbone = request.backbone.or(found).unwrap_or(Backbone::Resnet50);
    let description = Description {
        architecture: Architecture {
            backbone,
            stride: request.stride.or(stated).unwrap_or_default(),
            bottleneck: Some(request.config.bottleneck),
            outputs: list.classes.len(),
        },
        known: list.classes.len(),
        private: 0,
        classes: list.classes.clone(),
        geometry: Geometry::for_crop(request.crop.unwrap_or(backbone.usual_crop())),
        normalisation: Normalisation::default(),
    };
    let config = TrainConfig {
        train: match request.config.train {
            // A new body has nothing to keep.
            Trained::Auto if request.weights.is_none() => Trained::All,
            asked => asked.on(place),
        },
        ..request.config.clone()
    };
    if request.weights.is_none() && config.train != Trained::All {
        let message = "a new body has nothing to keep: only a trained one can be frozen";
        return Err(Error::request(
            message,
            "give its weights with --weights FILE, or train everything with --train all",
        ));
    }
    let weights_hash = request
        .weights
        .map(hash_file)
        .transpose()?
        .unwrap_or_default();
    let body = file
        .map(|(path, file)| body_of(file, &description, path))
        .transpose()?;
    let survey = surveyed(&list.images, request.config.max_bad, observer)?;
    let source = readable(&list, &survey);
    let hashes: Vec<String> = survey.good.iter().map(|image| hex(&image.blake3)).collect();
    let identity = format!(
        "weights = {weights_hash}\ndevice = {}\nimages = {} with blake3 {}\n",
        place.name,
        hashes.len(),
        blake3::hash(hashes.join("\n").as_bytes())
    );
    let model = train::train(&train::Training {
        description: &description,
        body: body.as_ref(),
        source: &source,
        config: &config,
        out: request.out,
        resume: request.resume,
        cache: &cache_folder(request.cache),
        hashes: &hashes,
        identity: &identity,
        device: &place.device,
        engine: place.engine,
        observer,
    })?;
    if let Some(parent) = request
        .out
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        std::fs::create_dir_all(parent)
            .map_err(|source| Error::io("make the model's folder", parent, source))?;
    }
    model.write(request.out)?;
    train::forget_checkpoint(request.out)?;
    Ok(model)
}

fn cache_folder(given: Option<&Path>) -> PathBuf {
    given.map_or_else(cache::default_folder, Path::to_path_buf)
}

/// The labelled images that can be read.
fn readable(list: &images::LabelledList, survey: &Survey) -> LabelledSet {
    let mut good = survey.good.iter().peekable();
    let (mut paths, mut labels) = (Vec::new(), Vec::new());
    for (path, &label) in list.images.paths.iter().zip(&list.labels) {
        if good.next_if(|image| image.path == *path).is_some() {
            paths.push(path.clone());
            labels.push(label);
        }
    }
    LabelledSet {
        images: ImageList {
            root: list.images.root.clone(),
            paths,
        },
        labels,
    }
}

/// The tensors of the body alone.
fn body_of(
    file: weights::TensorFile,
    description: &Description,
    path: &Path,
) -> Result<std::collections::BTreeMap<String, weights::Array>> {
    let network = Network::new(description.architecture, crate::network::Engine::Burn);
    let body: Vec<_> = network
        .specs()
        .iter()
        .filter(|spec| matches!(spec.part, Part::Body(_)))
        .cloned()
        .collect();
    let tolerated = Tolerated {
        missing: &[],
        unexpected: &["fc.", "classifier.", "bottleneck"],
    };
    let arrays = weights::reconcile(file, &shapes(&body), tolerated).map_err(|mismatch| {
        crate::error::ErrorKind::Mismatch {
            path: path.into(),
            mismatch,
        }
    })?;
    if let Some(first) = weights::check_finite(&arrays).first() {
        let message = format!(
            "the weights hold values that are not finite, in {first} for example: {}",
            path.display()
        );
        return Err(Error::request(
            message,
            "the file is damaged; use another one",
        ));
    }
    Ok(arrays)
}

/// Looks at every image; too many unreadable ones are an error.
pub fn surveyed(list: &ImageList, max_bad: f64, observer: &dyn Observer) -> Result<Survey> {
    let stage = Stage::Reading;
    observer.on(&Event::Began {
        stage,
        total: list.len(),
    });
    let survey = images::survey(list, &|done, _| {
        observer.on(&Event::Advanced { stage, done })
    });
    observer.on(&Event::Ended { stage });
    for bad in &survey.bad {
        let message = format!(
            "left out, {}: {}",
            bad.reason,
            list.root.join(&bad.path).display()
        );
        observer.on(&Event::Warning { message });
    }
    accept_bad(survey.bad.len(), list.len(), max_bad)?;
    Ok(survey)
}

/// More unreadable images than `max_bad` percent, or nothing else, is an error.
pub fn accept_bad(bad: usize, all: usize, max_bad: f64) -> Result<()> {
    if bad < all && 100.0 * bad as f64 / all as f64 <= max_bad {
        return Ok(());
    }
    let message = format!("{bad} of {all} images cannot be read");
    let hint = format!(
        "more than {max_bad} % is an error; repair or remove them, or allow more with --max-bad PERCENT"
    );
    Err(Error::failed(message, hint))
}

/// blake3 of a file's content, in hexadecimal.
pub fn hash_file(path: &Path) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    let mut file = std::fs::File::open(path).map_err(|source| Error::io("open", path, source))?;
    std::io::copy(&mut file, &mut hasher).map_err(|source| Error::io("read", path, source))?;
    Ok(hasher.finalize().to_hex().to_string())
}

fn hex(hash: &[u8; 32]) -> String {
    blake3::Hash::from_bytes(*hash).to_hex().to_string()
}
