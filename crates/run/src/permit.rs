//! Whether a call may be made: a decision like any other.

use crate::effect::{Class, Prepared};
use crate::goal::{AgentCard, Approvals, Settings};
use crate::graph::close_to;
use crate::message::ToolCall;
use crate::reply::{Failure, FailureKind};

/// What is decided about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// It may be made.
    Allowed,
    /// A person is asked, for this reason.
    Asked(String),
    /// It is not made, for this reason.
    Denied(Failure),
}

/// Weighs one call. Denial wins over approval, approval over permission.
pub fn permit(call: &ToolCall, prepared: &Prepared, agent: &AgentCard, settings: &Settings) -> Permission {
    let name = &call.name;
    if !agent.tools.iter().any(|tool| tool == name) {
        let known: Vec<&str> = agent.tools.iter().map(String::as_str).collect();
        return denied(format!("`{}` may not use `{name}`; it may use {}", agent.name, close_to(name, &known)));
    }
    if settings.deny.iter().any(|tool| tool == name) {
        return denied(format!("`{name}` is denied by the settings"));
    }
    if let Some(fault) = &prepared.fault {
        return Permission::Denied(fault.clone());
    }
    if let Some(fault) = &call.fault {
        return Permission::Denied(Failure::new(FailureKind::Validation, fault.clone()));
    }
    let changes = prepared.class != Class::Pure || !prepared.writes.is_empty() || prepared.command.is_some();
    if changes && settings.approvals == Approvals::ReadOnly {
        return denied(format!("`{name}` changes something, and this run is read-only"));
    }
    if changes && agent.read_only {
        return denied(format!("`{name}` changes something, and `{}` may only read", agent.name));
    }
    if !prepared.outside {
        return Permission::Allowed;
    }
    match settings.approvals {
        Approvals::Allow => Permission::Allowed,
        Approvals::Ask => Permission::Asked(reach(name, prepared)),
        Approvals::Refuse | Approvals::ReadOnly => {
            denied(format!("{}, and nobody is there to approve it", reach(name, prepared)))
        }
    }
}

fn denied(why: String) -> Permission {
    Permission::Denied(Failure::new(FailureKind::Security, why))
}

/// What the call reaches beyond workspace and sandbox.
fn reach(name: &str, prepared: &Prepared) -> String {
    let mut parts = Vec::new();
    if let Some(command) = &prepared.command {
        parts.push(format!("runs `{command}`"));
    }
    if !prepared.hosts.is_empty() {
        parts.push(format!("reaches {}", prepared.hosts.join(", ")));
    }
    if !prepared.writes.is_empty() {
        parts.push(format!("writes {}", prepared.writes.join(", ")));
    }
    if parts.is_empty() {
        parts.push("reaches beyond the workspace".into());
    }
    let because = prepared.because.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    format!("`{name}` {}{because}", parts.join(" and "))
}
