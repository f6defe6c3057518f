//! Clones of runs, and what becomes of their changes, with the real git and a repository in a folder.

use std::fs;
use std::path::{Path, PathBuf};

use updraft_run::RunId;

use super::clone_index::CloneIndex;
use super::git_program::{GitCall, GitFault};
use super::*;
use crate::fault::Fault;

/// A repository with one commit on `main`, and folders for Updraft.
struct Shop {
    place: tempfile::TempDir,
}

impl Shop {
    async fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let shop = Self { place };
        let work = shop.path("work");
        fs::create_dir_all(work.join("src")).unwrap();
        fs::write(work.join("src/loom.txt"), "weave\n").unwrap();
        fs::write(work.join(".gitignore"), "built/\n").unwrap();
        shop.git(&["init", "--quiet", "--bare", "--initial-branch=main"]).await;
        let index = shop.path("index");
        let call = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|one| (*one).to_owned()).collect();
            GitCall::here(&shop.path("shop.git"), arguments).with_files(&work, &index)
        };
        call(&["add", "."]).run().await.unwrap();
        let tree = call(&["write-tree"]).run().await.unwrap();
        shop.commit("refs/heads/main", &tree, &[]).await;
        shop
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    async fn git(&self, arguments: &[&str]) -> String {
        let arguments: Vec<String> = arguments.iter().map(|one| (*one).to_owned()).collect();
        GitCall::here(&self.path("shop.git"), arguments).run().await.unwrap()
    }

    async fn commit(&self, name: &str, tree: &str, more: &[&str]) -> String {
        let arguments = ["commit-tree", tree, "-m", "by hand"].into_iter().chain(more.iter().copied());
        let call = GitCall::here(&self.path("shop.git"), arguments);
        let who = [
            ("GIT_AUTHOR_NAME", "a"),
            ("GIT_AUTHOR_EMAIL", "a@b"),
            ("GIT_COMMITTER_NAME", "a"),
            ("GIT_COMMITTER_EMAIL", "a@b"),
        ];
        let commit = who.into_iter().fold(call, |call, (name, value)| call.with(name, value)).run().await.unwrap();
        self.git(&["update-ref", name, &commit]).await;
        commit
    }

    fn address(&self, more: &str) -> RepositoryAddress {
        RepositoryAddress::parse(&format!("file://{}{more}", self.path("shop.git").display())).unwrap()
    }

    async fn mirror(&self, home: &str) -> RepositoryMirror {
        self.try_mirror(home, "").await.unwrap()
    }

    async fn try_mirror(&self, home: &str, more: &str) -> Result<RepositoryMirror, Fault> {
        RepositoryMirror::open(&AppFolders::under(&self.path(home)), "w1", self.address(more)).await
    }

    async fn shown(&self, what: &str) -> String {
        self.git(&["show", what]).await
    }
}

fn run() -> RunId {
    RunId::parse("r1").unwrap()
}

async fn saved(mirror: &RepositoryMirror) -> SavedFiles {
    let saved = mirror.save(&run(), "Weave it\n\nUpdraft-Run: r1\n").await.unwrap();
    if let Some(commit) = &saved.commit {
        mirror.push(&run(), commit).await.unwrap();
    }
    saved
}

