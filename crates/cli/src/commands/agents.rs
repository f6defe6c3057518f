//! `updraft agents`: lists the agents, where each comes from, and agent files that cannot be used.

use std::fmt::Write as _;

use serde_json::json;
use updraft_engine::{Agent, Agents};
use updraft_run::AgentRole;
use updraft_workbench::Flags;

use crate::args::WorkspaceFlags;
use crate::fault::{CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::settings::WorkspaceSettings;
use crate::{agents, runtime};

pub(crate) fn run(folders: &AppFolders, args: &WorkspaceFlags) -> CliResult {
    let workspace = folders::workspace(args.workspace.as_deref())?;
    let settings = WorkspaceSettings::load(folders, &workspace, &Flags::default())?;
    let agents = runtime::block_on(async { Ok(agents::usable(folders, &workspace, &settings).await?) })?;
    let code = if agents.left_out().next().is_some() { CliExitCode::Config } else { CliExitCode::Done };
    if args.json {
        let left_out = agents.left_out().map(|(name, why)| json!({ "name": name, "left_out": why }));
        let lines = agents.iter().map(as_json).chain(left_out).map(|line| line.to_string() + "\n");
        out::print(&lines.collect::<String>());
        return Ok(code);
    }
    let width = agents.iter().map(|agent| agent.name.len()).max().unwrap_or_default();
    let paint = Paint::for_stdout();
    let mut text = String::new();
    for agent in agents.iter() {
        let mut more: Vec<String> = Vec::new();
        if !agent.tools.is_empty() {
            more.push(format!("tools {}", agent.tools.join(", ")));
        }
        more.extend(agent.model.as_ref().map(|model| format!("model {model}")));
        more.extend(agent.turns.map(|turns| format!("{turns} turns")));
        more.extend(agent.read_only.then(|| "read-only".to_owned()));
        more.extend(role(agent, &agents));
        more.push(origin(agent));
        if !agent.ignored.is_empty() {
            more.push(format!("ignored: {}", agent.ignored.join(", ")));
        }
        let name = paint.bold(&format!("{:width$}", agent.name));
        let _ = writeln!(text, "{name}  {}\n{:width$}  {}", agent.purpose, "", paint.dim(&more.join(" · ")));
    }
    out::print(&text);
    for (name, why) in agents.left_out() {
        out::note(&out::harmless(&format!("left out: agent `{name}`: {why}")));
    }
    if let Some(remark) = settings.notice() {
        out::note(&remark);
    }
    Ok(code)
}

/// The agent's role, if it has a special one, and which agent has that role instead.
fn role(agent: &Agent, agents: &Agents) -> Option<String> {
    let role = agent.role.filter(|role| *role != AgentRole::Work)?;
    let holder = agents.in_role(role).filter(|holder| role.is_for_one() && holder.name != agent.name);
    let instead = holder.map(|holder| format!(", but `{}` has it", holder.name)).unwrap_or_default();
    Some(format!("role {}{instead}", role.word()))
}

fn origin(agent: &Agent) -> String {
    agent.file.as_ref().map_or_else(|| "built in".into(), |file| file.display().to_string())
}

fn as_json(agent: &Agent) -> serde_json::Value {
    json!({ "name": agent.name, "purpose": agent.purpose, "tools": agent.tools, "model": agent.model, "turns": agent.turns,
            "role": agent.role.unwrap_or_default().word(), "ignored": agent.ignored,
            "read_only": agent.read_only, "origin": origin(agent) })
}
