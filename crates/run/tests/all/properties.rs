//! What holds for every run, whatever the world does to it. `World::feed` checks after each input that folding gives the
//! same run, that deciding again gives the same bytes, that records read back, and that the books are right.

use std::sync::Arc;

use crate::support::{World, calls, cancel, costs, fails, gives, graph, plan, raise, resume, says, writes};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_oneof, proptest};
use serde_json::json;
use updraft_run::{
    ApprovalMode, Budget, BudgetLimit, CallOrder, Ceiling, Cost, Effect, EffectAddress, EffectClass, EffectKind, Event,
    Funds, Graph, Input, Millis, PreparedCall, RecoveryFinding, RecoveryOutcome, ReflectionMode, Reply, Roster,
    RunMode, RunPhase, RunSettings, RunStart, Verdict,
};

/// Something the world does. Numbers pick among what there is at that moment.
#[derive(Clone, Debug)]
enum Deed {
    Answers { pick: u8, words: u8, tokens: u8 },
    Calls { pick: u8, tools: Vec<u8>, tokens: u8 },
    Fails { pick: u8, how: u8 },
    Begins { pick: u8 },
    Estimates { pick: u8, tokens: u8 },
    Repeats { pick: u8 },
    Says,
    Decides { allow: bool },
    Tells,
    Waits { ms: u16 },
    Pauses,
    Resumes { more: bool },
    CancelsStep { pick: u8 },
    Cancels,
    Crashes { found: u8 },
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        12 => (any::<u8>(), any::<u8>(), any::<u8>()).prop_map(|(pick, words, tokens)| Deed::Answers { pick, words, tokens }),
        8 => (any::<u8>(), prop::collection::vec(any::<u8>(), 1..4), any::<u8>())
            .prop_map(|(pick, tools, tokens)| Deed::Calls { pick, tools, tokens }),
        3 => (any::<u8>(), any::<u8>()).prop_map(|(pick, how)| Deed::Fails { pick, how }),
        3 => any::<u8>().prop_map(|pick| Deed::Begins { pick }),
        8 => (any::<u8>(), any::<u8>()).prop_map(|(pick, tokens)| Deed::Estimates { pick, tokens }),
        2 => any::<u8>().prop_map(|pick| Deed::Repeats { pick }),
        3 => Just(Deed::Says),
        3 => any::<bool>().prop_map(|allow| Deed::Decides { allow }),
        1 => Just(Deed::Tells),
        1 => any::<u16>().prop_map(|ms| Deed::Waits { ms }),
        1 => Just(Deed::Pauses),
        4 => any::<bool>().prop_map(|more| Deed::Resumes { more }),
        1 => any::<u8>().prop_map(|pick| Deed::CancelsStep { pick }),
        1 => any::<u8>().prop_filter_map("rarely", |n| (n < 30).then_some(Deed::Cancels)),
        2 => any::<u8>().prop_map(|found| Deed::Crashes { found }),
    ]
}

fn a_graph() -> impl Strategy<Value = Graph> {
    prop::collection::vec((any::<u16>(), 0..4u8), 1..9).prop_map(|steps| {
        let mut graph = graph(&[]);
        for (at, (after, agent)) in steps.into_iter().enumerate() {
            let agent = ["thinker", "coder", "qa", "judge"][agent as usize];
            let mut made = crate::support::graph(&[&format!("s{at}:{agent}")]).steps.remove(0);
            made.after =
                (0..at).filter(|n| after & (1 << n) != 0).map(|n| crate::support::id(&format!("s{n}"))).collect();
            if after & 0x8000 != 0 {
                made.writes = vec![format!("v{at}")];
            }
            if after & 0x4000 != 0 {
                made.reads = made.after.iter().map(|id| format!("v{}", &id.as_str()[1..])).collect();
            }
            graph.steps.push(made);
        }
        let written: Vec<String> = graph.steps.iter().flat_map(|step| step.writes.clone()).collect();
        graph.steps.iter_mut().for_each(|step| step.reads.retain(|name| written.contains(name)));
        graph
    })
}

fn a_limit(most: u64) -> impl Strategy<Value = Option<u64>> {
    prop_oneof![Just(None), (0..most).prop_map(Some)]
}

fn a_budget() -> impl Strategy<Value = Budget> {
    (a_limit(600), a_limit(600), a_limit(300), a_limit(20), a_limit(12)).prop_map(
        |(tokens, cost, time, turns, calls)| Budget {
            tokens,
            cost: cost.map(Cost),
            time: time.map(Millis),
            turns,
            calls,
        },
    )
}

