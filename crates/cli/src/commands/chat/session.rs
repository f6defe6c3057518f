//! A conversation in the console.

use std::path::PathBuf;

use tokio_util::sync::CancellationToken;
use updraft_run::{Cost, Ledger, RunId};

use super::Chat;
use super::commands::{self, Obedience};
use super::user_commands::UserCommand;
use crate::args::{ChatArgs, ResumeArgs};
use crate::commands::run::follow_up::{self, FollowUp, memory_file};
use crate::commands::{resume, run};
use crate::console::{self, Console, ConsoleLink, ConsoleMode, ConsoleOptions, ConsoleRequest};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::signals::Signals;
use crate::{complain, journal, runtime, view};

/// Said at the beginning if there is no language model.
const WITHOUT_MODEL: &str = "\
No language model is connected. Ask about the files of this folder: they are searched, and quoted with their places.
To have work done, set ANTHROPIC_API_KEY, GEMINI_API_KEY or OPENAI_API_KEY, or start Ollama; `updraft models` lists all ways.";

/// The conversation and what it needs from one message to the next.
pub(super) struct ChatSession<'a> {
    pub(super) chat: Chat<'a>,
    pub(super) console: ConsoleLink,
    pub(super) folder: PathBuf,
    pub(super) user_commands: Vec<UserCommand>,
    /// The runs of this conversation, the oldest first, as far as it took place here.
    pub(super) runs: Vec<RunId>,
    bench: run::KeptWorkbench,
}

/// Talks until the user leaves.
pub(super) fn run(folders: &AppFolders, mut args: ChatArgs) -> CliResult {
    let folder = folders::workspace(args.workspace.as_deref())?;
    let user_commands = UserCommand::all(folders, &folder);
    let options =
        ConsoleOptions { mode: ConsoleMode::Talk, commands: commands::names(&user_commands), is_full: args.fullscreen };
    let console = Console::open(folders, &folder, options)?;
    args.output.console = Some(console.link());
    let chat = Chat { folders, args, follow_up: FollowUp::default(), ending: CliExitCode::Done };
    let bench = run::KeptWorkbench::default();
    let mut session = ChatSession { chat, console: console.link(), folder, user_commands, runs: Vec::new(), bench };
    let ended = runtime::block_on(async {
        let ended = session.talk().await;
        session.bench.close().await;
        ended
    });
    drop(console);
    if let (Ok(_), Some(last)) = (&ended, &session.chat.follow_up.follows) {
        out::note(&Paint::for_stderr().dim(&format!("`updraft chat --resume {last}` continues this conversation")));
    }
    ended
}

