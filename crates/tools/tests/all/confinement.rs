//! No tool reaches a file outside the workspace, and none hangs on what is not a file.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]

use std::time::{Duration, Instant};

use crate::common::World;
use serde_json::json;
use updraft_run::FailureKind;

fn world_with_secret() -> World {
    let world = World::new();
    std::fs::write(world.folder.path().join("secret"), "secret\n").unwrap();
    std::fs::create_dir(world.folder.path().join("outside")).unwrap();
    std::fs::write(world.folder.path().join("outside/file"), "secret\n").unwrap();
    world
}

#[tokio::test]
async fn a_path_that_climbs_out_is_refused_before_anything_is_opened() {
    let world = world_with_secret();
    for path in ["../secret", "a/../../secret", "./../secret", "..", "/etc/passwd", "/", "a/../.."] {
        for (tool, args) in [
            ("read_file", json!({ "path": path })),
            ("list_files", json!({ "path": path })),
            ("search_files", json!({ "path": path, "pattern": "x" })),
            ("write_file", json!({ "path": path, "content": "x" })),
            ("edit_file", json!({ "path": path, "old": "secret", "new": "x" })),
            ("append_line", json!({ "path": path, "line": "x" })),
        ] {
            let failure = world.failure(tool, args).await;
            assert_eq!(failure.kind, FailureKind::Security, "{tool} {path}: {failure}");
        }
    }
    assert!(
        world.fault("write_file", json!({ "path": "../x", "content": "" })).unwrap().contains("leaves the workspace")
    );
    assert_eq!(std::fs::read(world.folder.path().join("secret")).unwrap(), b"secret\n");
}

#[tokio::test]
async fn an_absolute_path_inside_the_workspace_is_as_good_as_a_relative_one() {
    let world = World::new();
    world.put("src/a.txt", "hello\n");
    let absolute = world.path("src/../src/a.txt");
    let output = world.output("read_file", json!({ "path": absolute })).await;
    assert_eq!(output.value.as_ref().unwrap()["path"], "src/a.txt");
}

#[tokio::test]
async fn a_link_that_stays_inside_is_read_and_one_that_leaves_is_not() {
    let world = world_with_secret();
    world.put("real/a.txt", "inside\n");
    world.link("real", "alias");
    world.link("real/a.txt", "short");
    world.link("/etc", "etc");
    world.link("../outside", "up");
    world.link(world.folder.path().join("secret"), "direct");
    assert_eq!(world.text("read_file", json!({ "path": "alias/a.txt" })).await, "1\tinside\n");
    assert_eq!(world.text("read_file", json!({ "path": "short" })).await, "1\tinside\n");
    for path in ["etc/passwd", "up/file", "direct"] {
        let failure = world.failure("read_file", json!({ "path": path })).await;
        assert_eq!(failure.kind, FailureKind::Security, "{path}: {failure}");
    }
    for path in ["etc", "up"] {
        assert_eq!(world.failure("list_files", json!({ "path": path })).await.kind, FailureKind::Security);
        assert_eq!(
            world.failure("search_files", json!({ "path": path, "pattern": "." })).await.kind,
            FailureKind::Security
        );
    }
    assert_eq!(world.text("list_files", json!({})).await, "real/a.txt\nshort\n");
    let found = world.output("search_files", json!({ "pattern": "inside|secret|root" })).await;
    assert_eq!(found.text, "real/a.txt\n1: inside\n");
}

#[tokio::test]
async fn nothing_is_written_through_a_link() {
    let world = world_with_secret();
    world.put("real/a.txt", "inside\n");
    world.link("real", "alias");
    world.link("real/a.txt", "short");
    world.link("../outside", "up");
    world.link("nowhere", "dangling");
    for path in ["alias/a.txt", "alias/new.txt", "short", "up/file", "up/new", "dangling"] {
        for (tool, args) in [
            ("write_file", json!({ "path": path, "content": "x" })),
            ("edit_file", json!({ "path": path, "old": "e", "new": "x", "replace_all": true })),
            ("append_line", json!({ "path": path, "line": "x" })),
        ] {
            let failure = world.failure(tool, args).await;
            let is_refused = failure.kind == FailureKind::Security || failure.message.contains("there is no");
            assert!(is_refused, "{tool} {path}: {failure}");
        }
    }
    assert_eq!(world.content("real/a.txt"), b"inside\n");
    assert_eq!(std::fs::read(world.folder.path().join("outside/file")).unwrap(), b"secret\n");
    assert!(!world.folder.path().join("outside/new").exists());
    assert!(!world.path("nowhere").exists());
}

