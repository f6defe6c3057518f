//! A command from start to end: what it sees, what it says, and how it is ended.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::time::Duration;

use crate::support::{Workspace, can_test, left_in, levels, run, say, shell};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use updraft_sandbox::{
    CaptureOptions, CapturedStream, ChildLifetime, Command, Error, KillReason, OutputMode, Policy, ProgramExit,
    ResourceLimits, SETUP_FAILED, Sandbox, SandboxLevel, StdinMode,
};

#[tokio::test]
async fn a_command_reads_and_writes_its_workspace() {
    for level in levels() {
        let place = Workspace::new();
        place.write("in.txt", "hello");
        let ended =
            run(level, &place.policy(), shell("cat in.txt; echo out > out.txt; echo complaint >&2")).await.unwrap();
        assert_eq!((ended.exit, ended.level), (Some(ProgramExit::Code(0)), level));
        assert_eq!((ended.stdout.text().as_str(), ended.stderr.text().as_str()), ("hello", "complaint\n"));
        assert_eq!(std::fs::read_to_string(place.path().join("out.txt")).unwrap(), "out\n");
    }
}

#[tokio::test]
async fn codes_and_signals_are_told_apart() {
    for level in levels() {
        let place = Workspace::new();
        let codes = [("exit 7", ProgramExit::Code(7), 7), ("kill -TERM $$", ProgramExit::Signal(15), 143)];
        for (script, exit, code) in codes {
            let ended = run(level, &place.policy(), shell(script)).await.unwrap();
            assert_eq!((ended.exit, ended.exit_code()), (Some(exit), code), "{level} {script}");
        }
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_error_with_a_shells_code() {
    for level in levels() {
        let place = Workspace::new();
        place.write("plain.txt", "not a program");
        let error = run(level, &place.policy(), Command::new("no-such-program")).await.unwrap_err();
        assert_eq!(error.exit_code(), 127, "{error}");
        let path = place.path().join("plain.txt").display().to_string();
        let error = run(level, &place.policy(), Command::new(path)).await.unwrap_err();
        assert_eq!(error.exit_code(), 126, "{error}");
    }
}

#[tokio::test]
async fn a_set_up_that_fails_runs_nothing() {
    for level in levels() {
        let place = Workspace::new();
        let mut policy = place.policy();
        policy.write.push(place.path().join("not-there"));
        let marker = place.path().join("marker");
        let error = run(level, &policy, shell("touch marker")).await.unwrap_err();
        assert_eq!(error.exit_code(), SETUP_FAILED);
        let text = error.to_string();
        assert!(text.contains("not-there") && text.contains("updraft sandbox probe") && !text.contains('\n'), "{text}");
        assert!(!marker.exists());
    }
}

#[tokio::test]
async fn a_workspace_that_is_too_wide_is_refused() {
    let error = run(SandboxLevel::Full, &Policy::strict("/"), shell("true")).await.unwrap_err();
    assert!(matches!(error, Error::Policy { .. }), "{error}");
}

#[tokio::test]
async fn a_workspace_with_an_odd_name_is_that_workspace() {
    for level in levels() {
        let place = Workspace::new();
        let long = "l".repeat(200);
        for name in ["with space", "new\nline", "quo'te\"", "ünï", &long] {
            let folder = place.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            run(level, &Policy::strict(&folder), shell("touch here; touch ../beside")).await.unwrap();
            assert!(folder.join("here").exists() && !place.path().join("beside").exists(), "{level} {name:?}");
        }
    }
}

#[tokio::test]
async fn only_named_variables_reach_the_program() {
    for level in levels() {
        let place = Workspace::new();
        let mut command = Command::new("/usr/bin/env");
        for (name, value) in [("SECRET_KEY", "s3cret"), ("LC_ALL", "C"), ("LD_PRELOAD", "/x.so"), ("BASH_ENV", "/x")] {
            command.env.push((name.to_owned(), value.to_owned()));
        }
        let ended = run(level, &place.policy(), command).await.unwrap();
        let text = ended.stdout.text();
        let mut names: Vec<&str> = text.lines().filter_map(|line| line.split('=').next()).collect();
        names.sort_unstable();
        names.dedup();
        let extra = if level == SandboxLevel::Full { vec!["TMPDIR"] } else { vec!["TEMP", "TMP", "TMPDIR"] };
        assert_eq!(names, [vec!["HOME", "LC_ALL", "PATH"], extra].concat(), "{level}");
    }
}

#[tokio::test]
async fn a_program_has_three_descriptors_and_no_terminal() {
    for level in levels() {
        let place = Workspace::new();
        // The fourth is that of the folder which is being listed.
        assert_eq!(say(level, &place.policy(), "ls /proc/self/fd").await, "0\n1\n2\n3\n", "{level}");
        assert_eq!(
            say(level, &place.policy(), "ps -o tty= -p $$ || cut -d' ' -f7 /proc/$$/stat").await.trim(),
            "?",
            "{level}"
        );
    }
}

#[tokio::test]
async fn the_sandbox_itself_leaves_nothing_in_the_workspace() {
    for level in levels() {
        let place = Workspace::new();
        for path in [".git/HEAD", ".git/objects/x", ".git/refs/x", "src/main.rs", ".vscode/tasks.json", "file"] {
            place.write(path, "");
        }
        let list = || std::process::Command::new("find").arg(place.path()).output().unwrap().stdout;
        let before = list();
        assert_eq!(say(level, &place.policy(), "true").await, "");
        assert_eq!(list(), before, "{level}");
    }
}

#[tokio::test]
async fn input_is_empty_unless_a_pipe_is_asked_for() {
    for level in levels() {
        let place = Workspace::new();
        assert_eq!(say(level, &place.policy(), "cat; echo done").await, "done\n");
    }
}

#[tokio::test]
async fn a_session_talks_through_pipes_until_it_is_let_go() {
    for level in levels() {
        let place = Workspace::new();
        let limits = ResourceLimits { time: Some(Duration::from_millis(1)), ..ResourceLimits::default() };
        let policy = Policy { lifetime: ChildLifetime::Session, limits, ..place.policy() };
        let command = Command {
            stdin: StdinMode::Pipe,
            output: OutputMode::Pipe(CaptureOptions::default()),
            ..Command::new("/bin/cat")
        };
        let mut child = Sandbox::new(crate::support::PROGRAM, level).unwrap().spawn(&policy, command).await.unwrap();
        let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout().unwrap());
        let mut lines = BufReader::new(stdout).lines();
        for word in ["one", "two"] {
            stdin.write_all(format!("{word}\n").as_bytes()).await.unwrap();
            assert_eq!(lines.next_line().await.unwrap().as_deref(), Some(word), "{level}");
        }
        let ended = child.end().await.unwrap();
        assert_eq!((ended.exit, ended.killed_for), (None, None));
        assert_eq!(lines.next_line().await.unwrap(), None);
    }
}

#[tokio::test]
async fn guarded_files_are_looked_after_between_two_uses_of_a_session() {
    for level in levels() {
        let place = Workspace::new();
        let policy = Policy { lifetime: ChildLifetime::Session, ..place.policy() };
        let script = "while read word; do echo planted > $word; echo done; done";
        let command =
            Command { stdin: StdinMode::Pipe, output: OutputMode::Pipe(CaptureOptions::default()), ..shell(script) };
        let mut child = Sandbox::new(crate::support::PROGRAM, level).unwrap().spawn(&policy, command).await.unwrap();
        let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout().unwrap());
        let mut lines = BufReader::new(stdout).lines();
        let envrc = place.path().join(".envrc");

        stdin.write_all(b".envrc\n").await.unwrap();
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("done"), "{level}");
        let (moved, troubles) = child.look_after().await.unwrap();
        let moved: Vec<_> = moved.into_iter().map(|moved| moved.path).collect();
        assert_eq!((moved, troubles, envrc.exists()), (vec![envrc.clone()], Vec::new(), false), "{level}");
        assert!(child.is_current().await.unwrap(), "{level}");
        child.look_after().await.unwrap();

        // What somebody else writes while it waits is theirs, and it is not to be used again.
        place.write(".envrc", "of the user");
        assert!(!child.is_current().await.unwrap(), "{level}");
        let ended = child.end().await.unwrap();
        assert_eq!(ended.moved_aside, [], "{level}");
        assert_eq!(std::fs::read_to_string(&envrc).unwrap(), "of the user");
    }
}

