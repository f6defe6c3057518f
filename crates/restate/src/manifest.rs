//! The description of this worker's handlers, which Restate asks for when the worker registers.

use serde_json::{Value, json};

use crate::changes::CHANGED;
use crate::limits_object::LIMITS;
use crate::service_names::ServiceNames;
use crate::workspaces_object::{CHANGES, SHOW, WORKSPACES};

/// The versions of the protocol for invocations. What is used here is the same in all of these.
pub(crate) const VERSIONS: [u32; 2] = [5, 6];
/// How long Restate remembers the key of a request, in milliseconds.
const KEYS: u64 = 24 * 60 * 60 * 1000;
const SHORT: u64 = 1000;

/// The shortest and the longest time between two attempts, in milliseconds; and how many there are before Restate waits
/// for a person. A worker may be away for long, and is needed as soon as it is back.
const FIRST_RETRY: u64 = 50;
const RETRY_INTERVAL: u64 = 1000;
const RETRIES: u64 = 1_000_000_000;

/// How long Restate waits for an answer before it tries again, in milliseconds, in two parts: handlers take milliseconds, but
/// if the network is cut, nobody says that no answer will come. By its own settings it waits for eleven minutes.
const SILENCE: u64 = 20_000;

/// The services of these workspaces, and those that all workers offer.
pub(crate) fn manifest<'a>(workspaces: impl Iterator<Item = &'a ServiceNames>) -> Value {
    let mut services: Vec<Value> = workspaces.flat_map(services_of).collect();
    let changes = CHANGES.iter().map(|name| handler(name, "EXCLUSIVE"));
    let workspaces: Vec<Value> = changes.chain([handler(SHOW, "SHARED")]).collect();
    services.push(object(WORKSPACES, &workspaces));
    services.push(object(LIMITS, &[handler("ask", "EXCLUSIVE"), handler("end", "EXCLUSIVE")]));
    json!({
        "protocolMode": "REQUEST_RESPONSE",
        "minProtocolVersion": VERSIONS[0],
        "maxProtocolVersion": VERSIONS[VERSIONS.len() - 1],
        "services": services,
    })
}

fn services_of(names: &ServiceNames) -> [Value; 3] {
    // Nobody but the handlers themselves writes to the log and hands effects over.
    let put = json!({ "name": "put", "ty": "EXCLUSIVE", "ingressPrivate": true });
    let perform = json!({ "name": "perform", "ingressPrivate": true });
    let mut runs: Vec<Value> = ["attach", "adopt", "advance", "tell"].map(|name| handler(name, "EXCLUSIVE")).into();
    runs.push(handler("head", "SHARED"));
    // Asked again with the same key only as long as there is no answer.
    let changed = json!({ "name": CHANGED, "idempotencyRetention": SHORT });
    let hands = [perform, json!({ "name": "start" }), changed];
    [
        object(&names.runs(), &runs),
        object(&names.log(), &[put, handler("read", "SHARED")]),
        service(&names.hands(), "SERVICE", &hands),
    ]
}

fn handler(name: &str, kind: &str) -> Value {
    json!({ "name": name, "ty": kind })
}

fn object(name: &str, handlers: &[Value]) -> Value {
    service(name, "VIRTUAL_OBJECT", handlers)
}

fn service(name: &str, kind: &str, handlers: &[Value]) -> Value {
    json!({
        "name": name, "ty": kind, "handlers": handlers, "idempotencyRetention": KEYS, "journalRetention": 0,
        "retryPolicyInitialInterval": FIRST_RETRY, "retryPolicyMaxInterval": RETRY_INTERVAL,
        "retryPolicyMaxAttempts": RETRIES, "inactivityTimeout": SILENCE, "abortTimeout": SILENCE,
    })
}