#[tokio::test]
async fn what_a_run_changes_is_on_its_branch_once() {
    let shop = Shop::new().await;
    let mirror = shop.mirror("one").await;
    assert_eq!(mirror.branch(), "main");
    let clone = mirror.clone_for(&run()).await.unwrap();
    assert_eq!(fs::read_to_string(clone.join("src/loom.txt")).unwrap(), "weave\n");
    assert_eq!(saved(&mirror).await, SavedFiles::default(), "nothing was changed");
    fs::write(clone.join("cloth.txt"), "blue\n").unwrap();
    fs::remove_file(clone.join("src/loom.txt")).unwrap();
    fs::create_dir(clone.join("built")).unwrap();
    fs::write(clone.join("built/x"), "left out").unwrap();
    let first = saved(&mirror).await;
    let commit = first.commit.clone().unwrap();
    assert_eq!(saved(&mirror).await, first, "doing it again makes no other commit");
    assert_eq!(shop.git(&["rev-parse", "updraft/r1"]).await, commit);
    assert_eq!(shop.git(&["ls-tree", "-r", "--name-only", "updraft/r1"]).await, ".gitignore\ncloth.txt");
    let about = shop.git(&["log", "-1", "--format=%an <%ae> %s %(trailers:key=Updraft-Run)", "updraft/r1"]).await;
    assert!(about.contains("Weave it Updraft-Run: r1"), "{about}");
    // Killed between the commit and the push: the next process pushes that commit.
    fs::write(clone.join("cloth.txt"), "red\n").unwrap();
    let unpushed = mirror.save(&run(), "More").await.unwrap().commit.unwrap();
    let again = shop.mirror("one").await;
    assert_eq!(again.runs(), [run()]);
    assert_eq!(saved(&again).await.commit, Some(unpushed.clone()));
    assert_eq!(shop.git(&["rev-parse", "updraft/r1"]).await, unpushed);
    again.remove(&run()).await.unwrap();
    assert!(!clone.exists() && again.runs().is_empty());
}

#[tokio::test]
async fn a_branch_that_somebody_else_has_moved_is_not_overwritten() {
    let shop = Shop::new().await;
    let mirror = shop.mirror("one").await;
    let clone = mirror.clone_for(&run()).await.unwrap();
    fs::write(clone.join("cloth.txt"), "blue\n").unwrap();
    let main = shop.git(&["rev-parse", "main"]).await;
    let theirs = shop.commit("refs/heads/updraft/r1", &format!("{main}^{{tree}}"), &["-p", &main]).await;
    let commit = mirror.save(&run(), "Mine").await.unwrap().commit.unwrap();
    let refused = mirror.push(&run(), &commit).await.unwrap_err();
    assert!(matches!(&refused, PushFault::Refused(why) if why.contains("somebody else")), "{refused:?}");
    assert_eq!(shop.git(&["rev-parse", "updraft/r1"]).await, theirs);
    fs::rename(shop.path("shop.git"), shop.path("moved.git")).unwrap();
    let later = mirror.push(&run(), &commit).await.unwrap_err();
    assert!(matches!(later, PushFault::Later(_)), "{later:?}");
}

#[tokio::test]
async fn settings_that_agents_wrote_run_nothing() {
    let shop = Shop::new().await;
    let mirror = shop.mirror("one").await;
    let clone = mirror.clone_for(&run()).await.unwrap();
    let mark = shop.path("ran");
    let program = shop.path("program");
    fs::write(&program, format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
    #[cfg(unix)]
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let shown = program.display();
    let settings = format!(
        "[core]\n\tfsmonitor = {shown}\n\thooksPath = {}\n\tsshCommand = {shown}\n[filter \"x\"]\n\tclean = {shown}\n",
        shop.place.path().display()
    );
    let odd = odd_name();
    for repository in
        [clone.join(".git"), clone.join("nested/.git"), clone.join("a\\b/.git"), clone.join(&odd).join(".git")]
    {
        fs::create_dir_all(repository.join("refs/heads")).unwrap();
        fs::create_dir_all(repository.join("objects")).unwrap();
        fs::write(repository.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(repository.join("refs/heads/main"), "1".repeat(40) + "\n").unwrap();
        fs::write(repository.join("config"), &settings).unwrap();
    }
    fs::write(clone.join(".gitattributes"), "* filter=x\n").unwrap();
    fs::write(clone.join("nested/file.txt"), "inside\n").unwrap();
    fs::copy(&program, shop.path("pre-push")).unwrap();
    fs::write(clone.join("cloth.txt"), "blue\n").unwrap();
    saved(&mirror).await;
    // Git looks into a repository that it knows, so this would be the moment.
    let saved = saved(&mirror).await;
    assert_eq!(saved.left_out.len(), 3, "{saved:?}");
    assert_eq!(
        saved.left_out[1..],
        ["nested (a repository of its own)".to_owned(), format!("{} (a repository of its own)", odd.display())]
    );
    assert_eq!(
        shop.git(&["ls-tree", "-r", "--name-only", "updraft/r1"]).await,
        ".gitattributes\n.gitignore\ncloth.txt\nsrc/loom.txt"
    );
    assert_eq!(shop.shown("updraft/r1:cloth.txt").await, "blue");
    assert!(!mark.exists(), "a program was run");
}

/// The name of a folder that is no text.
#[cfg(unix)]
fn odd_name() -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(b"od\xffd"))
}

