//! What agents may do in a workspace, as people look at it and change it: the mode, the rules and where they come from, and
//! the files with text from outside.

use std::path::Path;

use updraft_engine::MarkedFile;
use updraft_run::{Rule, close_to};

use crate::fault::Fault;
use crate::folders::AppFolders;
use crate::settings::{RememberedRules, WorkspaceSettings};
use crate::tools;

/// Everything that decides about calls.
#[derive(Clone, Debug)]
pub struct PermissionList {
    /// The mode: `read-only`, `workspace` or `full`.
    pub mode: &'static str,
    /// Where the mode comes from.
    pub mode_from: String,
    /// The rules, the strictest first.
    pub rules: Vec<PermissionRule>,
    /// Files that hold text from outside.
    pub marked: Vec<MarkedFile>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionRule {
    /// What it does: `deny`, `ask` or `allow`.
    pub kind: &'static str,
    /// The rule itself.
    pub rule: String,
    /// Where it comes from.
    pub from: String,
}

/// Lists what decides about calls in a workspace with these settings; rules that were allowed with "always" are read
/// anew. Blocks on the disk.
pub fn list(folders: &AppFolders, workspace: &Path, settings: &WorkspaceSettings) -> Result<PermissionList, Fault> {
    let meant = &settings.effective;
    let mut current = meant.rules.clone();
    RememberedRules::renew(&mut current, folders, workspace);
    let named = meant.deny.value.iter().map(|tool| PermissionRule {
        kind: "deny",
        rule: tool.clone(),
        from: meant.deny.from.clone(),
    });
    let of = |kind: &'static str, rules: &[Rule]| -> Vec<PermissionRule> {
        let row = |rule: &Rule| PermissionRule { kind, rule: rule.to_string(), from: rule.from.clone() };
        rules.iter().map(row).collect()
    };
    let rules = [of("deny", &current.deny), of("ask", &current.ask), of("allow", &current.allow)];
    let marked = tools::marks(folders).book(&workspace.display().to_string()).all()?;
    Ok(PermissionList {
        mode: meant.approvals.value.mode(),
        mode_from: meant.approvals.from.clone(),
        rules: named.chain(rules.into_iter().flatten()).collect(),
        marked,
    })
}

/// Allows what a rule says from now on in a workspace, as "always" does, and gives the rule as it is stored.
pub fn allow(folders: &AppFolders, workspace: &Path, rule: &str) -> Result<String, Fault> {
    let rule = RememberedRules::parse(rule)?;
    RememberedRules::add(folders, &workspace.display().to_string(), std::slice::from_ref(&rule))?;
    Ok(rule)
}

/// Removes a rule that was allowed with "always".
pub fn forget(folders: &AppFolders, workspace: &Path, rule: &str) -> Result<(), Fault> {
    if RememberedRules::remove(folders, workspace, rule)? {
        return Ok(());
    }
    let known: Vec<String> = RememberedRules::load(folders).rules(workspace).iter().map(ToString::to_string).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let fault = Fault::usage(format!("`{rule}` was not allowed with \"always\" in {}", workspace.display()));
    Err(if known.is_empty() {
        fault.hint("no rule was; remove rules in configuration files from those files")
    } else {
        fault.hint(format!("available: {}", close_to(rule, &known)))
    })
}

/// Trusts all marked files of a workspace as the user's own again, and gives the number of marks.
pub fn clear_all(folders: &AppFolders, workspace: &Path) -> Result<usize, Fault> {
    Ok(tools::marks(folders).book(&workspace.display().to_string()).clear(None)?)
}

/// Trusts a marked file or folder as the user's own again, and gives the number of marks.
pub fn clear(folders: &AppFolders, workspace: &Path, file: &str) -> Result<usize, Fault> {
    let book = tools::marks(folders).book(&workspace.display().to_string());
    let inside = Path::new(file).strip_prefix(workspace).ok().and_then(Path::to_str).unwrap_or(file);
    let plain = inside.trim_start_matches("./").trim_end_matches('/');
    let plain = if plain.is_empty() { "." } else { plain };
    let cleared = book.clear(Some(plain))?;
    if cleared > 0 {
        return Ok(cleared);
    }
    let known: Vec<String> = book.all()?.into_iter().map(|marked| marked.path).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let fault = Fault::usage(format!("`{file}` is not marked"));
    Err(match known.as_slice() {
        [] => fault.hint("no file of this workspace is marked"),
        known => fault.hint(format!("available: {}", close_to(plain, known))),
    })
}
