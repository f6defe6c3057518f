//! `updraft show --bus`: the messages between the user and the agents of a run.

use serde_json::json;
use updraft_engine::{BusMessage, bus};
use updraft_journal::Journal;
use updraft_run::RunId;

use crate::fault::CliError;
use crate::out::{self, Paint};
use crate::time_format;

/// Most characters of a message that are shown; `--json` has all of it.
const SHOWN: usize = 300;

/// Prints the messages in the order they were sent.
pub(super) fn print(journal: &Journal, id: &RunId, as_json: bool) -> Result<(), CliError> {
    let messages = bus(journal, id)?;
    if as_json {
        out::pretty(&json!({ "run": id, "messages": messages }));
        return Ok(());
    }
    let paint = Paint::for_stdout();
    for BusMessage { from, to, kind, content, timestamp, step } in &messages {
        let step = step.as_ref().map(|step| format!(" [{step}]")).unwrap_or_default();
        let head = format!("{from} → {to}");
        out::line(&format!("{}  {}  {}{step}", time_format::date_time(*timestamp), paint.bold(&head), kind.word()));
        let content = content.split_whitespace().collect::<Vec<_>>().join(" ");
        out::line(&format!("    {}", out::short(&content, SHOWN)));
    }
    Ok(())
}