fn a_start() -> impl Strategy<Value = RunStart> {
    let rules = (1..4u32, 1..5u32, 0..3u32, 0..3u32, 1..4u32, 0..4u8, prop_oneof![Just(None), Just(Some(20))]);
    let budgets = (a_budget(), prop_oneof![3 => Just(Budget::default()), 1 => a_budget()], any::<bool>());
    (a_graph(), rules, budgets, 0..3u8).prop_map(|(graph, rules, (budget, step_budget, limited), mode)| {
        let (parallel, turns, revisits, replans, repeats, approvals, window) = rules;
        let approvals =
            [ApprovalMode::Ask, ApprovalMode::Refuse, ApprovalMode::Allow, ApprovalMode::ReadOnly][approvals as usize];
        let settings = RunSettings {
            parallel,
            turns: turns * 4,
            revisits,
            replans,
            repeats,
            approvals,
            window,
            step_budget,
            ..RunSettings::default()
        };
        let mut start = crate::support::start(if mode == 0 { RunMode::Given } else { RunMode::Plan });
        start.plan = (mode == 0).then(|| Arc::new(graph));
        start.settings = Arc::new(settings);
        start.budget = if limited { budget } else { Budget::default() };
        let mut roster = Roster::clone(&start.roster);
        roster
            .agents
            .iter_mut()
            .filter(|agent| agent.name == "judge")
            .for_each(|agent| agent.reflect = ReflectionMode::Model);
        if mode == 2 {
            start.goal.files = vec!["data.csv".into()];
        }
        start.roster = Arc::new(roster);
        start
    })
}

fn a_world(start: RunStart) -> World {
    let world = World::of(start);
    let class = |class, order| PreparedCall { class, order, ..PreparedCall::default() };
    world
        .prepares("write", class(EffectClass::Checkable, CallOrder::Alone))
        .prepares("run_python", class(EffectClass::Opaque, CallOrder::Alone))
        .prepares("fetch", class(EffectClass::Idempotent, CallOrder::Serves))
        .prepares("send", crate::support::outside())
}

fn pick<T>(from: Vec<T>, n: u8) -> Option<T> {
    let len = from.len();
    from.into_iter().nth(usize::from(n).checked_rem(len)?)
}

/// Open effects of a kind that the world may now perform, or has begun to.
fn live(world: &World, wanted: impl Fn(&Effect) -> bool) -> Vec<EffectAddress> {
    let open = world.run.open().iter().filter(|(_, open)| wanted(&open.effect));
    open.filter(|(id, open)| open.begun.is_some() || world.run.may_begin(id)).map(|(id, _)| id.clone()).collect()
}

fn words(world: &World, id: &EffectAddress, n: u8) -> Reply {
    if id.kind == EffectKind::Judge {
        let verdict = ["accept", "retry", "pivot", "replan", "what?"][usize::from(n) % 5];
        return says(&json!({ "verdict": verdict, "feedback": "hm" }).to_string());
    }
    let fresh = world.run.steps().count();
    if id.step.as_str() == "plan" {
        let a = format!("n{fresh}");
        let b = format!("m{fresh} < {a}");
        return match n % 4 {
            0 => says("I would rather not"),
            1 => plan(&[&a, &a]),
            2 => plan(&[&a, &b]),
            _ => plan(&[&a, &b, &format!("q{fresh}:qa < m{fresh}")]),
        };
    }
    let name = &id.step.as_str()[1..];
    match n % 12 {
        0 => says(""),
        1 => says("{\"torn\": [1, 2"),
        2 => says("{\"error\": \"it broke\"}"),
        3 => says("{\"verdict\": \"reject\", \"feedback\": \"no\"}"),
        4 => says("{\"call_self\": true, \"next_instruction\": \"more\"}"),
        5 => says("{\"call_self\": true, \"code\": \"print(1)\"}"),
        6 => writes("TOOL_CALL: read\nARGUMENTS: {\"q\": 1}"),
        7 => says(&format!("{{\"v{name}\": 7}}")),
        _ => says("a good answer"),
    }
}

/// What the test counts by itself.
#[derive(Default)]
struct Tally {
    tokens: u64,
    replies: Vec<Input>,
}

impl Tally {
    /// Replies to an ask with no more than was reserved for it.
    fn answer(&mut self, world: &mut World, id: &EffectAddress, reply: Reply, tokens: u8) {
        let open = &world.run.open()[id];
        let most = match open.funds {
            Funds::Reserved(ceiling) => ceiling.tokens,
            Funds::None | Funds::Held(_) => 1_000,
        };
        let tokens = u64::from(tokens).min(most);
        let reply = costs(tokens, reply);
        self.tokens += if matches!(reply, Reply::Answer(_)) { tokens } else { 0 };
        self.reply(world, id, reply);
    }

