//! Asks the user what a run needs, while it goes on and when it rests, and takes what they want in the console meanwhile.

use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use updraft_engine::{DriveResult, RunSender};
use updraft_journal::Journal;
use updraft_run::{Input, RunId};

use crate::console::{Console, ConsoleLink, ConsoleRequest};
use crate::folders::AppFolders;
use crate::signals::Signals;
use crate::view::{AskResult, PersonQuestion, QuestionNews, QuestionOutcome, QuestionQueue, RunDisplay, ask};
use crate::{out, settings};

/// How often to check whether another process has sent something, if the journal does not report it.
const LOOK: Duration = Duration::from_millis(500);

/// Said about a message that answers no question: while other steps are at work, and while the run rests.
const TOLD_AT_WORK: &str = "message sent; agents read it before their next turn";
const TOLD_AT_REST: &str = "message sent; agents read it when the run continues";

/// What the user is asked about a run, and what they have said that the run has not been sent yet.
pub(super) struct RunQuestions<'a> {
    face: &'a RunDisplay,
    queue: QuestionQueue,
    /// What was said when the run had just come to rest.
    unsent: Vec<Input>,
    /// Opened while somebody is asked, if the run is not shown in a console anyway.
    own: Option<Console>,
}

/// What became of a run at rest.
pub(super) enum RestOutcome {
    /// It goes on with these inputs, and with those that other processes have sent.
    GoesOn(Vec<Input>),
    /// The user leaves open what it waits for.
    LeftOpen,
    /// The program is to stop.
    Stopped,
}

/// What happened while a run was driven.
enum Happening {
    Question(Option<QuestionNews>),
    Outcome(QuestionOutcome),
    Request(ConsoleRequest),
}

impl<'a> RunQuestions<'a> {
    pub(super) fn new(face: &'a RunDisplay) -> Self {
        Self { face, queue: QuestionQueue::default(), unsent: Vec::new(), own: None }
    }

    /// Keeps the display updated, asks the user as soon as something is needed while other steps go on, and does what they
    /// want. Never returns.
    pub(super) async fn attend(&mut self, id: &RunId, sender: &RunSender) -> Infallible {
        let face = self.face;
        let mut news = face.questions.lock().await;
        loop {
            if self.queue.is_empty() {
                self.close_console();
            }
            let console = self.console();
            let happened = tokio::select! {
                never = face.animate() => match never {},
                request = next_request(console.as_ref()) => Happening::Request(request),
                outcome = self.queue.next() => Happening::Outcome(outcome),
                question = news.recv() => Happening::Question(question),
            };
            match happened {
                Happening::Question(Some(QuestionNews::Asked { question, is_last })) => {
                    self.take_question(id, sender, *question, is_last).await;
                }
                Happening::Question(Some(QuestionNews::Settled(at))) => {
                    self.queue.keep_open(|open| *open != at, console.as_ref());
                }
                Happening::Question(None) => std::future::pending().await,
                Happening::Outcome(QuestionOutcome::Said(input)) => self.send(sender, input),
                Happening::Outcome(QuestionOutcome::LeftOpen) => {
                    let end = if self.own.is_some() { "\n" } else { "" };
                    out::note(&format!("question left open; other steps continue{end}"));
                }
                Happening::Outcome(QuestionOutcome::Withdrawn) => {}
                Happening::Request(request) => {
                    if let Some(input) = console.and_then(|console| self.obey(&console, request)) {
                        if !self.queue.is_empty() {
                            out::note(TOLD_AT_WORK);
                        }
                        self.send(sender, input);
                    }
                }
            }
        }
    }

