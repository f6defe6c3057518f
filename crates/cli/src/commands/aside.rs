//! `updraft aside`: files that agents' commands wrote, that other programs would run later, and that were moved away.

#[cfg_attr(not(target_os = "linux"), path = "aside/unsupported.rs")]
mod restore;

use std::io;
use std::path::{Path, PathBuf};

use updraft_tools::{MOVED, MovedFileRecord};

use crate::args::{AsideArgs, AsideCommand};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::out;

/// A file that was moved aside, and its name for people.
pub(crate) struct AsideEntry {
    pub(crate) name: String,
    pub(crate) at: PathBuf,
    pub(crate) moved: MovedFileRecord,
}

pub(crate) fn run(folders: &AppFolders, args: &AsideArgs) -> CliResult {
    match args.command.as_ref().unwrap_or(&AsideCommand::List { json: false }) {
        AsideCommand::List { json } => {
            list(&kept(folders), *json);
            Ok(CliExitCode::Done)
        }
        AsideCommand::Restore { name } => restore(&find(folders, name)?),
        AsideCommand::Drop { name } => {
            let one = find(folders, name)?;
            remove(&one.at).map_err(|error| CliError::file("remove", &one.at, &error))?;
            out::note(&format!("{} is deleted", shown(&one.moved.path)));
            Ok(CliExitCode::Done)
        }
    }
}

/// All files that are still kept, in order of name.
pub(crate) fn kept(folders: &AppFolders) -> Vec<AsideEntry> {
    let mut all = Vec::new();
    for folder in std::fs::read_dir(folders.aside()).into_iter().flatten().flatten() {
        let Ok(text) = crate::untrusted::read_text(&folder.path().join(MOVED)) else { continue };
        let of_one = folder.file_name().to_string_lossy().trim_start_matches("updraft-aside-").to_owned();
        let moved: Vec<MovedFileRecord> = serde_json::from_str(&text).unwrap_or_default();
        for moved in moved {
            let at = folder.path().join(&moved.kept);
            // A record that points elsewhere is not ours.
            let is_plain = Path::new(&moved.kept).components().count() == 1;
            if is_plain && at.symlink_metadata().is_ok() {
                all.push(AsideEntry { name: format!("{of_one}/{}", moved.kept), at, moved });
            }
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn list(all: &[AsideEntry], as_json: bool) {
    for AsideEntry { name, at, moved } in all {
        let MovedFileRecord { path, why, run, .. } = moved;
        if as_json {
            out::json(&serde_json::json!({ "name": name, "path": path, "why": why, "run": run, "kept_at": at }));
        } else {
            let line = format!("{name}  {}  ({why}; run {run})", path.display());
            out::line(&plain(&line));
        }
    }
    if all.is_empty() && !as_json {
        out::note("nothing was moved aside");
    }
}

fn find(folders: &AppFolders, name: &str) -> Result<AsideEntry, CliError> {
    let mut meant = kept(folders).into_iter().filter(|one| one.name.starts_with(name));
    match (meant.next(), meant.next()) {
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => Err(CliError::usage(format!("several names begin with `{name}`"))),
        (None, _) => Err(CliError::usage(format!("nothing was moved aside as `{name}`"))),
    }
    .map_err(|fault| fault.hint("`updraft aside` lists what there is"))
}

fn restore(one: &AsideEntry) -> CliResult {
    let target = &one.moved.path;
    let cannot = |error: io::Error| CliError::failed(format!("could not restore `{}`: {error}", shown(target)));
    match restore::back(&one.at, target, one.moved.restored) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(CliError::failed(format!("`{}` exists again", shown(target)))
                .hint("look at both, and remove the one you do not want"))
        }
        Err(error) if restore::met_a_link(&error) => Err(CliError::failed(format!(
            "a parent folder of `{}` is now a link, which may lead anywhere",
            shown(target)
        ))
        .hint("replace the link with the folder itself, then try again")),
        other => {
            other.and_then(|is_copy| if is_copy { remove(&one.at) } else { Ok(()) }).map_err(cannot)?;
            out::note(&format!("{} was restored", shown(target)));
            Ok(CliExitCode::Done)
        }
    }
}

/// A name that a command chose, escaped and on one line.
fn plain(text: &str) -> String {
    out::on_one_line(text)
}

fn shown(path: &Path) -> String {
    plain(&path.display().to_string())
}

fn remove(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }
}
