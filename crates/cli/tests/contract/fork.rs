//! Forks of a finished run: two from the same place are the same run, and what the run did is not done by them.

use serde_json::Value;

use crate::cell::{Kind, Way};
use crate::journal;
use crate::stage::Stage;
use crate::table::{Property, Table, must};

pub(crate) fn try_cell(table: &Table, way: Way, kind: Kind) {
    let stage = Stage::of(kind);
    let ran = stage.updraft(&stage.goal(way));
    let run = stage.run().unwrap_or_default();
    let came = must(ran.code == 0, || format!("it ends with {}: {}", ran.code, ran.err));
    let came = came.and_then(|()| forks(&stage, &run));
    table.note(Property::Fork, &format!("{way:?}, {kind:?}"), came);
}

/// Forks at the last answer that is not the end: every effect is recorded by then.
fn forks(stage: &Stage, run: &str) -> Result<(), String> {
    let events = stage.events(run);
    let effects = stage.outside.seen().effects;
    let mut asks = events.iter().enumerate().filter(|(_, line)| is_wish_to_ask(line)).map(|(at, _)| at);
    let at = asks.next_back().ok_or("it never asked")?.to_string();
    let mut forks = Vec::new();
    for _ in 0..2 {
        let made = stage.updraft(&["fork", run, "--at", &at, "--stay"]);
        must(made.code == 0, || format!("fork ends with {}: {}", made.code, made.err))?;
        forks.push(made.out.trim().to_owned());
    }
    let [one, other] = [&forks[0], &forks[1]];
    let same = |what: &str| {
        let difference = journal::difference(&stage.events(one), &stage.events(other));
        difference.map_or(Ok(()), |why| Err(format!("two forks differ {what}: {why}")))
    };
    same("at the beginning")?;
    let ends: Vec<String> = forks.iter().map(|fork| stage.finish(fork).map(|ran| ran.out)).collect::<Result<_, _>>()?;
    same("at the end")?;
    must(ends[0] == ends[1], || format!("they come to {ends:?}"))?;
    must(stage.outside.seen().effects == effects, || "a fork did again what was recorded".to_owned())?;
    for fork in &forks {
        let replayed = stage.updraft(&["replay", fork, "--strict"]);
        must(replayed.code == 0, || format!("a fork does not replay: {}", replayed.err))?;
    }
    Ok(())
}

fn is_wish_to_ask(line: &Value) -> bool {
    line["event"]["wanted"]["effect"] == "ask"
}
