//! One background command: what it has printed and nobody has read yet, and how it ended.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use updraft_run::Failure;
use updraft_sandbox::{
    CaptureOptions, Child, ChildHandle, ChildResult, Command, LineListener, OutputMode, Policy, ReachedHosts, Sandbox,
    SharedNetwork,
};

use crate::builtin::aside_in_words;
use crate::confinement::{Confinement, left_behind, not_started};
use crate::shell;
use crate::tool::CallContext;

/// Most bytes kept of what nobody has read; of more, the beginning is dropped.
const UNREAD: usize = 1 << 20;
/// How long to wait until the processes of one that was stopped are gone.
const LAST_WAIT: Duration = Duration::from_secs(10);
/// How often ports are looked at.
const PORTS: Duration = Duration::from_millis(100);

/// A command that runs in the background. Dropping it ends all its processes.
pub(crate) struct BackgroundCommand {
    pub(crate) name: String,
    pub(crate) command: String,
    since: Instant,
    unread: Arc<Mutex<Unread>>,
    /// Changes whenever something was printed or it has ended.
    news: Arc<watch::Sender<()>>,
    end: Arc<OnceLock<CommandEnd>>,
    handle: ChildHandle,
    reached: ReachedHosts,
    _watch: JoinSet<()>,
}

/// How it ended.
pub(crate) struct CommandEnd {
    /// For the model, in brackets.
    pub(crate) words: String,
    /// What was refused or moved aside, one in each line.
    pub(crate) remarks: String,
    pub(crate) exit_code: Option<i32>,
    pub(crate) has_failed: bool,
}

/// What is waited for.
pub(crate) enum WaitTarget {
    /// Anything is printed.
    Output,
    /// A line that contains this text.
    Line(String),
    /// Connections to this port are accepted.
    Port(u16, Ports),
    /// It ends.
    End,
}

/// The network whose ports are looked at.
pub(crate) enum Ports {
    Of(SharedNetwork),
    OfHost(Sandbox),
}

impl Ports {
    async fn open(&self) -> BTreeSet<u16> {
        match self {
            Ports::Of(network) => network.open_ports().await,
            Ports::OfHost(sandbox) => sandbox.open_ports_of_host(),
        }
    }
}

#[derive(Default)]
struct Unread {
    text: String,
    /// Bytes dropped before it.
    dropped: usize,
}

impl Unread {
    fn add(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
        if self.text.len() > UNREAD {
            let cut = self.text.ceil_char_boundary(self.text.len() - UNREAD / 2);
            self.text.drain(..cut);
            self.dropped += cut;
        }
    }
}

impl BackgroundCommand {
    pub(super) async fn start(
        name: String,
        command: String,
        folder: PathBuf,
        policy: &Policy,
        network: Option<&SharedNetwork>,
        confinement: &Confinement,
        cx: &CallContext,
    ) -> Result<Self, Failure> {
        let (unread, news) = (Arc::new(Mutex::new(Unread::default())), Arc::new(watch::Sender::new(())));
        let (printed, told) = (Arc::clone(&unread), Arc::clone(&news));
        let listener = LineListener::to(move |line| {
            printed.lock().unwrap_or_else(PoisonError::into_inner).add(line);
            told.send_replace(());
        });
        let program = Command {
            args: vec!["-c".to_owned(), command.clone()],
            env: confinement.environment.clone(),
            cwd: Some(folder),
            output: OutputMode::Capture(CaptureOptions { head: 0, listener, ..CaptureOptions::default() }),
            network: network.cloned(),
            ..Command::new(shell::program())
        };
        let sandbox = confinement.sandbox().await?;
        let child = sandbox.spawn(policy, program).await.map_err(|error| not_started(&error))?;
        let (handle, reached, end) = (child.handle(), child.reached(), Arc::new(OnceLock::new()));
        let mut watch = JoinSet::new();
        watch.spawn(until_its_end(
            child,
            confinement.clone(),
            cx.around.run.clone(),
            Arc::clone(&end),
            Arc::clone(&news),
        ));
        Ok(Self { name, command, since: Instant::now(), unread, news, end, handle, reached, _watch: watch })
    }

    /// How it ended, if it has.
    pub(crate) fn end(&self) -> Option<&CommandEnd> {
        self.end.get()
    }

