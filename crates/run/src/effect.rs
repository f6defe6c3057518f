//! The effects a run can ask for, and what is known about a call before it is made.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arguments::CallMatcher;
use crate::call_order::CallOrder;
use crate::goal::Ceiling;
use crate::id::{ContentHash, Timestamp};
use crate::message::is_false;
use crate::origins::Origins;
use crate::reply::Failure;

/// Something the run wants from the world. The details are in the run at the effect's address: the conversation for an
/// `Ask`, the model's tool call for a `Call`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Ask a model. It may be asked again, but each attempt may be billed: after ten cut-off attempts the run stops.
    Ask,
    /// Call the tool that the model asked for at this address. Its `EffectClass` says whether it may be done again.
    Call,
    /// Look at the calls that the run makes itself (`Run::own_calls`), without any effect. The reply is an answer with
    /// these calls. No model is asked. May be done again.
    Prepare,
    /// Put a question to a person. May be asked again.
    Question {
        /// What to ask.
        text: String,
        /// Answers to choose from; empty if any text is accepted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
        /// Who asks and which answers fit, if the question is not the agent's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inquiry: Option<Box<Inquiry>>,
    },
    /// Ask a person whether the call of the same number may be made. May be asked again.
    Approval {
        /// Why it needs approval.
        why: String,
        /// Where the text came from that could misuse the call. The approval covers only these origins.
        #[serde(default, skip_serializing_if = "Origins::is_empty")]
        origins: Origins,
        /// The rules that "always" would remember; empty if nothing can be remembered.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        always: Vec<String>,
        /// A rule or the agent's own file requires the question, so `--yes` does not answer it.
        #[serde(default, skip_serializing_if = "is_false")]
        insists: bool,
        /// What "always" would allow for the rest of this run, if text from outside is in the context: calls like this
        /// one, as long as no text from other places arrives.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        like: Option<Box<CallMatcher>>,
    },
    /// Wait until a moment. Only in older journals: nothing wants it today.
    Timer {
        /// The moment.
        until: Timestamp,
    },
}

impl Effect {
    /// Whether it waits only for a person or a clock. No process is needed while a run waits for such effects only.
    pub fn is_patient(&self) -> bool {
        match self {
            Effect::Question { .. } | Effect::Approval { .. } | Effect::Timer { .. } => true,
            Effect::Ask | Effect::Call | Effect::Prepare => false,
        }
    }
}

/// A question to a person from the tool or server that is being called, such as an MCP server. The call waits
/// for the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inquiry {
    /// Who asks, in words for a person.
    pub from: String,
    /// The question as it was asked.
    pub text: String,
    /// JSON Schema of the object that is expected, with plain fields; absent if only consent is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Value>,
    /// A URL that the person is asked to open. We see nothing of what happens there.
    #[serde(rename = "visit", default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The name the asker gave the question; empty if it gave none. Absent in runs recorded before names were kept:
    /// those are decided as they were then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Whether an effect that was cut off may be done again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Only reads: it is performed again silently.
    Pure,
    /// Doing it twice has the same result as doing it once: it is performed again.
    Idempotent,
    /// It leaves traces that show whether it happened (a file write with known hashes): check, then finish it, redo it
    /// or report it.
    Checkable,
    /// Nobody can tell: we never perform it again, unless a handle was noted with which its work is found. The agent is told, and
    /// decides.
    #[default]
    Opaque,
}

/// Prefix of a handle that records only that hooks allowed the call. Such a handle cannot be used to resume the call.
pub const HOOKS_PASSED: &str = "hooks passed: ";

