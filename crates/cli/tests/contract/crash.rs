//! A run that is cut off at one place and taken up again, twice from the same state: what was recorded stays, what was done
//! is not done again, what nobody knows is told, and both times the same is decided.

use std::time::Duration;

use serde_json::Value;

use crate::cell::{Cut, Kind, Way};
use crate::dice::Dice;
use crate::journal;
use crate::outside::{Gate, Observations};
use crate::stage::Stage;
use crate::table::{Property, Table, must};
use crate::world::Ran;

/// The shell's code for a process that was killed.
const KILLED: i32 = 137;

/// What one recovery came to.
struct Recovery {
    end: Result<Ran, String>,
    events: Vec<Value>,
    seen: Observations,
    replay: Ran,
    file: Option<String>,
}

pub(crate) fn try_cell(table: &Table, way: Way, kind: Kind, cut: Cut, mut dice: Dice) {
    let cell = format!("{way:?}, {kind:?}, {cut:?}");
    let stage = Stage::of(kind);
    let run = match lead_up_to(&stage, way, kind, cut, &mut dice) {
        Ok(run) => run,
        Err(why) => return table.note(Property::Liveness, &cell, Err(why)),
    };
    let before = stage.events(&run);
    let (seen, copy) = (stage.outside.seen(), stage.copy());
    let first = recover(&stage, &run, kind);
    copy.restore();
    stage.outside.restore(seen.clone());
    let second = recover(&stage, &run, kind);

    for recovery in [&first, &second] {
        table.note(Property::Liveness, &cell, is_over(recovery));
        table.note(Property::Prefix, &cell, goes_on(&before, &seen, recovery));
        table.note(Property::ExactlyOnce, &cell, is_done_once(kind, recovery));
    }
    let came = journal::difference(&first.events, &second.events).map_or(Ok(()), Err);
    table.note(Property::Recovery, &cell, came);
}

/// Starts the run and cuts it off; with a person's word where it needs one.
fn lead_up_to(stage: &Stage, way: Way, kind: Kind, cut: Cut, dice: &mut Dice) -> Result<String, String> {
    let gate = gate(stage, way, kind, cut);
    let waits_first = kind.needs_a_person() && cut != Cut::BeforeIntent;
    let mut ran = stage.live(&stage.goal(way), (!waits_first).then(|| gate.clone()));
    let run = stage.run().ok_or_else(|| format!("there is no run: {}", ran.err))?;
    if waits_first {
        must(ran.code == 3, || format!("it does not ask: {} {}", ran.code, ran.err))?;
        stage.say(&run)?;
        ran = stage.live(&["resume", &run], Some(gate.clone()));
    }
    let is_exact = matches!(gate, Gate::Asked(_) | Gate::Before(_) | Gate::After(_));
    must(ran.code == KILLED || (!is_exact && ran.code == 0), || {
        format!("it was not cut off: {} {}", ran.code, ran.err)
    })?;
    if cut == Cut::DuringResume {
        let again = if kind.calls().is_empty() { Gate::Answered("act/0".into()) } else { Gate::Asked("act/1".into()) };
        let again = stage.live(&["resume", &run], Some(again));
        must(again.code == KILLED || again.code == 0, || format!("resume ends with {}: {}", again.code, again.err))?;
        // A question to a model that was cut off twice is asked a third and last time.
        if !journal::is_cut_off(&stage.events(&run)) {
            stage.live_for(&["resume", &run], Duration::from_millis(dice.next() % 80));
        }
    }
    Ok(run)
}

fn gate(stage: &Stage, way: Way, kind: Kind, cut: Cut) -> Gate {
    let file = || kind.file().map(|name| stage.world.ws().join(name));
    let act = "act.0".to_owned();
    match cut {
        Cut::BeforeIntent if kind == Kind::Model && way.plans() => Gate::Asked("plan/0".into()),
        Cut::BeforeIntent => Gate::Asked("act/0".into()),
        Cut::BeforeEffect if kind.is_heard() => Gate::Before(act),
        Cut::BeforeEffect if kind == Kind::Model => Gate::Asked("act/0".into()),
        Cut::AfterEffect | Cut::DuringResume if kind.is_heard() => Gate::After(act),
        Cut::AfterEffect | Cut::DuringResume if file().is_some() => Gate::File(file().unwrap_or_default()),
        Cut::DuringResume if kind == Kind::Question => Gate::Asked("act/1".into()),
        Cut::AfterRecord if !kind.calls().is_empty() => Gate::Asked("act/1".into()),
        Cut::AfterRecord if way != Way::Agent => Gate::Asked("end/0".into()),
        Cut::BeforeEffect | Cut::AfterEffect | Cut::DuringResume | Cut::AfterRecord => Gate::Answered("act/0".into()),
    }
}

fn recover(stage: &Stage, run: &str, kind: Kind) -> Recovery {
    let end = stage.finish(run);
    let file = kind.file().and_then(|name| std::fs::read_to_string(stage.world.ws().join(name)).ok());
    let replay = stage.updraft(&["replay", run, "--strict"]);
    Recovery { end, events: stage.events(run), seen: stage.outside.seen(), replay, file }
}

fn is_over(recovery: &Recovery) -> Result<(), String> {
    let end = recovery.end.as_ref().map_err(String::clone)?;
    must(matches!(end.out.trim(), "the end" | "acted"), || format!("another end: {} {}", end.out, end.err))
}

/// What was recorded is still there, replays, and no recorded answer is asked for again.
fn goes_on(before: &[Value], seen: &Observations, recovery: &Recovery) -> Result<(), String> {
    must(recovery.events.starts_with(before), || "the journal does not begin as it was".to_owned())?;
    must(recovery.replay.code == 0, || format!("it does not replay: {}", recovery.replay.err))?;
    for place in journal::answered(before) {
        let (was, is) = (seen.asked.get(&place), recovery.seen.asked.get(&place));
        must(was == is, || format!("{place} was answered, and is asked again"))?;
    }
    let twice = journal::replies(&recovery.events, "").into_iter().find(|(_, count)| *count > 1);
    twice.map_or(Ok(()), |(id, count)| Err(format!("{id} has {count} replies")))
}

/// Never repeated, never lost without a word; and the model was told of every doubt.
fn is_done_once(kind: Kind, recovery: &Recovery) -> Result<(), String> {
    let doubts = journal::doubts(&recovery.events);
    for &name in kind.effects() {
        let count = match &recovery.file {
            Some(text) => text.matches(name).count(),
            None => recovery.seen.effects.get(name).copied().unwrap_or_default() as usize,
        };
        must(count <= 1, || format!("{name} happened {count} times"))?;
        must(count == 1 || doubts.contains(name), || format!("{name} is lost, and nobody was told"))?;
    }
    let told = recovery.seen.told.get("act").copied().unwrap_or_default();
    must(told == doubts.len(), || format!("{} outcomes are in doubt, and {told} were told", doubts.len()))?;
    let most = recovery.seen.asked.iter().max_by_key(|(_, count)| **count);
    most.map_or(Ok(()), |(place, count)| must(*count <= 3, || format!("{place} was asked {count} times")))
}
