//! A server on loopback that counts like the strictest provider: in a sliding window and in fixed ones, all at once.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The server. Its threads end with the test's process.
pub(crate) struct Server {
    address: SocketAddr,
    tally: Arc<Mutex<Tally>>,
    held: Receiver<()>,
}

struct Tally {
    most: usize,
    window: Duration,
    began: Instant,
    arrivals: Vec<Instant>,
    answered: usize,
    refused: usize,
    open: usize,
    most_at_once: usize,
}

impl Server {
    pub(crate) fn start(most: usize, window: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let began = Instant::now();
        let tally =
            Tally { most, window, began, arrivals: Vec::new(), answered: 0, refused: 0, open: 0, most_at_once: 0 };
        let tally = Arc::new(Mutex::new(tally));
        let (tell, held) = channel();
        let shared = Arc::clone(&tally);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (tally, tell) = (Arc::clone(&shared), tell.clone());
                std::thread::spawn(move || serve(stream, &tally, &tell));
            }
        });
        Self { address, tally, held }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn answered(&self) -> usize {
        lock(&self.tally).answered
    }

    pub(crate) fn refused(&self) -> usize {
        lock(&self.tally).refused
    }

    /// The most requests that were with the server at the same time, those left aside that are never answered.
    pub(crate) fn most_at_once(&self) -> usize {
        lock(&self.tally).most_at_once
    }

    /// Waits until so many requests have arrived that are never answered.
    pub(crate) fn wait_until_held(&self, count: usize) {
        (0..count).for_each(|_| self.held.recv_timeout(Duration::from_mins(1)).unwrap());
    }
}

fn lock(tally: &Mutex<Tally>) -> MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tally {
    /// Counts one more request, and says whether it is within the limit however one counts.
    fn admits(&mut self, now: Instant) -> bool {
        self.arrivals.push(now);
        let sliding = self.arrivals.iter().filter(|moment| now.duration_since(**moment) <= self.window).count();
        let fixed = (0..4).map(|quarter| {
            let index = |moment: Instant| {
                let since = moment.duration_since(self.began) + self.window * quarter / 4;
                since.as_nanos() / self.window.as_nanos()
            };
            self.arrivals.iter().filter(|moment| index(**moment) == index(now)).count()
        });
        fixed.chain([sliding]).all(|count| count <= self.most)
    }
}

fn serve(mut stream: TcpStream, tally: &Mutex<Tally>, tell: &Sender<()>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    let mut request = String::new();
    if lines.read_line(&mut request).unwrap_or_default() == 0 {
        return;
    }
    let is_admitted = lock(tally).admits(Instant::now());
    if request.contains("/hold") {
        let _ = tell.send(());
        // Ends when the other side is killed.
        let _ = lines.read_to_end(&mut Vec::new());
        return;
    }
    let number = {
        let mut tally = lock(tally);
        tally.open += 1;
        tally.most_at_once = tally.most_at_once.max(tally.open);
        tally.arrivals.len() as u64
    };
    // Answers take their time, each another.
    std::thread::sleep(Duration::from_millis(number * 7 % 30));
    {
        let mut tally = lock(tally);
        tally.open -= 1;
        if is_admitted {
            tally.answered += 1;
        } else {
            tally.refused += 1;
        }
    }
    let status = if is_admitted { "200 OK" } else { "429 Too Many Requests" };
    let _ = write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
}
