//! `updraft run`: plans and carries out a goal.

use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use updraft_engine::{Agents, Hands, NewRun, Prompts};
use updraft_models::{Chosen, choose};
use updraft_run::{Graph, RunId, Settings as Rules};

use super::{detach, goal, stdin};
use crate::args;
use crate::fault::{Code, Fault, Outcome};
use crate::places::{self, Places};
use crate::servers::Wanted;
use crate::settings::{Consent, Settings, Written, said};
use crate::signals::Signals;
use crate::view::Face;
use crate::{confine, log, out, reach, servers, steer, wire};

mod follow_up;
mod planned;

use follow_up::FollowUp;

/// Everything a run starts from, checked as far as it can be without a model.
struct Plan {
    args: args::Run,
    text: String,
    workspace: PathBuf,
    settings: Settings,
    agents: Agents,
    prompts: Prompts,
    graph: Option<Graph>,
    follow_up: Option<FollowUp>,
}

pub(crate) fn run(places: &Places, mut args: args::Run) -> Outcome {
    if args.id.is_some() {
        // In a session of its own, the end of the terminal is not the end of the run.
        #[cfg(unix)]
        let _ = rustix::process::setsid();
    }
    let text = goal::text(&args.goal)?;
    let workspace = wire::workspace(args.workspace.as_deref())?;
    stdin::hand_over(&mut args, &workspace)?;
    let settings = Settings::load(places, &workspace, flags(&args)?)?;
    let (agents, prompts) = wire::cast(places, &workspace, &settings)?;
    let (graph, unread) = args.plan.as_deref().map(goal::plan).transpose()?.unzip();
    let follow_up = args.continues.then(|| FollowUp::find(places, &workspace)).transpose()?;
    let plan = Plan { args, text, workspace, settings, agents, prompts, graph, follow_up };
    plan.check(unread.unwrap_or_default())?;
    if plan.args.plan_only
        && let Some(graph) = &plan.graph
    {
        planned::print(graph, plan.args.output.json);
        return Ok(Code::Done);
    }
    if plan.args.detach {
        return detach::detach(places, &plan.args, &plan.text, &plan.workspace);
    }
    let id = match &plan.args.id {
        Some(id) => RunId::parse(id).map_err(|bad| Fault::usage(bad.to_string()))?,
        None => wire::new_id()?,
    };
    log::begin(places, &plan.settings.meant.log.value);
    wire::block_on(carry_out(places, plan, id))
}

/// The flags that are settings.
fn flags(args: &args::Run) -> Result<Written, Fault> {
    Ok(Written {
        model: said(args.model.as_deref().map(wire::model_spec)),
        approvals: said(args.permission.mode().map(Consent::from)),
        think: said(args.think.clone()),
        probe: said(args.no_probe.then_some(false)),
        cache: said(args.cache.then_some(true)),
        budget: steer::budget_of(&args.spending).into(),
        sandbox: confine::flags(&args.confine)?,
        ..Written::default()
    })
}

impl Plan {
    fn new_run<'a>(
        &'a self,
        rules: Rules,
        tools: &'a (dyn Fn(&[String]) -> Vec<updraft_run::ToolSpec> + Sync),
        only_reads: &'a (dyn Fn(&str) -> bool + Sync),
        models: &'a (dyn Fn(&str) -> Option<String> + Sync),
    ) -> Result<NewRun<'a>, Fault> {
        let (goal, pictures) = goal::goal(&self.args, self.text.clone(), &self.workspace)?;
        let goal = self.follow_up.iter().fold(goal, |goal, earlier| earlier.add_to(goal));
        Ok(NewRun {
            goal,
            settings: rules,
            budget: self.settings.meant.budget(),
            plan: self.graph.clone(),
            agents: &self.agents,
            prompts: &self.prompts,
            tools,
            only_reads,
            models,
            pictures,
        })
    }

    /// Every fault that can be found before anything is started; `faults` are those found while reading the plan.
    fn check(&self, mut faults: Vec<String>) -> Result<(), Fault> {
        match self.new_run(self.settings.meant.rules(), &|_| Vec::new(), &|_| true, &|_| None)?.check() {
            Err(updraft_engine::Error::Plan(more)) => faults.extend(more),
            other => other?,
        }
        if faults.is_empty() { Ok(()) } else { Err(updraft_engine::Error::Plan(faults).into()) }
    }

    /// The tools that agents of this run may use. Who works on a plan is not known before it is made.
    fn wanted(&self) -> Wanted<'_> {
        let only = self.one_agent().and_then(|name| self.agents.get(name));
        only.map_or(Wanted::All, |agent| Wanted::Of(&agent.tools))
    }

    /// The agent that works alone: named now, or by the run that is followed up on.
    fn one_agent(&self) -> Option<&str> {
        let earlier = self.follow_up.as_ref().filter(|_| !self.args.swarm).and_then(FollowUp::agent);
        self.args.agent.as_deref().or(earlier)
    }

    fn rules(&self, model: &str) -> Rules {
        let mut rules = self.settings.meant.rules();
        model.clone_into(&mut rules.model);
        rules.workspace = self.workspace.display().to_string();
        rules.workspace_trusted = self.settings.standing.is_trusted();
        if self.one_agent().is_some() {
            rules.query_turns = self.settings.meant.agent_turns.value;
        }
        rules.least_turns = self.args.spending.max_turns.map(|turns| u32::try_from(turns).unwrap_or(u32::MAX));
        rules
    }
}

