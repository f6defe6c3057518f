//! Commands at the same time in one workspace, and others who write there meanwhile: nothing is lost, and whoever does not
//! get in another's way does not wait for it.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests start processes")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use crate::support::{PROGRAM, Workspace, can_test, shell};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use updraft_sandbox::{CaptureOptions, ChildResult, Command, LineListener, OutputMode, Policy, Sandbox, SandboxLevel};

/// Rounds of the test that has commands get in each other's way; `UPDRAFT_TEST_ROUNDS` asks for more.
fn rounds() -> usize {
    std::env::var("UPDRAFT_TEST_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(5)
}

fn gathered(place: &Workspace) -> Policy {
    Policy { staged: Some(place.path().with_extension("aside").join("staged")), ..place.policy() }
}

/// Runs all of them at once, and gives how each ended in the same order.
async fn all_at_once(level: SandboxLevel, policy: &Policy, commands: Vec<Command>) -> Vec<ChildResult> {
    let sandbox = Sandbox::new(PROGRAM, level).unwrap();
    let mut running = JoinSet::new();
    for (at, command) in commands.into_iter().enumerate() {
        let (sandbox, policy) = (sandbox.clone(), policy.clone());
        running.spawn(async move { (at, sandbox.run(&policy, command, &[]).await.unwrap()) });
    }
    let mut all = running.join_all().await;
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, ended)| ended).collect()
}

/// What a command may wait for though nothing that it does is seen outside.
struct Gate {
    folder: tempfile::TempDir,
    open: std::fs::File,
    came: Arc<Semaphore>,
}

impl Gate {
    fn new() -> Gate {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gate");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let open = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        Gate { folder, open, came: Arc::new(Semaphore::new(0)) }
    }

    fn policy(&self, place: &Workspace) -> Policy {
        Policy { read: vec![self.folder.path().to_owned()], ..gathered(place) }
    }

    /// Says that it has begun, waits for the gate, then does the rest.
    fn command(&self, before: &str, after: &str) -> Command {
        let gate = self.folder.path().join("gate");
        let script =
            format!("{before}\necho begun\ndd if={} bs=1 count=1 2>/dev/null >/dev/null\n{after}", gate.display());
        let came = self.came.clone();
        let listener = LineListener::to(move |line| came.add_permits(usize::from(line == "begun")));
        Command {
            output: OutputMode::Capture(CaptureOptions { listener, ..CaptureOptions::default() }),
            ..shell(&script)
        }
    }

    /// Waits until so many are at the gate, then opens it for them.
    async fn all_have_come(&self, count: u32) {
        self.came.acquire_many(count).await.unwrap().forget();
    }

    fn let_pass(&mut self, count: usize) {
        self.open.write_all(&vec![1; count]).unwrap();
    }
}

fn read(place: &Path, name: &str) -> String {
    std::fs::read_to_string(place.join(name)).unwrap_or_default()
}

/// A workspace with a log, a database, a repository and something to build, and so many commands for each.
struct Shared {
    place: Workspace,
    each: usize,
}

const INSERT: &str = "python3 -c 'import sqlite3\nc = sqlite3.connect(\"rows.db\", timeout=60)\n\
    c.execute(\"insert into rows values (1)\")\nc.commit()\nc.close()'";
const COMMIT: &str = "git -c user.name=n -c user.email=e@x -c gc.auto=0 commit -q --allow-empty -m m && git status --porcelain >/dev/null";
const BUILD: &str = "mkdir -p target/deps; n=$(cat target/count 2>/dev/null || echo 0); n=$((n+1)); \
    echo $n > target/count.new; mv target/count.new target/count; echo $n > target/deps/$n";

impl Shared {
    fn new(each: usize) -> Shared {
        let place = Workspace::new();
        let set_up = "git init -q . && python3 -c 'import sqlite3\nc = sqlite3.connect(\"rows.db\")\n\
            c.execute(\"create table rows (x)\")\nc.commit()'";
        let mut sh = std::process::Command::new("sh");
        assert!(sh.args(["-c", set_up]).current_dir(place.path()).status().unwrap().success());
        Shared { place, each }
    }