impl EffectClass {
    /// Whether it may be performed again without checking first.
    pub fn is_repeatable(self) -> bool {
        matches!(self, EffectClass::Pure | EffectClass::Idempotent)
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_pure(&self) -> bool {
        *self == EffectClass::Pure
    }
}

fn pure() -> EffectClass {
    EffectClass::Pure
}

/// What is known about a call before it is made. It is found without side effects, so that the run can decide about the
/// call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparedCall {
    /// May it be done twice?
    #[serde(default = "pure", skip_serializing_if = "EffectClass::is_pure")]
    pub class: EffectClass,
    /// Which other calls of its turn it may be made at once with.
    #[serde(default, skip_serializing_if = "CallOrder::is_reading")]
    pub order: CallOrder,
    /// Files and folders it will read, relative to the workspace, or as whole paths outside of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// Of the files below `reads` it leaves out those that rules ask about or deny
    /// ([`ReadRules`](crate::ReadRules)), so such a rule does not concern the whole call.
    #[serde(default, skip_serializing_if = "is_false")]
    pub leaves_out: bool,
    /// Files it will write, relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// Hosts it will reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The command it will run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The simple commands that the command consists of, including nested ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<SimpleCommand>,
    /// The tool's output will list everything it changed, or say that the list is incomplete. Once the call has ended,
    /// only the listed files count as written by it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub lists_changes: bool,
    /// It reaches beyond the workspace and the sandbox, so it needs approval.
    #[serde(default, skip_serializing_if = "is_false")]
    pub outside: bool,
    /// Why it needs approval, if neither the host nor the command explains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// It can carry data out of this machine: its arguments, or what it finds.
    #[serde(default, skip_serializing_if = "is_false")]
    pub sends: bool,
    /// What it does cannot be undone by us.
    #[serde(default, skip_serializing_if = "is_false")]
    pub destroys: bool,
    /// Later runs are told what it keeps, so text from outside could act on them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub lasts: bool,
    /// It only adds or sends something, and neither destroys nor overwrites anything, according to a source that the
    /// user trusts. Such a call needs no approval if every argument is the user's own text (`users_own_calls.rs`).
    #[serde(default, skip_serializing_if = "is_false")]
    pub adds: bool,
    /// It is a tool of an MCP server.
    #[serde(default, skip_serializing_if = "is_false")]
    pub served: bool,
    /// It happens on another machine or in storage of our own: it changes no file of the workspace, and reads only those
    /// that it names.
    #[serde(default, skip_serializing_if = "is_false")]
    pub elsewhere: bool,
    /// It uses only the network that the user granted to commands, so it can send data only where the user allowed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub granted: bool,
    /// It only lets a package manager install from its registry, or build or test what it installed: `npm install`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub installs: bool,
    /// It runs where nothing can be changed and nothing sent: a command with a read-only workspace and no network.
    #[serde(default, skip_serializing_if = "is_false")]
    pub only_reads: bool,
    /// It puts whole new content in place of a file that is there.
    #[serde(default, skip_serializing_if = "is_false")]
    pub replaces: bool,
    /// The tool that is really called, if this tool only passes calls on. All other fields describe that tool, and
    /// rules for either of the two apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed_on_to: Option<String>,
    /// Another name by which people know the tool: the name it would have if no other tool used it. Rules that ask or
    /// deny match this name too; rules that allow do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_as: Option<String>,
    /// The model it asks. Its cost is reserved and settled like that of a question to the agent's own model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Who wants the call, if it is not the agent's code: a server that is being called and that the user lets ask
    /// models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
    /// It is not a tool call, but this question to a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inquiry: Option<Box<Inquiry>>,
    /// Why it cannot be made at all: no such tool, arguments that break the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Failure>,
}

impl Default for PreparedCall {
    fn default() -> Self {
        Self {
            class: EffectClass::Pure,
            order: CallOrder::Reads,
            reads: Vec::new(),
            leaves_out: false,
            writes: Vec::new(),
            hosts: Vec::new(),
            command: None,
            parts: Vec::new(),
            lists_changes: false,
            outside: false,
            because: None,
            sends: false,
            destroys: false,
            lasts: false,
            adds: false,
            served: false,
            elsewhere: false,
            granted: false,
            installs: false,
            only_reads: false,
            replaces: false,
            passed_on_to: None,
            known_as: None,
            model: None,
            on_behalf_of: None,
            inquiry: None,
            fault: None,
        }
    }
}

