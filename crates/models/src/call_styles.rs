//! Remembers how models call tools, as far as their answers have shown it: for each model of each server, in a small file.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ToolCallStyle;

/// How models call tools. Clones share it, and processes share the file.
#[derive(Clone, Debug, Default)]
pub struct CallStyles {
    file: Option<PathBuf>,
    known: Arc<Mutex<KnownStyles>>,
}

#[derive(Debug, Default)]
struct KnownStyles {
    styles: BTreeMap<String, ToolCallStyle>,
    /// Whether the file was read, or must not be.
    is_read: bool,
}

impl CallStyles {
    /// What the file says, which is read when first needed and written when something is learnt.
    pub fn at(file: impl Into<PathBuf>) -> Self {
        Self { file: Some(file.into()), known: Arc::default() }
    }

    /// The same file without what it says, so that it is found out again.
    #[must_use]
    pub fn afresh(&self) -> Self {
        let known = KnownStyles { is_read: true, ..KnownStyles::default() };
        Self { file: self.file.clone(), known: Arc::new(Mutex::new(known)) }
    }

    /// How a model calls tools, if that is known.
    pub fn of(&self, model: &str) -> Option<ToolCallStyle> {
        let mut known = self.lock();
        if !std::mem::replace(&mut known.is_read, true)
            && let Some(file) = &self.file
        {
            known.styles = read(file);
        }
        known.styles.get(model).copied()
    }

    /// Notes how a model calls tools. If the file cannot be written, only this process knows.
    pub fn learn(&self, model: &str, style: ToolCallStyle) {
        if self.of(model) == Some(style) {
            return;
        }
        self.lock().styles.insert(model.to_owned(), style);
        let Some(file) = &self.file else { return };
        let mut all = read(file);
        all.insert(model.to_owned(), style);
        if let Err(why) = write(file, &all) {
            tracing::warn!(file = %file.display(), %why, "how a model calls tools is not remembered");
        }
    }

    fn lock(&self) -> MutexGuard<'_, KnownStyles> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the file says. A file that is missing or unreadable says nothing: it is found out again.
fn read(file: &Path) -> BTreeMap<String, ToolCallStyle> {
    let words: BTreeMap<String, String> =
        fs::read(file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    words.into_iter().filter_map(|(model, word)| Some((model, ToolCallStyle::parse(&word)?))).collect()
}

/// Writes to a file beside it and renames that, so that no reader sees half of it.
fn write(file: &Path, styles: &BTreeMap<String, ToolCallStyle>) -> io::Result<()> {
    let words: BTreeMap<&String, &str> = styles.iter().map(|(model, style)| (model, style.word())).collect();
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = file.with_extension(format!("{}.new", std::process::id()));
    fs::write(&beside, serde_json::to_vec_pretty(&words)?)?;
    fs::rename(&beside, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_learnt_is_kept_and_can_be_learnt_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/tool-styles.json");
        let styles = CallStyles::at(&file);
        assert_eq!(styles.of("a"), None);
        styles.learn("a", ToolCallStyle::Text);
        styles.learn("b", ToolCallStyle::Native);
        assert_eq!(CallStyles::at(&file).of("a"), Some(ToolCallStyle::Text));

        let again = styles.afresh();
        assert_eq!(again.of("a"), None);
        again.learn("a", ToolCallStyle::Native);
        let next = CallStyles::at(&file);
        assert_eq!((next.of("a"), next.of("b")), (Some(ToolCallStyle::Native), Some(ToolCallStyle::Native)));

        fs::write(&file, "{ broken").unwrap();
        assert_eq!(CallStyles::at(&file).of("a"), None);
    }
}
