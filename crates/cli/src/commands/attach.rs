//! `updraft attach`: watches a run that another process drives, and lets the user answer, approve, tell and cancel.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use updraft_engine::DriveResult;
use updraft_journal::{Journal, Tail};
use updraft_run::{Event, Input, Run, RunId};

use super::{control, runs};
use crate::args::AttachArgs;
use crate::console::{self, Console, ConsoleLink, ConsoleMode, ConsoleOptions, ConsoleRequest};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::signals::Signals;
use crate::view::{PersonQuestion, QuestionOutcome, QuestionQueue, RunDisplay};
use crate::{drive_run, journal, out, runtime};

/// How often to check whether the process that drives the run still exists: it may end without writing anything.
const LOOK: Duration = Duration::from_millis(500);

/// How long a server that began the run has to go on with it after an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What can be typed while watching.
const COMMANDS: [(&str, &str); 7] = [
    ("graph", "show the steps, one of them in detail, on the whole screen; q comes back"),
    ("log", "show the last lines about what happened"),
    ("tell", "tell the agents something, also while they ask"),
    ("cancel", "stop the run for good"),
    ("pause", "let nothing new start; `updraft resume` continues it"),
    ("help", "show this"),
    ("quit", "stop watching; the run continues"),
];

pub(crate) fn run(folders: &AppFolders, args: &AttachArgs) -> CliResult {
    let journal = journal::open_with_runs(folders)?;
    let id = journal::find_run_here(&journal, args.run.run.as_deref())?;
    let mut output = args.output.clone();
    let wants_console = !output.json && !output.quiet && !args.plain && console::is_possible();
    let is_driven = journal.head(&id)?.is_owned();
    if args.fullscreen && !wants_console {
        return Err(CliError::usage("the full screen needs a terminal")
            .hint("`updraft show` and `updraft events` print what it shows"));
    }
    let run = wants_console.then(|| journal::load(&journal, &id)).transpose()?;
    // One that waits for an answer is driven by whoever takes it.
    let is_live = is_driven || run.as_ref().is_some_and(awaits_answer);
    let console = run
        .filter(|_| is_live || args.fullscreen)
        .map(|run| {
            let commands = COMMANDS.map(|(name, what)| (name.to_owned(), what.to_owned())).to_vec();
            let mode = if is_live { ConsoleMode::Watch } else { ConsoleMode::Look };
            let options = ConsoleOptions { mode, commands, is_full: args.fullscreen };
            Console::open(folders, run.settings().workspace.as_ref(), options)
        })
        .transpose()?;
    output.console = console.as_ref().map(Console::link);
    if let Some(console) = &output.console {
        console.look_at(&id);
    }
    runtime::block_on(async {
        let face = RunDisplay::of(&output);
        let ended = match &output.console {
            Some(console) if !is_live => {
                let mut signals = Signals::listen(CancellationToken::new())?;
                tokio::select! {
                    () = console.while_full() => Ok(CliExitCode::Done),
                    code = signals.first() => Ok(code),
                }
            }
            _ => Box::pin(Attachment::new(&journal, &id, &face).watch()).await,
        };
        // The last that was shown stays on the terminal.
        drop(console);
        journal.clone().close().await;
        ended
    })
}

/// Whether only an answer is missing.
fn awaits_answer(run: &Run) -> bool {
    drive_run::is_waiting(run) && !PersonQuestion::all(run).is_empty()
}

/// A run that is watched.
struct Attachment<'a> {
    journal: &'a Journal,
    id: &'a RunId,
    face: &'a RunDisplay,
    run: Run,
    tail: Tail,
    /// What the user is asked.
    questions: QuestionQueue,
}

impl<'a> Attachment<'a> {
    fn new(journal: &'a Journal, id: &'a RunId, face: &'a RunDisplay) -> Self {
        let tail = journal.tail(id, 0);
        Self { journal, id, face, run: Run::default(), tail, questions: QuestionQueue::default() }
    }

    /// Shows what happens until the run rests, nobody drives it any more, or the user leaves.
    async fn watch(&mut self) -> CliResult {
        let mut signals = Signals::listen(CancellationToken::new())?;
        // Earlier events are applied without showing them, except to programs.
        let known = self.journal.head(self.id)?.events;
        if let Some(console) = &self.face.console {
            console.set_working(true);
            let is_driven = self.journal.head(self.id)?.is_owned();
            let who = if is_driven { "driven by another process" } else { "waiting for an answer" };
            out::note(&format!("run {}, {who}", self.id));
        } else if !self.face.is_drawn() && !self.face.json {
            self.face.say(&format!("run {}", self.id));
        }
        loop {
            let is_known = self.run.events() >= known;
            let head = self.journal.head(self.id)?;
            // A process that ends may have written more than was read here so far.
            let is_left = !head.is_owned() && self.run.events() >= head.events;
            if is_known && (self.run.is_over() || (is_left && !self.awaits_answer())) {
                let code = self.end(&signals);
                // The end of a run does not take the screen away that somebody looks at.
                if let Some(console) = &self.face.console {
                    tokio::select! {
                        () = console.while_full() => {}
                        code = signals.first() => return Ok(code),
                    }
                }
                return Ok(code);
            }
            if is_known {
                self.ask();
            }
            tokio::select! {
                next = tokio::time::timeout(LOOK, self.tail.next()) => {
                    let Ok(next) = next else { continue };
                    let gone = || CliError::failed(format!("run {} was deleted while it was watched", self.id));
                    let (first, record) = next?.ok_or_else(gone)?;
                    self.run.record(&record);
                    let is_plan = record.events.iter().any(|event| matches!(event, Event::Planned { .. }));
                    // What is drawn begins with the plan; lines about it would look like all that had happened.
                    if first > known || (is_plan && self.face.is_drawn()) || self.face.json {
                        self.face.watch.record(self.id, first, &record, &self.run);
                    }
                }
                outcome = self.questions.next() => {
                    if !self.reply(outcome).await? {
                        return Ok(CliExitCode::NeedsPerson);
                    }
                }
                request = next_request(self.face.console.as_ref()) => {
                    if !self.obey(request).await? {
                        out::note(&format!("no longer watching; run {} continues", self.id));
                        return Ok(CliExitCode::Done);
                    }
                }
                never = self.face.animate() => match never {},
                code = signals.first() => {
                    self.face.say(&format!("no longer watching; run {} continues", self.id));
                    return Ok(code);
                }
            }
        }
    }

