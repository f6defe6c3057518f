//! Conversations that are summarised again and again lose nothing that matters: what is pinned stays as it was, the journal
//! has every turn, and facts that no summary mentions are found again.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken test should stop")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use serde_json::json;
use updraft_engine::{
    Agents, Background, DriveResult, Engine, EngineOptions, NewRun, Prompts, RealPerformer, messages, replay,
};
use updraft_models::{ModelAccess, Prompt, ScriptedModel};
use updraft_run::{
    Budget, EffectKind, Event, Goal, Input, Message, ModelAnswer, Record, Reply, RunId, RunSettings, TokenUsage,
};
use updraft_tools::{Dispatcher, MemoryAccess, Registry, ToolLimits};

use crate::support::{World, by, calls, says, settings};

/// Tokens of the model's window.
const WINDOW: u64 = 20_000;

/// What a server counts for a prompt: a token for three bytes.
fn counted(text: &str) -> TokenUsage {
    TokenUsage { input: text.len() as u64 / 3, ..TokenUsage::default() }
}

/// So much is said with each call that a few turns fill the window.
fn at_length() -> String {
    "I note that down. ".repeat(330)
}

fn id() -> RunId {
    RunId::parse("long").unwrap()
}

/// The real tools, with those for memory.
fn registry(world: &World) -> Registry {
    let memory = Arc::new(MemoryAccess::new(world.folder.path().join("memory.db"), None));
    Registry::standard(&ToolLimits::default()).with_memory(&memory)
}