impl ChatSession<'_> {
    async fn talk(&mut self) -> CliResult {
        let mut signals = Signals::listen(CancellationToken::new())?;
        let mut continued = ContinueSignal::listen()?;
        Self::greet();
        let goes_on = self.chat.args.continues || self.chat.args.resume.is_some();
        if !goes_on {
            self.introduce_model().await;
        }
        self.begin().await?;
        loop {
            let request = tokio::select! {
                request = self.console.next_idle() => request,
                code = signals.first() => return Ok(code),
                () = continued.next() => {
                    self.console.continued();
                    continue;
                }
            };
            let console = self.console.clone();
            let work = async {
                match request {
                    ConsoleRequest::Say(text) => self.say(&text).await.map(|()| Obedience::Stay),
                    ConsoleRequest::Command(name, rest) => Box::pin(self.obey(&name, &rest)).await,
                    ConsoleRequest::Interrupt | ConsoleRequest::Closed => Ok(Obedience::Stay),
                    ConsoleRequest::Quit => Ok(Obedience::Leave),
                }
            };
            let done = tokio::select! {
                done = work => done,
                never = continued.pass_on(&console) => match never {},
            };
            match done {
                Ok(Obedience::Stay) => {}
                Ok(Obedience::Leave) => return Ok(CliExitCode::Done),
                Err(fault) => complain(&fault),
            }
        }
    }

    fn greet() {
        let paint = Paint::for_stdout();
        let version = env!("CARGO_PKG_VERSION");
        out::note(&format!("{} {}", paint.bold("updraft"), paint.dim(version)));
        let hint = "Say what you want done. /help lists commands and keys.";
        for line in view::wrap(hint, view::size().1) {
            out::note(&paint.dim(&line));
        }
    }

    /// Shows which model answers, and what can be done without one.
    pub(super) async fn introduce_model(&mut self) {
        let args = self.chat.run_args("");
        match self.bench.model(self.chat.folders, &self.folder, &args).await {
            Ok(model) => {
                if model == "builtin" {
                    let paint = Paint::for_stdout();
                    let lines = WITHOUT_MODEL.lines().flat_map(|line| view::wrap(line, view::size().1));
                    out::note("");
                    lines.for_each(|line| out::note(&paint.yellow(&line)));
                }
                self.console.set_model(model);
            }
            Err(fault) => complain(&fault),
        }
    }

    /// Takes up the conversation that the arguments name.
    async fn begin(&mut self) -> Result<(), CliError> {
        let named = self.chat.args.resume.clone();
        if named.is_none() && !self.chat.args.continues {
            if let Some(file) = memory_file() {
                self.chat.follow_up = FollowUp::from_file(self.chat.folders, &file, &self.folder)?;
            }
            return Ok(());
        }
        let found = match journal::open_with_runs(self.chat.folders) {
            Ok(journal) => match named {
                Some(name) => journal::find_run(&journal, &name),
                None => journal::newest_in(&journal, &self.folder),
            },
            Err(fault) => Err(fault),
        };
        match found {
            Ok(id) => self.take_up(&id).await,
            // The conversation of another program has no runs.
            Err(_) if memory_file().is_some() => {
                self.chat.follow_up = FollowUp::find(self.chat.folders, &self.folder)?;
                Ok(())
            }
            Err(fault) => Err(fault.into()),
        }
    }

    /// Continues the conversation after a run; a run that was cut off is finished first.
    pub(super) async fn take_up(&mut self, id: &RunId) -> Result<(), CliError> {
        let folders = self.chat.folders;
        let journal = journal::open_with_runs(folders)?;
        let head = journal.head(id)?;
        if head.is_owned() {
            return Err(CliError::usage(format!("run {id} is being run by another process"))
                .hint(format!("`updraft attach {id}` watches and steers it")));
        }
        self.runs = commands::conversation(&journal, id);
        self.replay(&journal);
        if head.was_cut_off() {
            out::note(&format!("continuing where run {id} was interrupted"));
            return self.finish(id).await;
        }
        self.chat.follow_up = FollowUp::after(&journal, id);
        self.show_cost(&journal);
        Ok(())
    }

    /// Goes on with a run that has not ended, and with the conversation after it.
    pub(super) async fn finish(&mut self, id: &RunId) -> Result<(), CliError> {
        let journal = journal::open_with_runs(self.chat.folders)?;
        let output = self.chat.args.output.clone();
        let args = ResumeArgs { run: Some(id.to_string()), output, ..ResumeArgs::default() };
        self.console.set_working(true);
        let ended = Box::pin(resume::resume_run(self.chat.folders, &journal, id, &args)).await;
        self.console.set_working(false);
        ended?;
        let limits = self.limits()?;
        follow_up::keep(&journal, id, limits)?;
        self.chat.follow_up = FollowUp::after(&journal, id);
        self.show_cost(&journal);
        self.say_unfinished(id);
        Ok(())
    }

    /// The last run of the conversation, if it has not ended.
    pub(super) fn unfinished(&self) -> Option<RunId> {
        let journal = journal::open_with_runs(self.chat.folders).ok()?;
        self.runs.last().filter(|id| journal::load(&journal, id).is_ok_and(|run| !run.is_over())).cloned()
    }

    /// Says how a run goes on that has not ended.
    fn say_unfinished(&self, id: &RunId) {
        if self.unfinished().as_ref() == Some(id) {
            out::note(&Paint::for_stdout().dim("/resume continues this run; a message begins another"));
        }
    }

    /// Shows the last message of the conversation and its answer.
    fn replay(&self, journal: &updraft_journal::Journal) {
        let Some(run) = self.runs.last().and_then(|id| journal::load(journal, id).ok()) else { return };
        let earlier = self.runs.len().saturating_sub(1);
        let paint = Paint::for_stdout();
        if earlier > 0 {
            let earlier = view::count(earlier as u64, "earlier message");
            out::note(&paint.dim(&format!("{earlier}; /fork lists them")));
        }
        out::note(&format!("\n{}{}", paint.cyan("› "), paint.bold(&out::short(run.goal().own_words(), 500))));
        if run.is_over() {
            self.console.answer(&run.answer());
        }
    }

    fn limits(&self) -> Result<updraft_run::ConversationLimits, CliError> {
        let flags = updraft_workbench::Flags::default();
        let settings = crate::settings::WorkspaceSettings::load(self.chat.folders, &self.folder, &flags)?;
        Ok(settings.effective.memory.conversation())
    }

    /// Has a message answered.
    pub(super) async fn say(&mut self, text: &str) -> Result<(), CliError> {
        let id = journal::new_id()?;
        let follow_up = self.chat.follow_up.clone().with_any_agent();
        let mut args = self.chat.run_args(text);
        let mentioned = console::mentioned(text, &self.folder);
        (args.file, args.pictures) = (mentioned.files, mentioned.pictures);
        self.console.set_working(true);
        let begun =
            Box::pin(run::start_on(&mut self.bench, self.chat.folders, &args, text, Some(follow_up), &id)).await;
        let taken = self.chat.take(&id);
        if self.chat.follow_up.follows.as_ref() == Some(&id) {
            self.runs.push(id.clone());
            self.show_cost(&journal::open_with_runs(self.chat.folders)?);
            self.say_unfinished(&id);
        }
        self.console.set_working(false);
        begun?;
        taken
    }

    /// Shows what the conversation has cost so far.
    pub(super) fn show_cost(&self, journal: &updraft_journal::Journal) {
        let runs = self.runs.iter().filter_map(|id| journal::load(journal, id).ok());
        let mut sum = Ledger::default();
        for ledger in runs.map(|run| run.ledger().clone()) {
            let cost = sum.at_most().0.saturating_add(ledger.at_most().0);
            sum.usage.cost = Some(Cost(cost));
            sum.usage.estimated |= ledger.usage.estimated;
            sum.unpriced += ledger.unpriced;
        }
        self.console.set_cost(view::cost(&sum));
    }
}

/// Hears that the process was stopped and continues.
struct ContinueSignal(#[cfg(unix)] tokio::signal::unix::Signal);

impl ContinueSignal {
    fn listen() -> Result<Self, CliError> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let failed = |error: std::io::Error| CliError::failed(format!("could not listen for signals: {error}"));
            let number = rustix::process::Signal::CONT.as_raw();
            Ok(Self(signal(SignalKind::from_raw(number)).map_err(failed)?))
        }
        #[cfg(not(unix))]
        Ok(Self())
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        let _ = self.0.recv().await;
        #[cfg(not(unix))]
        std::future::pending::<()>().await;
    }

    async fn pass_on(&mut self, console: &ConsoleLink) -> std::convert::Infallible {
        loop {
            self.next().await;
            console.continued();
        }
    }
}
