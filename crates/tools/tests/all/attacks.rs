//! Paths that try to reach a file outside the workspace, by every file tool: none is read, changed or listed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]

use crate::common::World;
use serde_json::{Value, json};
use updraft_run::{FailureKind, Reply};

/// A workspace full of traps, with secrets around it.
fn trapped() -> World {
    let world = World::new();
    let around = world.folder.path().to_owned();
    std::fs::write(around.join("secret"), "secret\n").unwrap();
    for folder in ["outside", "work-beside"] {
        std::fs::create_dir(around.join(folder)).unwrap();
        std::fs::write(around.join(folder).join("file"), "secret\n").unwrap();
    }
    world.put("real/a.txt", "inside\n");
    world.put("deep/b/c.txt", "inside\n");
    world.link("../secret", "file-link");
    world.link(around.join("secret"), "absolute-link");
    world.link("../outside", "folder-link");
    world.link("chain-2", "chain-1");
    world.link("chain-3", "chain-2");
    world.link("../secret", "chain-3");
    world.link("loop-b", "loop-a");
    world.link("loop-a", "loop-b");
    world.link("self", "self");
    world.link("..", "up");
    world.link("../../../secret", "deep/b/far");
    world.link("real/../../secret", "winding");
    world.link("../new", "dangling");
    world.link("/proc/self/root/etc/passwd", "proc-root");
    world.link("/proc/self/cwd", "proc-cwd");
    world.link("/proc/self/fd/0", "proc-fd");
    world.link("/dev/zero", "zero");
    world
}

/// What is outside, name by name, with its content.
fn outside(world: &World) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in ["", "outside", "work-beside"] {
        for entry in std::fs::read_dir(world.folder.path().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let content = if path.is_file() { std::fs::read_to_string(&path).unwrap() } else { String::new() };
            found.push((path.display().to_string(), content));
        }
    }
    found.sort();
    found
}