    fn reply(&mut self, world: &mut World, id: &EffectAddress, reply: Reply) {
        let attempt = world.run.open()[id].attempt;
        let prepared = world.prepare(id, &reply);
        let input = Input::Replied { id: id.clone(), attempt, reply, prepared };
        self.replies.push(input.clone());
        world.feed(input);
    }
}

fn is_ask(effect: &Effect) -> bool {
    *effect == Effect::Ask
}

fn is_busy(effect: &Effect) -> bool {
    !effect.is_patient()
}

fn act(world: &mut World, tally: &mut Tally, deed: &Deed) {
    match deed {
        Deed::Answers { pick: n, words: w, tokens } => match pick(live(world, is_busy), *n) {
            Some(id) if id.kind == EffectKind::Call => tally.reply(world, &id, gives("some output")),
            Some(id) => {
                let reply = words(world, &id, *w);
                tally.answer(world, &id, reply, *tokens);
            }
            None => {}
        },
        Deed::Calls { pick: n, tools, tokens } => {
            if let Some(id) = pick(live(world, is_ask), *n) {
                let names =
                    ["read x", "write y", "fetch z", "send w", "ask_user which?", "run_python 1", "no_such_tool"];
                let tools: Vec<&str> = tools.iter().map(|n| names[usize::from(*n) % names.len()]).collect();
                tally.answer(world, &id, calls(&tools), *tokens);
            }
        }
        Deed::Fails { pick: n, how } => {
            if let Some(id) = pick(live(world, |_| true), *n) {
                let reply = match how % 4 {
                    0 => fails("broken"),
                    1 => Reply::TimedOut { limit: Millis(30_000) },
                    2 => Reply::Cancelled,
                    _ => Reply::InDoubt { evidence: "nobody knows".into() },
                };
                tally.reply(world, &id, reply);
            }
        }
        Deed::Begins { pick: n } => {
            let open: Vec<EffectAddress> =
                world.run.open().keys().filter(|id| world.run.may_begin(id)).cloned().collect();
            if let Some(id) = pick(open, *n) {
                world.begin(&id);
            }
        }
        Deed::Estimates { pick: n, tokens } => {
            if let Some(id) = pick(world.run.open().keys().cloned().collect(), *n) {
                let tokens = u64::from(*tokens);
                world.feed(Input::Estimated { id, ceiling: Ceiling { tokens, cost: Some(Cost(tokens)) } });
            }
        }
        Deed::Repeats { pick: n } => {
            if let Some(input) = pick(tally.replies.clone(), *n) {
                let counted = |event: &Event| matches!(event, Event::Replied { .. });
                let record = world.feed(input);
                assert!(!record.events.iter().any(counted), "a reply was counted twice: {record:?}");
            }
        }
        Deed::Says => drop(world.feed(Input::Answer { id: None, text: "blue".into() })),
        Deed::Decides { allow } => {
            let verdict = Verdict { allow: *allow, by: "ann".into(), ..Verdict::default() };
            world.feed(Input::Verdict { id: None, verdict });
        }
        Deed::Tells => drop(world.feed(Input::Tell { message: "hurry".into() })),
        Deed::Waits { ms } => {
            world.now += i64::from(*ms % 100);
            world.feed(Input::Due);
        }
        Deed::Pauses => drop(world.feed(Input::Pause)),
        Deed::Resumes { more } => {
            let more = more.then(|| more_of(world.run.budget()));
            world.feed(more.map_or_else(resume, raise));
        }
        Deed::CancelsStep { pick: n } => {
            if let Some(id) = pick(world.run.steps().map(|step| step.spec.id.clone()).collect(), *n) {
                world.feed(Input::Cancel { by: "ann".into(), step: Some(id) });
            }
        }
        Deed::Cancels => drop(world.feed(cancel())),
        Deed::Crashes { found } => crash(world, *found),
    }
}

fn crash(world: &mut World, found: u8) {
    let calls = world.run.open().iter().filter(|(_, open)| open.effect == Effect::Call);
    let found = calls.map(|(id, _)| RecoveryFinding {
        id: id.clone(),
        found: match found % 3 {
            0 => RecoveryOutcome::Happened(gives("it had happened")),
            1 => RecoveryOutcome::DidNotHappen,
            _ => RecoveryOutcome::CannotTell("no trace".into()),
        },
    });
    let found = found.collect();
    world.recover(found);
}

