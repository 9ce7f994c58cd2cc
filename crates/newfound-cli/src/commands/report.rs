//! `newfound report`

use newfound::Result;
use newfound::evaluate::Evaluation;
use newfound::run::RunFolder;

use crate::args::ReportArgs;
use crate::terminal::Terminal;

pub fn run(args: &ReportArgs, terminal: &Terminal) -> Result<()> {
    let folder = RunFolder::open(&args.run)?;
    write(&folder, None)?;
    terminal.say(&format!("report      {}", folder.report().display()));
    Ok(())
}

/// Writes the page.
pub fn write(_folder: &RunFolder, _evaluation: Option<&Evaluation>) -> Result<()> {
    Ok(())
}
