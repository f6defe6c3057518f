//! `updraft open`: an address that lets its owner into the page of a running server, once.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use updraft_serve::{PageAccess, PageAddress, ServeToken};

use super::service::token_file;
use crate::args::OpenArgs;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out;

/// How long a server on this machine may take to accept a connection.
const PATIENCE: Duration = Duration::from_secs(2);

/// The file that says where the server that was started last is.
fn address_file(folders: &AppFolders) -> PathBuf {
    folders.state.join("serve.address")
}

/// Prints the address of the page, and notes where the server is and how it is called.
pub(super) fn announce(folders: &AppFolders, place: &PageAddress, token: &ServeToken) -> Result<(), CliError> {
    if !place.has_page() {
        out::note(
            "no page: beyond this machine it needs encryption (--tls-cert FILE --tls-key FILE); without, it is shown at a \
             --listen address such as 127.0.0.1:7717",
        );
        return Ok(());
    }
    let (file, origin) = (address_file(folders), place.origin());
    folders::replace_private(&file, format!("{} {origin}\n", place.bound).as_bytes())?;
    let entry = PageAccess::entry(token).map_err(CliError::failed)?;
    out::note(&format!("page at {origin}{entry}\n  works once; `updraft open` prints another address"));
    if !place.bound.ip().is_loopback() {
        out::note("  others sign in with a token: `updraft serve user add NAME --role see`");
    }
    Ok(())
}

/// Where the server that was started last listens, and the address of its page.
fn last_server(folders: &AppFolders) -> Option<(SocketAddr, Option<String>)> {
    let text = std::fs::read_to_string(address_file(folders)).ok()?;
    let mut words = text.split_whitespace();
    Some((words.next()?.parse().ok()?, words.next().map(str::to_owned)))
}

/// The address by which a server on this machine is reached.
fn reachable(mut bound: SocketAddr) -> SocketAddr {
    match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => bound.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => bound.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    bound
}

pub(crate) fn run(folders: &AppFolders, args: &OpenArgs) -> CliResult {
    let hint = "`updraft serve` starts the server";
    let (address, origin) = match (args.address, last_server(folders)) {
        (Some(address), Some((last, origin))) if last == address => (address, origin),
        (Some(address), _) => (address, None),
        (None, Some(last)) => last,
        (None, None) => return Err(CliError::usage("no server has been started here yet").hint(hint)),
    };
    if TcpStream::connect_timeout(&reachable(address), PATIENCE).is_err() {
        return Err(CliError::failed(format!("no server answers at {address}")).hint(hint));
    }
    let file = token_file(folders);
    let token = ServeToken::read(&file).map_err(|error| CliError::file("read", &file, &error))?;
    let origin = origin.unwrap_or_else(|| format!("http://{address}"));
    let url = format!("{origin}{}", PageAccess::entry(&token).map_err(CliError::failed)?);
    out::line(&url);
    if !args.print && !open_browser(&url) {
        out::note("open this address in a browser; it works once, within an hour");
    }
    Ok(CliExitCode::Done)
}

/// Opens the user's browser, if there is a screen.
#[expect(clippy::disallowed_methods, reason = "the user's own browser, on an address that we made")]
fn open_browser(url: &str) -> bool {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let has_screen =
        cfg!(target_os = "macos") || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| folders::set(name).is_some());
    let quiet =
        |mut command: Command| command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let mut command = Command::new(program);
    command.arg(url);
    has_screen && quiet(command).is_ok_and(|status| status.success())
}
