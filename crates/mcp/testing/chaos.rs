//! A server that dies, hangs, babbles, lies and floods when it is asked to, and is a good server otherwise.

use std::io::{BufRead, Write};
use std::time::Duration;

use serde_json::{Value, json};

/// Serves on stdin and stdout. `era` says how it takes the question which revision it speaks: `new` answers it, `old`
/// refuses it, `fragile` dies of it, `babbling` is old and prints a banner first.
pub(crate) fn serve(era: &str) {
    let mut server = Chaos {
        era: era.to_owned(),
        polls: 0,
        told: None,
        gives_up: false,
        level: String::new(),
        changed: false,
        last: Value::Null,
    };
    if era == "babbling" {
        print("Welcome to the server!\n{\"level\": \"info\"}\n[1, 2]\n");
    }
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        server.take(&message);
    }
}

struct Chaos {
    era: String,
    /// How often it was asked after its task, and what it was told meanwhile.
    polls: u32,
    told: Option<String>,
    gives_up: bool,
    /// From which level on it was told to send log messages.
    level: String,
    changed: bool,
    last: Value,
}

fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

fn send(message: &Value) {
    print(&format!("{message}\n"));
}

fn answer(id: &Value, result: &Value) {
    send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn refuse(id: &Value, code: i64, message: &str) {
    send(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}));
}

fn text(text: &str) -> Value {
    json!({"resultType": "complete", "content": [{"type": "text", "text": text}]})
}

/// The state of the one task there is.
fn state(status: &str, more: &Value) -> Value {
    let mut state = json!({"resultType": "complete", "taskId": "task-1", "status": status, "ttlMs": null,
        "pollIntervalMs": 50, "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"});
    for (name, value) in more.as_object().unwrap() {
        state[name] = value.clone();
    }
    state
}