fn engine(world: &World, answer: impl Fn(&Prompt<'_>) -> ModelAnswer + Send + Sync + 'static) -> Engine {
    let model = ScriptedModel::from_fn("scripted/test", answer);
    let dispatcher = Dispatcher::new(registry(world), ToolLimits::default());
    let performer = RealPerformer::new(ModelAccess::default(), dispatcher).with_model("scripted/test", Arc::new(model));
    Engine::new(world.journal(), Arc::new(performer), EngineOptions::default())
}

/// Starts and drives a run by the coder.
async fn drive(world: &World, engine: &Engine, goal: Goal, told: Option<&str>) -> DriveResult {
    let (agents, prompts, registry) = (Agents::compiled_in().unwrap(), Prompts::compiled_in(), registry(world));
    let own = RunSettings {
        query_turns: 1_000,
        least_turns: Some(1_000),
        window: Some(WINDOW),
        ..settings(&world.workspace())
    };
    let new = NewRun {
        goal,
        settings: own,
        budget: Budget::default(),
        plan: None,
        agents: &agents,
        prompts: &prompts,
        tools: &|names| registry.specs_for(names),
        models: &|_| None,
        only_reads: &|_| true,
        pictures: Vec::new(),
    };
    let memory = json!([{ "id": 1, "text": PINNED_MEMORY, "scope": "user", "name": "", "pinned": true, "made": 0 }]);
    let background = Background { memory, ..Background::default() };
    let mut handle = engine.start_with(id(), new, background).await.unwrap();
    if let Some(told) = told {
        handle.send(Input::Tell { message: told.to_owned() });
    }
    handle.drive().await.unwrap()
}

fn texts(prompt: &Prompt<'_>) -> String {
    let mut text = String::new();
    for message in prompt.messages {
        match message {
            Message::User(said) => text.push_str(said),
            Message::Assistant(answer) => text.push_str(&answer.text),
            Message::Results(results) => results.iter().for_each(|result| text.push_str(&result.text)),
            Message::Pictures(_) => {}
        }
        text.push('\n');
    }
    text
}

fn is_summary(prompt: &Prompt<'_>) -> bool {
    prompt.brief.side_question == Some(EffectKind::Compact)
}

fn records(engine: &Engine) -> Vec<Record> {
    engine.journal().load(&id()).unwrap()
}

const GOAL: &str = "Count the files,\tagain \u{2028} and again: \"{{goal}}\" \\n é";
const INSTRUCTIONS: &str = "Never   touch `a  b`.\r\nKeep\ttabs — and “quotes” {{documents}}.";
const TOLD: &str = "Also: the budget is 1\u{a0}000 €, {{message}}.";
const PINNED_MEMORY: &str = "Anna prefers  two spaces, and {{memory}}.";
const COMPACTIONS: usize = 60;

#[tokio::test]
async fn sixty_compactions_leave_what_is_pinned_byte_for_byte_and_the_journal_whole() {
    let world = World::quick();
    std::fs::write(world.workspace().join("AGENTS.md"), INSTRUCTIONS).unwrap();
    let asked: Arc<Mutex<(usize, usize)>> = Arc::default();
    let heard = Arc::clone(&asked);
    let engine = engine(&world, move |prompt| {
        let mut asked = heard.lock().unwrap();
        let text = texts(prompt);
        for pinned in [GOAL, INSTRUCTIONS, PINNED_MEMORY] {
            assert_eq!(text.matches(pinned).count(), 1, "{pinned:?} in {text}");
        }
        // The person's message came after the first question was asked.
        assert_eq!(text.matches(TOLD).count(), usize::from(asked.0 > 0), "{text}");
        if is_summary(prompt) {
            asked.1 += 1;
            return ModelAnswer { usage: counted(&text), ..says(format!("Counted {} times.", asked.0)) };
        }
        asked.0 += 1;
        let (turn, compacted) = *asked;
        if compacted == COMPACTIONS {
            return says("done");
        }
        let call = calls(&[("list_files", json!({ "path": ".", "limit": turn }))]);
        ModelAnswer { text: format!("Turn <{turn}>. {}", at_length()), usage: counted(&text), ..call }
    });
    let rested = drive(&world, &engine, by("coder", GOAL), Some(TOLD)).await;
    assert_eq!(rested.run.answer(), "done", "{:?}", rested.run.phase());

    let events: Vec<Event> = records(&engine).into_iter().flat_map(|record| record.events).collect();
    let mut progress = 0;
    let mut compactions = 0;
    for event in &events {
        match event {
            Event::Replied { id, .. } if id.kind == EffectKind::Ask => progress += 1,
            Event::Compacted { .. } => {
                assert!(progress > 0, "two in a row without progress, at {compactions}");
                (progress, compactions) = (0, compactions + 1);
            }
            _ => {}
        }
    }
    assert_eq!(compactions, COMPACTIONS);
    let whole = messages(engine.journal(), &id()).unwrap();
    let turns = asked.lock().unwrap().0;
    for turn in 1..turns {
        let mark = format!("Turn <{turn}>.");
        let said = whole.iter().filter(|message| message["text"].as_str().unwrap().starts_with(&mark)).count();
        assert_eq!(said, 1, "{mark}");
    }
    assert_eq!(replay(engine.journal(), &id()).unwrap().differences, []);
}

const NAMES: [&str; 40] = [
    "harbour",
    "mill",
    "sluice",
    "tower",
    "archive",
    "bakery",
    "chapel",
    "dairy",
    "ferry",
    "garden",
    "hangar",
    "inn",
    "jetty",
    "kiln",
    "library",
    "market",
    "nursery",
    "orchard",
    "pantry",
    "quarry",
    "refinery",
    "stable",
    "tannery",
    "university",
    "vault",
    "windmill",
    "yard",
    "zoo",
    "barracks",
    "cinema",
    "depot",
    "embassy",
    "foundry",
    "granary",
    "hospital",
    "island",
    "jewellery",
    "kennel",
    "lighthouse",
    "museum",
];

fn code(at: usize) -> String {
    format!("{}-{}", 1_000 + 37 * at, (b'A' + (at % 26) as u8) as char)
}

/// Ten documents of some length with four facts each.
fn write_facts(world: &World) {
    for part in 0..10 {
        let mut text = String::new();
        for (at, name) in NAMES.iter().enumerate().skip(4 * part).take(4) {
            let _ = write!(text, "Report {at}. The inspection took place in spring and nothing was damaged.\n\n");
            let _ = write!(text, "The door of the {name} opens with the code {}.\n\n", code(at));
        }
        std::fs::write(world.workspace().join(format!("part{part}.txt")), text).unwrap();
    }
}

#[tokio::test]
async fn of_forty_facts_that_three_summaries_left_out_at_least_thirty_eight_are_found_again() {
    let world = World::quick();
    write_facts(&world);
    let known: Arc<Mutex<BTreeSet<usize>>> = Arc::default();
    let (turns, found) = (Mutex::new(0_usize), Arc::clone(&known));
    let engine = engine(&world, move |prompt| {
        if is_summary(prompt) {
            return says("Some files were read.");
        }
        let mut turn = turns.lock().unwrap();
        let at = *turn;
        *turn += 1;
        // Ten turns read a file each; the rest ask for one fact each. What a result says counts as known.
        if at > 10
            && let Some(Message::Results(results)) = prompt.messages.last()
            && results.iter().any(|result| result.text.contains(&format!("code {}.", code(at - 11))))
        {
            found.lock().unwrap().insert(at - 11);
        }
        let usage = counted(&texts(prompt));
        let call = match at {
            0..10 => calls(&[("read_file", json!({ "path": format!("part{at}.txt") }))]),
            10..50 => {
                let question = format!("Which code opens the door of the {}?", NAMES[at - 10]);
                calls(&[("recall", json!({ "query": question, "limit": 3 }))])
            }
            _ => says("done"),
        };
        let text = if call.calls.is_empty() { call.text.clone() } else { at_length() };
        ModelAnswer { usage, text, ..call }
    });
    let rested = drive(&world, &engine, by("coder", GOAL), None).await;
    assert_eq!(rested.run.answer(), "done", "{:?}", rested.run.phase());
    let events = records(&engine).into_iter().flat_map(|record| record.events).collect::<Vec<_>>();
    let compactions = events.iter().filter(|event| matches!(event, Event::Compacted { .. })).count();
    assert!(compactions >= 3, "{compactions}");
    let is_recall = |event: &&Event| matches!(event, Event::Replied { reply: Reply::Output(output), .. } if output.text.contains("earlier in this step"));
    assert!(events.iter().filter(is_recall).count() >= 38);
    let count = known.lock().unwrap().len();
    assert!(count >= 38, "{count} of 40 facts");
    assert_eq!(replay(engine.journal(), &id()).unwrap().differences, []);
}
