//! A server on loopback that writes down every byte it gets, and answers with one page.
#![allow(clippy::unwrap_used, reason = "a server that cannot begin shall stop the test")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) struct Recorder {
    address: SocketAddr,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Recorder {
    /// Begins to listen; the page is what everyone gets.
    pub(crate) fn start(page: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&bytes);
        // It ends with the process of the test.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = answer(stream, page, &written);
            }
        });
        Self { address, bytes }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether these words have arrived.
    pub(crate) fn has(&self, words: &str) -> bool {
        self.heard().contains(words)
    }

    /// All that has arrived.
    pub(crate) fn heard(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }
}

fn answer(mut stream: TcpStream, page: &str, written: &Mutex<Vec<u8>>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut chunk = [0; 4096];
    let mut seen = Vec::new();
    while !seen.ends_with(b"\r\n\r\n") {
        let count = stream.read(&mut chunk)?;
        if count == 0 {
            break;
        }
        seen.extend_from_slice(&chunk[..count]);
        written.lock().unwrap().extend_from_slice(&chunk[..count]);
    }
    write!(stream, "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{page}", page.len())
}
