//! `updraft replay`: repeats all decisions of a run offline, and compares them with its journal.

use serde_json::json;
use updraft_engine::{DifferenceKind, ReplayDifference, replay};

use crate::args::ReplayArgs;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::view::{self, SCHEMA};
use crate::{journal, out};

/// Most differences shown; the first matters most.
const SHOWN: usize = 20;

pub(crate) fn run(folders: &AppFolders, args: &ReplayArgs) -> CliResult {
    let journal = journal::open_with_runs(folders)?;
    let id = journal::find_run_here(&journal, args.run.run.as_deref())?;
    let head = journal.head(&id)?;
    let replayed = replay(&journal, &id)?;
    let same = replayed.differences.is_empty();
    // Another version may decide differently, which does not invalidate the journal.
    let excused = head.version != env!("CARGO_PKG_VERSION") && !args.strict;
    if args.json {
        let differences: Vec<_> = replayed.differences.iter().map(as_json).collect();
        out::json(
            &json!({ "schema": SCHEMA, "run": id, "same": same, "events": replayed.events, "copied": replayed.copied,
                           "prompts": replayed.prompts, "version": head.version, "differences": differences }),
        );
    } else {
        let copied = if replayed.copied > 0 { format!(", {} copied", replayed.copied) } else { String::new() };
        out::line(&format!(
            "{id}  {}: {} decided again{copied}, {} made again",
            if same { "the same" } else { "differs" },
            view::count(replayed.events, "event"),
            view::count(replayed.prompts, "prompt")
        ));
        replayed.differences.iter().take(SHOWN).for_each(|difference| out::line(&in_words(difference)));
    }
    if same || excused {
        return Ok(CliExitCode::Done);
    }
    let many = replayed.differences.len();
    Err(CliError::failed(format!(
        "{many} difference{} between the journal and the rules",
        if many == 1 { "" } else { "s" }
    )))
}

fn in_words(difference: &ReplayDifference) -> String {
    let at = difference.event;
    match &difference.what {
        DifferenceKind::Event { recorded, decided } => format!(
            "  event {at}\n    journal  {}\n    rules    {}",
            out::short(recorded.as_deref().unwrap_or("nothing"), 400),
            out::short(decided.as_deref().unwrap_or("nothing"), 400)
        ),
        DifferenceKind::Prompt { id, recorded, made } => {
            format!("  event {at}: the prompt of {id} was {recorded}, is {made}")
        }
    }
}

fn as_json(difference: &ReplayDifference) -> serde_json::Value {
    match &difference.what {
        DifferenceKind::Event { recorded, decided } => {
            json!({ "event": difference.event, "recorded": recorded, "decided": decided })
        }
        DifferenceKind::Prompt { id, recorded, made } => {
            json!({ "event": difference.event, "prompt": id, "recorded": recorded, "made": made })
        }
    }
}
