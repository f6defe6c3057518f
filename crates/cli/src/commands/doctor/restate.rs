//! `updraft doctor --restate`: what a Restate server and its workers lack, and what to do about it.

use std::path::Path;

use updraft_restate::{
    AdminFinding, CallbackFinding, RegisteredWorker, ServerInspection, WaitingRequests, check_address, nodes_of,
};
use updraft_workbench::doctor::{CheckStatus, DoctorCheck};

use crate::commands::restate::check_blobs;
use crate::time_format;

/// The oldest version that Updraft is tested with.
const TESTED: (u32, u32) = (1, 7);
/// Clocks may differ by this much, in milliseconds: the server says the time in seconds.
const SAME: i64 = 2_000;
/// From here on, workers refuse signed requests: those are valid for a minute.
const TOO_FAR: i64 = 50_000;

/// Checks a server, or the nodes of a cluster. A token is sent only where nobody else can read it.
pub(super) async fn checks(ingress: &str, admin: Option<&str>, token: Option<&str>) -> Vec<DoctorCheck> {
    let admin = admin.map_or_else(|| usual_admin(ingress), ToOwned::to_owned);
    let refused = |address| check_address(address, true).err();
    let refused = token.and_then(|_| nodes_of(ingress).chain(nodes_of(&admin)).find_map(refused));
    if let Some(fault) = refused {
        return vec![check(CheckStatus::Fail, "restate", fault.to_string(), fault.hint())];
    }
    match updraft_restate::inspect(ingress, &admin, token, time_format::now).await {
        Ok(found) => describe(&found),
        Err(why) => vec![check(CheckStatus::Fail, "restate", why, "")],
    }
}

/// Checks the place for large values.
pub(super) async fn blobs(place: &Path) -> DoctorCheck {
    match check_blobs(place).await {
        Ok(()) => check(CheckStatus::Ok, "blobs", format!("{}: written, read and deleted", place.display()), ""),
        Err((why, advice)) => check(CheckStatus::Fail, "blobs", why, advice),
    }
}

/// The admin addresses that belong to an ingress unless somebody says otherwise: port 9070 of the same hosts.
fn usual_admin(ingress: &str) -> String {
    let admin = |url: &str| {
        let has_port = url.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let host = if has_port { url.rsplit_once(':').map_or(url, |(host, _)| host) } else { url };
        format!("{host}:9070")
    };
    nodes_of(ingress).map(admin).collect::<Vec<_>>().join(",")
}

fn describe(found: &ServerInspection) -> Vec<DoctorCheck> {
    let mut checks = nodes(found);
    checks.push(workers(&found.workers));
    checks.extend(waiting(&found.waiting));
    checks.push(callback(&found.callback));
    checks.push(clock(found));
    checks
}

fn check(status: CheckStatus, what: &'static str, found: impl Into<String>, advice: impl Into<String>) -> DoctorCheck {
    DoctorCheck { status, what, found: found.into(), advice: advice.into() }
}

/// Which nodes answer, and how many there are.
fn nodes(found: &ServerInspection) -> Vec<DoctorCheck> {
    let mut checks = Vec::new();
    let away = |url: &str, why: &str, option: &str| {
        let advice = format!("start restate-server there, or name another address with {option}");
        check(CheckStatus::Fail, "restate", format!("{url} does not answer: {why}"), advice)
    };
    checks.extend(
        found.ingresses.iter().filter_map(|(url, health)| health.as_ref().err().map(|why| away(url, why, "--restate"))),
    );
    for (url, found) in &found.admins {
        match found {
            Ok(admin) => checks.push(version(url, admin)),
            Err(why) => checks.push(away(url, why, "--restate-admin")),
        }
    }
    let nodes = found.admins.iter().find_map(|(_, found)| found.as_ref().ok()?.nodes);
    let advice =
        "data is on one disk; with three nodes and default-replication = 2, one may fail (docs/many-machines.md)";
    match nodes {
        Some(1) => checks.push(check(CheckStatus::Ok, "cluster", "one node", advice)),
        Some(2) => checks.push(check(CheckStatus::Warn, "cluster", "2 nodes: neither may fail", "add a third")),
        Some(many) => checks.push(check(CheckStatus::Ok, "cluster", format!("{many} nodes"), "")),
        None => {}
    }
    checks
}

