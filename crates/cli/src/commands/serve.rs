//! `updraft serve`: the page, MCP over HTTP, and the bridge for editors.

use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use updraft_serve::bridge::BridgeHost;
use updraft_serve::{HttpHost, PageAddress, TlsIdentity, Webhooks};

use super::{open, service, users};
use crate::args::{EngineFlags, EngineWord, HttpAccessFlags, ServeArgs, ServeCommand, ServedRunFlags};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::signals::Signals;
use crate::{out, runtime};

pub(crate) fn run(folders: &AppFolders, args: ServeArgs) -> CliResult {
    let ServeArgs { command, listen, bridge, bridge_port, names, served, engine } = args;
    if let Some(ServeCommand::User(command)) = &command {
        return users::run(folders, command);
    }
    let engine = (engine.engine == EngineWord::Restate).then_some(engine);
    let offers = HttpOffers { page: true, bridge: bridge.then_some(bridge_port), engine };
    runtime::block_on(over_http(folders, listen, names, &served, offers))
}

/// What is served besides MCP.
#[derive(Default)]
pub(super) struct HttpOffers {
    /// The page.
    pub(super) page: bool,
    /// The bridge, at this port.
    pub(super) bridge: Option<u16>,
    /// Where runs are kept, if not in the journal here.
    pub(super) engine: Option<EngineFlags>,
}

/// Serves until a signal arrives.
pub(super) async fn over_http(
    folders: &AppFolders,
    address: SocketAddr,
    names: HttpAccessFlags,
    served: &ServedRunFlags,
    HttpOffers { page, bridge, engine }: HttpOffers,
) -> CliResult {
    let stop = CancellationToken::new();
    let mut signals = Signals::listen(stop.clone())?;
    let tls = certificate(&names)?;
    let listener = listen(address).await?;
    let bound = listener.local_addr().unwrap_or(address);
    let place = PageAddress { bound, hosts: names.hosts.clone(), tls: tls.clone() };
    let door = match bridge {
        Some(port) => Some(listen(SocketAddr::from(([127, 0, 0, 1], port))).await?),
        None => None,
    };
    let opened = service::open(folders, served, engine.as_ref(), &stop).await?;
    out::note(&format!("MCP at {}/mcp\n  token: in {}", place.origin(), opened.token_file.display()));
    if !place.has_page() {
        out::note("  others on the network can reach this address, and what they send is not encrypted");
    }
    if page {
        out::note(&format!("API at {0}/api/v1, OpenAI's at {0}/v1, with the same token", place.origin()));
        open::announce(folders, &place, &opened.token)?;
        opened.service.runs.keep_schedules(service::tell_schedules());
    }
    if let Some(door) = &door {
        let port = door.local_addr().map_or(0, |bound| bound.port());
        out::note(&format!("bridge at ws://127.0.0.1:{port}, with the same token"));
    }
    let host = HttpHost {
        listener,
        token: opened.token.clone(),
        hosts: names.hosts,
        origins: names.origins,
        tls,
        page: page.then(|| opened.service.clone()),
        users: users::file(folders),
        webhooks: Webhooks::of(&opened.service)?,
        stop: stop.clone(),
    };
    let bridging = async {
        match door {
            Some(door) => {
                let (token, service) = (opened.token.clone(), opened.service.clone());
                let (read, stop) = (opened.bridge_read(), stop.clone());
                BridgeHost { listener: door, token, service, read, stop }.serve().await;
            }
            None => std::future::pending().await,
        }
    };
    let served = {
        let serving = host.serve(&opened.handler);
        tokio::pin!(serving);
        tokio::select! {
            served = &mut serving => served,
            () = bridging => Ok(()),
            _ = signals.first() => serving.await,
        }
    };
    opened.close().await;
    served.map_err(|error| CliError::failed(format!("the server stopped: {error}")))?;
    Ok(if stop.is_cancelled() { signals.code() } else { CliExitCode::Done })
}

fn certificate(names: &HttpAccessFlags) -> Result<Option<TlsIdentity>, CliError> {
    let (Some(certificate), Some(key)) = (&names.tls_cert, &names.tls_key) else { return Ok(None) };
    let read = TlsIdentity::read(certificate, key).map_err(|why| {
        CliError::usage(format!("the certificate or its key cannot be used: {why}"))
            .hint("--tls-cert is the certificate with its chain, --tls-key its private key, both in PEM format")
    })?;
    if read.names().is_empty() && names.hosts.is_empty() {
        out::note("  the certificate contains no host name; say how the server is called with --allow-host");
    }
    Ok(Some(read))
}

async fn listen(address: SocketAddr) -> Result<TcpListener, CliError> {
    TcpListener::bind(address).await.map_err(|error| {
        CliError::failed(format!("cannot listen at {address}: {error}"))
            .hint("another server may be there; name another address with --listen")
    })
}
