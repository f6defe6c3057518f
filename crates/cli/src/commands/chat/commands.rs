//! The commands of the console: `/help` and its kind.

use updraft_engine::touched;
use updraft_journal::Journal;
use updraft_run::{Run, RunId};

use super::session::ChatSession;
use super::user_commands::UserCommand;
use crate::args;
use crate::commands::run::follow_up::FollowUp;
use crate::commands::{memory, runs, show, undo};
use crate::console::diff;
use crate::fault::{CliError, CliResult};
use crate::folders::AppFolders;
use crate::out::{self, Paint};
use crate::{complain, journal, view};

/// Every command: its name, what follows it, and what it does.
const COMMANDS: [(&str, &str, &str); 18] = [
    ("help", "", "show this"),
    ("new", "", "begin another conversation; this one stays in /runs"),
    ("model", "NAME", "use another model from here on"),
    ("agent", "NAME", "let another agent answer; without a name, the usual one"),
    ("plan", "on|first|off", "plan messages with all agents; `first` shows each plan before it runs"),
    ("tell", "TEXT", "tell the agents at work something, also while they ask"),
    ("runs", "", "list the newest runs"),
    (
        "resume",
        "RUN",
        "continue the conversation that a run is the last of; without a run, the last one if it has not ended",
    ),
    ("fork", "N", "list the messages of this conversation, or go back to the Nth and change it"),
    ("show", "RUN", "show the steps and costs of a run"),
    ("graph", "", "show the steps of the run, one of them in detail, on the whole screen; q comes back"),
    ("log", "N", "show the last lines about what happened, with their times"),
    ("diff", "RUN", "show what the last message changed in files"),
    ("undo", "", "undo what the last message changed in files"),
    ("cost", "", "show what each message of this conversation cost"),
    ("memory", "", "list what is remembered between conversations"),
    ("pin", "TEXT", "keep this word for word, however long the conversation becomes"),
    ("quit", "", "leave"),
];

const KEYS: &str = "\
Enter sends, Alt-Enter or \\ and Enter begins a new line. Esc stops the work, Ctrl-C twice leaves.
Up and Ctrl-R find earlier messages. @ completes files, Tab takes what is offered. Ctrl-V pastes a picture.
Ctrl-O shows the newest tool call in full, Ctrl-G the steps on the whole screen. Ctrl-L draws the screen again, Ctrl-Z stops the program.
What you send while agents work is a message to them; while they ask, use /tell for that.";

/// Whether the conversation goes on after a command.
pub(super) enum Obedience {
    Stay,
    Leave,
}

/// All commands by name, with what they do.
pub(super) fn names(own: &[UserCommand]) -> Vec<(String, String)> {
    let known = COMMANDS.iter().map(|(name, _, what)| ((*name).to_owned(), (*what).to_owned()));
    known.chain(own.iter().map(|command| (command.name.clone(), command.description.clone()))).collect()
}

/// The runs of the conversation that a run is the last of, the oldest first.
pub(super) fn conversation(journal: &Journal, last: &RunId) -> Vec<RunId> {
    let (mut next, mut runs) = (Some(last.clone()), Vec::new());
    while let Some(id) = next.take() {
        let Ok(run) = journal::load(journal, &id) else { break };
        next.clone_from(&run.goal().follows);
        runs.push(id);
        // A journal that was tampered with may go in circles.
        next = next.filter(|id| !runs.contains(id));
    }
    runs.reverse();
    runs
}

