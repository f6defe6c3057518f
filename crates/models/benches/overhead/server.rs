//! A server on loopback that answers every question with the same stream.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use crate::streams::Speech;
use crate::{Outcome, Recorded};

/// How the events of an answer are sent. Each is a chunk of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pieces {
    /// All in one go, so that the client's time is spent on the events alone.
    Together,
    /// Each by itself, as a model writes them.
    Apart,
}

impl Pieces {
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Pieces::Together => "events sent together",
            Pieces::Apart => "events sent one by one",
        }
    }
}

pub(crate) struct Server {
    address: SocketAddr,
}

impl Server {
    pub(crate) fn start(speech: Speech, size: usize, pieces: Pieces) -> Outcome<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let answer = recorded(speech, size, pieces);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answer = Recorded::clone(&answer);
                std::thread::spawn(move || serve(&stream, &answer));
            }
        });
        Ok(Self { address })
    }

    pub(crate) fn base(&self, speech: Speech) -> String {
        format!("http://{}{}", self.address, speech.base())
    }

    /// Where a plain client asks.
    pub(crate) fn url(&self, speech: Speech) -> String {
        format!("{}/ask", self.base(speech))
    }
}

/// The whole answer, in the pieces that are written at once.
fn recorded(speech: Speech, size: usize, pieces: Pieces) -> Recorded {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {}\r\ntransfer-encoding: chunked\r\n\r\n", speech.content());
    let chunk = |event: String| format!("{:x}\r\n{event}\r\n", event.len()).into_bytes();
    let mut all = vec![head.into_bytes()];
    all.extend(speech.events(size).into_iter().map(chunk));
    all.push(b"0\r\n\r\n".to_vec());
    match pieces {
        Pieces::Together => [all.concat()].into(),
        Pieces::Apart => all.into(),
    }
}

/// Answers until the client has gone.
fn serve(mut stream: &TcpStream, answer: &Recorded) {
    let _ = stream.set_nodelay(true);
    let mut lines = BufReader::new(stream);
    while let Some(path) = read(&mut lines) {
        let sent = if path == "/api/show" {
            let about = r#"{"capabilities":["completion","tools"],"model_info":{}}"#;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
            write!(stream, "{head}content-length: {}\r\n\r\n{about}", about.len())
        } else {
            answer.iter().try_for_each(|piece| stream.write_all(piece))
        };
        if sent.is_err() {
            return;
        }
    }
}

/// The path of the next request.
fn read(lines: &mut BufReader<&TcpStream>) -> Option<String> {
    let mut line = String::new();
    lines.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        line.clear();
        lines.read_line(&mut line).ok()?;
        match line.trim_end().to_ascii_lowercase().split_once(": ") {
            Some(("content-length", number)) => length = number.parse().ok()?,
            Some(_) => {}
            None => break,
        }
    }
    lines.read_exact(&mut vec![0; length]).ok()?;
    Some(path)
}
