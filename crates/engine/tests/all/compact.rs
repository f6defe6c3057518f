//! Long conversations are summarised again and again: prompts stay bounded, what the user said stays word for word, and
//! every prompt can be made again.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken test should stop")]

use std::sync::{Arc, Mutex};

use crate::support::{World, by, calls, says, settings, start};
use serde_json::json;
use updraft_engine::{Engine, EngineOptions, RunHandle, RunWatcher, replay};
use updraft_models::{Delta, DeltaCallback, Model, ModelFuture, Price, Prompt, RequestDraft, ScriptedModel};
use updraft_run::{EffectAddress, EffectKind, Event, Input, Message, ModelAnswer, Record, Run, RunId, TokenUsage};

const TURNS: usize = 200;
/// Tokens of the model's window.
const WINDOW: u64 = 20_000;

fn id() -> RunId {
    RunId::parse("long").unwrap()
}

/// What was asked, in order.
#[derive(Default)]
struct Heard {
    /// The words of each prompt for a turn.
    prompts: Vec<String>,
    /// How many prompts had been heard when each summary was asked for.
    summaries: Vec<usize>,
}

fn words(prompt: &Prompt<'_>) -> String {
    let mut text = String::new();
    for message in prompt.messages {
        match message {
            Message::User(said) => text.push_str(said),
            Message::Assistant(answer) => text.push_str(&answer.text),
            Message::Results(results) => results.iter().for_each(|result| text.push_str(&result.text)),
            Message::Pictures(pictures) => pictures.iter().for_each(|picture| text.push_str(&picture.name)),
        }
        text.push('\n');
    }
    text
}

fn is_summary(prompt: &Prompt<'_>) -> bool {
    prompt.brief.side_question == Some(EffectKind::Compact)
}

/// What a server counts: a token for three bytes of everything.
fn counted(prompt: &Prompt<'_>) -> u64 {
    let tools = prompt.tools.iter().map(|tool| tool.description.len() + tool.parameters.to_string().len());
    (words(prompt).len() + prompt.system.len() + tools.sum::<usize>()) as u64 / 3
}

/// Lists files again and again, differently each time, and is done after so many turns.
fn answer(heard: &Mutex<Heard>, prompt: &Prompt<'_>) -> ModelAnswer {
    let mut heard = heard.lock().unwrap();
    let text = words(prompt);
    let used = counted(prompt);
    assert!(!prompt.tools.is_empty(), "the request for a summary has the same tools, so that caches hold");
    let said = if is_summary(prompt) {
        let so_far = heard.prompts.len();
        heard.summaries.push(so_far);
        says("Files were listed.")
    } else {
        heard.prompts.push(text);
        let at = heard.prompts.len();
        match at {
            TURNS.. => says("listed"),
            _ => ModelAnswer {
                text: format!("turn {at} {}", "x".repeat(1_500)),
                ..calls(&[("list_files", json!({ "path": ".", "limit": at }))])
            },
        }
    };
    ModelAnswer { usage: TokenUsage { input: used, output: 100, ..TokenUsage::default() }, ..said }
}

struct Long {
    world: World,
    heard: Arc<Mutex<Heard>>,
}

impl Long {
    fn new() -> Self {
        Self { world: World::quick(), heard: Arc::default() }
    }

    fn engine(&self, watch: Arc<dyn RunWatcher>) -> Engine {
        let heard = Arc::clone(&self.heard);
        let model = ScriptedModel::from_fn("scripted/test", move |prompt| answer(&heard, prompt));
        self.world.engine_with(Arc::new(model), EngineOptions { watch, ..EngineOptions::default() })
    }

    async fn start(&self, engine: &Engine) -> RunHandle {
        let mut own = settings(&self.world.workspace());
        own.query_turns = TURNS as u32 + 50;
        own.window = Some(WINDOW);
        start(engine, "long", by("retriever", "list them all"), own, None).await
    }

