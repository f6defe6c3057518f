//! Commands whose changes are gathered first: everything reaches the workspace as the command left it, what was there is
//! kept, and nothing is left behind. As the user who runs the tests and, if that is root, as an ordinary one.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout, reason = "tests start processes")]

use std::collections::BTreeMap;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::support::{PROGRAM, Workspace, can_test, run, shell};
use serde_json::Value;
use updraft_sandbox::{Policy, SandboxLevel};
use updraft_workspace::FileKind;

/// An ordinary user that no machine has.
const ORDINARY: u32 = 54_321;

struct Place {
    folder: tempfile::TempDir,
    /// Where changes are gathered, if that is not beside the workspace.
    stage: Option<PathBuf>,
    user: Option<u32>,
}

impl Place {
    fn new(user: Option<u32>) -> Place {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::copy(PROGRAM, folder.path().join("program")).unwrap();
        for name in ["ws", "staged"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let place = Place { folder, user, stage: None };
        place.script(
            "umask 022; mkdir -p folder/deep gone kept; echo a > a.txt; echo b > folder/b; echo c > folder/deep/c",
        );
        place.script("echo x > gone/x; echo k > kept/k; chmod 750 kept; ln -s a.txt link; touch -d @1000000000 a.txt");
        place.give(&place.ws());
        place
    }

    fn ws(&self) -> PathBuf {
        self.folder.path().join("ws")
    }

    fn give(&self, path: &Path) {
        let Some(id) = self.user else { return };
        std::os::unix::fs::lchown(path, Some(id), Some(id)).unwrap();
        if path.symlink_metadata().unwrap().is_dir() {
            for entry in std::fs::read_dir(path).unwrap() {
                self.give(&entry.unwrap().path());
            }
        }
    }

    /// Without any sandbox, as whoever runs the tests.
    fn script(&self, script: &str) {
        let done = std::process::Command::new("/bin/sh").args(["-ec", script]).current_dir(self.ws()).status().unwrap();
        assert!(done.success(), "{script}");
    }

    fn policy(&self, is_staged: bool) -> Policy {
        let usual = || self.folder.path().join("staged");
        let staged = is_staged.then(|| self.stage.clone().unwrap_or_else(usual));
        Policy { staged, ..Policy::strict(self.ws()) }
    }

    /// In the sandbox, staged or not, as the user of this place.
    fn run(&self, script: &str, is_staged: bool) -> Value {
        for path in [self.folder.path().join("staged"), self.folder.path().join("program")] {
            if let Some(id) = self.user {
                chown(path, Some(id), Some(id)).unwrap();
            }
        }
        let policy = serde_json::to_string(&self.policy(is_staged)).unwrap();
        let mut command = std::process::Command::new("/bin/sh");
        // The usual limit, whatever the machine's is.
        command.args(["-c", "ulimit -Sn 1024; exec \"$@\"", "sh"]).arg(self.folder.path().join("program"));
        command.args(["exec", "full", &policy, "/bin/sh", "-c", script]).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").stdin(Stdio::null()).current_dir("/");
        if let Some(id) = self.user {
            command.uid(id).gid(id);
        }
        let output = command.output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report.get("error"), None, "{report}");
        report
    }

    /// Everything there is: what, mode, content; and when, of files that nobody changed.
    fn tree(&self) -> BTreeMap<PathBuf, String> {
        let mut tree = BTreeMap::new();
        walk(&self.ws(), &self.ws(), &mut tree);
        tree
    }
}

fn walk(root: &Path, folder: &Path, tree: &mut BTreeMap<PathBuf, String>) {
    let about = folder.symlink_metadata().unwrap();
    tree.insert(folder.strip_prefix(root).unwrap().to_owned(), format!("folder {:o}", about.mode() & 0o7777));
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let about = path.symlink_metadata().unwrap();
        let kind = about.file_type();
        let (mode, name) = (about.mode() & 0o7777, path.strip_prefix(root).unwrap().to_owned());
        if kind.is_dir() {
            walk(root, &path, tree);
        } else if kind.is_symlink() {
            tree.insert(name, format!("link {}", std::fs::read_link(&path).unwrap().display()));
        } else if kind.is_file() {
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            tree.insert(name, format!("file {mode:o} {} {text}", about.nlink()));
        } else {
            tree.insert(name, format!("other {mode:o} {}", kind.is_fifo()));
        }
    }
}

fn users() -> Vec<Option<u32>> {
    if rustix::process::geteuid().is_root() { vec![None, Some(ORDINARY)] } else { vec![None] }
}

