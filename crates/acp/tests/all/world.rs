//! An editor that speaks the protocol by hand, with an agent in the same process.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use updraft_acp::{AcpSetup, serve};
use updraft_run::Level;
use updraft_workbench::{AppFolders, Confine, Flags};

/// A test that waits longer waits in vain.
const LIMIT: Duration = Duration::from_mins(1);

/// A folder to work in, what Updraft keeps, and a model.
pub(crate) struct World {
    kept: tempfile::TempDir,
    pub(crate) folder: PathBuf,
    pub(crate) flags: Flags,
}

/// What the model says: `Inscribe` edits a file, `Hook` needs a permission, `Pick a colour` asks, `Tell me` asks in words, `Dawdle` takes
/// long.
pub(crate) fn script() -> Value {
    let call = |name: &str, args: Value| json!({ "text": "I begin.", "calls": [{ "name": name, "args": args }] });
    let hook = json!({ "path": ".git/hooks/pre-commit", "content": "#!/bin/sh\n" });
    let edit = json!({ "path": "notes.md", "content": "one\ntwo\n" });
    let choose = json!({ "question": "Which colour?", "options": ["red", "blue"] });
    let ask = json!({ "question": "What is your name?" });
    let step = |id: &str, agent: &str, after: Value| json!({ "id": id, "agent": agent, "description": format!("Does {id}"), "prompt": format!("Do {id}."), "after": after });
    let plan = json!({ "json": { "steps": [step("look", "thinker", json!([])), step("answer", "thinker", json!(["look"]))] } });
    json!({
        "rules": [
            { "when": { "agent": "planner" }, "answer": plan },
            { "when": { "step": "look" }, "answer": { "text": "I have looked.", "reasoning": "Where to begin?" } },
            { "when": { "has_result": "write_file" }, "answer": { "text": "It is written." } },
            { "when": { "has_result": "ask_user", "contains": "blue" }, "answer": { "text": "Blue it is." } },
            { "when": { "has_result": "ask_user" }, "answer": { "text": "Thank you." } },
            { "when": { "contains": "Dawdle" }, "answer": { "text": "That took long.", "delay_ms": 600_000 } },
            { "when": { "contains": "Inscribe" }, "answer": call("write_file", edit) },
            { "when": { "contains": "Hook" }, "answer": call("write_file", hook) },
            { "when": { "contains": "Pick a colour" }, "answer": call("ask_user", choose) },
            { "when": { "contains": "Tell me" }, "answer": call("ask_user", ask) },
            { "when": { "contains": "image-1" }, "answer": { "text": "I see a picture." } },
            { "when": { "contains": "Stumble" }, "answer": { "fail": "no more" } },
        ],
        "default": { "text": "A loom.", "reasoning": "Threads become cloth.", "usage": { "input": 21, "output": 4 } },
    })
}

impl World {
    pub(crate) fn new() -> Self {
        let kept = tempfile::tempdir().unwrap();
        let root = kept.path().canonicalize().unwrap();
        let (folder, file) = (root.join("project"), root.join("script.json"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(&file, script().to_string()).unwrap();
        let confine = Confine { level: Some(Level::None), ..Confine::default() };
        let model = Some(format!("scripted/{}", file.display()));
        let flags = Flags { model, probe: Some(false), confine, ..Flags::default() };
        Self { kept, folder, flags }
    }

    /// Where Updraft keeps what it knows.
    pub(crate) fn folders(&self) -> AppFolders {
        AppFolders::under(&self.kept.path().join("home"))
    }

    /// An editor that has said nothing yet, and an agent of its own.
    pub(crate) fn editor(&self) -> Editor {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let setup =
            AcpSetup { folders: self.folders(), flags: self.flags.clone(), tell: Arc::new(|_| {}), version: "0.0.0" };
        let (input, output) = tokio::io::split(theirs);
        let serving = tokio::spawn(serve(setup, input, output, CancellationToken::new()));
        let (input, output) = tokio::io::split(ours);
        Editor { lines: BufReader::new(input).lines(), output, serving, said: Vec::new(), last: 0, picks: "allow_once" }
    }

    /// An editor that has introduced itself.
    pub(crate) async fn connected(&self) -> Editor {
        let mut editor = self.editor();
        editor.call("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).await.unwrap();
        editor
    }

    /// The same, with a new session. `agent` works on its prompts, or a plan is made.
    pub(crate) async fn with_session(&self, agent: &str) -> (Editor, String) {
        let mut editor = self.connected().await;
        let id = self.session(&mut editor, agent).await;
        (editor, id)
    }

    /// A new session.
    pub(crate) async fn session(&self, editor: &mut Editor, agent: &str) -> String {
        let new = editor.call("session/new", self.place()).await.unwrap();
        let id = new["sessionId"].as_str().unwrap().to_owned();
        if agent != "auto" {
            let choice = json!({ "sessionId": id, "configId": "agent", "value": agent });
            editor.call("session/set_config_option", choice).await.unwrap();
        }
        id
    }

    pub(crate) fn place(&self) -> Value {
        json!({ "cwd": self.folder, "mcpServers": [] })
    }

    /// The parameters that open a known session.
    pub(crate) fn known(&self, id: &str) -> Value {
        json!({ "sessionId": id, "cwd": self.folder, "mcpServers": [] })
    }
}

/// An editor.
pub(crate) struct Editor {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    output: WriteHalf<DuplexStream>,
    serving: JoinHandle<()>,
    /// Everything that the agent said.
    pub(crate) said: Vec<Value>,
    last: u64,
    /// The kind of option that it picks when it is asked for permission; `cancelled` or `error` pick none.
    pub(crate) picks: &'static str,
}

impl Editor {
    pub(crate) async fn write(&mut self, line: &str) {
        self.output.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()).await;
    }

    /// Sends a request and gives its id.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()).await;
        id
    }

    /// The next message of the agent; `None` when it has left.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line =
            tokio::time::timeout(LIMIT, self.lines.next_line()).await.expect("the agent says nothing").unwrap()?;
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        self.said.push(message.clone());
        Some(message)
    }

