//! The thread that reads keys and draws. It alone waits for the terminal; runs go on meanwhile.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste, Event};
use crossterm::{execute, terminal};
use tokio::sync::mpsc::UnboundedSender;

use super::ascii;
use super::feed::ConsoleFeed;
use super::layout::strip_rows;
use super::news::{ConsoleNews, ConsoleRequest};
use super::screen::InlineScreen;
use super::state::{ConsoleState, FrameContext, KeyEffect};
use crate::view;

/// The shortest time between two frames: 25 a second.
const FRAME: Duration = Duration::from_millis(40);
/// How long to wait for keys while nothing is drawn: news wait no longer than this.
const IDLE: Duration = Duration::from_millis(80);
/// How long a process that stops itself waits until it has stopped: the signal may come to another thread first.
const STOPPING: Duration = Duration::from_millis(150);

/// The console on its terminal.
pub(super) struct ConsoleThread {
    pub(super) state: ConsoleState,
    pub(super) feed: Arc<ConsoleFeed>,
    pub(super) requests: UnboundedSender<ConsoleRequest>,
    /// Set when the console is to end.
    pub(super) is_closing: Arc<AtomicBool>,
    screen: InlineScreen,
    has_unicode: bool,
    began: Option<Instant>,
    drawn: Option<Instant>,
}

/// The terminal's columns and rows.
pub(super) fn size() -> (usize, usize) {
    let told = terminal::size().ok().filter(|(columns, rows)| *columns > 0 && *rows > 0);
    told.map_or_else(|| (view::size().1, view::size().0), |(columns, rows)| (columns.into(), rows.into()))
}

/// Takes the terminal: keys arrive one by one, and pastes as a whole.
pub(super) fn take_terminal() -> std::io::Result<()> {
    terminal::enable_raw_mode()?;
    execute!(std::io::stdout(), EnableBracketedPaste)
}

/// Gives the terminal back as it was.
pub(super) fn give_back_terminal() {
    let _ = execute!(std::io::stdout(), DisableBracketedPaste);
    let _ = terminal::disable_raw_mode();
}

impl ConsoleThread {
    pub(super) fn new(
        state: ConsoleState,
        feed: Arc<ConsoleFeed>,
        requests: UnboundedSender<ConsoleRequest>,
        is_closing: Arc<AtomicBool>,
    ) -> Self {
        let (columns, rows) = size();
        let screen = InlineScreen::new(columns, rows);
        let has_unicode = ascii::shows_unicode();
        Self { state, feed, requests, is_closing, screen, has_unicode, began: None, drawn: None }
    }

    /// Reads and draws until the console is closed, or the terminal is gone.
    pub(super) fn run(mut self) {
        if self.work().is_err() {
            // Without a terminal there is nobody to work for.
            let _ = self.requests.send(ConsoleRequest::Quit);
        }
        let _ = self.draw();
        let text = self.screen.clear();
        let _ = write(&text);
        give_back_terminal();
    }

    fn work(&mut self) -> std::io::Result<()> {
        while !self.is_closing.load(Ordering::Acquire) {
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
            return Ok(());
        }
        match self.state.event(event) {
            KeyEffect::None => Ok(()),
            KeyEffect::Request(request) => {
                let _ = self.requests.send(request);
                Ok(())
            }
            KeyEffect::Stop => self.stop(),
            KeyEffect::Redraw => {
                let text = self.screen.clear();
                write(&format!("{text}\x1b[H\x1b[2J"))?;
                Ok(())
            }
        }
    }

    fn take_news(&mut self) -> std::io::Result<()> {
        for news in self.feed.take() {
            match news {
                ConsoleNews::Suspend(done) => self.suspend(&done)?,
                ConsoleNews::Resume => {}
                ConsoleNews::Continued => {
                    take_terminal()?;
                    let text = self.screen.clear();
                    write(&text)?;
                    self.state.has_changed = true;
                }
                ConsoleNews::Working(begins) => {
                    self.began = begins.then(Instant::now);
                    self.state.take(news);
                }
                news => self.state.take(news),
            }
        }
        Ok(())
    }

    /// Leaves the terminal to somebody else until it is ours again.
    fn suspend(&mut self, done: &std::sync::mpsc::Sender<()>) -> std::io::Result<()> {
        self.draw()?;
        let text = self.screen.clear();
        write(&text)?;
        give_back_terminal();
        let _ = done.send(());
        loop {
            for news in self.feed.take() {
                if let ConsoleNews::Resume = news {
                    take_terminal()?;
                    self.state.has_changed = true;
                    return Ok(());
                }
                self.state.take(news);
            }
            if self.is_closing.load(Ordering::Acquire) {
                return Ok(());
            }
            std::thread::sleep(IDLE);
        }
    }

    /// Stops the process as Ctrl-Z does elsewhere, and goes on when it is continued.
    fn stop(&mut self) -> std::io::Result<()> {
        let text = self.screen.clear();
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
        let mut text = String::new();
        if (columns, rows) != self.screen.size() {
            text = self.screen.resize(columns, rows);
            self.state.transcript.resize(columns);
        }
        let (columns, rows) = self.screen.size();
        let elapsed = self.began.map(|began| began.elapsed()).unwrap_or_default();
        let frame = FrameContext { columns, rows, elapsed };
        let strip = if !self.state.is_working {
            Vec::new()
        } else if self.state.talks {
            self.feed.tree.talk_lines(strip_rows(rows).min(8), columns)
        } else {
            self.feed.tree.live_lines(strip_rows(rows), columns)
        };
        let layout = self.state.layout(&strip, frame);
        let finished = self.state.transcript.take();
        let (finished, below) = if self.has_unicode {
            (finished, layout.rows)
        } else {
            let plain = |lines: Vec<String>| lines.iter().map(|line| ascii::ascii(line)).collect::<Vec<_>>();
            (plain(finished), plain(layout.rows))
        };
        text.push_str(&self.screen.frame(&finished, &below, layout.cursor));
        self.state.has_changed = false;
        self.drawn = Some(Instant::now());
        write(&text)
    }
}

fn write(text: &str) -> std::io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
