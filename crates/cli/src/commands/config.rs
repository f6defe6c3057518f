//! `updraft config show`: every setting, and where it came from.

use std::fmt::Write as _;

use serde_json::json;
use updraft_workbench::Flags;

use crate::args::{ConfigArgs, ConfigCommand};
use crate::fault::{CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::settings::WorkspaceSettings;

/// Variables that are shown only as set or not set.
const SECRETS: [&str; 1] = ["OPENAI_API_KEY"];

pub(crate) fn run(folders: &AppFolders, args: &ConfigArgs) -> CliResult {
    let ConfigCommand::Show(args) = &args.command;
    let workspace = folders::workspace(args.place.workspace.as_deref())?;
    let settings = WorkspaceSettings::load(folders, &workspace, &Flags::default())?;
    let rows = settings.effective.list();
    if args.place.json {
        let lines = rows
            .iter()
            .map(|(name, value, from)| json!({ "name": name, "value": value, "origin": from }).to_string() + "\n");
        out::print(&lines.collect::<String>());
        return Ok(CliExitCode::Done);
    }
    let paint = Paint::for_stdout();
    let names = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or_default();
    let values = rows.iter().map(|(_, value, _)| value.len()).max().unwrap_or_default().min(40);
    let mut text = String::new();
    for (name, value, from) in &rows {
        let line = if args.origin {
            format!("{name:names$} = {value:values$}  {}", paint.dim(&format!("# {from}")))
        } else {
            format!("{name:names$} = {value}")
        };
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if args.origin {
        let mut about = |name: &str, value: String| {
            let _ = writeln!(text, "{name:names$} : {value}");
        };
        text_line(&mut about, "configuration", &folders.config);
        text_line(&mut about, "journal", &folders.journal());
        text_line(&mut about, "state", &folders.state);
        for name in SECRETS {
            about(name, if folders::set(name).is_some() { "set".into() } else { "not set".into() });
        }
        about("OPENAI_BASE_URL", folders::set("OPENAI_BASE_URL").unwrap_or_else(|| "not set".into()));
    }
    out::print(&text);
    if let Some(remark) = settings.notice() {
        out::note(&remark);
    }
    Ok(CliExitCode::Done)
}

fn text_line(about: &mut impl FnMut(&str, String), name: &str, path: &std::path::Path) {
    about(name, path.display().to_string());
}
