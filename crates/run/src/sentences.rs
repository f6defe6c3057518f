//! The sentences with which a person is asked about a call, or an agent is told of a refusal: what the call would do,
//! and why.

use crate::effect::PreparedCall;
use crate::origins::{Origins, STRANGE_DEFINITIONS, STRANGE_WORKSPACE};
use crate::rules::Rule;

/// What a call would do: "`web_fetch` wants to contact example.org".
pub(crate) fn call_description(tool: &str, prepared: &PreparedCall) -> String {
    let hosts = prepared.hosts.join(", ");
    let mut parts = Vec::new();
    match &prepared.command {
        Some(command) if hosts.is_empty() => parts.push(format!("run `{command}`")),
        Some(command) => parts.push(format!("run `{command}` with access to {hosts}")),
        None if hosts.is_empty() => {}
        None if prepared.reads.is_empty() => parts.push(format!("contact {hosts}")),
        None => parts.push(format!("give {} to {hosts}", prepared.reads.join(", "))),
    }
    if !prepared.writes.is_empty() {
        parts.push(format!("write {}", prepared.writes.join(", ")));
    }
    let is_plain_read =
        parts.is_empty() && !(prepared.outside || prepared.sends || prepared.destroys || prepared.lasts);
    if is_plain_read && !prepared.reads.is_empty() {
        parts.push(format!("read {}", prepared.reads.join(", ")));
    }
    if parts.is_empty() && prepared.lasts {
        parts.push("keep something".into());
    }
    if parts.is_empty() {
        parts.push("run".into());
    }
    format!("`{tool}` wants to {}", parts.join(" and "))
}

/// The question about a call that reaches beyond the workspace or the sandbox.
pub(crate) fn leaves_the_sandbox(tool: &str, prepared: &PreparedCall) -> String {
    let why = match &prepared.because {
        Some(why) => format!("this file can run programs later, outside the sandbox: {why}"),
        None if !prepared.hosts.is_empty() => "it sends a request over the network".to_owned(),
        None if prepared.command.is_some() && prepared.destroys => "it runs without a sandbox".to_owned(),
        None if prepared.sends => "it has access to the network".to_owned(),
        None => "it can change things outside the workspace".to_owned(),
    };
    format!("{}. Asked because {why}", call_description(tool, prepared))
}

/// The refusal of such a call if nobody can be asked. Names the rule that would allow it, if there is one.
pub(crate) fn nobody_to_approve(asked: &str, allowed_by: &[String]) -> String {
    let rules: Vec<String> = allowed_by.iter().map(|rule| format!("{rule:?}")).collect();
    let remedy = match rules.as_slice() {
        [] => String::new(),
        rules => format!("; a rule in the user's settings would allow it: `allow = [{}]`", rules.join(", ")),
    };
    format!("{asked}. Refused: nobody can approve it here{remedy}")
}

/// The question that a rule requires.
pub(crate) fn rule_asks(tool: &str, prepared: &PreparedCall, rule: &Rule) -> String {
    format!("{}. Asked because of the rule `{rule}`{}", call_description(tool, prepared), stands(rule))
}

/// The question about a call for which it is uncertain whether a rule matches.
pub(crate) fn rule_is_unclear(tool: &str, prepared: &PreparedCall, rule: &Rule) -> String {
    let stands = stands(rule);
    format!(
        "{}. Asked because the rule `{rule}`{stands} may apply to it, which is not certain",
        call_description(tool, prepared)
    )
}

/// The refusal because of a rule.
pub(crate) fn rule_denies(tool: &str, rule: &Rule) -> String {
    format!("`{tool}` is denied by the rule `{rule}`{}; only removing that rule would allow it", stands(rule))
}

/// The refusal because the run, or the agent with this name, may not change anything.
pub(crate) fn only_reads(tool: &str, prepared: &PreparedCall, agent: Option<&str>) -> String {
    match agent {
        None if prepared.command.is_some() => {
            format!(
                "`{tool}` could change something, and this run is read-only; commands may run here only in a sandbox"
            )
        }
        None => format!("`{tool}` would change something, and this run is read-only"),
        Some(agent) => format!("`{tool}` would change something, and the agent `{agent}` may only read"),
    }
}

/// The question about a call that text from outside could have asked for.
pub(crate) fn possible_injection(tool: &str, prepared: &PreparedCall, origins: &Origins) -> String {
    let does = match (prepared.sends, prepared.destroys) {
        (true, true) => "can send data off this machine and cannot be undone",
        (true, false) => "can send data off this machine",
        (false, false) if prepared.lasts => "later runs are told",
        (false, _) => "cannot be undone",
    };
    let later = prepared.because.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    let read = origins.in_words();
    format!(
        "{}{later}, which {does}. Possible prompt injection: the agent has read {read}{}",
        call_description(tool, prepared),
        remedies(origins)
    )
}

/// The commands that make text from these origins count as trusted.
fn remedies(origins: &Origins) -> String {
    let workspace = origins.names().iter().any(|name| name == STRANGE_WORKSPACE);
    let server = origins.names().iter().find_map(|name| name.strip_prefix(STRANGE_DEFINITIONS));
    let commands = workspace.then(|| "`updraft trust`".to_owned());
    let commands: Vec<String> =
        commands.into_iter().chain(server.map(|name| format!("`updraft mcp trust {name}`"))).collect();
    if commands.is_empty() { String::new() } else { format!(" (if you trust that: {})", commands.join(", ")) }
}

/// The refusal of a call because text that could have asked for it arrived after the call was allowed.
pub(crate) fn injection_since(origins: &Origins) -> String {
    format!(
        "not called: after it was allowed, text from {} arrived that could misuse it (prompt injection); call it again",
        origins.in_words()
    )
}

fn stands(rule: &Rule) -> String {
    if rule.from.is_empty() { String::new() } else { format!(" ({})", rule.from) }
}