fn version(url: &str, admin: &AdminFinding) -> DoctorCheck {
    let found = format!("Restate {} at {url}", admin.version);
    let mut numbers = admin.version.split('.').map(|number| number.parse::<u32>().unwrap_or_default());
    let version = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    if version < TESTED {
        let advice = format!("upgrade it: Updraft is tested with {}.{} and newer", TESTED.0, TESTED.1);
        return check(CheckStatus::Warn, "restate", found, advice);
    }
    check(CheckStatus::Ok, "restate", found, "")
}

fn workers(found: &Result<Vec<RegisteredWorker>, String>) -> DoctorCheck {
    let workers = match found {
        Ok(workers) => workers,
        Err(why) => return check(CheckStatus::Fail, "workers", format!("unknown: {why}"), ""),
    };
    if workers.is_empty() {
        let advice = "start one in the folder that its runs work in: `updraft serve --engine restate`";
        return check(CheckStatus::Warn, "workers", "none is registered", advice);
    }
    if let Some(partial) = workers.iter().find(|worker| !worker.lacks.is_empty()) {
        let lacks = partial.lacks.iter().map(|kind| kind.trim_end_matches('.')).collect::<Vec<_>>().join(", ");
        let found = format!("`{}` at {} lacks {lacks}", partial.name, partial.url);
        return check(CheckStatus::Fail, "workers", found, "start it again: it registers itself");
    }
    let named: Vec<String> = workers.iter().map(|worker| format!("`{}` at {}", worker.name, worker.url)).collect();
    check(CheckStatus::Ok, "workers", named.join(", "), "")
}

/// Requests that a worker does not answer.
fn waiting(found: &Result<Vec<WaitingRequests>, String>) -> Vec<DoctorCheck> {
    let requests = match found {
        Ok(requests) => requests,
        Err(why) => return vec![check(CheckStatus::Warn, "waiting", format!("unknown: {why}"), "")],
    };
    let one = |waits: &WaitingRequests| {
        let failure = waits.failure.lines().next().unwrap_or_default();
        let number = if waits.requests == 1 { "1 request".to_owned() } else { format!("{} requests", waits.requests) };
        let found = format!("{number} to {} tried again and again: {failure}", waits.service);
        let worker = waits.service.split_once('.').map_or("", |(_, worker)| worker);
        check(
            CheckStatus::Warn,
            "waiting",
            found,
            format!("start the worker `{worker}` again, or look at what it says"),
        )
    };
    requests.iter().map(one).collect()
}

/// Whether Restate reaches this machine, and signs what it sends.
fn callback(found: &Result<CallbackFinding, String>) -> DoctorCheck {
    match found {
        Ok(CallbackFinding { at, key: Some(key), .. }) => {
            check(CheckStatus::Ok, "callback", format!("Restate reaches {}, and signs with {key}", at.ip()), "")
        }
        Ok(CallbackFinding { at, key: None, .. }) if at.ip().is_loopback() => check(
            CheckStatus::Ok,
            "callback",
            format!("Restate reaches {}; it does not sign, on one machine", at.ip()),
            "",
        ),
        Ok(CallbackFinding { at, key: None, .. }) => {
            let advice = "`openssl genpkey -algorithm ed25519 -out identity.pem`, name the file in \
                RESTATE_REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE of every node, and restart the nodes";
            let found = format!("Restate reaches {}, but does not sign its requests: workers refuse them", at.ip());
            check(CheckStatus::Fail, "callback", found, advice)
        }
        Err(why) => {
            let advice = "open the worker's port to the nodes: Restate calls workers, not the other way round";
            check(CheckStatus::Fail, "callback", format!("Restate does not reach this machine: {why}"), advice)
        }
    }
}

