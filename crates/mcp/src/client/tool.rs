//! A server's tool as one of ours: its traits are the strictest that fit, and its results are a stranger's.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::JsonObject;
use serde_json::Value;
use updraft_run::{Class, Failure, FailureKind, Millis, Prepared, Reply, STRANGE_DEFINITIONS, ToolSpec};
use updraft_sandbox::Network;
use updraft_tools::{CallContext, Calling, Place, Source, Tool, Traits};

use super::asking::Asker;
use super::connection::Waiting;
use super::content;
use super::manifest::{Hints, Listed};
use super::rounds::Handle;
use super::server::Server;
use crate::config::{Link, ServerConfig};
use crate::error::Error;

/// The group that agents ask for servers' tools by.
pub(super) const GROUP: &str = "mcp";
/// The server's own limits are the ones that count; and a person whom it asks may take days.
const LONGEST: Duration = Duration::from_hours(24 * 365);

/// One tool of one server.
pub(super) struct ServerTool {
    server: Arc<Server>,
    own_name: String,
    spec: ToolSpec,
    output: Option<Value>,
    traits: Traits,
    /// The name that rules know it by, where another tool wants that too.
    known_as: Option<String>,
    /// Its definition is a stranger's words.
    is_strange: bool,
}

impl ServerTool {
    pub(super) fn new(server: Arc<Server>, name: &str, listed: &Listed) -> Self {
        let traits = traits(server.config(), listed.hints);
        let described = if listed.description.is_empty() { &listed.name } else { &listed.description };
        let spec = ToolSpec { name: name.to_owned(), description: described.clone(), parameters: listed.input.clone() };
        let (own_name, output) = (listed.name.clone(), listed.output.clone());
        Self { own_name, spec, output, traits, known_as: None, is_strange: true, server }
    }

    /// The name that it has where no other tool wants it.
    pub(super) fn known_as(mut self, plain: String) -> Self {
        self.known_as = Some(plain).filter(|plain| *plain != self.spec.name);
        self
    }

    /// Whether those who ask for the group get it.
    pub(super) fn shown(mut self, is_shown: bool) -> Self {
        self.traits.only_by_name = !is_shown;
        self
    }

    /// Whether its definition is a stranger's words.
    pub(super) fn strange(mut self, is_strange: bool) -> Self {
        self.is_strange = is_strange;
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
        let asker = around.caller.clone().map(|caller| Asker { run: around.run.clone(), caller });
        let found = around.handle.as_deref().and_then(Handle::read).into();
        let (cancel, log, run) = (&cx.cancel, cx.log.clone(), around.run.as_str());
        let waiting = Waiting { patience: config.patience, cancel, log, asker, found, run };
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

    /// An error as an agent is told it. What may have been done is in doubt, and says so.
    fn reply(&self, error: &Error, is_repeatable: bool, cx: &CallContext) -> Reply {
        let server = &self.server.config().name;
        let words = format!("MCP server `{server}`: {error}");
        match error {
            Error::Cancelled => Reply::Cancelled,
            Error::Silent(limit) if is_repeatable => Reply::TimedOut { limit: Millis(limit.as_millis() as u64) },
            Error::Lost(_) | Error::Abandoned(_) | Error::Silent(_) if !is_repeatable => Reply::InDoubt {
                evidence: format!("`{}` was called on {words}; it may or may not have been done", self.own_name),
            },
            Error::Unreachable(_) | Error::Resting { .. } | Error::Start(_) => {
                cx.transient(Failure::new(FailureKind::Tool, words))
            }
            // Here it was made again already as often as that helps.
            Error::Lost(_) | Error::Abandoned(_) | Error::Silent(_) => {
                Reply::Failed(Failure::new(FailureKind::Tool, words))
            }
            Error::Login(_) | Error::Unknown(_) => Reply::Failed(Failure::new(FailureKind::Config, words)),
            Error::Refused { .. } | Error::Visits { .. } | Error::Nonsense(_) => {
                Reply::Failed(Failure::new(FailureKind::Tool, words))
            }
        }
    }
}

/// The hosts that a request to a server reaches.
pub(super) fn hosts(config: &ServerConfig) -> Vec<String> {
    match &config.link {
        Link::Remote { url, .. } => url.host_str().map(str::to_owned).into_iter().collect(),
        Link::Stdio { .. } => Vec::new(),
    }
}

/// What is assumed about a tool. Hints make it stricter; they make it less strict only if the user trusts them.
pub(super) fn traits(config: &ServerConfig, hints: Hints) -> Traits {
    let believed = config.trusts_hints;
    let reads_only = believed && hints.reads_only;
    let class = match (reads_only, believed && hints.idempotent) {
        (true, _) => Class::Pure,
        (false, true) => Class::Idempotent,
        (false, false) => Class::Opaque,
    };
    let is_confined = matches!(config.link, Link::Stdio { .. }) && config.grants.network == Network::None;
    Traits {
        class,
        group: GROUP,
        // A process without network touches the workspace only, unless it was granted more.
        outside: !(reads_only || is_confined && config.grants.write.is_empty()),
        // What is read at a stranger's is asked for in words, and words can carry things out.
        sends: !(is_confined || reads_only && hints.stays_inside),
        destroys: hints.destroys,
        time: LONGEST,
        ..Traits::default()
    }
}

impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> Traits {
        self.traits
    }

