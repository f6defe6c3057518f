//! What a file says that may be code: the words in it that could name other files, and the paths that a script takes.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;
use std::path::Path;
use std::rc::Rc;

use updraft_mcp::config::program_of;

use super::families::{CODE, COMPILED, SHELL, TAKEN_BY};
use crate::plain::LARGEST_SETTINGS;

/// Bytes of a file's name, and of a path.
const LONGEST_NAME: usize = 255;
const LONGEST_PATH: usize = 4_096;
/// Bytes that tell what a file is.
const HEAD: usize = 8 << 10;

/// What became of a file.
#[derive(Clone)]
pub(super) enum Reading {
    Code(Rc<Code>),
    /// It names nothing: a program of the machine, data, or not to be read by anyone.
    Data,
    /// It is code, and too much.
    TooLong,
}

pub(super) struct Code {
    /// Bytes that it has.
    pub(super) length: usize,
    /// What could be names, in order, by their keys: a wrong match only adds a file.
    pub(super) words: Vec<u64>,
    /// What a script takes by its path.
    pub(super) takes: BTreeSet<String>,
}

/// Reads a file of at most so many bytes, in whatever encoding: the names in it are plain in most.
pub(super) fn read(path: &Path, most: usize) -> Reading {
    let Ok(file) = updraft_tools::open_plain(path) else { return Reading::Data };
    let Ok(about) = file.metadata() else { return Reading::Data };
    if !about.is_file() || is_of(path, &COMPILED) {
        return Reading::Data;
    }
    let mut bytes = Vec::new();
    let mut file = file.take(most as u64 + 1);
    if file.by_ref().take(HEAD as u64).read_to_end(&mut bytes).is_err() {
        return Reading::Data;
    }
    let is_script = bytes.starts_with(b"#!") || is_of(path, &CODE) || (is_of(path, &SHELL) && !is_of(path, &["json"]));
    let is_long_data = path.extension().is_some() && about.len() > LARGEST_SETTINGS;
    if !is_script && (is_long_data || (bytes.contains(&0) && utf_16(&bytes).is_none())) {
        return Reading::Data;
    }
    if file.read_to_end(&mut bytes).is_err() {
        return Reading::Data;
    }
    if bytes.len() > most {
        return Reading::TooLong;
    }
    let text = utf_16(&bytes).unwrap_or_else(|| String::from_utf8_lossy(&bytes).into_owned());
    let takes = if is_of(path, &SHELL) || path.extension().is_none() { taken_by(&text) } else { BTreeSet::new() };
    Reading::Code(Rc::new(Code { length: bytes.len(), words: words(&text), takes }))
}

/// The text, if the bytes say that they are UTF-16.
fn utf_16(bytes: &[u8]) -> Option<String> {
    let read: fn([u8; 2]) -> u16 = match bytes.get(..2)? {
        [0xff, 0xfe] => u16::from_le_bytes,
        [0xfe, 0xff] => u16::from_be_bytes,
        _ => return None,
    };
    let units = bytes[2..].chunks_exact(2).map(|pair| read([pair[0], pair[1]]));
    Some(char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

/// What stands behind a word that takes or starts a file.
fn taken_by(text: &str) -> BTreeSet<String> {
    let mut parts = text.split(|c: char| c.is_whitespace() || "'\";()|&<>".contains(c));
    let mut before = parts.next().unwrap_or_default();
    let mut taken = BTreeSet::new();
    for part in parts {
        if !part.is_empty() && part.len() <= LONGEST_PATH && TAKEN_BY.contains(&program_of(before)) {
            taken.insert(part.to_owned());
        }
        before = part;
    }
    taken
}

/// The words of a text that could be names of files, by their keys.
pub(super) fn words(text: &str) -> Vec<u64> {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let mut keys: Vec<u64> = Vec::new();
    let mut add = |word: &str| {
        if !word.is_empty() && word.len() <= LONGEST_NAME {
            keys.push(key(word));
        }
    };
    text.split(|c: char| !is_letter(c)).for_each(&mut add);
    // What is no UTF-8 may stand in a name or beside one.
    if text.contains(char::REPLACEMENT_CHARACTER) {
        text.split(|c: char| !is_letter(c) && c != char::REPLACEMENT_CHARACTER).for_each(&mut add);
    }
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// What a name is told apart by.
pub(super) fn key(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// What a file may be named by: its name up to the first dot, that of a module whichever form it has, and up to the last.
pub(super) fn names_of(path: &Path) -> BTreeSet<u64> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let first = name.trim_start_matches('.').split('.').next().unwrap_or_default();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    BTreeSet::from([key(first), key(&stem)])
}

pub(super) fn is_of(path: &Path, endings: &[&str]) -> bool {
    path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| endings.contains(&ending))
}

#[cfg(unix)]
fn is_executable(about: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    about.permissions().mode() & 0o111 != 0
}

/// Nothing says so here. Untested.
#[cfg(not(unix))]
fn is_executable(_about: &Metadata) -> bool {
    true
}

pub(super) fn is_code(path: &Path, about: &Metadata) -> bool {
    match path.extension() {
        Some(_) => is_of(path, &CODE) || path.file_name().is_some_and(|name| name == "package.json"),
        None => is_executable(about),
    }
}
