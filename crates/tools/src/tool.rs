//! The trait of a tool, and the context that a call gets.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use updraft_run::{
    BlobRef, EffectClass, EffectFacts, Failure, Inquiry, PreparedCall, ReadRules, RecoveryOutcome, Reply, RowOfEdits,
    ToolCall, ToolSpec, TraceParent,
};
use updraft_workspace::{Place, hash};

/// A call in progress, which resolves to a reply.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = Reply> + Send + 'a>>;

/// A tool that an agent can use.
pub trait Tool: Send + Sync {
    /// The description that the model gets. Always the same for the same tool.
    fn spec(&self) -> &ToolSpec;

    /// The tool's properties: effects, group, time limit.
    fn traits(&self) -> ToolTraits;

    /// JSON Schema of the data in its output ([`updraft_run::ToolOutput::value`]), if it declares one.
    fn output(&self) -> Option<&Value> {
        None
    }

    /// Where the tool comes from.
    fn source(&self) -> ToolSource {
        ToolSource::BuiltIn
    }

    /// Most bytes of its text, if it limits its output itself. In any other, long lines are cut, and the middle if it is long.
    fn output_limit(&self) -> Option<usize> {
        None
    }

    /// Whether it may change files of the workspace that its output does not list. Not called for a tool that only
    /// reads.
    fn changes_unseen(&self) -> bool {
        false
    }

    /// The source of its definition's text, if that is outside: an agent that may use the tool has read that text.
    fn words_from(&self) -> Option<String> {
        None
    }

    /// If this tool only passes calls on: the tool name and arguments of the call that is really meant. That call is
    /// looked up, checked, authorized and made as if the model had made it directly.
    fn passes_on(&self, args: &Value) -> Option<(String, Value)> {
        let _ = args;
        None
    }

    /// If the arguments do not fit the schema, but are another known way to ask for the same: the tool name and
    /// arguments that are meant. Models use the names that they were trained with.
    fn otherwise(&self, args: &Value) -> Option<(String, Value)> {
        let _ = args;
        None
    }

    /// What the call would touch. Has no effects; the arguments fit the schema.
    fn prepare(&self, args: &Value, place: &Place) -> PreparedCall {
        let _ = (args, place);
        let ToolTraits { class, outside, sends, destroys, .. } = self.traits();
        // A tool that is not built in may read anything in the workspace, unless it says otherwise.
        let reads = if self.source() == ToolSource::BuiltIn { Vec::new() } else { vec![".".into()] };
        PreparedCall { class, outside, sends, destroys, reads, ..PreparedCall::default() }
    }

    /// Facts that are known only just before the call: for file writes, the hashes before and after. Reads files,
    /// changes nothing.
    fn facts(&self, args: &Value, place: &Place) -> EffectFacts {
        let _ = (args, place);
        EffectFacts::default()
    }

    /// Contents that the call is about to replace, stored before it starts so that they can be restored in any case.
    /// Reads files, changes nothing.
    fn previous_contents(&self, args: &Value, place: &Place) -> Vec<Vec<u8>> {
        let _ = (args, place);
        Vec::new()
    }

    /// Makes the call. The arguments fit the schema.
    ///
    /// If [`ToolTraits::blocking`] is false, the future is dropped when the call is stopped, so it must hold nothing
    /// that outlives it. If it is true, the call has its own thread and must watch [`CallContext::cancel`] if it may
    /// take long.
    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a>;

    /// Releases what the tool holds for a run that is over, or for all runs.
    fn release<'a>(&'a self, run: Option<&'a str>) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        let _ = run;
        Box::pin(std::future::ready(()))
    }

    /// The tool whose results it is needed for: agents that request that one by name get both.
    fn comes_with(&self) -> Option<&str> {
        None
    }

    /// Ends what the tool keeps running for a step that is over.
    fn end_step<'a>(&'a self, run: &'a str, step: &'a str) -> ReleaseFuture<'a> {
        let _ = (run, step);
        Box::pin(std::future::ready(()))
    }

    /// The background commands of a step that the tool keeps running.
    fn running(&self, run: &str, step: &str) -> Vec<String> {
        let _ = (run, step);
        Vec::new()
    }

    /// Finds out after a crash whether the call happened, and completes what was cut off halfway. Only called for tools
    /// of [`EffectClass::Checkable`].
    fn reconcile(&self, args: &Value, facts: &EffectFacts, place: &Place) -> RecoveryOutcome {
        let _ = (args, facts, place);
        RecoveryOutcome::CannotTell(format!("`{}` leaves nothing to check", self.spec().name))
    }
}

