//! Turns one tool call of a model into a reply. Never waits for a person: the run decides whether a call is allowed.

mod attempt;
mod edit_checks;
mod tool_search;

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;
use tracing::debug;
use updraft_run::{
    BlobRef, CALL_TOOL, CallOrder, EffectClass, EffectFacts, Failure, FailureKind, PreparedCall, RecoveryOutcome,
    Reply, ToolCall, ToolOutput,
};
use updraft_workspace::Place;

use crate::change_tracker::ChangeWitness;
use crate::guardrails::GuardPoint;
use crate::hooks::{self, Hook, HookEvent};
use crate::limits::ToolLimits;
use crate::offer::SEARCH_TOOLS;
use crate::registry::{Registry, RegistryEntry};
use crate::shell;
use crate::tool::{CallContext, Tool, ToolSource};
use crate::truncate;
pub(crate) use edit_checks::EditCheck;

/// Most bytes of a failure's message, which a model reads.
const MESSAGE: usize = 8 << 10;
/// Most bytes of an output that code gets.
pub(crate) const MAX_CODE_OUTPUT_BYTES: usize = 128 << 10;

/// Finds tools, checks arguments, and makes calls. Cheap to clone.
#[derive(Clone)]
pub struct Dispatcher {
    /// Shared by all clones, so that all of them have the same tools.
    snapshot: Arc<RwLock<RegistrySnapshot>>,
    limits: ToolLimits,
    witness: ChangeWitness,
}

/// The set of tools at one moment.
#[derive(Clone)]
pub struct RegistrySnapshot {
    /// The tools.
    pub registry: Arc<Registry>,
    /// How often the set has been replaced.
    pub version: u64,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// The reply for the run.
    pub reply: Reply,
    /// The whole text of an output that was cut. `ToolOutput::whole` already refers to it; the owner of the journal
    /// stores it.
    pub overflow: Option<Vec<u8>>,
    /// Other blobs that the reply refers to and that must be stored too: pictures, contents before a change, diffs.
    pub kept: Vec<Vec<u8>>,
}

impl CallResult {
    /// A reply with nothing to store.
    pub fn of(reply: Reply) -> Self {
        Self { reply, overflow: None, kept: Vec::new() }
    }
}

impl Dispatcher {
    /// Creates a dispatcher for these tools.
    pub fn new(registry: Registry, limits: ToolLimits) -> Self {
        let snapshot = RegistrySnapshot { registry: Arc::new(registry), version: 0 };
        Self { snapshot: Arc::new(RwLock::new(snapshot)), limits, witness: ChangeWitness::default() }
    }

    /// Sets the witness that records what tools change by themselves. Share one among all dispatchers of a process:
    /// it then sees the most.
    #[must_use]
    pub fn with_witness(self, witness: ChangeWitness) -> Self {
        Self { witness, ..self }
    }

    /// The current tools.
    pub fn registry(&self) -> Arc<Registry> {
        self.snapshot().registry
    }