fn more_of(budget: &Budget) -> Budget {
    Budget {
        cost: budget.cost.map(|cost| Cost(cost.0 + 200)),
        tokens: budget.tokens.map(|tokens| tokens + 200),
        time: budget.time.map(|time| Millis(time.0 + 500)),
        turns: budget.turns.map(|turns| turns + 5),
        calls: budget.calls.map(|calls| calls + 5),
    }
}

fn check(world: &World, tally: &Tally) {
    let (ledger, budget) = (world.run.ledger(), world.run.budget());
    assert_eq!(ledger.usage.tokens(), tally.tokens, "every reply is counted once");
    assert!(budget.tokens.is_none_or(|limit| ledger.usage.tokens() <= limit), "{ledger:?} of {budget:?}");
    assert!(budget.cost.is_none_or(|limit| ledger.cost() <= limit), "{ledger:?} of {budget:?}");
    assert!(budget.turns.is_none_or(|limit| ledger.turns <= limit), "{ledger:?} of {budget:?}");
    assert!(budget.calls.is_none_or(|limit| ledger.calls <= limit), "{ledger:?} of {budget:?}");
    let at_work = world.run.steps().filter(|step| step.is_at_work()).count();
    assert!(at_work <= world.run.settings().parallel as usize);
    let events = world.records.last().map_or(0, |record| record.events.len());
    assert!(events < 400, "one input led to {events} events");
}

/// From any state, a world that does its best brings the run to an end.
fn ends(world: &mut World, tally: &mut Tally) {
    let all = Budget {
        cost: Some(Cost(u64::MAX)),
        tokens: Some(u64::MAX),
        time: Some(Millis(u64::MAX)),
        turns: Some(u64::MAX),
        calls: Some(u64::MAX),
    };
    world.feed(raise(all));
    for _ in 0..3_000 {
        let Some((id, open)) = world.run.open().iter().next() else {
            // A step that went round in circles gets another try each time.
            if *world.run.phase() != RunPhase::Exhausted(BudgetLimit::Loop) {
                break;
            }
            world.feed(crate::support::resume());
            continue;
        };
        let (id, open) = (id.clone(), open.clone());
        match open.effect {
            Effect::Question { .. } => tally.reply(world, &id, Reply::Said("blue".into())),
            Effect::Approval { .. } => tally.reply(world, &id, Reply::Verdict(crate::support::allow())),
            Effect::Call => tally.reply(world, &id, gives("output")),
            _ if matches!(world.run.phase(), RunPhase::Cancelling { .. }) => tally.reply(world, &id, Reply::Cancelled),
            _ if open.funds == Funds::None => {
                world.feed(Input::Estimated { id, ceiling: Ceiling { tokens: 5, cost: Some(Cost(5)) } });
            }
            _ => {
                let reply = words(world, &id, if id.step.as_str() == "plan" { 3 } else { 11 });
                tally.answer(world, &id, reply, 5);
            }
        }
    }
    assert!(world.run.is_over(), "it never ends: {:?}, open {:?}", world.run.phase(), world.open());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_run_keeps_its_rules_and_comes_to_an_end(
        start in a_start(),
        deeds in prop::collection::vec(deed(), 0..60),
    ) {
        let mut world = a_world(start);
        let mut tally = Tally::default();
        for deed in &deeds {
            act(&mut world, &mut tally, deed);
            check(&world, &tally);
        }
        ends(&mut world, &mut tally);
    }

    #[test]
    fn a_checked_graph_without_failures_is_done_in_full(graph in a_graph()) {
        let start = RunStart { plan: Some(Arc::new(graph.clone())), ..crate::support::start(RunMode::Given) };
        let mut world = World::of(start);
        let mut tally = Tally::default();
        while let Some(id) = world.run.open().keys().next_back().cloned() {
            let reply = if id.kind == EffectKind::Judge { says("{\"verdict\": \"accept\"}") } else { says("fine") };
            tally.answer(&mut world, &id, reply, 1);
        }
        assert!(world.run.is_over());
        assert!(world.run.steps().all(|step| step.status() == "completed"));
    }
}

#[test]
fn numbers_of_any_precision_read_back_as_they_were() {
    for number in [0.1 + 0.2, 1e-310, 2.225_073_858_507_201e-308, 123_456_789.123_456_79, 4.35, f64::MAX] {
        let mut world = World::of(crate::support::given(&["a"]));
        world.reply(&crate::support::at("a/0/0/ask.0"), calls(&["read x"]));
        world.reply(&crate::support::at("a/0/0/call.0"), crate::support::gives_value("n", json!({ "number": number })));
    }
}
