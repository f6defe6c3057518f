//! `updraft show --context`: lists what agents were told besides their tasks, why, and about how many tokens it took.

use serde_json::json;
use updraft_engine::ContextPart;

use crate::out::{self, Paint};

pub(super) fn print(parts: &[ContextPart], is_json: bool) {
    if is_json {
        for part in parts {
            let ContextPart { kind, name, why, step, tokens } = part;
            out::json(&json!({ "kind": kind, "name": name, "why": why, "step": step, "tokens": tokens }));
        }
        return;
    }
    let paint = Paint::for_stdout();
    let width = parts.iter().map(|part| part.name.chars().count()).max().unwrap_or_default().clamp(4, 50);
    for part in parts {
        let name = out::short(&out::on_one_line(&part.name), 50);
        let step = part.step.as_deref().map(|step| format!("{step}: ")).unwrap_or_default();
        let why = out::on_one_line(&format!("{step}{}", part.why));
        out::line(&format!("{:8}  {name:width$}  {:>6} tokens  {}", part.kind, part.tokens, paint.dim(&why)));
    }
    let sum: u64 = parts.iter().map(|part| part.tokens).sum();
    out::line(&format!("about {sum} tokens in all; `updraft show --prompts` shows every prompt, word for word"));
}
