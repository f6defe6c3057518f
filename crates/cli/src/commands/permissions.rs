//! `updraft permissions`: lists every rule with its origin, and the files that hold text from outside; `allow` and `forget`
//! add and remove a rule that holds in a workspace, `clear` removes the marks of files.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use updraft_workbench::permissions::{self, PermissionList, PermissionRule};
use updraft_workbench::{Fault, Flags};

use crate::args::{PermissionsArgs, PermissionsCommand};
use crate::fault::{CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::settings::WorkspaceSettings;

/// Most marked files that are shown to people.
const SHOWN: usize = 40;

pub(crate) fn run(folders: &AppFolders, args: &PermissionsArgs) -> CliResult {
    let workspace = folders::workspace(args.place.workspace.as_deref())?;
    match &args.command {
        Some(PermissionsCommand::Allow { rule }) => {
            let rule = permissions::allow(folders, &workspace, rule)?;
            out::note(&format!("`{rule}` is allowed from now on in {}", workspace.display()));
        }
        Some(PermissionsCommand::Forget { rule }) => {
            permissions::forget(folders, &workspace, rule)?;
            out::note(&format!("`{rule}` is asked about again in {}", workspace.display()));
        }
        Some(PermissionsCommand::Clear { files, .. }) => clear(folders, &workspace, files)?,
        None => {
            let settings = WorkspaceSettings::load(folders, &workspace, &Flags::default())?;
            let list = permissions::list(folders, &workspace, &settings)?;
            if args.place.json {
                out::print(&in_json(&list));
            } else {
                print(&list);
                if let Some(remark) = settings.notice() {
                    out::note(&remark);
                }
            }
        }
    }
    Ok(CliExitCode::Done)
}

fn in_json(PermissionList { mode, mode_from, rules, marked }: &PermissionList) -> String {
    let first = json!({ "kind": "mode", "rule": mode, "origin": mode_from });
    let rules = rules.iter().map(|row| json!({ "kind": row.kind, "rule": row.rule, "origin": row.from }));
    let words = marked
        .iter()
        .map(|marked| json!({ "kind": "words", "file": marked.path, "origins": marked.origins, "run": marked.run }));
    std::iter::once(first).chain(rules).chain(words).map(|row| row.to_string() + "\n").collect()
}

fn print(PermissionList { mode, mode_from, rules, marked }: &PermissionList) {
    let paint = Paint::for_stdout();
    let width = rules.iter().map(|row| row.rule.chars().count()).max().unwrap_or_default().clamp(9, 60);
    let mut text = String::new();
    let mut line = |kind: &str, rule: &str, from: &str| {
        let rule = out::on_one_line(rule);
        let _ = writeln!(text, "{kind:5}  {rule:width$}  {}", paint.dim(&format!("# {from}")));
    };
    line("mode", mode, mode_from);
    for PermissionRule { kind, rule, from } in rules {
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
}

/// Clears the marks of these files, or of all.
fn clear(folders: &AppFolders, workspace: &Path, files: &[String]) -> Result<(), Fault> {
    if files.is_empty() {
        let cleared = permissions::clear_all(folders, workspace)?;
        out::note(&format!("{cleared} marks cleared: the files of this workspace are trusted as your own"));
        return Ok(());
    }
    for file in files {
        permissions::clear(folders, workspace, file)?;
        out::note(&format!("`{}` is trusted as your own", out::on_one_line(file)));
    }
    Ok(())
}
