//! `updraft aside`: files that agents' commands wrote, that other programs would run later, and that were moved away.

use std::path::Path;

use updraft_tools::MovedFileRecord;
use updraft_workbench::aside::{AsideEntry, kept};

use crate::args::{AsideArgs, AsideCommand};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::out;

pub(crate) fn run(folders: &AppFolders, args: &AsideArgs) -> CliResult {
    match args.command.as_ref().unwrap_or(&AsideCommand::List { json: false }) {
        AsideCommand::List { json } => list(&kept(folders), *json),
        AsideCommand::Restore { name } => {
            let one = find(folders, name)?;
            one.restore()?;
            out::note(&format!("{} was restored", shown(&one.moved.path)));
        }
        AsideCommand::Drop { name } => {
            let one = find(folders, name)?;
            one.delete()?;
            out::note(&format!("{} is deleted", shown(&one.moved.path)));
        }
    }
    Ok(CliExitCode::Done)
}

fn list(all: &[AsideEntry], as_json: bool) {
    for AsideEntry { name, at, moved } in all {
        let MovedFileRecord { path, why, run, .. } = moved;
        if as_json {
            out::json(&serde_json::json!({ "name": name, "path": path, "why": why, "run": run, "kept_at": at }));
        } else {
            out::line(&out::on_one_line(&format!("{name}  {}  ({why}; run {run})", path.display())));
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

/// A name that a command chose, escaped and on one line.
fn shown(path: &Path) -> String {
    out::on_one_line(&path.display().to_string())
}
