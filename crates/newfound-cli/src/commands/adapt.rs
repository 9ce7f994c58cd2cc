//! `newfound adapt`

use newfound::network::model::is_private_name;
use newfound::request::{AdaptRequest, adapt};
use newfound::run::read_predictions;
use newfound::{Result, device};

use super::configuration;
use crate::args::AdaptArgs;
use crate::tensorboard::Tensorboard;
use crate::terminal::{Terminal, counted};

pub fn run(args: &AdaptArgs, terminal: &Terminal) -> Result<()> {
    let place = device::place(&args.work.device)?;
    let more = super::private(args.private.as_ref());
    let request = AdaptRequest {
        images: &args.images.images,
        split: args.images.split,
        model: &args.model,
        foreign: args.foreign.to_foreign()?,
        out: &args.out,
        resume: args.work.resume,
        cache: args.work.cache.as_deref(),
        config: configuration(&args.work, args.preset.as_deref(), more)?,
    };
    let board = Tensorboard::new(args.tensorboard.as_deref(), terminal)?;
    let folder = adapt(&request, &place, &board)?;
    board.finish()?;
    super::report::write(&folder, terminal)?;
    let rows = read_predictions(&folder.predictions())?;
    let unknown: Vec<&str> = rows
        .iter()
        .map(|row| row.label.as_str())
        .filter(|label| is_private_name(label))
        .collect();
    let mut classes = unknown.clone();
    classes.sort_unstable();
    classes.dedup();
    terminal.say(&format!(
        "found       {} of known classes, {} unknown ones in {}",
        counted(rows.len() - unknown.len(), "image", "images"),
        unknown.len(),
        counted(classes.len(), "new class", "new classes")
    ));
    terminal.say(&format!("report      {}", folder.report().display()));
    Ok(())
}