    fn scripts(&self) -> Vec<&'static str> {
        ["echo line >> log", INSERT, COMMIT, BUILD].into_iter().flat_map(|one| vec![one; self.each]).collect()
    }

    fn commands(&self) -> Vec<Command> {
        self.scripts().into_iter().map(shell).collect()
    }

    /// Lines, rows, commits and builds.
    fn counts(&self) -> [usize; 4] {
        let count = |script: &str| {
            let output = std::process::Command::new("sh").args(["-c", script]).current_dir(self.place.path()).output();
            String::from_utf8(output.unwrap().stdout).unwrap().trim().parse().unwrap_or(0)
        };
        let rows = "python3 -c 'import sqlite3\nc = sqlite3.connect(\"rows.db\")\n\
            print(c.execute(\"select count(*) from rows\").fetchone()[0])'";
        let built = count("cat target/count").min(count("ls target/deps | wc -l"));
        [count("wc -l < log"), count(rows), count("git rev-list --count HEAD"), built]
    }
}

fn can_share() -> bool {
    let has = |program: &str| std::process::Command::new(program).arg("--version").output().is_ok();
    let can = can_test(SandboxLevel::Full) && has("git") && has("python3");
    if !can {
        std::io::stderr().write_all(b"!! SKIP: needs the level `full`, git and python3\n").unwrap();
    }
    can
}

#[tokio::test]
async fn commands_at_the_same_time_lose_nothing_of_each_other() {
    if !can_share() {
        return;
    }
    let (mut again, mut run) = (0, 0);
    for round in 0..rounds() {
        let shared = Shared::new(6);
        let ended = all_at_once(SandboxLevel::Full, &gathered(&shared.place), shared.commands()).await;
        for one in &ended {
            assert!(one.succeeded(), "round {round}: {one:?}");
            let is_told = one.troubles.iter().any(|told| told.contains("run again, alone"));
            assert_eq!(is_told, !one.run_again_for.is_empty(), "{one:?}");
        }
        assert_eq!(shared.counts(), [6; 4], "round {round}");
        run += ended.len();
        again += ended.iter().filter(|one| !one.run_again_for.is_empty()).count();
    }
    std::io::stderr().write_all(format!("{run} commands, {again} of them run again\n").as_bytes()).unwrap();
}

#[test]
fn four_processes_lose_nothing_of_each_other() {
    if !can_share() {
        return;
    }
    for round in 0..rounds() {
        let shared = Shared::new(8);
        let policy = serde_json::to_string(&gathered(&shared.place)).unwrap();
        let mut processes: Vec<_> = (0..4)
            .map(|_| {
                let mut process = std::process::Command::new(PROGRAM);
                process.args(["together", &policy, "echo line >> log", INSERT, COMMIT, BUILD]);
                process.args(["echo line >> log", INSERT, COMMIT, BUILD]);
                process.stdout(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        for process in processes.drain(..) {
            let output = process.wait_with_output().unwrap();
            let reports: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(reports.len(), 8);
            for report in reports {
                assert_eq!(report["code"], 0, "round {round}: {report}");
            }
        }
        assert_eq!(shared.counts(), [8; 4], "round {round}");
    }
}

#[tokio::test]
async fn fifty_commands_that_meet_nowhere_are_under_way_at_the_same_time() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let (place, mut gate) = (Workspace::new(), Gate::new());
    place.write("there", "there\n");
    let policy = gate.policy(&place);
    let doing = |at: usize| match at % 3 {
        0 => "cat there".to_owned(),
        1 => format!("echo {at} > own-{at}"),
        _ => format!("mkdir -p common/deep; echo {at} > common/deep/{at}; rm -f no-such"),
    };
    let commands = (0..50).map(|at| gate.command(&doing(at), "true")).collect();
    let running = all_at_once(SandboxLevel::Full, &policy, commands);
    let opening = async {
        gate.all_have_come(50).await;
        gate.let_pass(50);
    };
    let (ended, ()) = tokio::join!(running, opening);
    for one in &ended {
        assert!(one.succeeded() && one.run_again_for.is_empty() && one.troubles.is_empty(), "{one:?}");
    }
    for at in 0..50 {
        match at % 3 {
            0 => {}
            1 => assert_eq!(read(place.path(), &format!("own-{at}")), format!("{at}\n")),
            _ => assert_eq!(read(place.path(), &format!("common/deep/{at}")), format!("{at}\n")),
        }
    }
}

/// What a command does, what somebody else does meanwhile, for which files it is run again, and what is there in the end.
type Meeting = (&'static str, &'static str, &'static [&'static str], &'static str);

const MEETINGS: [Meeting; 14] = [
    ("echo own >> f", "echo other >> f", &["f"], "f: first other own"),
    ("echo own > new", "echo other > new", &["new"], "f: first; new: own"),
    ("echo own >> new", "echo other > new", &["new"], "f: first; new: other own"),
    ("echo own >> f", "rm f", &["f"], "f: own"),
    ("echo own >> f", "mv f g", &["f"], "f: own; g: first"),
    ("echo own >> f", "chmod 600 f", &["f"], "f: first own"),
    ("echo own > t; mv t f", "echo other > u; mv u f", &["f"], "f: own"),
    ("rm f", "echo other >> f", &["f"], ""),
    ("rm -r d", "echo other > d/new", &["d"], "f: first"),
    ("rm -r d; mkdir d; echo own > d/own", "echo other >> d/in", &["d/in"], "d/own: own; f: first"),
    ("echo own >> d/in", "mv d e", &["d"], "e/in: in; f: first"),
    ("echo own >> f; echo own > g", "echo other > h", &[], "f: first own; g: own; h: other"),
    ("mkdir -p m; echo own > m/own", "mkdir m; echo other > m/other", &[], "f: first; m/other: other; m/own: own"),
    ("cat late", "echo other > late", &["."], "f: first; late: other"),
];

#[tokio::test]
async fn a_command_is_run_again_where_others_changed_what_it_changed() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    for (own, other, again_for, wanted) in MEETINGS {
        let (place, mut gate) = (Workspace::new(), Gate::new());
        place.write("f", "first\n");
        if own.contains(" d") {
            place.write("d/in", "in\n");
        }
        let sandbox = Sandbox::new(PROGRAM, SandboxLevel::Full).unwrap();
        let (policy, command) = (gate.policy(&place), gate.command(&format!("({own}); code=$?"), "exit $code"));
        let opening = async {
            gate.all_have_come(1).await;
            let mut sh = std::process::Command::new("sh");
            assert!(sh.args(["-c", other]).current_dir(place.path()).status().unwrap().success());
            gate.let_pass(3);
        };
        let (ended, ()) = tokio::join!(sandbox.run(&policy, command, &[]), opening);
        let ended = ended.unwrap();
        assert_eq!(ended.run_again_for, again_for, "{own} | {other}: {ended:?}");
        let mut found: Vec<String> = Vec::new();
        list(place.path(), place.path(), &mut found);
        found.sort();
        let wanted: Vec<&str> = wanted.split("; ").filter(|one| !one.is_empty()).collect();
        assert_eq!(found, wanted, "{own} | {other}");
    }
}

/// Every file, with its lines.
fn list(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list(root, &path, found);
        } else {
            let text = std::fs::read_to_string(&path).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            found.push(format!("{}: {}", path.strip_prefix(root).unwrap().display(), lines.join(" ")));
        }
    }
}

