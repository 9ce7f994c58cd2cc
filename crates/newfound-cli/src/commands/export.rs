//! `newfound export`

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
