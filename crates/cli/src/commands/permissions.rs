//! `updraft permissions`: every rule and where it comes from; `forget` takes back what was allowed with "always".

use std::fmt::Write as _;

use serde_json::json;
use updraft_run::Rule;

use crate::args::{Permissions, PermissionsCommand};
use crate::fault::{Code, Fault, Outcome};
use crate::out::{self, Paint};
use crate::places::Places;
use crate::settings::{Remembered, Settings, Written};
use crate::wire;

pub(crate) fn run(places: &Places, args: &Permissions) -> Outcome {
    let workspace = wire::workspace(args.place.workspace.as_deref())?;
    if let Some(PermissionsCommand::Forget { rule }) = &args.command {
        if Remembered::remove(places, &workspace, rule)? {
            out::note(&format!("`{rule}` is asked about again in {}", workspace.display()));
            return Ok(Code::Done);
        }
        let known: Vec<String> = Remembered::load(places).rules(&workspace).iter().map(ToString::to_string).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let fault = Fault::usage(format!("`{rule}` was not allowed with \"always\" in {}", workspace.display()));
        return Err(if known.is_empty() {
            fault.hint("nothing was; rules in configuration files are removed there")
        } else {
            fault.hint(format!("there is {}", updraft_run::close_to(rule, &known)))
        });
    }
    let settings = Settings::load(places, &workspace, Written::default())?;
    let rows = rows(&settings);
    let mode = &settings.meant.approvals;
    if args.place.json {
        let first = json!({ "kind": "mode", "rule": mode.value.mode(), "origin": mode.from });
        let rules = rows.iter().map(|(kind, rule, from)| json!({ "kind": kind, "rule": rule, "origin": from }));
        let lines: String = std::iter::once(first).chain(rules).map(|row| row.to_string() + "\n").collect();
        out::print(&lines);
        return Ok(Code::Done);
    }
    let paint = Paint::for_stdout();
    let width = rows.iter().map(|(_, rule, _)| rule.chars().count()).max().unwrap_or_default().clamp(9, 60);
    let mut text = String::new();
    let mut line = |kind: &str, rule: &str, from: &str| {
        let rule = out::harmless(rule);
        let _ = writeln!(text, "{kind:5}  {rule:width$}  {}", paint.dim(&format!("# {from}")));
    };
    line("mode", mode.value.mode(), &mode.from);
    for (kind, rule, from) in &rows {
        line(kind, rule, from);
    }
    out::print(&text);
    if let Some(remark) = settings.remark() {
        out::note(&remark);
    }
    Ok(Code::Done)
}

/// The strictest first: what is denied, asked about, allowed.
fn rows(settings: &Settings) -> Vec<(&'static str, String, String)> {
    let meant = &settings.meant;
    let named = meant.deny.value.iter().map(|tool| ("deny", tool.clone(), meant.deny.from.clone()));
    let of = |kind: &'static str, rules: &[Rule]| -> Vec<_> {
        rules.iter().map(|rule| (kind, rule.to_string(), rule.from.clone())).collect()
    };
    let rules = [of("deny", &meant.rules.deny), of("ask", &meant.rules.ask), of("allow", &meant.rules.allow)];
    named.chain(rules.into_iter().flatten()).collect()
}
