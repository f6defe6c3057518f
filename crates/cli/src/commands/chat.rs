//! `updraft chat`: a conversation, in the console or line by line. Every message is a run that continues the one before.

mod commands;
mod lines;
mod session;
mod user_commands;

use std::io::IsTerminal;

use updraft_run::RunId;
use updraft_workbench::Flags;

use super::run::follow_up::{self, FollowUp, memory_file};
use super::{memory, resume, run};
use crate::args::{self, ChatArgs};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::settings::WorkspaceSettings;
use crate::{console, journal};
use lines::LineReader;

const HELP: &str = "\
/new          begin another conversation; this one stays in `updraft runs`
/model NAME   use another model from here on
/memory       list what is remembered between conversations
/pin TEXT     keep this word for word, however long the conversation becomes
/help         show this
/quit         leave, as Ctrl-D does; `updraft chat --continue` goes on
Ctrl-C stops the answer that is being made.";

/// A conversation in progress.
struct Chat<'a> {
    folders: &'a AppFolders,
    args: ChatArgs,
    /// What was said so far.
    follow_up: FollowUp,
    /// How the first message ended that was not answered.
    ending: CliExitCode,
}

/// What a line asks for.
enum Line {
    Message(String),
    Command(String, String),
    Nothing,
}

pub(crate) fn run(folders: &AppFolders, args: ChatArgs) -> CliResult {
    let wants_lines = args.plain || args.screen_reader || args.output.json || args.output.quiet;
    if !wants_lines && console::is_possible() {
        return session::run(folders, args);
    }
    out::set_screen_reader(args.screen_reader);
    let folder = folders::workspace(args.workspace.as_deref())?;
    let follow_up = match (args.continues || args.resume.is_some(), memory_file()) {
        (true, _) => resumed(folders, &folder, args.resume.as_deref())?,
        (false, Some(file)) => FollowUp::from_file(folders, &file, &folder)?,
        (false, None) => FollowUp::default(),
    };
    let mut chat = Chat { folders, args, follow_up, ending: CliExitCode::Done };
    let mut lines = LineReader::start();
    let is_terminal = std::io::stdin().is_terminal();
    if is_terminal && !chat.args.output.quiet {
        out::note("Say what you want done. /help lists commands, Ctrl-D leaves.");
    }
    loop {
        if is_terminal {
            out::draw(&Paint::for_stderr().bold("> "));
        }
        let Some(line) = lines.next(is_terminal)? else { break };
        match parse(&line) {
            Line::Nothing => {}
            Line::Message(text) => {
                // The conversation goes on; a script sees by the exit code that a message was not answered.
                let code = chat.say(&text).unwrap_or_else(|fault| {
                    crate::complain(&fault);
                    fault.code
                });
                if chat.ending == CliExitCode::Done {
                    chat.ending = code;
                }
                if code == CliExitCode::Terminated {
                    break;
                }
            }
            Line::Command(name, rest) => {
                if !chat.obey(&name, &rest) {
                    break;
                }
            }
        }
    }
    if is_terminal {
        out::note("");
        return Ok(CliExitCode::Done);
    }
    Ok(chat.ending)
}

/// The newest conversation of a folder, or that of a run. If its last answer was cut off, that run is finished first.
fn resumed(folders: &AppFolders, folder: &std::path::Path, run: Option<&str>) -> Result<FollowUp, CliError> {
    if let Some(run) = run {
        let journal = journal::open_with_runs(folders)?;
        let id = journal::find_run(&journal, run)?;
        if journal.head(&id)?.was_cut_off() {
            let args = args::ResumeArgs { run: Some(id.to_string()), ..args::ResumeArgs::default() };
            resume::run(folders, &args)?;
        }
        return Ok(FollowUp::after(&journal, &id));
    }
    let limits = WorkspaceSettings::load(folders, folder, &Flags::default())?.effective.memory.conversation();
    let found = journal::open_with_runs(folders)
        .and_then(|journal| journal::newest_in(&journal, folder).map(|newest| (journal, newest)));
    let (journal, newest) = match found {
        // The conversation of another program has no runs.
        Err(_) if memory_file().is_some() => return FollowUp::find(folders, folder),
        found => found?,
    };
    let is_next = memory_file().is_none() || follow_up::is_next(folders, &journal, &newest, folder, limits)?;
    if is_next && journal.head(&newest)?.was_cut_off() {
        out::note(&format!("continuing where run {newest} was interrupted"));
        let args = args::ResumeArgs { run: Some(newest.to_string()), ..args::ResumeArgs::default() };
        resume::run(folders, &args)?;
        follow_up::keep(&journal::open_with_runs(folders)?, &newest, limits)?;
    }
    FollowUp::find(folders, folder)
}

