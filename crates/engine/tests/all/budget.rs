//! A budget in money holds however many steps work at once, and whenever the process ends.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken test should stop")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::support::{World, calls, goal, says, settings, specs, step, turn};
use serde_json::json;
use tokio::sync::Notify;
use updraft_engine::{Agents, Engine, EngineOptions, NewRun, Prompts, RunHandle, RunWatcher, replay};
use updraft_journal::Status;
use updraft_models::{Delta, DeltaCallback, Model, ModelFuture, Price, Prompt, RequestDraft};
use updraft_run::{
    Budget, BudgetLimit, Cost, EffectAddress, Event, Funds, Graph, Input, ModelAnswer, Record, Run, RunId, RunPhase,
    TokenUsage,
};

const STEPS: usize = 16;
const DOLLAR: u64 = 1_000_000_000;

fn id() -> RunId {
    RunId::parse("capped").unwrap()
}

/// A model that bills every question the moment it is asked, and takes its time to answer.
struct Priced {
    price: Price,
    billed: Arc<Mutex<u64>>,
}

impl Priced {
    fn answer(&self, prompt: &Prompt<'_>) -> ModelAnswer {
        let number: usize = prompt.brief.step.trim_start_matches('s').parse().unwrap();
        let turn = turn(prompt);
        let said = if turn < number % 4 {
            calls(&[("list_files", json!({ "path": ".", "limit": turn + 1 }))])
        } else {
            says(format!("{} is done", prompt.brief.step))
        };
        // Within the ceiling: the prompt as it was estimated, and at most the cap on the answer.
        let output = 200 + (number as u64 * 977 + turn as u64 * 2_503) % (prompt.max_output - 200);
        let usage = TokenUsage { input: prompt.estimated_tokens(), output, ..TokenUsage::default() };
        ModelAnswer { usage: TokenUsage { cost: Some(self.price.of(&usage)), ..usage }, ..said }
    }
}

impl Model for Priced {
    fn name(&self) -> &'static str {
        "scripted/test"
    }

    fn price(&self) -> Option<Price> {
        Some(self.price)
    }

    fn ask<'a>(&'a self, prompt: &'a Prompt<'a>, _: &'a mut RequestDraft, _: DeltaCallback<'a>) -> ModelFuture<'a> {
        Box::pin(async move {
            let answer = self.answer(prompt);
            *self.billed.lock().unwrap() += answer.usage.cost.unwrap().0;
            let number: usize = prompt.brief.step.trim_start_matches('s').parse().unwrap();
            for _ in 0..=number % 5 {
                tokio::task::yield_now().await;
            }
            Ok(answer)
        })
    }
}

/// Holds the account to its cap after every record, and ends the process after so many.
struct Auditor {
    left: Mutex<Option<u32>>,
    seen: Notify,
    cap: u64,
}

impl RunWatcher for Auditor {
    fn record(&self, _: &RunId, _: u64, record: &Record, run: &Run) {
        let ledger = run.ledger();
        let promised = ledger.cost().0 + ledger.reserved.cost.unwrap_or_default().0;
        assert!(promised <= self.cap, "{promised} of {} after {record:?}", self.cap);
        assert_eq!(run.audit(), Vec::<String>::new());
        let mut left = self.left.lock().unwrap();
        *left = left.and_then(|left| left.checked_sub(1));
        if *left == Some(0) {
            self.seen.notify_one();
        }
    }

    fn delta(&self, _: &RunId, _: &EffectAddress, _: Delta<'_>) {}
}

struct Capped {
    world: World,
    billed: Arc<Mutex<u64>>,
}

impl Capped {
    fn new() -> Self {
        Self { world: World::quick(), billed: Arc::default() }
    }

    /// An engine that ends after so many records, and holds its run to this many dollars.
    fn engine(&self, ends_after: Option<u32>, dollars: u64) -> (Engine, Arc<Auditor>) {
        let price = Price::per_million(1.0, 10.0, None, None);
        let model = Priced { price, billed: Arc::clone(&self.billed) };
        let auditor = Arc::new(Auditor { left: Mutex::new(ends_after), seen: Notify::new(), cap: dollars * DOLLAR });
        let options = EngineOptions { watch: auditor.clone(), ..EngineOptions::default() };
        (self.world.engine_with(Arc::new(model), options), auditor)
    }

