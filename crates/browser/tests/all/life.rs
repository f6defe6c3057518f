//! The browser's life: it starts on demand, is told apart from a crash, and never stays behind.

use std::io::{BufRead, BufReader, Write};
use std::net::IpAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use updraft_browser::{Browser, BrowserConfig, BrowserEvent, Decision, Error, TabInfo};

use crate::site::html;
use crate::world::{World, chromium, end_of};

/// Ids of the processes that have this folder in their command line.
fn processes(folder: &Path) -> Vec<i32> {
    let folder = folder.to_string_lossy().into_owned();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse::<i32>().ok());
    let has_folder = |id: &i32| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&folder)
    };
    ids.filter(has_folder).filter(|&id| id != std::process::id().cast_signed()).collect()
}

fn kill(id: i32) {
    if let Some(id) = rustix::process::Pid::from_raw(id) {
        let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
    }
}

/// Waits until no process has the folder in its command line; gives those that stay for 20 seconds.
fn remaining(folder: &Path) -> Vec<i32> {
    for _ in 0..400 {
        if processes(folder).is_empty() {
            return Vec::new();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    processes(folder)
}

#[tokio::test]
async fn closing_leaves_neither_processes_nor_files() {
    let Some(world) = World::with(vec![html("/", "x")]) else { return };
    let profiles = world.folder.path().join("profiles");
    assert!(!profiles.exists(), "nothing is started before a tab is wanted");
    world.open("/").await.unwrap();
    assert!(!processes(&profiles).is_empty());
    let profile = std::fs::read_dir(&profiles).unwrap().next().unwrap().unwrap().path().join("profile");
    // Chromium's own temporary folder is inside, and none of our variables is.
    let names: Vec<_> = std::fs::read_dir(&profile).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().any(|name| name.to_string_lossy().contains("org.chromium")), "{names:?}");
    for id in processes(&profiles) {
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&environment).contains("CARGO"), "process {id} has our environment");
    }
    world.browser.close().await;
    assert_eq!(remaining(&profiles), [0; 0]);
    assert_eq!(std::fs::read_dir(&profiles).unwrap().count(), 0);
    // The next call starts another.
    world.open("/").await.unwrap();
    drop(world.browser);
    assert_eq!(remaining(&profiles), [0; 0]);
}

#[tokio::test]
async fn a_browser_that_dies_is_an_error_and_the_next_call_starts_another() {
    let Some(world) = World::with(vec![html("/", "words")]) else { return };
    let tab = world.open("/").await.unwrap();
    for id in processes(&world.folder.path().join("profiles")) {
        kill(id);
    }
    let error = tab.text(0).await.unwrap_err();
    assert!(matches!(error, Error::BrowserGone { .. }), "{error}");
    let tab = world.open("/").await.unwrap();
    assert_eq!(tab.text(0).await.unwrap().text, "words");
}

#[tokio::test]
async fn a_page_that_crashes_can_be_opened_again() {
    let Some(world) = World::with(vec![html("/", "words")]) else { return };
    let tab = world.open("/").await.unwrap();
    let renderers = processes(&world.folder.path().join("profiles")).into_iter().filter(|id| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("--type=renderer")
    });
    renderers.for_each(kill);
    let error = end_of(&tab).await;
    assert!(matches!(error, Error::TabCrashed), "{error}");
    tab.open(&world.site.url("/")).await.unwrap();
    assert_eq!(tab.text(0).await.unwrap().text, "words");
}

#[tokio::test]
async fn a_page_that_never_rests_does_not_keep_others_from_new_tabs() {
    let pages = vec![html("/", "words"), html("/loop", "<script>for (;;) {}</script>")];
    let world = World::configured(pages, |config| {
        (config.limits.load, config.limits.call) = (Duration::from_secs(3), Duration::from_secs(3));
    });
    let Some(world) = world else { return };
    let first = world.open("/").await.unwrap();
    // The page cannot be used, whether or not that is noticed here.
    let _ = world.open("/loop").await;
    let next = world.open("/").await.unwrap();
    assert_eq!(next.text(0).await.unwrap().text, "words");
    let lost: Vec<TabInfo> = world
        .events()
        .await
        .into_iter()
        .flat_map(|event| if let BrowserEvent::Restarted { lost } = event { lost } else { Vec::new() })
        .collect();
    if lost.is_empty() {
        // Chromium gave the page a process of its own.
        assert_eq!(first.text(0).await.unwrap().text, "words");
        return;
    }
    assert_eq!((lost[0].id.as_str(), lost[0].url.clone()), (first.id(), world.site.url("/")));
    assert!(matches!(first.text(0).await, Err(Error::BrowserGone { .. })));
    assert!(!lost.iter().any(|tab| tab.id == next.id()), "names are not used twice");
}

