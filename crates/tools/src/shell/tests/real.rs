//! The reader beside real shells: whatever they run of a random text was found in it, or the text was doubted.
//!
//! The programs that a text can reach are scripts that do nothing, and one that writes down how it was called.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use super::{SimpleCommand, constructs, is_uncertain, parts, shown};

/// What texts are made of. Nothing of it names a file outside of the folder.
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
        // One word a line, and a line of its own behind each call.
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

    /// The calls of `git` that a shell makes of a text.
    #[expect(clippy::disallowed_methods, reason = "the shell itself is what the reader is compared with")]
    fn calls(&self, shell: &str, text: &str) -> Vec<Vec<String>> {
        let root = self.folder.path();
        // One for each: what goes on in the background of another is not taken for this one's.
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
        // What goes on in the background, or for ever.
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        child.wait().unwrap();
        let called = std::fs::read(place.path().join("called")).unwrap_or_default();
        let called = String::from_utf8_lossy(&called);
        called.split_terminator("\u{1e}\n").map(|call| call.lines().map(str::to_owned).collect()).collect()
    }

    /// A call that a shell makes of a text, and that the reader neither found nor doubted.
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

/// Whether a call is one of a part: the same words, up to the first that only running tells.
fn is_of(part: &SimpleCommand, call: &[String]) -> bool {
    let mut words = part.words.iter();
    if words.next().and_then(Option::as_deref) != Some("git") {
        return false;
    }
    let known: Vec<&String> = words.clone().map_while(Option::as_ref).collect();
    let is_all = known.len() == words.len();
    // A line break within a word is written down as two words.
    let call = call.join("\n");
    let known = known.into_iter().map(String::as_str).collect::<Vec<_>>().join("\n");
    if is_all { call.trim_end() == known.trim_end() } else { call.starts_with(&known) }
}

fn pieces() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 1..14).prop_map(|pieces| pieces.concat())
}

/// Commands within others, with a few pieces put in or left out somewhere.
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

proptest! {
    // `PROPTEST_CASES` says how many.
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
