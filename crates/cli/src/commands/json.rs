//! `updraft json repair`: standard input to valid JSON on standard output, what was repaired on standard error.

use std::io::Read;

use updraft_lenient::{Repaired, repair_with};

use crate::args::{Json, JsonCommand};
use crate::fault::{Code, Fault, Outcome};
use crate::out;

/// More is not what a model wrote.
const LONGEST: u64 = 64 << 20;

pub(crate) fn run(args: &Json) -> Outcome {
    let JsonCommand::Repair(args) = &args.command;
    let schema = args.schema.as_deref().map(|file| {
        let text = std::fs::read_to_string(file)
            .map_err(|error| Fault::usage(format!("`{}` cannot be read: {error}", file.display())))?;
        serde_json::from_str(&text).map_err(|error| Fault::usage(format!("`{}` is not JSON: {error}", file.display())))
    });
    let schema: Option<serde_json::Value> = schema.transpose()?;
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| Fault::failed(format!("could not read standard input: {error}")))?;
    if bytes.len() as u64 > LONGEST {
        return Err(Fault::usage(format!("standard input is longer than {LONGEST} bytes")));
    }
    let text = String::from_utf8_lossy(&bytes);
    let repaired = repair_with(&text, schema.as_ref()).ok_or_else(|| Fault::failed("there is no JSON value in it"))?;
    tell(&text, &repaired);
    if args.safe && repaired.is_risky() {
        let fault = Fault::failed("a repair had to guess at what was meant");
        return Err(
            fault.hint("the lines above that end in `(a guess)` say where; without `--safe` the guess is printed")
        );
    }
    out::json(&repaired.value);
    Ok(Code::Done)
}

/// Says what was repaired, a line each.
fn tell(text: &str, repaired: &Repaired) {
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
