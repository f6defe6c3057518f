//! A private network for several children: this process holds it, and answers which ports are open in it.
//!
//! It runs no program. When its connection closes, it ends; the network ends with the last child in it.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::AsFd;

use super::kernel;
use super::namespace_init::OuterIds;
use crate::channel::Channel;
use crate::protocol::{LaunchFault, LauncherEvent, NetworkRequest};

/// Enters a new network, passes it to the requesting process, and stays until the connection closes.
pub(super) fn hold(line: &Channel) -> Result<(), LaunchFault> {
    let ids = OuterIds::ours();
    kernel::enter_new_network().map_err(LaunchFault::set_up("making a network"))?;
    ids.map().map_err(LaunchFault::set_up("mapping user ids"))?;
    kernel::loopback_up().map_err(LaunchFault::set_up("bringing loopback up"))?;
    let network = File::open("/proc/self/ns/net").map_err(LaunchFault::set_up("opening the network"))?;
    let sent = line.send(&LauncherEvent::Started, Some(network.as_fd()));
    sent.map_err(LaunchFault::set_up("passing the network on"))?;
    drop(network);
    while let Ok(Some((NetworkRequest::OpenPorts, _))) = line.receive() {
        if line.send(&LauncherEvent::OpenPorts(open_ports()), None).is_err() {
            break;
        }
    }
    Ok(())
}

/// The TCP ports of this network on which a program accepts connections.
pub(crate) fn open_ports() -> BTreeSet<u16> {
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    let texts = tables.iter().filter_map(|table| std::fs::read_to_string(table).ok());
    texts.flat_map(|text| text.lines().filter_map(listening_port).collect::<Vec<_>>()).collect()
}

/// The port of a line such as `0: 0100007F:0BB8 00000000:0000 0A …`, if its socket listens.
fn listening_port(line: &str) -> Option<u16> {
    let mut words = line.split_whitespace().skip(1);
    let (local, _, state) = (words.next()?, words.next()?, words.next()?);
    let (_, port) = local.rsplit_once(':')?;
    u16::from_str_radix(port, 16).ok().filter(|_| state == "0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sockets_that_listen_are_open_ports() {
        let listens = "   0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1";
        let connected =
            "   1: 0100007F:0BB9 0100007F:0BB8 01 00000000:00000000 00:00000000 00000000  1000        0 2 1";
        let six =
            "   0: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 3";
        let ports: Vec<u16> = ["  sl  local_address rem_address   st", listens, connected, six]
            .iter()
            .filter_map(|line| listening_port(line))
            .collect();
        assert_eq!(ports, [3000, 8080]);
    }
}
