//! `updraft mcp login`: opens a server's login page, and waits on a loopback address for the browser to return.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use updraft_mcp::config::TransportConfig;
use updraft_mcp::{HostFuture, LoginBrowser, Server, refused_login};

use super::chosen_servers;
use crate::args::McpServer;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::out;
use crate::servers::{self, SecretFiles};

/// How long a person may take to log in.
const PATIENCE: Duration = Duration::from_mins(10);
const PAGE: &str = "You are signed in. This page can be closed.\n";

pub(super) async fn login(folders: &AppFolders, args: &McpServer) -> CliResult {
    let (found, settings, workspace) = chosen_servers(folders, &args.place)?;
    let Some((config, _)) = found.servers.iter().find(|(config, _)| config.name == args.name) else {
        return Err(CliError::usage(format!("there is no MCP server named `{}`", args.name))
            .hint("`updraft mcp list` names them"));
    };
    if matches!(config.link, TransportConfig::Stdio { .. }) {
        return Err(CliError::usage(format!("`{}` is a program on this machine and needs no login", args.name)));
    }
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.map_err(|error| CliError::failed(format!("could not listen on loopback: {error}")))?;
    let port = listener.local_addr().map_err(|error| CliError::failed(error.to_string()))?.port();
    let mut host = servers::host(folders, &settings, &workspace, false).await?;
    host.login_handler = Some(Arc::new(LoopbackLogin { listener, port }));
    let mut config = config.clone();
    (config.patience.start, config.enabled) = (PATIENCE, true);
    let server = Server::new(config, Arc::new(host));
    let checked = server.check().await;
    server.close().await;
    let known = checked.map_err(|error| CliError::failed(format!("`{}`: {error}", args.name)))?;
    out::note(&format!("signed in to `{}`; it has {} tools", args.name, known.tools.len()));
    Ok(CliExitCode::Done)
}

/// Removes every login at servers of this name.
pub(super) fn logout(folders: &AppFolders, name: &str) -> CliResult {
    let was = SecretFiles::new(folders).forget(name);
    let was = was.map_err(|error| CliError::failed(format!("the login to `{name}` could not be removed: {error}")))?;
    out::note(&if was { format!("signed out of `{name}`") } else { format!("you were not signed in to `{name}`") });
    Ok(CliExitCode::Done)
}

/// Shows the login page's address, and waits on a loopback address for the browser to return.
struct LoopbackLogin {
    listener: TcpListener,
    port: u16,
}

impl LoginBrowser for LoopbackLogin {
    fn comes_back_to(&self) -> String {
        format!("http://127.0.0.1:{}/callback", self.port)
    }

    fn visit(&self, server: &str, page: &str) -> HostFuture<'_, Result<String, String>> {
        let page = out::harmless(page);
        out::note(&format!("to sign in to `{server}`, open this page in a browser on this machine:\n\n  {page}\n"));
        Box::pin(async {
            loop {
                let (stream, _) = self.listener.accept().await.map_err(|error| error.to_string())?;
                let mut stream = BufReader::new(stream);
                let mut line = String::new();
                // A connection that sends nothing must not block the browser.
                let read = tokio::time::timeout(Duration::from_secs(5), stream.read_line(&mut line)).await;
                let path = line.split_whitespace().nth(1).filter(|path| path.starts_with("/callback?"));
                let refused = path.and_then(refused_login).map(|why| out::harmless(&why));
                let (status, text) = match (path, &refused) {
                    (None, _) => ("404 Not Found", "Not here.\n".to_owned()),
                    (Some(_), None) => ("200 OK", PAGE.to_owned()),
                    (Some(_), Some(why)) => {
                        ("200 OK", format!("You are not signed in: {why}. This page can be closed.\n"))
                    }
                };
                let answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
                    text.len()
                );
                let _ = stream.write_all(answer.as_bytes()).await;
                if let (Ok(Ok(_)), Some(path)) = (read, path) {
                    if let Some(why) = refused {
                        return Err(why);
                    }
                    return Ok(format!("http://127.0.0.1:{}{path}", self.port));
                }
            }
        })
    }
}
