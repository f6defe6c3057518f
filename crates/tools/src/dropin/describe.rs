//! Asks files which tools they contain, in the sandbox and without access to the user's files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use updraft_sandbox::{CaptureOptions, ChildResult, Command, Network, OutputMode, StdinMode};

use super::DropInsShared;
use super::definition::{Annotations, Definition, FileDescription, Problem, Severity};
use super::find::{CandidateFile, CandidateKind, is_executable};
use crate::schema::Schema;

/// Lists Python files by parsing them, without running them.
const LISTING: &str =
    concat!(include_str!("python/schema.py"), include_str!("python/docstring.py"), include_str!("python/listing.py"));
/// The time limit for all files together; each has its own limit of ten seconds.
const LISTING_TIME: Duration = Duration::from_mins(2);
/// The time limit for a program, which only has to print its description.
const PROGRAM_TIME: Duration = Duration::from_secs(5);
/// Most bytes of a description.
const DESCRIPTION: usize = 256 << 10;
/// Most bytes of the answers for all Python files of a folder.
const ANSWERS: usize = 32 << 20;

/// Identifies the version of the code that describes files: descriptions by another version are not reused.
pub(super) fn reader(python: &str) -> String {
    format!("1 {} {python}", updraft_workspace::hash(LISTING.as_bytes()))
}

/// The description of each file, and whether it may be cached.
pub(super) async fn files(shared: &DropInsShared, found: &[&CandidateFile]) -> Vec<(FileDescription, bool)> {
    let sources: Vec<&[u8]> = found.iter().filter_map(|&file| source(file)).collect();
    let mut listed = if sources.is_empty() { Vec::new() } else { python(shared, &sources).await }.into_iter();
    let mut described = Vec::with_capacity(found.len());
    for file in found {
        described.push(match file.kind {
            CandidateKind::Python => listed.next().unwrap_or_default(),
            CandidateKind::Program => program(shared, &file.path).await,
        });
    }
    described.into_iter().map(|(described, keep)| (checked(described), keep)).collect()
}

fn source(file: &CandidateFile) -> Option<&[u8]> {
    let content = file.content.as_ref().ok().filter(|_| file.kind == CandidateKind::Python)?;
    Some(&content.source)
}

/// Lists Python files. None of them is run.
pub(super) async fn python(shared: &DropInsShared, sources: &[&[u8]]) -> Vec<(FileDescription, bool)> {
    let failed = |why: String| sources.iter().map(|_| (FileDescription::faulty(why.clone()), false)).collect();
    let ended = match list(shared, sources).await {
        Ok(ended) => ended,
        Err(why) => return failed(why),
    };
    let answers = String::from_utf8_lossy(&ended.stdout.head).into_owned();
    let mut lines = answers.lines();
    let lost = || {
        let how = match ended.killed_for {
            Some(limit) => format!("it was killed: {limit}"),
            None => format!("exit code {}", ended.exit_code()),
        };
        let said = ended.stderr.text();
        let last = said.trim().lines().next_back().unwrap_or_default();
        format!("`{}` did not list it: {how}; {}", shared.settings.python, crate::truncate::line(last, 300))
    };
    let read = |line: &str| {
        let described = serde_json::from_str(line);
        described.unwrap_or_else(|error| FileDescription::faulty(format!("its definitions cannot be used: {error}")))
    };
    sources
        .iter()
        .map(|_| match lines.next() {
            Some(line) => (read(line), true),
            None => (FileDescription::faulty(lost()), false),
        })
        .collect()
}

async fn list(shared: &DropInsShared, sources: &[&[u8]]) -> Result<ChildResult, String> {
    let lengths: Vec<usize> = sources.iter().map(|source| source.len()).collect();
    let mut input = serde_json::to_vec(&lengths).unwrap_or_default();
    input.push(b'\n');
    for source in sources {
        input.extend_from_slice(source);
    }
    let args = ["-I", "-S", "-B", "-X", "utf8", "-c", LISTING].map(str::to_owned).to_vec();
    let command = Command { args, ..Command::new(&shared.settings.python) };
    let read = interpreter(&shared.settings.python);
    run(shared, command, read, &input, LISTING_TIME, ANSWERS).await.map_err(|error| match error {
        DescribeError::Missing => missing(&shared.settings.python),
        DescribeError::Other(why) => why,
    })
}

