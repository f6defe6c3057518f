//! Paths inside the workspace, checked as text. Links, which the text does not show, are refused by the kernel when a
//! path is opened.

use std::borrow::Cow;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use crate::guarded_names::is_repository_name;
use updraft_run::{Failure, FailureKind};

/// The longest path that Linux accepts, in bytes.
const LONGEST: usize = 4095;

/// A path relative to the workspace, with `/`, without `.` and `..`. The workspace itself is `.`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspacePath(String);

impl WorkspacePath {
    /// The workspace itself.
    pub fn root() -> Self {
        Self(".".into())
    }

    /// Parses a path as a model wrote it.
    pub(super) fn parse(text: &str, roots: &[PathBuf]) -> Result<Self, Failure> {
        let refused = |kind, why: &str| {
            let shown = text.floor_char_boundary(200);
            let more = if shown < text.len() { "…" } else { "" };
            Err(Failure::new(kind, format!("`{}{more}` {why}", &text[..shown])))
        };
        if text.is_empty() {
            return refused(FailureKind::Validation, "is an empty path; use `.` for the workspace itself");
        }
        if text.len() > LONGEST || text.contains('\0') {
            return refused(FailureKind::Validation, "is not a path: it is too long or contains a NUL");
        }
        let path = Path::new(text);
        let relative = if path.is_absolute() {
            match roots.iter().find_map(|root| path.strip_prefix(root).ok()) {
                Some(relative) => relative,
                None => return refused(FailureKind::Security, "is outside the workspace; use a path relative to it"),
            }
        } else {
            path
        };
        let mut parts: Vec<&str> = Vec::new();
        for component in relative.components() {
            match component {
                // On Windows a colon names a stream of a file.
                Component::Normal(part) if cfg!(windows) && part.as_encoded_bytes().contains(&b':') => {
                    return refused(FailureKind::Security, "has a colon in a name, which leads past the file");
                }
                Component::Normal(part) => parts.extend(part.to_str()),
                Component::CurDir => {}
                Component::ParentDir if parts.pop().is_some() => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return refused(FailureKind::Security, "leaves the workspace; files are reached only inside it");
                }
            }
        }
        Ok(if parts.is_empty() { Self::root() } else { Self(parts.join("/")) })
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the workspace itself.
    pub fn is_root(&self) -> bool {
        self.0 == "."
    }

    /// The folder it is in and its name there; `None` for the workspace itself.
    pub fn split(&self) -> Option<(WorkspacePath, &str)> {
        if self.is_root() {
            return None;
        }
        Some(match self.0.rsplit_once('/') {
            Some((folder, name)) => (Self(folder.to_owned()), name),
            None => (Self::root(), &self.0),
        })
    }

    /// The path of `name` in this folder. The name comes from a directory listing, so it is one component and never
    /// `..`.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        if self.is_root() { Self(name.to_owned()) } else { Self(format!("{}/{name}", self.0)) }
    }

    /// The path made of these components.
    pub(super) fn from_parts<'a>(parts: impl Iterator<Item = &'a str>) -> Self {
        Self(parts.collect::<Vec<_>>().join("/"))
    }

    /// The path on one line: a line break in a name must not make it look like two paths.
    pub fn on_one_line(&self) -> Cow<'_, str> {
        on_one_line(&self.0)
    }

    /// Its components, from the outermost folder to the name.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|part| *part != ".")
    }

    /// Whether it is in a folder of git's own storage, in any spelling.
    pub fn is_in_git(&self) -> bool {
        self.split().is_some_and(|(folder, _)| folder.parts().any(is_repository_name))
    }
}

/// A path as text on one line.
pub fn on_one_line(path: &str) -> Cow<'_, str> {
    if !path.contains(char::is_control) {
        return Cow::Borrowed(path);
    }
    let escaped = path.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.into() });
    Cow::Owned(escaped.collect())
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
