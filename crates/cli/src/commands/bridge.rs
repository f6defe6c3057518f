//! `updraft bridge`: MCP on standard input and output, forwarded to a WebSocket in an editor or another Updraft.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use updraft_mcp::server::{Ended, Handler, over_stdio};
use updraft_serve::Token;
use updraft_serve::bridge::{Link, tools};

use super::office;
use crate::args::Bridge;
use crate::fault::{Code, Fault, Outcome};
use crate::places::{self, Places};
use crate::runtime;
use crate::signals::Signals;

pub(crate) fn run(places: &Places, args: &Bridge) -> Outcome {
    let token = token(places, args)?;
    let key = token.key("request state");
    let link = Link::to(&args.url, token).map_err(Fault::usage)?;
    let offer = Arc::new(tools(&link, env!("CARGO_PKG_VERSION")));
    let handler = Handler::new(offer, &key).map_err(Fault::failed)?;
    runtime::block_on(async {
        let stop = CancellationToken::new();
        let mut signals = Signals::listen(stop.clone())?;
        let ended = tokio::select! {
            ended = over_stdio(&handler, stop) => ended,
            _ = signals.first() => Ok(Ended::Stopped),
        };
        match ended {
            Ok(Ended::Left) => Ok(Code::Done),
            Ok(Ended::Stopped) => Ok(signals.code()),
            Err(why) => Err(Fault::failed(why)),
        }
    })
}

fn token(places: &Places, args: &Bridge) -> Result<Token, Fault> {
    if let Some(file) = &args.token_file {
        return Token::read(file).map_err(|error| Fault::file("read the token in", file, &error));
    }
    if let Some(token) = places::set("UPDRAFT_BRIDGE_TOKEN").and_then(|token| Token::new(&token)) {
        return Ok(token);
    }
    let file = office::token_file(places);
    Token::read(&file).map_err(|_| {
        Fault::config("the bridge needs the token of the other side")
            .hint("for an editor: put `antigravity.mcp.token` of its settings into UPDRAFT_BRIDGE_TOKEN or a --token-file")
            .hint("for Updraft: `updraft serve --bridge` makes one at its first start")
    })
}