fn readers(path: &str) -> [(&'static str, Value); 3] {
    [
        ("read_file", json!({ "path": path })),
        ("list_files", json!({ "path": path })),
        ("search_files", json!({ "path": path, "pattern": "." })),
    ]
}

fn writers(path: &str) -> [(&'static str, Value); 3] {
    [
        ("write_file", json!({ "path": path, "content": "taken over" })),
        ("edit_file", json!({ "path": path, "old": "e", "new": "x", "replace_all": true })),
        ("append_line", json!({ "path": path, "line": "taken over" })),
    ]
}

#[tokio::test]
async fn no_path_leads_out_whichever_tool_takes_it() {
    let world = trapped();
    let before = outside(&world);
    let around = world.folder.path().display().to_string();
    let long = "a/".repeat(3000) + "a";
    let attacks: [(&str, &str); 34] = [
        ("up", "../secret"),
        ("up by a detour", "a/../../secret"),
        ("up with dots between", "./.././secret"),
        ("up from a folder that is there", "real/../../secret"),
        ("up from far below", "deep/b/../../../secret"),
        ("up with slashes doubled", "..//secret"),
        ("the folder above", ".."),
        ("the folder above, from a folder", "real/../.."),
        ("an absolute path", "/etc/passwd"),
        ("an absolute path with slashes doubled", "//etc/passwd"),
        ("the root", "/"),
        ("an absolute path to the secret", &format!("{around}/secret")),
        ("an absolute path that begins inside", &format!("{around}/work/../secret")),
        ("a folder whose name begins like the workspace", &format!("{around}/work-beside/file")),
        ("a way through /proc", &format!("/proc/self/root{around}/secret")),
        ("the terminal", "/dev/stdin"),
        ("nothing", ""),
        ("a NUL", "real/a.txt\0"),
        ("a NUL that hides the rest", "../secret\0.txt"),
        ("a path longer than the kernel takes", &long),
        ("a link", "file-link"),
        ("a link with an absolute target", "absolute-link"),
        ("a linked folder", "folder-link/file"),
        ("a chain of links", "chain-1"),
        ("a link in a folder", "deep/b/far"),
        ("a link that goes in and out again", "winding"),
        ("a link to the folder above", "up/secret"),
        ("a link up and back in", "up/work/real/a.txt"),
        ("links in a circle", "loop-a"),
        ("a link to itself", "self/a.txt"),
        ("a magic link to the root", "proc-root"),
        ("a magic link to the folder we are in", "proc-cwd/Cargo.toml"),
        ("a magic link to what we have open", "proc-fd"),
        ("a link to a device", "zero"),
    ];
    for (tries, path) in attacks {
        for (tool, args) in readers(path).into_iter().chain(writers(path)) {
            let failure = world.failure(tool, args).await;
            let is_refused = matches!(failure.kind, FailureKind::Security | FailureKind::Validation);
            assert!(is_refused, "{tries}, {tool}: {failure:?}");
        }
    }
    assert_eq!(outside(&world), before);
}

#[tokio::test]
async fn what_looks_like_a_way_out_elsewhere_is_a_name_here() {
    let world = trapped();
    let before = outside(&world);
    let attacks = [
        ("a home folder", "~/.ssh/id_rsa"),
        ("a backslash", "..\\secret"),
        ("a drive", "C:\\secret"),
        ("percent-encoded dots", "%2e%2e/secret"),
        ("dots encoded twice", "%252e%252e/secret"),
        ("full-width dots", "．．/secret"),
        ("a dot that only looks like one", "․․/secret"),
        ("three dots", ".../secret"),
        ("dots and a blank", ".. /secret"),
        ("an address", "file:///secret"),
        ("a variable", "$HOME/secret"),
        ("a pattern", "*/secret"),
        ("a file as a folder and back", "real/a.txt/../../secret"),
        ("a linked folder and back", "folder-link/../secret-too"),
    ];
    for (tries, path) in attacks {
        for (tool, args) in readers(path) {
            let failure = world.failure(tool, args).await;
            assert!(failure.message.contains("there is no"), "{tries}, {tool}: {failure:?}");
        }
        // What is written stays inside, under just that name.
        world.output("write_file", json!({ "path": path, "content": "inside\n" })).await;
        assert_eq!(world.text("read_file", json!({ "path": path })).await, "1\tinside\n", "{tries}");
    }
    assert_eq!(outside(&world), before);
}

#[tokio::test]
async fn nothing_is_made_where_a_dangling_link_points() {
    let world = trapped();
    for (tool, args) in writers("dangling") {
        world.failure(tool, args).await;
    }
    assert!(!world.folder.path().join("new").exists());
}

#[tokio::test]
async fn a_file_with_a_second_name_outside_is_changed_under_this_one_only() {
    let world = trapped();
    std::fs::hard_link(world.folder.path().join("secret"), world.path("hard")).unwrap();
    let failure = world.failure("append_line", json!({ "path": "hard", "line": "x" })).await;
    assert!(failure.message.contains("has other names (hard links)"), "{failure}");
    let text = world.text("edit_file", json!({ "path": "hard", "old": "secret", "new": "edited" })).await;
    assert!(text.contains("[it had other names (hard links); under those nothing changed]"), "{text}");
    assert_eq!(world.content("hard"), b"edited\n");
    assert_eq!(world.content("../secret"), b"secret\n");
}

#[tokio::test]
async fn a_workspace_whose_name_becomes_a_link_stays_what_it_was() {
    let world = trapped();
    let root = world.path("");
    let moved = world.folder.path().join("moved");
    std::fs::rename(&root, &moved).unwrap();
    std::os::unix::fs::symlink(world.folder.path().join("outside"), root.to_str().unwrap().trim_end_matches('/'))
        .unwrap();

    assert_eq!(world.text("read_file", json!({ "path": "real/a.txt" })).await, "1\tinside\n");
    assert!(world.failure("read_file", json!({ "path": "file" })).await.message.contains("there is no `file`"));
    world.output("write_file", json!({ "path": "new.txt", "content": "x" })).await;
    assert!(moved.join("new.txt").exists() && !world.folder.path().join("outside/new.txt").exists());
}

#[tokio::test]
async fn a_file_that_says_it_has_ten_gigabytes_holds_nobody_up() {
    let world = World::new();
    let sparse = |name: &str, ends: &[u8]| {
        use std::os::unix::fs::FileExt as _;
        let file = std::fs::File::create(world.path(name)).unwrap();
        file.set_len(10 << 30).unwrap();
        file.write_all_at(ends, 0).unwrap();
        file.write_all_at(ends, (10 << 30) - ends.len() as u64).unwrap();
    };
    sparse("sparse.log", "line\n".repeat(2000).as_bytes());
    sparse("sparse.img", b"\0");
    world.put("z.txt", "an x\n");
    world.failure("read_file", json!({ "path": "sparse.log" })).await;
    for (tool, args) in writers("sparse.log").into_iter().take(2) {
        let failure = world.failure(tool, args).await;
        assert!(failure.message.contains("has 10737418240 bytes"), "{tool}: {failure}");
    }
    let output = world.output("search_files", json!({ "pattern": "x" })).await;
    assert_eq!(output.text, "z.txt\n1: an x\n[too large, so not searched: `sparse.log`]\n");
    assert_eq!(output.value.as_ref().unwrap()["too_large"], json!(["sparse.log"]));
    world.output("append_line", json!({ "path": "sparse.log", "line": "x" })).await;
    let failure = world.failure("append_line", json!({ "path": "sparse.img", "line": "x" })).await;
    assert!(failure.message.contains("is not text"), "{failure}");
    assert!(world.text("list_files", json!({})).await.contains("sparse.log  10737.4 MB\n"));
}

#[tokio::test]
async fn no_name_in_a_listing_looks_like_another_line() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::new();
    let names = ["a\nREADME.md: 1: all is well", "b\u{1b}[2J", "c\\d", "~", "e f", &"g".repeat(255)];
    for name in names {
        world.put(name, "text\n");
    }
    let odd = std::ffi::OsStr::from_bytes(b"not-\xFF-text");
    std::fs::write(world.path("").join(odd), "text\n").unwrap();
    let expected =
        ["a\\nREADME.md: 1: all is well", "b\\u{1b}[2J", "c\\d", "e f", &"g".repeat(255), "~"].join("\n") + "\n";
    assert_eq!(world.text("list_files", json!({})).await, expected);
    let found = world.text("search_files", json!({ "pattern": "text" })).await;
    assert_eq!(found.lines().filter(|line| *line == "1: text").count(), 6, "{found}");
    assert!(found.split("\n\n").all(|group| group.lines().count() == 2), "{found}");
    // By their own names they are files like others.
    assert_eq!(world.text("read_file", json!({ "path": names[0] })).await, "1\ttext\n");
    let long = world.failure("write_file", json!({ "path": "h".repeat(4000), "content": "" })).await;
    assert!(long.message.contains("too long for a file name"), "{long}");
}

/// Files that something runs or obeys later, in every spelling, and what is said about them.
#[tokio::test]
async fn a_write_to_what_runs_later_asks_first_and_says_why() {
    let world = World::new();
    for file in ["bare/HEAD", "bare/objects/x", "bare/refs/x", "half/objects/x", "vendor/lib/.git/HEAD"] {
        world.put(file, "");
    }
    let guarded = [
        (".git/hooks/pre-commit", "it is a git hook, which git runs by itself"),
        (".git/hooks/deeper/pre-commit", "it is a git hook, which git runs by itself"),
        (".git/config", "git reads its settings, and those can name programs to run"),
        (".GIT/config", "git reads its settings, and those can name programs to run"),
        ("GIT~1/hooks/post-merge", "it is a git hook, which git runs by itself"),
        (".git./config", "git reads its settings, and those can name programs to run"),
        (".git::$DATA/config", "git reads its settings, and those can name programs to run"),
        (".g\u{200c}it/config", "git reads its settings, and those can name programs to run"),
        (".git/info/attributes", "git runs the filters that it names"),
        ("vendor/lib/.git/hooks/pre-push", "it is a git hook, which git runs by itself"),
        ("sub/.git", "it points git to another repository, with hooks and settings of its own"),
        ("bare/hooks/post-update", "it is a git hook, which git runs by itself"),
        ("bare/config", "git reads its settings, and those can name programs to run"),
        ("half/HEAD", "it makes the folder a git repository, whose hooks git would run"),
        (".vscode/tasks.json", "an editor runs tasks from it"),
        ("sub/.idea/workspace.xml", "an editor runs tasks from it"),
        ("x.code-workspace", "an editor runs tasks from it"),
        (".envrc", "direnv runs it on entering the folder"),
        (".ENVRC", "direnv runs it on entering the folder"),
        (".mcp.json", "an agent starts servers from it"),
        ("mcp_servers.json", "an agent starts servers from it"),
        (".claude/settings.json", "a coding agent takes settings from it"),
        (".github/hooks/x.json", "a coding agent takes settings from it"),
        (".bashrc", "a shell runs it at start"),
        (".config/fish/config.fish", "a shell runs it at start"),
        (".updraft/config.toml", "it contains Updraft's settings and agents"),
        (".updraft/tools/new.py", "it contains Updraft's settings and agents"),
        ("updraft.toml", "it contains Updraft's settings"),
    ];
    for (path, why) in guarded {
        for (tool, args) in writers(path) {
            let prepared = world.dispatcher.prepare(&crate::common::call(tool, args), &world.place);
            let said = (prepared.outside, prepared.sends, prepared.because.as_deref(), prepared.fault.as_ref());
            assert_eq!(said, (true, true, Some(why), None), "{tool} {path}");
        }
    }
    for path in ["src/main.rs", ".gitignore", ".github/workflows/ci.yml", "hooks/x", "config", "HEAD", "notes/refs/a"] {
        for (tool, args) in writers(path) {
            let prepared = world.dispatcher.prepare(&crate::common::call(tool, args), &world.place);
            let said = (prepared.outside, prepared.sends, prepared.because, prepared.fault);
            assert_eq!(said, (false, false, None, None), "{tool} {path}");
        }
    }
}

/// Each call was harmless when it was weighed; which of them is made last changes nothing.
#[tokio::test]
async fn calls_that_make_a_repository_together_are_refused_at_the_last_moment() {
    let files = ["b/HEAD", "b/objects/x", "b/refs/x", "b/config"];
    for first in 0..files.len() {
        for backwards in [false, true] {
            let world = World::new();
            let mut order: Vec<&str> = (0..files.len()).map(|n| files[(first + n) % files.len()]).collect();
            if backwards {
                order.reverse();
            }
            let calls: Vec<_> =
                order.iter().map(|path| crate::common::call("write_file", writers(path)[0].1.clone())).collect();
            for call in &calls {
                assert!(!world.dispatcher.prepare(call, &world.place).outside, "{order:?}");
            }
            let made = calls.iter().map(|call| async { world.dispatcher.call(call, &world.cx()).await.reply });
            let replies = futures_util::future::join_all(made).await;
            let refused = replies.iter().filter(|reply| {
                matches!(reply, Reply::Failed(failure) if failure.kind == FailureKind::Security
                    && failure.message.contains("call it again, alone"))
            });
            assert!(refused.count() >= 1, "{order:?}: {replies:?}");
            let there = |name: &str| world.path("b").join(name).exists();
            let is_repository =
                (there("HEAD") && (there("objects") || there("refs"))) || (there("objects") && there("refs"));
            assert!(!is_repository, "{order:?}");
        }
    }
    // Whichever tool it is, and only until somebody has agreed.
    let world = World::new();
    world.put("b/config", "e\n");
    let calls: Vec<_> = writers("b/config").into_iter().map(|(tool, args)| crate::common::call(tool, args)).collect();
    assert!(calls.iter().all(|call| !world.dispatcher.prepare(call, &world.place).outside));
    for mark in ["b/HEAD", "b/objects/x", "b/refs/x"] {
        world.put(mark, "");
    }
    for call in &calls {
        let reply = world.dispatcher.call(call, &world.cx()).await.reply;
        assert!(matches!(&reply, Reply::Failed(failure) if failure.kind == FailureKind::Security), "{reply:?}");
        assert_eq!(world.content("b/config"), b"e\n");
    }
    let mut agreed = world.cx();
    agreed.around.reaches_outside = true;
    let reply = world.dispatcher.call(&calls[0], &agreed).await.reply;
    assert!(matches!(reply, Reply::Output(_)), "{reply:?}");
}

/// Started as a process of its own by the test below: swaps files and folders for links in the folder it runs in.
#[test]
#[ignore = "a part of the race, not a test"]
fn swaps() {
    let (here, exchange) = (rustix::fs::CWD, rustix::fs::RenameFlags::EXCHANGE);
    let begun = std::time::Instant::now();
    while begun.elapsed() < std::time::Duration::from_secs(4) {
        for _ in 0..100 {
            for (one, other) in [("dir", "evil-dir"), ("file", "evil-file"), ("top/dir", "top/evil-dir")] {
                if rustix::fs::renameat_with(here, one, here, other, exchange).is_err() {
                    return;
                }
            }
        }
    }
}

/// For four seconds another process turns folders and a file into links to the outside and back, as quickly as it can.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the race needs a second process")]
async fn links_swapped_in_by_another_process_lead_nowhere() {
    let world = trapped();
    std::fs::write(world.folder.path().join("outside/only-outside"), "secret\n").unwrap();
    for file in ["dir/file", "file", "top/dir/file"] {
        world.put(file, "inside\n");
    }
    world.link("../outside", "evil-dir");
    world.link("../secret", "evil-file");
    world.link("../../outside", "top/evil-dir");
    let before = outside(&world);
    let mut swapping = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "attacks::swaps"])
        .current_dir(world.path(""))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();

    let (mut done, mut refused) = ([0u32; 6], [0u32; 6]);
    while swapping.try_wait().unwrap().is_none() {
        for (at, (tool, args)) in [
            ("read_file", json!({ "path": "dir/file" })),
            ("read_file", json!({ "path": "file" })),
            ("list_files", json!({ "path": "dir" })),
            ("list_files", json!({})),
            ("search_files", json!({ "path": "top/dir", "pattern": "." })),
            ("search_files", json!({ "pattern": "." })),
            ("write_file", json!({ "path": "dir/new", "content": "inside\n" })),
            ("write_file", json!({ "path": "top/dir/made/new", "content": "inside\n" })),
            ("edit_file", json!({ "path": "file", "old": "inside", "new": "inside" })),
            ("edit_file", json!({ "path": "dir/file", "old": "e", "new": "E", "replace_all": true })),
            ("edit_file", json!({ "path": "dir/file", "old": "E", "new": "e", "replace_all": true })),
            ("append_line", json!({ "path": "top/dir/file", "line": "inside" })),
        ]
        .into_iter()
        .enumerate()
        {
            match world.call(tool, args).await {
                Reply::Output(output) => {
                    let told = format!("{} {}", output.text, output.value.clone().unwrap_or_default());
                    assert!(!told.contains("secret\n") && !told.contains("only-outside"), "{tool}: {told}");
                    done[at / 2] += 1;
                }
                Reply::Failed(failure) if failure.kind == FailureKind::Security => refused[at / 2] += 1,
                Reply::Failed(_) => {}
                other => panic!("{tool}: {other:?}"),
            }
        }
    }
    assert!(swapping.wait().unwrap().success());
    println!("read, list, search, write, edit, append: done {done:?}, refused {refused:?}");
    // The race is one: the same calls met the file and the link.
    assert!(done.iter().all(|count| *count > 0), "{done:?}");
    assert!(refused.iter().all(|count| *count > 0), "{refused:?}");
    assert_eq!(outside(&world), before);
}