#[tokio::test]
async fn files_that_others_change_each_time_are_overwritten_at_last_and_named() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let (place, mut gate) = (Workspace::new(), Gate::new());
    let sandbox = Sandbox::new(PROGRAM, SandboxLevel::Full).unwrap();
    let (policy, command) = (gate.policy(&place), gate.command("echo own >> f", "true"));
    let opening = async {
        for time in 1..=3 {
            gate.all_have_come(1).await;
            place.write("f", &format!("other {time}\n"));
            gate.let_pass(1);
        }
    };
    let (ended, ()) = tokio::join!(sandbox.run(&policy, command, &[]), opening);
    let ended = ended.unwrap();
    let changes = ended.staged.as_ref().unwrap().changes().unwrap();
    assert!(ended.succeeded() && ended.run_again_for == ["f"] && changes[0].contested, "{ended:?}");
    assert_eq!(read(place.path(), "f"), "other 2\nown\n");
}

/// Adds one to a number in a file, and to another outside that cannot be taken back.
fn counting(outside: &Path) -> Command {
    let outside = outside.join("count");
    shell(&format!("n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n; echo x >> {}", outside.display()))
}

#[tokio::test]
async fn commands_that_reach_beyond_the_workspace_take_turns_and_run_once() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let (place, outside) = (Workspace::new(), tempfile::tempdir().unwrap());
    let policy = Policy { write: vec![outside.path().to_owned()], ..gathered(&place) };
    let commands = (0..8).map(|_| counting(outside.path())).collect();
    let ended = all_at_once(SandboxLevel::Full, &policy, commands).await;
    assert!(ended.iter().all(|one| one.succeeded() && one.run_again_for.is_empty()), "{ended:?}");
    assert_eq!((read(place.path(), "n"), read(outside.path(), "count").lines().count()), ("8\n".to_owned(), 8));
    drop(ended);
    assert_eq!(std::fs::read_dir(policy.staged.unwrap()).unwrap().count(), 0, "nothing stays behind");
}

