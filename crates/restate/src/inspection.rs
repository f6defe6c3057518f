//! What a Restate server looks like from here, for people who operate it: `updraft doctor --restate`.
//!
//! Everything is asked of the server itself, and nothing is changed there. What to make of it is up to the caller.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use reqwest::header::{AUTHORIZATION, DATE, HeaderMap, HeaderValue};
use serde_json::{Value, json};
use updraft_run::Timestamp;

use crate::callback_probe::{CallbackFinding, call_back};
use crate::ingress::nodes_of;

/// How long one question may take.
const QUESTION: Duration = Duration::from_secs(5);
/// The services that a worker has, without its name.
const OURS: [&str; 3] = ["Runs.", "Log.", "Hands."];
/// Requests that are tried again and again, or wait for a person, by service.
const WAITING: &str = "select target_service_name as service, count(1) as requests, max(last_failure) as failure \
    from sys_invocation where status in ('backing-off', 'paused') group by target_service_name";

/// What was found out.
#[derive(Debug)]
pub struct ServerInspection {
    /// Each ingress with why it does not answer, if it does not.
    pub ingresses: Vec<(String, Result<(), String>)>,
    /// Each admin address with why it does not answer, if it does not.
    pub admins: Vec<(String, Result<AdminFinding, String>)>,
    /// The workers that are registered.
    pub workers: Result<Vec<RegisteredWorker>, String>,
    /// Requests that are tried again and again.
    pub waiting: Result<Vec<WaitingRequests>, String>,
    /// What Restate's requests to this machine look like; or why none came.
    pub callback: Result<CallbackFinding, String>,
}

/// What one node says at its admin address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminFinding {
    /// Its version.
    pub version: String,
    /// How many nodes the cluster has, if it says so.
    pub nodes: Option<usize>,
    /// How far its clock is ahead of the one here, in milliseconds; exact to a second.
    pub ahead: Option<i64>,
}

/// A worker, as Restate knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredWorker {
    /// Its name.
    pub name: String,
    /// Where Restate calls it.
    pub url: String,
    /// Services of a worker that it lacks.
    pub lacks: Vec<&'static str>,
}

/// Requests to a service that are not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingRequests {
    /// The service.
    pub service: String,
    /// How many there are.
    pub requests: u64,
    /// Why the last attempt failed.
    pub failure: String,
}

/// Looks at a server, or at the nodes of a cluster. `token` is sent to it, and `now` is the clock here.
pub async fn inspect(
    ingress: &str,
    admin: &str,
    token: Option<&str>,
    now: fn() -> Timestamp,
) -> Result<ServerInspection, String> {
    // Fails if another provider was chosen before, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut headers = HeaderMap::new();
    if let Some(token) = token {
        let mut bearer = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| "the token is not plain text")?;
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
    }
    let client = reqwest::Client::builder().no_proxy().timeout(QUESTION).default_headers(headers).build();
    let client = client.map_err(|error| said(&error))?;
    let mut ingresses = Vec::new();
    for url in nodes_of(ingress) {
        let health = get(&client, &format!("{url}/restate/health")).await.map(drop);
        ingresses.push((url.to_owned(), health));
    }
    let mut admins = Vec::new();
    for url in nodes_of(admin) {
        admins.push((url.to_owned(), admin_finding(&client, url, now).await));
    }
    let Some(admin) = admins.iter().find(|(_, found)| found.is_ok()).map(|(url, _)| url.clone()) else {
        let why = || "no admin address answers".to_owned();
        let (workers, waiting, callback) = (Err(why()), Err(why()), Err(why()));
        return Ok(ServerInspection { ingresses, admins, workers, waiting, callback });
    };
    let deployments = get(&client, &format!("{admin}/deployments")).await;
    Ok(ServerInspection {
        ingresses,
        admins,
        workers: deployments.map(|(_, deployments)| workers_of(&deployments)),
        waiting: waiting(&client, &admin).await,
        callback: call_back(&client, &admin, now).await,
    })
}