    /// How long it has run: minutes and seconds.
    pub(crate) fn age(&self) -> String {
        let seconds = self.since.elapsed().as_secs();
        format!("{}:{:02}", seconds / 60, seconds % 60)
    }

    /// The hosts that it has reached so far.
    pub(crate) fn reached(&self) -> Vec<String> {
        self.reached.since(0)
    }

    /// Waits for an event, and returns whether it came before the end of the command and of the time.
    pub(crate) async fn wait_for(&self, target: &WaitTarget, limit: Duration) -> bool {
        let (mut news, deadline) = (self.news.subscribe(), Instant::now() + limit);
        loop {
            news.mark_unchanged();
            let has_ended = self.end().is_some();
            let has_come = match target {
                WaitTarget::Output => !self.unread().text.is_empty(),
                WaitTarget::Line(part) => self.unread().text.lines().any(|line| line.contains(part)),
                WaitTarget::Port(port, ports) => !has_ended && ports.open().await.contains(port),
                WaitTarget::End => has_ended,
            };
            if has_come || has_ended || Instant::now() >= deadline {
                return has_come;
            }
            let next = match target {
                WaitTarget::Port(..) => deadline.min(Instant::now() + PORTS),
                WaitTarget::Output | WaitTarget::Line(_) | WaitTarget::End => deadline,
            };
            // The sender is ours, so this ends with news or with the time.
            let _ = tokio::time::timeout_at(next, news.changed()).await;
        }
    }

    /// What was printed since this was last called.
    pub(crate) fn take_unread(&self) -> String {
        let Unread { text, dropped } = std::mem::take(&mut *self.unread());
        if dropped == 0 { text } else { format!("[{dropped} bytes before this were not kept]\n{text}") }
    }

    /// Moves aside files that would run later, while it goes on; says which.
    pub(crate) async fn look_after(&self, confinement: &Confinement, run: &str) -> String {
        // For one that has ended, this was done at its end.
        let Some((moved, troubles)) = self.handle.look_after().await else { return String::new() };
        confinement.remember(&moved, run);
        left_behind(&moved, &troubles).trim_start().to_owned()
    }

    /// Ends it and waits until its processes are gone.
    pub(crate) async fn stop(&self) {
        self.handle.end().await;
        self.wait_for(&WaitTarget::End, LAST_WAIT).await;
    }

    fn unread(&self) -> std::sync::MutexGuard<'_, Unread> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn until_its_end(
    child: Child,
    confinement: Confinement,
    run: String,
    end: Arc<OnceLock<CommandEnd>>,
    news: Arc<watch::Sender<()>>,
) {
    let ended = match child.wait().await {
        Ok(ended) => {
            confinement.remember(&ended.moved_aside, &run);
            in_words(&ended)
        }
        Err(error) => {
            CommandEnd { words: error.to_string(), remarks: String::new(), exit_code: None, has_failed: true }
        }
    };
    let _ = end.set(ended);
    news.send_replace(());
}

fn in_words(ended: &ChildResult) -> CommandEnd {
    let words = match (ended.killed_for, ended.exit) {
        (Some(limit), _) => format!("killed: {limit}"),
        (None, Some(_)) => format!("exit code {}", ended.exit_code()),
        (None, None) => "stopped".to_owned(),
    };
    let mut remarks = String::new();
    let refused = ended.refused.iter().map(ToString::to_string);
    let moved = ended.moved_aside.iter().map(aside_in_words);
    for remark in refused.chain(moved).chain(ended.troubles.iter().cloned()) {
        let _ = writeln!(remarks, "[{remark}]");
    }
    let exit_code = ended.exit.map(|_| ended.exit_code());
    CommandEnd {
        words,
        remarks,
        exit_code,
        has_failed: ended.killed_for.is_some() || exit_code.is_some_and(|code| code != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_very_much_that_nobody_reads_the_end_is_kept() {
        let mut unread = Unread::default();
        for n in 0..100_000 {
            unread.add(&format!("line {n} \u{fc}"));
        }
        assert!(unread.text.len() <= UNREAD && unread.text.ends_with("line 99999 \u{fc}\n"));
        assert!(unread.dropped > 0);
    }
}
