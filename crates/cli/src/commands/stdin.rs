//! Standard input in addition to a goal: `git diff | updraft run "Review this"`. Agents get it as a file in the
//! workspace.

use std::io::{IsTerminal as _, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use updraft_journal::hash_of;
use updraft_workbench::piped_files::{FOLDER, PREFIX};

use crate::args;
use crate::fault::CliError;
use crate::out;

/// Most bytes: nobody pipes more text than this to be read.
const LARGEST: usize = 8 << 20;
/// How long to wait for the first byte if nobody sees us waiting. A parent process may keep a pipe open and never write
/// to it (some build machines, schedulers and editors do), which must not block every run.
const PATIENCE: Duration = Duration::from_secs(3);

/// Whether standard input is meant for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StdinIntent {
    /// `--file -`: certainly, so wait for it.
    Said,
    /// It is a pipe or a file, so it may be.
    Perhaps,
}

/// Adds standard input to the files for the agents, if `--file -` asks for it or something is piped in.
pub(super) fn add_stdin(args: &mut args::RunArgs, workspace: &Path) -> Result<(), CliError> {
    let is_said = args.file.iter().any(|file| file.as_os_str() == "-");
    args.file.retain(|file| file.as_os_str() != "-");
    if args.goal == "-" {
        return if is_said {
            Err(CliError::usage("standard input cannot be the goal and a file at once")
                .hint("give the goal on the command line, and pass standard input with `--file -`"))
        } else {
            Ok(())
        };
    }
    if !is_said && !is_pipe_or_file() {
        return Ok(());
    }
    let wish = if is_said { StdinIntent::Said } else { StdinIntent::Perhaps };
    let Some(bytes) = read(wish, std::io::stderr().is_terminal())? else { return Ok(()) };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).ok_or_else(|| {
        CliError::usage("standard input is not text (UTF-8 was expected)")
            .hint("put the data into a file of the workspace and pass it with --file; or add `< /dev/null`")
    })?;
    let file = keep(workspace, &text)?;
    let name = file.strip_prefix(workspace).unwrap_or(&file).display();
    out::note(&format!(
        "standard input is passed to the agents as `{name}` ({} bytes; `< /dev/null` leaves it out)",
        text.len()
    ));
    args.file.push(file);
    Ok(())
}

/// Whether standard input is something that ends: not a terminal, device or socket.
fn is_pipe_or_file() -> bool {
    #[cfg(unix)]
    {
        let kind = rustix::fs::fstat(std::io::stdin()).map(|about| rustix::fs::FileType::from_raw_mode(about.st_mode));
        kind.is_ok_and(|kind| matches!(kind, rustix::fs::FileType::Fifo | rustix::fs::FileType::RegularFile))
    }
    #[cfg(not(unix))]
    false
}

/// Reads all input. Returns `None` if it was given up waiting.
fn read(wish: StdinIntent, is_watched: bool) -> Result<Option<Vec<u8>>, CliError> {
    let (send, heard) = mpsc::channel();
    // If nothing comes, the thread is left behind: it holds nothing, and ends with the process.
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut first = vec![0; 64 << 10];
        let read = stdin.read(&mut first);
        let end = read.as_ref().copied().unwrap_or_default();
        first.truncate(end);
        let _ = send.send(read.map(|_| Vec::new()));
        let rest = if end == 0 { Ok(0) } else { stdin.take(LARGEST as u64 + 1).read_to_end(&mut first) };
        let _ = send.send(rest.map(|_| first));
    });
    let cannot = |error: &dyn std::fmt::Display| CliError::usage(format!("standard input could not be read: {error}"));
    let waits = || out::note("waiting for standard input to end (`< /dev/null` if there is none)");
    let mut has_said = false;
    if heard.recv_timeout(PATIENCE).is_err() {
        match (wish, is_watched) {
            (StdinIntent::Perhaps, false) => {
                out::note(&format!(
                    "standard input is open but empty, so it is ignored\n  hint: `--file -` waits for it; \
                     `< /dev/null` avoids the wait of {} s",
                    PATIENCE.as_secs()
                ));
                return Ok(None);
            }
            (StdinIntent::Said, _) | (StdinIntent::Perhaps, true) => {
                waits();
                has_said = true;
                let _ = heard.recv();
            }
        }
    }
    let rest = match heard.recv_timeout(PATIENCE) {
        Err(mpsc::RecvTimeoutError::Timeout) => {
            if !has_said {
                waits();
            }
            heard.recv().map_err(|error| cannot(&error))?
        }
        rest => rest.map_err(|error| cannot(&error))?,
    };
    let bytes = rest.map_err(|error| cannot(&error))?;
    if bytes.len() > LARGEST {
        return Err(CliError::usage(format!("standard input is longer than {} MiB", LARGEST >> 20))
            .hint("put it into a file of the workspace and pass that with --file"));
    }
    Ok(Some(bytes))
}

/// Writes the input to a file in the workspace that git ignores, and returns the path.
fn keep(workspace: &Path, text: &str) -> Result<PathBuf, CliError> {
    let folder = workspace.join(FOLDER);
    let cannot = |error: &std::io::Error| {
        CliError::file("write", &folder, error)
            .hint("agents read only files of the workspace; pass one of them with --file")
    };
    std::fs::create_dir_all(&folder).map_err(|error| cannot(&error))?;
    // Links in the workspace must not lead elsewhere.
    if folder.canonicalize().map_err(|error| cannot(&error))? != folder {
        return Err(CliError::usage(format!("`{}` is outside the workspace", folder.display())));
    }
    let hash = hash_of(text.as_bytes()).to_string();
    let file = folder.join(format!("{PREFIX}{}.txt", &hash[..12]));
    for (file, text) in [(&folder.join(".gitignore"), "*\n"), (&file, text)] {
        // Creates a new file, so that no link is followed. An existing file has the same content, because its name is
        // its hash.
        match std::fs::OpenOptions::new().write(true).create_new(true).open(file) {
            Ok(mut made) => made.write_all(text.as_bytes()).map_err(|error| cannot(&error))?,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(cannot(&error)),
        }
    }
    let is_whole = file.symlink_metadata().is_ok_and(|about| about.is_file() && about.len() == text.len() as u64);
    if !is_whole {
        return Err(CliError::usage(format!("`{}` already exists with other content", file.display()))
            .hint("remove it, and try again"));
    }
    Ok(file)
}