async fn admin_finding(client: &reqwest::Client, url: &str, now: fn() -> Timestamp) -> Result<AdminFinding, String> {
    let (date, said) = get(client, &format!("{url}/version")).await?;
    let ahead = date.map(|date| date - now().0);
    let version = said["version"].as_str().ok_or("it does not say its version; is it Restate's admin address?")?;
    let health = get(client, &format!("{url}/cluster-health")).await.ok();
    let members = health.and_then(|(_, health)| Some(health["metadata_cluster_health"]["members"].as_array()?.len()));
    Ok(AdminFinding { version: version.to_owned(), nodes: members, ahead })
}

/// The workers among all deployments: whatever has a service of ours.
fn workers_of(deployments: &Value) -> Vec<RegisteredWorker> {
    let mut workers: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for deployment in deployments["deployments"].as_array().into_iter().flatten() {
        let url = deployment["uri"].as_str().unwrap_or_default();
        for service in deployment["services"].as_array().into_iter().flatten() {
            let name = service["name"].as_str().unwrap_or_default();
            if let Some((kind, worker)) = OURS.iter().find_map(|kind| Some((*kind, name.strip_prefix(kind)?))) {
                workers.entry((worker.to_owned(), url.to_owned())).or_default().push(kind.to_owned());
            }
        }
    }
    let worker = |((name, url), has): ((String, String), Vec<String>)| {
        let lacks = OURS.into_iter().filter(|kind| !has.iter().any(|had| had == kind)).collect();
        RegisteredWorker { name, url: url.trim_end_matches('/').to_owned(), lacks }
    };
    workers.into_iter().map(worker).collect()
}

async fn waiting(client: &reqwest::Client, admin: &str) -> Result<Vec<WaitingRequests>, String> {
    let query = client.post(format!("{admin}/query")).header("content-type", "application/json");
    let query = query.header("accept", "application/json").body(json!({ "query": WAITING }).to_string());
    let (_, found) = ask(query).await?;
    let rows = found["rows"].as_array().into_iter().flatten();
    let row = |row: &Value| WaitingRequests {
        service: row["service"].as_str().unwrap_or_default().to_owned(),
        requests: row["requests"].as_u64().unwrap_or_default(),
        failure: row["failure"].as_str().unwrap_or_default().to_owned(),
    };
    Ok(rows.map(row).collect())
}

async fn get(client: &reqwest::Client, url: &str) -> Result<(Option<i64>, Value), String> {
    ask(client.get(url)).await
}

/// The answer to a question, with the server's time in milliseconds since 1970.
pub(crate) async fn ask(request: reqwest::RequestBuilder) -> Result<(Option<i64>, Value), String> {
    let answer = request.send().await.map_err(|error| said(&error))?;
    let (status, date) = (answer.status(), answer.headers().get(DATE).cloned());
    let body = answer.bytes().await.map_err(|error| said(&error))?;
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    if !status.is_success() {
        let why = value["message"].as_str().map_or_else(|| String::from_utf8_lossy(&body), Into::into);
        return Err(format!("{status}: {}", why.trim()));
    }
    Ok((date.and_then(|date| milliseconds(date.to_str().ok()?)), value))
}

fn milliseconds(date: &str) -> Option<i64> {
    let since = httpdate::parse_http_date(date).ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

fn said(error: &reqwest::Error) -> String {
    updraft_run::error_chain(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_known_by_their_services() {
        let services = |names: &[&str]| names.iter().map(|name| json!({ "name": name })).collect::<Vec<_>>();
        let deployments = json!({ "deployments": [
            { "uri": "http://10.0.0.5:9080/", "services": services(&["Runs.w1", "Log.w1", "Hands.w1"]) },
            { "uri": "http://10.0.0.6:9080/", "services": services(&["Runs.w2", "greeter"]) },
            { "uri": "http://10.0.0.7:9080/", "services": services(&["greeter"]) },
        ]});
        let worker = |name: &str, url: &str, lacks: &[&'static str]| RegisteredWorker {
            name: name.into(),
            url: url.into(),
            lacks: lacks.to_vec(),
        };
        let expected =
            [worker("w1", "http://10.0.0.5:9080", &[]), worker("w2", "http://10.0.0.6:9080", &["Log.", "Hands."])];
        assert_eq!(workers_of(&deployments), expected);
    }

    #[test]
    fn dates_are_read_as_servers_write_them() {
        assert_eq!(milliseconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777_000));
        assert_eq!(milliseconds("yesterday"), None);
    }
}