#[tokio::test]
async fn commands_whose_changes_cannot_be_gathered_take_turns() {
    let count = "n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n";
    if can_test(SandboxLevel::Landlock) {
        let place = Workspace::new();
        let ended =
            all_at_once(SandboxLevel::Landlock, &gathered(&place), (0..6).map(|_| shell(count)).collect()).await;
        assert!(ended.iter().all(|one| one.succeeded() && one.unstaged.is_some()), "{ended:?}");
        assert_eq!(read(place.path(), "n"), "6\n");
    }
    let place = Workspace::new();
    let inner = place.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let Some(_disk) = crate::staged::Disk::new(inner, "size=1m").filter(|_| can_test(SandboxLevel::Full)) else {
        return;
    };
    let ended = all_at_once(SandboxLevel::Full, &gathered(&place), (0..6).map(|_| shell(count)).collect()).await;
    assert!(ended.iter().all(|one| one.succeeded() && one.unstaged.is_some()), "{ended:?}");
    assert_eq!(read(place.path(), "n"), "6\n");
}

#[tokio::test]
async fn the_turn_of_a_process_that_is_killed_is_the_next_ones() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let (place, outside) = (Workspace::new(), tempfile::tempdir().unwrap());
    let policy = Policy { write: vec![outside.path().to_owned()], ..gathered(&place) };
    let marker: PathBuf = outside.path().join("begun");
    let script = format!("echo x > n; mkfifo {m}.new && mv {m}.new {m}; cat {m}", m = marker.display());
    let mut process = std::process::Command::new(PROGRAM)
        .args(["together", &serde_json::to_string(&policy).unwrap(), &script])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while !marker.exists() {
        tokio::task::yield_now().await;
    }
    let waiting = all_at_once(SandboxLevel::Full, &policy, vec![shell("echo own >> n")]);
    let killing = async {
        process.kill().unwrap();
        process.wait().unwrap();
    };
    let (ended, ()) = tokio::join!(waiting, killing);
    assert!(ended[0].succeeded(), "{ended:?}");
    assert_eq!(read(place.path(), "n"), "own\n");
}

#[tokio::test]
async fn whoever_watches_hears_that_a_command_is_run_again() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let (place, mut gate) = (Workspace::new(), Gate::new());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (ears, came) = (heard.clone(), gate.came.clone());
    let listener = LineListener::to(move |line| {
        ears.lock().unwrap().push(line.to_owned());
        came.add_permits(usize::from(line == "begun"));
    });
    let command = Command {
        output: OutputMode::Capture(CaptureOptions { listener, ..CaptureOptions::default() }),
        ..gate.command("echo own >> f", "true")
    };
    let sandbox = Sandbox::new(PROGRAM, SandboxLevel::Full).unwrap();
    let policy = gate.policy(&place);
    let opening = async {
        gate.all_have_come(1).await;
        place.write("f", "other\n");
        gate.let_pass(2);
    };
    let (ended, ()) = tokio::join!(sandbox.run(&policy, command, &[]), opening);
    assert_eq!(ended.unwrap().stdout.text(), "begun\n", "nothing of the first time remains");
    let told =
        "run again, alone: another command or program changed `f` while it ran; nothing of the first attempt remains";
    assert_eq!(*heard.lock().unwrap(), ["begun", told, "begun"]);
}

#[tokio::test]
async fn whoever_watches_hears_that_a_command_waits_for_another() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let (place, outside, mut gate) = (Workspace::new(), tempfile::tempdir().unwrap(), Gate::new());
    let policy = Policy { write: vec![outside.path().to_owned()], ..gate.policy(&place) };
    let sandbox = Sandbox::new(PROGRAM, SandboxLevel::Full).unwrap();
    let first = gate.command("true", "echo first > f");
    let (hear, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let listener = LineListener::to(move |line| hear.send(line.to_owned()).unwrap());
    let second = Command {
        output: OutputMode::Capture(CaptureOptions { listener, ..CaptureOptions::default() }),
        ..shell("cat f; echo second")
    };
    let begin_second = async {
        gate.all_have_come(1).await;
        let opening = async {
            let told = heard.recv().await.unwrap();
            gate.let_pass(1);
            told
        };
        tokio::join!(sandbox.run(&policy, second, &[]), opening)
    };
    let (first, (second, told)) = tokio::join!(sandbox.run(&policy, first, &[]), begin_second);
    assert!(first.unwrap().succeeded());
    assert_eq!(told, "not started yet: another command is changing the workspace, and this one must run alone");
    assert_eq!(second.unwrap().stdout.text(), "first\nsecond\n", "none of its time is spent waiting");
}
