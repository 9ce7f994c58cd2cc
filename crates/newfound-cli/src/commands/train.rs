//! `newfound train`

use newfound::request::{TrainRequest, train};
use newfound::{Result, device};
use toml::Table;

use super::{class_names, configuration};
use crate::args::TrainArgs;
use crate::tensorboard::Tensorboard;
use crate::terminal::Terminal;

pub fn run(args: &TrainArgs, terminal: &Terminal) -> Result<()> {
    let place = device::place(&args.work.device)?;
    let request = TrainRequest {
        images: &args.images.images,
        split: args.images.split,
        classes: args
            .foreign
            .classes
            .as_deref()
            .map(class_names)
            .transpose()?,
        backbone: args.backbone,
        stride: args.foreign.stride,
        weights: args.weights.as_deref(),
        crop: args.foreign.size,
        out: &args.out,
        resume: args.work.resume,
        cache: args.work.cache.as_deref(),
        config: configuration(&args.work, None, Table::new())?,
    };
    let board = Tensorboard::new(args.tensorboard.as_deref(), terminal)?;
    let model = train(&request, &place, &board)?;
    board.finish()?;
    let classes = model.description.classes.len();
    terminal.say(&format!(
        "model       {classes} classes: {}",
        args.out.display()
    ));
    Ok(())
}