#[cfg(not(unix))]
fn odd_name() -> PathBuf {
    PathBuf::from("odd")
}

#[tokio::test]
async fn repositories_that_git_knows_stay_as_they_are_and_are_not_looked_into() {
    let shop = Shop::new().await;
    let link = "2".repeat(40);
    let tree = GitCall::here(&shop.path("shop.git"), ["mktree", "--missing"])
        .reads(format!("160000 commit {link}\tsub\n"))
        .run()
        .await
        .unwrap();
    shop.commit("refs/heads/main", &tree, &[]).await;
    let mirror = shop.mirror("one").await;
    let clone = mirror.clone_for(&run()).await.unwrap();
    assert!(clone.join("sub").is_dir());
    assert_eq!(saved(&mirror).await, SavedFiles::default());
    fs::write(clone.join("sub/within.txt"), "not ours\n").unwrap();
    fs::write(clone.join("cloth.txt"), "blue\n").unwrap();
    saved(&mirror).await;
    let listed = shop.git(&["ls-tree", "-r", "updraft/r1"]).await;
    assert!(listed.contains(&format!("160000 commit {link}\tsub")) && listed.lines().count() == 2, "{listed}");
    // One that appeared while git was adding files is taken from the list.
    let list = CloneIndex { repository: mirror.repository(), files: clone, index: mirror.index(&run()) };
    let late = format!("160000 {link}\tlate\0").into_bytes();
    list.call(["update-index", "-z", "--index-info"]).reads(late).run().await.unwrap();
    saved(&mirror).await;
    assert_eq!(shop.git(&["ls-tree", "-r", "updraft/r1"]).await, listed);
}

#[tokio::test]
async fn what_cannot_be_committed_is_an_error() {
    let shop = Shop::new().await;
    let mirror = shop.mirror("one").await;
    let clone = mirror.clone_for(&run()).await.unwrap();
    fs::write(clone.join("cloth.txt"), "blue\n").unwrap();
    fs::create_dir(mirror.index(&run())).unwrap();
    let failed = mirror.save(&run(), "Weave it").await.unwrap_err();
    assert!(failed.message.contains("could not be committed"), "{failed:?}");
    fs::remove_dir(mirror.index(&run())).unwrap();
    fs::remove_dir_all(&clone).unwrap();
    let gone = mirror.save(&run(), "Weave it").await.unwrap_err();
    assert!(gone.message.contains("is gone"), "{gone:?}");
    let call = GitCall::here(&mirror.repository(), ["status"]).with_files(&clone, &mirror.index(&run()));
    assert!(matches!(call.run().await, Err(GitFault::Failed { .. })), "git is there");
}

#[tokio::test]
async fn what_a_killed_git_leaves_is_cleared() {
    let shop = Shop::new().await;
    let mirror = shop.mirror("one").await;
    let clone = mirror.clone_for(&run()).await.unwrap();
    saved(&mirror).await;
    for name in ["packed-refs.lock", "refs/updraft/fetched/main.lock", "refs/heads/updraft/r1.lock"] {
        fs::write(mirror.repository().join(name), "").unwrap();
    }
    fs::write(mirror.index(&run()), "DIRC torn").unwrap();
    fs::write(clone.join("cloth.txt"), "blue\n").unwrap();
    let again = shop.mirror("one").await;
    let commit = saved(&again).await.commit.unwrap();
    assert_eq!(shop.git(&["rev-parse", "updraft/r1"]).await, commit);
    assert_eq!(shop.git(&["ls-tree", "-r", "--name-only", "updraft/r1"]).await, ".gitignore\ncloth.txt\nsrc/loom.txt");
}

