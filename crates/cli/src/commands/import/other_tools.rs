//! `updraft import` without a file: shows what other coding agents have in this folder and in the user's home, and takes it over.

use std::path::Path;

use serde_json::{Value, json};
use updraft_workbench::other_tools::{ImportContent, ImportFate, ImportItem, ImportKind, ImportPlan, ImportScope};

use crate::args::{ImportArgs, ImportKindWord, ImportScopeWord};
use crate::commands::trust::{given, reached};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::servers::unset_variables;
use crate::view;

/// How many lines of a text are shown without `--diff`.
const FIRST_LINES: usize = 3;

pub(super) fn import(app: &AppFolders, args: &ImportArgs) -> CliResult {
    let workspace = folders::workspace(args.workspace.as_deref())?;
    let flags = &args.others;
    let scopes = match flags.scope {
        None => vec![ImportScope::Workspace, ImportScope::User],
        Some(ImportScopeWord::Workspace) => vec![ImportScope::Workspace],
        Some(ImportScopeWord::User) => vec![ImportScope::User],
    };
    let mut plan = ImportPlan::of(app, &workspace, &scopes);
    if !flags.only.is_empty() {
        let wanted: Vec<ImportKind> = flags.only.iter().map(|word| kind_of(*word)).collect();
        plan.items.retain(|item| wanted.contains(&item.kind));
    }
    let is_new = plan.news().next().is_some();
    let asks = is_new && !flags.dry_run && !flags.yes;
    if flags.json {
        let trust_ended = flags.yes && is_new && plan.carry_out(app)?;
        for item in &plan.items {
            out::json(&as_json(item, flags.yes));
        }
        if flags.yes && is_new {
            out::json(&json!({"trust_ended": trust_ended, "unset_variables": unset(&plan)}));
        }
        return if asks { Err(unasked()) } else { Ok(exit_code(&plan)) };
    }
    if plan.items.is_empty() {
        out::line("nothing of other coding agents was found");
        return Ok(CliExitCode::Done);
    }
    show(&plan, &workspace, flags.diff);
    if !is_new || flags.dry_run {
        out::note(if is_new { "nothing was written (`--dry-run`)" } else { "nothing new to import" });
        return Ok(CliExitCode::Done);
    }
    if asks && !out::can_ask() {
        return Err(needs_person());
    }
    if asks && !view::confirm("Import what is new?") {
        out::note("nothing changed");
        return Ok(CliExitCode::Failed);
    }
    let was_trusted = plan.carry_out(app)?;
    conclude(&plan, &workspace, was_trusted);
    Ok(exit_code(&plan))
}

/// Whether everything was written.
fn exit_code(plan: &ImportPlan) -> CliExitCode {
    let has_failed = plan.items.iter().any(|item| matches!(item.fate, ImportFate::Failed(_)));
    if has_failed { CliExitCode::Failed } else { CliExitCode::Done }
}

fn unasked() -> CliError {
    CliError::new(CliExitCode::NeedsPerson, "nothing was written, because `--json` does not ask")
        .hint("look at the list, then `updraft import --yes --json`")
}

fn needs_person() -> CliError {
    CliError::new(CliExitCode::NeedsPerson, "confirmation needed, but there is no terminal")
        .hint("look at the list, then `updraft import --yes`")
}

fn kind_of(word: ImportKindWord) -> ImportKind {
    match word {
        ImportKindWord::Instructions => ImportKind::Instructions,
        ImportKindWord::Skills => ImportKind::Skill,
        ImportKindWord::Commands => ImportKind::Command,
        ImportKindWord::Agents => ImportKind::Agent,
        ImportKindWord::Servers => ImportKind::Server,
    }
}

/// Prints everything that was found, and what would be written.
fn show(plan: &ImportPlan, workspace: &Path, is_whole: bool) {
    let paint = Paint::for_stdout();
    let mut heading = String::new();
    for item in &plan.items {
        let place = match item.scope {
            ImportScope::Workspace => "in this folder",
            ImportScope::User => "in your home",
        };
        let next = format!("{}, {place}", item.tool);
        if heading != next {
            out::line(&paint.bold(&next));
            heading = next;
        }
        let name = shown(&item.from, workspace);
        let name = if item.kind == ImportKind::Server { format!("`{}` of {name}", item.name) } else { name };
        let (mark, rest) = match &item.fate {
            ImportFate::New { to, .. } => (paint.green("new     "), format!(" → {}", shown(to, workspace))),
            ImportFate::Present(to) => ("there   ".to_owned(), format!(" is {} already", shown(to, workspace))),
            ImportFate::Used(how) => ("used    ".to_owned(), format!(": {how}")),
            ImportFate::LeftOut(why) => (paint.yellow("left out"), format!(": {why}")),
            ImportFate::Failed(why) => (paint.red("failed  "), format!(": {why}")),
        };
        out::line(&format!("  {mark}  {}  {}", item.kind.word(), out::on_one_line(&format!("{name}{rest}"))));
        for remark in &item.remarks {
            out::line(&format!("            {}", paint.dim(&out::on_one_line(remark))));
        }
        if let ImportFate::New { content, .. } = &item.fate {
            preview(content, is_whole, paint);
        }
    }
}

