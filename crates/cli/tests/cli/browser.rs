//! Pages used by a run through the binary, with a real Chromium: what a person is asked, and what is left of it after a kill.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::terminal::Terminal;
use crate::world::World;

const FORM: &str = "<!doctype html><title>Form</title><form action=/done><label>Name <input name=name></label>\
    <button>Send</button></form>";

/// A site whose `/slow` never answers. It counts requests for it.
struct TestSite {
    address: String,
    slow: Arc<AtomicUsize>,
}

impl TestSite {
    fn serve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, slow) = (listener.local_addr().unwrap().to_string(), Arc::new(AtomicUsize::new(0)));
        let count = slow.clone();
        std::thread::spawn(move || {
            let mut held = Vec::new();
            for mut stream in listener.incoming().flatten() {
                let mut request = [0; 4096];
                let read = stream.read(&mut request).unwrap_or(0);
                let request = String::from_utf8_lossy(&request[..read]).into_owned();
                if request.starts_with("GET /slow") {
                    count.fetch_add(1, Ordering::SeqCst);
                    held.push(stream);
                    continue;
                }
                let body = if request.starts_with("GET /done") { "<!doctype html><p>all done" } else { FORM };
                let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}", body.len());
                let _ = stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n{body}").as_bytes());
            }
        });
        Self { address, slow }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// A world with Chromium. Nothing, with a loud word, where there is none, or no sandbox.
fn world() -> Option<World> {
    let world = World::new();
    let doctor = world.updraft(&["doctor", "--json"]).json();
    let found = |check: &str| doctor.iter().find(|line| line["check"] == check).map(|line| line["status"].clone());
    let has_sandbox =
        doctor.iter().any(|line| line["check"] == "sandbox" && line["found"].to_string().contains("level full"));
    if found("browser") != Some(json!("ok")) || !has_sandbox {
        let _ = writeln!(std::io::stderr(), "!! SKIP: no Chromium, or no sandbox of level full: {doctor:?}");
        return None;
    }
    world.config("config.toml", "[web]\nloopback = true\n");
    world.updraft(&["trust", "--yes"]).code(0);
    Some(world)
}

/// Processes that have this folder in their command line.
fn processes(folder: &Path) -> Vec<PathBuf> {
    let folder = folder.canonicalize().unwrap().display().to_string();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let is_there = |process: &PathBuf| {
        let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&folder)
    };
    entries.map(|entry| entry.path()).filter(is_there).collect()
}

#[test]
fn a_run_killed_with_a_page_open_leaves_no_process() {
    let Some(world) = world() else { return };
    let site = TestSite::serve();
    let open = |path: &str| json!({"calls": [{"name": "browser_open", "args": {"url": site.url(path)}}]});
    let model = world.script("s.json", &json!([open("/"), open("/slow"), {"text": "opened"}]));
    let run = world.begin(&["run", "--yes", "--model", &model, "--agent", "browser", "open both pages"]);
    // The second page is asked about, since the agent has read the first.
    let asked = run.wait().code(3);
    assert!(asked.err.contains("`browser_open` wants to contact 127.0.0.1"), "{}", asked.err);
    let profiles = world.home().join("browser");
    World::until("the browser is gone", || processes(&profiles).is_empty());

    let model = world.script("slow.json", &json!([open("/slow"), {"text": "opened"}]));
    let run = world.begin(&["run", "--yes", "--model", &model, "--agent", "browser", "open the page"]);
    World::until("the browser asks for the page", || site.slow.load(Ordering::SeqCst) > 0);
    assert!(processes(&profiles).len() > 2, "no browser is there");
    run.signal("KILL");
    run.wait();
    World::until("every process is gone", || processes(&profiles).is_empty());

    // Opening a page may be repeated: the run goes on with it in a new browser. The old profile is cleared away.
    let id = world.last();
    let model = world.script("slow.json", &json!([open("/slow"), {"text": "opened"}]));
    let resumed = world.begin(&["resume", &id]);
    World::until("the page is asked for again", || site.slow.load(Ordering::SeqCst) > 1);
    resumed.signal("INT");
    resumed.wait();
    World::until("every process is gone", || processes(&profiles).is_empty());
    assert_eq!(std::fs::read_dir(&profiles).unwrap().count(), 0, "{model}: a profile is left");
}

#[test]
fn actions_on_a_page_are_asked_about_and_always_means_that_host() {
    let Some(world) = world() else { return };
    let site = TestSite::serve();
    let act = |tab: &str| {
        let actions = json!([{"action": "press", "keys": ["Tab"]}, {"action": "type", "text": "Ada"}]);
        json!({"calls": [{"name": "browser_act", "args": {"tab": tab, "actions": actions}}]})
    };
    let enter = json!({"calls": [{"name": "browser_act", "args": {"tab": "t1", "actions": [{"action": "press", "keys": ["Enter"]}]}}]});
    let open = json!({"calls": [{"name": "browser_open", "args": {"url": site.url("/")}}]});
    let model = world.script("s.json", &json!([open, act("t1"), enter, {"text": "sent"}]));
    let args = ["run", "--yes", "--model", &model, "--agent", "browser", "fill in the form"];
    let mut terminal = Terminal::of_width(&world, 200, &args);
    terminal.shows("allow it?", 1);
    terminal.types("a\n");
    let (shown, code) = terminal.end();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("always browser_act(anything on 127.0.0.1) in this run"), "{shown}");
    assert_eq!(shown.matches("needs your approval").count(), 1, "{shown}");
    let shown = world.updraft(&["show", &world.last()]).code(0);
    assert!(shown.out.contains("sent"), "{}", shown.out);
}
