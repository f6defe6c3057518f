//! What our client adds to an exchange: processor time for one streamed answer, beside a bare exchange of the same bytes.
//!
//! A server on loopback sends the same recorded stream to three clients in turn: ours, which folds it into an answer; a
//! bare one, which reads the bytes and throws them away; and a plain one, which reads every event into a
//! `serde_json::Value`, as most clients do. All three live on one thread, whose time is taken; the server's is not.
//! `cargo bench -p updraft-models --bench overhead`.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "its output is what it is for, and its server is a thread that ends with it"
)]

mod server;
mod streams;

use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use updraft_models::{
    Model, ModelAccess, Prompt, ProviderAccess, RateLimit, RequestDraft, SecretString, TaskBrief, resolve,
};
use updraft_run::Message;

use self::server::{Pieces, Server};
use self::streams::Speech;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A stream as the server sends it.
type Recorded = Arc<[Vec<u8>]>;

/// How many events an answer has.
const SIZES: [usize; 3] = [50, 500, 5_000];

/// Each client's turn comes so often.
const ROUNDS: usize = 15;

/// About so many events are read in one turn.
const EVENTS_A_TURN: usize = 10_000;

fn main() -> Outcome<()> {
    // The bare client is built the usual way, which wants one although nothing is secret here.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    for pieces in [Pieces::Together, Pieces::Apart] {
        println!("{}", pieces.in_words());
        println!("{:10} {:>6} {:>9} {:>9} {:>9} {:>6} {:>6}", "", "events", "bare", "plain", "ours", "/bare", "/plain");
        for speech in Speech::ALL {
            for size in SIZES {
                measure(&runtime, speech, size, pieces)?;
            }
        }
    }
    Ok(())
}

/// Turn by turn, so that all three meet the same mood of the machine.
fn measure(runtime: &Runtime, speech: Speech, size: usize, pieces: Pieces) -> Outcome<()> {
    let server = Server::start(speech, size, pieces)?;
    let client = reqwest::Client::builder().no_proxy().build()?;
    let plain = Plain { client, url: server.url(speech) };
    let ours = resolve(speech.model(), &access(&server))?;
    let times = (EVENTS_A_TURN / size).max(2);
    let mut taken = [const { Vec::new() }; 3];
    for round in 0..=ROUNDS {
        let (bare, parsing, asked) = (plain.clone(), plain.clone(), Arc::clone(&ours));
        let turns = [
            time(runtime, async move {
                for _ in 0..times {
                    bare.drain().await?;
                }
                Ok(())
            })?,
            time(runtime, async move {
                for _ in 0..times {
                    parsing.read(speech).await?;
                }
                Ok(())
            })?,
            time(runtime, async move {
                for _ in 0..times {
                    ask(&*asked, size).await?;
                }
                Ok(())
            })?,
        ];
        // The first round only makes the connections.
        if round > 0 {
            taken.iter_mut().zip(turns).for_each(|(all, turn)| all.push(turn / times as u32));
        }
    }
    let [bare, parsed, ours] = taken.map(median);
    let (beside_bare, beside_plain) =
        (ours.as_secs_f64() / bare.as_secs_f64(), ours.as_secs_f64() / parsed.as_secs_f64());
    let micros = |time: Duration| format!("{:.0} µs", time.as_secs_f64() * 1e6);
    println!(
        "{:10} {size:>6} {:>9} {:>9} {:>9} {beside_bare:>6.2} {beside_plain:>6.2}",
        speech.name(),
        micros(bare),
        micros(parsed),
        micros(ours)
    );
    Ok(())
}

/// What the processor spends on this thread. The work is a task, as it is in the engine.
fn time(runtime: &Runtime, work: impl Future<Output = Outcome<()>> + Send + 'static) -> Outcome<Duration> {
    let now = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    };
    let begun = now();
    runtime.block_on(runtime.spawn(work))??;
    Ok(now().saturating_sub(begun))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// A client without anything around it.
#[derive(Clone)]
struct Plain {
    client: reqwest::Client,
    url: String,
}

impl Plain {
    async fn begin(&self) -> Outcome<reqwest::Response> {
        let request = self.client.post(&self.url).header("content-type", "application/json");
        Ok(request.body(streams::REQUEST).send().await?.error_for_status()?)
    }

    /// Reads an answer to its end and throws it away.
    async fn drain(&self) -> Outcome<()> {
        let mut response = self.begin().await?;
        while let Some(piece) = response.chunk().await? {
            std::hint::black_box(piece);
        }
        Ok(())
    }

    /// Reads each event of an answer.
    async fn read(&self, speech: Speech) -> Outcome<()> {
        let mut response = self.begin().await?;
        let mut rest = Vec::new();
        while let Some(piece) = response.chunk().await? {
            rest.extend_from_slice(&piece);
            let whole = rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            for line in rest[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                speech.parse(line)?;
            }
            rest.drain(..whole);
        }
        Ok(())
    }
}

/// Asks for the whole answer, and makes sure that it is whole.
async fn ask(model: &dyn Model, size: usize) -> Outcome<()> {
    let brief = TaskBrief::default();
    let messages = [Message::User("Tell me everything.".into())];
    let prompt = Prompt { messages: &messages, ..Prompt::empty(&brief) };
    let mut heard = 0;
    let mut hear = |_: updraft_models::Delta<'_>| heard += 1;
    let answer = model.ask(&prompt, &mut RequestDraft::default(), &mut hear).await?;
    if heard != size || answer.text.len() != size * streams::WORD.len() {
        return Err(format!("{heard} pieces, {} bytes", answer.text.len()).into());
    }
    Ok(())
}

fn access(server: &Server) -> ModelAccess {
    let reach = |speech: &Speech| {
        let reach =
            ProviderAccess { key: Some(SecretString::new("sk-bench")), base: Some(server.base(*speech)), speech: None };
        (speech.provider().to_owned(), reach)
    };
    ModelAccess {
        reach: Speech::ALL.iter().map(reach).collect(),
        limit: [("gemini".to_owned(), RateLimit::default())].into(),
        ..ModelAccess::default()
    }
}

impl Speech {
    /// What a plain client does with an event.
    fn parse(self, line: &[u8]) -> Outcome<()> {
        let data = match self {
            Speech::Ollama => Some(line),
            Speech::Chat | Speech::Responses | Speech::Anthropic | Speech::Gemini => line.strip_prefix(b"data: "),
        };
        if let Some(data) = data.filter(|data| *data != b"[DONE]") {
            std::hint::black_box(serde_json::from_slice::<Value>(data)?);
        }
        Ok(())
    }
}
