//! `updraft init`: creates a sample configuration, and the folders for context and results. Overwrites nothing.

use std::path::Path;

use crate::args::InitArgs;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::{folders, out};

const CONFIG: &str = include_str!("init/config.toml");
const CONTEXT: &str = include_str!("init/context.md");

pub(crate) fn run(args: &InitArgs) -> CliResult {
    let workspace = folders::workspace(args.dir.as_deref())?;
    file(&workspace, ".updraft/config.toml", CONFIG)?;
    file(&workspace, ".context/README.md", CONTEXT)?;
    file(&workspace, "artifacts/.gitkeep", "")?;
    out::note("  hint: `updraft trust` puts all of the workspace's settings and agents into effect");
    Ok(CliExitCode::Done)
}

fn file(workspace: &Path, name: &str, text: &str) -> Result<(), CliError> {
    let path = workspace.join(name);
    let cannot = |error: &std::io::Error| CliError::file("write", &path, error);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| cannot(&error))?;
    }
    match std::fs::File::create_new(&path) {
        Ok(mut made) => {
            std::io::Write::write_all(&mut made, text.as_bytes()).map_err(|error| cannot(&error))?;
            out::line(&format!("made  {name}"));
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => out::line(&format!("kept  {name}")),
        Err(error) => return Err(cannot(&error)),
    }
    Ok(())
}