impl Chaos {
    fn take(&mut self, message: &Value) {
        let (id, params) = (&message["id"], &message["params"]);
        match message["method"].as_str().unwrap_or_default() {
            "server/discover" if self.era == "fragile" => std::process::exit(3),
            "server/discover" if self.era == "new" => answer(
                id,
                &json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                        "serverInfo": {"name": "chaos", "version": "1"}, "ttlMs": 0, "cacheScope": "private"}),
            ),
            "initialize" => answer(
                id,
                &json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": true}, "logging": {}},
                        "serverInfo": {"name": "chaos", "version": "1"}, "instructions": "Mind the gap."}),
            ),
            "tools/list" => answer(
                id,
                &json!({"resultType": "complete", "tools": self.tools(), "ttlMs": 0, "cacheScope": "private"}),
            ),
            "logging/setLevel" => {
                params["level"].as_str().unwrap_or_default().clone_into(&mut self.level);
                answer(id, &json!({}));
            }
            "tasks/get" => self.task(id, &params["taskId"]),
            "tasks/update" => {
                self.told = params["inputResponses"]["name"]["content"]["name"].as_str().map(str::to_owned);
                answer(id, &json!({"resultType": "complete"}));
            }
            "tools/call" => {
                if let Some(level) = params["_meta"]["io.modelcontextprotocol/logLevel"].as_str() {
                    level.clone_into(&mut self.level);
                }
                self.call(id, &params["name"], &params["arguments"], &params["_meta"]["progressToken"]);
            }
            _ if id.is_null() => {}
            _ => refuse(id, -32601, "Method not found"),
        }
    }

    /// A task that works, asks for a name, and greets.
    fn task(&mut self, id: &Value, task: &Value) {
        self.polls += 1;
        let question = json!({"method": "elicitation/create", "params": {"mode": "form", "message": "Who?",
            "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}});
        match (self.polls, &self.told) {
            _ if self.gives_up => answer(id, &state("cancelled", &json!({}))),
            _ if task != "task-1" => refuse(id, -32602, "no such task"),
            (1, _) => answer(id, &state("working", &json!({"statusMessage": "still at it"}))),
            (_, None) => answer(id, &state("input_required", &json!({"inputRequests": {"name": question}}))),
            (_, Some(name)) => {
                let result = text(&format!("hello {name}"));
                answer(id, &state("completed", &json!({"result": result})));
            }
        }
    }

    fn tools(&self) -> Vec<Value> {
        let names = [
            "echo",
            "die",
            "die_after",
            "hang",
            "babble",
            "twice",
            "foreign",
            "big",
            "malformed",
            "change",
            "progress",
            "flood",
            "mark",
            "fail",
            "picture",
            "structured",
            "lie",
            "task",
            "log",
        ];
        let extra = self.changed.then_some("extra");
        let tool = |name: &str| {
            let mut tool = json!({"name": name, "description": format!("Does {name}."),
                                  "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}});
            if name == "structured" || name == "lie" {
                tool["outputSchema"] =
                    json!({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]});
            }
            if name == "echo" || name == "die" {
                tool["annotations"] = json!({"readOnlyHint": true});
            }
            tool
        };
        names.into_iter().chain(extra).map(tool).collect()
    }

    fn call(&mut self, id: &Value, name: &Value, args: &Value, token: &Value) {
        let said = args["text"].as_str().unwrap_or_default();
        match name.as_str().unwrap_or_default() {
            "die" => std::process::exit(9),
            "die_after" => {
                answer(id, &text(said));
                std::process::exit(9);
            }
            "hang" => return,
            "babble" => {
                print("DEBUG calling\n\u{7}\u{0}{not json\n\n42\n");
                answer(id, &text(said));
            }
            "twice" => {
                answer(id, &text(said));
                answer(id, &text("a lie"));
            }
            "foreign" => {
                answer(&self.last, &text("a lie"));
                answer(&json!(id.as_i64().unwrap_or(0) + 1), &text("a lie"));
                answer(&json!("nobody"), &text("a lie"));
                answer(id, &text(said));
            }
            "big" => answer(id, &text(&"x".repeat(said.parse::<usize>().unwrap_or(1) << 20))),
            "malformed" => send(&json!({"jsonrpc": "2.0", "id": id, "result": 5})),
            "change" => {
                self.changed = !self.changed;
                send(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
                answer(id, &text(said));
            }
            "log" => {
                for (level, words) in [("info", json!("half way")), ("error", json!({"left": 3}))] {
                    if self.level == "info" {
                        send(&json!({"jsonrpc": "2.0", "method": "notifications/message",
                                     "params": {"level": level, "data": words}}));
                    }
                }
                answer(id, &text(said));
            }
            "progress" => {
                for step in 1..=5 {
                    std::thread::sleep(Duration::from_millis(150));
                    send(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params":
                        {"progressToken": token, "progress": step, "total": 5, "message": "working"}}));
                }
                answer(id, &text(said));
            }
            "flood" => loop {
                send(
                    &json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "!"}}),
                );
            },
            "mark" => {
                let mut file = std::fs::OpenOptions::new().append(true).create(true).open("marks.txt").unwrap();
                writeln!(file, "{said}").unwrap();
                std::process::exit(9);
            }
            "fail" => answer(id, &json!({"content": [{"type": "text", "text": "it is closed"}], "isError": true})),
            "picture" => {
                let png =
                    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
                answer(
                    id,
                    &json!({"content": [{"type": "image", "data": png, "mimeType": "image/png"},
                    {"type": "resource_link", "uri": "file:///a", "name": "a file"}]}),
                );
            }
            "structured" => answer(id, &json!({"content": [], "structuredContent": {"sum": 3}})),
            "lie" => answer(id, &json!({"content": [], "structuredContent": {"sum": "three"}})),
            "task" => {
                self.polls = 0;
                self.gives_up = said == "give up";
                answer(id, &state("working", &json!({"resultType": "task"})));
            }
            "echo" | "extra" => answer(id, &text(said)),
            other => refuse(id, -32602, &format!("no tool named {other}")),
        }
        self.last = id.clone();
    }
}
