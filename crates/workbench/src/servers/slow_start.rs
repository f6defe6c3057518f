//! Reports servers that take long to start: which, for how long, and their last output.

use std::pin::pin;
use std::time::Duration;

use tokio::time::Instant;
use updraft_mcp::{Server, Servers};

use crate::{Notice, Tell};

/// The time before the first message, and between two messages.
const QUIET: Duration = Duration::from_secs(5);

/// Waits for work that needs servers to start, and reports those that take long.
pub async fn aloud<T>(servers: &Servers, tell: &Tell, work: impl Future<Output = T>) -> T {
    let (began, mut work) = (Instant::now(), pin!(work));
    loop {
        if let Ok(done) = tokio::time::timeout(QUIET, &mut work).await {
            return done;
        }
        for server in servers.iter().filter(|server| server.is_starting()) {
            tell(Notice::Waiting(words(server, began.elapsed())));
        }
    }
}

fn words(server: &Server, waited: Duration) -> String {
    let name = &server.config().name;
    let what = match server.config().fetching() {
        Some(program) => format!("; `{program}` fetches what it runs, which can take minutes the first time"),
        None => String::new(),
    };
    let said = server.last_words().map(|said| format!(" (its last output: {said})")).unwrap_or_default();
    format!("waiting for MCP server `{name}` for {} s{what}{said}", waited.as_secs())
}
