//! One side of a change: what was or is at a path.

use serde::{Deserialize, Serialize};
use updraft_run::{Change, Form, FormKind, Hash};
use updraft_tools::Standing;

/// What was or is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// What it is, besides its content.
    pub form: Form,
    /// Hash of its content, if that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<Hash>,
}

impl Side {
    /// What was there before a change.
    pub(crate) fn before(change: &Change) -> Option<Side> {
        Self::of(change.was, change.before)
    }

    /// What was there after it.
    pub(crate) fn after(change: &Change) -> Option<Side> {
        Self::of(change.now, change.after)
    }

    /// Older journals tell the hash of a file and nothing else.
    fn of(form: Option<Form>, hash: Option<Hash>) -> Option<Side> {
        let usual = Form { kind: FormKind::File, mode: 0o644, len: 0, modified: None };
        form.or_else(|| hash.map(|_| usual)).map(|form| Side { form, hash })
    }

    /// What is there now.
    pub(crate) fn now(standing: &Standing) -> Side {
        Side { form: standing.form(), hash: standing.hash }
    }
}

/// Whether two sides are the same thing with the same content. Modes are looked at on their own.
pub(crate) fn is_same(one: Option<&Side>, other: Option<&Side>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return one.is_none() && other.is_none() };
    if one.form.kind != other.form.kind {
        return false;
    }
    match (one.form.kind, one.hash, other.hash) {
        (FormKind::File | FormKind::Link, Some(one), Some(other)) => one == other,
        (FormKind::File | FormKind::Link, _, _) => {
            one.form.modified.is_some() && (one.form.len, one.form.modified) == (other.form.len, other.form.modified)
        }
        (_, _, _) => true,
    }
}
