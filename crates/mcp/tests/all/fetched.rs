//! Servers whose programs fetch what they run, with stand-ins for `npx`: what they fetch stays, they are waited for, and
//! what keeps them from it is named.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use serde_json::{Value, json};
use updraft_mcp::{Error, McpHost};

use crate::support::{PROGRAM, World, parent};

/// A program named `npx` that does this, and a server that is started by it.
fn npx(world: &World, network: &str, script: &str) -> Value {
    let folder = world.folder.path().join("bin");
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("npx");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let read = [folder.display().to_string(), parent(PROGRAM)];
    json!({"command": program, "args": ["-y", "server"], "sandbox": {"network": network, "read": read}})
}

async fn host(world: &World) -> McpHost {
    let mut host = world.host().await;
    host.fetched = Some(world.folder.path().join("fetched"));
    host
}

#[tokio::test]
async fn what_was_fetched_is_there_at_the_next_start_also_without_a_network() {
    let world = World::new();
    // Packages bring files that would be moved aside in a folder of the user's.
    let script = format!(
        "if [ \"$npm_config_offline\" != true ]; then mkdir -p $npm_config_cache/pkg/.vscode; \
         touch $npm_config_cache/pkg/.npmrc $npm_config_cache/pkg/.vscode/tasks.json; fi\n\
         ls $npm_config_cache/pkg/.npmrc $npm_config_cache/pkg/.vscode/tasks.json >&2 || exit 1\n\
         exec {PROGRAM} chaos old"
    );
    for network in ["host", "none"] {
        let servers = world.servers_with(&json!({"s": npx(&world, network, &script)}), host(&world).await);
        servers.get("s").unwrap().check().await.unwrap();
        servers.close().await;
    }
    assert!(world.folder.path().join("fetched/s.own/npm/pkg/.vscode/tasks.json").exists());
    assert_eq!(std::fs::read_dir(world.workspace()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_run_waits_for_what_is_fetched_the_first_time() {
    let world = World::new();
    let script = format!("sleep 1; exec {PROGRAM} chaos old");
    let servers = world.servers_with(&json!({"s": npx(&world, "host", &script)}), host(&world).await);
    assert_eq!(servers.get("s").unwrap().config().patience.start, Duration::from_mins(5));
    assert!(!servers.tools(Duration::from_millis(50), &BTreeSet::new()).await.is_empty());
    servers.close().await;
}

#[tokio::test]
async fn what_could_not_be_fetched_is_tried_once_and_the_cause_is_named() {
    let world = World::new();
    for (network, complaint, cause) in [
        ("none", "npm error code ENOTCACHED", "its entry grants no network"),
        ("host", "npm error code E404", "the registry has no such package"),
        ("host", "npm error code ENOTFOUND", "are you online?"),
        ("allow:localhost", "npm error code ECONNREFUSED", "is it among the hosts that its entry grants?"),
        ("host", "npm error code SELF_SIGNED_CERT_IN_CHAIN", "NODE_EXTRA_CA_CERTS"),
    ] {
        let script = format!("echo started >> starts; echo '{complaint}' >&2; exit 1");
        let servers = world.servers_with(&json!({"s": npx(&world, network, &script)}), host(&world).await);
        let error = servers.get("s").unwrap().check().await.unwrap_err();
        assert!(
            matches!(&error, Error::Unfetched(words) if words.contains(cause) && words.contains(complaint)),
            "{error}"
        );
        servers.close().await;
        assert_eq!(std::fs::read_to_string(world.workspace().join("starts")).unwrap(), "started\n");
        std::fs::remove_file(world.workspace().join("starts")).unwrap();
    }
}

#[tokio::test]
async fn the_way_to_a_mirror_reaches_it_and_passwords_do_not() {
    let world = World::new();
    let certificates = world.folder.path().join("company.pem");
    std::fs::write(&certificates, "the company's\n").unwrap();
    let script = format!("env > seen; cat $SSL_CERT_FILE >> seen; exec {PROGRAM} chaos old");
    let mut host = host(&world).await;
    for (name, value) in [
        ("npm_config_registry", "https://npm.example.com/"),
        ("UV_DEFAULT_INDEX", "https://me:secret@pypi.example.com/simple"),
        ("SSL_CERT_FILE", certificates.to_str().unwrap()),
        ("OPENAI_API_KEY", "secret"),
    ] {
        host.environment.push((name.to_owned(), value.to_owned()));
    }
    let servers = world.servers_with(&json!({"s": npx(&world, "host", &script)}), host);
    servers.get("s").unwrap().check().await.unwrap();
    servers.close().await;
    let seen = std::fs::read_to_string(world.workspace().join("seen")).unwrap();
    assert!(
        seen.contains("npm_config_registry=https://npm.example.com/\n") && seen.ends_with("the company's\n"),
        "{seen}"
    );
    assert!(!seen.contains("secret"), "{seen}");
}

#[tokio::test]
async fn a_program_that_is_not_installed_is_named_with_what_it_comes_with() {
    let world = World::new();
    let mut host = host(&world).await;
    host.environment = vec![("PATH".to_owned(), "/nowhere".to_owned())];
    let uvx = json!({"s": {"command": "uvx", "args": ["server"]}});
    let servers = world.servers_with(&uvx, host.clone());
    let error = servers.get("s").unwrap().check().await.unwrap_err().to_string();
    assert!(error.ends_with("it comes with uv: install that, e.g. `pip install uv`"), "{error}");
    servers.close().await;
    // It is there, where the sandbox shows nothing.
    let hidden = world.folder.path().join("hidden");
    std::fs::create_dir(&hidden).unwrap();
    std::fs::write(hidden.join("uvx"), "").unwrap();
    host.environment = vec![("PATH".to_owned(), hidden.display().to_string())];
    let servers = world.servers_with(&uvx, host);
    let error = servers.get("s").unwrap().check().await.unwrap_err().to_string();
    assert!(error.ends_with(&format!("`--read {}` allows it", hidden.display())), "{error}");
    servers.close().await;
}