    fn output(&self) -> Option<&Value> {
        self.output.as_ref()
    }

    fn source(&self) -> Source {
        Source::Server(self.server.config().name.clone())
    }

    fn changes_unseen(&self) -> bool {
        matches!(self.server.config().link, Link::Stdio { .. })
    }

    fn words_from(&self) -> Option<String> {
        self.is_strange.then(|| format!("{STRANGE_DEFINITIONS}{}", self.server.config().name))
    }

    fn prepare(&self, _: &Value, _: &Place) -> Prepared {
        let Traits { class, outside, sends, destroys, .. } = self.traits;
        let known_as = self.known_as.clone();
        Prepared { class, outside, sends, destroys, hosts: self.hosts(), known_as, ..Prepared::default() }
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> Calling<'a> {
        Box::pin(self.make(args, cx))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::{Form, Grants, Login, Patience};

    fn config(link: Link, trusts_hints: bool, network: Network) -> ServerConfig {
        ServerConfig {
            name: "s".into(),
            enabled: true,
            link,
            patience: Patience::default(),
            tools: None,
            except: Vec::new(),
            trusts_hints,
            grants: Grants { network, ..Grants::default() },
            login: Login::default(),
            sampling: None,
            fingerprint: String::new(),
            of_workspace: false,
            shown: String::new(),
            filled: BTreeMap::new(),
            unused: Vec::new(),
        }
    }

    fn process(trusts_hints: bool, network: Network) -> ServerConfig {
        let link = Link::Stdio { command: "x".into(), args: Vec::new(), env: BTreeMap::new(), cwd: None };
        config(link, trusts_hints, network)
    }

    fn remote(trusts_hints: bool) -> ServerConfig {
        let url = "http://x.example/".parse().unwrap();
        config(Link::Remote { url, headers: BTreeMap::new(), form: Form::Http }, trusts_hints, Network::None)
    }

    const KIND: Hints = Hints { reads_only: true, idempotent: true, destroys: false, stays_inside: true };

    #[test]
    fn hints_of_a_server_that_is_not_trusted_change_nothing_but_for_the_worse() {
        for config in [remote(false), process(false, Network::Host)] {
            let Traits { class, outside, sends, destroys, .. } = traits(&config, KIND);
            assert_eq!((class, outside, sends, destroys), (Class::Opaque, true, true, false));
        }
        assert!(traits(&remote(false), Hints { destroys: true, ..KIND }).destroys);
    }

    #[test]
    fn hints_of_a_trusted_server_count() {
        let Traits { class, outside, sends, .. } = traits(&remote(true), KIND);
        assert_eq!((class, outside, sends), (Class::Pure, false, false));
        let open = traits(&remote(true), Hints { stays_inside: false, ..KIND });
        assert_eq!((open.outside, open.sends), (false, true));
        assert_eq!(traits(&remote(true), Hints { reads_only: false, ..KIND }).class, Class::Idempotent);
    }

    #[test]
    fn a_process_without_network_stays_inside_and_may_still_not_be_repeated() {
        let Traits { class, outside, sends, .. } = traits(&process(false, Network::None), Hints::default());
        assert_eq!((class, outside, sends), (Class::Opaque, false, false));
    }
}
