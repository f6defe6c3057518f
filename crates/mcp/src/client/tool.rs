//! A server's tool as one of our tools: with the strictest traits that fit, and with results that are untrusted.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::JsonObject;
use serde_json::Value;
use updraft_run::{EffectClass, Failure, FailureKind, Millis, PreparedCall, Reply, STRANGE_DEFINITIONS, ToolSpec};
use updraft_sandbox::Network;
use updraft_tools::{CallContext, Place, Tool, ToolFuture, ToolSource, ToolTraits};

use super::calling_run::CallingRun;
use super::connection::CallOptions;
use super::content;
use super::manifest::{ToolDescription, ToolHints};
use super::rounds::CallHandle;
use super::server::Server;
use crate::config::{ServerConfig, TransportConfig};
use crate::error::Error;

/// The name of the group of servers' tools.
pub(super) const GROUP: &str = "mcp";
/// The server's own limits apply; and a person whom it asks may take days.
const LONGEST: Duration = Duration::from_hours(24 * 365);

/// One tool of one server.
pub(super) struct ServerTool {
    server: Arc<Server>,
    own_name: String,
    spec: ToolSpec,
    output: Option<Value>,
    traits: ToolTraits,
    /// What the server says about its effects.
    hints: ToolHints,
    /// The name that rules use, if it differs because another tool could have the same.
    known_as: Option<String>,
    /// Whether its definition is untrusted text.
    is_strange: bool,
}

impl ServerTool {
    pub(super) fn new(server: Arc<Server>, name: &str, listed: &ToolDescription) -> Self {
        let (hints, traits) = (listed.hints, traits(server.config(), listed.hints, false));
        let described = if listed.description.is_empty() { &listed.name } else { &listed.description };
        let spec = ToolSpec { name: name.to_owned(), description: described.clone(), parameters: listed.input.clone() };
        let (own_name, output) = (listed.name.clone(), listed.output.clone());
        Self { own_name, spec, output, traits, hints, known_as: None, is_strange: true, server }
    }

    /// Sets the name that it would have if no other tool could have the same.
    pub(super) fn known_as(mut self, plain: String) -> Self {
        self.known_as = Some(plain).filter(|plain| *plain != self.spec.name);
        self
    }

    /// Sets whether its definition is untrusted. If not, the user vouches for it and for its hints.
    pub(super) fn strange(mut self, is_strange: bool) -> Self {
        self.is_strange = is_strange;
        self.traits = traits(self.server.config(), self.hints, !is_strange);
        self
    }

    pub(super) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    fn hosts(&self) -> Vec<String> {
        hosts(self.server.config())
    }

    async fn make(&self, args: Value, cx: &CallContext) -> Reply {
        let Value::Object(arguments) = args else {
            return Reply::Failed(Failure::new(FailureKind::Validation, "expected an object of arguments"));
        };
        let config = self.server.config();
        let around = &cx.around;
        let asker = around.caller.clone().map(|caller| CallingRun { run: around.run.clone(), caller });
        let found = around.handle.as_deref().and_then(CallHandle::read).into();
        let (cancel, log, run) = (&cx.cancel, cx.log.clone(), around.run.as_str());
        let key = Some(cx.key.as_str());
        let waiting =
            CallOptions { patience: config.patience, cancel, log, asker, found, run, key, trace: around.trace };
        let is_repeatable = self.traits.class.is_repeatable();
        let arguments: JsonObject = arguments;
        match self.server.call(&self.own_name, arguments, is_repeatable, &waiting).await {
            Ok(called) => {
                let hosts = self.hosts().into_iter().chain(called.hosts).collect();
                let mut output = content::output(called.result, &config.name, hosts, cx);
                output.text.push_str(&called.left);
                Reply::Output(Arc::new(output))
            }
            Err(error) => self.reply(&error, is_repeatable, cx),
        }
    }

