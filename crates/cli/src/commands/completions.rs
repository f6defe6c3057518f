//! `updraft completions`: prints a script for the shell's completion.

use clap::CommandFactory;

use crate::args::{CliArgs, CompletionsArgs};
use crate::fault::CliExitCode;
use crate::out;

pub(crate) fn run(args: &CompletionsArgs) -> CliExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut CliArgs::command(), "updraft", &mut script);
    out::print(&String::from_utf8_lossy(&script));
    out::note(&format!("for run ids as well: `source <(COMPLETE={} updraft)` in the shell's start file", args.shell));
    CliExitCode::Done
}