async fn carry_out(places: &Places, mut plan: Plan, id: RunId) -> Outcome {
    let stop = CancellationToken::new();
    let mut signals = Signals::listen(stop.clone())?;
    let face = Face::of(&plan.args.output);
    let access = reach::access(places, &plan.settings, &plan.workspace);
    let spec = reach::settled(places, &wire::model_spec(&plan.settings.meant.model.value))?;
    let Chosen { model, spec: name, why } = choose(&spec, &access).await?;
    remark(&plan, &face, &spec, &name, &why);
    let journal = wire::journal(places)?;
    let level = confine::level_of(places, &plan.settings).await?;
    confine::warn(&level, &face);
    let (dispatcher, servers, remarks) =
        servers::dispatcher(places, &plan.settings, &plan.workspace, plan.wanted()).await?;
    for remark in remarks.iter().filter(|_| !face.quiet) {
        face.say(&out::harmless(remark));
    }
    let known = dispatcher.clone();
    wire::leave_out_mistaken(places, &plan.settings, &plan.workspace, &mut plan.agents, &known);
    for (name, why) in plan.agents.left_out().filter(|_| !face.quiet) {
        face.say(&out::harmless(&format!("left out: agent `{name}`: {why}")));
    }
    let tools = |wanted: &[String]| known.registry().specs_for(wanted);
    let only_reads = |name: &str| wire::only_reads(&known, name);
    let models = |wanted: &str| reach::agents_model(wanted, &spec, &name, &access);
    let hands = Hands::new(access.clone(), dispatcher).with_model(&name, model);
    let grants = Some(confine::grants(&plan.settings, &plan.args.confine));
    let strange_tools = known.registry().strange();
    let mut rules = Rules { sandbox: level, grants, strange_tools, ..plan.rules(&name) };
    wire::name_in_full(&known, &servers, &mut rules);
    plan.agents.reword(|rules| wire::rules_in_full(&known, &servers, rules));
    let new = plan.new_run(rules, &tools, &only_reads, &models)?;
    let watch = if plan.args.plan_only { planned::until_planned(&stop) } else { Arc::clone(&face.watch) };
    let engine = wire::engine(places, journal.clone(), hands, watch, stop);
    let handle = engine.start(id, new).await?;
    let ended = if plan.args.plan_only {
        planned::conclude(handle.drive().await?, face.json)
    } else {
        steer::steer(&engine, handle, &face, &mut signals).await
    };
    drop(engine);
    servers.close().await;
    journal.close().await;
    ended
}

/// One line on the model, and one on what does not count.
fn remark(plan: &Plan, face: &Face, spec: &str, name: &str, why: &str) {
    if face.quiet {
        return;
    }
    let reason = match (spec, name) {
        ("auto", "builtin") => " (no key found; `updraft models` shows how to connect a language model)".to_owned(),
        (asked, _) if asked == "auto" || updraft_models::is_purpose(asked) => {
            why.split_once(": ").map(|(_, reason)| format!(" ({reason})")).unwrap_or_default()
        }
        _ => String::new(),
    };
    // The tree says it in its title.
    if !face.is_drawn() || !reason.is_empty() {
        face.say_short(&format!("model: {name}{reason}"));
    }
    if let Some(remark) = plan.settings.remark() {
        face.say(&remark);
    }
    if places::home().and_then(|home| home.canonicalize().ok()).as_deref() == Some(plan.workspace.as_path()) {
        face.say("workspace: your whole home folder; name a smaller one with --workspace");
    }
}
