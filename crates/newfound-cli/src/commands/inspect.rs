//! `newfound inspect`

use std::collections::BTreeMap;
use std::path::Path;

use newfound::Result;
use newfound::images;
use newfound::network::model::{Description, Foreign, Model};
use newfound::run::{Manifest, RunFolder};

use crate::args::InspectArgs;
use crate::terminal::Terminal;

pub fn run(args: &InspectArgs, terminal: &Terminal) -> Result<()> {
    let path = &args.path;
    let text = if path.join("manifest.json").is_file() {
        run_folder(path)?
    } else if is_weights(path) {
        model(path)?
    } else {
        image_folder(path)?
    };
    terminal.data(&text);
    Ok(())
}

/// Whether these are weights by their ending, or a file that is neither a list nor an image and can be read as weights.
fn is_weights(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let ending = ending.unwrap_or_default().to_ascii_lowercase();
    let known = ["safetensors", "pth", "pt", "bin", "ckpt", "tar"].contains(&ending.as_str());
    path.is_file()
        && (known || images::list(path, None).is_err() && newfound::weights::read(path).is_ok())
}

fn model(path: &Path) -> Result<String> {
    let file = newfound::weights::read(path)?;
    let stated = newfound::network::model::stated_stride(&file).is_some()
        || file.metadata.contains_key("newfound");
    let values: usize = file.tensors.values().map(|array| array.values.len()).sum();
    let mut text = format!(
        "weights     {} tensors, {values} values: {}\n",
        file.tensors.len(),
        path.display()
    );
    if !file.tensors.contains_key("fc.weight") && !file.metadata.contains_key("newfound") {
        let backbone = newfound::network::model::recognise(&file, path)?;
        text += &format!("body        {backbone}, without a classifier\n");
        return Ok(text);
    }
    let model = Model::read(path, &Foreign::default())?;
    text += &describe(&model.description);
    if !stated {
        text += "            the file does not say where its stride is; v1.5 is assumed (--stride v1 for Caffe and Keras weights)\n";
    }
    Ok(text)
}

fn describe(description: &Description) -> String {
    let Description {
        architecture,
        classes,
        known,
        private,
        geometry,
        normalisation,
    } = description;
    let bottleneck = architecture
        .bottleneck
        .map_or("none".to_string(), |width| format!("{width} wide"));
    format!(
        "network     {}, stride {}, bottleneck {bottleneck}, {} features\nclasses     {known} known, {private} private: {}\nimages      resized to {r}×{r}, cropped to {c}×{c}, mean {:?}, deviation {:?}\n",
        architecture.backbone,
        architecture.stride,
        architecture.features(),
        shortened(classes),
        normalisation.mean,
        normalisation.std,
        r = geometry.resize,
        c = geometry.crop,
    )
}

fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 40;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN {
        format!("{shown}, … and {} more", names.len() - SHOWN)
    } else {
        shown
    }
}

fn run_folder(path: &Path) -> Result<String> {
    let folder = RunFolder::open(path)?;
    let manifest = Manifest::read(&folder.manifest())?;
    let state = if folder.model().is_file() {
        "complete"
    } else {
        "unfinished: go on with adapt … --resume"
    };
    let mut text = format!(
        "run         {state}: {}\nmade by     newfound {} with Burn {}, seed {}, on {}\nmodel       {}\nimages      {} from {}, {} unreadable\n",
        path.display(),
        manifest.newfound,
        manifest.burn,
        manifest.seed,
        manifest.device,
        manifest.model.path,
        manifest.images.len(),
        manifest.source,
        manifest.bad.len()
    );
    if folder.model().is_file() {
        text += &describe(&Model::read(&folder.model(), &Foreign::default())?.description);
    }
    Ok(text)
}

fn image_folder(path: &Path) -> Result<String> {
    let list = images::list(path, None)?;
    let survey = images::survey(&list, &|_, _| {});
    let mut text = format!(
        "images      {} readable, {} not: {}\n",
        survey.good.len(),
        survey.bad.len(),
        path.display()
    );
    let sides = |of: fn(&images::Surveyed) -> u32| {
        let all = survey.good.iter().map(of);
        (all.clone().min().unwrap_or(0), all.max().unwrap_or(0))
    };
    let ((w0, w1), (h0, h1)) = (sides(|image| image.width), sides(|image| image.height));
    text += &format!("sizes       {w0} to {w1} wide, {h0} to {h1} high\n");
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    for image in &survey.good {
        let folder = image
            .path
            .parent()
            .map(|p| p.display().to_string())
            .unwrap_or_default();
        *folders
            .entry(if folder.is_empty() {
                ".".into()
            } else {
                folder
            })
            .or_default() += 1;
    }
    for (folder, count) in folders {
        text += &format!("{count:>11} {folder}\n");
    }
    for bad in &survey.bad {
        text += &format!("unreadable  {}: {}\n", bad.path.display(), bad.reason);
    }
    Ok(text)
}
