//! What agents are told once of time, system and repository, when a run begins.

use std::path::Path;
use std::time::Duration;

use updraft_engine::{GitState, Whereabouts};
use updraft_sandbox::{CaptureOptions, Command, OutputMode, SandboxLevel};

use crate::confinement;
use crate::folders::AppFolders;
use crate::settings::WorkspaceSettings;

/// How long git may look. In a repository where it takes longer, nothing is said of it.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of git's answer that are counted.
const MOST: usize = 1 << 20;

/// The state of things now.
pub(crate) async fn look(folders: &AppFolders, workspace: &Path, settings: &WorkspaceSettings) -> Whereabouts {
    Whereabouts {
        date: jiff::Zoned::now().strftime("%Y-%m-%d").to_string(),
        system: system(),
        git: git(folders, workspace, settings).await,
    }
}

/// The operating system and the processor.
fn system() -> String {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let name = name.map_or(std::env::consts::OS, |name| name.trim_matches('"'));
    format!("{name}, {}", std::env::consts::ARCH)
}

/// The state of the workspace's repository, if it has one of its own. git runs in the sandbox and can change nothing: the
/// settings of a repository name programs for it to start.
async fn git(folders: &AppFolders, workspace: &Path, settings: &WorkspaceSettings) -> Option<GitState> {
    if !workspace.join(".git").exists() {
        return None;
    }
    let confinement = confinement::confinement(folders, settings);
    // Without a sandbox, git could start what the repository's settings name.
    if confinement.level == Some(SandboxLevel::None) {
        return None;
    }
    let sandbox = confinement.sandbox().await.ok()?;
    let empty = tempfile::tempdir().ok()?;
    let mut policy = confinement.policy_for_looking(workspace, empty.path());
    policy.limits.time = Some(PATIENCE);
    let words = ["--no-optional-locks", "-c", "core.fsmonitor=false", "status", "--porcelain=v1", "--branch", "-z"];
    let command = Command {
        args: words.map(str::to_owned).to_vec(),
        env: confinement.environment.clone(),
        cwd: Some(workspace.to_owned()),
        output: OutputMode::Capture(CaptureOptions { head: MOST, ..CaptureOptions::default() }),
        ..Command::new("git")
    };
    let ended = sandbox.run(&policy, command, &[]).await.ok()?;
    let is_trusted = settings.is_still_trusted(folders, workspace);
    ended.succeeded().then(|| state(&ended.stdout.text(), is_trusted))
}

/// What `git status --porcelain=v1 --branch -z` says. Its fields end with a zero byte; a renamed file has two.
fn state(said: &str, is_trusted: bool) -> GitState {
    let mut state = GitState::default();
    let mut fields = said.split('\0').filter(|field| !field.is_empty());
    while let Some(field) = fields.next() {
        match field.get(..2) {
            Some("##") => {
                let branch = field[2..].trim_start().trim_start_matches("No commits yet on ");
                let branch = branch.split("...").next().unwrap_or_default();
                state.branch = (is_trusted && !branch.starts_with("HEAD (")).then(|| branch.to_owned());
            }
            Some("??") => state.untracked += 1,
            Some(status) => {
                state.changed += 1;
                if status.contains(['R', 'C']) {
                    fields.next();
                }
            }
            None => {}
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_and_new_files_are_counted_and_the_branch_is_named_where_the_folder_is_trusted() {
        let said = "## fix/a...origin/fix/a [ahead 1]\0 M a\0R  new name\0old name\0?? b\0?? c\0";
        let branch = Some("fix/a".to_owned());
        assert_eq!(state(said, true), GitState { branch, changed: 2, untracked: 2 });
        assert_eq!(state(said, false), GitState { branch: None, changed: 2, untracked: 2 });
        assert_eq!(state("## No commits yet on main\0", true).branch.as_deref(), Some("main"));
        assert_eq!(state("## HEAD (no branch)\0", true), GitState::default());
    }
}
