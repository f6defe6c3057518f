//! `updraft bridge`: MCP on standard input and output, forwarded to a WebSocket in an editor or another Updraft.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use updraft_mcp::server::{ConversationEnd, McpHandler, over_stdio};
use updraft_serve::ServeToken;
use updraft_serve::bridge::{BridgeClient, tools};

use super::service;
use crate::args::BridgeArgs;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::runtime;
use crate::signals::Signals;

pub(crate) fn run(folders: &AppFolders, args: &BridgeArgs) -> CliResult {
    let token = token(folders, args)?;
    let key = token.key("request state");
    let link = BridgeClient::to(&args.url, token).map_err(CliError::usage)?;
    let offer = Arc::new(tools(&link, env!("CARGO_PKG_VERSION")));
    let handler = McpHandler::new(offer, &key).map_err(CliError::failed)?;
    runtime::block_on(async {
        let stop = CancellationToken::new();
        let mut signals = Signals::listen(stop.clone())?;
        let ended = tokio::select! {
            ended = over_stdio(&handler, stop) => ended,
            _ = signals.first() => Ok(ConversationEnd::Stopped),
        };
        match ended {
            Ok(ConversationEnd::Left) => Ok(CliExitCode::Done),
            Ok(ConversationEnd::Stopped) => Ok(signals.code()),
            Err(why) => Err(CliError::failed(why)),
        }
    })
}

fn token(folders: &AppFolders, args: &BridgeArgs) -> Result<ServeToken, CliError> {
    if let Some(file) = &args.token_file {
        return ServeToken::read(file).map_err(|error| CliError::file("read the token in", file, &error));
    }
    if let Some(token) = folders::set("UPDRAFT_BRIDGE_TOKEN").and_then(|token| ServeToken::new(&token)) {
        return Ok(token);
    }
    let file = service::token_file(folders);
    ServeToken::read(&file).map_err(|_| {
        CliError::config("the bridge needs the token of the other side")
            .hint("for an editor: put `antigravity.mcp.token` of its settings into UPDRAFT_BRIDGE_TOKEN or a --token-file")
            .hint("for Updraft: `updraft serve --bridge` creates one at its first start")
    })
}
