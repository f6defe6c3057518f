//! A person's word is used once: for the question it answers, whatever happens in between.

use crate::Trial;
use crate::cell::{Kind, Way};
use crate::journal;
use crate::model::Turn;
use crate::outside::Gate;
use crate::stage::Stage;
use crate::table::{Property, Table, must};

type Check = fn(Way) -> Result<(), String>;

pub(crate) fn trials(way: Way) -> Vec<Trial> {
    let checks: [(&str, Check); 6] = [
        ("a second answer", |way| a_second_word(way, Kind::Question, &["answer", "RUN", "red"])),
        ("a second approval", |way| a_second_word(way, Kind::Approval, &["deny", "RUN"])),
        ("an answer, and a crash before it is used", |way| a_crash_before_use(way, Kind::Question)),
        ("an approval, and a crash before it is used", |way| a_crash_before_use(way, Kind::Approval)),
        ("a second question", |way| the_same_again(way, Kind::Question)),
        ("a second call of the same kind", |way| the_same_again(way, Kind::Approval)),
    ];
    let trial = |(name, check): (&'static str, Check)| -> Trial {
        Box::new(move |table: &Table| table.note(Property::ConsumeOnce, &format!("{way:?}, {name}"), check(way)))
    };
    checks.into_iter().map(trial).collect()
}

/// A run that waits for a person.
fn waiting(stage: &Stage, way: Way) -> Result<String, String> {
    let ran = stage.updraft(&stage.goal(way));
    must(ran.code == 3, || format!("it does not ask: {} {}", ran.code, ran.err))?;
    stage.run().ok_or_else(|| "there is no run".to_owned())
}

/// Another word than the first is refused, before the first is used and after.
fn a_second_word(way: Way, kind: Kind, second: &[&str]) -> Result<(), String> {
    let stage = Stage::of(kind);
    let run = waiting(&stage, way)?;
    stage.say(&run)?;
    let second: Vec<&str> = second.iter().map(|&word| if word == "RUN" { run.as_str() } else { word }).collect();
    let refused = stage.updraft(&second);
    must(refused.code != 0, || "a second word is taken".to_owned())?;
    stage.finish(&run)?;
    must(stage.updraft(&second).code != 0, || "a word is taken when all is over".to_owned())?;
    is_used_once(&stage, &run, kind)
}

/// The word lies in the inbox when the process that would use it ends.
fn a_crash_before_use(way: Way, kind: Kind) -> Result<(), String> {
    let stage = Stage::of(kind);
    let run = waiting(&stage, way)?;
    stage.say(&run)?;
    let gate = if kind == Kind::Approval { Gate::Before("act.0".into()) } else { Gate::Asked("act/1".into()) };
    stage.live(&["resume", &run], Some(gate));
    stage.finish(&run)?;
    is_used_once(&stage, &run, kind)
}

fn is_used_once(stage: &Stage, run: &str, kind: Kind) -> Result<(), String> {
    let events = stage.events(run);
    let asked = events.iter().filter(|line| is_asked(&line["event"])).count();
    must(asked == 1, || format!("it asked {asked} times"))?;
    let seen = stage.outside.seen();
    let count = seen.effects.get("act.0").copied().unwrap_or_default();
    must(count <= 1, || format!("what was allowed once happened {count} times"))?;
    if kind == Kind::Question {
        let heard = seen.heard.get("act/1").cloned().unwrap_or_default();
        must(heard.contains("blue") && !heard.contains("red"), || format!("the model heard {heard}"))?;
    }
    let twice = journal::replies(&events, "").into_iter().find(|(_, count)| *count > 1);
    twice.map_or(Ok(()), |(id, count)| Err(format!("{id} has {count} replies")))
}

fn is_asked(event: &serde_json::Value) -> bool {
    let effect = &event["wanted"]["effect"];
    effect.get("question").is_some() || effect.get("approval").is_some()
}

/// The model asks for the same twice: the second time a person is asked again.
fn the_same_again(way: Way, kind: Kind) -> Result<(), String> {
    let rules = if kind == Kind::Approval { "[rules]\nask = [\"run_command\"]\n" } else { "" };
    let stage = Stage::new(rules, move |asked| match (asked.step.as_str(), asked.turn) {
        ("plan", _) => Turn::Say(crate::stage::steps().to_string()),
        ("act", 0 | 1) => Turn::Call(kind.calls()),
        ("act", _) => Turn::Say("acted".to_owned()),
        _ => Turn::Say("the end".to_owned()),
    });
    stage.world.config("mcp.json", r#"{"mcpServers": {}}"#);
    let run = waiting(&stage, way)?;
    stage.say(&run)?;
    let second = stage.updraft(&["resume", &run]);
    must(second.code == 3, || format!("the second time nobody is asked: {} {}", second.code, second.err))?;
    let count = |stage: &Stage| stage.outside.seen().effects.get("act.0").copied().unwrap_or_default();
    let wanted = u32::from(kind == Kind::Approval);
    must(count(&stage) == wanted, || format!("allowed once, it happened {} times", count(&stage)))?;
    stage.finish(&run)?;
    must(count(&stage) == 2 * wanted, || format!("allowed twice, it happened {} times", count(&stage)))
}