/// The largest difference between a node's clock and the one here.
fn clock(found: &ServerInspection) -> DoctorCheck {
    let nodes = found.admins.iter().filter_map(|(_, found)| found.as_ref().ok()?.ahead);
    let signer = found.callback.as_ref().ok().and_then(|callback| callback.ahead);
    let Some(ahead) = nodes.chain(signer).max_by_key(|ahead| ahead.abs()) else {
        return check(CheckStatus::Warn, "clock", "no node says the time", "");
    };
    if ahead.abs() <= SAME {
        return check(CheckStatus::Ok, "clock", "the nodes' clocks agree with this one", "");
    }
    let (seconds, side) = (ahead.abs() / 1000, if ahead > 0 { "ahead of" } else { "behind" });
    let found = format!("a node's clock is {seconds} s {side} this one");
    let status = if ahead.abs() > TOO_FAR { CheckStatus::Fail } else { CheckStatus::Warn };
    check(
        status,
        "clock",
        found,
        "keep both by NTP: signed requests are valid for a minute, nodes need each other's within one second",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn healthy() -> ServerInspection {
        let admin = AdminFinding { version: "1.7.12".into(), nodes: Some(3), ahead: Some(-700) };
        let worker = RegisteredWorker { name: "w1".into(), url: "http://10.0.0.5:9080".into(), lacks: Vec::new() };
        let at = ([10, 0, 0, 9], 4000).into();
        ServerInspection {
            ingresses: vec![("http://10.0.0.1:8080".into(), Ok(()))],
            admins: vec![("http://10.0.0.1:9070".into(), Ok(admin))],
            workers: Ok(vec![worker]),
            waiting: Ok(Vec::new()),
            callback: Ok(CallbackFinding { at, key: Some("publickeyv1_a".into()), ahead: Some(300) }),
        }
    }

    fn said(found: &ServerInspection) -> Vec<String> {
        let line = |check: &DoctorCheck| format!("{} {}: {}", check.status.word(), check.what, check.found);
        describe(found).iter().map(line).collect()
    }

    #[test]
    fn a_healthy_cluster_is_described() {
        let expected = [
            "ok restate: Restate 1.7.12 at http://10.0.0.1:9070",
            "ok cluster: 3 nodes",
            "ok workers: `w1` at http://10.0.0.5:9080",
            "ok callback: Restate reaches 10.0.0.9, and signs with publickeyv1_a",
            "ok clock: the nodes' clocks agree with this one",
        ];
        assert_eq!(said(&healthy()), expected);
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_do() {
        let mut found = healthy();
        found.ingresses[0].1 = Err("connection refused".into());
        found.admins[0].1 = Ok(AdminFinding { version: "1.4.0".into(), nodes: Some(2), ahead: Some(90_000) });
        found.workers = Ok(Vec::new());
        let stuck = WaitingRequests { service: "Hands.w1".into(), requests: 2, failure: "no route\nto host".into() };
        found.waiting = Ok(vec![stuck]);
        found.callback = Ok(CallbackFinding { key: None, ..found.callback.unwrap() });
        let expected = [
            "fail restate: http://10.0.0.1:8080 does not answer: connection refused",
            "warn restate: Restate 1.4.0 at http://10.0.0.1:9070",
            "warn cluster: 2 nodes: neither may fail",
            "warn workers: none is registered",
            "warn waiting: 2 requests to Hands.w1 tried again and again: no route",
            "fail callback: Restate reaches 10.0.0.9, but does not sign its requests: workers refuse them",
            "fail clock: a node's clock is 90 s ahead of this one",
        ];
        assert_eq!(said(&found), expected);
        assert!(describe(&found).iter().all(|check| !check.advice.is_empty()));
    }

    #[tokio::test]
    async fn a_token_is_not_sent_where_others_can_read_it() {
        let refused = checks("http://10.0.0.1:8080", None, Some("secret")).await;
        let [check] = refused.as_slice() else { panic!("{refused:?}") };
        assert!(check.status == CheckStatus::Fail && check.found.contains("not encrypted"), "{check:?}");
    }

    #[test]
    fn the_admin_address_follows_from_the_ingress() {
        assert_eq!(usual_admin("http://10.0.0.1:8080/, http://b"), "http://10.0.0.1:9070,http://b:9070");
    }
}