/// What a command may do to a workspace, each by itself.
const DOINGS: [&str; 22] = [
    "echo more >> a.txt",
    "echo new > new.txt; mkdir -p one/two/three; echo n > one/two/three/file",
    "rm a.txt link",
    "rm -r folder gone",
    "rm -r folder; mkdir folder; echo other > folder/z",
    "rm -r folder; mkdir folder; mkdir folder/deep; echo other > folder/deep/d",
    "rm -r folder; echo now-a-file > folder",
    "rm a.txt; mkdir a.txt; echo in > a.txt/in",
    "mv folder moved",
    "mv a.txt folder/a; mv folder/b b",
    "chmod 600 a.txt; chmod 700 kept; chmod +x folder/b",
    "rm link; ln -s nowhere link; ln -s folder other-link",
    "mkfifo pipe; echo x > gone/y; rm gone/x",
    "echo l > l1; ln l1 l2; ln l1 folder/l3",
    "touch -d @1234567890 a.txt; touch folder/b",
    "umask 077; echo secret > s; mkdir closed; echo in > closed/in; chmod 500 closed; chmod 000 s",
    "dd if=/dev/zero of=sparse bs=1 count=1 seek=1000000 2>/dev/null",
    "git init -q . 2>/dev/null; git add -A 2>/dev/null; git -c user.name=n -c user.email=e@x commit -qm m 2>/dev/null; rm -rf .git",
    "for i in 1 2 3 4 5; do echo $i > a.txt; mv a.txt b.txt; mv b.txt a.txt; done",
    "cp -a folder copy; rm -r copy/deep; mv copy folder/copy",
    "chmod 555 folder; chmod 755 folder; echo in > folder/deep/new; chmod 555 folder",
    "exit 3",
];

#[test]
fn the_workspace_becomes_what_it_would_have_become_without_staging() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    for user in users() {
        for doing in DOINGS {
            let (staged, plain) = (Place::new(user), Place::new(user));
            let (report, other) = (staged.run(doing, true), plain.run(doing, false));
            assert_eq!(report["unstaged"], Value::Null, "{doing}");
            assert_eq!(report["troubles"], serde_json::json!([]), "{doing}");
            assert_eq!((&report["code"], &report["stderr"]), (&other["code"], &other["stderr"]), "{doing}");
            assert_eq!(staged.tree(), plain.tree(), "{doing} as {user:?}");
            let left = std::fs::read_dir(staged.folder.path().join("staged")).unwrap().count();
            assert_eq!(left, 0, "{doing}: nothing stays behind");
        }
    }
}

#[test]
fn another_disk_is_no_hindrance() {
    let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") else { return };
    let is_other = elsewhere.path().metadata().unwrap().dev() != std::env::temp_dir().metadata().unwrap().dev();
    if !can_test(SandboxLevel::Full) || !is_other {
        return;
    }
    // A pipe or a second name cannot be carried to another disk.
    for doing in DOINGS.iter().filter(|doing| !doing.contains("mkfifo") && !doing.contains("ln l1")) {
        let (mut staged, plain) = (Place::new(None), Place::new(None));
        staged.stage = Some(elsewhere.path().to_owned());
        let report = staged.run(doing, true);
        plain.run(doing, false);
        if report["unstaged"].is_string() {
            // Older kernels keep no attributes there.
            return;
        }
        assert_eq!((&report["troubles"], staged.tree()), (&serde_json::json!([]), plain.tree()), "{doing}");
        assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0, "{doing}");
    }
}

/// A disk of its own, if we may make one.
pub(crate) struct Disk(PathBuf);

