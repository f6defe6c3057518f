//! Whether a call may be made: a decision like any other.

use crate::arguments::{CallMatcher, meant};
use crate::effect::PreparedCall;
use crate::goal::AgentCard;
use crate::graph::close_to;
use crate::id::EffectAddress;
use crate::message::ToolCall;
use crate::origins::Origins;
use crate::own::{ComparableCall, stands_in};
use crate::reply::{Failure, FailureKind};
use crate::rights::Rights;
use crate::state::Run;
use crate::step::Step;

/// What is decided about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// It may be made.
    Allowed,
    /// A person is asked.
    Asked(ApprovalRequest),
    /// It is not made, for this reason.
    Denied(Failure),
}

/// What a person is asked about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// Why.
    pub why: String,
    /// Where the words came from that could misuse it.
    pub origins: Origins,
    /// The rules that "always" would remember.
    pub always: Vec<String>,
    /// It is asked under `--yes` too.
    pub insists: bool,
    /// What "always" would allow for the rest of the run, where words from outside are around.
    pub like: Option<Box<CallMatcher>>,
}

impl Run {
    /// Weighs a call of a step. Denial wins over approval, approval over permission. `beside` are the calls of the same
    /// answer that come before it.
    pub(crate) fn weigh(
        &self,
        step: &Step,
        agent: &AgentCard,
        (call, prepared): (&ToolCall, &PreparedCall),
        beside: &[ComparableCall],
    ) -> Permission {
        self.weigh_with(&self.rights(agent), step, agent, (call, prepared), beside)
    }

    /// What an agent of this run may do.
    pub(crate) fn rights<'a>(&'a self, agent: &'a AgentCard) -> Rights<'a> {
        Rights::of(&self.settings, &self.remembered).agent(agent)
    }

    /// The same under these rights, which are the agent's or less: `self.rights(agent).code()` for a call from code.
    pub(crate) fn weigh_with(
        &self,
        rights: &Rights<'_>,
        step: &Step,
        agent: &AgentCard,
        (call, prepared): (&ToolCall, &PreparedCall),
        beside: &[ComparableCall],
    ) -> Permission {
        let name = &call.name;
        if !agent.tools.iter().any(|tool| tool == name) {
            let known: Vec<&str> = agent.tools.iter().map(String::as_str).collect();
            return denied(format!("`{}` may not use `{name}`; it may use {}", agent.name, close_to(name, &known)));
        }
        let is_denied = |name: &&str| self.settings.deny.iter().any(|tool| tool == name);
        if let Some(name) = prepared.names(name).find(is_denied) {
            return denied(format!("`{name}` is denied by `deny` in the settings"));
        }
        if let Some(fault) = &prepared.fault {
            return Permission::Denied(fault.clone());
        }
        if let Some(fault) = &call.fault {
            return Permission::Denied(Failure::new(FailureKind::Validation, fault.clone()));
        }
        let origins = self.origins_around(step, prepared);
        let errand = ComparableCall::of(prepared.meant(name), meant(call, prepared));
        let is_again = || self.errands.iter().chain(beside).any(|made| errand.repeats(made));
        let is_own = self.is_users_own(call, prepared) && !is_again();
        let needs_no_word = is_own || self.is_agreed_to(call, prepared, &origins);
        match rights.clone().lifted(needs_no_word).weigh(name, prepared, &origins) {
            Permission::Asked(asking) if !asking.origins.is_empty() && !asking.insists => {
                Permission::Asked(ApprovalRequest { like: CallMatcher::of(call, prepared).map(Box::new), ..asking })
            }
            weighed @ (Permission::Allowed | Permission::Asked(_) | Permission::Denied(_)) => weighed,
        }
    }

    /// Whether a call only adds or sends what the user wrote, to whom or where the user wrote.
    pub(crate) fn is_users_own(&self, call: &ToolCall, prepared: &PreparedCall) -> bool {
        if !prepared.adds || prepared.destroys {
            return false;
        }
        let documents = self.settings.documents.iter().filter(|(path, _)| self.is_users_document(path));
        let texts = self.users_words.iter().chain(documents.map(|(_, text)| text));
        stands_in(texts.map(String::as_str), meant(call, prepared))
    }

    /// Whether a person has allowed calls like this one for the rest of the run, with these words around.
    pub(crate) fn is_agreed_to(&self, call: &ToolCall, prepared: &PreparedCall, origins: &Origins) -> bool {
        self.agreed.iter().any(|(like, known)| like.holds(call, prepared) && origins.are_within(known.names()))
    }

    /// Remembers a call that only adds or sends, so that its repetition is asked about.
    pub(crate) fn errand_begins(&mut self, id: &EffectAddress) {
        let errand = self.prepared_at(id).and_then(|prepared| errand_of(&self.call_at(id)?, prepared));
        self.errands.extend(errand);
    }
}

/// A call that only adds or sends, as its repetition is known by. To read again does no harm.
pub(crate) fn errand_of(call: &ToolCall, prepared: &PreparedCall) -> Option<ComparableCall> {
    (prepared.adds && !prepared.class.is_repeatable())
        .then(|| ComparableCall::of(prepared.meant(&call.name), meant(call, prepared)))
}

pub(crate) fn denied(why: String) -> Permission {
    Permission::Denied(Failure::new(FailureKind::Security, why))
}