impl ChatSession<'_> {
    /// Carries out a command.
    pub(super) async fn obey(&mut self, name: &str, rest: &str) -> Result<Obedience, CliError> {
        match (name, rest) {
            ("quit" | "exit", _) => return Ok(Obedience::Leave),
            ("help", _) => help(&self.user_commands),
            ("new" | "clear", _) => {
                self.chat.follow_up = FollowUp::default();
                self.runs.clear();
                self.console.set_cost(String::new());
                out::note("a new conversation");
            }
            ("agent", agent) => {
                self.chat.args.agent = Some(agent.to_owned()).filter(|agent| !agent.is_empty());
                (self.chat.args.plan, self.chat.args.plan_first) = (false, false);
                let agent = self.chat.args.agent.as_deref().unwrap_or("the generalist");
                out::note(&format!("{} answers from here on", out::on_one_line(agent)));
            }
            ("plan", how) => self.plan(how),
            ("tell", _) => out::note("no agent is at work; send it as a message, without /tell"),
            ("runs", _) => {
                let listed = args::RunsArgs { since: None, until: None, status: None, limit: 12, json: false };
                self.aloud(move |folders| runs::run(folders, &listed)).await;
            }
            ("resume", "") => match self.unfinished() {
                Some(last) => self.finish(&last).await?,
                None => out::note(
                    "this conversation has no run that could go on; /resume RUN takes up another, /runs lists them",
                ),
            },
            ("resume", run) => {
                let id = journal::find_run(&journal::open_with_runs(self.chat.folders)?, run)?;
                self.take_up(&id).await?;
            }
            ("fork", which) => self.fork(which)?,
            ("show", run) => {
                let shown = self.run_or_last(run)?;
                self.aloud(move |folders| show::run(folders, &show_args(&shown))).await;
            }
            ("diff", run) => {
                let id = self.run_or_last(run)?;
                print_changes(&journal::open_with_runs(self.chat.folders)?, &id)?;
            }
            ("undo", _) => {
                let id = self.run_or_last("")?;
                self.aloud(move |folders| undo::run(folders, &undo_args(&id))).await;
            }
            ("cost", _) => self.costs()?,
            ("memory", _) => {
                let workspace = Some(self.folder.clone());
                let listed = args::MemoryArgs { command: None, workspace, json: false, all: false };
                self.aloud(move |folders| memory::run(folders, &listed)).await;
            }
            ("pin", _) | ("model", "") => {
                self.chat.obey(name, rest);
            }
            ("model", _) => {
                self.chat.obey(name, rest);
                self.introduce_model().await;
            }
            _ => {
                let Some(own) = self.user_commands.iter().find(|own| own.name == name) else {
                    out::note(&format!("/{} is not a command; /help lists them", out::on_one_line(name)));
                    return Ok(Obedience::Stay);
                };
                let message = own.message(rest);
                self.say(&message).await?;
            }
        }
        Ok(Obedience::Stay)
    }

    fn plan(&mut self, how: &str) {
        let args = &mut self.chat.args;
        (args.plan, args.plan_first) = match how {
            "" | "on" => (true, false),
            "first" => (true, true),
            "off" => (false, false),
            _ => return out::note("expected /plan on, /plan first or /plan off"),
        };
        args.agent = None;
        out::note(match (args.plan, args.plan_first) {
            (_, true) => "messages are planned from here on, and each plan is shown before it runs",
            (true, false) => "messages are planned from here on",
            (false, false) => "one agent answers from here on",
        });
    }

    /// Runs a command of the program, and shows what it prints. It has a runtime of its own, so it needs a thread.
    async fn aloud(&self, work: impl FnOnce(&AppFolders) -> CliResult + Send + 'static) {
        let folders = self.chat.folders.clone();
        match tokio::task::spawn_blocking(move || work(&folders)).await {
            Ok(Ok(_)) => {}
            Ok(Err(fault)) => complain(&fault),
            Err(_) => out::note("the command could not be run"),
        }
    }

    fn run_or_last(&self, name: &str) -> Result<RunId, CliError> {
        let last = || self.runs.last().or(self.chat.follow_up.follows.as_ref()).cloned();
        match name {
            "" => last().ok_or_else(|| CliError::usage("nothing was said yet")),
            name => Ok(journal::find_run(&journal::open_with_runs(self.chat.folders)?, name)?),
        }
    }

    /// Lists the messages of the conversation, or goes back to one of them.
    fn fork(&mut self, which: &str) -> Result<(), CliError> {
        if self.runs.is_empty() {
            out::note("nothing was said yet");
            return Ok(());
        }
        let journal = journal::open_with_runs(self.chat.folders)?;
        let message = |id: &RunId| journal::load(&journal, id).map(|run| run.goal().own_words().to_owned());
        if which.is_empty() {
            for (n, id) in self.runs.iter().enumerate() {
                let words = message(id).unwrap_or_default();
                out::note(&format!("{:>3}  {}", n + 1, view::cut(&words, view::size().1.saturating_sub(6))));
            }
            out::note(
                "/fork N goes back to before that message and gives it to you to change; this conversation stays",
            );
            return Ok(());
        }
        let at = which.parse::<usize>().ok().filter(|n| (1..=self.runs.len()).contains(n));
        let at = at.ok_or_else(|| CliError::usage(format!("expected a number from 1 to {}", self.runs.len())))? - 1;
        let text = message(&self.runs[at])?;
        self.chat.follow_up = match at.checked_sub(1) {
            Some(before) => FollowUp::after(&journal, &self.runs[before]),
            None => FollowUp::default(),
        };
        self.runs.truncate(at);
        out::note(&format!("before message {}; send it changed, or something else", at + 1));
        self.console.draft(&text);
        Ok(())
    }

    /// Prints what each message cost.
    fn costs(&self) -> Result<(), CliError> {
        let journal = journal::open_with_runs(self.chat.folders)?;
        let loaded: Vec<Run> = self.runs.iter().filter_map(|id| journal::load(&journal, id).ok()).collect();
        if loaded.is_empty() {
            out::note("nothing was said yet");
            return Ok(());
        }
        let columns = view::size().1;
        for (n, run) in loaded.iter().enumerate() {
            let figures = view::figures(run);
            let room = columns.saturating_sub(view::width(&figures) + 8).max(10);
            let words = view::column(run.goal().own_words(), room);
            out::note(&format!("{:>3}  {words}  {}", n + 1, Paint::for_stdout().dim(&figures)));
        }
        self.show_cost(&journal);
        Ok(())
    }
}