    /// Waits for an answer; requests of the agent are answered meanwhile.
    pub(crate) async fn answer(&mut self, id: impl Into<Value>) -> Result<Value, Value> {
        let id = id.into();
        loop {
            let message = self.next().await.expect("the agent has left");
            if message.get("method").is_some() {
                self.respond(&message).await;
            } else if message["id"] == id {
                return message.get("result").cloned().ok_or_else(|| message["error"].clone());
            }
        }
    }

    /// Answers a request of the agent.
    async fn respond(&mut self, request: &Value) {
        let Some(id) = request.get("id") else { return };
        let options = request["params"]["options"].as_array().cloned().unwrap_or_default();
        let picked = options.iter().find(|option| option["kind"] == self.picks);
        let reply = match (request["method"].as_str(), picked) {
            (Some("session/request_permission"), Some(option)) => {
                json!({ "result": { "outcome": { "outcome": "selected", "optionId": option["optionId"] } } })
            }
            (Some("session/request_permission"), None) if self.picks == "cancelled" => {
                json!({ "result": { "outcome": { "outcome": "cancelled" } } })
            }
            (Some("elicitation/create"), _) => {
                json!({ "result": { "action": "accept", "content": { "answer": "blue" } } })
            }
            _ => json!({ "error": { "code": -32601, "message": "not here" } }),
        };
        let mut reply = reply;
        reply["jsonrpc"] = json!("2.0");
        reply["id"] = id.clone();
        self.write(&reply.to_string()).await;
    }

    /// A request and its answer.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.ask(method, params).await;
        self.answer(id).await
    }

    /// A prompt of text, worked on to the end. Gives the reason why it ended.
    pub(crate) async fn prompt(&mut self, session: &str, text: &str) -> String {
        let ended = self.call("session/prompt", prompt(session, text)).await.unwrap();
        ended["stopReason"].as_str().unwrap().to_owned()
    }

    /// The editor leaves. Gives everything that the agent said after that, and all that it said.
    pub(crate) async fn leave(mut self) -> (Vec<Value>, Vec<Value>) {
        let before = self.said.len();
        self.output.shutdown().await.unwrap();
        while self.next().await.is_some() {}
        tokio::time::timeout(LIMIT, self.serving).await.expect("the agent stays").unwrap();
        (self.said.split_off(before), self.said)
    }

    /// The updates of a session after a message.
    pub(crate) fn updates(&self, from: usize) -> Vec<Value> {
        let update =
            |message: &Value| (message["method"] == "session/update").then(|| message["params"]["update"].clone());
        self.said[from..].iter().filter_map(update).collect()
    }

    /// The text of the chunks of a kind after a message.
    pub(crate) fn text(&self, from: usize, kind: &str) -> String {
        let updates = self.updates(from);
        let chunks = updates.iter().filter(|update| update["sessionUpdate"] == kind);
        chunks.map(|chunk| chunk["content"]["text"].as_str().unwrap().to_owned()).collect()
    }
}

pub(crate) fn prompt(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}