    /// What holds however the run came to its end.
    fn ended_well(&self, engine: &Engine, notes: &[String]) {
        let run = engine.load(&id()).unwrap();
        assert_eq!((run.status_word(), run.answer().as_str()), ("done", "listed"));
        let heard = self.heard.lock().unwrap();
        let longest = heard.prompts.iter().map(String::len).max().unwrap();
        let pinned: usize = notes.iter().map(String::len).sum();
        assert!(longest < 3 * WINDOW as usize + 16_000 + 3 * pinned, "a prompt of {longest} bytes");
        let last = heard.prompts.last().unwrap();
        for note in notes {
            assert_eq!(last.matches(note.as_str()).count(), 1, "`{note}` in {last}");
        }
        assert!(heard.summaries.len() >= 5, "{:?}", heard.summaries);
        let progress = heard.summaries.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
        assert!(progress >= 4, "{:?}", heard.summaries);
        let replayed = replay(engine.journal(), &id()).unwrap();
        assert_eq!(replayed.differences, []);
        assert_eq!(replayed.prompts as usize, heard.prompts.len() + heard.summaries.len());
    }
}

/// Hands inputs to the run when certain things are on disk.
struct Tells {
    sender: Mutex<Option<updraft_engine::RunSender>>,
    told: Mutex<Vec<String>>,
    when: fn(&Event) -> usize,
    most: usize,
}

impl Tells {
    fn at_most(most: usize, when: fn(&Event) -> usize) -> Arc<Self> {
        Arc::new(Self { sender: Mutex::default(), told: Mutex::default(), when, most })
    }
}

impl RunWatcher for Tells {
    fn record(&self, _: &RunId, _: u64, record: &Record, _: &Run) {
        let sender = self.sender.lock().unwrap();
        let Some(sender) = sender.as_ref() else { return };
        let mut told = self.told.lock().unwrap();
        let wanted: usize = record.events.iter().map(self.when).sum();
        for _ in 0..wanted.min(self.most - told.len()) {
            let note = format!("Remember <number {}> for good.", told.len());
            assert!(sender.send(Input::Tell { message: note.clone() }));
            told.push(note);
        }
    }

    fn delta(&self, _: &RunId, _: &EffectAddress, _: Delta<'_>) {}
}

/// A turn that is asked for, by its number within the visit.
fn turn_of(event: &Event) -> Option<u32> {
    match event {
        Event::Wanted { id, .. } if id.kind == EffectKind::Ask => Some(id.turn),
        _ => None,
    }
}

#[tokio::test]
async fn two_hundred_turns_stay_within_bounds_and_what_the_user_said_stays_word_for_word() {
    let long = Long::new();
    let tells = Tells::at_most(20, |event| usize::from(turn_of(event).is_some_and(|turn| turn % 9 == 2)));
    let engine = long.engine(tells.clone());
    let handle = long.start(&engine).await;
    *tells.sender.lock().unwrap() = Some(handle.sender());
    handle.drive().await.unwrap();
    let told = tells.told.lock().unwrap().clone();
    assert_eq!(told.len(), 20);
    long.ended_well(&engine, &told);
}

/// The same model, but it ends a summary only when the user has been heard.
struct Patient {
    model: ScriptedModel,
    heard: Arc<Interrupts>,
}

impl Model for Patient {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn price(&self) -> Option<Price> {
        self.model.price()
    }

    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt<'a>,
        draft: &'a mut RequestDraft,
        hear: DeltaCallback<'a>,
    ) -> ModelFuture<'a> {
        Box::pin(async move {
            if is_summary(prompt) {
                self.heard.all.notified().await;
            }
            self.model.ask(prompt, draft, hear).await
        })
    }
}

/// Says this much during each of the first summaries: more than the summary takes away.
const WORDS: usize = 12;
const INTERRUPTED: usize = 4;

#[derive(Default)]
struct Interrupts {
    sender: Mutex<Option<updraft_engine::RunSender>>,
    said: Mutex<Vec<String>>,
    taken: Mutex<usize>,
    all: tokio::sync::Notify,
}

impl RunWatcher for Interrupts {
    fn record(&self, _: &RunId, _: u64, record: &Record, _: &Run) {
        for event in &record.events {
            match event {
                Event::Wanted { id, .. } if id.kind == EffectKind::Compact => {
                    let mut said = self.said.lock().unwrap();
                    if said.len() == WORDS * INTERRUPTED {
                        self.all.notify_one();
                        continue;
                    }
                    for _ in 0..WORDS {
                        let message = format!("Remember <number {}> for good.", said.len());
                        assert!(
                            self.sender
                                .lock()
                                .unwrap()
                                .as_ref()
                                .unwrap()
                                .send(Input::Tell { message: message.clone() })
                        );
                        said.push(message);
                    }
                }
                Event::Told { .. } => {
                    let mut taken = self.taken.lock().unwrap();
                    *taken += 1;
                    if taken.is_multiple_of(WORDS) {
                        self.all.notify_one();
                    }
                }
                _ => {}
            }
        }
    }