#[tokio::test]
async fn a_clone_is_made_again_on_another_machine_from_what_was_pushed() {
    let shop = Shop::new().await;
    let one = shop.mirror("one").await;
    let clone = one.clone_for(&run()).await.unwrap();
    let two = shop.mirror("two").await;
    let nothing = two.find_restored(&run()).await.unwrap();
    assert!(
        nothing.message().contains("branch `main`") && nothing.message().contains("nothing of what"),
        "{nothing:?}"
    );
    fs::write(clone.join("cloth.txt"), "blue\n").unwrap();
    let pushed = saved(&one).await.commit;
    fs::write(clone.join("cloth.txt"), "never pushed\n").unwrap();
    let restored = two.find_restored(&run()).await.unwrap();
    assert!(
        restored.message().contains("branch `updraft/r1`") && restored.message().contains("missing"),
        "{restored:?}"
    );
    assert_ne!(nothing.key(), restored.key());
    let clone = two.restore(&run(), &restored).await.unwrap();
    assert_eq!(fs::read_to_string(clone.join("cloth.txt")).unwrap(), "blue\n");
    assert_eq!(saved(&two).await.commit, pushed);
    fs::write(clone.join("more.txt"), "more\n").unwrap();
    let commit = saved(&two).await.commit.unwrap();
    assert_eq!(shop.git(&["rev-parse", "updraft/r1"]).await, commit);
    assert_eq!(Some(shop.git(&["rev-parse", "updraft/r1^"]).await), pushed);
}

#[tokio::test]
async fn repositories_that_cannot_be_used_are_refused() {
    let shop = Shop::new().await;
    let refused = |mirror: Result<RepositoryMirror, Fault>| mirror.map(drop).unwrap_err().in_one_line();
    let branch = refused(shop.try_mirror("one", "#none").await);
    assert!(branch.contains("has no branch `none`"), "{branch}");
    let absent = refused(shop.try_mirror("one", "x").await);
    assert!(absent.contains("cannot be read") && absent.contains("git ls-remote"), "{absent}");
    let mirror = shop.mirror("one").await;
    shop.git(&["update-ref", "-d", "refs/heads/main"]).await;
    let removed = mirror.clone_for(&run()).await.unwrap_err();
    assert!(removed.kind == crate::fault::Kind::Usage && removed.message.contains("no branch `main`"), "{removed:?}");
    let empty = refused(shop.try_mirror("one", "").await);
    assert!(empty.contains("no commit on its main branch"), "{empty}");
}

#[tokio::test]
async fn a_worker_keeps_its_repository_as_long_as_runs_need_it() {
    let (shop, other) = (Shop::new().await, Shop::new().await);
    let folders = AppFolders::under(&shop.path("one"));
    let mirror = shop.mirror("one").await;
    mirror.clone_for(&run()).await.unwrap();
    let open = |address| RepositoryMirror::open(&folders, "w1", address);
    let refused = open(other.address("")).await.map(drop).unwrap_err().in_one_line();
    assert!(refused.contains("still has runs of") && refused.contains("--worker-name"), "{refused}");
    forget_clone(&folders, &run());
    assert!(mirror.runs().is_empty());
    let again = shop.mirror("one").await;
    let names = GitCall::here(&again.repository(), ["for-each-ref", "--format=%(refname)"]).run().await.unwrap();
    assert_eq!(names, "refs/updraft/fetched/main", "nothing is left of the run");
    open(other.address("")).await.unwrap();
    assert!(Path::new(&other.path("shop.git")).exists());
}
