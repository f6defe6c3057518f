//! The thread that reads keys and draws. It alone waits for the terminal; runs go on meanwhile.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use crossterm::terminal;
use tokio::sync::mpsc::UnboundedSender;

use super::ascii;
use super::clipboard;
use super::feed::ConsoleFeed;
use super::fullscreen::{FullscreenKey, FullscreenView};
use super::layout::strip_rows;
use super::mention;
use super::news::{ConsoleNews, ConsoleRequest};
use super::screen::InlineScreen;
use super::state::{ConsoleMode, ConsoleState, FrameContext, KeyEffect};
use crate::folders::AppFolders;
use crate::view;

/// The shortest time between two frames: 25 a second.
const FRAME: Duration = Duration::from_millis(40);
/// How long to wait for keys while nothing is drawn: news wait no longer than this.
const IDLE: Duration = Duration::from_millis(80);
/// How long a process that stops itself waits until it has stopped: the signal may come to another thread first.
const STOPPING: Duration = Duration::from_millis(150);

/// Switches to the terminal's other screen, and back with a visible cursor.
const ENTER_FULL: &str = "\x1b[?1049h";
const LEAVE_FULL: &str = "\x1b[?25h\x1b[?1049l";
/// After such a pause, a user whose composer is empty is not about to write.
const PAUSE: Duration = Duration::from_millis(700);
/// Most lines that the log on the full screen goes back.
const LONGEST_LOG: usize = 500;
/// How many lines `/log` shows.
const LOG_LINES: usize = 20;

/// Whether the terminal shows the full screen, which must be left before the terminal is given back.
static IS_FULL: AtomicBool = AtomicBool::new(false);
/// Whether the console draws on standard error, because standard output may be a file.
static IS_ON_STDERR: AtomicBool = AtomicBool::new(false);
/// Pastes arrive as a whole, or as keys.
const BRACKETED_PASTE: &str = "\x1b[?2004h";
const PLAIN_PASTE: &str = "\x1b[?2004l";

/// The console on its terminal.
pub(super) struct ConsoleThread {
    state: ConsoleState,
    link: ThreadLink,
    screen: InlineScreen,
    full: Option<FullscreenView>,
    /// The newest finished lines.
    log: Vec<String>,
    /// Lines that go to the scrollback when the full screen is left.
    unprinted: Vec<String>,
    has_unicode: bool,
    began: Option<Instant>,
    drawn: Option<Instant>,
    pressed: Option<Instant>,
}

/// What connects the thread with the rest of the program.
pub(super) struct ThreadLink {
    pub(super) feed: Arc<ConsoleFeed>,
    pub(super) requests: UnboundedSender<ConsoleRequest>,
    /// Set when the console is to end.
    pub(super) is_closing: Arc<AtomicBool>,
    /// Whether the full screen is to be shown.
    pub(super) is_full: Arc<AtomicBool>,
    pub(super) folders: AppFolders,
}

/// The terminal's columns and rows.
pub(super) fn size() -> (usize, usize) {
    let told = terminal::size().ok().filter(|(columns, rows)| *columns > 0 && *rows > 0);
    told.map_or_else(|| (view::size().1, view::size().0), |(columns, rows)| (columns.into(), rows.into()))
}

/// Chooses where the console that opens next draws.
pub(super) fn draw_on_stderr(is_on_stderr: bool) {
    IS_ON_STDERR.store(is_on_stderr, Ordering::Release);
}

/// Takes the terminal: keys arrive one by one, and pastes as a whole.
pub(super) fn take_terminal() -> std::io::Result<()> {
    terminal::enable_raw_mode()?;
    if IS_FULL.load(Ordering::Acquire) {
        write(ENTER_FULL)?;
    }
    write(BRACKETED_PASTE)
}

/// Gives the terminal back as it was.
pub(super) fn give_back_terminal() {
    let _ = write(PLAIN_PASTE);
    if IS_FULL.load(Ordering::Acquire) {
        let _ = write(LEAVE_FULL);
    }
    let _ = terminal::disable_raw_mode();
}

impl ConsoleThread {
    pub(super) fn new(state: ConsoleState, link: ThreadLink) -> Self {
        let (columns, rows) = size();
        Self {
            state,
            link,
            screen: InlineScreen::new(columns, rows),
            full: None,
            log: Vec::new(),
            unprinted: Vec::new(),
            has_unicode: ascii::shows_unicode(),
            began: None,
            drawn: None,
            pressed: None,
        }
    }

    /// Reads and draws until the console is closed, or the terminal is gone.
    pub(super) fn run(mut self) {
        if self.work().is_err() {
            // Without a terminal there is nobody to work for.
            let _ = self.link.requests.send(ConsoleRequest::Quit);
        }
        let _ = self.leave_full();
        let _ = self.draw();
        let text = self.screen.clear();
        let _ = write(&text);
        give_back_terminal();
    }

