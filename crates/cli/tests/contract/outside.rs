//! The world outside of the program: its model, an MCP server over HTTP, and the place where effects are counted. It can
//! end the program when something reaches it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::model::{Asked, Turn, streamed};
use crate::server::{Request, Response, serve};

/// What must happen for the program to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// The model is asked at this place (`step/turn`); it does not answer.
    Asked(String),
    /// The model is about to have answered.
    Answered(String),
    /// This effect is wanted from us, and has not happened.
    Before(String),
    /// It has happened.
    After(String),
    /// This file is there.
    File(PathBuf),
}

/// What came to pass out here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observations {
    /// How often the model was asked at each place.
    pub(crate) asked: BTreeMap<String, u32>,
    /// How often each effect happened.
    pub(crate) effects: BTreeMap<String, u32>,
    /// To how many calls of a step the model was told that the outcome is unknown.
    pub(crate) told: BTreeMap<String, usize>,
    /// What the model was told after its last answer, by place.
    pub(crate) heard: BTreeMap<String, String>,
}

#[derive(Default)]
struct State {
    seen: Observations,
    /// Whom to end, and when.
    cut: Option<(Gate, Pid)>,
}

type Script = dyn Fn(&Asked) -> Turn + Send + Sync;

/// All of it, with one lock: what is counted and who is ended cannot be seen half way.
#[derive(Clone)]
pub(crate) struct Outside {
    state: Arc<Mutex<State>>,
    script: Arc<Script>,
}

impl Outside {
    /// Serves on loopback until the test's process ends.
    pub(crate) fn serve(script: impl Fn(&Asked) -> Turn + Send + Sync + 'static) -> (Self, SocketAddr) {
        let outside = Self { state: Arc::default(), script: Arc::new(script) };
        let there = outside.clone();
        let address = serve(move |request| there.answer(request));
        (outside, address)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn seen(&self) -> Observations {
        self.lock().seen.clone()
    }

    /// Puts the world back to where it was.
    pub(crate) fn restore(&self, seen: Observations) {
        self.lock().seen = seen;
    }

    /// Starts a process that is ended when it comes to the gate.
    pub(crate) fn start(&self, mut command: Command, gate: Option<Gate>) -> Child {
        let mut state = self.lock();
        let child = command.spawn().unwrap();
        let pid = Pid::from_child(&child);
        state.cut = gate.map(|gate| (gate, pid));
        if let Some((Gate::File(path), _)) = state.cut.clone() {
            std::thread::spawn(move || {
                while is_alive(pid) {
                    if path.exists() {
                        let _ = kill_process(pid, Signal::KILL);
                        return;
                    }
                }
            });
        }
        child
    }

    /// Ends the process whose gate this is. Whoever started it must be waiting for it.
    fn reach(&self, gate: &Gate) -> bool {
        let mut state = self.lock();
        let Some((_, pid)) = state.cut.take_if(|(wanted, _)| wanted == gate) else { return false };
        drop(state);
        let _ = kill_process(pid, Signal::KILL);
        while is_alive(pid) {
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    fn answer(&self, request: &Request) -> Response {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        if request.path.ends_with("/chat/completions") {
            return self.ask(&Asked::read(&body));
        }
        if request.path == "/mcp" {
            return self.mcp(&body);
        }
        if let Some(name) = request.path.strip_prefix("/count/") {
            return self.count(name).map_or_else(gone, |()| plain("counted"));
        }
        Response::nothing_here()
    }

    fn ask(&self, asked: &Asked) -> Response {
        let place = asked.place();
        {
            let seen = &mut self.lock().seen;
            *seen.asked.entry(place.clone()).or_default() += 1;
            let unknown = asked.told.matches("is unknown").count();
            if unknown > 0 {
                let told = seen.told.entry(asked.step.clone()).or_default();
                *told = unknown.max(*told);
            }
            seen.heard.insert(place.clone(), asked.told.clone());
        }
        if self.reach(&Gate::Asked(place.clone())) {
            return gone();
        }
        let there = self.clone();
        // It ends while the answer is on its way, or has just arrived.
        std::thread::spawn(move || there.reach(&Gate::Answered(place)));
        streamed(&(self.script)(asked))
    }

    /// The effect itself; nothing if the program has ended before it.
    fn count(&self, name: &str) -> Option<()> {
        if self.reach(&Gate::Before(name.to_owned())) {
            return None;
        }
        *self.lock().seen.effects.entry(name.to_owned()).or_default() += 1;
        self.reach(&Gate::After(name.to_owned()));
        Some(())
    }

    /// An MCP server with one tool, which nobody says may be called twice.
    fn mcp(&self, message: &Value) -> Response {
        let Some(id) = message.get("id") else {
            let status = if message.is_null() { "405 Method Not Allowed" } else { "202 Accepted" };
            return Response { status, content: "application/json", body: String::new() };
        };
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "web", "version": "1"}}),
            "tools/list" => json!({ "tools": tools() }),
            "tools/call" => {
                let name = message["params"]["arguments"]["name"].as_str().unwrap_or_default();
                if self.count(name).is_none() {
                    return gone();
                }
                json!({"content": [{"type": "text", "text": "counted"}]})
            }
            _ => return Response { status: "400 Bad Request", content: "application/json", body: "{}".to_owned() },
        };
        plain(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())
    }
}

/// The tool that counts, as both servers list it.
pub(crate) fn tools() -> Value {
    json!([{"name": "count", "description": "Counts.",
        "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
        "annotations": {"readOnlyHint": false, "destructiveHint": false, "openWorldHint": false}}])
}

fn plain(body: &str) -> Response {
    Response { status: "200 OK", content: "application/json", body: body.to_owned() }
}

/// Nobody is there to read it.
fn gone() -> Response {
    Response { status: "500 Internal Server Error", content: "text/plain", body: String::new() }
}

/// Not dead, or dead and not yet waited for.
fn is_alive(pid: Pid) -> bool {
    std::path::Path::new(&format!("/proc/{}", pid.as_raw_nonzero())).exists()
}