impl Disk {
    pub(crate) fn new(at: PathBuf, options: &str) -> Option<Disk> {
        std::fs::create_dir_all(&at).unwrap();
        let mount = std::process::Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&at).output();
        let is_mounted = mount.is_ok_and(|done| done.status.success());
        if !is_mounted {
            println!("skipped: only root can make a small disk");
        }
        is_mounted.then_some(Disk(at))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_workspace_keeps_what_is_there_and_the_command_failed() {
    let place = Place::new(None);
    let Some(_disk) = Disk::new(place.ws(), "size=1m").filter(|_| can_test(SandboxLevel::Full)) else { return };
    place.script("head -c 400000 /dev/zero > big; echo old > piped; echo small > small");
    let report = place.run("head -c 900000 /dev/zero > big; rm piped; mkfifo piped; echo new > small", true);
    assert_eq!((&report["code"], &report["unstaged"]), (&serde_json::json!(125), &Value::Null), "{report}");
    assert_eq!(place.ws().join("big").metadata().unwrap().len(), 400_000);
    let read = |name: &str| std::fs::read_to_string(place.ws().join(name)).unwrap();
    assert_eq!((read("piped"), read("small")), ("old\n".into(), "new\n".into()));
    assert_eq!(place.tree().len(), 4, "no copy stays beside: {:?}", place.tree().keys());
    let listed: Vec<_> = report["changes"].as_array().unwrap().iter().map(|one| &one["path"]).collect();
    assert_eq!(listed, ["small"], "{report}");
    let troubles = report["troubles"].to_string();
    assert!(troubles.contains("`big` is lost") && troubles.contains("`piped` is lost"), "{troubles}");
}

#[test]
fn a_full_state_disk_changes_nothing_about_the_commands_end() {
    let mut place = Place::new(None);
    let Some(disk) = Disk::new(place.folder.path().join("state"), "size=1m").filter(|_| can_test(SandboxLevel::Full))
    else {
        return;
    };
    place.stage = Some(disk.0.clone());
    let report = place.run("echo evil > .envrc; echo new > a.txt; cat /dev/zero > full 2>/dev/null; exit 3", true);
    if report["unstaged"].is_string() {
        // Older kernels keep no attributes there.
        return;
    }
    assert_eq!(report["code"], 3, "{report}");
    assert!(!place.ws().join(".envrc").exists(), "{report}");
    assert_eq!(report["moved_aside"].as_array().unwrap().len(), 1, "{report}");
    let listed: Vec<_> = report["changes"].as_array().unwrap().iter().map(|one| one["path"].as_str()).collect();
    assert_eq!(listed.len(), 3, "{report}");
    assert!(place.ws().join("full").metadata().unwrap().len() > 500_000);
    assert_eq!(std::fs::read_to_string(place.ws().join("a.txt")).unwrap(), "new\n");
}

#[test]
fn a_command_that_says_nothing_of_a_full_disk_has_failed_and_its_files_are_named() {
    let mut place = Place::new(None);
    let Some(disk) = Disk::new(place.folder.path().join("state"), "size=1m").filter(|_| can_test(SandboxLevel::Full))
    else {
        return;
    };
    place.stage = Some(disk.0.clone());
    let report = place.run("cat /dev/zero > full 2>/dev/null; exit 0", true);
    if report["unstaged"].is_string() {
        // Older kernels keep no attributes there.
        return;
    }
    assert_eq!(report["code"], 125, "{report}");
    let told = serde_json::json!(["`full` may be cut short: the disk was full when the command ended"]);
    assert_eq!(report["troubles"], told);
    let report = place.run("cat /dev/zero > full 2>/dev/null; rm full; echo small > small", true);
    assert_eq!((&report["code"], &report["troubles"]), (&serde_json::json!(0), &serde_json::json!([])), "it made room");
}

#[test]
fn folders_deeper_than_there_are_descriptors_arrive_and_go() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let place = Place::new(None);
    let report = place.run("for i in $(seq 1500); do mkdir d && cd d; done; echo bottom > f", true);
    assert_eq!((&report["code"], &report["troubles"]), (&serde_json::json!(0), &serde_json::json!([])));
    let bottom = place.ws().join("d/".repeat(1500)).join("f");
    assert_eq!(std::fs::read_to_string(bottom).unwrap(), "bottom\n");
    place.script("rm -r d");
    let report = place.run("for i in $(seq 2010); do mkdir d && cd -P ./d; done", true);
    let troubles = report["troubles"].as_array().unwrap();
    assert!(troubles.len() == 1 && troubles[0].as_str().unwrap().len() < 400, "{troubles:?}");
    place.script("rm -r d");
    assert_eq!(std::fs::read_dir(place.folder.path().join("staged")).unwrap().count(), 0);
}

#[test]
fn what_a_command_that_was_cut_off_replaced_is_kept_and_named() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let place = Place::new(None);
    let staged = place.folder.path().join("staged");
    std::fs::create_dir_all(staged.join("command-one/before")).unwrap();
    std::fs::write(staged.join("command-one/before/1"), "old").unwrap();
    std::fs::create_dir_all(staged.join("command-two/before")).unwrap();
    std::fs::write(staged.join("command-two/changes.json"), "").unwrap();
    let report = place.run("true", true);
    assert!(report["troubles"][0].as_str().unwrap().contains("staged/cut-off-one`"), "{report}");
    assert_eq!(place.run("true", true)["troubles"], serde_json::json!([]), "it is said once");
    let left: Vec<_> = std::fs::read_dir(&staged).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["cut-off-one"]);
    assert_eq!(std::fs::read_to_string(staged.join("cut-off-one/before/1")).unwrap(), "old");
}

#[test]
fn times_are_those_the_command_gave() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let place = Place::new(None);
    place.run(
        "touch -d @1234567890 a.txt; touch -d @1111111111 kept; cp -p a.txt folder/copy; echo x >> folder/b",
        true,
    );
    let time = |name: &str| place.ws().join(name).metadata().unwrap().mtime();
    assert_eq!((time("a.txt"), time("kept"), time("folder/copy")), (1_234_567_890, 1_111_111_111, 1_234_567_890));
}