    /// An error as it is reported to an agent. If the call may have had an effect, it is reported as uncertain.
    fn reply(&self, error: &Error, is_repeatable: bool, cx: &CallContext) -> Reply {
        let server = &self.server.config().name;
        let words = format!("MCP server `{server}`: {error}");
        match error {
            Error::Cancelled => Reply::Cancelled,
            Error::Silent(limit) if is_repeatable => Reply::TimedOut { limit: Millis(limit.as_millis() as u64) },
            Error::Lost(_) | Error::Abandoned(_) | Error::Silent(_) if !is_repeatable => Reply::InDoubt {
                evidence: format!("`{}` was called on {words}; it may or may not have been done", self.own_name),
            },
            Error::Unreachable(_) | Error::Resting { .. } | Error::Start(_) | Error::Slow(_) => {
                cx.transient(Failure::new(FailureKind::Tool, words))
            }
            // The call was already repeated as often as useful.
            Error::Lost(_) | Error::Abandoned(_) | Error::Silent(_) => {
                Reply::Failed(Failure::new(FailureKind::Tool, words))
            }
            Error::Login(_) | Error::Unknown(_) => Reply::Failed(Failure::new(FailureKind::Config, words)),
            Error::Unfetched(_) | Error::Refused { .. } | Error::OpenUrls { .. } | Error::Nonsense(_) => {
                Reply::Failed(Failure::new(FailureKind::Tool, words))
            }
        }
    }
}

/// The hosts that a request to this server reaches.
pub(super) fn hosts(config: &ServerConfig) -> Vec<String> {
    match &config.link {
        TransportConfig::Remote { url, .. } => url.host_str().map(str::to_owned).into_iter().collect(),
        TransportConfig::Stdio { .. } => Vec::new(),
    }
}

pub(super) fn is_remote(config: &ServerConfig) -> bool {
    matches!(config.link, TransportConfig::Remote { .. })
}

/// The assumed traits of a tool. Hints can always make them stricter; they make them less strict only if the user
/// trusts them.
pub(super) fn traits(config: &ServerConfig, hints: ToolHints, believed: bool) -> ToolTraits {
    let reads_only = believed && hints.reads_only;
    let class = match (reads_only, believed && hints.idempotent) {
        (true, _) => EffectClass::Pure,
        (false, true) => EffectClass::Idempotent,
        (false, false) => EffectClass::Opaque,
    };
    let has_no_network = !is_remote(config) && config.grants.network == Network::None;
    // It can only touch the workspace, where changes can be undone.
    let is_confined = has_no_network && config.grants.write.is_empty();
    let destroys = if believed { !hints.reads_only && !hints.adds } else { !(is_confined && hints.reads_only) };
    // It adds something that is not visible outside of the server: a note in a notebook, a line in a list.
    let adds_inside = believed && hints.adds && hints.stays_inside;
    ToolTraits {
        class,
        group: GROUP,
        outside: !(reads_only || is_confined || adds_inside),
        // Even a request that only reads contains text, and text can carry data out.
        sends: hints.reaches_out || !(has_no_network || reads_only && hints.stays_inside || adds_inside),
        destroys,
        time: LONGEST,
        ..ToolTraits::default()
    }
}