    /// The current tools, and how often they were replaced.
    pub fn snapshot(&self) -> RegistrySnapshot {
        self.snapshot.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the tools, for all clones. Calls that have begun finish with the tool they started with.
    pub fn replace(&self, registry: Registry) {
        let mut snapshot = self.snapshot.write().unwrap_or_else(PoisonError::into_inner);
        *snapshot = RegistrySnapshot { registry: Arc::new(registry), version: snapshot.version + 1 };
    }

    /// What a call would touch, or why it cannot be made. Has no effects.
    pub fn prepare(&self, call: &ToolCall, place: &Place) -> PreparedCall {
        let prepared = self.find(call).and_then(|(entry, args)| {
            let prepared = caught(&call.name, || entry.tool.prepare(&args, place)).map_err(|failure| failure.0)?;
            let name = &entry.tool.spec().name;
            let passed_on_to = (*name != call.name).then(|| name.clone());
            Ok(PreparedCall { passed_on_to, order: order_of(&entry, &args, &prepared), ..prepared })
        });
        prepared.unwrap_or_else(|fault| PreparedCall { fault: Some(fault), ..PreparedCall::default() })
    }

    /// Facts that are known only just before the call. Reads files, changes nothing. May be dropped at any time.
    pub async fn facts(&self, call: &ToolCall, place: &Place) -> EffectFacts {
        let Ok((entry, args)) = self.find(call) else { return EffectFacts::default() };
        if entry.tool.traits().class.is_repeatable() {
            return EffectFacts::default();
        }
        let looked = look(&entry, args, place, |tool, args, place| tool.facts(args, place)).await;
        looked.unwrap_or_default()
    }

    /// Contents that the call is about to replace, to be stored before it starts. Reads files, changes nothing.
    pub async fn previous_contents(&self, call: &ToolCall, place: &Place) -> Vec<Vec<u8>> {
        let Ok((entry, args)) = self.find(call) else { return Vec::new() };
        if entry.tool.traits().class != EffectClass::Checkable {
            return Vec::new();
        }
        look(&entry, args, place, |tool, args, place| tool.previous_contents(args, place)).await.unwrap_or_default()
    }

    /// Makes the call. Failure, timeout and cancellation are replies.
    ///
    /// The future may be dropped if the tool does not block. A blocking tool is told to stop but continues on its own
    /// thread, and its result is lost. To stop a call, cancel it through the context and wait.
    pub async fn call(&self, call: &ToolCall, cx: &CallContext) -> CallResult {
        let (entry, args) = match self.find(call) {
            Ok((entry, args)) => (entry, args.into_owned()),
            Err(fault) => return self.truncate_reply(Reply::Failed(fault)),
        };
        if goes_by_name(&entry)
            && let Some(why) = cx.place.workspace.displaced()
        {
            return self.truncate_reply(Reply::Failed(why));
        }
        let registry = self.registry();
        // Guardrails and hooks are told what is really done: the tool that a call is passed on to, and the arguments it gets.
        let meant = (!is_of_run(&entry) && has_checks_of_calls(&registry)).then(|| {
            let name = entry.tool.spec().name.clone();
            ToolCall { name, args: args.clone(), ..call.clone() }
        });
        if let Some(meant) = &meant {
            let refused = tokio::select! {
                biased;
                () = cx.cancel.cancelled() => return CallResult::of(Reply::Cancelled),
                refused = registry.guardrails().before_call(meant, &call.name, cx) => refused,
            };
            if let Some(why) = refused {
                return self.truncate_reply(Reply::Failed(why));
            }
        }
        let watch = match may_change_workspace(&entry) {
            Some(is_unseen) => Some(self.witness.watch(is_unseen, cx).await),
            None => None,
        };
        let made = if entry.tool.spec().name == SEARCH_TOOLS {
            let query = args["query"].as_str().unwrap_or_default();
            Reply::Output(Arc::new(tool_search::search(&registry, &cx.around.tools, query)))
        } else {
            self.call_with_retries(&entry, args, cx).await
        };
        let mut reply = check_output_schema(&entry, made);
        if let Some(watch) = watch {
            reply = watch.end(reply, cx).await;
        }
        let (most, cut): (usize, CutOutput) = match entry.tool.output_limit() {
            _ if cx.around.by_code => (MAX_CODE_OUTPUT_BYTES, truncate::head_and_tail),
            Some(own) => (own, truncate::head_and_tail),
            None => (self.limits.output, truncate::for_model),
        };
        let fitted = fitted(from_outside(&entry, reply), most, cut, self.limits.value);
        let called = CallResult { kept: cx.kept(), ..fitted };
        debug!(tool = call.name, cut = called.overflow.is_some(), "tool replied");
        let called = self.with_checks(called, registry.checks(), cx).await;
        if let Some(meant) = &meant {
            let told = Box::pin(hooks::after_call(registry.hooks(), meant, &call.name, &called.reply, cx));
            tokio::select! {
                () = told => {}
                // What the call did is recorded, whatever a hook still does.
                () = cx.cancel.cancelled() => {}
            }
        }
        called
    }

    /// Releases what tools hold for a run that is over, or for all runs.
    pub async fn release(&self, run: Option<&str>) {
        for tool in self.registry().iter() {
            tool.release(run).await;
        }
    }

    /// Ends what tools keep running for a step that is over.
    pub async fn end_step(&self, run: &str, step: &str) {
        for tool in self.registry().iter() {
            tool.end_step(run, step).await;
        }
    }

    /// The background commands of a step that run in this process.
    pub fn running(&self, run: &str, step: &str) -> Vec<String> {
        self.registry().iter().flat_map(|tool| tool.running(run, step)).collect()
    }

    /// Finds out after a crash whether the call happened. A change of several files that was cut off halfway is completed.
    pub async fn reconcile(&self, call: &ToolCall, facts: &EffectFacts, place: &Place) -> RecoveryOutcome {
        let (entry, args) = match self.find(call) {
            Ok(found) => found,
            Err(fault) => return RecoveryOutcome::CannotTell(fault.message),
        };
        if entry.tool.traits().class != EffectClass::Checkable {
            return RecoveryOutcome::CannotTell(format!("`{}` leaves nothing to check", call.name));
        }
        let facts = facts.clone();
        let looked = look(&entry, args, place, move |tool, args, place| tool.reconcile(args, &facts, place)).await;
        match looked {
            Ok(RecoveryOutcome::Happened(reply)) => RecoveryOutcome::Happened(self.truncate_reply(reply).reply),
            Ok(other) => other,
            Err(failure) => RecoveryOutcome::CannotTell(failure.message),
        }
    }

    /// The tool that the call names and the normalized arguments, or why the call cannot be made.
    fn find<'a>(&self, call: &'a ToolCall) -> Result<(RegistryEntry, Cow<'a, Value>), Failure> {
        let registry = self.registry();
        let entry = named(&registry, &call.name)?;
        if let Some(fault) = &call.fault {
            return invalid(format!("the arguments of `{}` could not be read: {fault}", call.name));
        }
        let args = accepted(&entry, &call.args);
        let meant = match &args {
            Ok(args) => entry.tool.passes_on(args),
            Err(_) => entry.tool.otherwise(&call.args),
        };
        let Some((name, own)) = meant else { return Ok((entry, args?)) };
        let is_found = entry.tool.spec().name == CALL_TOOL;
        let meant = named(&registry, registry.full_name(&name).filter(|_| is_found).unwrap_or(&name))?;
        if is_found && !meant.tool.source().is_foreign() {
            return invalid(format!("`{name}` is called by its own name"));
        }
        let own = accepted(&meant, &own)?.into_owned();
        Ok((meant, Cow::Owned(own)))
    }