#[tokio::test]
async fn a_server_that_floods_its_stderr_goes_on() {
    for level in levels() {
        let place = Workspace::new();
        let mut policy = limited(&place, |limits| limits.output = 1 << 20);
        policy.lifetime = ChildLifetime::Session;
        let script = "head -c 5000000 /dev/zero >&2; echo alive; cat";
        let command =
            Command { stdin: StdinMode::Pipe, output: OutputMode::Pipe(CaptureOptions::default()), ..shell(script) };
        let mut child = Sandbox::new(crate::support::PROGRAM, level).unwrap().spawn(&policy, command).await.unwrap();
        let mut lines = BufReader::new(child.stdout().unwrap()).lines();
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("alive"), "{level}");
        let ended = child.end().await.unwrap();
        let CapturedStream { head, tail, omitted, .. } = ended.stderr;
        assert_eq!((head.len() + tail.len()) as u64 + omitted, 5_000_000);
    }
}

#[tokio::test]
async fn much_output_is_cut_in_the_middle_and_kept_in_a_file() {
    for level in levels() {
        let (place, elsewhere) = (Workspace::new(), Workspace::new());
        let file = elsewhere.path().join("all");
        let capture =
            CaptureOptions { head: 10, tail: 10, stdout_file: Some(file.clone()), ..CaptureOptions::default() };
        let command = Command { output: OutputMode::Capture(capture), ..shell("seq 1 20000") };
        let ended = run(level, &place.policy(), command).await.unwrap();
        assert_eq!(
            (ended.stdout.head.as_slice(), ended.stdout.tail.as_slice()),
            (&b"1\n2\n3\n4\n5\n"[..], &b"999\n20000\n"[..])
        );
        assert_eq!(ended.stdout.omitted, 108_894 - 20);
        assert_eq!(std::fs::metadata(file).unwrap().len(), 108_894);
    }
}