/// Whether the schema contains every field name of the arguments: other fields could carry any data.
fn are_known(args: &Value, schema: &Value) -> bool {
    match args {
        Value::Object(map) => {
            let known = |name: &String| schema["properties"].get(name);
            map.iter().all(|(name, value)| known(name).is_some_and(|schema| are_known(value, schema)))
        }
        Value::Array(list) => list.iter().all(|value| are_known(value, &schema["items"])),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        self.traits
    }

    fn output(&self) -> Option<&Value> {
        self.output.as_ref()
    }

    fn source(&self) -> ToolSource {
        ToolSource::Server(self.server.config().name.clone())
    }

    fn changes_unseen(&self) -> bool {
        !is_remote(self.server.config())
    }

    fn words_from(&self) -> Option<String> {
        self.is_strange.then(|| format!("{STRANGE_DEFINITIONS}{}", self.server.config().name))
    }

    fn prepare(&self, args: &Value, _: &Place) -> PreparedCall {
        let ToolTraits { class, outside, sends, destroys, .. } = self.traits;
        let (known_as, elsewhere) = (self.known_as.clone(), is_remote(self.server.config()));
        let adds = !self.is_strange && !destroys && are_known(args, &self.spec.parameters);
        let hosts = self.hosts();
        PreparedCall {
            class,
            outside,
            sends,
            destroys,
            adds,
            served: true,
            elsewhere,
            hosts,
            known_as,
            ..PreparedCall::default()
        }
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(self.make(args, cx))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::{LoginConfig, RemoteTransport, ServerGrants, ServerTimeouts};

    fn config(link: TransportConfig, network: Network) -> ServerConfig {
        ServerConfig {
            name: "s".into(),
            enabled: true,
            link,
            patience: ServerTimeouts::default(),
            tools: None,
            except: Vec::new(),
            trusts_hints: false,
            grants: ServerGrants { network, ..ServerGrants::default() },
            login: LoginConfig::default(),
            sampling: None,
            revision: None,
            fingerprint: String::new(),
            of_workspace: false,
            shown: String::new(),
            filled: BTreeMap::new(),
            unused: Vec::new(),
        }
    }

    fn process(network: Network) -> ServerConfig {
        let link = TransportConfig::Stdio { command: "x".into(), args: Vec::new(), env: BTreeMap::new(), cwd: None };
        config(link, network)
    }

    fn granted(network: Network) -> ServerConfig {
        let mut config = process(network);
        config.grants.write.push("/srv/data".into());
        config
    }

    fn remote() -> ServerConfig {
        let url = "http://x.example/".parse().unwrap();
        config(TransportConfig::Remote { url, headers: BTreeMap::new(), form: RemoteTransport::Http }, Network::None)
    }

    const KIND: ToolHints = ToolHints {
        reads_only: true,
        idempotent: true,
        destroys: false,
        stays_inside: true,
        adds: false,
        reaches_out: false,
    };

    #[test]
    fn hints_of_a_server_that_is_not_trusted_change_nothing_but_for_the_worse() {
        for config in [remote(), process(Network::Host), granted(Network::None)] {
            for hints in [KIND, ToolHints::default(), ToolHints { adds: true, ..ToolHints::default() }] {
                let ToolTraits { class, outside, destroys, .. } = traits(&config, hints, false);
                assert_eq!((class, outside, destroys), (EffectClass::Opaque, true, true));
            }
        }
        assert!(traits(&remote(), KIND, false).sends && traits(&process(Network::Host), KIND, false).sends);
    }

    #[test]
    fn hints_of_a_trusted_server_count() {
        let ToolTraits { class, outside, sends, destroys, .. } = traits(&remote(), KIND, true);
        assert_eq!((class, outside, sends, destroys), (EffectClass::Pure, false, false, false));
        let open = traits(&remote(), ToolHints { stays_inside: false, ..KIND }, true);
        assert_eq!((open.outside, open.sends), (false, true));
        let changes = traits(&remote(), ToolHints { reads_only: false, ..KIND }, true);
        assert_eq!(
            (changes.class, changes.destroys),
            (EffectClass::Idempotent, true),
            "what does not say that it adds destroys"
        );
        assert!(!traits(&remote(), ToolHints { adds: true, ..ToolHints::default() }, true).destroys);
    }

    #[test]
    fn an_addition_that_stays_inside_a_believed_server_neither_sends_nor_leaves() {
        let inside = ToolHints { adds: true, stays_inside: true, ..ToolHints::default() };
        let weighed = |hints, believed| {
            let ToolTraits { class, outside, sends, destroys, .. } = traits(&remote(), hints, believed);
            assert_eq!(class, EffectClass::Opaque, "it may not be made twice");
            (outside, sends, destroys)
        };
        assert_eq!(weighed(inside, true), (false, false, false));
        assert_eq!(weighed(inside, false), (true, true, true));
        assert_eq!(weighed(ToolHints { stays_inside: false, ..inside }, true), (true, true, false));
        assert_eq!(weighed(ToolHints { adds: false, ..inside }, true), (true, true, true));
    }

    #[test]
    fn a_process_without_network_stays_inside_and_may_still_not_be_repeated() {
        let weighed = |hints, believed| {
            let ToolTraits { class, outside, sends, destroys, .. } = traits(&process(Network::None), hints, believed);
            assert!(class == EffectClass::Opaque && !outside);
            (sends, destroys)
        };
        let reads = ToolHints { reads_only: true, ..ToolHints::default() };
        assert_eq!(weighed(reads, false), (false, false));
        let says_nothing = ToolHints::default();
        assert_eq!(weighed(says_nothing, false), (false, true), "a tool without hints destroys, says the protocol");
        assert_eq!(weighed(says_nothing, true), (false, true));
        let adds = ToolHints { adds: true, ..ToolHints::default() };
        assert_eq!((weighed(adds, false), weighed(adds, true)), ((false, true), (false, false)));
        for believed in [false, true] {
            assert!(
                weighed(ToolHints { reaches_out: true, ..adds }, believed).0,
                "what says that it reaches out is believed"
            );
        }
    }

    #[test]
    fn names_that_the_schema_does_not_have_are_seen() {
        let schema =
            serde_json::json!({"properties": {"to": {"type": "array", "items": {"properties": {"name": {}}}}}});
        assert!(are_known(&serde_json::json!({"to": [{"name": "x"}, "y"]}), &schema));
        assert!(!are_known(&serde_json::json!({"to": [], "sk_live": ""}), &schema));
        assert!(!are_known(&serde_json::json!({"to": [{"sk_live": "x"}]}), &schema));
    }
}
