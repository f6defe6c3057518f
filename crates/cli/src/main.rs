//! The program: parses what was typed, hands it to one command, and says how it ended.

mod args;
mod commands;
mod complete;
mod fault;
mod lack;
mod log;
mod out;
mod runtime;
mod signals;
mod steer;
mod usage;
mod view;

use std::process::ExitCode;

use clap::CommandFactory;
use updraft_workbench::{
    cast, confine, dropins, journal, moment, offered, places, plain, reach, servers, settings, tools,
};

use args::{Arguments, Command};
use fault::{Code, Fault, Outcome};
use places::Places;

fn main() -> ExitCode {
    // Before anything else: what confines a command is this program again, with one thread and nothing opened.
    if std::env::args_os().nth(1).is_some_and(|first| first == updraft_sandbox::launch::ARGUMENT) {
        updraft_sandbox::launch::main();
    }
    lack::end_plainly();
    if places::env("COMPLETE").is_some() {
        clap_complete::CompleteEnv::with_factory(Arguments::command).complete();
    }
    match usage::arguments() {
        Ok(arguments) => carry_out(arguments.command).into(),
        Err(code) => code,
    }
}

fn carry_out(command: Command) -> Code {
    let wants_json = command.wants_json_events();
    let code = dispatch(command).unwrap_or_else(|fault| {
        if wants_json {
            view::json_error(&fault);
        }
        complain(&fault);
        fault.code
    });
    match out::loss() {
        None => code,
        Some(why) => {
            complain(&Fault::failed(format!("standard output could not be written: {why}")));
            if code == Code::Done { Code::Failed } else { code }
        }
    }
}

fn dispatch(command: Command) -> Outcome {
    use commands as c;
    let places = Places::find()?;
    match command {
        Command::Run(args) => c::run::run(&places, *args),
        Command::Runs(args) => c::runs::run(&places, &args),
        Command::Show(args) => c::show::run(&places, &args),
        Command::Events(args) => c::events::run(&places, &args),
        Command::Resume(args) => c::resume::run(&places, &args),
        Command::Pause(args) => c::control::pause(&places, &args),
        Command::Cancel(args) => c::control::cancel(&places, &args),
        Command::Tell(args) => c::control::tell(&places, &args),
        Command::Answer(args) => c::control::answer(&places, &args),
        Command::Approve(args) => c::control::approve(&places, &args),
        Command::Deny(args) => c::control::deny(&places, args),
        Command::Replay(args) => c::replay::run(&places, &args),
        Command::Fork(args) => c::fork::run(&places, *args),
        Command::Diff(args) => c::diff::run(&places, &args),
        Command::Undo(args) => c::undo::run(&places, &args),
        Command::Audit(args) => c::audit::run(&places, &args),
        Command::Export(args) => c::export::run(&places, &args),
        Command::Import(args) => c::import::run(&places, &args),
        Command::Rm(args) => c::rm::rm(&places, &args),
        Command::Prune(args) => c::rm::prune(&places, &args),
        Command::Tools(args) => c::tools::run(&places, args),
        Command::Agents(args) => c::agents::run(&places, &args),
        Command::Models(args) => c::models::run(&places, &args),
        Command::Mcp(args) => c::mcp::run(&places, args),
        Command::Sandbox(args) => c::sandbox::run(&places, args),
        Command::Serve(args) => c::serve::run(&places, *args),
        Command::Bridge(args) => c::bridge::run(&places, &args),
        Command::Init(args) => c::init::run(&args),
        Command::Trust(args) => c::trust::run(&places, &args),
        Command::Permissions(args) => c::permissions::run(&places, &args),
        Command::Aside(args) => c::aside::run(&places, &args),
        Command::Config(args) => c::config::run(&places, &args),
        Command::Doctor(args) => Ok(c::doctor::run(&places, &args)),
        Command::Completions(args) => Ok(c::completions::run(&args)),
        Command::Man => c::man::run(),
        Command::Json(args) => c::json::run(&args),
        Command::Bench => c::bench::run(),
    }
}

fn complain(fault: &Fault) {
    let paint = out::Paint::for_stderr();
    out::note(&format!("{}: {}", paint.red("error"), out::harmless(&fault.message)));
    for hint in &fault.hints {
        out::note(&format!("  {}: {}", paint.cyan("hint"), out::harmless(hint)));
    }
}
