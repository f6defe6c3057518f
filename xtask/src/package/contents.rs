//! What is packaged beside the program: manual pages, completions, units, the licence, a sample of `.env`.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::VERSION;
use super::binary::Target;
use super::options::PackageOptions;
use crate::tree;

/// The shells we ship completions for, with the file names that the shells look for.
const SHELLS: [(&str, &str); 3] = [("bash", "updraft.bash"), ("zsh", "_updraft"), ("fish", "updraft.fish")];

/// A file name and what is in the file.
type NamedBytes = (String, Rc<[u8]>);

/// Everything that goes into packages.
#[derive(Debug)]
pub(super) struct PackageContents {
    pub(super) target: Target,
    pub(super) binary: Rc<[u8]>,
    /// File names and pages, sorted: `updraft-run.1`.
    pub(super) manuals: Vec<NamedBytes>,
    /// File names and scripts.
    pub(super) completions: Vec<(&'static str, Rc<[u8]>)>,
    root: PathBuf,
}

impl PackageContents {
    /// Reads the program, and has it print the rest.
    pub(super) fn gather(root: &Path, options: &PackageOptions) -> Result<Self, String> {
        let binary = bytes_of(&options.binary)?;
        let target = Target::of(&binary)?;
        let speaker = options.speaker.canonicalize().map_err(|error| cannot_read(&options.speaker, &error))?;
        let speak = |arguments: &[&str]| {
            tree::output(root, &speaker.to_string_lossy(), arguments)
                .map_err(|why| format!("{why}\nIf it cannot be started here, name one that can be with --manual-from"))
        };
        let version = speak(&["--version"])?;
        if version.trim() != format!("updraft {VERSION}") {
            return Err(format!(
                "the program is `{}`, and the packages would be {VERSION}; build it again",
                version.trim()
            ));
        }
        let pages = options.out.join(".manual-pages");
        fs::create_dir_all(&pages).map_err(|error| format!("could not make {}: {error}", pages.display()))?;
        let pages = pages.canonicalize().map_err(|error| cannot_read(&pages, &error))?;
        let manuals = speak(&["man", "--out", &pages.to_string_lossy()]).map(|_| ()).and_then(|()| manuals_in(&pages));
        let _ = fs::remove_dir_all(&pages);
        let mut completions = Vec::new();
        for (shell, name) in SHELLS {
            completions.push((name, speak(&["completions", shell])?.into_bytes().into()));
        }
        Ok(Self { target, binary, manuals: manuals?, completions, root: root.to_owned() })
    }

    /// A file of the repository.
    pub(super) fn own(&self, path: &str) -> Result<Rc<[u8]>, String> {
        bytes_of(&self.root.join(path))
    }
}

fn manuals_in(folder: &Path) -> Result<Vec<NamedBytes>, String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| cannot_read(folder, &error))? {
        let entry = entry.map_err(|error| cannot_read(folder, &error))?;
        found.push((entry.file_name().to_string_lossy().into_owned(), bytes_of(&entry.path())?));
    }
    found.sort();
    Ok(found)
}

fn bytes_of(path: &Path) -> Result<Rc<[u8]>, String> {
    fs::read(path).map(Rc::from).map_err(|error| cannot_read(path, &error))
}

fn cannot_read(path: &Path, error: &std::io::Error) -> String {
    format!("could not read {}: {error}", path.display())
}
