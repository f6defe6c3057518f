//! Sockets among files: a command's own work as ever, those of the host's services are not to be reached without a network.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::ErrorKind;
use std::os::unix::net::UnixListener;

use crate::support::{PROGRAM, Workspace, can_test, run, shell};
use updraft_sandbox::{ChildLifetime, Command, Network, Policy, ProgramExit, Sandbox, SandboxLevel, StdinMode};

/// The command that tries to reach a socket.
async fn reaches(policy: &Policy, path: &str) -> bool {
    let policy = Policy { read: vec![std::path::Path::new(PROGRAM).parent().unwrap().to_owned()], ..policy.clone() };
    let ended = run(SandboxLevel::Full, &policy, shell(&format!("{PROGRAM} attempt unix {path}"))).await.unwrap();
    ended.exit == Some(ProgramExit::Code(0))
}

#[tokio::test]
async fn a_service_in_the_workspace_is_reached_with_the_hosts_network_only() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let place = Workspace::new();
    let service = UnixListener::bind(place.path().join("service")).unwrap();
    service.set_nonblocking(true).unwrap();
    assert!(!reaches(&place.policy(), "service").await);
    let hears = service.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(hears, Err(ErrorKind::WouldBlock), "the service notices nothing of being looked for");
    let with_network = Policy { network: Network::Host, ..place.policy() };
    assert!(reaches(&with_network, "service").await);
    assert!(service.accept().is_ok());
}

#[tokio::test]
async fn a_service_in_a_granted_folder_is_covered_also_for_a_staged_command() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let (place, other) = (Workspace::new(), Workspace::new());
    let _services = ["here", "there"]
        .map(|name| UnixListener::bind((if name == "here" { &place } else { &other }).path().join(name)));
    let staged = Some(place.path().with_extension("aside").join("staged"));
    let policy = Policy { write: vec![other.path().to_owned()], staged, ..place.policy() };
    assert!(!reaches(&policy, "here").await);
    assert!(!reaches(&policy, &other.path().join("there").display().to_string()).await);
}

#[tokio::test]
async fn a_service_in_a_granted_folder_of_a_staged_workspace_is_covered() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let place = Workspace::new();
    let granted = place.path().join("granted");
    std::fs::create_dir_all(granted.join("deep")).unwrap();
    let _services = ["granted/here", "granted/deep/there", "beside"]
        .map(|name| UnixListener::bind(place.path().join(name)).unwrap());
    let staged = Some(place.path().with_extension("aside").join("staged"));
    for write in [vec![granted.clone()], vec![granted, place.path().to_owned()], vec![place.path().to_owned()]] {
        let policy = Policy { write, staged: staged.clone(), ..place.policy() };
        for name in ["granted/here", "granted/deep/there", "beside"] {
            assert!(!reaches(&policy, name).await, "{name} with {:?}", policy.write);
        }
    }
    // What the overlay shows is the command's own to remove.
    let policy = Policy { staged, ..place.policy() };
    let ended = run(SandboxLevel::Full, &policy, shell("rm beside")).await.unwrap();
    assert_eq!(ended.exit, Some(ProgramExit::Code(0)), "{}", ended.stderr.text());
}

#[tokio::test]
async fn what_a_command_listens_on_itself_works_and_what_is_left_of_others_can_be_replaced() {
    let python = "/usr/bin/python3";
    if !can_test(SandboxLevel::Full) || !std::path::Path::new(python).exists() {
        return;
    }
    let place = Workspace::new();
    drop(UnixListener::bind(place.path().join("left")).unwrap());
    let script = "import os, socket, sys
for path in ['left', '/tmp/own', os.path.expanduser('~/own')]:
    if path == 'left': os.unlink(path)
    listener = socket.socket(socket.AF_UNIX); listener.bind(path); listener.listen()
    client = socket.socket(socket.AF_UNIX); client.connect(path); client.sendall(b'x')
    assert listener.accept()[0].recv(1) == b'x'
print('all')";
    let command = Command { args: vec!["-c".to_owned(), script.to_owned()], ..Command::new(python) };
    let ended = run(SandboxLevel::Full, &place.policy(), command).await.unwrap();
    assert_eq!(ended.stdout.text(), "all\n", "{}", ended.stderr.text());
}

#[tokio::test]
async fn a_program_that_waits_is_not_used_again_once_a_service_has_appeared() {
    if !can_test(SandboxLevel::Full) {
        return;
    }
    let (place, other) = (Workspace::new(), Workspace::new());
    let policy = Policy { lifetime: ChildLifetime::Session, ..place.policy() };
    let command = Command { stdin: StdinMode::Pipe, ..Command::new("/bin/cat") };
    let mut child = Sandbox::new(PROGRAM, SandboxLevel::Full).unwrap().spawn(&policy, command).await.unwrap();
    let _elsewhere = UnixListener::bind(other.path().join("service")).unwrap();
    assert!(child.is_current().await.unwrap());
    let _service = UnixListener::bind(place.path().join("service")).unwrap();
    // From version 9 on, Landlock refuses it in any case.
    assert_eq!(child.is_current().await.unwrap(), crate::support::probe().landlock_abi >= 9);
    child.end().await.unwrap();
}
