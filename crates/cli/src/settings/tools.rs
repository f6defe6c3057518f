//! Tools of the user's own: where they are dropped, and what runs them.

use serde::Deserialize;
use toml::Spanned;
use updraft_run::Millis;

use super::meant::{Sourced, Taking};
use super::written::time;
use crate::moment;

/// The table `[tools]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenTools {
    pub(super) folders: Option<Spanned<Vec<String>>>,
    python: Option<Spanned<String>>,
    #[serde(deserialize_with = "time")]
    time: Option<Spanned<Millis>>,
}

/// What is meant by it.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    /// Relative to the workspace, or whole paths.
    pub(crate) folders: Sourced<Vec<String>>,
    /// A name to be found on `PATH`, or a path that may be relative to the workspace; empty for that of agents' code.
    pub(crate) python: Sourced<String>,
    /// How long one call may take.
    pub(crate) time: Sourced<Millis>,
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            folders: Sourced::default_of(vec!["tools".into(), ".updraft/tools".into()]),
            python: Sourced::default_of(String::new()),
            time: Sourced::default_of(Millis(60_000)),
        }
    }
}

impl Tools {
    /// Takes over what a layer says.
    pub(super) fn take(&mut self, taking: &mut Taking<'_>, written: &WrittenTools) {
        taking.free("tools.folders", &mut self.folders, written.folders.as_ref());
        taking.free("tools.python", &mut self.python, written.python.as_ref());
        taking.ordered("tools.time", &mut self.time, written.time.as_ref(), |new, old| new <= old);
    }

    /// Every setting: name, value as TOML, where it came from.
    pub(super) fn list(&self) -> Vec<(String, String, String)> {
        vec![
            ("tools.folders".into(), format!("{:?}", self.folders.value), self.folders.from.clone()),
            ("tools.python".into(), format!("{:?}", self.python.value), self.python.from.clone()),
            ("tools.time".into(), format!("{:?}", moment::length(self.time.value)), self.time.from.clone()),
        ]
    }
}
