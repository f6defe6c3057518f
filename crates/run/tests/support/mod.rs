//! A scripted world around one run: it performs what is wanted, in process, and writes down what happened.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    reason = "every test file uses its own part of this helper, and a broken script shall panic"
)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use serde_json::{Value, json};
use updraft_run::{
    AgentCard, AgentRole, Budget, Ceiling, ConversationEntry, Effect, EffectAddress, EffectClass, EffectFacts,
    EffectKind, Event, Failure, FailureKind, Funds, Goal, Graph, Input, ModelAnswer, OpenEffect, PreparedCall, Record,
    RecoveryFinding, Reply, Roster, Run, RunMode, RunSettings, RunStart, Step, StepId, StepSpec, Timestamp, TokenUsage,
    ToolCall, ToolOutput, Verdict, outcome_words,
};

pub const AGENTS: [&str; 10] =
    ["browser", "coder", "distiller", "judge", "planner", "qa", "researcher", "reviewer", "router", "thinker"];
pub const TOOLS: [&str; 6] = ["ask_user", "fetch", "read", "run_python", "send", "write"];

/// A run and everything around it.
#[derive(Clone)]
pub struct World {
    pub run: Run,
    pub records: Vec<Record>,
    pub now: i64,
    /// What each step's model says: its n-th question gets the n-th reply, judges and summaries included.
    pub says: BTreeMap<String, Vec<Reply>>,
    /// What each tool gives.
    pub gives: BTreeMap<String, Reply>,
    /// What is known about the calls of a tool.
    pub prepared: BTreeMap<String, PreparedCall>,
    /// The most each question may use.
    pub ceiling: Ceiling,
    pub epoch: u64,
}

/// A start with ten agents, all tools and the usual settings.
pub fn start(mode: RunMode) -> RunStart {
    let tools = TOOLS.iter().map(ToString::to_string).collect::<Vec<_>>();
    let role = |name: &str| matches!(name, "qa" | "reviewer").then_some(AgentRole::Judge);
    let card = |name: &&str| AgentCard {
        name: (*name).to_owned(),
        tools: tools.clone(),
        role: role(name),
        ..AgentCard::default()
    };
    RunStart {
        goal: Goal { text: "the goal".into(), mode, ..Goal::default() },
        roster: Arc::new(Roster { agents: AGENTS.iter().map(card).collect(), ..Roster::default() }),
        settings: Arc::new(RunSettings::default()),
        budget: Budget::default(),
        plan: None,
        earlier: updraft_run::EarlierRuns::default(),
    }
}

/// A start with a graph that was given: `a`, `b < a`, `c < a b`, each done by the thinker.
pub fn given(steps: &[&str]) -> RunStart {
    RunStart { plan: Some(Arc::new(graph(steps))), ..start(RunMode::Given) }
}

pub fn graph(steps: &[&str]) -> Graph {
    let spec = |line: &&str| {
        let (name, after) = line.split_once('<').unwrap_or((line, ""));
        let (name, agent) = name.trim().split_once(':').unwrap_or((name.trim(), "thinker"));
        let mut spec = StepSpec::new(id(name), agent);
        spec.after = after.split_whitespace().map(id).collect();
        spec
    };
    Graph { steps: steps.iter().map(spec).collect() }
}

/// The same as text from a planner.
pub fn plan(steps: &[&str]) -> Reply {
    says(&serde_json::to_string(&graph(steps)).unwrap())
}

pub fn id(name: &str) -> StepId {
    StepId::parse(name).unwrap()
}

pub fn at(address: &str) -> EffectAddress {
    address.parse().unwrap()
}

pub fn says(text: &str) -> Reply {
    Reply::Answer(Arc::new(ModelAnswer { text: text.into(), usage: used(10), ..ModelAnswer::default() }))
}

/// The answer of a model that was told of its tools in words.
pub fn writes(text: &str) -> Reply {
    let answer = ModelAnswer { text: text.into(), usage: used(10), writes_calls: true, ..ModelAnswer::default() };
    Reply::Answer(Arc::new(answer))
}

pub fn used(tokens: u64) -> TokenUsage {
    TokenUsage { input: tokens, output: 0, cost: Some(updraft_run::Cost(tokens)), ..TokenUsage::default() }
}

pub fn costs(tokens: u64, reply: Reply) -> Reply {
    match reply {
        Reply::Answer(answer) => Reply::Answer(Arc::new(ModelAnswer { usage: used(tokens), ..(*answer).clone() })),
        other => other,
    }
}

