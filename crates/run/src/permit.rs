//! Whether a call may be made: a decision like any other.

use crate::effect::Prepared;
use crate::goal::AgentCard;
use crate::graph::close_to;
use crate::message::ToolCall;
use crate::origins::Origins;
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
    Asked(Asking),
    /// It is not made, for this reason.
    Denied(Failure),
}

/// What a person is asked about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    /// Why.
    pub why: String,
    /// Where the words came from that could misuse it.
    pub origins: Origins,
    /// The rules that "always" would remember.
    pub always: Vec<String>,
    /// It is asked under `--yes` too.
    pub insists: bool,
}

impl Run {
    /// Weighs a call of a step. Denial wins over approval, approval over permission.
    pub(crate) fn weigh(&self, step: &Step, agent: &AgentCard, call: &ToolCall, prepared: &Prepared) -> Permission {
        self.weigh_with(&self.rights(agent), step, agent, call, prepared)
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
        call: &ToolCall,
        prepared: &Prepared,
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
        rights.weigh(name, prepared, &self.origins_around(step, prepared))
    }
}

pub(crate) fn denied(why: String) -> Permission {
    Permission::Denied(Failure::new(FailureKind::Security, why))
}