impl Chat<'_> {
    /// Has a message answered.
    fn say(&mut self, text: &str) -> CliResult {
        let id = journal::new_id()?;
        let follow_up = self.follow_up.clone().with_any_agent();
        let ended = run::start(self.folders, &self.run_args(text), text, Some(follow_up), &id);
        self.take(&id)?;
        ended
    }

    /// Adds what was said in a run to the conversation, if it has begun.
    fn take(&mut self, id: &RunId) -> Result<(), CliError> {
        let journal = journal::open_with_runs(self.folders)?;
        if journal.head(id).is_ok() {
            self.follow_up = FollowUp::after(&journal, id);
        }
        Ok(())
    }

    fn run_args(&self, text: &str) -> args::RunArgs {
        let ChatArgs {
            workspace, agent, plan, plan_first, model, think, permission, spending, confine, output, ..
        } = self.args.clone();
        args::RunArgs {
            by_generalist: !plan && !plan_first,
            workspace,
            plan_first,
            agent,
            model,
            think,
            permission,
            spending,
            confine,
            output,
            goal: text.to_owned(),
            ..args::RunArgs::default()
        }
    }

    /// Carries out a command; false if the conversation is over.
    fn obey(&mut self, name: &str, rest: &str) -> bool {
        match (name, rest) {
            ("quit" | "exit", _) => return false,
            ("help", _) => out::note(HELP),
            ("new", _) => {
                self.follow_up = FollowUp::default();
                out::note("a new conversation");
            }
            ("model", "") => out::note(self.args.model.as_deref().unwrap_or("auto")),
            ("model", model) => {
                self.args.model = Some(model.to_owned());
                out::note(&format!("{} from here on", out::on_one_line(model)));
            }
            ("pin", "") => out::note("expected a text: /pin The licence is MIT."),
            ("pin", fact) => {
                self.follow_up.earlier.pin(fact);
                out::note("kept word for word, from your next message on");
            }
            ("memory", _) => {
                let workspace = self.args.workspace.clone();
                let listed = args::MemoryArgs { command: None, workspace, json: false, all: false };
                let listed = memory::run(self.folders, &listed);
                if let Err(fault) = listed {
                    crate::complain(&fault);
                }
            }
            _ => out::note(&format!("/{} is not a command\n{HELP}", out::on_one_line(name))),
        }
        true
    }
}

fn parse(line: &str) -> Line {
    let line = line.trim();
    match line.strip_prefix('/') {
        _ if line.is_empty() => Line::Nothing,
        // A path such as /etc/hosts is no command.
        Some(command) => {
            let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_lowercase()) {
                return Line::Message(line.to_owned());
            }
            Line::Command(name.to_owned(), rest.trim().to_owned())
        }
        None => Line::Message(line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_message_and_a_slash_word_is_a_command() {
        let is_command = |line: &str| matches!(parse(line), Line::Command(..));
        assert!(is_command("/quit") && is_command("/model openai/gpt-5") && is_command("/pin a b"));
        assert!(!is_command("/etc/hosts says what?") && !is_command("what is /etc?") && !is_command("/"));
        assert!(matches!(parse("  "), Line::Nothing));
    }
}
