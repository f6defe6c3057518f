//! The client that measures: the same for every server, and as little as will do.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Outcome;

/// Calls one after the other, and calls sixteen at a time.
const CALLS: usize = 1_000;
const AT_ONCE: usize = 16;

/// What was measured.
#[derive(Clone, Default)]
pub(crate) struct Figures {
    /// Half of the calls took less.
    pub(crate) middle: Duration,
    /// All but one in a hundred took less.
    pub(crate) slow: Duration,
    /// Calls a second, sixteen at a time.
    pub(crate) rate: f64,
}

impl Figures {
    fn of(mut times: Vec<Duration>, all: Duration) -> Self {
        times.sort();
        let at = |part: usize| times[times.len() * part / 100];
        Self { middle: at(50), slow: at(99), rate: CALLS as f64 / all.as_secs_f64() }
    }

    pub(crate) fn keep_better(&mut self, other: &Self) {
        if self.rate == 0.0 || other.middle < self.middle {
            self.middle = other.middle;
        }
        if self.rate == 0.0 || other.slow < self.slow {
            self.slow = other.slow;
        }
        self.rate = self.rate.max(other.rate);
    }
}

fn hello() -> String {
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "echo", "version": "0" } });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string()
}

fn call(id: usize) -> String {
    let params = json!({ "name": "echo", "arguments": { "text": format!("call {id}") } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Checks that an answer is the echo of its call.
fn check(answer: &str) -> Outcome<()> {
    let answer: Value = serde_json::from_str(answer)?;
    let said = format!("call {}", answer["id"]);
    if answer["result"]["content"][0]["text"] == said.as_str() {
        Ok(())
    } else {
        Err(format!("no echo: {answer}").into())
    }
}

pub(crate) fn over_pipes(child: &mut Child) -> Outcome<Figures> {
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("no pipes".into());
    };
    let mut output = BufReader::new(output);
    let mut line = String::new();
    let mut read = |line: &mut String| {
        line.clear();
        if output.read_line(line)? == 0 {
            Err::<(), Box<dyn std::error::Error>>("the server has gone".into())
        } else {
            Ok(())
        }
    };
    writeln!(input, "{}", hello())?;
    read(&mut line)?;
    writeln!(input, "{READY}")?;
    let mut times = Vec::with_capacity(CALLS);
    for id in 1..=CALLS {
        let began = Instant::now();
        writeln!(input, "{}", call(id))?;
        read(&mut line)?;
        times.push(began.elapsed());
        check(&line)?;
    }
    let began = Instant::now();
    for id in 1..=CALLS + AT_ONCE {
        if id <= CALLS {
            writeln!(input, "{}", call(id))?;
        }
        if id > AT_ONCE {
            read(&mut line)?;
            check(&line)?;
        }
    }
    Ok(Figures::of(times, began.elapsed()))
}

/// A connection that is kept open.
struct Line {
    stream: BufReader<TcpStream>,
    port: u16,
    session: String,
}

impl Line {
    fn open(port: u16, session: &str) -> Outcome<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        Ok(Self { stream: BufReader::new(stream), port, session: session.to_owned() })
    }

    /// Sends a message and gives the answer's body; keeps the session, where one is given.
    fn post(&mut self, body: &str) -> Outcome<String> {
        let session =
            if self.session.is_empty() { String::new() } else { format!("Mcp-Session-Id: {}\r\n", self.session) };
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n{session}Content-Length: {}\r\n\r\n",
            self.port,
            body.len()
        );
        self.stream.get_mut().write_all(format!("{head}{body}").as_bytes())?;
        let (mut length, mut is_chunked) = (0_usize, false);
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err("the server closed the connection".into());
            }
            let line = line.trim().to_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            } else if let Some(value) = line.strip_prefix("mcp-session-id:") {
                value.trim().clone_into(&mut self.session);
            }
            is_chunked |= line == "transfer-encoding: chunked";
        }
        let mut whole = Vec::new();
        if is_chunked {
            while self.chunk(&mut whole)? {}
        } else {
            whole.resize(length, 0);
            self.stream.read_exact(&mut whole)?;
        }
        Ok(String::from_utf8(whole)?)
    }

    fn chunk(&mut self, into: &mut Vec<u8>) -> Outcome<bool> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let length = usize::from_str_radix(line.trim(), 16)?;
        let before = into.len();
        into.resize(before + length + 2, 0);
        self.stream.read_exact(&mut into[before..])?;
        into.truncate(before + length);
        Ok(length > 0)
    }

    fn echo(&mut self, id: usize) -> Outcome<()> {
        let body = self.post(&call(id))?;
        let data = body
            .lines()
            .filter_map(|line| line.strip_prefix("data:").map(str::trim))
            .find(|data| data.starts_with('{'));
        check(data.unwrap_or(&body))
    }
}

pub(crate) fn over_http(port: u16) -> Outcome<Figures> {
    let deadline = Instant::now() + Duration::from_mins(1);
    let mut line = loop {
        match Line::open(port, "") {
            Ok(line) => break line,
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    line.post(&hello())?;
    line.post(READY)?;
    let mut times = Vec::with_capacity(CALLS);
    for id in 1..=CALLS {
        let began = Instant::now();
        line.echo(id)?;
        times.push(began.elapsed());
    }
    let session = line.session.clone();
    let began = Instant::now();
    std::thread::scope(|scope| {
        let drivers: Vec<_> = (0..AT_ONCE)
            .map(|first| {
                let session = session.as_str();
                scope.spawn(move || {
                    let mut line = Line::open(port, session).map_err(|error| error.to_string())?;
                    (first..CALLS)
                        .step_by(AT_ONCE)
                        .try_for_each(|id| line.echo(id + 1))
                        .map_err(|error| error.to_string())
                })
            })
            .collect();
        drivers.into_iter().try_for_each(|driver| driver.join().map_err(|_| "a driver broke down".to_owned())?)
    })?;
    Ok(Figures::of(times, began.elapsed()))
}
