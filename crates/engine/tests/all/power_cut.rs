//! The power goes after every append, and in the midst of some: the run is opened on what is left of the disk, and must
//! come to the same answer, with the world in the same state and no finished effect performed twice.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken test should stop")]
#![allow(unsafe_code, reason = "the tape is a VFS, which is a table of C functions")]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::support::World;
use crate::support::stamps::{Came, Outside, Performed, ScriptedHands, Wrong, begin, look_at, to_the_end};
use updraft_engine::{Engine, EngineOptions, RunWatcher, replay};
use updraft_journal::{Journal, SyncMode};
use updraft_models::Delta;
use updraft_run::{EffectAddress, Event, Record, Run, RunId, Timestamp};

use crate::tape::{Replay, Tape, Unsynced, write_to};

/// A run that came to its end, and all that was done to the disk and to the world on the way.
struct Story {
    tape: Arc<Tape>,
    /// After each append that was acknowledged: the moment, and how many events had been acknowledged by then.
    acknowledged: Vec<(usize, u64)>,
    performed: Vec<Performed>,
    /// What the run works in: the same place after the cut.
    world: World,
}

/// Notes when each append was acknowledged.
struct Acknowledged {
    tape: Arc<Tape>,
    moments: Arc<Mutex<Vec<(usize, u64)>>>,
}

impl RunWatcher for Acknowledged {
    fn record(&self, _: &RunId, first: u64, record: &Record, _: &Run) {
        let (moment, events) = (self.tape.position(), first - 1 + record.events.len() as u64);
        let mut moments = self.moments.lock().unwrap();
        match moments.last_mut() {
            Some(last) if last.0 == moment => last.1 = events,
            _ => moments.push((moment, events)),
        }
    }

    fn delta(&self, _: &RunId, _: &EffectAddress, _: Delta<'_>) {}
}

fn clock() -> Timestamp {
    Timestamp(1_000)
}

fn id() -> RunId {
    RunId::parse("cut").unwrap()
}

/// Runs the script to its end on a tape, with a log that is so short that it is copied again and again. Calls that
/// dawdle end one by one, and each has an append of its own.
async fn tell(name: &str, sync: SyncMode, dawdle: bool) -> Story {
    let tape = Tape::install(name);
    let world = World::quick();
    let options = updraft_journal::JournalOptions {
        sync,
        vfs: Some(name.into()),
        checkpoint: 12,
        ..updraft_journal::JournalOptions::default()
    };
    let journal = Journal::open(&world.folder.path().join("journal.db"), options).unwrap();
    let moments: Arc<Mutex<Vec<(usize, u64)>>> = Arc::default();
    let watch = Acknowledged { tape: Arc::clone(&tape), moments: Arc::clone(&moments) };
    let now = Arc::clone(&tape);
    let outside = Outside { moment: Some(Box::new(move || now.position())), ..Outside::default() };
    let outside = Arc::new(Mutex::new(outside));
    let performer = Arc::new(ScriptedHands { dawdle, ..ScriptedHands::new(&outside, Wrong::Nothing) });
    let engine = Engine::new(
        journal,
        performer,
        EngineOptions { watch: Arc::new(watch), clock, steady: None, ..EngineOptions::default() },
    );
    let handle = begin(&engine, &id(), &world.workspace()).await;
    to_the_end(&engine, handle).await;
    engine.journal().clone().close().await;
    let acknowledged = moments.lock().unwrap().clone();
    let performed = look_at(&outside).performed.clone();
    assert!(acknowledged.len() > 12, "only {} appends", acknowledged.len());
    Story { tape, acknowledged, performed, world }
}

impl Story {
    /// Events that had been acknowledged at a moment.
    fn promised(&self, moment: usize) -> u64 {
        self.acknowledged.iter().rev().find(|(at, _)| *at <= moment).map_or(0, |(_, events)| *events)
    }

    /// Cuts the power where the replay stands, after the world was changed this far, and goes on from what is left.
    async fn goes_on(&self, replay: &Replay, moment: usize, unsynced: Unsynced, acted: usize) -> Result<(), String> {
        let left = World::quick();
        write_to(&replay.disk(unsynced), left.folder.path());
        let path = left.folder.path().join("journal.db");
        let journal =
            Journal::open(&path, updraft_journal::JournalOptions::default()).map_err(|error| error.to_string())?;
        let performed: Vec<Performed> = self.performed[..acted].to_vec();
        let outside = Arc::new(Mutex::new(Outside { performed, ..Outside::default() }));
        let performer = Arc::new(ScriptedHands::new(&outside, Wrong::Nothing));
        let engine = Engine::new(journal, performer, EngineOptions { clock, steady: None, ..EngineOptions::default() });
        let ended = self.ends_well(&engine, &outside, moment, acted).await;
        engine.journal().clone().close().await;
        ended
    }

