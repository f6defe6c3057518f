//! Decides whether a call may be made.

use crate::arguments::{CallMatcher, effective_arguments};
use crate::effect::PreparedCall;
use crate::goal::AgentCard;
use crate::graph::similar_to;
use crate::id::{EffectAddress, StepId};
use crate::message::ToolCall;
use crate::origins::Origins;
use crate::read_rules::ReadRules;
use crate::reply::{Failure, FailureKind};
use crate::rights::Rights;
use crate::state::Run;
use crate::step::Step;
use crate::users_own_calls::{ComparableCall, stands_in};

/// The tool that only calls others, which its agent found by searching.
pub const CALL_TOOL: &str = "call_tool";

/// What other programs name their tool for commands.
const SHELLS: [&str; 5] = ["bash", "shell", "sh", "terminal", "execute_command"];

/// The decision about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// It may be made.
    Allowed,
    /// A person is asked.
    Asked(ApprovalRequest),
    /// It is not made, for this reason.
    Denied(Failure),
}

/// A call that is to be decided about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConsideredCall<'a> {
    pub(crate) call: &'a ToolCall,
    /// What the engine found out about it.
    pub(crate) prepared: &'a PreparedCall,
    /// The earlier calls in the same answer.
    pub(crate) beside: &'a [ComparableCall],
}

/// What a person is asked about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// Why the person is asked.
    pub why: String,
    /// Where the text came from that could misuse the call.
    pub origins: Origins,
    /// The rules that "always" would remember.
    pub always: Vec<String>,
    /// It is asked even under `--yes`.
    pub insists: bool,
    /// What "always" would allow for the rest of the run, if text from outside is in the context.
    pub like: Option<Box<CallMatcher>>,
}

impl Run {
    /// Decides about a call of a step. Denying wins over asking, and asking over allowing.
    pub(crate) fn permission_for(&self, step: &Step, agent: &AgentCard, considered: &ConsideredCall<'_>) -> Permission {
        self.permission_with(&self.rights(agent), step, agent, considered)
    }

    /// The rights of an agent in this run.
    pub(crate) fn rights<'a>(&'a self, agent: &'a AgentCard) -> Rights<'a> {
        let rights = Rights::of(&self.settings, &self.remembered).agent(agent);
        if self.awaits_first_approval() { rights.until_the_plan_is_approved() } else { rights }
    }

    /// The rules about reading that a step's agent has, the run's included.
    pub fn read_rules(&self, step: &StepId) -> ReadRules {
        let card = self.step(step).and_then(|step| self.card(&step.spec.agent));
        ReadRules::of(std::iter::once(&self.settings.rules).chain(card.map(|card| &card.narrowed.rules)))
    }

    /// Like `permission_for`, with rights that are the agent's or narrower: `self.rights(agent).code()` for a call from
    /// code.
    pub(crate) fn permission_with(
        &self,
        rights: &Rights<'_>,
        step: &Step,
        agent: &AgentCard,
        considered: &ConsideredCall<'_>,
    ) -> Permission {
        let ConsideredCall { call, prepared, beside } = *considered;
        let name = &call.name;
        let may_use = |name: &str| agent.tools.iter().chain(&agent.findable).any(|tool| tool == name);
        // One tool only makes calls of others: of those that this agent may call itself.
        let meant = prepared.passed_on_to.as_deref().filter(|_| name == CALL_TOOL);
        if let Some(name) = [Some(name.as_str()), meant].into_iter().flatten().find(|name| !may_use(name)) {
            return denied(format!("`{}` may not use `{name}`; {}", agent.name, instead_of(name, &agent.tools)));
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
        let errand = ComparableCall::of(prepared.effective_name(name), effective_arguments(call, prepared));
        let is_again = || self.additive_calls.iter().chain(beside).any(|made| errand.repeats(made));
        let is_own = self.is_users_own(call, prepared) && !is_again();
        let needs_no_word = is_own || self.is_agreed_to(call, prepared, &origins);
        match rights.clone().with_pre_approval(needs_no_word).weigh(name, prepared, &origins) {
            Permission::Asked(asking) if !asking.origins.is_empty() && !asking.insists => {
                Permission::Asked(ApprovalRequest { like: CallMatcher::of(call, prepared).map(Box::new), ..asking })
            }
            weighed @ (Permission::Allowed | Permission::Asked(_) | Permission::Denied(_)) => weighed,
        }
    }

    /// Whether a call only adds or sends text that the user wrote, to a recipient or place that the user named.
    pub(crate) fn is_users_own(&self, call: &ToolCall, prepared: &PreparedCall) -> bool {
        if !prepared.adds || prepared.destroys {
            return false;
        }
        let documents = self.settings.documents.iter().filter(|(path, _)| self.is_users_document(path));
        let texts = self.users_words.iter().chain(documents.map(|(_, text)| text));
        stands_in(texts.map(String::as_str), effective_arguments(call, prepared))
    }

    /// Whether a person has allowed calls like this one for the rest of the run, with these origins in the context.
    pub(crate) fn is_agreed_to(&self, call: &ToolCall, prepared: &PreparedCall, origins: &Origins) -> bool {
        // What pages of a host say can only lead to actions on that host, which the person has allowed.
        let is_known =
            |like: &CallMatcher, known: &Origins| origins.without_pages_of(&like.hosts).are_within(known.names());
        self.agreed.iter().any(|(like, known)| like.holds(call, prepared) && is_known(like, known))
    }

    /// Remembers a call that only adds or sends, so that a repetition is asked about.
    pub(crate) fn additive_call_begins(&mut self, id: &EffectAddress) {
        let errand = self.prepared_at(id).and_then(|prepared| additive_call(&self.call_at(id)?, prepared));
        self.additive_calls.extend(errand);
    }
}

/// A call that only adds or sends, in the form in which repetitions are recognised. Repeating a read is harmless, so
/// reads are left out.
pub(crate) fn additive_call(call: &ToolCall, prepared: &PreparedCall) -> Option<ComparableCall> {
    (prepared.adds && !prepared.class.is_repeatable())
        .then(|| ComparableCall::of(prepared.effective_name(&call.name), effective_arguments(call, prepared)))
}

/// What is said of a tool that an agent does not have. The model was told of those that it has, though not of all.
fn instead_of(name: &str, tools: &[String]) -> String {
    let known: Vec<&str> = tools.iter().map(String::as_str).collect();
    let mut close = if name.is_empty() { Vec::new() } else { similar_to(name, &known) };
    if close.is_empty() && SHELLS.contains(&name) {
        close.extend(known.iter().filter(|tool| **tool == "run_command"));
    }
    if close.is_empty() {
        return "call one of the tools that you were told of".to_owned();
    }
    let close: Vec<String> = close.iter().take(5).map(|tool| format!("`{tool}`")).collect();
    format!("it may use {}", close.join(", "))
}

pub(crate) fn denied(why: String) -> Permission {
    Permission::Denied(Failure::new(FailureKind::Security, why))
}