#[tokio::test]
async fn magic_links_of_proc_are_not_followed() {
    let world = World::new();
    world.link("/proc/self/root/etc/passwd", "root");
    world.link("/proc/self/cwd", "cwd");
    for path in ["root", "cwd/Cargo.toml"] {
        assert_eq!(world.failure("read_file", json!({ "path": path })).await.kind, FailureKind::Security);
    }
}

#[tokio::test]
async fn git_storage_is_not_written_to() {
    let world = World::new();
    world.put(".git/config", "[core]\n");
    for path in [".git/index", ".git/objects/aa/bb", "sub/.GIT/HEAD", "GIT~1/HEAD", ".g\u{200c}it/HEAD", ".git./refs/x"]
    {
        let failure = world.failure("write_file", json!({ "path": path, "content": "x" })).await;
        assert_eq!(failure.kind, FailureKind::Security, "{path}");
        assert!(world.fault("append_line", json!({ "path": path, "line": "x" })).is_some(), "{path}");
    }
    assert_eq!(world.names(), [".git"]);
}

#[tokio::test]
async fn pipes_sockets_and_devices_are_refused_without_waiting() {
    let world = World::new();
    world.put("plain.txt", "text\n");
    let fifo = rustix::fs::CWD;
    rustix::fs::mknodat(fifo, world.path("pipe"), rustix::fs::FileType::Fifo, 0o666.into(), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.path("socket")).unwrap();
    let zero = rustix::fs::makedev(1, 5);
    let device = rustix::fs::FileType::CharacterDevice;
    let has_device = rustix::fs::mknodat(fifo, world.path("zero"), device, 0o666.into(), zero).is_ok();

    let begun = Instant::now();
    for path in ["pipe", "socket", "zero"] {
        if path == "zero" && !has_device {
            continue;
        }
        for (tool, args) in [
            ("read_file", json!({ "path": path })),
            ("search_files", json!({ "path": path, "pattern": "x" })),
            ("list_files", json!({ "path": path })),
            ("write_file", json!({ "path": path, "content": "x" })),
            ("edit_file", json!({ "path": path, "old": "x", "new": "y" })),
            ("append_line", json!({ "path": path, "line": "x" })),
        ] {
            let failure = world.failure(tool, args).await;
            assert_eq!(failure.kind, FailureKind::Tool, "{tool} {path}: {failure}");
        }
    }
    assert_eq!(world.text("list_files", json!({})).await, "plain.txt\n");
    assert_eq!(world.text("search_files", json!({ "pattern": "t" })).await, "plain.txt\n1: text\n");
    assert!(begun.elapsed() < Duration::from_mins(1));
}

#[tokio::test]
async fn a_folder_is_not_read_or_written_as_a_file() {
    let world = World::new();
    world.put("dir/a.txt", "a\n");
    let message = world.failure("read_file", json!({ "path": "dir" })).await.message;
    assert_eq!(message, "`dir` is a folder. It has a.txt");
    let message = world.failure("write_file", json!({ "path": "dir", "content": "x" })).await.message;
    assert_eq!(message, "`dir` is a folder; expected a regular file");
    assert!(
        world
            .failure("write_file", json!({ "path": "dir/a.txt/b", "content": "x" }))
            .await
            .message
            .contains("is a file")
    );
    assert_eq!(
        world.failure("read_file", json!({ "path": "gone" })).await.message,
        "there is no `gone` in the workspace"
    );
}
