//! A client by hand: one JSON message a line, of either era.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// Which revisions it speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Old,
    New,
}

/// A server that was started, and we as its client.
pub(crate) struct Client {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    era: Era,
    capabilities: Value,
    next: u64,
    /// What the person behind us says to every form.
    pub(crate) person: Value,
    /// What is for no request of ours, in order.
    pub(crate) heard: Vec<Value>,
}

impl Client {
    /// Starts the server and says hello.
    pub(crate) fn of(mut command: Command, era: Era, capabilities: Value) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut client =
            Self { child, input, output, era, capabilities, next: 0, person: Value::Null, heard: Vec::new() };
        if era == Era::Old {
            let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": client.capabilities,
                                "clientInfo": { "name": "by-hand", "version": "0" } });
            let info = client.ask("initialize", hello).unwrap();
            assert_eq!(info["protocolVersion"], "2025-11-25");
            client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        client
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{message}\n").as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// Sends a request, and gives its id.
    pub(crate) fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        if self.era == Era::New {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "by-hand", "version": "0" });
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        }
        self.send(&json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }));
        self.next
    }

    /// Waits for an answer, and answers what we are asked meanwhile.
    pub(crate) fn end(&mut self, id: u64) -> Result<Value, Value> {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server has gone");
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not the protocol: {line}"));
            if message["id"].is_null() {
                self.heard.push(message);
            } else if message["method"].is_string() {
                assert_eq!(message["method"], "elicitation/create");
                self.heard.push(message.clone());
                // A client that fails says so instead.
                let kind = if self.person.get("code").is_some() { "error" } else { "result" };
                let answer = json!({ "jsonrpc": "2.0", "id": message["id"], kind: self.person });
                self.send(&answer);
            } else if message["id"] == id {
                let error = message.get("error").cloned();
                return error.map_or_else(|| Ok(message["result"].clone()), Err);
            }
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.begin(method, params);
        self.end(id)
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Calls a tool that must not fail, and gives its whole result.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).unwrap();
        assert_ne!(result["isError"], true, "{tool}: {result}");
        result
    }

    /// Calls a tool, and gives its data.
    pub(crate) fn data(&mut self, tool: &str, arguments: Value) -> Value {
        self.call(tool, arguments)["structuredContent"].clone()
    }

    /// Calls a tool that must fail, and gives what it says.
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).unwrap();
        assert_eq!(result["isError"], true, "{tool}: {result}");
        text(&result)
    }

    /// Leaves, and gives the server's exit code.
    pub(crate) fn leave(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The text of a result.
pub(crate) fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}
