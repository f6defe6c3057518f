//! `updraft audit`: what each call of a run touched, according to its journal.

use std::fmt::Write as _;

use serde_json::json;
use updraft_engine::{CallAudit, touched};

use super::undo::verb;
use crate::args::AuditArgs;
use crate::fault::{CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::out::{self, Paint};
use crate::{journal, time_format};

/// Most changes of one call that are listed for people.
const NAMED: usize = 50;

pub(crate) fn run(folders: &AppFolders, args: &AuditArgs) -> CliResult {
    let journal = journal::open_with_runs(folders)?;
    let id = journal::find_run_here(&journal, args.run.run.as_deref())?;
    for call in touched(&journal, &id)? {
        if args.json { out::json(&json!(call)) } else { out::print(&in_words(&call, args.diff)) }
    }
    Ok(CliExitCode::Done)
}

fn in_words(call: &CallAudit, with_diff: bool) -> String {
    let paint = Paint::for_stdout();
    let outcome = match call.outcome {
        "done" => paint.green(call.outcome),
        other => paint.yellow(other),
    };
    let (at, id, tool) = (time_format::clock(call.at), &call.call, paint.bold(&call.tool));
    let mut text = format!("{at}  {id}  {} {tool}  {outcome}\n", call.agent);
    let mut row = |name: &str, what: &str| {
        let _ = writeln!(text, "    {name:9} {}", out::harmless(what));
    };
    if let Some(command) = &call.command {
        let code = call.exit_code.map(|code| format!("  (exit code {code})")).unwrap_or_default();
        row("command", &format!("{}{code}", out::short(command, 300)));
    }
    call.reads.iter().for_each(|path| row("read", path));
    call.hosts.iter().for_each(|host| row("host", host));
    if let Some(approval) = &call.approval {
        row("asked", &approval.why);
        approval.arguments.iter().for_each(|line| row("with", line));
        match &approval.verdict {
            Some(verdict) => {
                let word = if verdict.allow { "allowed" } else { "refused" };
                let by = if verdict.by.is_empty() { String::new() } else { format!("by {} ", verdict.by) };
                row(word, format!("{by}{}", verdict.because).trim_end());
            }
            None => row("waits", "nobody has answered"),
        }
    }
    for change in call.changes.iter().take(NAMED) {
        let lost = if change.lost { "  (what was there before was not kept)" } else { "" };
        let unsure = if change.unsure { "  (or by another call at the same time)" } else { "" };
        row(verb(change), &format!("{}{lost}{unsure}", change.path));
    }
    if call.changes.len() > NAMED {
        row("", &format!("… and {} more; `--json` names them all", call.changes.len() - NAMED));
    }
    if let Some(why) = &call.unlisted {
        row("unlisted", why);
    }
    if let Some(why) = &call.because {
        row("because", &out::short(why, 300));
    }
    if let Some(diff) = call.diff.as_ref().filter(|_| with_diff) {
        for line in diff.lines() {
            let _ = writeln!(text, "    {}", out::harmless(line));
        }
    }
    text
}
