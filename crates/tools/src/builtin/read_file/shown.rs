//! What a call of `read_file` gives: the lines with their numbers, and where they stand in the whole.

use serde_json::json;
use updraft_run::{Failure, ToolOutput};

use super::super::failed;
use super::Args;
use super::window::{Window, WindowText};

/// Whether lines get their numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LineNumbers {
    /// A model gets them, to name lines by.
    Added,
    /// Code gets the text as it is, and so does everybody of a document, whose places are pages.
    Left,
}

/// The wanted lines of a text that is there as a whole.
pub(super) fn whole_text(name: &str, window: Window, args: &Args, numbers: LineNumbers) -> Result<ToolOutput, Failure> {
    let Some(seen) = window.finish(true) else { return failed(format!("`{name}` contains NUL characters")) };
    beyond_end(name, args, &seen)?;
    Ok(output(name, args, &seen, numbers))
}

/// The lines. What is not the whole says which part it is: above numbered lines, and below others.
pub(super) fn output(name: &str, args: &Args, seen: &WindowText, numbers: LineNumbers) -> ToolOutput {
    let WindowText { first_line, last_line, lines_total, .. } = seen;
    let wanted = args.limit.map_or(u64::MAX, |limit| limit.max(1));
    let is_short = last_line + 1 - first_line < wanted;
    let truncated = seen.is_cut_in_line || (is_short && seen.next_line().is_some());
    let text = match numbers {
        LineNumbers::Added if seen.text.is_empty() => format!("[`{name}` is empty]\n"),
        LineNumbers::Added if seen.is_whole() => seen.numbered(),
        LineNumbers::Added => format!("{}{}", place(seen), seen.numbered()),
        LineNumbers::Left if truncated => {
            let end = if seen.text.ends_with('\n') { "" } else { "\n" };
            format!("{}{end}{}", seen.text, place(seen))
        }
        LineNumbers::Left => seen.text.clone(),
    };
    let mut value = json!({
        "path": name,
        "start_line": first_line,
        "end_line": last_line,
        "lines_total": lines_total,
        "truncated": truncated,
    });
    if numbers == LineNumbers::Added && !seen.text.is_empty() {
        value["numbered"] = json!(true);
    }
    ToolOutput { text, value: Some(value), ..ToolOutput::default() }
}

/// A line that says which lines these are, and where to go on.
fn place(seen: &WindowText) -> String {
    let WindowText { first_line, last_line, .. } = seen;
    let of = seen.lines_total.map_or_else(String::new, |total| format!(" of {total}"));
    if seen.is_cut_in_line {
        return format!("[line {last_line}{of} is cut after {} bytes]\n", seen.text.len());
    }
    let next = seen.next_line().map_or_else(String::new, |next| format!("; go on with offset {next}"));
    format!("[lines {first_line}-{last_line}{of}{next}]\n")
}

/// Refuses a first line that the text does not have.
pub(super) fn beyond_end(name: &str, args: &Args, seen: &WindowText) -> Result<(), Failure> {
    let first = args.first();
    match seen.lines_total {
        Some(total) if total > 0 && first > total => {
            failed(format!("`{name}` has {total} lines; offset {first} is beyond its end"))
        }
        Some(_) | None => Ok(()),
    }
}
