//! What a tool is, and what a call of it is given.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use updraft_run::{
    BlobRef, EffectClass, EffectFacts, Failure, Inquiry, PreparedCall, RecoveryOutcome, Reply, ToolCall, ToolSpec,
};
use updraft_workspace::{Place, hash};

/// A call on its way to a reply.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = Reply> + Send + 'a>>;

/// Something an agent can use.
pub trait Tool: Send + Sync {
    /// What the model is told about it. Always the same for the same tool.
    fn spec(&self) -> &ToolSpec;

    /// What kind of thing it is.
    fn traits(&self) -> ToolTraits;

    /// JSON Schema of the data it gives ([`updraft_run::ToolOutput::value`]), where it promises one.
    fn output(&self) -> Option<&Value> {
        None
    }

    /// Who made it.
    fn source(&self) -> ToolSource {
        ToolSource::BuiltIn
    }

    /// Whether it may change files of the workspace that its output does not list. Never asked of one that only reads.
    fn changes_unseen(&self) -> bool {
        false
    }

    /// Where the words of its definition come from, if that is outside: whoever may use it has read them.
    fn words_from(&self) -> Option<String> {
        None
    }

    /// The call that is really meant by one with these arguments, where this tool only passes calls on: a tool's name
    /// and its arguments. It is looked up, checked, weighed and made as if it had been called itself.
    fn passes_on(&self, args: &Value) -> Option<(String, Value)> {
        let _ = args;
        None
    }

    /// What the call would touch. Has no effects; the arguments fit the schema.
    fn prepare(&self, args: &Value, place: &Place) -> PreparedCall {
        let _ = (args, place);
        let ToolTraits { class, outside, sends, destroys, .. } = self.traits();
        // What others made may read anything in the workspace, unless it says better.
        let reads = if self.source() == ToolSource::BuiltIn { Vec::new() } else { vec![".".into()] };
        PreparedCall { class, outside, sends, destroys, reads, ..PreparedCall::default() }
    }

    /// What is known only just before: for file writes, the hashes before and after. Reads files, changes nothing.
    fn facts(&self, args: &Value, place: &Place) -> EffectFacts {
        let _ = (args, place);
        EffectFacts::default()
    }

    /// Contents that the call is about to replace, kept before it begins so that they can be brought back whatever
    /// happens. Reads files, changes nothing.
    fn images(&self, args: &Value, place: &Place) -> Vec<Vec<u8>> {
        let _ = (args, place);
        Vec::new()
    }

    /// Does it. The arguments fit the schema.
    ///
    /// Where [`ToolTraits::blocking`] is false the future is dropped when the call is stopped, so it must hold nothing that
    /// outlives it. Where it is true it has a thread to itself and watches [`CallContext::cancel`] if it may take long.
    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a>;

    /// After a crash: did it happen? Asked only of tools of `Class::Checkable`.
    fn reconcile(&self, args: &Value, facts: &EffectFacts, place: &Place) -> RecoveryOutcome {
        let _ = (args, facts, place);
        RecoveryOutcome::CannotTell(format!("`{}` leaves no traces to check", self.spec().name))
    }
}

/// What kind of thing a tool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolTraits {
    /// May a call that was cut off be made again?
    pub class: EffectClass,
    /// The name agents may ask for it by together with its like: `files`, `bench`.
    pub group: &'static str,
    /// Those who ask for its group do not get it; only those who ask for it by its name.
    pub only_by_name: bool,
    /// It reaches beyond workspace and sandbox, so it needs approval.
    pub outside: bool,
    /// It can carry something out of this machine: what it is given, or what it finds.
    pub sends: bool,
    /// What it does cannot be undone by us.
    pub destroys: bool,
    /// How long a call may take.
    pub time: Duration,
    /// It blocks its thread, so it is called on one of its own.
    pub blocking: bool,
}

impl Default for ToolTraits {
    /// Of a tool about which nothing good is known, but that stays inside.
    fn default() -> Self {
        Self {
            class: EffectClass::Opaque,
            group: "",
            only_by_name: false,
            outside: false,
            sends: false,
            destroys: false,
            time: Duration::from_secs(30),
            blocking: false,
        }
    }
}

/// Who made a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolSource {
    /// We did.
    BuiltIn,
    /// It was dropped into a folder: the file.
    File(String),
    /// An MCP server has it: the server's name.
    Server(String),
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

