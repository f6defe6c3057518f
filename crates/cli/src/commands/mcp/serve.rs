//! `updraft mcp serve`: serves MCP to other programs, over standard input and output or over HTTP.

use tokio_util::sync::CancellationToken;
use updraft_mcp::server::{ConversationEnd, over_stdio};

use super::super::{serve, service};
use crate::args::McpServeArgs;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::signals::Signals;

pub(super) async fn begin(folders: &AppFolders, args: McpServeArgs) -> CliResult {
    let McpServeArgs { http, names, served } = args;
    match http {
        Some(address) => {
            Box::pin(serve::over_http(folders, address, names, &served, serve::HttpOffers::default())).await
        }
        None => over_pipes(folders, &served).await,
    }
}

/// Serves on standard input and output. Nothing but the protocol may go to standard output.
async fn over_pipes(folders: &AppFolders, served: &crate::args::ServedRunFlags) -> CliResult {
    let stop = CancellationToken::new();
    let mut signals = Signals::listen(stop.clone())?;
    let opened = service::open(folders, served, None, &stop).await?;
    let ended = tokio::select! {
        ended = over_stdio(&opened.handler, stop.clone()) => ended,
        _ = signals.first() => Ok(ConversationEnd::Stopped),
    };
    opened.close().await;
    match ended {
        Ok(ConversationEnd::Left) => Ok(CliExitCode::Done),
        Ok(ConversationEnd::Stopped) => Ok(signals.code()),
        Err(why) => {
            Err(CliError::failed(why).hint("this speaks MCP on standard input and output; start it from a client"))
        }
    }
}
