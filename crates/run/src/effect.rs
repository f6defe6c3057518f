//! What a run can want from the world, and what is known about a call before it is made.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arguments::CallMatcher;
use crate::goal::Ceiling;
use crate::id::{ContentHash, Timestamp};
use crate::message::is_false;
use crate::origins::Origins;
use crate::reply::Failure;

/// Something wanted from the world. What exactly stands in the run at the effect's address:
/// the conversation for an ask, the model's call for a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Ask a model. May be done again, but may be billed twice: after two cut-off attempts it fails.
    Ask,
    /// Call the tool that the model asked for at this address. Its `EffectClass` says whether it may be done again.
    Call,
    /// Put a question to a person. May be asked again.
    Question {
        /// What to ask.
        text: String,
        /// Answers to choose from; empty where any text will do.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
        /// Whose question it is and what fits as an answer, where it is not the agent's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inquiry: Option<Box<Inquiry>>,
    },
    /// Ask a person whether the call of the same number may be made. May be asked again.
    Approval {
        /// Why it needs approval.
        why: String,
        /// Where the words came from that could misuse it: the approval is given for these.
        #[serde(default, skip_serializing_if = "Origins::is_empty")]
        origins: Origins,
        /// The rules that "always" would remember; empty where nothing can be remembered.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        always: Vec<String>,
        /// A rule or the agent's own file asks, so it is asked under `--yes` too, and `--yes` is no answer to it.
        #[serde(default, skip_serializing_if = "is_false")]
        insists: bool,
        /// What "always" would allow for the rest of this run, where words from outside are around: calls like this one, as
        /// long as no others come.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        like: Option<Box<CallMatcher>>,
    },
    /// Wait until a moment. May be waited for again.
    Timer {
        /// The moment.
        until: Timestamp,
    },
}

impl Effect {
    /// Whether it waits for a person or a clock only: such a run needs no process.
    pub fn is_patient(&self) -> bool {
        match self {
            Effect::Question { .. } | Effect::Approval { .. } | Effect::Timer { .. } => true,
            Effect::Ask | Effect::Call => false,
        }
    }
}

/// A question that someone who is called has for a person before the call can go on: an MCP server, for instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inquiry {
    /// Who asks, in words for a person.
    pub from: String,
    /// What is asked, in their words.
    pub text: String,
    /// JSON Schema of the object that is wanted, with plain fields; absent where only a word of consent is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Value>,
    /// An address to visit; nothing of what is done there comes by us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visit: Option<String>,
    /// The name that whoever asks gave the question, empty where it has none. Absent in runs from before this was kept:
    /// those are decided as they were then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Whether an effect that was cut off may be done again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Reads only: run again silently.
    Pure,
    /// Done twice is the same as done once: run again.
    Idempotent,
    /// The traces tell whether it happened (a file write with known hashes): look, then finish, redo or tell.
    Checkable,
    /// Nobody can tell: never run again by us; the agent is told and decides.
    #[default]
    Opaque,
}

