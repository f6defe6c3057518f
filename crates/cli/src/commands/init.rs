//! `updraft init`: creates a sample configuration, and the folders for context and results. Overwrites nothing.

use std::path::Path;

use crate::args::InitArgs;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::{folders, out};

const CONFIG: &str = include_str!("init/config.toml");
const CONTEXT: &str = include_str!("init/context.md");

pub(crate) fn run(args: &InitArgs) -> CliResult {
    let workspace = folders::workspace(args.dir.as_deref())?;
    file(&workspace, ".updraft/config.toml", &with_checks(CONFIG, &proposed_checks(&workspace)))?;
    file(&workspace, ".context/README.md", CONTEXT)?;
    file(&workspace, "artifacts/.gitkeep", "")?;
    out::note("  hint: `updraft trust` puts all of the workspace's settings and agents into effect");
    Ok(CliExitCode::Done)
}

/// Checks of edited files whose programs are here, and that this workspace has files for.
fn proposed_checks(workspace: &Path) -> Vec<&'static str> {
    let has = |file: &str| workspace.join(file).exists();
    let is_here = |program: &str| updraft_workbench::folders::on_path(program).is_some();
    let known = [
        (has("Cargo.toml"), "cargo", "*.rs: cargo check --quiet"),
        (has("tsconfig.json"), "tsc", "*.ts: tsc --noEmit"),
        (has("pyproject.toml") || has("setup.py") || has("requirements.txt"), "ruff", "*.py: ruff check {files}"),
        (has("go.mod"), "go", "*.go: go vet ./..."),
    ];
    known.into_iter().filter(|(fits, program, _)| *fits && is_here(program)).map(|(_, _, check)| check).collect()
}

/// The sample with these checks proposed. Like everything in it they count when the `#` is removed.
fn with_checks(sample: &str, checks: &[&str]) -> String {
    if checks.is_empty() {
        return sample.to_owned();
    }
    let proposed = |line: &str| match line.strip_prefix("# checks = ").and_then(|rest| rest.split_once("] # ")) {
        Some((_, words)) => format!("# checks = {checks:?} # {words}\n"),
        None => format!("{line}\n"),
    };
    sample.lines().map(proposed).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_proposed_in_the_sample() {
        let text = with_checks(CONFIG, &["*.rs: cargo check --quiet"]);
        assert!(text.contains("\n# checks = [\"*.rs: cargo check --quiet\"] # what runs after"), "{text}");
        assert_eq!(text.lines().count(), CONFIG.lines().count());
        assert_eq!(with_checks(CONFIG, &[]), CONFIG);
    }
}
