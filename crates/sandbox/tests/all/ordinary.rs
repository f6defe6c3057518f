//! Ordinary work that must keep working: a sandbox that breaks it is switched off.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::Write;
use std::path::Path;

use crate::support::{Workspace, levels, run, shell};
use updraft_sandbox::{GitSetting, Policy, SandboxLevel, Toolchain};

/// Runs the script at each level; it must end well. Skipped aloud without the tool.
async fn works(tool: &str, script: &str, needs: SandboxLevel) {
    if !Path::new(tool).exists() {
        std::io::stderr().write_all(format!("!! SKIP: no {tool} here\n").as_bytes()).unwrap();
        return;
    }
    for level in levels().filter(|level| *level >= needs) {
        let place = Workspace::new();
        let ended = run(level, &place.policy(), shell(script)).await.unwrap();
        assert_eq!((ended.exit_code(), ended.killed_for), (0, None), "{level}: {}", ended.stderr.text());
        assert_eq!(ended.moved_aside, [], "{level}");
    }
}

#[tokio::test]
async fn git_makes_a_repository_and_commits() {
    let script = "set -e; git init -q . ; git config user.name n; git config user.email e; echo 1 > a; git add a; git commit -qm one; \
                  git checkout -q -b other; git worktree add -q wt; git log --oneline | grep one";
    works("/usr/bin/git", script, SandboxLevel::Landlock).await;
}

#[tokio::test]
async fn git_clones_what_is_beside_it() {
    let script = "set -e; git init -q -b main src; cd src; git config user.name n; git config user.email e; echo 1 > a; \
                  git add a; git commit -qm one; cd ..; git clone -q src a; git clone -q --bare src b; \
                  git clone -q --mirror src c; git clone -q --shared src d; git clone -q --sparse src e; \
                  git clone -q --depth 1 file://$PWD/src f; git clone -q --no-tags --single-branch -o up ./src g; \
                  git -C a pull -q; git -C a push -q origin HEAD:refs/heads/new; git -C f log --oneline | grep one";
    works("/usr/bin/git", script, SandboxLevel::Landlock).await;
}

#[tokio::test]
async fn git_commits_to_a_repository_that_was_there() {
    let commit = "set -e; echo 2 > b; git add b; git -c user.name=n -c user.email=e commit -qm two; git stash list; git tag t; git gc -q";
    if !Path::new("/usr/bin/git").exists() {
        return;
    }
    for level in levels() {
        let place = Workspace::new();
        for script in ["git init -q .", commit, "git log --oneline | grep two"] {
            let ended = run(level, &place.policy(), shell(script)).await.unwrap();
            assert_eq!(
                (ended.exit_code(), ended.moved_aside.len()),
                (0, 0),
                "{level} {script}: {}",
                ended.stderr.text()
            );
        }
    }
}

#[tokio::test]
async fn git_that_cannot_write_its_settings_is_told_why_whatever_its_exit_code() {
    if !Path::new("/usr/bin/git").exists() {
        return;
    }
    for level in levels().filter(|level| *level == SandboxLevel::Full) {
        let place = Workspace::new();
        run(level, &place.policy(), shell("git init -q . && git init -q sub")).await.unwrap();
        for script in
            ["git remote add o x", "git config user.name B || true", "git -C sub config user.name B 2>&1 | cat"]
        {
            let ended = run(level, &place.policy(), shell(script)).await.unwrap();
            let told: Vec<String> = ended.refused.iter().map(ToString::to_string).collect();
            assert!(told.iter().any(|one| one.contains("`write_file` can change it")), "{script}: {told:?}");
        }
    }
}