#[tokio::test]
async fn what_changed_is_listed_with_what_was_there() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let place = Workspace::new();
    place.write("a.txt", "old\n");
    place.write("gone/x", "x\n");
    place.write("same", "same\n");
    let policy = Policy { staged: Some(place.path().with_extension("aside").join("staged")), ..place.policy() };
    let script = "echo new > a.txt; rm -r gone; mkdir made; echo m > made/m; echo same > same; chmod 600 same";
    let ended = run(SandboxLevel::Full, &policy, shell(script)).await.unwrap();
    let staged = ended.staged.unwrap();
    let mut told = Vec::new();
    for one in staged.changes().unwrap() {
        let kept = one.kept.map(|number| std::io::read_to_string(staged.open_kept(number).unwrap()).unwrap());
        told.push((one.path, one.was.map(|look| look.kind), one.now.map(|look| look.kind), kept));
    }
    told.sort_by(|one, other| one.0.cmp(&other.0));
    let (file, folder) = (Some(FileKind::File), Some(FileKind::Folder));
    let wanted = [
        ("a.txt", file, file, Some("old\n")),
        ("gone", folder, None, None),
        ("gone/x", file, None, Some("x\n")),
        ("made", None, folder, None),
        ("made/m", None, file, None),
        ("same", file, file, None),
    ];
    let wanted = wanted.map(|(path, was, now, kept)| (path.to_owned(), was, now, kept.map(str::to_owned)));
    assert_eq!(told, wanted);
    drop(staged);
    assert_eq!(std::fs::read_dir(policy.staged.unwrap()).unwrap().count(), 0);
}

#[tokio::test]
async fn two_commands_at_once_both_count_and_a_file_of_both_is_named() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let place = Workspace::new();
    place.write("both", "old\n");
    let policy = Policy { staged: Some(place.path().with_extension("aside").join("staged")), ..place.policy() };
    let first = run(SandboxLevel::Full, &policy, shell("echo 1 > one; echo 1 > both; sleep 1"));
    let second = run(SandboxLevel::Full, &policy, shell("echo 2 > two; echo 2 > both; sleep 3"));
    let (first, second) = tokio::join!(first, second);
    let contested = |ended: &updraft_sandbox::ChildResult| -> Vec<String> {
        let all = ended.staged.as_ref().unwrap().changes().unwrap();
        all.into_iter().filter(|one| one.contested).map(|one| one.path).collect()
    };
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!((contested(&first), contested(&second)), (vec![], vec!["both".to_owned()]));
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    assert_eq!((read("one"), read("two"), read("both")), ("1\n".into(), "2\n".into(), "2\n".into()));
}

#[tokio::test]
async fn nothing_of_a_command_that_nobody_waits_for_reaches_the_workspace() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let place = Workspace::new();
    let staged = place.path().with_extension("aside").join("staged");
    let policy = Policy { staged: Some(staged.clone()), ..place.policy() };
    let sandbox = updraft_sandbox::Sandbox::new(PROGRAM, SandboxLevel::Full).unwrap();
    let child = sandbox.spawn(&policy, shell("echo x > made; sleep 100")).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    drop(child);
    for _ in 0..200 {
        if crate::support::left_in(&place).is_empty() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    // What a process that was killed left behind goes with the next command.
    std::fs::create_dir_all(staged.join("command-left/upper")).unwrap();
    let ended = run(SandboxLevel::Full, &policy, shell("ls")).await.unwrap();
    assert_eq!(ended.stdout.text(), "");
    drop(ended);
    assert_eq!(std::fs::read_dir(&staged).unwrap().count(), 0);
}

#[tokio::test]
async fn a_hook_that_is_planted_is_moved_aside_as_ever() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let place = Workspace::new();
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    place.write(".git/config", "[core]\n");
    std::fs::create_dir_all(place.path().join(".git/objects")).unwrap();
    std::fs::create_dir_all(place.path().join(".git/hooks")).unwrap();
    let policy = Policy { staged: Some(place.path().with_extension("aside").join("staged")), ..place.policy() };
    let script = "echo evil > .git/hooks/pre-commit; echo evil >> .git/config; echo x > .git/index; \
                  mkdir -p sub/.vscode; echo evil > sub/.vscode/tasks.json; mv .git other; true";
    let ended = run(SandboxLevel::Full, &policy, shell(script)).await.unwrap();
    assert!(ended.staged.is_some(), "{:?}", ended.unstaged);
    let moved: Vec<_> = ended.moved_aside.iter().map(|moved| moved.path.strip_prefix(place.path()).unwrap()).collect();
    assert_eq!(moved, [Path::new("sub/.vscode")]);
    assert_eq!(std::fs::read_to_string(place.path().join(".git/config")).unwrap(), "[core]\n");
    assert_eq!(std::fs::read_to_string(place.path().join(".git/index")).unwrap(), "x\n");
    assert!(!place.path().join(".git/hooks/pre-commit").exists() && !place.path().join("sub/.vscode").exists());
}