    /// Makes the call, and retries it as long as that is safe and may help.
    async fn call_with_retries(&self, entry: &RegistryEntry, args: Value, cx: &CallContext) -> Reply {
        let retries = if entry.tool.traits().class.is_repeatable() { self.limits.retries } else { 0 };
        let mut wait = self.limits.backoff;
        for _ in 0..retries {
            let attempt = cx.attempt();
            let reply = attempt::make(&entry.tool, args.clone(), &attempt, self.limits.grace).await;
            if !(matches!(reply, Reply::Failed(_)) && attempt.is_transient()) {
                return reply;
            }
            tokio::select! {
                () = cx.cancel.cancelled() => return Reply::Cancelled,
                () = tokio::time::sleep(wait) => wait *= 2,
            }
        }
        attempt::make(&entry.tool, args, &cx.attempt(), self.limits.grace).await
    }

    /// Cuts parts of the reply that are too long to be shown or stored.
    fn truncate_reply(&self, reply: Reply) -> CallResult {
        fitted(reply, self.limits.output, truncate::for_model, self.limits.value)
    }
}

/// Cuts an output to so many bytes; `None` if it fits.
type CutOutput = fn(&str, usize) -> Option<String>;

/// The reply with an output of at most so many bytes, and with data of at most so many.
fn fitted(reply: Reply, most: usize, cut: CutOutput, most_data: usize) -> CallResult {
    match reply {
        Reply::Output(output) => fit_output(output, most, cut, most_data),
        Reply::Failed(failure) => {
            let message = cut_message(failure.message);
            CallResult::of(Reply::Failed(Failure { message, ..failure }))
        }
        other => CallResult::of(other),
    }
}