fn limited(place: &Workspace, change: impl FnOnce(&mut ResourceLimits)) -> Policy {
    let mut policy = place.policy();
    change(&mut policy.limits);
    policy
}

#[tokio::test]
async fn endless_output_ends_the_command() {
    for level in levels() {
        let place = Workspace::new();
        let policy = limited(&place, |limits| limits.output = 1 << 20);
        let ended = run(level, &policy, shell("yes")).await.unwrap();
        assert_eq!((ended.killed_for, ended.exit_code()), (Some(KillReason::Output), 124), "{level}");
    }
}

#[tokio::test]
async fn out_of_time_everything_ends_however_it_hides() {
    let script = "trap '' TERM INT HUP; (trap '' TERM; setsid sh -c 'sleep 1000 & sleep 1000' &) ; nohup sleep 1000 & sleep 1000";
    for level in levels() {
        let place = Workspace::new();
        let policy = limited(&place, |limits| limits.time = Some(Duration::from_millis(300)));
        let ended = run(level, &policy, shell(script)).await.unwrap();
        assert!(ended.timed_out(), "{level}: {ended:?}");
        assert_eq!(left_in(&place), [""; 0], "{level}");
    }
}

#[tokio::test]
async fn the_end_of_the_command_is_the_end_of_what_it_left_behind() {
    for level in levels() {
        let place = Workspace::new();
        let ended = run(level, &place.policy(), shell("(setsid sleep 1000 &) ; sleep 1000 & exit 3")).await.unwrap();
        assert_eq!((ended.exit, left_in(&place)), (Some(ProgramExit::Code(3)), Vec::new()), "{level}");
    }
}