/// The advice if the interpreter does not exist.
pub(super) fn missing(python: &str) -> String {
    format!("`{python}` was not found; install Python 3.8 or newer, or name one with the setting `tools.python`")
}

/// Asks a program to describe itself. It runs in an empty folder, in case it does anything else.
pub(super) async fn program(shared: &DropInsShared, path: &Path) -> (FileDescription, bool) {
    let note = |text: String| {
        (FileDescription { tools: Vec::new(), problems: vec![Problem::new(Severity::Note, 1, text)] }, true)
    };
    let command = Command { args: vec!["--describe".into()], ..Command::new(path.display().to_string()) };
    let folder = path.parent().map(Path::to_owned);
    let ended = match run(shared, command, folder.into_iter().collect(), b"", PROGRAM_TIME, DESCRIPTION).await {
        Ok(ended) => ended,
        Err(DescribeError::Missing) => return note("it cannot be run: its interpreter was not found".into()),
        Err(DescribeError::Other(why)) => return (FileDescription::faulty(why), false),
    };
    if ended.timed_out() {
        return note(format!(
            "it did not answer `--describe` within {} s, so it is not a tool",
            PROGRAM_TIME.as_secs()
        ));
    }
    if !ended.succeeded() {
        return note(format!("it ended `--describe` with exit code {}, so it is not a tool", ended.exit_code()));
    }
    match serde_json::from_slice::<Value>(&ended.stdout.head) {
        Ok(Value::Object(said)) if said.contains_key("name") => {
            let definition = definition(&Value::Object(said));
            (definition.unwrap_or_else(FileDescription::faulty), true)
        }
        Err(error) if error.to_string().contains("recursion limit") => {
            (FileDescription::faulty("its definition is nested too deep to be read"), true)
        }
        Ok(_) | Err(_) => note("it did not answer `--describe` with a tool definition, so it is not a tool".into()),
    }
}

/// Reads a definition that a program gave, with our field names or with MCP's.
fn definition(said: &Value) -> Result<FileDescription, String> {
    let text = |name: &str| said[name].as_str().map(str::to_owned);
    let parameters = [&said["parameters"], &said["inputSchema"]].into_iter().find(|schema| !schema.is_null());
    let annotations = match &said["annotations"] {
        Value::Null => Annotations::default(),
        given => serde_json::from_value(given.clone()).map_err(|error| format!("its `annotations`: {error}"))?,
    };
    let tool = Definition {
        name: text("name").ok_or("its `name` is not a text")?,
        line: 1,
        description: text("description").unwrap_or_default(),
        parameters: parameters.ok_or("it has neither `parameters` nor `inputSchema`, a JSON Schema")?.clone(),
        output: Some(said["outputSchema"].clone()).filter(|schema| !schema.is_null()),
        annotations,
        context: false,
    };
    Ok(FileDescription { tools: vec![tool], problems: Vec::new() })
}

/// Removes tools whose schemas cannot be used, and says why. Schemas are compiled here once for each content.
fn checked(mut described: FileDescription) -> FileDescription {
    let faults = &mut described.problems;
    described.tools.retain(|tool| {
        let arguments = Schema::new(&tool.parameters).and_then(|schema| schema.takes_arguments().and(schema.check()));
        let output =
            tool.output.as_ref().map_or(Ok(()), |schema| Schema::new(schema).and_then(|schema| schema.check()));
        let fault = arguments.and(output).err();
        let Some(why) = fault else { return true };
        let text = format!("its schema cannot be used: {why}");
        faults.push(Problem { tool: Some(tool.name.clone()), ..Problem::new(Severity::Error, tool.line, text) });
        false
    });
    described
}

/// Why a program could not be run.
enum DescribeError {
    /// The program does not exist.
    Missing,
    Other(String),
}

