//! The interactive console: a conversation on a terminal, drawn below the terminal's own scrollback.
//!
//! | file | what it is about |
//! |---|---|
//! | `state.rs`, `layout.rs` | what is shown: changed by keys and news, laid out in rows |
//! | `composer.rs`, `history.rs`, `completion.rs` | what the user writes, wrote before, and may want to write |
//! | `mention.rs`, `clipboard.rs` | the files that a message mentions, and a picture from the clipboard |
//! | `transcript.rs`, `stream.rs`, `diff.rs` | what was said and done, as lines for the scrollback |
//! | `screen.rs`, `row.rs`, `ascii.rs` | the rows on the terminal, drawn by their differences |
//! | `fullscreen.rs` | the steps, one of them in detail, and the log, on the whole screen |
//! | `feed.rs`, `news.rs` | what runs and commands report, and what the user asks of them |
//! | `thread.rs` | the thread that reads keys and draws |

mod ascii;
mod clipboard;
mod completion;
mod composer;
pub(crate) mod diff;
mod feed;
mod fullscreen;
mod history;
mod layout;
mod mention;
mod news;
mod row;
mod screen;
mod state;
mod stream;
mod thread;
mod transcript;

use std::collections::{BTreeSet, VecDeque};
use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, mpsc};
use std::thread::JoinHandle;

pub(crate) use clipboard::prune_pasted;
use tokio::sync::{Mutex, mpsc as channel};
use tokio_util::sync::CancellationToken;
use updraft_engine::RunWatcher;
use updraft_run::{Input, RunId};

pub(crate) use mention::mentioned;
use news::ConsoleNews;
pub(crate) use news::ConsoleRequest;
pub(crate) use state::ConsoleMode;

use crate::fault::CliError;
use crate::folders::{self, AppFolders};
use crate::out::{self, LineConsole, Paint};
use crate::view::StepTree;
use completion::Completions;
use feed::ConsoleFeed;
use history::MessageHistory;
use state::ConsoleState;
use thread::{ConsoleThread, ThreadLink};

/// A console that is open. The terminal is given back when it is dropped.
pub(crate) struct Console {
    link: ConsoleLink,
    thread: Option<JoinHandle<()>>,
    is_closing: Arc<AtomicBool>,
}

/// The way to an open console.
#[derive(Clone)]
pub(crate) struct ConsoleLink {
    feed: Arc<ConsoleFeed>,
    requests: Arc<Mutex<channel::UnboundedReceiver<ConsoleRequest>>>,
    /// Commands that wait until the work is done.
    deferred: Arc<std::sync::Mutex<VecDeque<ConsoleRequest>>>,
    has_quit: Arc<AtomicBool>,
    is_full: Arc<AtomicBool>,
    /// Notices that were shown already: each message of a conversation would repeat them.
    notices: Arc<std::sync::Mutex<BTreeSet<String>>>,
}

impl std::fmt::Debug for ConsoleLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ConsoleLink(..)")
    }
}

/// Whether a console can be drawn: people sit at a terminal that can move its cursor.
pub(crate) fn is_possible() -> bool {
    out::can_ask() && std::io::stdout().is_terminal() && out::can_redraw()
}

/// How a console begins.
pub(crate) struct ConsoleOptions {
    pub(crate) mode: ConsoleMode,
    /// Its commands, each with what it does.
    pub(crate) commands: Vec<(String, String)>,
    /// Whether it takes the whole screen.
    pub(crate) is_full: bool,
}

impl Console {
    /// Opens the console on the terminal. Until it is dropped, all that is printed goes through it.
    pub(crate) fn open(folders: &AppFolders, folder: &Path, options: ConsoleOptions) -> Result<Self, CliError> {
        Self::open_with(folders, folder, options, ConsoleFeed::default())
    }

    /// Opens a console that asks what a run needs, with the tree of its steps above. It is drawn where the tree was, on
    /// standard error, and closed when nothing is asked any more.
    pub(crate) fn for_questions(
        folders: &AppFolders,
        folder: &Path,
        tree: Option<Arc<StepTree>>,
    ) -> Result<Self, CliError> {
        // What was typed before the question was shown does not answer it.
        let _unsupported = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
        let commands = vec![("tell".to_owned(), "tell the agents something instead of answering".to_owned())];
        let options = ConsoleOptions { mode: ConsoleMode::Ask, commands, is_full: false };
        let is_drawn = tree.is_some();
        let feed = tree.map(ConsoleFeed::with_tree).unwrap_or_default();
        let console = Self::open_with(folders, folder, options, feed)?;
        console.link.feed.push(ConsoleNews::Working(is_drawn));
        Ok(console)
    }