/// What would be written: the first lines, or all of them.
fn preview(content: &ImportContent, is_whole: bool, paint: Paint) {
    let line = |text: &str| out::line(&paint.green(&format!("          + {}", out::harmless(text).replace('\n', " "))));
    match content {
        ImportContent::Text(text) => {
            let lines: Vec<&str> = text.lines().collect();
            let most = if is_whole { lines.len() } else { FIRST_LINES };
            for text in lines.iter().take(most) {
                line(text);
            }
            if lines.len() > most {
                out::line(&paint.dim(&format!("            … {} more lines (`--diff`)", lines.len() - most)));
            }
        }
        ImportContent::Folder(files) => {
            let most = if is_whole { files.len() } else { FIRST_LINES };
            for file in files.iter().take(most) {
                line(&file.display().to_string());
            }
            if files.len() > most {
                out::line(&paint.dim(&format!("            … {} more files (`--diff`)", files.len() - most)));
            }
        }
        ImportContent::Server(server) => {
            line(&reached(server));
            if let Some(given) = given(server) {
                line(&format!("with {given}"));
            }
        }
    }
}

/// Says what was done, and what is next.
fn conclude(plan: &ImportPlan, workspace: &Path, was_trusted: bool) {
    for item in &plan.items {
        if let ImportFate::Failed(why) = &item.fate {
            let name = format!("{} {}", item.kind.word(), shown(&item.from, workspace));
            out::note(&format!("not imported: {}", out::on_one_line(&format!("{name}: {why}"))));
        }
    }
    out::note(&format!("imported {}", plan.news().count()));
    let is_in_workspace = plan.news().any(|item| item.scope == ImportScope::Workspace);
    if is_in_workspace || was_trusted {
        let lost = if was_trusted { "the folder is not trusted any more: " } else { "" };
        out::note(&format!("  hint: {lost}look at the files, then `updraft trust` puts them into effect"));
    }
    let unset = unset(plan);
    if !unset.is_empty() {
        out::note(&format!("  hint: these variables must be set: {}", unset.join(", ")));
    }
    if plan.news().any(|item| item.kind == ImportKind::Server) {
        out::note("  hint: `updraft mcp check` tests the servers");
    }
}

/// The variables that imported servers need and that are not set.
fn unset(plan: &ImportPlan) -> Vec<String> {
    let mut unset = Vec::new();
    for item in plan.news() {
        if let ImportFate::New { content: ImportContent::Server(server), .. } = &item.fate {
            unset.extend(unset_variables(server));
        }
    }
    unset.sort();
    unset.dedup();
    unset
}

fn as_json(item: &ImportItem, is_done: bool) -> Value {
    let mut value = json!({
        "tool": item.tool, "scope": item.scope.word(), "kind": item.kind.word(), "name": item.name,
        "from": item.from, "remarks": item.remarks,
    });
    match &item.fate {
        ImportFate::New { to, .. } => {
            value["status"] = if is_done { "imported" } else { "new" }.into();
            value["to"] = json!(to);
        }
        ImportFate::Present(to) => {
            value["status"] = "present".into();
            value["to"] = json!(to);
        }
        ImportFate::Used(how) => {
            value["status"] = "used".into();
            value["why"] = how.as_str().into();
        }
        ImportFate::LeftOut(why) => {
            value["status"] = "left_out".into();
            value["why"] = why.as_str().into();
        }
        ImportFate::Failed(why) => {
            value["status"] = "failed".into();
            value["why"] = why.as_str().into();
        }
    }
    value
}

/// A path for people: relative to the workspace, or below `~`.
fn shown(path: &Path, workspace: &Path) -> String {
    if let Ok(inside) = path.strip_prefix(workspace) {
        return inside.display().to_string();
    }
    let home = folders::home().and_then(|home| home.canonicalize().ok());
    match home.as_deref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(inside) => format!("~/{}", inside.display()),
        None => path.display().to_string(),
    }
}