    async fn ends_well(
        &self,
        engine: &Engine,
        outside: &Mutex<Outside>,
        moment: usize,
        acted: usize,
    ) -> Result<(), String> {
        let promised = self.promised(moment);
        let events = engine.journal().head(&id()).map_or(0, |head| head.events);
        if events < promised {
            return Err(format!("{promised} events were acknowledged, and {events} are there"));
        }
        if events == 0 {
            return if acted == 0 { Ok(()) } else { Err("the world was changed for a run that never was".into()) };
        }
        let finished = replies(&engine.journal().load(&id()).map_err(|error| error.to_string())?);
        let handle = engine.open(&id()).await.map_err(|error| error.to_string())?;
        to_the_end(engine, handle).await;
        let run = engine.load(&id()).map_err(|error| error.to_string())?;
        let outside = look_at(outside);
        let came = Came { answer: run.answer(), stamps: outside.stamps(), most_touched: outside.most_touched() };
        if came != Came::undisturbed() {
            return Err(format!("{came:?}"));
        }
        let again = outside.performed[acted..].iter().find(|done| finished.contains(&done.key));
        if let Some(again) = again {
            return Err(format!("{again:?} had ended, and was performed again"));
        }
        let differences = replay(engine.journal(), &id()).map_err(|error| error.to_string())?.differences;
        if differences.is_empty() { Ok(()) } else { Err(format!("{differences:?}")) }
    }

    /// Calls that had been performed before a moment, or by it.
    fn acted_before(&self, moment: usize) -> usize {
        self.performed.iter().filter(|done| done.moment < moment).count()
    }

    fn acted_by(&self, moment: usize) -> usize {
        self.performed.iter().filter(|done| done.moment <= moment).count()
    }
}

/// The effects that have their replies on disk, by the keys the hands know them under.
fn replies(records: &[Record]) -> BTreeSet<String> {
    let events = records.iter().flat_map(|record| &record.events);
    let replied = events.filter_map(|event| match event {
        Event::Replied { id: at, .. } => Some(format!("{}/{at}", id())),
        _ => None,
    });
    replied.collect()
}

#[tokio::test]
async fn a_power_cut_after_any_append_changes_nothing_in_the_end() {
    after_any_append(&tell("tape-engine", SyncMode::Full, false).await).await;
}

#[tokio::test]
async fn a_power_cut_while_calls_end_one_by_one_changes_nothing_in_the_end() {
    after_any_append(&tell("tape-engine-slow", SyncMode::Full, true).await).await;
}

async fn after_any_append(story: &Story) {
    let mut replay = story.tape.replay();
    for (moment, _) in &story.acknowledged {
        replay.advance_to(*moment);
        // Just after the append returned, and just before the next one began.
        let acted: BTreeSet<usize> = [story.acted_before(*moment), story.acted_by(*moment)].into();
        for acted in acted {
            for unsynced in [Unsynced::Lost, Unsynced::Kept, Unsynced::Torn(*moment as u64)] {
                let ended = story.goes_on(&replay, *moment, unsynced, acted).await;
                ended.unwrap_or_else(|why| panic!("cut at {moment}, {unsynced:?}, after {acted} calls: {why}"));
            }
        }
    }
}

#[tokio::test]
async fn a_power_cut_amid_writing_changes_nothing_in_the_end() {
    let story = tell("tape-engine-amid", SyncMode::Full, true).await;
    let first = story.acknowledged[0].0;
    let mut replay = story.tape.replay();
    assert!(replay.len() > 200, "only {} things were done to the disk", replay.len());
    // Every moment until the goal is safe; after that, some.
    for moment in (0..replay.len()).filter(|moment| *moment <= first || moment % 5 == 0) {
        replay.advance_to(moment);
        let unsynced = if moment % 2 == 0 { Unsynced::Lost } else { Unsynced::Torn(moment as u64) };
        let ended = story.goes_on(&replay, moment, unsynced, story.acted_by(moment)).await;
        ended.unwrap_or_else(|why| panic!("cut at {moment}, {unsynced:?}: {why}"));
    }
    assert!(story.world.workspace().is_dir());
}

#[tokio::test]
async fn without_syncing_the_same_power_cut_is_noticed() {
    let story = tell("tape-engine-off", SyncMode::Off, false).await;
    let mut replay = story.tape.replay();
    let mut lost = 0;
    for (moment, _) in &story.acknowledged {
        replay.advance_to(*moment);
        lost += usize::from(story.goes_on(&replay, *moment, Unsynced::Lost, story.acted_by(*moment)).await.is_err());
    }
    assert!(lost > 0);
}