fn fit_output(mut output: Arc<ToolOutput>, most: usize, cut: CutOutput, most_data: usize) -> CallResult {
    let mut overflow = None;
    if let Some(cut) = cut(&output.text, most) {
        let output = Arc::make_mut(&mut output);
        let bytes = std::mem::replace(&mut output.text, cut).into_bytes();
        output.whole = Some(BlobRef { hash: updraft_workspace::hash(&bytes), len: bytes.len() as u64 });
        overflow = Some(bytes);
    }
    if output.value.as_ref().is_some_and(|value| !fits(value, most_data)) {
        Arc::make_mut(&mut output).value = None;
    }
    CallResult { overflow, ..CallResult::of(Reply::Output(output)) }
}

/// Whether a call starts a program, which finds the workspace by its path. Our own file tools hold the workspace open
/// instead.
fn goes_by_name(entry: &RegistryEntry) -> bool {
    entry.tool.traits().group == "sandbox" || matches!(entry.tool.source(), ToolSource::File(_))
}

/// Whether a guardrail or a hook wants to know about calls.
fn has_checks_of_calls(registry: &Registry) -> bool {
    let is_told = |hook: &Hook| hook.event == HookEvent::AfterCall;
    registry.guardrails().stand_at(GuardPoint::Call) || registry.hooks().iter().any(is_told)
}

/// Whether the run itself calls this tool, to check its own work.
fn is_of_run(entry: &RegistryEntry) -> bool {
    entry.tool.traits().group == "proof"
}

/// Whether a call may change the workspace, and if so, whether it may change files that its output does not list.
fn may_change_workspace(entry: &RegistryEntry) -> Option<bool> {
    let (is_unseen, is_pure) = (entry.tool.changes_unseen(), entry.tool.traits().class == EffectClass::Pure);
    let is_elsewhere = !is_unseen && matches!(entry.tool.source(), ToolSource::Server(_));
    (!is_pure && !is_elsewhere).then_some(is_unseen)
}

/// Which other calls of its turn a call may be made at once with.
fn order_of(entry: &RegistryEntry, args: &Value, prepared: &PreparedCall) -> CallOrder {
    // What goes on after the call is begun in the order of the calls.
    let starts = args["background"] == Value::Bool(true);
    let writes_here = prepared.changes() && !prepared.elsewhere && prepared.model.is_none();
    match entry.tool.source() {
        _ if !writes_here || (shell::only_reads(&prepared.parts) && !starts) => CallOrder::Reads,
        ToolSource::BuiltIn => CallOrder::Alone,
        ToolSource::File(_) | ToolSource::Server(_) => CallOrder::Serves,
    }
}

/// Finds a tool by name.
fn named(registry: &Registry, name: &str) -> Result<RegistryEntry, Failure> {
    if let Some(entry) = registry.entry(name) {
        return Ok(entry.clone());
    }
    let close = registry.close_names(name);
    let close: Vec<String> = close.iter().map(|name| format!("`{name}`")).collect();
    let hint = if close.is_empty() { String::new() } else { format!("; did you mean {}?", close.join(" or ")) };
    invalid(format!("there is no tool named `{}`{hint}", truncate::line(name, 64)))
}

/// The arguments in the form that the tool expects.
fn accepted<'a>(entry: &RegistryEntry, args: &'a Value) -> Result<Cow<'a, Value>, Failure> {
    entry.schema.accept(args).or_else(|mismatch| {
        invalid(format!("the arguments of `{}` do not fit its schema: {mismatch}", entry.tool.spec().name))
    })
}