#[tokio::test]
async fn a_program_that_is_missing_or_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let guard = Arc::new(|_: &str, _: IpAddr, _: u16| Decision::Allow);
    let mut config = BrowserConfig::new(guard, folder.path().to_owned());
    config.program = Some(folder.path().join("no-chromium"));
    let Err(error) = Browser::new(config.clone()).open_tab("x").await else { panic!("a tab without a browser") };
    assert!(error.to_string().contains("apt install chromium"), "{error}");
    let program = folder.path().join("broken");
    std::fs::write(&program, "#!/bin/sh\necho '[7:7:0101/000000.1:FATAL:x.cc(1)] No usable sandbox!' >&2\nexit 1\n")
        .unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    config.program = Some(program);
    let Err(error) = Browser::new(config).open_tab("x").await else { panic!("a tab of a broken program") };
    assert!(error.to_string().contains("it said: No usable sandbox!"), "{error}");
}

#[expect(clippy::disallowed_methods, reason = "how a test is told what another process or a person wants of it")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Opens a browser in the folder that the environment names, says so, and waits to be killed. Started by the test below.
#[tokio::test]
#[ignore = "the process that another test kills"]
async fn hold_a_browser() {
    let Some(folder) = variable("UPDRAFT_TEST_HOLD") else { return };
    let guard = Arc::new(|_: &str, _: IpAddr, _: u16| Decision::Allow);
    let browser = Browser::new(BrowserConfig::new(guard, folder.into()));
    let tab = browser.open_tab("held").await.unwrap();
    tab.evaluate("open('about:blank'), 1").await.unwrap();
    println!("\nready");
    std::future::pending::<()>().await;
}

#[expect(clippy::disallowed_methods, reason = "the process that holds the browser is killed")]
fn holder(folder: &Path) -> std::io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--exact", "life::hold_a_browser", "--ignored", "--nocapture"]).env("UPDRAFT_TEST_HOLD", folder);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
}

/// `UPDRAFT_BROWSER_KILLS=100` makes it a hundred. Every second one is killed while it starts.
#[test]
fn a_process_killed_at_any_moment_leaves_no_browser() {
    if chromium().is_none() {
        return;
    }
    let kills = variable("UPDRAFT_BROWSER_KILLS").and_then(|text| text.parse().ok()).unwrap_or(4);
    let folder = tempfile::tempdir().unwrap();
    for turn in 0..kills {
        let mut holder = holder(folder.path()).unwrap();
        if turn % 2 == 0 {
            let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines();
            assert!(lines.any(|line| line.unwrap() == "ready"));
            assert!(!processes(folder.path()).is_empty());
        } else {
            std::thread::sleep(Duration::from_millis(turn * 37 % 900));
        }
        holder.kill().unwrap();
        holder.wait().unwrap();
        assert_eq!(remaining(folder.path()), [0; 0], "after kill {turn}");
    }
    let _ = writeln!(std::io::stderr(), "{kills} kills, no browser left");
}

/// What killed processes left is cleared by the next start.
#[tokio::test]
async fn profiles_of_killed_processes_are_removed() {
    if chromium().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut holder = holder(folder.path()).unwrap();
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "ready"));
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(remaining(folder.path()), [0; 0]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let guard = Arc::new(|_: &str, _: IpAddr, _: u16| Decision::Allow);
    let browser = Browser::new(BrowserConfig::new(guard, folder.path().to_owned()));
    browser.open_tab("x").await.unwrap();
    browser.close().await;
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
