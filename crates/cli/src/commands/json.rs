//! `updraft json repair`: turns standard input into valid JSON on standard output, and reports repairs on standard
//! error.

use std::io::Read;

use updraft_lenient::{RepairedJson, repair_with};

use crate::args::{JsonArgs, JsonCommand};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::out;

/// More input than a model writes is refused.
const LONGEST: u64 = 64 << 20;

pub(crate) fn run(args: &JsonArgs) -> CliResult {
    let JsonCommand::Repair(args) = &args.command;
    let schema = args.schema.as_deref().map(|file| {
        let text = std::fs::read_to_string(file)
            .map_err(|error| CliError::usage(format!("`{}` cannot be read: {error}", file.display())))?;
        serde_json::from_str(&text)
            .map_err(|error| CliError::usage(format!("`{}` is not JSON: {error}", file.display())))
    });
    let schema: Option<serde_json::Value> = schema.transpose()?;
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| CliError::failed(format!("could not read standard input: {error}")))?;
    if bytes.len() as u64 > LONGEST {
        return Err(CliError::usage(format!("standard input is longer than {LONGEST} bytes")));
    }
    let text = String::from_utf8_lossy(&bytes);
    let repaired =
        repair_with(&text, schema.as_ref()).ok_or_else(|| CliError::failed("there is no JSON value in it"))?;
    tell(&text, &repaired);
    if args.safe && repaired.is_risky() {
        let fault = CliError::failed("a repair had to guess");
        return Err(
            fault.hint("the lines above that end in `(a guess)` say where; without `--safe` the guess is printed")
        );
    }
    out::json(&repaired.value);
    Ok(CliExitCode::Done)
}

/// Reports the repairs, one line each.
fn tell(text: &str, repaired: &RepairedJson) {
    if repaired.repairs.is_empty() {
        return;
    }
    let line_ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    for repair in &repaired.repairs {
        let line = line_ends.partition_point(|end| *end < repair.at) + 1;
        let doubt = if repair.what.is_risky() { " (a guess)" } else { "" };
        out::note(&format!("line {line}, byte {}: {}{doubt}", repair.at, repair.what));
    }
}
