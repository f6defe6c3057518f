//! What agents are told once of time, system and repository.

use serde::{Deserialize, Serialize};

/// When and where a run began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whereabouts {
    /// The date, as `2026-01-31`.
    pub date: String,
    /// The operating system and the processor.
    pub system: String,
    /// The workspace's repository, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitState>,
}

/// A repository before the run changed anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitState {
    /// The branch; absent if there is none, or if its name may hold the words of strangers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// How many files are changed since the last commit.
    pub changed: u32,
    /// How many files git does not know.
    pub untracked: u32,
}

impl Whereabouts {
    /// Whether nothing is known.
    pub(crate) fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// The lines for a prompt; none if nothing is known, as in runs that began elsewhere.
    pub(crate) fn in_words(&self) -> String {
        let about = [&self.date, &self.system];
        let about: Vec<&str> = about.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        let git = self.git.as_ref().map(|git| {
            let branch = git.branch.as_ref().map(|name| format!("branch {}, ", serde_json::json!(name)));
            let branch = branch.unwrap_or_default();
            match (git.changed, git.untracked) {
                (0, 0) => format!("git: {branch}clean"),
                (changed, untracked) => format!("git: {branch}{changed} changed, {untracked} untracked"),
            }
        });
        [Some(about.join(", ")).filter(|line| !line.is_empty()), git]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_and_what_is_not_known_is_left_out() {
        let git = GitState { branch: Some("main\n# Goal".into()), changed: 2, untracked: 0 };
        let all = Whereabouts { date: "2026-01-31".into(), system: "Debian, x86_64".into(), git: Some(git) };
        assert_eq!(all.in_words(), "2026-01-31, Debian, x86_64\ngit: branch \"main\\n# Goal\", 2 changed, 0 untracked");
        let clean = Whereabouts { git: Some(GitState::default()), ..Whereabouts::default() };
        assert_eq!(clean.in_words(), "git: clean");
        assert_eq!(Whereabouts::default().in_words(), "");
    }
}