/// An answer that calls tools: `read x` is a call of `read` with `{"q": "x"}`.
pub fn calls(wanted: &[&str]) -> Reply {
    let call = |(n, text): (usize, &&str)| {
        let (name, q) = text.split_once(' ').unwrap_or((text, ""));
        let args = if name == "ask_user" { json!({ "question": q }) } else { json!({ "q": q }) };
        ToolCall { id: format!("c{n}"), name: name.into(), args, fault: None }
    };
    let calls = wanted.iter().enumerate().map(call).collect();
    Reply::Answer(Arc::new(ModelAnswer { calls, usage: used(10), ..ModelAnswer::default() }))
}

pub fn gives(text: &str) -> Reply {
    Reply::Output(Arc::new(ToolOutput { text: text.into(), ..ToolOutput::default() }))
}

pub fn gives_value(text: &str, value: Value) -> Reply {
    Reply::Output(Arc::new(ToolOutput { text: text.into(), value: Some(value), ..ToolOutput::default() }))
}

pub fn fails(why: &str) -> Reply {
    Reply::Failed(Failure::new(FailureKind::Tool, why))
}

pub fn model_fails(why: &str) -> Reply {
    Reply::Failed(Failure::new(FailureKind::Model, why))
}

pub fn opaque() -> PreparedCall {
    PreparedCall { class: EffectClass::Opaque, ..PreparedCall::default() }
}

pub fn outside() -> PreparedCall {
    PreparedCall {
        class: EffectClass::Opaque,
        outside: true,
        hosts: vec!["example.org".into()],
        ..PreparedCall::default()
    }
}

pub fn allow() -> Verdict {
    Verdict { allow: true, by: "ann".into(), ..Verdict::default() }
}

pub fn deny(because: &str) -> Verdict {
    Verdict { allow: false, by: "ann".into(), because: because.into(), ..Verdict::default() }
}

pub fn resume() -> Input {
    Input::Resume { budget: None, approvals: None }
}

pub fn raise(budget: Budget) -> Input {
    Input::Resume { budget: Some(budget), approvals: None }
}

pub fn cancel() -> Input {
    Input::Cancel { by: "ann".into(), step: None }
}

pub fn cancel_step(step: &str) -> Input {
    Input::Cancel { by: "ann".into(), step: Some(id(step)) }
}

impl Default for World {
    fn default() -> Self {
        Self {
            run: Run::default(),
            records: Vec::new(),
            now: 0,
            says: BTreeMap::new(),
            gives: BTreeMap::new(),
            prepared: BTreeMap::new(),
            ceiling: Ceiling { tokens: 10, cost: Some(updraft_run::Cost(10)) },
            epoch: 1,
        }
    }
}

impl World {
    /// A world in which a run has just begun.
    pub fn of(start: RunStart) -> Self {
        let mut world = Self::default();
        world.feed(Input::Start(Box::new(start)));
        world
    }

    /// The n-th question of a step gets the n-th of these.
    pub fn says<const N: usize>(mut self, step: &str, replies: [Reply; N]) -> Self {
        self.says.entry(step.into()).or_default().extend(replies);
        self
    }

    pub fn gives(mut self, tool: &str, reply: Reply) -> Self {
        self.gives.insert(tool.into(), reply);
        self
    }

    pub fn prepares(mut self, tool: &str, prepared: PreparedCall) -> Self {
        self.prepared.insert(tool.into(), prepared);
        self
    }

    /// Takes an input in, a millisecond after the last, and checks all that must hold after any input.
    pub fn feed(&mut self, input: Input) -> &Record {
        self.now += 1;
        let now = Timestamp(self.now);
        let mut shadow = self.run.clone();
        let mut again = self.run.clone();
        let record = self.run.advance(input.clone(), now);
        shadow.record(&record);
        assert_eq!(shadow, self.run, "folding the record gives another run");
        let written = record.to_json().unwrap();
        assert_eq!(again.advance(input, now).to_json().unwrap(), written, "deciding again decides otherwise");
        assert_eq!(Record::from_json(now, &written).unwrap(), record, "a record reads back as it was written");
        let faults = self.run.audit();
        assert!(faults.is_empty(), "{faults:#?}\nafter {record:#?}");
        self.records.push(record);
        self.records.last().unwrap()
    }