fn help(own: &[UserCommand]) {
    let paint = Paint::for_stdout();
    let columns = view::size().1;
    let line = |head: &str, what: &str| {
        let lines = view::wrap(what, columns.saturating_sub(21));
        for (n, part) in lines.iter().enumerate() {
            let head = if n == 0 { head } else { "" };
            out::note(&format!("{}{}", view::column(head, 20), paint.dim(part)));
        }
    };
    for (name, rest, what) in COMMANDS {
        line(&format!("/{name} {rest}"), what);
    }
    for command in own {
        line(&format!("/{}", command.name), &command.description);
    }
    out::note("");
    for text in KEYS.lines().flat_map(|text| view::wrap(text, columns.saturating_sub(1))) {
        out::note(&paint.dim(&text));
    }
}

/// Prints what the calls of a run changed in text files, hunk by hunk.
fn print_changes(journal: &Journal, id: &RunId) -> Result<(), CliError> {
    let paint = Paint::for_stdout();
    let mut is_empty = true;
    for call in touched(journal, id)? {
        let Some(changes) = &call.diff else { continue };
        is_empty = false;
        let several = call.changes.iter().map(|change| change.path.as_str()).collect::<Vec<_>>().join(", ");
        out::note(&paint.bold(&out::on_one_line(&several)));
        for line in diff::lines(changes, view::size().1.saturating_sub(1), paint) {
            out::note(&line);
        }
    }
    if is_empty {
        out::note("no text file was changed");
    }
    Ok(())
}

fn undo_args(id: &RunId) -> args::UndoArgs {
    args::UndoArgs {
        run: Some(id.to_string()),
        list: false,
        step: None,
        call: None,
        path: None,
        force: false,
        redo: false,
        dry_run: false,
        yes: false,
        json: false,
    }
}

fn show_args(id: &RunId) -> args::ShowArgs {
    args::ShowArgs {
        run: args::RunOrNewest { run: Some(id.to_string()) },
        prompts: false,
        sources: false,
        proof: false,
        context: false,
        bus: false,
        out: None,
        json: false,
    }
}