    async fn start(&self, engine: &Engine) -> RunHandle {
        let names: Vec<String> = (0..STEPS).map(|n| format!("s{n}")).collect();
        let steps = names.iter().map(|name| step(name, "retriever", &[], &[name])).collect();
        let (agents, prompts) = (Agents::compiled_in().unwrap(), Prompts::compiled_in());
        let new = NewRun {
            goal: goal("do them all"),
            settings: settings(&self.world.workspace()),
            budget: Budget { cost: Some(Cost(DOLLAR)), ..Budget::default() },
            plan: Some(Graph { steps }),
            agents: &agents,
            prompts: &prompts,
            tools: &specs,
            models: &|_| None,
            only_reads: &|_| true,
            pictures: Vec::new(),
        };
        engine.start(id(), new).await.unwrap()
    }

    fn billed(&self) -> u64 {
        *self.billed.lock().unwrap()
    }

    /// The dollar is used up: what there is is a partial result, and twenty more finish it.
    async fn is_used_up_and_finishes_with_more(&self, engine: &Engine, run: &Run) {
        assert_eq!(*run.phase(), RunPhase::Exhausted(BudgetLimit::Cost));
        assert_eq!(engine.journal().head(&id()).unwrap().status, Status::Exhausted);
        assert!(self.billed() <= DOLLAR, "{} was billed", self.billed());
        assert!(self.billed() <= run.ledger().cost().0, "what was billed is on the account");
        engine.journal().clone().close().await;

        let (more, _) = self.engine(None, 21);
        // Opened without more, it stays where it is and asks for nothing.
        let before = self.billed();
        let rested = more.open(&id()).await.unwrap().drive().await.unwrap();
        assert_eq!(*rested.run.phase(), RunPhase::Exhausted(BudgetLimit::Cost));
        assert_eq!(self.billed(), before);
        let mut handle = more.open(&id()).await.unwrap();
        let budget = Budget { cost: Some(Cost(21 * DOLLAR)), ..Budget::default() };
        handle.send(Input::Resume { budget: Some(budget), approvals: None });
        let rested = handle.drive().await.unwrap();
        assert_eq!(rested.run.status_word(), "done", "{:?}", rested.run.phase());
        let answer = rested.run.answer();
        assert!((0..STEPS).all(|n| answer.contains(&format!("s{n} is done"))), "{answer}");
        assert!(self.billed() <= 21 * DOLLAR);
        assert_eq!(replay(more.journal(), &id()).unwrap().differences, []);
        more.journal().clone().close().await;
    }
}

#[tokio::test]
async fn sixteen_steps_at_once_never_spend_more_than_their_dollar() {
    let capped = Capped::new();
    let (engine, _) = capped.engine(None, 1);
    let rested = capped.start(&engine).await.drive().await.unwrap();
    let done = (0..STEPS).filter(|n| rested.run.answer().contains(&format!("s{n} is done"))).count();
    assert!(done > 0 && done < STEPS, "{done} are done, and the rest waits for more");
    assert!(capped.billed() > DOLLAR / 2, "{} of the dollar was used", capped.billed());
    capped.is_used_up_and_finishes_with_more(&engine, &rested.run).await;
}

#[tokio::test]
async fn a_process_that_ends_at_any_record_leaves_the_dollar_whole() {
    for n in 1..400 {
        let capped = Capped::new();
        let (engine, auditor) = capped.engine(Some(n), 1);
        let handle = capped.start(&engine).await;
        let cut_off = tokio::select! {
            biased;
            () = auditor.seen.notified() => true,
            rested = handle.drive() => { rested.unwrap(); false }
        };
        engine.journal().clone().close().await;
        if !cut_off {
            assert!(n > 20, "{n}");
            return;
        }
        let (next, _) = capped.engine(None, 1);
        let rested = next.open(&id()).await.unwrap().drive().await.unwrap();
        capped.is_used_up_and_finishes_with_more(&next, &rested.run).await;
    }
    panic!("it does not come to its end");
}

#[tokio::test]
async fn what_may_have_been_billed_when_the_process_ended_stays_on_the_account() {
    let capped = Capped::new();
    let (engine, auditor) = capped.engine(Some(12), 1);
    let handle = capped.start(&engine).await;
    tokio::select! {
        biased;
        () = auditor.seen.notified() => {}
        _ = handle.drive() => panic!("it was to be cut off"),
    }
    let before = engine.load(&id()).unwrap();
    engine.journal().clone().close().await;
    let reserved: BTreeMap<EffectAddress, u64> = before
        .open()
        .iter()
        .filter_map(|(at, open)| match open.funds {
            Funds::Reserved(ceiling) => Some((at.clone(), ceiling.cost.unwrap().0)),
            Funds::None | Funds::Held(_) => None,
        })
        .collect();
    assert!(!reserved.is_empty());
    let (next, _) = capped.engine(None, 1);
    next.open(&id()).await.unwrap().drive().await.unwrap();
    let interrupted = next.journal().load(&id()).unwrap().into_iter().flat_map(|record| record.events).filter_map(
        |event| match event {
            Event::Interrupted { id, .. } => Some(id),
            _ => None,
        },
    );
    let interrupted: Vec<EffectAddress> = interrupted.collect();
    assert_eq!(interrupted, reserved.keys().cloned().collect::<Vec<_>>());
    let doubtful = next.load(&id()).unwrap().ledger().doubtful.cost.unwrap().0;
    assert_eq!(doubtful, reserved.values().sum::<u64>());
}

/// A model at a price that says nothing until the process has ended.
struct Hanging(Priced, Arc<Notify>);

impl Model for Hanging {
    fn name(&self) -> &'static str {
        "scripted/test"
    }