impl PreparedCall {
    /// Whether a person who was asked about a call was asked about this one too: it touches and reaches the same.
    pub fn does_the_same(&self, other: &Self) -> bool {
        let touches =
            |call: &'_ Self| (call.reads.clone(), call.writes.clone(), call.hosts.clone(), call.command.clone());
        let does = |call: &Self| (call.outside, call.sends, call.destroys, call.fault.is_some());
        touches(self) == touches(other) && does(self) == does(other)
    }

    /// Whether it is a harmless read inside this process.
    pub fn is_plain(&self) -> bool {
        let Self { class, writes, hosts, command, outside, sends, destroys, lasts, model, fault, .. } = self;
        let touches_nothing = writes.is_empty() && hosts.is_empty() && command.is_none() && fault.is_none();
        let touches_nothing = touches_nothing && model.is_none();
        *class == EffectClass::Pure && touches_nothing && !(*outside || *sends || *destroys || *lasts)
    }

    /// The tool that is really called by a call with this name.
    pub fn effective_name<'a>(&'a self, called: &'a str) -> &'a str {
        self.passed_on_to.as_deref().unwrap_or(called)
    }

    /// Every name by which rules that ask or deny may refer to a call with this name; the tool that is really called
    /// comes first.
    pub fn names<'a>(&'a self, called: &'a str) -> impl Iterator<Item = &'a str> {
        let called_so = self.passed_on_to.is_some().then_some(called);
        std::iter::once(self.effective_name(called)).chain(self.known_as.as_deref()).chain(called_so)
    }

    /// Whether it changes something.
    pub fn changes(&self) -> bool {
        !self.only_reads && (self.class != EffectClass::Pure || !self.writes.is_empty() || self.command.is_some())
    }

    /// Whether it may read and change any file of the workspace. This holds for commands, code, and every call that
    /// changes something without saying which files. The hosts it names say where it connects, not what it sends along.
    /// A call to a remote server sends nothing but its arguments.
    pub fn may_touch_any_file(&self) -> bool {
        self.command.is_some() || (self.class != EffectClass::Pure && self.writes.is_empty() && !self.elsewhere)
    }
}

/// One simple command of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimpleCommand {
    /// Its words without quotes; `None` for a word that is known only at run time. A redirection is a part of its own
    /// that begins with `>`; an assignment is a part with a single word.
    pub words: Vec<Option<String>>,
    /// It is uncertain what it runs.
    #[serde(default, skip_serializing_if = "is_false")]
    pub uncertain: bool,
    /// It runs a text in a language that we do not parse. A rule that allows this command allows that text too; a rule
    /// that denies other commands cannot tell whether the text contains them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hides: bool,
    /// It only runs another part.
    #[serde(default, skip_serializing_if = "is_false")]
    pub wraps: bool,
    /// Another part runs it and decides what its name means (`npx NAME`). It is allowed together with that part, but
    /// denied by itself.
    #[serde(default, skip_serializing_if = "is_false")]
    pub within: bool,
}

/// What is known only at the moment an effect begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectFacts {
    /// Chained hash of everything the model is told: `replay` builds the prompt again and compares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<ContentHash>,
    /// The context the step began with, if it is not the one the run started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContentHash>,
    /// The context contains documents of the workspace.
    #[serde(default, skip_serializing_if = "is_false")]
    pub documents: bool,
    /// The most a question to a model can use, if no budget reserved it. This amount counts if the call is cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ceiling>,
    /// Bytes of the prompt: with the tokens that the provider counts, they tell how the two compare.
    #[serde(default, skip_serializing_if = "crate::message::is_zero")]
    pub bytes: u64,
    /// Files about to be written, with the hash of their content before and after (absent: no such file).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ExpectedWrite>,
}

/// A file write that can be checked afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedWrite {
    /// Relative to the workspace.
    pub path: String,
    /// Hash before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<ContentHash>,
    /// Hash after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ContentHash>,
}