    fn delta(&self, _: &RunId, _: &EffectAddress, _: Delta<'_>) {}
}

#[tokio::test]
async fn what_the_user_says_during_a_summary_is_heard() {
    let long = Long::new();
    let interrupts: Arc<Interrupts> = Arc::default();
    let heard = Arc::clone(&long.heard);
    let model = ScriptedModel::from_fn("scripted/test", move |prompt| answer(&heard, prompt));
    let patient = Patient { model, heard: Arc::clone(&interrupts) };
    let options = EngineOptions { watch: interrupts.clone(), ..EngineOptions::default() };
    let engine = long.world.engine_with(Arc::new(patient), options);
    let handle = long.start(&engine).await;
    *interrupts.sender.lock().unwrap() = Some(handle.sender());
    handle.drive().await.unwrap();
    let said = interrupts.said.lock().unwrap().clone();
    assert_eq!(said.len(), WORDS * INTERRUPTED);
    long.ended_well(&engine, &said);
}

/// The same model, but it never ends the summary it is to be cut off in.
struct Stalls {
    model: ScriptedModel,
    /// Summaries until then.
    left: Mutex<u32>,
}

impl Model for Stalls {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn price(&self) -> Option<Price> {
        self.model.price()
    }

    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt<'a>,
        draft: &'a mut RequestDraft,
        hear: DeltaCallback<'a>,
    ) -> ModelFuture<'a> {
        let mut left = self.left.lock().unwrap();
        if is_summary(prompt) {
            if *left == 0 {
                return Box::pin(std::future::pending());
            }
            *left -= 1;
        }
        self.model.ask(prompt, draft, hear)
    }
}

/// Says that the beginning of a summary is on disk, where a word from the user takes it.
struct Begins {
    sender: Mutex<Option<updraft_engine::RunSender>>,
    seen: tokio::sync::Notify,
}

impl RunWatcher for Begins {
    fn record(&self, _: &RunId, _: u64, record: &Record, _: &Run) {
        for event in &record.events {
            match event {
                Event::Wanted { id, .. } if id.kind == EffectKind::Compact => {
                    let message = format!("Go on at {id}.");
                    assert!(self.sender.lock().unwrap().as_ref().unwrap().send(Input::Tell { message }));
                }
                Event::Begun { id, .. } if id.kind == EffectKind::Compact => self.seen.notify_one(),
                _ => {}
            }
        }
    }

    fn delta(&self, _: &RunId, _: &EffectAddress, _: Delta<'_>) {}
}

#[tokio::test]
async fn a_summary_that_is_cut_off_is_made_again_and_replays() {
    let long = Long::new();
    for life in 0..60 {
        let heard = Arc::clone(&long.heard);
        let model = ScriptedModel::from_fn("scripted/test", move |prompt| answer(&heard, prompt));
        // The summary that was cut off is made; the next one is cut off.
        let stalls = Stalls { model, left: Mutex::new(u32::from(life > 0)) };
        let begins = Arc::new(Begins { sender: Mutex::default(), seen: tokio::sync::Notify::new() });
        let options = EngineOptions { watch: begins.clone(), ..EngineOptions::default() };
        let engine = long.world.engine_with(Arc::new(stalls), options);
        let handle = if life == 0 { long.start(&engine).await } else { engine.open(&id()).await.unwrap() };
        *begins.sender.lock().unwrap() = Some(handle.sender());
        let drive = handle.drive();
        tokio::pin!(drive);
        // Whoever drops the drive ends what runs in it, as the end of the process does.
        let over = loop {
            tokio::select! {
                biased;
                rested = &mut drive => break rested.unwrap().run.is_over(),
                () = begins.seen.notified() => {
                    let stalled = engine.load(&id()).unwrap().open().keys().any(|id| id.kind == EffectKind::Compact);
                    if stalled {
                        break false;
                    }
                }
            }
        };
        if over {
            assert!(life > 5, "{life}");
            let run = engine.load(&id()).unwrap();
            assert_eq!((run.status_word(), run.answer().as_str()), ("done", "listed"));
            assert_eq!(replay(engine.journal(), &id()).unwrap().differences, []);
            return;
        }
        engine.journal().clone().close().await;
    }
    panic!("it does not come to its end");
}