    /// Asks until there is something for a run at rest to go on with: an answer, a message, or what another process has sent.
    pub(super) async fn ask_at_rest(
        &mut self,
        rested: &DriveResult,
        journal: &Journal,
        signals: &mut Signals,
    ) -> RestOutcome {
        let DriveResult { id, run, .. } = rested;
        if !self.unsent.is_empty() {
            return RestOutcome::GoesOn(std::mem::take(&mut self.unsent));
        }
        let waiting = PersonQuestion::all(run);
        let is_simple = waiting.len() == 1 && !self.queue.has_asked();
        if self.face.console.is_none() && (is_simple || !self.face.asks_in_place()) {
            return self.ask_plainly(rested, journal, signals).await;
        }
        self.queue.keep_open(|at| run.open().contains_key(at), self.console().as_ref());
        for question in waiting {
            self.queue.add(question);
        }
        // What is left open by now is left open for good.
        if self.queue.is_empty() {
            return RestOutcome::LeftOpen;
        }
        if !self.open(run.settings().workspace.as_ref()) {
            return self.ask_plainly(rested, journal, signals).await;
        }
        loop {
            let console = self.console();
            let happened = tokio::select! {
                outcome = self.queue.next() => Happening::Outcome(outcome),
                request = next_request(console.as_ref()) => Happening::Request(request),
                () = news_of(journal, id, run.events()) => return RestOutcome::GoesOn(Vec::new()),
                _ = signals.first() => return RestOutcome::Stopped,
            };
            match happened {
                Happening::Outcome(QuestionOutcome::Said(input)) => return RestOutcome::GoesOn(vec![input]),
                Happening::Outcome(QuestionOutcome::LeftOpen) if !self.queue.is_empty() => out::note("left open"),
                Happening::Outcome(QuestionOutcome::LeftOpen) => return RestOutcome::LeftOpen,
                Happening::Outcome(QuestionOutcome::Withdrawn) | Happening::Question(_) => {}
                Happening::Request(request) => {
                    let Some(console) = console else { continue };
                    if let Some(input) = self.obey(&console, request) {
                        out::note(TOLD_AT_REST);
                        return RestOutcome::GoesOn(vec![input]);
                    }
                    if console.has_quit() {
                        return RestOutcome::LeftOpen;
                    }
                    if self.face.stop.is_cancelled() {
                        return RestOutcome::Stopped;
                    }
                }
            }
            if self.queue.is_empty() {
                return RestOutcome::LeftOpen;
            }
        }
    }

    /// Asks nothing more, and leaves the terminal to the display.
    pub(super) fn close(&mut self) {
        self.close_console();
        for input in self.unsent.drain(..) {
            if let Input::Tell { message } = input {
                out::note(&format!("the run had ended before it was told: {}", out::short(&message, 200)));
            }
        }
    }

    /// Closes the console that was opened to ask.
    fn close_console(&mut self) {
        if let Some(console) = self.own.take() {
            drop(console);
            self.face.make_way();
        }
    }

    /// Asks nothing more for now: another process goes on with the run.
    pub(super) fn withdraw(&mut self) {
        let console = self.console();
        self.queue.keep_open(|_| false, console.as_ref());
    }

    /// Adds a question to those that are asked. Without other steps at work, the run comes to rest, and is asked about then.
    async fn take_question(&mut self, id: &RunId, sender: &RunSender, question: PersonQuestion, is_last: bool) {
        let face = self.face;
        let in_place = face.asks_in_place() && (!is_last || self.own.is_some());
        if face.console.is_some() || (in_place && self.open(question.workspace())) {
            self.queue.add(question);
        } else if !question.is_inquiry() {
            // It is asked when the run rests.
        } else if face.can_ask {
            face.make_way();
            let said = tokio::task::spawn_blocking(move || question.ask()).await;
            if let Ok(Some(input)) = said {
                sender.send(input);
            }
        } else {
            face.make_way();
            out::note(&format!("question: {}", out::harmless(question.text())));
            out::note(&format!(
                "  hint: `updraft answer {id} \"…\" --id {}`, or --decline; the call continues once it is answered",
                question.at
            ));
        }
    }