/// Something that is ended, which takes a moment.
pub type ReleaseFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// The properties of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolTraits {
    /// Whether a call that was interrupted may be made again.
    pub class: EffectClass,
    /// The group name by which agents can request it together with similar tools: `files`, `bench`.
    pub group: &'static str,
    /// Whether it must be requested by its own name: requesting its group does not include it.
    pub only_by_name: bool,
    /// Whether models are not told of it unless their agent's file names it: a tool for scripts, or a part of another.
    pub untold: bool,
    /// Whether it reaches beyond workspace and sandbox, and so needs approval.
    pub outside: bool,
    /// Whether it can send data off this machine: its arguments, or what it finds.
    pub sends: bool,
    /// Whether its effects cannot be undone by us.
    pub destroys: bool,
    /// How long a call may take.
    pub time: Duration,
    /// Whether it blocks its thread, so that it must be called on its own thread.
    pub blocking: bool,
}

impl Default for ToolTraits {
    /// The traits of a tool about which nothing is known, except that it does not reach outside.
    fn default() -> Self {
        Self {
            class: EffectClass::Opaque,
            group: "",
            only_by_name: false,
            untold: false,
            outside: false,
            sends: false,
            destroys: false,
            time: Duration::from_secs(30),
            blocking: false,
        }
    }
}

/// Where a tool comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolSource {
    /// It is built in.
    BuiltIn,
    /// It was dropped into a folder: the path of its file.
    File(String),
    /// An MCP server provides it: the server's name.
    Server(String),
}

impl ToolSource {
    /// Whether it comes from somewhere else than this program.
    pub fn is_foreign(&self) -> bool {
        match self {
            ToolSource::BuiltIn => false,
            ToolSource::File(_) | ToolSource::Server(_) => true,
        }
    }
}

impl fmt::Display for ToolSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToolSource::BuiltIn => f.write_str("built in"),
            ToolSource::File(file) => f.write_str(file),
            ToolSource::Server(name) => write!(f, "MCP server {name}"),
        }
    }
}

/// The context of a call, in addition to its arguments. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// The workspace it works in.
    pub place: Place,
    /// Cancelled when the call must stop: it was cancelled, or its time is over.
    pub cancel: CancellationToken,
    /// The idempotency key for external services: the same for every attempt at this call, and different for every
    /// other call.
    pub key: String,
    /// Receives progress messages.
    pub log: CallLog,
    /// Receives the lines that a program prints while it runs.
    pub output: CallLog,
    /// The run that it belongs to.
    pub around: RunContext,
    transient: Arc<AtomicBool>,
    kept: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl CallContext {
    /// A context that is never cancelled and whose log goes nowhere. Set the fields to change that.
    pub fn new(place: Place, key: impl Into<String>) -> Self {
        Self {
            place,
            cancel: CancellationToken::new(),
            key: key.into(),
            log: CallLog::default(),
            output: CallLog::default(),
            around: RunContext::default(),
            transient: Arc::default(),
            kept: Arc::default(),
        }
    }

    /// Takes bytes that the reply refers to, for the owner of the journal to store.
    pub fn keep(&self, bytes: Vec<u8>) -> BlobRef {
        let named = BlobRef { hash: hash(&bytes), len: bytes.len() as u64 };
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
        named
    }

    /// The bytes taken so far.
    pub(crate) fn kept(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reports a transient failure (a refused connection, a busy server): a repeatable call is retried.
    pub fn transient(&self, failure: Failure) -> Reply {
        self.transient.store(true, Ordering::Relaxed);
        Reply::Failed(failure)
    }

    /// A context for one attempt, with its own cancellation below the caller's, and not marked as transient.
    pub(crate) fn attempt(&self) -> Self {
        Self { cancel: self.cancel.child_token(), transient: Arc::default(), ..self.clone() }
    }

    pub(crate) fn is_transient(&self) -> bool {
        self.transient.load(Ordering::Relaxed)
    }
}

/// Reads what a step's earlier turns said: where each was, and its text.
pub type ReadEarlierTurns = dyn Fn() -> Vec<(String, String)> + Send + Sync;

/// Reads the whole output of an earlier call of a step: `@out/3` has the number 3.
pub type ReadOutput = dyn Fn(u32) -> Option<String> + Send + Sync;

/// The run that a call belongs to, as far as a tool may know it. Cheap to clone; empty for a call outside a run.
#[derive(Clone, Default)]
pub struct RunContext {
    /// The run's id.
    pub run: String,
    /// The step's id.
    pub step: String,
    /// The step's agent.
    pub agent: String,
    /// The shared variables that the step got.
    pub variables: Arc<Vec<(String, Arc<Value>)>>,
    /// Builds the documented context: intent, workspace, history, memory.
    pub context: Option<Arc<dyn Fn() -> Value + Send + Sync>>,
    /// Which files the agent may not read.
    pub read_rules: Arc<ReadRules>,
    /// The tools that the agent may use.
    pub tools: Arc<[ToolSpec]>,
    /// Makes calls on behalf of code: each is checked, allowed or refused, and recorded like a call of the agent.
    pub caller: Option<Arc<dyn Caller>>,
    /// The files that this edit and those right before it in its turn have edited.
    pub edits: RowOfEdits,
    /// Code made the call: its results are not shown to a model.
    pub by_code: bool,
    /// Whether the call was judged as reaching outside ([`PreparedCall::outside`]) and was allowed. If it was not
    /// judged so, but other calls have made it reach outside since, it is refused.
    pub reaches_outside: bool,
    /// Where text from outside came from that could be in the arguments; empty if they are the user's own words.
    pub origins: Vec<String>,
    /// The place of the call in a trace, for servers to continue.
    pub trace: Option<TraceParent>,
    /// Reads the step's turns that a summary has replaced.
    pub earlier: Option<Arc<ReadEarlierTurns>>,
    /// Reads the whole output of an earlier call of the step by its number.
    pub outputs: Option<Arc<ReadOutput>>,
    /// The handle that an earlier attempt at this call recorded to find its work again.
    pub handle: Option<String>,
}

impl fmt::Debug for RunContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunContext").field("run", &self.run).field("step", &self.step).finish_non_exhaustive()
    }
}

