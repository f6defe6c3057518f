//! Logins that are renewed with something that counts once: by one process at a time, and never half.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::support::World;
use crate::support::web::{JSON, Web, result_to};
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};
use updraft_mcp::{HostFuture, SecretStore, Servers};

/// What was signed in with, for several processes, and a lock that says when somebody waits for it.
struct TokenStore {
    kept: Mutex<BTreeMap<String, Vec<u8>>>,
    lock: Arc<Semaphore>,
    is_wanted: Notify,
}

impl TokenStore {
    fn new() -> Arc<Self> {
        Arc::new(Self { kept: Mutex::default(), lock: Arc::new(Semaphore::new(1)), is_wanted: Notify::new() })
    }

    fn keep(&self, address: &str, access: &str, refresh: &str) {
        let token =
            json!({"access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh});
        // Received long ago, so that it is too old, unless it is new.
        let since = if access == "new" { 4_000_000_000_u64 } else { 1_000_000 };
        let all = json!({"client_id": "c1", "token_response": token, "granted_scopes": [], "token_received_at": since});
        self.kept.lock().unwrap().insert(address.to_owned(), all.to_string().into_bytes());
    }

    fn refresh_token(&self, address: &str) -> String {
        let kept: Value = serde_json::from_slice(&self.kept.lock().unwrap()[address]).unwrap();
        kept["token_response"]["refresh_token"].as_str().unwrap().to_owned()
    }
}

impl SecretStore for TokenStore {
    fn load(&self, _: &str, address: &str) -> Option<Vec<u8>> {
        self.kept.lock().unwrap().get(address).cloned()
    }

    fn save(&self, _: &str, address: &str, secret: Option<Vec<u8>>) -> std::io::Result<()> {
        let mut kept = self.kept.lock().unwrap();
        match secret {
            Some(secret) => drop(kept.insert(address.to_owned(), secret)),
            None => drop(kept.remove(address)),
        }
        Ok(())
    }

    fn alone(&self, _: &str, _: &str) -> HostFuture<'_, Option<Box<dyn Any + Send>>> {
        Box::pin(async {
            self.is_wanted.notify_one();
            let permit = Arc::clone(&self.lock).acquire_owned().await.unwrap();
            Some(Box::new(permit) as Box<dyn Any + Send>)
        })
    }
}

/// A server behind a login that is renewed with each token once, and what it was renewed with.
async fn rotating(may_renew: Arc<Semaphore>, is_renewing: Arc<Notify>) -> (Web, Arc<Mutex<Vec<String>>>) {
    let renewed: Arc<Mutex<Vec<String>>> = Arc::default();
    let (seen, base) = (Arc::clone(&renewed), Arc::new(Mutex::new(String::new())));
    let own = Arc::clone(&base);
    let web = Web::serve_later(move |method, path, body| {
        let base = own.lock().unwrap().clone();
        let found = match (method, path.split('?').next().unwrap()) {
            (_, path) if path.starts_with("/.well-known/oauth-protected-resource") => {
                json!({"resource": format!("{base}/api"), "authorization_servers": [base]})
            }
            (_, "/.well-known/oauth-authorization-server") => json!({"issuer": base,
                "authorization_endpoint": format!("{base}/authorize"), "token_endpoint": format!("{base}/token"),
                "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"]}),
            ("POST", "/token") => {
                let form = body.as_str().unwrap_or_default().to_owned();
                let used = form.split('&').find_map(|pair| pair.strip_prefix("refresh_token=")).unwrap_or_default();
                seen.lock().unwrap().push(used.to_owned());
                let (may_renew, is_renewing) = (Arc::clone(&may_renew), Arc::clone(&is_renewing));
                let answer = json!({"access_token": "new", "token_type": "Bearer", "expires_in": 3600,
                    "refresh_token": "r2"});
                return async move {
                    is_renewing.notify_one();
                    may_renew.acquire().await.unwrap().forget();
                    (200, JSON, answer.to_string())
                }
                .boxed();
            }
            ("POST", "/api") => match body["method"].as_str().unwrap_or_default() {
                "server/discover" => {
                    return std::future::ready(result_to(
                        &body["id"],
                        &json!({"resultType": "complete",
                    "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0,
                    "cacheScope": "private"}),
                    ))
                    .boxed();
                }
                _ => {
                    return std::future::ready(result_to(
                        &body["id"],
                        &json!({"resultType": "complete", "ttlMs": 0,
                    "cacheScope": "private", "tools": []}),
                    ))
                    .boxed();
                }
            },
            _ => return std::future::ready((404, "", String::new())).boxed(),
        };
        std::future::ready((200, JSON, found.to_string())).boxed()
    })
    .await;
    web.url().trim_end_matches("/api").clone_into(&mut base.lock().unwrap());
    (web, renewed)
}

async fn servers(world: &World, web: &Web, tokens: &Arc<TokenStore>) -> Servers {
    let mut host = world.host().await;
    host.keys = Some(Arc::clone(tokens) as Arc<dyn SecretStore>);
    world.servers_with(&json!({"m": {"url": web.url()}}), host)
}

#[tokio::test]
async fn a_login_that_another_process_renews_is_waited_for_and_not_renewed_again() {
    let (web, renewed) = rotating(Arc::new(Semaphore::new(9)), Arc::default()).await;
    let (world, tokens) = (World::new(), TokenStore::new());
    tokens.keep(&web.url(), "old", "r1");
    let other = Arc::clone(&tokens.lock).acquire_owned().await.unwrap();
    let servers = servers(&world, &web, &tokens).await;
    let server = Arc::clone(servers.get("m").unwrap());
    let checking = tokio::task::JoinSet::from_iter([async move { server.check().await.map(drop) }]);
    tokens.is_wanted.notified().await;
    assert_eq!(*renewed.lock().unwrap(), Vec::<String>::new());
    tokens.keep(&web.url(), "new", "r2");
    drop(other);
    assert_eq!(checking.join_all().await, [Ok(())]);
    assert_eq!(*renewed.lock().unwrap(), Vec::<String>::new(), "the other process has done it");
    servers.close().await;
}

#[tokio::test]
async fn a_login_that_is_being_renewed_is_kept_though_nobody_waits_for_it() {
    let (may_renew, is_renewing) = (Arc::new(Semaphore::new(0)), Arc::<Notify>::default());
    let (web, renewed) = rotating(Arc::clone(&may_renew), Arc::clone(&is_renewing)).await;
    let (world, tokens) = (World::new(), TokenStore::new());
    tokens.keep(&web.url(), "old", "r1");
    let servers = servers(&world, &web, &tokens).await;
    let server = Arc::clone(servers.get("m").unwrap());
    let mut checking = tokio::task::JoinSet::from_iter([async move { server.check().await.map(drop) }]);
    is_renewing.notified().await;
    checking.shutdown().await;
    may_renew.add_permits(9);
    servers.close().await;
    assert_eq!(tokens.refresh_token(&web.url()), "r2");
    assert_eq!(*renewed.lock().unwrap(), ["r1"]);
}
