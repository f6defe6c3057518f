//! The program: parses the arguments, runs one command, and reports how it ended.

mod args;
mod commands;
mod complete;
mod drive_run;
mod fault;
mod lack;
mod log;
mod out;
mod runtime;
mod signals;
mod usage;
mod view;

use std::process::ExitCode;

use clap::CommandFactory;
use updraft_workbench::{
    agents, confinement, dropins, folders, journal, model_access, sandbox_probe, servers, settings, time_format, tools,
    untrusted,
};

use args::{CliArgs, CliCommand};
use fault::{CliError, CliExitCode, CliResult};
use folders::AppFolders;

fn main() -> ExitCode {
    // Must come first: the sandbox starts this program again to confine a command, with one thread and no open files.
    if std::env::args_os().nth(1).is_some_and(|first| first == updraft_sandbox::launch::ARGUMENT) {
        updraft_sandbox::launch::main();
    }
    lack::end_plainly();
    if folders::env("COMPLETE").is_some() {
        clap_complete::CompleteEnv::with_factory(CliArgs::command).complete();
    }
    match usage::arguments() {
        Ok(arguments) => carry_out(arguments.command).into(),
        Err(code) => code,
    }
}

fn carry_out(command: CliCommand) -> CliExitCode {
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
            complain(&CliError::failed(format!("standard output could not be written: {why}")));
            if code == CliExitCode::Done { CliExitCode::Failed } else { code }
        }
    }
}

fn dispatch(command: CliCommand) -> CliResult {
    use commands as c;
    let places = AppFolders::find()?;
    match command {
        CliCommand::Run(args) => c::run::run(&places, *args),
        CliCommand::Runs(args) => c::runs::run(&places, &args),
        CliCommand::Show(args) => c::show::run(&places, &args),
        CliCommand::Events(args) => c::events::run(&places, &args),
        CliCommand::Resume(args) => c::resume::run(&places, &args),
        CliCommand::Pause(args) => c::control::pause(&places, &args),
        CliCommand::Cancel(args) => c::control::cancel(&places, &args),
        CliCommand::Tell(args) => c::control::tell(&places, &args),
        CliCommand::Answer(args) => c::control::answer(&places, &args),
        CliCommand::Approve(args) => c::control::approve(&places, &args),
        CliCommand::Deny(args) => c::control::deny(&places, args),
        CliCommand::Replay(args) => c::replay::run(&places, &args),
        CliCommand::Fork(args) => c::fork::run(&places, *args),
        CliCommand::Diff(args) => c::diff::run(&places, &args),
        CliCommand::Undo(args) => c::undo::run(&places, &args),
        CliCommand::Audit(args) => c::audit::run(&places, &args),
        CliCommand::Export(args) => c::export::run(&places, &args),
        CliCommand::Import(args) => c::import::run(&places, &args),
        CliCommand::Rm(args) => c::rm::rm(&places, &args),
        CliCommand::Prune(args) => c::rm::prune(&places, &args),
        CliCommand::Tools(args) => c::tools::run(&places, args),
        CliCommand::Agents(args) => c::agents::run(&places, &args),
        CliCommand::Models(args) => c::models::run(&places, &args),
        CliCommand::Mcp(args) => c::mcp::run(&places, args),
        CliCommand::Sandbox(args) => c::sandbox::run(&places, args),
        CliCommand::Serve(args) => c::serve::run(&places, *args),
        CliCommand::Bridge(args) => c::bridge::run(&places, &args),
        CliCommand::Init(args) => c::init::run(&args),
        CliCommand::Trust(args) => c::trust::run(&places, &args),
        CliCommand::Permissions(args) => c::permissions::run(&places, &args),
        CliCommand::Aside(args) => c::aside::run(&places, &args),
        CliCommand::Config(args) => c::config::run(&places, &args),
        CliCommand::Doctor(args) => Ok(c::doctor::run(&places, &args)),
        CliCommand::Completions(args) => Ok(c::completions::run(&args)),
        CliCommand::Man => c::man::run(),
        CliCommand::Json(args) => c::json::run(&args),
        CliCommand::Bench => c::bench::run(),
    }
}

fn complain(fault: &CliError) {
    let paint = out::Paint::for_stderr();
    out::note(&format!("{}: {}", paint.red("error"), out::harmless(&fault.message)));
    for hint in &fault.hints {
        out::note(&format!("  {}: {}", paint.cyan("hint"), out::harmless(hint)));
    }
}
