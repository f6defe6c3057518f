//! `updraft models pull`: gets the model that makes vectors on this machine.

use std::process::Stdio;

use serde_json::json;
use updraft_workbench::{Flags, knowledge};

use crate::args::PullArgs;
use crate::fault::{CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::settings::WorkspaceSettings;
use crate::{out, tools};

pub(super) fn run(folders: &AppFolders, args: &PullArgs) -> CliResult {
    let was_there = knowledge::has_minilm(folders);
    if !was_there {
        let workspace = folders::workspace(None).unwrap_or_default();
        let settings = WorkspaceSettings::load(folders, &workspace, &Flags::default())?;
        let python = tools::python(&settings).program;
        let python = python.map_or_else(|| "python3".to_owned(), |program| program.to_string_lossy().into_owned());
        // Standard output is for our own result.
        let output = if args.json { Stdio::null() } else { std::io::stderr().into() };
        knowledge::pull_minilm(folders, &python, output)?;
    }
    let folder = knowledge::minilm_folder(folders);
    if args.json {
        out::json(&json!({ "model": args.model, "folder": folder, "was_there": was_there }));
        return Ok(CliExitCode::Done);
    }
    out::note(&format!(
        "{} `{}`",
        if was_there { "already there:" } else { "checked, and put into" },
        folder.display()
    ));
    out::note("  hint: `updraft ingest` makes vectors of what is indexed");
    Ok(CliExitCode::Done)
}