    /// Does what the user wants in the console; returns what the run is to be sent.
    fn obey(&self, console: &ConsoleLink, request: ConsoleRequest) -> Option<Input> {
        match request {
            ConsoleRequest::Say(message) => return Some(console.message(message)),
            ConsoleRequest::Interrupt => self.face.stop.cancel(),
            ConsoleRequest::Closed => {}
            ConsoleRequest::Quit => console.quit(&self.face.stop),
            ConsoleRequest::Command(name, rest) => match (name.as_str(), rest.as_str()) {
                ("tell", "") => out::note("expected a text: /tell Use the newer file."),
                ("tell", message) => return Some(console.message(message.to_owned())),
                ("quit" | "exit", _) => console.quit(&self.face.stop),
                _ => {
                    out::note(&format!("/{name} waits until this is done; Esc stops it"));
                    console.defer(ConsoleRequest::Command(name, rest));
                }
            },
        }
        None
    }

    fn send(&mut self, sender: &RunSender, input: Input) {
        if !sender.send(input.clone()) {
            self.unsent.push(input);
        }
    }

    /// Asks line by line: nothing else goes on, unless somebody answers elsewhere.
    async fn ask_plainly(&mut self, rested: &DriveResult, journal: &Journal, signals: &mut Signals) -> RestOutcome {
        let DriveResult { id, run, .. } = rested;
        self.close_console();
        self.face.make_way();
        for question in PersonQuestion::all(run) {
            self.queue.leave_out(question.at);
        }
        let asked = run.clone();
        let mut asking = tokio::task::spawn_blocking(move || ask(&asked));
        let said = tokio::select! {
            said = &mut asking => said.unwrap_or(AskResult::Nothing),
            () = news_of(journal, id, run.events()) => {
                let withdrawn = out::WithdrawnLine::begin();
                // What was being typed counts if it was sent before this was known.
                let said = asking.await.unwrap_or(AskResult::Nothing);
                drop(withdrawn);
                if matches!(said, AskResult::Nothing) {
                    let mail = journal.inbox(id).unwrap_or_default();
                    if mail.is_empty() || mail.iter().any(|sent| !matches!(sent.input, Input::Tell { .. })) {
                        out::note("answered elsewhere");
                    }
                    return RestOutcome::GoesOn(Vec::new());
                }
                said
            }
            _ = signals.first() => {
                out::note("");
                return RestOutcome::Stopped;
            }
        };
        let AskResult::Said(inputs) = said else { return RestOutcome::LeftOpen };
        for input in &inputs {
            // The approval applies to this run in any case.
            let kept = AppFolders::find().and_then(|folders| settings::keep_always(&folders, run, input));
            if let Err(fault) = kept {
                self.face.say(&format!("not remembered for the workspace: {}", out::harmless(&fault.message)));
            }
        }
        RestOutcome::GoesOn(inputs)
    }

    /// The console that questions are asked in, if there is one.
    fn console(&self) -> Option<ConsoleLink> {
        self.face.console.clone().or_else(|| self.own.as_ref().map(Console::link))
    }

    /// Opens a console to ask in, unless there is one; false if the terminal cannot be used for it.
    fn open(&mut self, workspace: &Path) -> bool {
        if self.console().is_none() {
            self.face.make_way();
            let folders = AppFolders::find().ok();
            self.own = folders.and_then(|folders| Console::for_questions(&folders, workspace, self.face.tree()).ok());
        }
        self.console().is_some()
    }
}

/// What the user wants next; nothing more once they leave.
async fn next_request(console: Option<&ConsoleLink>) -> ConsoleRequest {
    match console {
        Some(console) if !console.has_quit() => console.next().await,
        _ => std::future::pending().await,
    }
}

/// Returns when another process has sent the run something, or has gone on with it.
async fn news_of(journal: &Journal, id: &RunId, known: u64) {
    let mut changes = journal.changes();
    // What cannot be read is reported when the run is opened.
    let has_mail = || journal.inbox(id).is_ok_and(|mail| !mail.is_empty());
    let has_events = || journal.head(id).is_ok_and(|head| head.events > known);
    while !has_mail() && !has_events() {
        let _ = tokio::time::timeout(LOOK, changes.next()).await;
    }
}