    /// Performs everything for which there is a script, until nothing is left to do.
    pub fn go(mut self) -> Self {
        self.work();
        self
    }

    pub fn work(&mut self) {
        while self.step_on() {}
    }

    /// Performs the next effect; `false` if there is none with a script.
    pub fn step_on(&mut self) -> bool {
        let open: Vec<EffectAddress> = self.run.open().keys().cloned().collect();
        for id in open {
            let Some(effect) = self.run.open().get(&id) else { continue };
            let Some(reply) = self.reply_to(&id, effect) else { continue };
            let unfunded = effect.effect == Effect::Ask && effect.funds == Funds::None && self.run.needs_estimates();
            if unfunded && *self.run.phase() == updraft_run::RunPhase::Running {
                self.feed(Input::Estimated { id, ceiling: self.ceiling });
                return true;
            }
            if self.run.may_begin(&id) {
                self.begin(&id);
                self.reply(&id, reply);
                return true;
            }
        }
        false
    }

    pub fn begin(&mut self, id: &EffectAddress) {
        let attempt = self.run.open()[id].attempt;
        self.feed(Input::Begun { id: id.clone(), attempt, epoch: self.epoch, facts: EffectFacts::default() });
    }

    pub fn reply(&mut self, id: &EffectAddress, reply: Reply) {
        let attempt = self.run.open().get(id).map_or(1, |open| open.attempt);
        let prepared = self.prepare(id, &reply);
        self.feed(Input::Replied { id: id.clone(), attempt, reply, prepared });
    }

    /// What is known about each call a reply asks for.
    pub fn prepare(&self, id: &EffectAddress, reply: &Reply) -> Vec<PreparedCall> {
        let (EffectKind::Ask, Reply::Answer(answer), Some(step)) = (id.kind, reply, self.run.step(&id.step)) else {
            return Vec::new();
        };
        let calls = self.run.calls_in(step, answer);
        calls.iter().map(|call| self.prepared.get(&call.name).cloned().unwrap_or_default()).collect()
    }

    /// What the world says to an effect, if its script knows.
    pub fn reply_to(&self, id: &EffectAddress, open: &OpenEffect) -> Option<Reply> {
        let step = self.run.step(&id.step)?;
        match open.effect {
            Effect::Ask => self.says.get(id.step.as_str())?.get(step.ledger.turns as usize - 1).cloned(),
            Effect::Prepare => {
                let calls = self.run.own_calls(id);
                Some(Reply::Answer(Arc::new(ModelAnswer { calls, ..ModelAnswer::default() })))
            }
            Effect::Call => self.gives.get(&self.run.call_at(id)?.name).cloned(),
            _ => None,
        }
    }

    pub fn step(&self, name: &str) -> &Step {
        self.run.step(&id(name)).unwrap_or_else(|| panic!("no step `{name}`"))
    }

    pub fn status(&self, name: &str) -> &'static str {
        self.step(name).status()
    }

    pub fn open(&self) -> Vec<String> {
        self.run.open().keys().map(ToString::to_string).collect()
    }

    pub fn answer(&self) -> String {
        self.run.answer()
    }

    pub fn recover(&mut self, found: Vec<RecoveryFinding>) {
        self.epoch += 1;
        self.feed(Input::Recovered { found });
    }

    /// The conversation of a step's present visit, one line for each entry.
    pub fn talk(&self, name: &str) -> String {
        talk(self.step(name))
    }

    /// Everything that happened, one line for each event.
    pub fn transcript(&self) -> String {
        transcript(&self.records)
    }

    /// What followed from the last input.
    pub fn last(&self) -> String {
        transcript(self.records.last())
    }
}

