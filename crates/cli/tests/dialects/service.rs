//! A service between the binary and the judge. It remembers what was asked, and can refuse, break off or fall silent.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::providers::Provider;

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) body: String,
}

impl Asked {
    /// Whether it is for this provider's model.
    pub(crate) fn is_for(&self, provider: &Provider) -> bool {
        let model = provider.model;
        self.path.contains(&format!("/{model}:")) || self.body.contains(&format!("\"model\":\"{model}\""))
    }
}

/// What is done with a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Then {
    /// The judge answers.
    Pass,
    /// It is refused with this status.
    Refuse(u16),
    /// Half of the judge's answer comes, then the connection breaks.
    Break,
    /// Half of the judge's answer comes, then nothing, until the other side goes away.
    Hold,
}

/// Answers requests on loopback.
pub(crate) struct Service {
    address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    left: Receiver<()>,
}

impl Service {
    /// Starts. `choose` is asked what to do with each question to a model; it sees all that were put before.
    pub(crate) fn start(
        judge: &'static str,
        choose: impl Fn(&Asked, &[Asked]) -> Then + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (gone, left) = channel();
        let (choose, memory) = (Arc::new(choose), asked.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (choose, memory, gone) = (choose.clone(), memory.clone(), gone.clone());
                std::thread::spawn(move || serve(stream, judge, &*choose, &memory, &gone));
            }
        });
        Self { address, asked, left }
    }

    /// One that only passes on.
    pub(crate) fn plain(judge: &'static str) -> Self {
        Self::start(judge, |_, _| Then::Pass)
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The questions to models so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Waits until somebody went away while nothing came.
    pub(crate) fn until_left(&self) {
        self.left.recv_timeout(std::time::Duration::from_mins(1)).unwrap();
    }
}

/// One connection, one request.
fn serve(
    mut client: TcpStream,
    judge: &str,
    choose: &dyn Fn(&Asked, &[Asked]) -> Then,
    memory: &Mutex<Vec<Asked>>,
    gone: &Sender<()>,
) {
    let Some((head, asked)) = read_request(&client) else { return };
    if let Some(facts) = facts(&asked) {
        let _ = client.write_all(&whole(200, &facts));
        return;
    }
    // What else a server may be asked about itself, before a question.
    if asked.body.is_empty() {
        let _ = client.write_all(&whole(404, &json!({ "error": { "message": "no such path" } })));
        return;
    }
    let then = {
        let mut memory = memory.lock().unwrap();
        let then = choose(&asked, &memory);
        memory.push(asked.clone());
        then
    };
    if let Then::Refuse(status) = then {
        let _ = client.write_all(&whole(status, &json!({ "error": { "message": "not now" } })));
        return;
    }
    let answer = ask(judge, &head, &asked.body);
    let half = answer.len() / 2;
    match then {
        Then::Pass | Then::Refuse(_) => {
            let _ = client.write_all(&answer);
        }
        Then::Break => {
            let _ = client.write_all(&answer[..half]);
        }
        Then::Hold => {
            let _ = client.write_all(&answer[..half]);
            // Ends when the other side closes the connection, properly or not.
            let _ = client.read(&mut [0]);
            let _ = gone.send(());
        }
    }
}

/// The head as it came, and what is asked.
fn read_request(client: &TcpStream) -> Option<(Vec<String>, Asked)> {
    let mut reader = BufReader::new(client);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            text => head.push(text.to_owned()),
        }
    }
    let length = head.iter().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let path = head.first()?.split(' ').nth(1)?.to_owned();
    Some((head, Asked { path, body: String::from_utf8(body).ok()? }))
}

/// What servers on people's own machines say about their models.
fn facts(asked: &Asked) -> Option<Value> {
    match asked.path.as_str() {
        "/api/show" => Some(json!({ "capabilities": ["completion", "tools", "thinking", "vision"] })),
        "/props" => Some(json!({ "modalities": { "vision": true } })),
        _ => None,
    }
}

/// The judge's whole answer, as the last one on its connection.
fn ask(judge: &str, head: &[String], body: &str) -> Vec<u8> {
    let mut server = TcpStream::connect(judge).unwrap();
    let head: Vec<&str> = head.iter().map(String::as_str).chain(["Connection: close", "", body]).collect();
    server.write_all(head.join("\r\n").as_bytes()).unwrap();
    let mut answer = Vec::new();
    server.read_to_end(&mut answer).unwrap();
    let end = answer.iter().position(|byte| *byte == b'\n').unwrap();
    answer.splice(end + 1..=end, b"Connection: close\r\n".iter().copied());
    answer
}

fn whole(status: u16, value: &Value) -> Vec<u8> {
    let body = value.to_string();
    let head = "Content-Type: application/json\r\nConnection: close";
    format!("HTTP/1.1 {status} So\r\n{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
