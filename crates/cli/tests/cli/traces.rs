//! What the binary leaves on the disk, and who may read it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::world::World;

/// Everything below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path.clone());
            }
            found.push(path);
        }
    }
    found
}

#[test]
fn looking_leaves_no_trace() {
    let world = World::new();
    let user = tempfile::tempdir().unwrap();
    let looks: [&[&str]; 9] = [
        &["--version"],
        &["--help"],
        &["runs"],
        &["runs", "--json"],
        &["agents"],
        &["tools"],
        &["completions", "bash"],
        &["config", "show"],
        &["man"],
    ];
    for args in looks {
        world.updraft(args).code(0);
        let mut command = world.command(args);
        for name in ["UPDRAFT_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
            command.env_remove(name);
        }
        assert!(command.env("HOME", user.path()).output().unwrap().status.success());

        assert_eq!(below(user.path()), Vec::<PathBuf>::new(), "{args:?}");
        assert!(!world.home().exists(), "{args:?}");
        assert_eq!(below(&world.ws()), [world.ws().join("a.txt")], "{args:?}");
    }
    world.updraft(&["show", "last"]).code(2);
    assert!(!world.home().exists());
}

#[test]
fn nobody_else_can_read_what_a_run_leaves() {
    let world = World::new();
    // A large result, which is kept in a file of its own.
    world.file("big.txt", &"secret words\n".repeat(60_000));
    let model = world.script(
        "s.json",
        &json!([{"calls": [{"name": "read_file", "args": {"path": "big.txt"}}]}, {"text": "secret ".repeat(60_000)}]),
    );
    // A careless umask, as on many machines.
    let home = world.home();
    for args in [
        format!("run --model {model} --agent coder go"),
        format!("run --detach --model {model} --agent coder go"),
        "trust --yes".to_owned(),
    ] {
        let script = format!("umask 000; exec {} {args}", env!("CARGO_BIN_EXE_updraft"));
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &script]).current_dir(world.ws()).env("UPDRAFT_HOME", &home).env("UPDRAFT_LOG", "debug");
        assert!(command.output().unwrap().status.success(), "{args}");
    }
    World::until("the run in the background is done", || world.runs().iter().all(|run| run["status"] == "done"));

    let found = below(&home);
    assert!(found.len() > 1, "{found:?}");
    let open: Vec<String> = found
        .iter()
        .filter_map(|path| {
            let mode = std::fs::symlink_metadata(path).ok()?.permissions().mode() & 0o777;
            (mode & 0o077 != 0).then(|| format!("{mode:o} {}", path.display()))
        })
        .collect();
    let mode = std::fs::metadata(&home).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700, "the home is open, and so are:\n{}", open.join("\n"));
    // The journal relies on its folder; everything else is closed in itself.
    let open: Vec<&String> = open.iter().filter(|line| !line.contains("/journal")).collect();
    assert!(open.is_empty(), "{open:?}");
}
