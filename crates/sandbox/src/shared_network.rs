//! A private network that several children share: one of them serves, another connects to `localhost`.

use std::collections::BTreeSet;
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use tokio::sync::Mutex;

use crate::channel::{self, Channel};
use crate::connection::LauncherLine;
use crate::error::{Error, ErrorContext};
use crate::launch::ARGUMENT;
use crate::policy::{Policy, SandboxLevel};
use crate::protocol::{LaunchOrder, LaunchTask, LauncherEvent, NetworkRequest};

/// A private network that several children share. It lives as long as this value, its clones, and the children in it.
#[derive(Clone)]
pub struct SharedNetwork(Arc<Holder>);

struct Holder {
    network: OwnedFd,
    line: Mutex<LauncherLine>,
    /// Ends when the line is closed.
    _process: tokio::process::Child,
}

impl fmt::Debug for SharedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedNetwork(..)")
    }
}

impl PartialEq for SharedNetwork {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SharedNetwork {}

impl SharedNetwork {
    /// Starts the process that holds the network.
    pub(crate) async fn start(launcher: &Path) -> Result<SharedNetwork, Error> {
        let (ours, theirs) = Channel::pair().doing("making a socket")?;
        let process = tokio::process::Command::new(launcher)
            .arg(ARGUMENT)
            .env_clear()
            .stdin(Stdio::from(theirs.into_fd()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .doing("starting the launcher")?;
        let mut line = LauncherLine::new(ours).doing("listening to the launcher")?;
        let order = LaunchOrder {
            level: SandboxLevel::Full,
            policy: Policy::strict("/"),
            task: LaunchTask::HoldNetwork,
            turns: None,
            shares_network: false,
            filters: Vec::new(),
        };
        line.send(&channel::frame(&order).doing("writing the order")?, None).await.doing("sending the order")?;
        match line.next().await.doing("listening to the launcher")? {
            Some((LauncherEvent::Started, Some(network))) => {
                Ok(SharedNetwork(Arc::new(Holder { network, line: Mutex::new(line), _process: process })))
            }
            Some((LauncherEvent::Fault(fault), _)) => Err(crate::sandbox::told(fault, "a network")),
            Some(_) | None => Err(Error::Lost),
        }
    }

    /// The network, to be passed to a launcher.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.network.as_fd()
    }

    /// The TCP ports on which a program in this network accepts connections. Must not be dropped halfway.
    pub async fn open_ports(&self) -> BTreeSet<u16> {
        let mut line = self.0.line.lock().await;
        let Ok(frame) = channel::frame(&NetworkRequest::OpenPorts) else { return BTreeSet::new() };
        if line.send(&frame, None).await.is_err() {
            return BTreeSet::new();
        }
        match line.next().await {
            Ok(Some((LauncherEvent::OpenPorts(ports), _))) => ports,
            // Without its holder nobody can tell; the programs in the network go on.
            Ok(_) | Err(_) => BTreeSet::new(),
        }
    }
}
