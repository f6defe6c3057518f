//! Children that share a private network reach each other on its loopback; nobody else reaches them.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::support::{PROGRAM, Workspace, can_test, shell};
use updraft_sandbox::{ChildLifetime, Command, Network, Policy, Sandbox, SandboxLevel, SharedNetwork};

/// A server that greets everybody, and writes its port to a file once it listens.
const SERVER: &str = "import socket
s = socket.create_server(('127.0.0.1', 0))
open('port', 'w').write(str(s.getsockname()[1]) + '\\n')
while True:
    c, _ = s.accept()
    c.sendall(b'hello')
    c.close()";

fn server(network: &SharedNetwork) -> Command {
    let args = vec!["-c".to_owned(), SERVER.to_owned()];
    Command { args, network: Some(network.clone()), ..Command::new("python3") }
}

fn asking(port: u16, network: Option<SharedNetwork>) -> Command {
    let script =
        format!("import socket; print(socket.create_connection(('127.0.0.1', {port}), timeout=20).recv(5).decode())");
    Command { args: vec!["-c".to_owned(), script], network, ..Command::new("python3") }
}

async fn port_in(place: &Workspace) -> u16 {
    loop {
        let text = std::fs::read_to_string(place.path().join("port")).unwrap_or_default();
        if let Some(port) = text.strip_suffix('\n') {
            return port.parse().unwrap();
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_server_is_reached_by_those_who_share_its_network_and_by_nobody_else() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let (place, other) = (Workspace::new(), Workspace::new());
    let sandbox = Sandbox::new(PROGRAM, SandboxLevel::Full).unwrap();
    let network = sandbox.share_network(&place.policy()).await.unwrap().unwrap();
    assert!(network.open_ports().await.is_empty());
    let policy = Policy { lifetime: ChildLifetime::Session, ..place.policy() };
    let serving = sandbox.spawn(&policy, server(&network)).await.unwrap();
    let port = port_in(&place).await;
    assert_eq!(network.open_ports().await.into_iter().collect::<Vec<_>>(), [port]);

    let inside = sandbox.run(&other.policy(), asking(port, Some(network.clone())), &[]).await.unwrap();
    assert_eq!(inside.stdout.text(), "hello\n", "{}", inside.stderr.text());
    let apart = sandbox.run(&other.policy(), asking(port, None), &[]).await.unwrap();
    assert!(!apart.succeeded(), "a network of its own has no such server");
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err(), "the host does not see it");
    // Who shares a network with others gets no rights over it.
    let meddling = Command { network: Some(network.clone()), ..shell("ip link set lo down 2>&1; cat /proc/net/dev") };
    assert!(sandbox.run(&other.policy(), meddling, &[]).await.unwrap().stdout.text().contains("lo:"));
    let again = sandbox.run(&other.policy(), asking(port, Some(network.clone())), &[]).await.unwrap();
    assert_eq!(again.stdout.text(), "hello\n", "the loopback is still up");

    serving.end().await.unwrap();
    assert!(network.open_ports().await.is_empty());
}

#[tokio::test]
async fn children_with_the_hosts_network_share_that() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let place = Workspace::new();
    let sandbox = Sandbox::new(PROGRAM, SandboxLevel::Full).unwrap();
    let open = Policy { network: Network::Host, ..place.policy() };
    assert_eq!(sandbox.share_network(&open).await.unwrap(), None);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    assert!(sandbox.open_ports_of_host().contains(&listener.local_addr().unwrap().port()));
    // A network that was made for others is not joined either: the policy decides.
    let network = sandbox.share_network(&place.policy()).await.unwrap();
    let policy = Policy { network: Network::Host, ..place.policy() };
    let count = Command { network, ..shell("tail -n +3 /proc/net/dev | wc -l") };
    let own = sandbox.run(&policy, count, &[]).await.unwrap().stdout.text();
    let all = std::fs::read_to_string("/proc/net/dev").unwrap().lines().count() - 2;
    assert_eq!(own.trim(), all.to_string());
}
