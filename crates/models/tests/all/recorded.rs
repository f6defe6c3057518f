//! An earlier run's answers are found by their place, whoever asks and however often.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use serde_json::json;
use updraft_models::{Brief, Delta, Draft, Error, Model, Place, Price, Prompt, Recorded};
use updraft_run::{Answer, Cost, Kind, Message, ToolCall, Usage};

fn place(step: &str, visit: u32, turn: usize, kind: Kind) -> Place {
    Place { agent: "coder".to_owned(), step: step.to_owned(), visit, turn, kind }
}

fn says(text: &str) -> Answer {
    Answer { text: text.to_owned(), usage: Usage { input: 7, output: 9, ..Usage::default() }, ..Answer::default() }
}

/// What the model is asked at this place, told these words before.
async fn ask(model: &Recorded, place: &Place, told: &str) -> Result<Answer, Error> {
    let Place { agent, step, visit, turn, kind } = place.clone();
    let aside = Some(kind).filter(|kind| *kind != Kind::Ask);
    let brief = Brief { agent, step, visit, aside, ..Brief::default() };
    let mut messages = vec![Message::User(told.into())];
    for _ in 0..turn {
        messages.push(Message::Assistant(Arc::new(Answer::default())));
        messages.push(Message::User("go on".into()));
    }
    let prompt = Prompt { messages: &messages, ..Prompt::empty(&brief) };
    model.ask(&prompt, &mut Draft::default(), &mut |_| {}).await
}

async fn text(model: &Recorded, place: &Place, told: &str) -> String {
    ask(model, place, told).await.map_or_else(|error| error.to_string(), |answer| answer.text)
}

#[tokio::test]
async fn each_place_hears_what_it_heard_then() {
    let all = [
        (place("find", 0, 0, Kind::Ask), "first"),
        (place("find", 0, 1, Kind::Ask), "second"),
        (place("find", 0, 0, Kind::Judge), "again"),
        (place("find", 1, 0, Kind::Ask), "first of another visit"),
        (place("edit", 0, 0, Kind::Ask), "another step"),
    ];
    let model = Recorded::new("7k2m", all.iter().map(|(place, text)| (place.clone(), says(text))).collect());

    for (place, expected) in all.iter().rev().chain(&all) {
        assert_eq!(text(&model, place, "begin").await, *expected);
    }
    let answer = ask(&model, &all[0].0, "begin").await.unwrap();
    assert_eq!(answer.usage, Usage { cost: Some(Cost(0)), ..Usage::default() });
    assert_eq!((model.name(), model.price()), ("recorded/7k2m", Some(Price::default())));
}

#[tokio::test]
async fn turns_that_are_counted_anew_after_a_summary_are_told_apart_by_it() {
    let (first, summary) = (place("find", 0, 0, Kind::Ask), place("find", 0, 1, Kind::Compact));
    let model = Recorded::new(
        "r",
        vec![
            (first.clone(), says("before")),
            (summary.clone(), says(" It was red. ")),
            (first.clone(), says("after one")),
            (summary.clone(), says("It was blue.")),
            (first.clone(), says("after two")),
        ],
    );

    assert_eq!(text(&model, &first, "begin").await, "before");
    assert_eq!(text(&model, &first, "So far: It was red.").await, "after one");
    assert_eq!(text(&model, &first, "So far: It was blue.").await, "after two");
    assert_eq!(text(&model, &summary, "begin").await, " It was red. ");
    assert_eq!(text(&model, &summary, "So far: It was red.").await, "It was blue.");
}

#[tokio::test]
async fn a_run_that_goes_another_way_is_told_what_is_missing() {
    let model = Recorded::new(
        "r",
        vec![(place("find", 0, 0, Kind::Ask), says("a")), (place("find", 0, 1, Kind::Ask), says("b"))],
    );

    let error = ask(&model, &place("find", 0, 2, Kind::Ask), "").await.unwrap_err();
    assert!(error.hint().unwrap().contains("another way"));
    assert_eq!(
        error.to_string(),
        "`recorded/r` has no answer for turn 2 of agent `coder`, step `find`: the earlier run ended there after 2 answers"
    );
    assert_eq!(
        text(&model, &place("find", 0, 0, Kind::Judge), "").await,
        "`recorded/r` has no answer for the judgement of agent `coder`, step `find`: the earlier run did not ask for it"
    );
    assert_eq!(
        text(&model, &place("mend", 3, 0, Kind::Ask), "").await,
        "`recorded/r` has no answer for turn 0 of agent `coder`, step `mend`, visit 3: \
         the earlier run heard answers at `find` of `coder`"
    );
}

#[tokio::test]
async fn an_answer_is_heard_as_if_it_arrived() {
    let call = ToolCall { id: "a".into(), name: "read".into(), args: json!({"path": "x"}), fault: None };
    let answer =
        Answer { reasoning: "Hm.".into(), calls: vec![call], opaque: vec![json!({"of": "m"})], ..says("Look:") };
    let model = Recorded::new("r", vec![(place("", 0, 0, Kind::Ask), answer.clone())]);
    let brief = Brief { agent: "coder".into(), ..Brief::default() };
    let mut heard = Vec::new();

    let given = model
        .ask(&Prompt::empty(&brief), &mut Draft::default(), &mut |delta: Delta<'_>| heard.push(format!("{delta:?}")))
        .await;

    assert_eq!(given.unwrap(), Answer { usage: Usage { cost: Some(Cost(0)), ..Usage::default() }, ..answer });
    assert_eq!(heard, [r#"Reasoning("Hm.")"#, r#"Text("Look:")"#, r#"Call("read")"#]);
}