#[tokio::test]
async fn git_commits_as_the_user_unless_the_repository_says_otherwise() {
    if !Path::new("/usr/bin/git").exists() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let global = home.path().join(".gitconfig");
    let script = "set -e; for one in a b; do git init -q $one; cd $one; test $one = a || git config user.name Own; \
                  git commit -q --allow-empty -m x; git log --format='%an <%ae> %cn'; cd ..; done; \
                  git config --global --get-regexp . | cut -d' ' -f1; git config --global user.name Other";
    for level in levels() {
        let place = Workspace::new();
        // Git itself says whether the condition holds.
        let written = format!(
            "[user]\n\tname = The \\\"New\\\" User # x\n\temail = no\n[alias]\n\tst = status\n\
             [includeIf \"gitdir:{}/\"]\n\tpath = here\n[includeIf \"gitdir:/nowhere/\"]\n\tpath = there\n",
            place.path().canonicalize().unwrap().display()
        );
        std::fs::write(&global, written).unwrap();
        std::fs::write(home.path().join("here"), "[user]\n\temail = here@example.com\n").unwrap();
        std::fs::write(home.path().join("there"), "[user]\n\temail = there@example.com\n").unwrap();
        let git = GitSetting::read(&[home.path().join("missing"), global.clone()], home.path());
        let policy = Policy { git, ..place.policy() };
        let ended = run(level, &policy, shell(script)).await.unwrap();
        let wanted = "The \"New\" User <here@example.com> The \"New\" User\nOwn <here@example.com> Own\n\
                      user.name\nuser.email\nincludeif.gitdir";
        let said = ended.stdout.text();
        assert!(said.starts_with(wanted), "{level}: {said}{}", ended.stderr.text());
        assert!(!said.contains("alias") && ended.exit_code() == 0, "{level}: {said}{}", ended.stderr.text());
        assert!(std::fs::read_to_string(&global).unwrap().contains("The"), "the user's own file is not written");
    }
}

#[tokio::test]
async fn npm_packs_and_installs_for_users_with_a_cache() {
    if !Path::new("/usr/bin/npm").exists() {
        return;
    }
    let script = "set -e; mkdir lib; cd lib; npm init -y > /dev/null; npm pack --silent; mkdir ../app; cd ../app; \
                  npm install --offline --no-audit --silent ../lib/lib-1.0.0.tgz; test -f node_modules/lib/package.json";
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join(".npm/_cacache/tmp")).unwrap();
    for level in levels() {
        let place = Workspace::new();
        let read = Toolchain::ALL.iter().flat_map(|one| one.read(home.path())).collect();
        let policy = Policy { home: home.path().to_owned(), read, ..place.policy() };
        let ended = run(level, &policy, shell(script)).await.unwrap();
        assert_eq!(ended.exit_code(), 0, "{level}: {}{}", ended.stdout.text(), ended.stderr.text());
    }
}

#[tokio::test]
async fn a_rebase_stops_in_one_command_and_goes_on_in_another() {
    if !Path::new("/usr/bin/git").exists() {
        return;
    }
    let begin = "set -e; git init -q -b main .; git config user.name n; git config user.email e; echo 1 > a; git add a; git commit -qm one; \
                 git checkout -q -b other; echo 2 > a; git commit -qam two; echo 3 > b; git add b; git commit -qm three; \
                 git checkout -q main; echo 4 > a; git commit -qam four; git checkout -q other; \
                 git rebase -q -x true HEAD~1; ! git rebase main 2>/dev/null; test -d .git/rebase-merge";
    let go_on = "set -e; echo 5 > a; git add a; GIT_EDITOR=true git rebase --continue; test ! -d .git/rebase-merge; \
                 git log --oneline | grep three";
    for level in levels() {
        let place = Workspace::new();
        for script in [begin, "test -f .git/rebase-merge/git-rebase-todo", go_on, "test ! -d .git/rebase-merge"] {
            let ended = run(level, &place.policy(), shell(script)).await.unwrap();
            assert_eq!((ended.exit_code(), ended.moved_aside), (0, vec![]), "{level}: {}", ended.stderr.text());
        }
    }
}

#[tokio::test]
async fn archives_and_copies_keep_their_modes() {
    let script = "set -e; mkdir -p a/b; echo x > a/b/run; chmod 750 a/b/run; chmod 1777 a; tar cf a.tar a; mkdir c; tar xpf a.tar -C c; \
                  cp -a c/a d; install -m 755 d/b/run e; test -x e; test -x d/b/run; test -k d";
    works("/usr/bin/tar", script, SandboxLevel::Landlock).await;
}