#[tokio::test]
async fn a_dropped_child_is_gone() {
    for level in levels() {
        let place = Workspace::new();
        let sandbox = Sandbox::new(crate::support::PROGRAM, level).unwrap();
        let child = sandbox.spawn(&place.policy(), shell("setsid sleep 1000 & sleep 1000")).await.unwrap();
        assert_ne!(left_in(&place), [""; 0], "{level}: the test can see what runs");
        drop(child);
        while !left_in(&place).is_empty() {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn too_much_memory_ends_it_even_in_many_small_processes() {
    let script = "for i in 1 2 3 4 5 6 7 8; do /usr/bin/python3 -c 'x=bytearray(20<<20); import time; time.sleep(1000)' & done; wait";
    if !std::path::Path::new("/usr/bin/python3").exists() {
        return;
    }
    for level in levels() {
        let place = Workspace::new();
        let policy = limited(&place, |limits| limits.memory = 100 << 20);
        let ended = run(level, &policy, shell(script)).await.unwrap();
        assert_eq!(ended.killed_for, Some(KillReason::Memory), "{level}: {ended:?}");
        assert_eq!(left_in(&place), [""; 0], "{level}");
    }
}

#[tokio::test]
async fn too_many_processes_are_refused_or_end_it() {
    let one_by_one = "i=0; while [ $i -lt 400 ]; do sleep 1000 & i=$((i+1)); done; wait";
    let doubling = "f() { if [ $1 -gt 0 ]; then f $(($1-1)) & f $(($1-1)) & fi; sleep 1000; }; f 9";
    for (level, script) in levels().flat_map(|level| [(level, one_by_one), (level, doubling)]) {
        let place = Workspace::new();
        let policy = limited(&place, |limits| {
            limits.processes = 20;
            limits.time = Some(Duration::from_secs(20));
        });
        let ended = run(level, &policy, shell(script)).await.unwrap();
        let is_refused = ended.stderr.text().to_lowercase().contains("fork");
        assert!(ended.killed_for == Some(KillReason::Processes) || is_refused, "{level}: {ended:?}");
        assert_eq!(left_in(&place), [""; 0], "{level}");
    }
}

#[tokio::test]
async fn filling_the_disk_ends_it() {
    let script = "i=0; while true; do i=$((i+1)); head -c 4000000 /dev/zero > file$i; done";
    for level in levels() {
        let place = Workspace::new();
        let policy = limited(&place, |limits| limits.disk = 40 << 20);
        let ended = run(level, &policy, shell(script)).await.unwrap();
        assert_eq!(ended.killed_for, Some(KillReason::Disk), "{level}: {ended:?}");
    }
}

#[tokio::test]
async fn temporary_folders_have_a_size_together() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let place = Workspace::new();
    let policy = limited(&place, |limits| limits.temporary = 8 << 20);
    let script =
        "head -c 6000000 /dev/zero > /tmp/a && head -c 6000000 /dev/zero > /dev/shm/b; echo $?; wc -c < /dev/shm/b";
    let text = say(SandboxLevel::Full, &policy, script).await;
    assert!(text.starts_with("1\n") && text.contains("No space left"), "{text}");
}

#[tokio::test]
async fn what_was_refused_is_told_with_the_grant_for_it() {
    for level in levels() {
        let place = Workspace::new();
        let ended = run(level, &place.policy(), shell("cat /etc/shadow")).await.unwrap();
        let told: Vec<String> = ended.refused.iter().map(ToString::to_string).collect();
        let wanted = "the sandbox refused reading `/etc/shadow`: it is not among the folders that may be read; \
                      allowed by `--read /etc/shadow`";
        assert_eq!(told, [wanted], "{level}");
    }
}

#[tokio::test]
async fn a_grant_opens_what_it_names_and_no_more() {
    for level in levels() {
        let (place, other) = (Workspace::new(), Workspace::new());
        other.write("readable/a", "yes");
        other.write("writable/b", "no");
        other.write("neither/c", "secret");
        let at = other.path().display();
        let policy = Policy {
            read: vec![other.path().join("readable")],
            write: vec![other.path().join("writable")],
            ..place.policy()
        };
        let script =
            format!("cat {at}/readable/a; echo yes > {at}/writable/b; echo no > {at}/readable/a; cat {at}/neither/c");
        run(level, &policy, shell(&script)).await.unwrap();
        assert_eq!(std::fs::read_to_string(other.path().join("readable/a")).unwrap(), "yes", "{level}");
        assert_eq!(std::fs::read_to_string(other.path().join("writable/b")).unwrap(), "yes\n", "{level}");
        assert!(!say(level, &policy, &script).await.contains("secret"), "{level}");
    }
}

#[tokio::test]
async fn the_private_folder_below_the_full_level_is_closed_to_other_users() {
    let place = Workspace::new();
    let said = say(SandboxLevel::Landlock, &place.policy(), "stat -c %a $(dirname $HOME)").await;
    assert_eq!(said, "700\n");
}

#[tokio::test]
async fn the_modes_of_devices_stay_also_through_a_stream_of_ours() {
    if !can_test(SandboxLevel::Full) || !rustix::process::geteuid().is_root() {
        return;
    }
    // As a careless user gives it; it is the one of the whole machine, and only its present mode is set again.
    let device = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null").unwrap();
    rustix::stdio::dup2_stdin(&device).unwrap();
    let script = "chmod $(stat -L -c %a /dev/stdin) /dev/stdin && echo changed";
    let place = Workspace::new();
    for (level, changed) in [(SandboxLevel::None, true), (SandboxLevel::Full, false)] {
        let command = Command { stdin: StdinMode::Inherit, ..shell(script) };
        let ended = run(level, &place.policy(), command).await.unwrap();
        assert_eq!(ended.stdout.text() == "changed\n", changed, "{level}: {}", ended.stderr.text());
    }
    // They are as usable as ever.
    let script =
        "echo x > /dev/null && echo out > /dev/stdout && echo err > /proc/self/fd/2 && head -c 1 /dev/zero | wc -c";
    assert_eq!(say(SandboxLevel::Full, &place.policy(), script).await, "out\n1\nerr\n");
}
