//! The result of running Python code, as text for a model and as data.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::ToolOutput;
use updraft_sandbox::{ChildResult, KillReason};

use super::super::run_command::aside_in_words;
use crate::worker::{PrintedOutput, WorkerFault, WorkerOutput};

/// One variant that was tried.
pub(super) struct VariantAttempt {
    /// The result as data and as text, or the reason why there is none.
    pub(super) came: Result<(Value, String), String>,
    /// The printed text, with its middle left out if it is long.
    printed: String,
    seconds: f64,
    /// Further notes for the model.
    pub(super) notes: Vec<String>,
    /// Why no other variant was tried after this one.
    pub(super) stopped: Option<String>,
}

/// The report of the child process that runs the code. The code could forge it, so every missing field has a default.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ChildReport {
    ok: bool,
    result: Value,
    shown: String,
    error: String,
    threads: u64,
}

/// The report of the parent process about how the child ended.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ParentReport {
    seconds: f64,
    status: i64,
    left: bool,
    crash: String,
    omitted: u64,
    tail: String,
}

impl VariantAttempt {
    pub(super) fn of(called: Result<WorkerOutput, WorkerFault>, elapsed: Duration, limit: Duration) -> Self {
        match called {
            Ok(done) => Self::of_done(done),
            Err(fault) => Self::of_fault(fault, elapsed, limit),
        }
    }

    pub(super) fn is_good(&self) -> bool {
        self.came.is_ok()
    }

    fn of_done(done: WorkerOutput) -> Self {
        let end: ParentReport = serde_json::from_value(done.end).unwrap_or_default();
        let said = done.value.map(|value| serde_json::from_value::<ChildReport>(value).unwrap_or_default());
        let mut notes = Vec::new();
        if let Some(threads) = said.as_ref().map(|said| said.threads).filter(|threads| *threads > 0) {
            notes.push(format!("{threads} of its threads still ran at the end and were ended"));
        }
        if end.left {
            notes.push("processes that it had started still ran at the end and were ended".to_owned());
        }
        notes.extend(done.moved_aside.iter().map(aside_in_words));
        notes.extend(done.troubles);
        let came = match said {
            Some(said) if said.ok => Ok((said.result, said.shown)),
            Some(said) => Err(said.error),
            None => Err(without_a_word(&end)),
        };
        let printed = joined(&done.printed, end.omitted, &end.tail);
        Self { came, printed, seconds: end.seconds, notes, stopped: None }
    }

    fn of_fault(fault: WorkerFault, elapsed: Duration, limit: Duration) -> Self {
        let (why, printed, ended) = match fault {
            WorkerFault::NotStarted(failure) => (failure.message, PrintedOutput::default(), None),
            WorkerFault::TimedOut { printed, ended, .. } => {
                let why = format!("it took longer than {} s and was ended", limit.as_secs());
                (why, printed, ended)
            }
            WorkerFault::Ended { printed, ended } => (ended_words(ended.as_deref()), printed, ended),
            WorkerFault::Forged { why, ended } => {
                let why = format!("it spoke in Python's place ({why}), and was ended");
                (why, PrintedOutput::default(), ended)
            }
        };
        let mut notes = Vec::new();
        if let Some(ended) = ended {
            notes.extend(ended.moved_aside.iter().map(aside_in_words));
            notes.extend(ended.troubles);
        }
        let printed = joined(&printed, 0, "");
        Self { came: Err(why), printed, seconds: elapsed.as_secs_f64(), notes, stopped: None }
    }
}

