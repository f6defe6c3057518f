//! `updraft permissions`: lists every rule with its origin, and the files that hold text from outside; `forget` removes
//! a rule that was allowed with "always", `clear` removes the marks of files.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use updraft_engine::WorkspaceMarks;
use updraft_run::Rule;
use updraft_workbench::Flags;

use crate::args::{PermissionsArgs, PermissionsCommand};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::settings::{RememberedRules, WorkspaceSettings};
use crate::tools;

/// Most marked files that are shown to people.
const SHOWN: usize = 40;

pub(crate) fn run(folders: &AppFolders, args: &PermissionsArgs) -> CliResult {
    let workspace = folders::workspace(args.place.workspace.as_deref())?;
    if let Some(PermissionsCommand::Forget { rule }) = &args.command {
        if RememberedRules::remove(folders, &workspace, rule)? {
            out::note(&format!("`{rule}` is asked about again in {}", workspace.display()));
            return Ok(CliExitCode::Done);
        }
        let known: Vec<String> =
            RememberedRules::load(folders).rules(&workspace).iter().map(ToString::to_string).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let fault = CliError::usage(format!("`{rule}` was not allowed with \"always\" in {}", workspace.display()));
        return Err(if known.is_empty() {
            fault.hint("no rule was; remove rules in configuration files from those files")
        } else {
            fault.hint(format!("there is {}", updraft_run::close_to(rule, &known)))
        });
    }
    let book = tools::marks(folders).book(&workspace.display().to_string());
    if let Some(PermissionsCommand::Clear { files, .. }) = &args.command {
        return clear(&book, &workspace, files);
    }
    let settings = WorkspaceSettings::load(folders, &workspace, &Flags::default())?;
    let marked = book.all()?;
    let rows = rows(&settings);
    let mode = &settings.effective.approvals;
    if args.place.json {
        let first = json!({ "kind": "mode", "rule": mode.value.mode(), "origin": mode.from });
        let rules = rows.iter().map(|(kind, rule, from)| json!({ "kind": kind, "rule": rule, "origin": from }));
        let words = marked.iter().map(
            |marked| json!({ "kind": "words", "file": marked.path, "origins": marked.origins, "run": marked.run }),
        );
        let lines: String =
            std::iter::once(first).chain(rules).chain(words).map(|row| row.to_string() + "\n").collect();
        out::print(&lines);
        return Ok(CliExitCode::Done);
    }
    let paint = Paint::for_stdout();
    let width = rows.iter().map(|(_, rule, _)| rule.chars().count()).max().unwrap_or_default().clamp(9, 60);
    let mut text = String::new();
    let mut line = |kind: &str, rule: &str, from: &str| {
        let rule = out::on_one_line(rule);
        let _ = writeln!(text, "{kind:5}  {rule:width$}  {}", paint.dim(&format!("# {from}")));
    };
    line("mode", mode.value.mode(), &mode.from);
    for (kind, rule, from) in &rows {
        line(kind, rule, from);
    }
    for marked in marked.iter().take(SHOWN) {
        let from = format!("from {} (run {})", marked.origins.in_words(), marked.run);
        line("words", &marked.path, &out::on_one_line(&from));
    }
    out::print(&text);
    if marked.len() > SHOWN {
        out::note(&format!("{} more files contain text from outside; `--json` lists them", marked.len() - SHOWN));
    }
    if let Some(remark) = settings.notice() {
        out::note(&remark);
    }
    Ok(CliExitCode::Done)
}

/// Clears the marks of these files, or of all.
fn clear(book: &WorkspaceMarks, workspace: &Path, files: &[String]) -> CliResult {
    if files.is_empty() {
        let cleared = book.clear(None)?;
        out::note(&format!("{cleared} marks cleared: the files of this workspace are trusted as your own"));
        return Ok(CliExitCode::Done);
    }
    for file in files {
        let inside = Path::new(file).strip_prefix(workspace).ok().and_then(Path::to_str).unwrap_or(file);
        let plain = inside.trim_start_matches("./").trim_end_matches('/');
        let plain = if plain.is_empty() { "." } else { plain };
        if book.clear(Some(plain))? == 0 {
            let known: Vec<String> = book.all()?.into_iter().map(|marked| marked.path).collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let fault = CliError::usage(format!("`{file}` is not marked"));
            return Err(match known.as_slice() {
                [] => fault.hint("no file of this workspace is marked"),
                known => fault.hint(format!("there is {}", updraft_run::close_to(plain, known))),
            });
        }
        out::note(&format!("`{}` is trusted as your own", out::on_one_line(file)));
    }
    Ok(CliExitCode::Done)
}

/// The rules, the strictest first: denied, asked about, allowed.
fn rows(settings: &WorkspaceSettings) -> Vec<(&'static str, String, String)> {
    let meant = &settings.effective;
    let named = meant.deny.value.iter().map(|tool| ("deny", tool.clone(), meant.deny.from.clone()));
    let of = |kind: &'static str, rules: &[Rule]| -> Vec<_> {
        rules.iter().map(|rule| (kind, rule.to_string(), rule.from.clone())).collect()
    };
    let rules = [of("deny", &meant.rules.deny), of("ask", &meant.rules.ask), of("allow", &meant.rules.allow)];
    named.chain(rules.into_iter().flatten()).collect()
}
