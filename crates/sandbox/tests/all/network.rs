//! What of the network can be reached: nothing, named hosts, or what the user can reach.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::{UnixListener, UnixStream};

use crate::support::{PROGRAM, Workspace, can_test, levels, run};
use updraft_sandbox::{Command, Error, Network, Policy, Sandbox, SandboxLevel};

fn attempt(args: &[&str]) -> Command {
    let args = ["attempt"].iter().chain(args).map(|&arg| arg.to_owned()).collect();
    Command { args, ..Command::new(PROGRAM) }
}

fn policy(place: &Workspace, network: Network) -> Policy {
    let folder = std::path::Path::new(PROGRAM).parent().unwrap().to_owned();
    Policy { network, read: vec![folder], ..place.policy() }
}

/// A server on the host's loopback that greets whoever comes.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        listener.incoming().for_each(|stream| drop(stream.and_then(|mut one| one.write_all(b"hello"))));
    });
    address
}

#[tokio::test]
async fn the_hosts_network_is_there_if_granted_and_only_then() {
    let server = server();
    for level in levels() {
        let place = Workspace::new();
        for (network, code) in [(Network::Host, 0), (Network::None, 1)] {
            let ended = run(level, &policy(&place, network.clone()), attempt(&["tcp", &server])).await.unwrap();
            assert_eq!(ended.exit_code(), code, "{level} {network:?}");
        }
    }
}

#[tokio::test]
async fn services_of_the_host_stay_out_of_reach_even_with_its_network() {
    let (place, outside) = (Workspace::new(), Workspace::new());
    let socket = outside.path().join("socket");
    let _service = UnixListener::bind(&socket).unwrap();
    let path = socket.display().to_string();
    assert!(UnixStream::connect(&socket).is_ok());
    for level in levels() {
        let ended = run(level, &policy(&place, Network::Host), attempt(&["unix", &path])).await.unwrap();
        assert_eq!(ended.exit_code(), 1, "{level}");
    }
}

#[tokio::test]
async fn with_an_allow_list_only_the_proxy_is_there_and_it_says_no() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let (place, server) = (Workspace::new(), server());
    let network = Network::Allow(vec!["localhost".parse().unwrap()]);
    let policy = policy(&place, network);
    let answer = async |target: &str| {
        let ended = run(SandboxLevel::Full, &policy, attempt(&["ask-proxy", target])).await.unwrap();
        let refused: Vec<String> = ended.refused.iter().map(ToString::to_string).collect();
        assert_eq!(ended.exit_code(), 1, "{target}");
        (ended.stdout.text(), refused)
    };
    let told = "the sandbox refused reaching `evil.invalid:443`: it is not among the hosts that may be reached; \
                allowed by `--network allow:evil.invalid`";
    assert_eq!(answer("evil.invalid:443").await, (format!("{told}\n"), vec![told.to_owned()]));
    let told = format!("the sandbox refused reaching `{server}`: addresses are not allowed, only names");
    assert_eq!(answer(&server).await, (format!("{told}\n"), vec![told]));
    // The one name that is allowed is looked up by us, and leads to where nobody may go.
    let (text, _) = answer("localhost:443").await;
    assert!(text.contains("not a public address"), "{text}");
    let ended = run(SandboxLevel::Full, &policy, attempt(&["tcp", &server])).await.unwrap();
    assert_eq!(ended.exit_code(), 1, "there is no way beside the proxy");
}

#[tokio::test]
async fn an_allow_list_is_never_given_up_for_a_lower_level() {
    let place = Workspace::new();
    let network = Network::Allow(vec!["good.invalid".parse().unwrap()]);
    let error =
        run(SandboxLevel::Landlock, &policy(&place, network), attempt(&["tcp", "127.0.0.1:1"])).await.unwrap_err();
    assert!(matches!(error, Error::Level { wanted: SandboxLevel::Full, .. }), "{error}");
}

#[tokio::test]
async fn a_network_without_hosts_is_whatever_the_caller_serves() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let (place, server) = (Workspace::new(), server());
    let policy = policy(&place, Network::Allow(Vec::new()));
    let sandbox = Sandbox::new(PROGRAM, SandboxLevel::Full).unwrap();
    let mut child = sandbox.spawn(&policy, attempt(&["ask-proxy", "any.invalid:443"])).await.unwrap();
    let listener = child.listener().unwrap();
    let serving = tokio::task::spawn_blocking(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = vec![0; 1000];
        let count = stream.read(&mut asked).unwrap();
        stream.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\nours").unwrap();
        String::from_utf8_lossy(&asked[..count]).into_owned()
    });
    let ended = child.wait().await.unwrap();
    assert!(serving.await.unwrap().starts_with("CONNECT any.invalid:443 "));
    assert_eq!((ended.exit_code(), ended.stdout.text().trim()), (1, "ours"));
    let ended = run(SandboxLevel::Full, &policy, attempt(&["tcp", &server])).await.unwrap();
    assert_eq!(ended.exit_code(), 1, "there is no way beside it");
}