    /// Reports how the run rests.
    fn end(&mut self, signals: &Signals) -> CliExitCode {
        self.face.finish_drawing();
        if let Some(console) = &self.face.console {
            console.set_working(false);
        }
        if self.run.is_over() || self.run.is_at_rest() {
            let rested = DriveResult { id: self.id.clone(), run: std::mem::take(&mut self.run), was_stopped: false };
            return drive_run::conclude(&rested, self.journal, self.face, signals);
        }
        out::note(&format!(
            "no process drives run {0}; it is {1}\n  hint: `updraft resume {0}` continues it",
            self.id,
            self.journal.head(self.id).map_or("gone", |head| runs::word(&head))
        ));
        CliExitCode::Interrupted
    }

    /// Whether only an answer is missing, which the user can give here, as others can elsewhere. No process drives a run then, and the
    /// one that takes the answer goes on with it.
    fn awaits_answer(&self) -> bool {
        self.face.console.is_some() && awaits_answer(&self.run)
    }

    /// Asks the user what the run waits for, unless they were asked already.
    fn ask(&mut self) {
        let Some(console) = &self.face.console else { return };
        let run = &self.run;
        self.questions.keep_open(|at| run.open().contains_key(at), Some(console));
        for question in PersonQuestion::all(run) {
            self.questions.add(question);
        }
    }

    /// Sends an answer to the process that drives the run; false if there is none, or the user leaves the question open and nothing
    /// else goes on.
    async fn reply(&mut self, outcome: QuestionOutcome) -> Result<bool, CliError> {
        match outcome {
            QuestionOutcome::Said(input) => {
                control::send(self.journal, self.id, &input).await?;
                let is_driven = self.is_taken(&input).await?;
                if !is_driven {
                    out::note(&format!("answered\n  hint: `updraft resume {}` continues the run", self.id));
                }
                Ok(is_driven)
            }
            QuestionOutcome::LeftOpen => {
                out::note("left open");
                Ok(self.journal.head(self.id)?.is_owned())
            }
            QuestionOutcome::Withdrawn => Ok(true),
        }
    }

    /// Waits until somebody goes on with the run; false if nobody does.
    async fn is_taken(&self, input: &Input) -> Result<bool, CliError> {
        let mut changes = self.journal.changes();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let waits = self.journal.inbox(self.id)?.iter().any(|mail| mail.input == *input);
            if !waits || self.journal.head(self.id)?.is_owned() {
                return Ok(true);
            }
            if tokio::time::Instant::now() >= deadline {
                return Ok(false);
            }
            let _ = tokio::time::timeout(LOOK, changes.next()).await;
        }
    }

    /// A message to the agents, which the console need not show again.
    fn message(&self, message: String) -> Input {
        match &self.face.console {
            Some(console) => console.message(message),
            None => Input::Tell { message },
        }
    }

    /// Does what the user wants; false if they leave.
    async fn obey(&self, request: ConsoleRequest) -> Result<bool, CliError> {
        let input = match request {
            ConsoleRequest::Interrupt | ConsoleRequest::Quit => return Ok(false),
            ConsoleRequest::Closed => return Ok(true),
            ConsoleRequest::Say(message) => self.message(message),
            ConsoleRequest::Command(name, rest) => match name.as_str() {
                "tell" if rest.is_empty() => {
                    out::note("expected a text: /tell Use the newer file.");
                    return Ok(true);
                }
                "tell" => self.message(rest),
                "quit" | "exit" => return Ok(false),
                "cancel" => Input::Cancel { by: control::who(), step: None },
                "pause" => Input::Pause,
                _ => {
                    for (name, what) in COMMANDS {
                        out::note(&format!("/{name:8} {what}"));
                    }
                    return Ok(true);
                }
            },
        };
        control::send(self.journal, self.id, &input).await?;
        Ok(true)
    }
}

async fn next_request(console: Option<&ConsoleLink>) -> ConsoleRequest {
    match console {
        Some(console) => console.next().await,
        None => std::future::pending().await,
    }
}