    fn work(&mut self) -> std::io::Result<()> {
        if self.link.is_full.load(Ordering::Acquire) {
            self.enter_full()?;
        }
        while !self.link.is_closing.load(Ordering::Acquire) {
            let wait = if self.state.has_changed || self.state.is_working {
                self.drawn.map_or(Duration::ZERO, |drawn| FRAME.saturating_sub(drawn.elapsed()))
            } else {
                IDLE
            };
            let mut is_there = event::poll(wait)?;
            // All keys that wait are taken before the next frame.
            while is_there {
                let event = event::read()?;
                self.on_event(event)?;
                is_there = event::poll(Duration::ZERO)?;
            }
            self.take_news()?;
            // News of the run itself may come after the first frame, and alone.
            let is_behind = self.full.as_ref().is_some_and(|full| full.is_behind(self.link.feed.run().as_ref()));
            self.state.has_changed |= is_behind;
            self.state.set_typing(self.pressed.is_some_and(|pressed| pressed.elapsed() < PAUSE));
            let is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME);
            if is_due && (self.state.has_changed || self.state.is_working) {
                self.draw()?;
            }
        }
        self.take_news()
    }

    fn on_event(&mut self, event: Event) -> std::io::Result<()> {
        if let Event::Resize(..) = event {
            self.state.has_changed = true;
            self.full.iter_mut().for_each(FullscreenView::forget_drawn);
            return Ok(());
        }
        match self.full.as_mut().map(|full| full.event(&event, &self.state)) {
            Some(FullscreenKey::Leave) => return self.leave_full(),
            Some(FullscreenKey::Taken) => {
                self.state.has_changed = true;
                return Ok(());
            }
            None if event == Event::Key(KeyEvent::new(KeyCode::Char('g'), KeyModifiers::CONTROL)) => {
                return self.enter_full();
            }
            Some(FullscreenKey::Pass) | None => {}
        }
        let is_enter = matches!(event, Event::Key(KeyEvent { code: KeyCode::Enter, .. }));
        self.pressed = (!is_enter).then(Instant::now);
        match self.state.event(event) {
            KeyEffect::None => Ok(()),
            KeyEffect::Request(ConsoleRequest::Command(name, _)) if name == "graph" => self.enter_full(),
            KeyEffect::Request(ConsoleRequest::Command(name, lines)) if name == "log" => {
                self.show_log(&lines);
                Ok(())
            }
            KeyEffect::Request(request) => {
                let _ = self.link.requests.send(request);
                Ok(())
            }
            KeyEffect::Stop => self.stop(),
            KeyEffect::Signal => {
                self.interrupt();
                Ok(())
            }
            KeyEffect::PastePicture => {
                self.paste_picture();
                Ok(())
            }
            KeyEffect::Redraw => {
                let text = self.clear();
                write(&format!("{text}\x1b[H\x1b[2J"))?;
                Ok(())
            }
        }
    }

    /// Mentions the picture in the clipboard.
    fn paste_picture(&mut self) {
        match clipboard::save_picture(&self.link.folders) {
            Ok(file) => {
                let mention = mention::mention(&file.display().to_string());
                self.state.composer.insert(&format!("{mention} "));
            }
            Err(why) => self.state.transcript.log(&why),
        }
    }

    /// What happened lately, with the times.
    fn show_log(&mut self, lines: &str) {
        let log = self.link.feed.log(lines.parse().unwrap_or(LOG_LINES));
        for line in &log {
            self.state.transcript.log(line);
        }
        if log.is_empty() {
            self.state.transcript.log("nothing has happened yet");
        }
    }

    fn enter_full(&mut self) -> std::io::Result<()> {
        if self.full.is_some() {
            return Ok(());
        }
        let only_looks = self.state.mode == ConsoleMode::Look;
        let text = self.screen.clear();
        write(&format!("{text}{ENTER_FULL}"))?;
        IS_FULL.store(true, Ordering::Release);
        self.link.is_full.store(true, Ordering::Release);
        self.full = Some(FullscreenView::new(self.state.paint, self.link.folders.clone(), only_looks));
        self.state.has_changed = true;
        Ok(())
    }

    fn leave_full(&mut self) -> std::io::Result<()> {
        if self.full.take().is_none() {
            return Ok(());
        }
        IS_FULL.store(false, Ordering::Release);
        self.link.is_full.store(false, Ordering::Release);
        self.state.has_changed = true;
        let request = if self.state.mode == ConsoleMode::Look { ConsoleRequest::Quit } else { ConsoleRequest::Closed };
        let _ = self.link.requests.send(request);
        write(LEAVE_FULL)
    }

    /// Removes what is drawn; the next frame draws it again.
    fn clear(&mut self) -> String {
        self.state.has_changed = true;
        match &mut self.full {
            Some(full) => {
                full.forget_drawn();
                String::new()
            }
            None => self.screen.clear(),
        }
    }

    fn take_news(&mut self) -> std::io::Result<()> {
        for news in self.link.feed.take() {
            self.take(news)?;
        }
        Ok(())
    }

    fn take(&mut self, news: ConsoleNews) -> std::io::Result<()> {
        match news {
            ConsoleNews::Suspend(done) => self.suspend(&done)?,
            ConsoleNews::Resume => {}
            ConsoleNews::Continued => {
                take_terminal()?;
                let text = self.clear();
                write(&text)?;
            }
            ConsoleNews::Working(begins) => {
                self.began = begins.then(Instant::now);
                self.state.take(news);
            }
            news => self.state.take(news),
        }
        Ok(())
    }

    /// Leaves the terminal to somebody else until it is ours again.
    fn suspend(&mut self, done: &std::sync::mpsc::Sender<()>) -> std::io::Result<()> {
        self.draw()?;
        let text = self.clear();
        write(&text)?;
        give_back_terminal();
        let _ = done.send(());
        let mut is_ours = false;
        while !is_ours && !self.link.is_closing.load(Ordering::Acquire) {
            std::thread::sleep(IDLE);
            // What follows the return of the terminal may have come at the same time.
            for news in self.link.feed.take() {
                if let ConsoleNews::Resume = news {
                    is_ours = true;
                    take_terminal()?;
                    self.state.has_changed = true;
                } else {
                    self.take(news)?;
                }
            }
        }
        Ok(())
    }

    /// Interrupts the program as Ctrl-C does elsewhere.
    fn interrupt(&self) {
        #[cfg(unix)]
        let is_sent = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::INT).is_ok();
        #[cfg(not(unix))]
        let is_sent = false;
        if !is_sent {
            let _ = self.link.requests.send(ConsoleRequest::Interrupt);
        }
    }

    /// Stops the process as Ctrl-Z does elsewhere, and goes on when it is continued.
    fn stop(&mut self) -> std::io::Result<()> {
        let text = self.clear();
        write(&text)?;
        give_back_terminal();
        #[cfg(unix)]
        {
            let _ = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
            std::thread::sleep(STOPPING);
        }
        take_terminal()?;
        self.state.has_changed = true;
        Ok(())
    }

    fn draw(&mut self) -> std::io::Result<()> {
        let (columns, rows) = size();
        self.state.transcript.resize(columns);
        let finished = self.state.transcript.take();
        self.log.extend(finished.iter().cloned());
        self.log.drain(..self.log.len().saturating_sub(LONGEST_LOG));
        self.unprinted.extend(finished);
        let elapsed = self.began.map(|began| began.elapsed()).unwrap_or_default();
        let text = if self.full.is_some() {
            self.full_frame(FrameContext { columns, rows, elapsed })
        } else {
            self.inline_frame((columns, rows), elapsed)
        };
        self.state.has_changed = false;
        self.drawn = Some(Instant::now());
        write(&text)
    }

    fn full_frame(&mut self, frame: FrameContext) -> String {
        let Some(full) = &mut self.full else { return String::new() };
        full.follow(self.link.feed.run());
        full.notice_prompt(self.state.prompt.is_some());
        let mut log = self.log.clone();
        log.extend(self.state.transcript.open_lines(frame.rows));
        full.draw(&self.state, &log, frame, self.has_unicode)
    }

    fn inline_frame(&mut self, (columns, rows): (usize, usize), elapsed: Duration) -> String {
        let mut text = String::new();
        if (columns, rows) != self.screen.size() {
            text = self.screen.resize(columns, rows);
        }
        let (columns, rows) = self.screen.size();
        let frame = FrameContext { columns, rows, elapsed };
        let tree = &self.link.feed.tree;
        let strip = if !self.state.is_working {
            Vec::new()
        } else if self.state.mode == ConsoleMode::Ask {
            tree.live_lines(strip_rows(rows), columns)
        } else if self.state.prompt.is_some() {
            tree.busy_line(columns).into_iter().collect()
        } else if self.state.talks {
            tree.talk_lines(strip_rows(rows).min(8), columns)
        } else {
            tree.live_lines(strip_rows(rows), columns)
        };
        let layout = self.state.layout(&strip, frame);
        let finished = std::mem::take(&mut self.unprinted);
        let (finished, below) = if self.has_unicode {
            (finished, layout.rows)
        } else {
            let plain = |lines: Vec<String>| lines.iter().map(|line| ascii::ascii(line)).collect::<Vec<_>>();
            (plain(finished), plain(layout.rows))
        };
        text.push_str(&self.screen.frame(&finished, &below, layout.cursor));
        text
    }
}

fn write(text: &str) -> std::io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    if IS_ON_STDERR.load(Ordering::Acquire) {
        return std::io::stderr().lock().write_all(text.as_bytes());
    }
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
