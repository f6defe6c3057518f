//! `updraft mcp serve`: other programs use Updraft, over standard input and output or over HTTP.

use tokio_util::sync::CancellationToken;
use updraft_mcp::server::{Ended, over_stdio};

use super::super::{office, serve};
use crate::args::McpServe;
use crate::fault::{Code, Fault, Outcome};
use crate::places::Places;
use crate::signals::Signals;

pub(super) async fn begin(places: &Places, args: McpServe) -> Outcome {
    let McpServe { http, names, served } = args;
    match http {
        Some(address) => serve::over_http(places, address, names, &served, None).await,
        None => over_pipes(places, &served).await,
    }
}

/// Nothing but the protocol goes to standard output.
async fn over_pipes(places: &Places, served: &crate::args::Served) -> Outcome {
    let stop = CancellationToken::new();
    let mut signals = Signals::listen(stop.clone())?;
    let opened = office::open(places, served, &stop).await?;
    let ended = tokio::select! {
        ended = over_stdio(&opened.handler, stop.clone()) => ended,
        _ = signals.first() => Ok(Ended::Stopped),
    };
    opened.close().await;
    match ended {
        Ok(Ended::Left) => Ok(Code::Done),
        Ok(Ended::Stopped) => Ok(signals.code()),
        Err(why) => {
            Err(Fault::failed(why).hint("this speaks MCP on standard input and output; start it from a client"))
        }
    }
}
