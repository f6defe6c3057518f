//! Writes what a search found for a model: numbered passages, and the same as data.

use std::fmt::Write as _;

use updraft_run::ToolOutput;

use crate::workspace_index::{IndexAnswer, address_of, on_one_line};

/// The output of `retrieve`. Passages from outside the workspace are marked as such.
pub(super) fn output(found: &IndexAnswer, is_from_outside: impl Fn(&str) -> bool) -> ToolOutput {
    let passages = &found.answer.passages;
    let mut text = String::new();
    for (n, passage) in (1..).zip(passages) {
        let _ = write!(text, "[{n}] {}", address_of(passage));
        if !passage.trail.is_empty() {
            let _ = write!(text, " ({})", on_one_line(&passage.trail.join(" › ")));
        }
        let _ = write!(text, "\n{}\n\n", passage.text.trim_end());
    }
    if passages.is_empty() {
        text.push_str("[nothing found]\n");
    }
    for remark in found.remarks() {
        let _ = writeln!(text, "[{remark}]");
    }
    let mut origins: Vec<String> =
        passages.iter().map(|passage| passage.path.clone()).filter(|path| is_from_outside(path)).collect();
    origins.sort();
    origins.dedup();
    let value = Some(found.to_json());
    ToolOutput { text, value, untrusted: !origins.is_empty(), origins, ..ToolOutput::default() }
}
