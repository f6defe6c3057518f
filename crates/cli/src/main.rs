//! The program: parses the arguments, runs one command, and reports how it ended.

mod args;
mod commands;
mod complete;
mod console;
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
    if std::env::args_os().nth(1).is_some_and(|first| first == updraft_tools::document_reader::ARGUMENT) {
        updraft_tools::document_reader::main();
    }
    lack::install_panic_hook();
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
    let folders = AppFolders::find()?;
    match command {
        CliCommand::Run(args) => c::run::run(&folders, *args),
        CliCommand::Chat(args) => c::chat::run(&folders, *args),
        CliCommand::Runs(args) => c::runs::run(&folders, &args),
        CliCommand::Show(args) => c::show::run(&folders, &args),
        CliCommand::Events(args) => c::events::run(&folders, &args),
        CliCommand::Logs(args) => c::logs::run(&folders, &args),
        CliCommand::Attach(args) => c::attach::run(&folders, &args),
        CliCommand::Resume(args) => c::resume::run(&folders, &args),
        CliCommand::Pause(args) => c::control::pause(&folders, &args),
        CliCommand::Cancel(args) => c::control::cancel(&folders, &args),
        CliCommand::Tell(args) => c::control::tell(&folders, &args),
        CliCommand::Answer(args) => c::control::answer(&folders, &args),
        CliCommand::Approve(args) => c::control::approve(&folders, &args),
        CliCommand::Deny(args) => c::control::deny(&folders, args),
        CliCommand::Replay(args) => c::replay::run(&folders, &args),
        CliCommand::Fork(args) => c::fork::run(&folders, *args),
        CliCommand::Rerun(args) => c::rerun::run(&folders, *args),
        CliCommand::Diff(args) => c::diff::run(&folders, &args),
        CliCommand::Undo(args) => c::undo::run(&folders, &args),
        CliCommand::Audit(args) => c::audit::run(&folders, &args),
        CliCommand::Export(args) => c::export::run(&folders, &args),
        CliCommand::Import(args) => c::import::run(&folders, &args),
        CliCommand::Stats(args) => c::stats::run(&folders, &args),
        CliCommand::Rm(args) => c::rm::rm(&folders, &args),
        CliCommand::Prune(args) => c::rm::prune(&folders, &args),
        CliCommand::Ingest(args) => c::ingest::run(&folders, &args),
        CliCommand::Search(args) => c::search::run(&folders, &args),
        CliCommand::Memory(args) => c::memory::run(&folders, &args),
        CliCommand::Tools(args) => c::tools::run(&folders, args),
        CliCommand::Skills(args) => c::skills::run(&folders, &args),
        CliCommand::Schedule(args) => c::schedules::add(&folders, *args),
        CliCommand::Schedules(args) => c::schedules::run(&folders, &args),
        CliCommand::Recipes(args) => c::recipes::run(&folders, &args),
        CliCommand::Agents(args) => c::agents::run(&folders, &args),
        CliCommand::Models(args) => c::models::run(&folders, &args),
        CliCommand::Mcp(args) => c::mcp::run(&folders, args),
        CliCommand::Sandbox(args) => c::sandbox::run(&folders, args),
        CliCommand::Serve(args) => c::serve::run(&folders, *args),
        CliCommand::Worker(args) => c::worker::run(&folders, *args),
        CliCommand::Open(args) => c::open::run(&folders, &args),
        CliCommand::Bridge(args) => c::bridge::run(&folders, &args),
        CliCommand::Acp(args) => c::acp::run(&folders, &args),
        CliCommand::Init(args) => c::init::run(&args),
        CliCommand::Trust(args) => c::trust::run(&folders, &args),
        CliCommand::Permissions(args) => c::permissions::run(&folders, &args),
        CliCommand::Aside(args) => c::aside::run(&folders, &args),
        CliCommand::Config(args) => c::config::run(&folders, &args),
        CliCommand::Doctor(args) => c::doctor::run(&folders, &args),
        CliCommand::Completions(args) => Ok(c::completions::run(&args)),
        CliCommand::Man(args) => c::man::run(&args),
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
