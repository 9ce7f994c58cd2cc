//! The newfound program: parse the request, carry it out, say how it went.

mod args;
mod commands;
mod tensorboard;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};
use terminal::Terminal;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let terminal = Terminal::new(arguments.quiet);
    terminal.stop_on_interrupt();
    let result = match arguments.command {
        Command::Demo(args) => commands::demo::run(&args, &terminal),
        Command::Train(args) => commands::train::run(&args, &terminal),
        Command::Adapt(args) => commands::adapt::run(&args, &terminal),
        Command::Predict(args) => commands::predict::run(&args, &terminal),
        Command::Evaluate(args) => commands::evaluate::run(&args, &terminal),
        Command::Report(args) => commands::report::run(&args, &terminal),
        Command::Export(args) => commands::export::run(&args, &terminal),
        Command::Inspect(args) => commands::inspect::run(&args, &terminal),
        Command::Bench(args) => commands::bench::run(&args, &terminal),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            terminal.error(&error);
            ExitCode::from(if error.is_request() { 2 } else { 1 })
        }
    }
}
