//! `updraft attach`: watches a run that another process drives, and lets the user answer, approve, tell and cancel.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use updraft_engine::DriveResult;
use updraft_journal::{Journal, Tail};
use updraft_run::{Effect, EffectAddress, Event, Input, Run, RunId};

use super::{control, runs};
use crate::args::AttachArgs;
use crate::console::{self, Console, ConsoleLink, ConsoleMode, ConsoleRequest};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::signals::Signals;
use crate::view::{self, AskResult, RunDisplay};
use crate::{drive_run, journal, out, runtime, settings};

/// How often to check whether the process that drives the run still exists: it may end without writing anything.
const LOOK: Duration = Duration::from_millis(500);

/// What can be typed while watching.
const COMMANDS: [(&str, &str); 4] = [
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
    let console = (wants_console && is_driven)
        .then(|| {
            let run = journal::load(&journal, &id)?;
            let commands = COMMANDS.map(|(name, what)| (name.to_owned(), what.to_owned())).to_vec();
            Console::open(folders, run.settings().workspace.as_ref(), ConsoleMode::Watch, commands)
        })
        .transpose()?;
    output.console = console.as_ref().map(Console::link);
    runtime::block_on(async {
        let face = RunDisplay::of(&output);
        let ended = Box::pin(Attachment::new(folders, &journal, &id, &face).watch()).await;
        // The last that was shown stays on the terminal.
        drop(console);
        journal.clone().close().await;
        ended
    })
}

/// A run that is watched.
struct Attachment<'a> {
    folders: &'a AppFolders,
    journal: &'a Journal,
    id: &'a RunId,
    face: &'a RunDisplay,
    run: Run,
    tail: Tail,
    /// Questions that the user was asked.
    asked: BTreeSet<EffectAddress>,
    /// The user is being asked.
    asking: Option<JoinHandle<AskResult>>,
}

impl<'a> Attachment<'a> {
    fn new(folders: &'a AppFolders, journal: &'a Journal, id: &'a RunId, face: &'a RunDisplay) -> Self {
        let tail = journal.tail(id, 0);
        Self { folders, journal, id, face, run: Run::default(), tail, asked: BTreeSet::new(), asking: None }
    }

    /// Shows what happens until the run rests, nobody drives it any more, or the user leaves.
    async fn watch(&mut self) -> CliResult {
        let mut signals = Signals::listen(CancellationToken::new())?;
        // Earlier events are applied without showing them, except to programs.
        let known = self.journal.head(self.id)?.events;
        if let Some(console) = &self.face.console {
            console.set_working(true);
            out::note(&format!("run {}, driven by another process", self.id));
        }
        loop {
            let is_known = self.run.events() >= known;
            let head = self.journal.head(self.id)?;
            // A process that ends may have written more than was read here so far.
            let is_left = !head.is_owned() && self.run.events() >= head.events;
            if is_known && (self.run.is_over() || is_left) {
                return Ok(self.end(&signals));
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
                    if first > known || is_plan || self.face.json {
                        self.face.watch.record(self.id, first, &record, &self.run);
                    }
                }
                said = answer(&mut self.asking) => self.reply(said).await?,
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
        self.face.settle();
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

    /// Asks the user what the run waits for, unless they were asked already.
    fn ask(&mut self) {
        if self.face.console.is_none() || self.asking.is_some() {
            return;
        }
        let is_question = |effect: &Effect| matches!(effect, Effect::Question { .. } | Effect::Approval { .. });
        let open = self.run.open().iter().filter(|(_, open)| is_question(&open.effect)).map(|(at, _)| at.clone());
        let open: BTreeSet<EffectAddress> = open.collect();
        if open.is_subset(&self.asked) {
            return;
        }
        self.asked.extend(open);
        let run = self.run.clone();
        self.asking = Some(tokio::task::spawn_blocking(move || view::ask(&run)));
    }

    /// Sends the answers to the process that drives the run.
    async fn reply(&mut self, said: AskResult) -> Result<(), CliError> {
        self.asking = None;
        let AskResult::Said(inputs) = said else {
            out::note("left open");
            return Ok(());
        };
        for input in inputs {
            if let Err(fault) = settings::keep_always(self.folders, &self.run, &input) {
                self.face.say(&format!("not remembered for the workspace: {}", out::harmless(&fault.message)));
            }
            control::send(self.journal, self.id, &input).await?;
        }
        Ok(())
    }

    /// Does what the user wants; false if they leave.
    async fn obey(&self, request: ConsoleRequest) -> Result<bool, CliError> {
        let input = match request {
            ConsoleRequest::Interrupt | ConsoleRequest::Quit => return Ok(false),
            ConsoleRequest::Say(message) => Input::Tell { message },
            ConsoleRequest::Command(name, _) => match name.as_str() {
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

/// What the user has answered. Waits for ever if they are not asked.
async fn answer(asking: &mut Option<JoinHandle<AskResult>>) -> AskResult {
    match asking {
        Some(asking) => asking.await.unwrap_or(AskResult::Nothing),
        None => std::future::pending().await,
    }
}

async fn next_request(console: Option<&ConsoleLink>) -> ConsoleRequest {
    match console {
        Some(console) => console.next().await,
        None => std::future::pending().await,
    }
}
