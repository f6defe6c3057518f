//! `updraft completions`: a script that lets the shell complete what is typed.

use clap::CommandFactory;

use crate::args::{Arguments, Completions};
use crate::fault::Code;
use crate::out;

pub(crate) fn run(args: &Completions) -> Code {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "updraft", &mut script);
    out::print(&String::from_utf8_lossy(&script));
    out::note(&format!("for run ids as well: `source <(COMPLETE={} updraft)` in the shell's start file", args.shell));
    Code::Done
}