    fn open_with(
        folders: &AppFolders,
        folder: &Path,
        options: ConsoleOptions,
        feed: ConsoleFeed,
    ) -> Result<Self, CliError> {
        let is_aside = options.mode == ConsoleMode::Ask;
        thread::draw_on_stderr(is_aside);
        thread::take_terminal().map_err(|error| {
            CliError::failed(format!("the terminal cannot be used for a console: {error}"))
                .hint("`updraft chat --plain` talks line by line")
        })?;
        let (send, requests) = channel::unbounded_channel();
        let feed = Arc::new(feed);
        let is_closing = Arc::new(AtomicBool::new(false));
        let history = MessageHistory::load(&folders.state.join("history.jsonl"));
        let (shown, folder) = (short_folder(folder), folder.to_owned());
        let is_full = Arc::new(AtomicBool::new(options.is_full));
        let link = ThreadLink {
            feed: Arc::clone(&feed),
            requests: send,
            is_closing: Arc::clone(&is_closing),
            is_full: Arc::clone(&is_full),
            folders: folders.clone(),
        };
        let drawing = std::thread::spawn(move || {
            let completions = Completions::new(&folder, options.commands);
            let paint = if is_aside { Paint::for_stderr() } else { Paint::for_stdout() };
            let mut state = ConsoleState::new(paint, thread::size().0, shown, history, completions);
            (state.mode, state.talks) = (options.mode, !is_aside);
            ConsoleThread::new(state, link).run();
        });
        out::use_console(Some(Arc::clone(&feed) as Arc<dyn LineConsole>));
        let requests = Arc::new(Mutex::new(requests));
        let (deferred, has_quit, notices) = (Arc::default(), Arc::default(), Arc::default());
        let link = ConsoleLink { feed, requests, deferred, has_quit, is_full, notices };
        Ok(Self { link, thread: Some(drawing), is_closing })
    }

    pub(crate) fn link(&self) -> ConsoleLink {
        self.link.clone()
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.is_closing.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // The thread gives the terminal back when it ends, unless it panicked.
            if thread.join().is_err() {
                thread::give_back_terminal();
            }
        }
        out::use_console(None);
    }
}

/// Gives the terminal back in a hurry, before the process exits.
pub(crate) fn abandon() {
    if out::has_console() {
        thread::give_back_terminal();
    }
}

impl ConsoleLink {
    /// The console as a watcher of runs.
    pub(crate) fn watcher(&self) -> Arc<dyn RunWatcher> {
        feed::watcher(&self.feed)
    }

    /// What the user wants next.
    pub(crate) async fn next(&self) -> ConsoleRequest {
        if self.has_quit() {
            return ConsoleRequest::Quit;
        }
        self.requests.lock().await.recv().await.unwrap_or(ConsoleRequest::Quit)
    }

    /// What the user wants next while nothing is done: first what they wanted during the work.
    pub(crate) async fn next_idle(&self) -> ConsoleRequest {
        let deferred = self.deferred.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        match deferred {
            Some(request) if !self.has_quit() => request,
            _ => self.next().await,
        }
    }

    /// Keeps a request until the work is done.
    pub(crate) fn defer(&self, request: ConsoleRequest) {
        self.deferred.lock().unwrap_or_else(PoisonError::into_inner).push_back(request);
    }

    /// A message of the user to the run that is shown.
    pub(crate) fn message(&self, message: String) -> Input {
        self.feed.expect_own(&message);
        Input::Tell { message }
    }

    /// The user leaves: what is under way stops, and nothing more is asked of them.
    pub(crate) fn quit(&self, stop: &CancellationToken) {
        self.has_quit.store(true, Ordering::Release);
        stop.cancel();
    }

    /// Whether the user leaves.
    pub(crate) fn has_quit(&self) -> bool {
        self.has_quit.load(Ordering::Acquire)
    }

    /// Whether a notice was not shown yet.
    pub(crate) fn is_news(&self, notice: &str) -> bool {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).insert(notice.to_owned())
    }

    /// Shows that something is being done, or no longer.
    pub(crate) fn set_working(&self, is_working: bool) {
        if is_working {
            self.feed.tree.forget();
        }
        self.feed.push(ConsoleNews::Working(is_working));
    }

    /// Shows the result of a run, unless it was just said.
    pub(crate) fn answer(&self, text: &str) {
        self.feed.push(ConsoleNews::Answered(text.to_owned()));
    }

    /// Shows a run on the full screen, even before there is news of it.
    pub(crate) fn look_at(&self, run: &RunId) {
        self.feed.look_at(run);
    }

    /// Waits until the user leaves the full screen, if it is open.
    pub(crate) async fn while_full(&self) {
        while self.is_full.load(Ordering::Acquire) {
            if let ConsoleRequest::Interrupt | ConsoleRequest::Quit = self.next().await {
                return;
            }
        }
    }

    /// Shows which model answers.
    pub(crate) fn set_model(&self, model: String) {
        self.feed.push(ConsoleNews::Model(model));
    }

    /// Takes a question back that was answered elsewhere.
    pub(crate) fn withdraw(&self) {
        self.feed.push(ConsoleNews::Withdrawn);
    }

    /// Shows what the conversation has cost so far.
    pub(crate) fn set_cost(&self, cost: String) {
        self.feed.push(ConsoleNews::Cost(cost));
    }

    /// Gives the user a text to edit and send.
    pub(crate) fn draft(&self, text: &str) {
        self.feed.push(ConsoleNews::Draft(text.to_owned()));
    }

    /// The process was stopped, and continues.
    pub(crate) fn continued(&self) {
        self.feed.push(ConsoleNews::Continued);
    }

    /// Lets somebody else use the terminal meanwhile.
    pub(crate) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        let (done, is_free) = mpsc::channel();
        self.feed.push(ConsoleNews::Suspend(done));
        let _ = is_free.recv();
        out::use_console(None);
        let result = work();
        out::use_console(Some(Arc::clone(&self.feed) as Arc<dyn LineConsole>));
        self.feed.push(ConsoleNews::Resume);
        result
    }
}

/// The folder as people write it.
fn short_folder(folder: &Path) -> String {
    let home = folders::home().and_then(|home| home.canonicalize().ok());
    match home.and_then(|home| folder.strip_prefix(home).ok().map(|rest| rest.display().to_string())) {
        Some(rest) if rest.is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{rest}"),
        None => folder.display().to_string(),
    }
}