    fn price(&self) -> Option<Price> {
        self.0.price()
    }

    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt<'a>,
        draft: &'a mut RequestDraft,
        hear: DeltaCallback<'a>,
    ) -> ModelFuture<'a> {
        if prompt.attempt > 1 {
            return self.0.ask(prompt, draft, hear);
        }
        self.1.notify_one();
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_call_cut_off_without_a_budget_is_on_the_account_before_it_is_made() {
    let (world, asked) = (World::quick(), Arc::new(Notify::new()));
    let price = Price::per_million(1.0, 10.0, None, None);
    let hanging = || Hanging(Priced { price, billed: Arc::default() }, Arc::clone(&asked));
    let engine = world.engine_with(Arc::new(hanging()), EngineOptions::default());
    let (agents, prompts) = (Agents::compiled_in().unwrap(), Prompts::compiled_in());
    let new = NewRun {
        goal: goal("do it"),
        settings: settings(&world.workspace()),
        budget: Budget::default(),
        plan: Some(Graph { steps: vec![step("s0", "retriever", &[], &["s0"])] }),
        agents: &agents,
        prompts: &prompts,
        tools: &specs,
        models: &|_| None,
        only_reads: &|_| true,
        pictures: Vec::new(),
    };
    let handle = engine.start(id(), new).await.unwrap();
    tokio::select! {
        biased;
        () = asked.notified() => {}
        _ = handle.drive() => panic!("it was to be cut off"),
    }
    let cut = engine.load(&id()).unwrap();
    let ceiling = cut.ledger().outstanding().cost.unwrap().0;
    assert!(ceiling > 0 && cut.ledger().reservations == 1, "{:?}", cut.ledger());
    engine.journal().clone().close().await;

    let next = world.engine_with(Arc::new(hanging()), EngineOptions::default());
    let rested = next.open(&id()).await.unwrap().drive().await.unwrap();
    let ledger = rested.run.ledger();
    assert_eq!(rested.run.status_word(), "done", "{:?}", rested.run.phase());
    assert_eq!((ledger.doubtful.cost.unwrap().0, ledger.cut_off, ledger.requests()), (ceiling, 1, 2));
    assert_eq!(replay(next.journal(), &id()).unwrap().differences, []);
    next.journal().clone().close().await;
}
