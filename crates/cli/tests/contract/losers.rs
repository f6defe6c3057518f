//! Several processes that say something to a run at once, or take it up at once: one of them wins, and the others are told
//! so, in words and by their exit code.

use std::time::Duration;

use crate::Trial;
use crate::cell::{Kind, Way};
use crate::outside::Gate;
use crate::stage::{Stage, wait};
use crate::table::{Property, Table, must};
use crate::world::Ran;

const PROCESSES: usize = 4;

type Check = fn(Way) -> Result<(), String>;

pub(crate) fn trials(way: Way) -> Vec<Trial> {
    let checks: [(&str, Check); 5] = [
        ("answers", answers),
        ("the same answer", the_same_answer),
        ("approvals and refusals", verdicts),
        ("resumes after a crash", |way| resumes(way, Kind::Command)),
        ("resumes after an answer", |way| resumes(way, Kind::Question)),
    ];
    let trial = |(name, check): (&'static str, Check)| -> Trial {
        Box::new(move |table: &Table| table.note(Property::Losers, &format!("{way:?}, {name}"), check(way)))
    };
    checks.into_iter().map(trial).collect()
}

/// All of these, started before any is waited for.
fn at_once(stage: &Stage, commands: &[Vec<&str>]) -> Vec<Ran> {
    let children: Vec<_> = commands.iter().map(|words| stage.command(words).spawn().unwrap()).collect();
    children.into_iter().map(|child| wait(child, Duration::from_mins(3))).collect()
}

fn waiting(stage: &Stage, way: Way) -> Result<String, String> {
    let ran = stage.updraft(&stage.goal(way));
    must(ran.code == 3, || format!("it does not ask: {} {}", ran.code, ran.err))?;
    stage.run().ok_or_else(|| "there is no run".to_owned())
}

fn answers(way: Way) -> Result<(), String> {
    let stage = Stage::of(Kind::Question);
    let run = waiting(&stage, way)?;
    let words = ["red", "green", "blue", "black"];
    let said = at_once(&stage, &words.map(|word| vec!["answer", &run, word]));
    let winners: Vec<&str> =
        words.into_iter().zip(&said).filter(|(_, ran)| ran.code == 0).map(|(word, _)| word).collect();
    let [winner] = winners[..] else { return Err(format!("these were all told that theirs counts: {winners:?}")) };
    stage.finish(&run)?;
    let heard = stage.outside.seen().heard.remove("act/1").unwrap_or_default();
    must(heard.contains(winner), || format!("{winner} was told that theirs counts, and the model heard {heard}"))?;
    let untold = said.iter().find(|ran| ran.code != 0 && !ran.err.contains(winner));
    untold.map_or(Ok(()), |ran| Err(format!("a loser is not told that {winner} stands: {} {}", ran.code, ran.err)))
}

fn the_same_answer(way: Way) -> Result<(), String> {
    let stage = Stage::of(Kind::Question);
    let run = waiting(&stage, way)?;
    let said = at_once(&stage, &vec![vec!["answer", &run, "blue"]; PROCESSES]);
    must(said.iter().any(|ran| ran.code == 0), || "nobody was heard".to_owned())?;
    stage.finish(&run)?;
    let events = stage.events(&run);
    let answered = crate::journal::replies(&events, "").values().all(|&count| count == 1);
    must(answered, || "the question has several answers".to_owned())
}

/// Two allow a call and two refuse it.
fn verdicts(way: Way) -> Result<(), String> {
    let stage = Stage::of(Kind::Approval);
    let run = waiting(&stage, way)?;
    let verbs = ["approve", "deny", "approve", "deny"];
    let said = at_once(&stage, &verbs.map(|verb| vec![verb, &run]));
    stage.finish(&run)?;
    let happened = stage.outside.seen().effects.get("act.0").copied().unwrap_or_default();
    must(happened <= 1, || format!("it happened {happened} times"))?;
    let (verdict, word) = if happened == 1 { ("approve", "approved") } else { ("deny", "denied") };
    for (verb, ran) in verbs.into_iter().zip(&said) {
        if verb != verdict {
            must(ran.code != 0, || format!("`{verb}` ends with 0, and {verdict} stands: {}", ran.err))?;
            must(ran.err.contains(word), || format!("`{verb}` is not told that {verdict} stands: {}", ran.err))?;
        }
    }
    let is_heard = verbs.into_iter().zip(&said).any(|(verb, ran)| verb == verdict && ran.code == 0);
    must(is_heard, || format!("{verdict} stands, and whoever said it was told otherwise"))
}

/// One goes on, and the others follow it to the same end.
fn resumes(way: Way, kind: Kind) -> Result<(), String> {
    let stage = Stage::of(kind);
    let run = if kind == Kind::Question {
        let run = waiting(&stage, way)?;
        stage.say(&run)?;
        run
    } else {
        stage.live(&stage.goal(way), Some(Gate::Asked("act/0".into())));
        stage.run().ok_or("there is no run")?
    };
    let ran = at_once(&stage, &vec![vec!["resume", &run]; PROCESSES]);
    let happened = stage.outside.seen().effects;
    must(happened.values().all(|&count| count == 1), || format!("effects happened: {happened:?}"))?;
    let told = |ran: &&Ran| ran.err.contains("being run by process") || ran.err.contains("already ended");
    let told = ran.iter().filter(told).count();
    must(told == PROCESSES - 1, || format!("{told} of {} are told that another goes on", PROCESSES - 1))?;
    let same = ran.iter().all(|one| one.code == 0 && one.out == ran[0].out);
    must(same, || {
        format!("they end differently: {:?}", ran.iter().map(|ran| (ran.code, &ran.out, &ran.err)).collect::<Vec<_>>())
    })
}