/// What a call is given besides its arguments. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// Where it works.
    pub place: Place,
    /// Cancelled when the call is to stop: someone cancelled, or its time is over.
    pub cancel: CancellationToken,
    /// The idempotency key for the outside: the same for every attempt at this call, and no other.
    pub key: String,
    /// Where it tells how it is getting on.
    pub log: CallLog,
    /// Where the lines go that a program prints while it runs.
    pub output: CallLog,
    /// The run around it.
    pub around: RunContext,
    transient: Arc<AtomicBool>,
    kept: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl CallContext {
    /// A context that nobody cancels and nobody listens to. Set the fields to change that.
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

    /// Hands over bytes that the reply names, for whoever keeps the journal to store.
    pub fn keep(&self, bytes: Vec<u8>) -> BlobRef {
        let named = BlobRef { hash: hash(&bytes), len: bytes.len() as u64 };
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
        named
    }

    /// What was handed over so far.
    pub(crate) fn kept(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A failure that may pass by itself (a refused connection, a busy server): a repeatable call is tried again.
    pub fn transient(&self, failure: Failure) -> Reply {
        self.transient.store(true, Ordering::Relaxed);
        Reply::Failed(failure)
    }

    /// The same call with a stop of its own below the caller's, and nothing marked yet.
    pub(crate) fn attempt(&self) -> Self {
        Self { cancel: self.cancel.child_token(), transient: Arc::default(), ..self.clone() }
    }

    pub(crate) fn is_transient(&self) -> bool {
        self.transient.load(Ordering::Relaxed)
    }
}

/// The run that a call belongs to, as far as a tool may know it. Cheap to clone; empty for a call outside of runs.
#[derive(Clone, Default)]
pub struct RunContext {
    /// The run's id.
    pub run: String,
    /// The step's id.
    pub step: String,
    /// The shared variables that the step was given.
    pub variables: Arc<Vec<(String, Arc<Value>)>>,
    /// Makes the documented context: intent, workspace, history, memory.
    pub context: Option<Arc<dyn Fn() -> Value + Send + Sync>>,
    /// The tools that the agent may use.
    pub tools: Arc<[ToolSpec]>,
    /// Makes calls on behalf of code: each is checked, allowed or refused, and written down like an agent's own.
    pub caller: Option<Arc<dyn Caller>>,
    /// The call was weighed as one that reaches outside ([`PreparedCall::outside`]) and allowed. One that was not may have
    /// become one since, by what other calls did, and is refused then.
    pub reaches_outside: bool,
    /// What an earlier attempt at this call has written down to find it again by.
    pub handle: Option<String>,
}

impl fmt::Debug for RunContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunContext").field("run", &self.run).field("step", &self.step).finish_non_exhaustive()
    }
}

/// Makes calls that code asks for while a call of its own is under way.
pub trait Caller: Send + Sync {
    /// Makes one call. A refusal is a reply, with a hint; nobody is asked.
    fn call(&self, call: ToolCall) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>>;

    /// Whether a call may be made twice. Has no effects.
    fn class(&self, call: &ToolCall) -> EffectClass {
        let _ = call;
        EffectClass::Opaque
    }

    /// Puts a question of whoever is called to a person, and waits for what they say: `Said` with the answer as JSON, a
    /// `Verdict` that says no, or anything else where nobody answers.
    fn inquire(&self, inquiry: Inquiry) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        let _ = inquiry;
        Box::pin(std::future::ready(Reply::Cancelled))
    }

    /// Has a model asked for whoever is called, within the run's budget.
    fn consult(&self, consultation: Consultation) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        let _ = consultation;
        Box::pin(std::future::ready(Reply::Cancelled))
    }

    /// Writes down something to find the call again by, should our process end: the next attempt at it is given this.
    /// An empty text takes it back. True once it is on disk.
    fn note(&self, handle: String) -> Pin<Box<dyn Future<Output = bool> + Send + '_>> {
        let _ = handle;
        Box::pin(std::future::ready(false))
    }
}

/// A question to a model that whoever is called wants answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Consultation {
    /// Who wants it, in words for a person.
    pub from: String,
    /// The model, where the user has named one for this; else the agent's own.
    pub model: Option<String>,
    /// Who the model is to be.
    pub system: String,
    /// What was said so far: `user` or `assistant`, and the words.
    pub messages: Vec<(String, String)>,
    /// The most that it may write, in tokens.
    pub max_tokens: u64,
}

/// Where a tool tells how it is getting on. Lines may be lost: they are for whoever watches, not for the journal.
#[derive(Clone, Default)]
pub struct CallLog(Option<Arc<LogListener>>);

type LogListener = dyn Fn(&str) + Send + Sync;

impl CallLog {
    /// Hands every line to `listener`, which must not block.
    pub fn to(listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    /// Tells one line.
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
