//! The files in the workspace that its MCP servers are started from. Agents can write only in the workspace, so trust
//! covers exactly these files as they are. Files that they import or start are not checked, nor are programs elsewhere.

use std::path::{Path, PathBuf};

use updraft_mcp::config::{Secret, ServerConfig, TransportConfig};

/// Extensions of files that servers write. Such files count as data unless they are executable.
const DATA: [&str; 13] =
    ["db", "sqlite", "sqlite3", "json", "jsonl", "csv", "txt", "md", "log", "lock", "toml", "yaml", "yml"];
/// The files that interpreters run if they are given a folder.
const MAIN: [&str; 2] = ["index.js", "__main__.py"];
/// Most folders among the arguments of one server that are searched for files.
const MOST_FOLDERS: usize = 16;

/// The files in the workspace that the command or a word of its arguments names, relative to the folder where the
/// server is started or to a folder that is also an argument.
pub(crate) fn program_files(server: &ServerConfig, workspace: &Path) -> Vec<PathBuf> {
    let TransportConfig::Stdio { command, args, cwd, .. } = &server.link else { return Vec::new() };
    let start = cwd.as_ref().map_or_else(|| workspace.to_owned(), |cwd| workspace.join(cwd));
    // By real paths: the Python of a virtual environment is the system's.
    let inside = |path: PathBuf| path.canonicalize().ok().filter(|real| real.starts_with(workspace));
    let is_sign = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '=');
    let args = || args.iter().map(Secret::reveal);
    let words: Vec<&str> = args().flat_map(|arg| arg.split(is_sign)).filter(|word| !word.is_empty()).collect();
    let folders = words.iter().filter_map(|word| inside(start.join(word))).filter(|path| path.is_dir());
    let bases: Vec<PathBuf> = [start.clone()].into_iter().chain(folders.take(MOST_FOLDERS)).collect();
    // As in `node ./server`; a folder in a later argument is often the one that the server works on.
    let first = words.iter().find(|word| !word.starts_with('-'));
    let mains = first.into_iter().flat_map(|folder| MAIN.map(|main| start.join(folder).join(main)));
    let named = args().chain(words.iter().copied()).flat_map(|word| bases.iter().map(move |base| base.join(word)));
    let program = command.contains('/').then(|| start.join(command)).and_then(inside);
    let given = named.chain(mains).filter_map(inside).filter(|file| !is_data(file));
    program.into_iter().chain(given).filter(|file| file.is_file()).collect()
}

fn is_data(file: &Path) -> bool {
    let ending = file.extension().map(std::ffi::OsStr::to_ascii_lowercase);
    ending.is_some_and(|ending| DATA.iter().any(|data| ending == *data)) && !is_executable(file)
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|about| about.permissions().mode() & 0o111 != 0)
}

/// Untested.
#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    false
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use serde_json::json;
    use updraft_mcp::config::{ConfigFormat, read};

    use super::*;

    #[test]
    fn files_of_the_workspace_count_wherever_the_words_name_them_and_data_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().canonicalize().unwrap();
        std::fs::create_dir(workspace.join("s")).unwrap();
        for file in ["main.js", "x.mjs", "run", "node", "notes.db", "run.txt", "a b.js", "s/index.js", "s/server.py"] {
            std::fs::write(workspace.join(file), "").unwrap();
        }
        std::fs::set_permissions(workspace.join("run.txt"), PermissionsExt::from_mode(0o755)).unwrap();
        symlink("/bin/sh", workspace.join("python")).unwrap();
        let absolute = format!("--main={}/main.js", workspace.display());
        let cases: [(&str, &[&str], &[&str]); 15] = [
            ("node", &["main.js"], &["main.js"]),
            ("node", &["--import=./x.mjs", "main.js"], &["main.js", "x.mjs"]),
            ("sh", &["-c", "exec node 'main.js'"], &["main.js", "node"]),
            ("anything", &[&absolute], &["main.js"]),
            ("node", &["a b.js"], &["a b.js"]),
            ("uv", &["--directory", "./s", "run", "server.py"], &["run", "s/index.js", "s/server.py"]),
            ("node", &["--x", "s"], &["s/index.js"]),
            ("npx", &["-y", "server-filesystem", "./s"], &[]),
            ("npx", &["mcp-sqlite", "./notes.db"], &[]),
            ("sh", &["run.txt"], &["run.txt"]),
            ("./run", &["notes.db"], &["run"]),
            ("./notes.db", &[], &["notes.db"]),
            ("./python", &["s/server.py"], &["s/server.py"]),
            ("/bin/sh", &["/bin/sh", "../x"], &[]),
            ("node", &["none.js"], &[]),
        ];
        for (command, args, expected) in cases {
            let entry = json!({"mcpServers": {"s": {"command": command, "args": args}}}).to_string();
            let (servers, faults) = read(&entry, ConfigFormat::Json, "mcp.json", &|_| None);
            assert!(faults.is_empty(), "{faults:?}");
            let mut found = program_files(&servers[0], &workspace);
            found.sort();
            found.dedup();
            let expected: Vec<PathBuf> = expected.iter().map(|file| workspace.join(file)).collect();
            assert_eq!(found, expected, "{command} {args:?}");
        }
    }
}