fn invalid<T>(message: String) -> Result<T, Failure> {
    Err(Failure::new(FailureKind::Validation, cut_message(message)))
}

/// Returns the reply if its data fits the tool's output schema. Otherwise returns a failure that says what is wrong,
/// without the data.
fn check_output_schema(entry: &RegistryEntry, reply: Reply) -> Reply {
    let (Some(schema), Reply::Output(output)) = (&entry.output, &reply) else { return reply };
    if output.is_error {
        return reply;
    }
    let name = &entry.tool.spec().name;
    // No data counts as `null`, which the schema may allow.
    let why = match (schema.judge(output.value.as_ref().unwrap_or(&Value::Null)), &output.value) {
        (Ok(()), _) => return reply,
        (Err(_), None) => format!("`{name}` has an output schema, but returned no data"),
        (Err(mismatch), Some(_)) => format!("the result of `{name}` does not fit its own output schema: {mismatch}"),
    };
    if output.changes.is_empty() {
        return Reply::Failed(Failure::new(FailureKind::Validation, why));
    }
    // The changes happened, even though the data is rejected.
    let ToolOutput { changes, all_changes, diff, hosts, unlisted, more, .. } = ToolOutput::clone(output);
    let told = ToolOutput { text: why, is_error: true, changes, all_changes, diff, hosts, ..ToolOutput::default() };
    let told = ToolOutput { unlisted, more, ..told };
    Reply::Output(Arc::new(told))
}

/// Marks everything that a server says as coming from outside, including its failures.
fn from_outside(entry: &RegistryEntry, reply: Reply) -> Reply {
    let source = entry.tool.source();
    if !matches!(source, ToolSource::Server(_)) {
        return reply;
    }
    let mut output = match reply {
        Reply::Output(output) => Arc::unwrap_or_clone(output),
        Reply::Failed(Failure { kind: FailureKind::Tool | FailureKind::Validation, message, .. }) => {
            ToolOutput { text: message, is_error: true, ..ToolOutput::default() }
        }
        other => return other,
    };
    output.untrusted = true;
    if output.origins.is_empty() {
        output.origins.push(source.to_string());
    }
    Reply::Output(Arc::new(output))
}

/// Lets a tool examine a call, on its own thread if the tool blocks.
async fn look<T: Send + 'static>(
    entry: &RegistryEntry,
    args: Cow<'_, Value>,
    place: &Place,
    looking: impl FnOnce(&dyn Tool, &Value, &Place) -> T + Send + 'static,
) -> Result<T, Failure> {
    let name = entry.tool.spec().name.clone();
    if !entry.tool.traits().blocking {
        return caught(&name, || looking(entry.tool.as_ref(), &args, place)).map_err(|failure| failure.0);
    }
    let (tool, args, place) = (Arc::clone(&entry.tool), args.into_owned(), place.clone());
    let thread = tokio::task::spawn_blocking(move || looking(tool.as_ref(), &args, &place));
    thread.await.map_err(|_| ToolPanic::of(&name).0)
}

/// A tool that panicked, as a failure of that tool.
struct ToolPanic(Failure);

impl ToolPanic {
    fn of(tool: &str) -> Self {
        Self(Failure::new(FailureKind::Tool, format!("`{tool}` crashed; the fault is in the tool, not in the call")))
    }
}

fn caught<T>(tool: &str, work: impl FnOnce() -> T) -> Result<T, ToolPanic> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| ToolPanic::of(tool))
}

fn cut_message(message: String) -> String {
    truncate::head_and_tail(&message, MESSAGE).unwrap_or(message)
}

/// Whether a value takes at most `limit` bytes as JSON.
fn fits(value: &Value, limit: usize) -> bool {
    struct SizeLimitWriter(usize);
    impl std::io::Write for SizeLimitWriter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    serde_json::to_writer(SizeLimitWriter(limit), value).is_ok()
}