#[tokio::test]
async fn a_compiler_builds_and_the_program_runs() {
    works(
        "/usr/bin/cc",
        "echo 'int main(){return 0;}' > m.c && cc m.c -o m && ./m && cc -c m.c -o $TMPDIR/m.o",
        SandboxLevel::Landlock,
    )
    .await;
}

#[tokio::test]
async fn python_uses_processes_threads_and_a_terminal() {
    let script = "/usr/bin/python3 - <<'E'\n\
                  import multiprocessing, threading, tempfile, os\n\
                  t = threading.Thread(target=lambda: None); t.start(); t.join()\n\
                  assert multiprocessing.Pool(2).map(abs, [-1, -2]) == [1, 2]\n\
                  tempfile.TemporaryFile().write(b'x')\n\
                  os.openpty()\nE";
    works("/usr/bin/python3", script, SandboxLevel::Full).await;
}

#[tokio::test]
async fn a_server_on_its_own_loopback_is_reached() {
    let script = "/usr/bin/python3 - <<'E'\n\
                  import socket\n\
                  for host, family in (('127.0.0.1', socket.AF_INET), ('::1', socket.AF_INET6)):\n\
                  \u{20} s = socket.socket(family); s.bind((host, 0)); s.listen()\n\
                  \u{20} c = socket.create_connection(s.getsockname()[:2]); s.accept()[0].send(b'hi')\n\
                  \u{20} assert c.recv(2) == b'hi'\n\
                  socket.getaddrinfo('localhost', 80)\nE";
    works("/usr/bin/python3", script, SandboxLevel::Full).await;
}

#[tokio::test]
async fn cargo_builds_with_the_users_toolchain_and_a_private_home() {
    let Some(home) = std::env::home_dir().filter(|home| home.join(".rustup").exists()) else {
        std::io::stderr().write_all(b"!! SKIP: no rustup in the home folder\n").unwrap();
        return;
    };
    let home = std::fs::canonicalize(home).unwrap();
    for level in levels() {
        let place = Workspace::new();
        place.write("Cargo.toml", "[package]\nname = \"x\"\nedition = \"2021\"\n");
        place.write("src/main.rs", "fn main() { println!(\"built\"); }\n");
        let read = Toolchain::Rust.read(&home);
        let policy = Policy { read, home: home.clone(), ..place.policy() };
        // Below the full level home is elsewhere, and the toolchain has to be pointed to.
        let at = home.display();
        let script = format!(
            "export PATH={at}/.cargo/bin:$PATH RUSTUP_HOME={at}/.rustup; cargo run -q --offline; ls {at}/.cargo"
        );
        let ended = run(level, &policy, shell(&script)).await.unwrap();
        assert!(ended.stdout.text().contains("built"), "{level}: {}", ended.stderr.text());
        assert!(!ended.stdout.text().contains("credentials"), "{level}");
    }
}

#[tokio::test]
async fn node_runs_with_its_own_compiler() {
    let wasm = "new WebAssembly.Module(new Uint8Array([0,97,115,109,1,0,0,0]))";
    works(
        "/usr/bin/node",
        &format!("node -e '{wasm}; require(\"fs\").writeFileSync(\"x\", \"y\")'"),
        SandboxLevel::Landlock,
    )
    .await;
}

#[tokio::test]
async fn the_usual_tools_find_what_they_need() {
    let script = "set -e; date; id; sort /dev/null; echo x > /dev/null; head -c 4 /dev/urandom | wc -c; mktemp; mktemp -d; \
                  touch ~/in-home; cat /proc/meminfo /proc/self/status; echo a | tee f; ln -s f l; mv f g; rm g l; mkfifo p; nproc; \
                  sh -c 'trap \"exit 0\" TERM; kill $$'; seq 1 100 | xargs -P 4 -n 10 echo; chmod 600 p; find . -type p; tar c p | tar t";
    works("/usr/bin/find", script, SandboxLevel::Landlock).await;
}
