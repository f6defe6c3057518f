//! Compares the parser with real shells: every command that they run from a random text must have been found in it,
//! or the text must have been marked as uncertain.
//!
//! The programs that a text can reach are scripts that do nothing, and one that records how it was called.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use super::{SimpleCommand, constructs, is_uncertain, parts, shown};

/// The pieces that texts are made of. None of them names a file outside the folder.
const PIECES: &str = "git push¦git push¦git push¦; git push ;¦\ngit push\n¦git ¦push¦echo ¦a¦x¦ ¦ ¦ ¦\n¦\n¦;¦;¦&¦&&¦||¦|¦|&¦(¦)¦{ ¦; }¦}¦{}¦\
    $(¦`¦\\`¦\"¦\"¦'¦'¦\\¦\\\"¦\\'¦\\\n¦\\\\¦${x:-¦${x}¦$x¦$¦$?¦$((¦))¦$'¦$\"¦#¦ # ¦<<E\n¦\nE\n¦<<'E'\n¦<<E¦E¦<<<¦>x ¦>y¦<x ¦2>¦&>x ¦\
    >&2¦>&¦>|¦<>¦<&¦<(¦>(¦if ¦; then ¦else ¦; fi¦for i ¦in a ¦; do ¦; done¦case a in ¦a) ¦;; ¦ esac¦! ¦A=¦A=b ¦=¦+=¦sh -c ¦bash -c ¦bash -lc ¦\
    sh -s ¦eval ¦env ¦env -i ¦-S ¦xargs ¦xargs -I% ¦xargs -0 ¦xargs -I{} ¦%¦timeout 5 ¦nice ¦nice -n 1 ¦bash -euo pipefail -c ¦nohup ¦exec ¦export ¦command ¦time ¦-c ¦-- ¦-¦set -- a; ¦\r¦\t¦*¦~¦\
    [ ¦ ]¦[¦true¦false || ¦cat ¦function ¦x() ¦:¦\u{a0}¦\u{b}¦\u{c}¦é";

fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(PIECES.split('¦').collect::<Vec<_>>())
}

/// A folder for texts to run in, with the programs they can reach.
struct Stage {
    folder: TempDir,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let programs = folder.path().join("bin");
        std::fs::create_dir(&programs).unwrap();
        // One word per line, and a separator line after each call.
        let notes = "#!/bin/sh\nprintf '%s\\n' \"$@\" '\u{1e}' >> called\n";
        for (name, text) in [("git", notes), ("ls", "#!/bin/sh\n"), ("find", "#!/bin/sh\n"), ("sudo", "#!/bin/sh\n")] {
            let program = programs.join(name);
            std::fs::write(&program, text).unwrap();
            std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        }
        for name in ["sh", "bash", "env", "xargs", "timeout", "nice", "nohup", "cat"] {
            let real = ["/usr/bin", "/bin"].map(|place| Path::new(place).join(name)).into_iter().find(|at| at.exists());
            if let Some(real) = real {
                symlink(real, programs.join(name)).unwrap();
            }
        }
        Self { folder }
    }

    /// The calls of `git` that a shell makes when it runs a text.
    #[expect(clippy::disallowed_methods, reason = "the shell itself is what the reader is compared with")]
    fn calls(&self, shell: &str, text: &str) -> Vec<Vec<String>> {
        let root = self.folder.path();
        // A new folder for each text, so that background processes of one text do not disturb another.
        let place = tempfile::tempdir_in(root).unwrap();
        let mut child = Command::new(shell)
            .args(["-c", text])
            .env_clear()
            .env("PATH", root.join("bin"))
            .current_dir(place.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_millis(250);
        while child.try_wait().unwrap().is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Ends processes that run in the background, or forever.
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        child.wait().unwrap();
        let called = std::fs::read(place.path().join("called")).unwrap_or_default();
        let called = String::from_utf8_lossy(&called);
        called.split_terminator("\u{1e}\n").map(|call| call.lines().map(str::to_owned).collect()).collect()
    }

    /// A call that a shell makes and that the parser neither found nor marked as uncertain.
    fn missed(&self, text: &str) -> Option<String> {
        if text.contains('\0') || is_uncertain(text) {
            return None;
        }
        let found = parts(text);
        let shells = ["/bin/sh", "/bin/bash"].into_iter().filter(|shell| Path::new(shell).exists());
        for shell in shells {
            let missed = self.calls(shell, text).into_iter().find(|call| !found.iter().any(|part| is_of(part, call)));
            if let Some(call) = missed {
                return Some(format!("{shell} ran git {call:?} of\n{text}\n{text:?}\nfound: {:?}", shown(text)));
            }
        }
        None
    }
}

/// Whether a call matches a part: the same words, up to the first that is known only at run time.
fn is_of(part: &SimpleCommand, call: &[String]) -> bool {
    let mut words = part.words.iter();
    if words.next().and_then(Option::as_deref) != Some("git") {
        return false;
    }
    let known: Vec<&String> = words.clone().map_while(Option::as_ref).collect();
    let is_all = known.len() == words.len();
    // A line break within a word is recorded as two words.
    let call = call.join("\n");
    let known = known.into_iter().map(String::as_str).collect::<Vec<_>>().join("\n");
    if is_all { call.trim_end() == known.trim_end() } else { call.starts_with(&known) }
}

fn pieces() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 1..14).prop_map(|pieces| pieces.concat())
}

/// Nested commands, with a few pieces added or removed somewhere.
fn mutated() -> impl Strategy<Value = String> {
    let change = (any::<prop::sample::Index>(), piece(), 0..3usize);
    (prop::collection::vec(any::<prop::sample::Index>(), 0..4), prop::collection::vec(change, 0..5)).prop_map(
        |(around, changes)| {
            let all = constructs();
            let mut text = "git push --force".to_owned();
            for index in around {
                text = all[index.index(all.len())](&text);
            }
            for (at, piece, gone) in changes {
                let at = text.floor_char_boundary(at.index(text.len() + 1));
                let end = text.ceil_char_boundary((at + gone).min(text.len()));
                text.replace_range(at..end, piece);
            }
            text
        },
    )
}

#[test]
fn the_stage_shows_what_runs() {
    let stage = Stage::new();
    assert_eq!(stage.calls("/bin/sh", "true; git push -f && sh -c 'git a'"), [vec!["push", "-f"], vec!["a"]]);
    assert!(stage.calls("/bin/sh", "echo 'git push'").is_empty());
}

#[test]
fn what_bash_runs_in_an_index_is_doubted() {
    let stage = Stage::new();
    for text in [
        "printf -v 'a[$(git push)]' x",
        "test -v 'a[$(git push)]'",
        "[ -v 'a[$(git push)]' ]",
        "let 'a[$(git push)]=1'",
        "declare -i 'x=a[$(git push)]'",
        "unset 'a[$(git push)]'",
        "read 'a[$(git push)]' < /dev/null",
        "compgen -C 'git push'",
    ] {
        assert_eq!(stage.missed(text), None);
        assert!(is_uncertain(text), "{text}");
    }
}

proptest! {
    // `PROPTEST_CASES` sets the number of cases.
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn what_a_shell_runs_is_found_or_doubted(texts in prop::collection::vec(prop_oneof![pieces(), mutated()], 2)) {
        let stage = Stage::new();
        for text in texts {
            let missed = stage.missed(&text);
            prop_assert!(missed.is_none(), "{}", missed.unwrap_or_default());
        }
    }
}