/// Describes code that ended or crashed its own process.
fn without_a_word(end: &ParentReport) -> String {
    let lines: Vec<String> = end.crash.lines().filter_map(crash_line).collect();
    let how = match end.status {
        code if code >= 0 => format!("the code ended Python itself, with exit code {code}"),
        signal => format!("Python was ended by {}", signal_name(-signal)),
    };
    [how].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

/// A line from Python's crash report, if it is about the code: `File "<code>", line 3 in f`.
fn crash_line(line: &str) -> Option<String> {
    let (number, function) = line.trim().strip_prefix("File \"<code>\", line ")?.split_once(" in ")?;
    Some(if function == "<module>" { format!("  line {number}") } else { format!("  line {number}, in {function}") })
}

fn signal_name(signal: i64) -> String {
    let name = match signal {
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV, a crash",
        15 => "SIGTERM",
        25 => "SIGXFSZ, a file too large",
        31 => "SIGSYS, a system call that the sandbox refuses",
        other => return format!("signal {other}"),
    };
    format!("signal {signal} ({name})")
}

fn ended_words(ended: Option<&ChildResult>) -> String {
    let Some(ended) = ended else { return "Python ended in an unknown way".to_owned() };
    let limit = match ended.killed_for {
        Some(KillReason::Memory) => "it took too much memory",
        Some(KillReason::Processes) => "it started too many processes",
        Some(KillReason::Disk) => "it filled the disk",
        Some(KillReason::Output) => "it printed too much",
        Some(KillReason::Time) => "it took too long",
        None => {
            let stderr = ended.stderr.text();
            let last: Vec<&str> = stderr.trim().lines().rev().take(3).collect();
            let last = last.into_iter().rev().collect::<Vec<_>>().join("\n");
            return format!("Python ended with exit code {}\n{last}", ended.exit_code()).trim_end().to_owned();
        }
    };
    format!("{limit}, and was ended")
}

fn joined(printed: &PrintedOutput, omitted: u64, tail: &str) -> String {
    let head = String::from_utf8_lossy(&printed.head);
    match printed.omitted + omitted {
        0 => format!("{head}{tail}"),
        omitted => format!("{head}\n[{omitted} bytes left out]\n{tail}"),
    }
}

/// The output for the model about the variants that were tried, out of `of`: how the code ended, the result or error
/// of the last one, and what it printed.
pub(super) fn output(attempts: &[VariantAttempt], of: usize) -> ToolOutput {
    let Some(last) = attempts.last() else { return ToolOutput::default() };
    let seconds: f64 = attempts.iter().map(|attempt| attempt.seconds).sum();
    let how = if last.is_good() { "done in" } else { "failed after" };
    let mut lines = vec![format!("[{how} {seconds:.2} s]")];
    if of > 1 {
        lines.extend(variants(attempts, of));
    }
    lines.extend(attempts.iter().flat_map(|attempt| &attempt.notes).map(|note| format!("[{note}]")));
    match &last.came {
        Ok((Value::Null, _)) => {}
        Ok((_, shown)) => lines.push(format!("result: {shown}")),
        Err(why) => lines.push(why.clone()),
    }
    if !last.printed.trim().is_empty() {
        lines.push(format!("printed:\n{}", last.printed.trim_end()));
    }
    let mut value = json!({ "result": null, "stdout": last.printed, "seconds": seconds, "variant": attempts.len() });
    match &last.came {
        Ok((result, _)) => value["result"] = result.clone(),
        Err(why) => value["error"] = json!(why),
    }
    ToolOutput { text: lines.join("\n") + "\n", value: Some(value), is_error: !last.is_good(), ..ToolOutput::default() }
}

/// Lines that say which variant succeeded, why others failed, and why some were not tried.
fn variants(attempts: &[VariantAttempt], of: usize) -> Vec<String> {
    let tried = attempts.len();
    let mut lines = Vec::new();
    for (at, attempt) in attempts.iter().enumerate() {
        let number = at + 1;
        match &attempt.came {
            Ok(_) => lines.push(format!("[variant {number} of {of} succeeded]")),
            // The error of the last one is given below in full.
            Err(_) if number == tried => lines.push(format!("[variant {number} of {of} failed]")),
            Err(why) => lines.push(format!("[variant {number} failed: {}]", why.replace('\n', "; "))),
        }
        if let Some(stopped) = &attempt.stopped {
            lines.push(format!("[the others were not tried: {stopped}]"));
        }
    }
    lines
}