/// Makes calls that code requests while its own call is in progress.
pub trait Caller: Send + Sync {
    /// Makes one call. A refusal is a reply with a hint; no person is asked.
    fn call(&self, call: ToolCall) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>>;

    /// Whether a call may be made twice. Has no effects.
    fn class(&self, call: &ToolCall) -> EffectClass {
        let _ = call;
        EffectClass::Opaque
    }

    /// Asks a person a question on behalf of the called tool, and waits for the answer: `Said` with the answer as
    /// JSON, a `Verdict` that refuses, or any other reply if nobody answers.
    fn inquire(&self, inquiry: Inquiry) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        let _ = inquiry;
        Box::pin(std::future::ready(Reply::Cancelled))
    }

    /// Asks a model on behalf of the called tool, within the run's budget.
    fn consult(&self, consultation: Consultation) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        let _ = consultation;
        Box::pin(std::future::ready(Reply::Cancelled))
    }

    /// Records a handle to find the call's work again, in case our process ends: the next attempt gets this handle.
    /// An empty text removes it. Returns true once it is on disk.
    fn note(&self, handle: String) -> Pin<Box<dyn Future<Output = bool> + Send + '_>> {
        let _ = handle;
        Box::pin(std::future::ready(false))
    }
}

/// A question to a model on behalf of the called tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Consultation {
    /// Who asks, in words for a person.
    pub from: String,
    /// The model, if the user has set one for this; otherwise the agent's own.
    pub model: Option<String>,
    /// The system prompt.
    pub system: String,
    /// The conversation so far: `user` or `assistant`, and the text.
    pub messages: Vec<(String, String)>,
    /// The most tokens that the answer may have.
    pub max_tokens: u64,
}

/// Receives the progress messages of a tool. Lines may be lost: they are for live display, not for the journal.
#[derive(Clone, Default)]
pub struct CallLog(Option<Arc<LogListener>>);

type LogListener = dyn Fn(&str) + Send + Sync;

impl CallLog {
    /// Passes every line to `listener`, which must not block.
    pub fn to(listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    /// Reports one line.
    pub fn line(&self, text: &str) {
        if let Some(listener) = &self.0 {
            listener(text);
        }
    }
}

impl fmt::Debug for CallLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Log(..)" } else { "Log(none)" })
    }
}