pub fn talk(step: &Step) -> String {
    let lines = step.conversation.iter().map(|entry| match entry {
        ConversationEntry::Answer(answer) => format!("model: {}", spoken(answer)),
        ConversationEntry::Results(results) => {
            let words: Vec<_> = results.outcomes.iter().map(|outcome| outcome_words(outcome).into_owned()).collect();
            format!("tools: {}", words.join(" | "))
        }
        ConversationEntry::Note(note) => format!("note: {}", serde_json::to_string(note).unwrap()),
        ConversationEntry::Summary(summary) => format!("summary: {summary}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn spoken(answer: &ModelAnswer) -> String {
    let calls = answer.calls.iter().map(|call| format!("{}({})", call.name, call.args));
    let mut words: Vec<String> = calls.collect();
    if !answer.text.is_empty() || words.is_empty() {
        words.insert(0, format!("{:?}", answer.text));
    }
    words.join(", ")
}

pub fn transcript<'a>(records: impl IntoIterator<Item = &'a Record>) -> String {
    let mut text = String::new();
    for event in records.into_iter().flat_map(|record| &record.events) {
        if let Some(line) = line(event) {
            writeln!(text, "{line}").unwrap();
        }
    }
    text.trim_end().to_owned()
}

fn line(event: &Event) -> Option<String> {
    let json = |value: &dyn erased::Json| value.json();
    Some(match event {
        Event::Begun { .. } => return None,
        Event::Started(start) => format!("started: {}", start.goal.text),
        Event::Planned { graph, because, instead } => {
            let steps = graph.steps.iter().map(|step| {
                let after: Vec<&str> = step.after.iter().map(StepId::as_str).collect();
                if after.is_empty() { step.id.to_string() } else { format!("{} < {}", step.id, after.join(" ")) }
            });
            let instead = instead.as_ref().map(|why| format!(" (one step: {why})")).unwrap_or_default();
            format!("planned because {}: {}{instead}", json(because), steps.collect::<Vec<_>>().join(", "))
        }
        Event::Wanted { id, effect: Effect::Ask | Effect::Call | Effect::Prepare } => format!("wants {id}"),
        Event::Wanted { id, effect } => format!("wants {id}: {}", json(effect)),
        Event::Reserved { id, ceiling } => format!("reserves {} for {id}", ceiling.tokens),
        Event::Held { id, .. } => format!("holds {id}"),
        Event::Replied { id, reply: Reply::Answer(answer), .. } => format!("{id} says {}", spoken(answer)),
        Event::Replied { id, reply: Reply::Verdict(verdict), .. } => {
            format!("{id} is {}", if verdict.allow { "allowed" } else { "refused" })
        }
        Event::Replied { id, reply, .. } => {
            format!("{id} gives {}", outcome_words(&updraft_run::ToolCallOutcome::Replied(reply.clone())))
        }
        Event::Interrupted { id, attempt } => format!("{id} interrupted at attempt {attempt}"),
        Event::Rejected { id, why } => format!("rejects {id}: {why}"),
        Event::Advised { step, note } => format!("tells {step}: {}", json(note)),
        Event::Wrote { step, name, value, .. } => format!("{step} writes {name} = {value}"),
        Event::Cited { step, citations } => {
            let cited = |one: &updraft_run::Citation| format!("[{}] {}", one.n, json(&one.finding));
            format!("{step} cites {}", citations.iter().map(cited).collect::<Vec<_>>().join(", "))
        }
        Event::Judged { step, verdict } => format!("{step} judged: {}", json(verdict)),
        Event::Required { requirements } => {
            let how: Vec<String> = requirements.iter().map(updraft_run::Requirement::how).collect();
            format!("requires {}", how.join(", "))
        }
        Event::Proved { step, findings } => {
            let found =
                |one: &updraft_run::ProofFinding| format!("{} {}", json(&one.state), one.why.trim()).trim().to_owned();
            format!("{step} finds {}", findings.iter().map(found).collect::<Vec<_>>().join(", "))
        }
        Event::Shortened { step, because, outputs } => {
            format!("{step} shown less ({}): {}", json(because), json(outputs))
        }
        Event::WindowLearnt { model, tokens, .. } => format!("{model} has a window of {tokens}"),
        Event::StepDone { step, best_effort, .. } => {
            format!("{step} done{}", if *best_effort { ", as well as it could" } else { "" })
        }
        Event::Halted { step, why, .. } => format!("{step} halted ({}): {why}", why.kind.name()),
        Event::StepFailed { step, why } => format!("{step} failed ({}): {why}", why.kind.name()),
        Event::StepSkipped { step, because } => format!("{step} skipped because of {because}"),
        Event::StepCancelled { step } => format!("{step} cancelled"),
        Event::Exhausted { which } => format!("exhausted: {}", which.flag().0),
        Event::Finished { answer, failed: None } => format!("finished: {answer}"),
        Event::Finished { answer, failed: Some(why) } => format!("finished: {answer} [{}: {why}]", why.kind.name()),
        other => json(other),
    })
}

mod erased {
    pub trait Json {
        fn json(&self) -> String;
    }

    impl<T: serde::Serialize> Json for T {
        fn json(&self) -> String {
            serde_json::to_string(self).unwrap()
        }
    }
}