/// Runs a program in an empty folder, without network, and returns its output.
async fn run(
    shared: &DropInsShared,
    command: Command,
    read: Vec<PathBuf>,
    input: &[u8],
    time: Duration,
    most: usize,
) -> Result<ChildResult, DescribeError> {
    let other = |error: &dyn std::fmt::Display| DescribeError::Other(format!("it could not be looked at: {error}"));
    let confinement = &shared.settings.confinement;
    let sandbox = confinement.sandbox().await.map_err(|failure| other(&failure.message))?;
    let empty = tempfile::tempdir().map_err(|error| other(&error))?;
    let mut policy = confinement.policy_for_reading(empty.path());
    policy.network = Network::None;
    policy.write.clear();
    policy.read.extend(read);
    policy.limits.time = Some(time);
    policy.limits.memory = policy.limits.memory.min(super::MEMORY * 3 / 2);
    let command = Command {
        env: confinement.environment.clone(),
        stdin: StdinMode::Pipe,
        output: OutputMode::Capture(CaptureOptions { head: most, tail: 0, ..CaptureOptions::default() }),
        ..command
    };
    let mut child = sandbox.spawn(&policy, command).await.map_err(|error| match &error {
        updraft_sandbox::Error::Program { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            DescribeError::Missing
        }
        updraft_sandbox::Error::Program { .. } => DescribeError::Missing,
        _ => other(&error),
    })?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends early does not read all its input; its exit code says so.
        let _ = stdin.write_all(input).await;
    }
    child.wait().await.map_err(|error| other(&error))
}

/// The files that an interpreter needs besides the system's folders: its virtual environment, and the base
/// installation of that.
pub(super) fn interpreter(python: &str) -> Vec<PathBuf> {
    let path = Path::new(python);
    if !path.is_absolute() {
        return Vec::new();
    }
    // A link may lead to anything, so only programs are made readable.
    let Some(real) = path.canonicalize().ok().filter(|real| is_program(real)) else { return Vec::new() };
    let real_prefix = prefix(&real);
    let named = match prefix(path) {
        Some(prefix) => Some(prefix.to_owned()),
        None if real == path || real_prefix.is_some() => Some(path.to_owned()),
        None => None,
    };
    named.into_iter().chain(real_prefix.map(Path::to_owned)).collect()
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && is_executable(&about, path))
}

/// The folder that a Python is installed in. Returns `None` for `~/bin`, as the folder above it is the home folder.
fn prefix(program: &Path) -> Option<&Path> {
    let prefix = program.parent().and_then(Path::parent);
    prefix.filter(|prefix| prefix.join("pyvenv.cfg").is_file() || holds_python(prefix))
}

fn holds_python(prefix: &Path) -> bool {
    let is_whole = prefix.join("include").is_dir() && !prefix.join(".ssh").exists();
    let entries = std::fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
    is_whole && entries.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs::{Permissions, create_dir_all, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_link_to_something_else_grants_nothing_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for made in ["ws/.venv/bin", "private", "py/bin", "py/include", "py/lib/python3.12", "home/bin"] {
            create_dir_all(root.join(made)).unwrap();
        }
        write(root.join("ws/.venv/pyvenv.cfg"), "").unwrap();
        write(root.join("private/key"), "secret").unwrap();
        for program in ["private/program", "py/bin/python3.12", "home/bin/mine"] {
            write(root.join(program), "#!/bin/sh\n").unwrap();
            set_permissions(root.join(program), Permissions::from_mode(0o755)).unwrap();
        }
        let of = |path: &Path| interpreter(&path.display().to_string());
        let python = root.join("ws/.venv/bin/python");
        for (target, granted) in [
            ("private/key", vec![]),
            ("private/program", vec![root.join("ws/.venv")]),
            ("py/bin/python3.12", vec![root.join("ws/.venv"), root.join("py")]),
        ] {
            let _ = std::fs::remove_file(&python);
            symlink(root.join(target), &python).unwrap();
            assert_eq!(of(&python), granted, "{target}");
        }
        symlink(root.join("private/program"), root.join("home/bin/link")).unwrap();
        assert!(of(&root.join("home/bin/link")).is_empty());
        assert_eq!(of(&root.join("home/bin/mine")), [root.join("home/bin/mine")]);
        symlink(root.join("py/bin/python3.12"), root.join("home/bin/python")).unwrap();
        assert_eq!(of(&root.join("home/bin/python")), [root.join("home/bin/python"), root.join("py")]);
    }
}
