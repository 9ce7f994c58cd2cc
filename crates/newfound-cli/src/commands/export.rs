//! `newfound export`

use newfound::health::{Health, Predictions};
use newfound::network::model::Model;
use newfound::run::RunFolder;
use newfound::{Result, export};

use crate::args::ExportArgs;
use crate::terminal::Terminal;

pub fn run(args: &ExportArgs, terminal: &Terminal) -> Result<()> {
    let format = export::destination(&args.out)?;
    let foreign = args.foreign.to_foreign()?;
    let model = if args.model.is_dir() {
        let folder = RunFolder::finished(&args.model)?;
        let kept = |health: &Health| health.predictions != Predictions::Adapted;
        if Health::read(&folder)?.as_ref().is_some_and(kept) {
            terminal.say(
                "this run did not keep the adapted model's predictions; the model that is exported is fitted to those it kept, and may have other labels for some of its images",
            );
        }
        Model::read(&folder.model(), &foreign)?
    } else {
        Model::read(&args.model, &foreign)?
    };
    let (known, private) = (model.description.known, model.description.private);
    export::write(model, format, &args.out)?;
    terminal.say(&format!(
        "exported    {known} known and {private} private classes: {}",
        args.out.display()
    ));
    Ok(())
}