impl EffectClass {
    /// Whether it may be performed again without looking.
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

/// What is known about a call before it is made: found without any effect, so that the run can decide on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparedCall {
    /// May it be done twice?
    #[serde(default = "pure", skip_serializing_if = "EffectClass::is_pure")]
    pub class: EffectClass,
    /// Files and folders it will read, relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// Files it will write, relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// Hosts it will reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The command it will run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The simple commands that it consists of, wherever they are hidden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<SimpleCommand>,
    /// Its output will list all that it changed, or say that it does not: once it has ended, only those files hold what it
    /// wrote.
    #[serde(default, skip_serializing_if = "is_false")]
    pub lists_changes: bool,
    /// It reaches beyond workspace and sandbox, so it needs approval.
    #[serde(default, skip_serializing_if = "is_false")]
    pub outside: bool,
    /// Why it needs approval, where neither host nor command says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// It can carry something out of this machine: what it is given, or what it finds.
    #[serde(default, skip_serializing_if = "is_false")]
    pub sends: bool,
    /// What it does cannot be undone by us.
    #[serde(default, skip_serializing_if = "is_false")]
    pub destroys: bool,
    /// It only adds something, or sends it, and neither destroys nor overwrites anything: so says someone whom the user
    /// believes. Such a call needs no question if it is the user's own (`own.rs`).
    #[serde(default, skip_serializing_if = "is_false")]
    pub adds: bool,
    /// It is a tool of an MCP server.
    #[serde(default, skip_serializing_if = "is_false")]
    pub served: bool,
    /// It happens elsewhere, and neither reads nor changes files of the workspace.
    #[serde(default, skip_serializing_if = "is_false")]
    pub elsewhere: bool,
    /// Its network is the one that the user granted to commands: what it sends, goes where they allow it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub granted: bool,
    /// It only has a package manager install from its registry, or build or test what it installed: `npm install`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub installs: bool,
    /// It runs where nothing can be changed and nothing sent: a command with a read-only workspace and no network.
    #[serde(default, skip_serializing_if = "is_false")]
    pub only_reads: bool,
    /// The tool that is really called, where this one only passes calls on. All the rest here is said of that one, and
    /// rules speak of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed_on_to: Option<String>,
    /// Another name that people know the tool by: the one it has where no other tool wants it. Rules that ask or deny speak of
    /// it by this name too; those that allow do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_as: Option<String>,
    /// The model it asks: its money is reserved and settled like that of a question to the agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Who wants it, where it is not the agent's code: someone who is called, whom the user lets ask models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
    /// It is no call, but puts this question to a person.
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
            reads: Vec::new(),
            writes: Vec::new(),
            hosts: Vec::new(),
            command: None,
            parts: Vec::new(),
            lists_changes: false,
            outside: false,
            because: None,
            sends: false,
            destroys: false,
            adds: false,
            served: false,
            elsewhere: false,
            granted: false,
            installs: false,
            only_reads: false,
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
    /// Whether it is a harmless read inside this process.
    pub fn is_plain(&self) -> bool {
        let Self { class, writes, hosts, command, outside, sends, destroys, model, fault, .. } = self;
        let touches_nothing = writes.is_empty() && hosts.is_empty() && command.is_none() && fault.is_none();
        let touches_nothing = touches_nothing && model.is_none();
        *class == EffectClass::Pure && touches_nothing && !(*outside || *sends || *destroys)
    }

    /// The tool that is really called by a call of this name.
    pub fn meant<'a>(&'a self, called: &'a str) -> &'a str {
        self.passed_on_to.as_deref().unwrap_or(called)
    }

    /// Every name by which rules that ask or deny may speak of a call of this name, the one that is meant first.
    pub fn names<'a>(&'a self, called: &'a str) -> impl Iterator<Item = &'a str> {
        let called_so = self.passed_on_to.is_some().then_some(called);
        std::iter::once(self.meant(called)).chain(self.known_as.as_deref()).chain(called_so)
    }

    /// Whether it changes something.
    pub fn changes(&self) -> bool {
        !self.only_reads && (self.class != EffectClass::Pure || !self.writes.is_empty() || self.command.is_some())
    }

    /// Whether it may read, and change, anything in the workspace: a command, code, and whoever changes something and
    /// does not say which files. The hosts it names say where it goes, not what it takes along; what happens elsewhere, at
    /// a server with an address, takes nothing along but its arguments.
    pub fn roams(&self) -> bool {
        self.command.is_some() || (self.class != EffectClass::Pure && self.writes.is_empty() && !self.elsewhere)
    }
}

/// One simple command of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimpleCommand {
    /// Its words, without quotes; absent where one is known only when it runs. A redirection is a part of its own that
    /// begins with `>`, an assignment one of a single word.
    pub words: Vec<Option<String>>,
    /// It cannot be said for certain what it runs.
    #[serde(default, skip_serializing_if = "is_false")]
    pub uncertain: bool,
    /// It runs a text in a language that is not read. Who allows it by its own words has allowed that; who forbids others
    /// cannot tell.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hides: bool,
    /// It does nothing but run another part.
    #[serde(default, skip_serializing_if = "is_false")]
    pub wraps: bool,
    /// Another part runs it and decides what its name means (`npx NAME`): it is allowed with that part, and denied by itself.
    #[serde(default, skip_serializing_if = "is_false")]
    pub within: bool,
}

/// What is known only at the moment an effect begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectFacts {
    /// Chained hash of everything the model is told: `replay` builds the prompt again and compares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<ContentHash>,
    /// The context the step began with, where it is not the one the run started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContentHash>,
    /// The context that is told holds documents of the workspace.
    #[serde(default, skip_serializing_if = "is_false")]
    pub documents: bool,
    /// The most that a question to a model can use, where no budget had it reserved: what it is taken for if it is cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ceiling>,
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
