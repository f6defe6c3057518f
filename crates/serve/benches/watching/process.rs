//! The server as a process of its own: the page with a scripted model, and the bare server beside it.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use updraft_journal::{Journal, JournalOptions};
use updraft_workbench::AppFolders;

use crate::{floor, world};

/// Turns of each step; the last one is its answer.
pub(crate) const TURNS: usize = 10;

/// Where everything is.
#[derive(Deserialize, Serialize)]
pub(crate) struct ServerPlace {
    pub(crate) page: String,
    pub(crate) cookie: String,
    pub(crate) floor: String,
    pub(crate) folder: PathBuf,
}

/// A server that runs until this is dropped.
pub(crate) struct ServerProcess {
    child: Child,
    /// Closed to stop it.
    _stop: ChildStdin,
    pub(crate) place: ServerPlace,
}

/// How the scripted model behaves: after `wait` ms it plans so many steps in a row, each of ten turns of `pace` ms.
pub(crate) fn script(steps: usize, wait: u64, pace: u64) -> Value {
    let step = |n: usize| {
        let after: Vec<String> = n.checked_sub(1).map(|n| format!("s{n}")).into_iter().collect();
        json!({ "id": format!("s{n}"), "agent": "retriever", "description": format!("Look around, part {n}"),
                "prompt": "Look around.", "after": after })
    };
    let plan = json!({ "steps": (0..steps).map(step).collect::<Vec<_>>() });
    let look = |turn: usize| {
        let call = json!({ "name": "list_files", "args": { "path": format!("d{turn}") } });
        json!({ "when": { "turn": turn }, "answer": { "calls": [call], "delay_ms": pace } })
    };
    let mut rules = vec![json!({ "when": { "agent": "planner" }, "answer": { "json": plan, "delay_ms": wait } })];
    rules.extend((0..TURNS - 1).map(look));
    json!({ "rules": rules, "default": { "text": "Seen.", "delay_ms": pace } })
}

/// The server's own main function.
pub(crate) async fn serve(script: &str) {
    let world = world::World::new(&serde_json::from_str(script).unwrap()).await;
    for turn in 0..TURNS {
        std::fs::create_dir_all(world.file(&format!("d{turn}"))).unwrap();
    }
    let folder = world.file("").parent().unwrap().canonicalize().unwrap();
    let floor = floor::serve().await;
    let place = ServerPlace { page: world.address.clone(), cookie: world.cookie.clone(), floor, folder };
    println!("{}", serde_json::to_string(&place).unwrap());
    let waits = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let _ = waits.await;
    world.close().await;
}

impl ServerProcess {
    pub(crate) fn start(script: &Value) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["serve", &script.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stop = child.stdin.take().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, _stop: stop, place: serde_json::from_str(&line).unwrap() }
    }

    /// Its memory in MB: now, and the most so far.
    pub(crate) fn memory(&self) -> (f64, f64) {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let value = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
        };
        (value("VmRSS:"), value("VmHWM:"))
    }

    pub(crate) fn journal(&self) -> Journal {
        let folders = AppFolders::under(&self.place.folder.join("home"));
        Journal::open(&folders.journal(), JournalOptions::default()).unwrap()
    }

    pub(crate) fn workspace(&self) -> String {
        self.place.folder.join("ws").display().to_string()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.place.folder);
    }
}
