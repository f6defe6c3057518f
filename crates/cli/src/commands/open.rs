//! `updraft open`: an address that lets its owner into the page of a running server, once.

use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use updraft_serve::{PageAccess, ServeToken};

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

/// Prints the address of the page, and notes where the server is.
pub(super) fn announce(folders: &AppFolders, bound: SocketAddr, token: &ServeToken) -> Result<(), CliError> {
    if !bound.ip().is_loopback() {
        out::note("no page: it is shown on this machine only, at a --listen address such as 127.0.0.1:7717");
        return Ok(());
    }
    let file = address_file(folders);
    folders::replace_private(&file, format!("{bound}\n").as_bytes())?;
    let entry = PageAccess::entry(token).map_err(CliError::failed)?;
    out::note(&format!("page at http://{bound}{entry}\n  works once; `updraft open` prints another address"));
    Ok(())
}

pub(crate) fn run(folders: &AppFolders, args: &OpenArgs) -> CliResult {
    let hint = "`updraft serve` starts the server";
    let known = std::fs::read_to_string(address_file(folders)).ok();
    let address = match (args.address, known) {
        (Some(address), _) => address,
        (None, Some(known)) => known
            .trim()
            .parse()
            .map_err(|_| CliError::failed("the file that says where the server is cannot be read").hint(hint))?,
        (None, None) => return Err(CliError::usage("no server has been started here yet").hint(hint)),
    };
    if TcpStream::connect_timeout(&address, PATIENCE).is_err() {
        return Err(CliError::failed(format!("no server answers at {address}")).hint(hint));
    }
    let file = token_file(folders);
    let token = ServeToken::read(&file).map_err(|error| CliError::file("read", &file, &error))?;
    let url = format!("http://{address}{}", PageAccess::entry(&token).map_err(CliError::failed)?);
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
