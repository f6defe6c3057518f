//! An earlier run's answers are found by their place, whoever asks and however often.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use serde_json::json;
use updraft_models::{AnswerPlace, Delta, Error, Model, Price, Prompt, RecordedModel, RequestDraft, TaskBrief};
use updraft_run::{Cost, EffectKind, Message, ModelAnswer, TokenUsage, ToolCall};

fn place(step: &str, visit: u32, turn: usize, kind: EffectKind) -> AnswerPlace {
    AnswerPlace { agent: "coder".to_owned(), step: step.to_owned(), visit, turn, kind }
}

fn says(text: &str) -> ModelAnswer {
    ModelAnswer {
        text: text.to_owned(),
        usage: TokenUsage { input: 7, output: 9, ..TokenUsage::default() },
        ..ModelAnswer::default()
    }
}

/// What the model is asked at this place, told these words before.
async fn ask(model: &RecordedModel, place: &AnswerPlace, told: &str) -> Result<ModelAnswer, Error> {
    let AnswerPlace { agent, step, visit, turn, kind } = place.clone();
    let side_question = Some(kind).filter(|kind| *kind != EffectKind::Ask);
    let brief = TaskBrief { agent, step, visit, side_question, ..TaskBrief::default() };
    let mut messages = vec![Message::User(told.into())];
    for _ in 0..turn {
        messages.push(Message::Assistant(Arc::new(ModelAnswer::default())));
        messages.push(Message::User("go on".into()));
    }
    let prompt = Prompt { messages: &messages, ..Prompt::empty(&brief) };
    model.ask(&prompt, &mut RequestDraft::default(), &mut |_| {}).await
}

async fn text(model: &RecordedModel, place: &AnswerPlace, told: &str) -> String {
    ask(model, place, told).await.map_or_else(|error| error.to_string(), |answer| answer.text)
}

#[tokio::test]
async fn each_place_hears_what_it_heard_then() {
    let all = [
        (place("find", 0, 0, EffectKind::Ask), "first"),
        (place("find", 0, 1, EffectKind::Ask), "second"),
        (place("find", 0, 0, EffectKind::Judge), "again"),
        (place("find", 1, 0, EffectKind::Ask), "first of another visit"),
        (place("edit", 0, 0, EffectKind::Ask), "another step"),
    ];
    let model = RecordedModel::new("7k2m", all.iter().map(|(place, text)| (place.clone(), says(text))).collect());

    for (place, expected) in all.iter().rev().chain(&all) {
        assert_eq!(text(&model, place, "begin").await, *expected);
    }
    let answer = ask(&model, &all[0].0, "begin").await.unwrap();
    assert_eq!(answer.usage, TokenUsage { cost: Some(Cost(0)), ..TokenUsage::default() });
    assert_eq!((model.name(), model.price()), ("recorded/7k2m", Some(Price::default())));
}

#[tokio::test]
async fn turns_that_are_counted_anew_after_a_summary_are_told_apart_by_it() {
    let (first, summary) = (place("find", 0, 0, EffectKind::Ask), place("find", 0, 1, EffectKind::Compact));
    let model = RecordedModel::new(
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
    let model = RecordedModel::new(
        "r",
        vec![(place("find", 0, 0, EffectKind::Ask), says("a")), (place("find", 0, 1, EffectKind::Ask), says("b"))],
    );

    let error = ask(&model, &place("find", 0, 2, EffectKind::Ask), "").await.unwrap_err();
    assert!(error.hint().unwrap().contains("another path"));
    assert_eq!(
        error.to_string(),
        "`recorded/r` has no answer for turn 2 of agent `coder`, step `find`: the earlier run ended there after 2 answers"
    );
    assert_eq!(
        text(&model, &place("find", 0, 0, EffectKind::Judge), "").await,
        "`recorded/r` has no answer for the judgement of agent `coder`, step `find`: the earlier run did not ask for it"
    );
    assert_eq!(
        text(&model, &place("mend", 3, 0, EffectKind::Ask), "").await,
        "`recorded/r` has no answer for turn 0 of agent `coder`, step `mend`, visit 3: \
         the earlier run heard answers at `find` of `coder`"
    );
}

#[tokio::test]
async fn an_answer_is_heard_as_if_it_arrived() {
    let call = ToolCall { id: "a".into(), name: "read".into(), args: json!({"path": "x"}), fault: None };
    let answer =
        ModelAnswer { reasoning: "Hm.".into(), calls: vec![call], opaque: vec![json!({"of": "m"})], ..says("Look:") };
    let model = RecordedModel::new("r", vec![(place("", 0, 0, EffectKind::Ask), answer.clone())]);
    let brief = TaskBrief { agent: "coder".into(), ..TaskBrief::default() };
    let mut heard = Vec::new();

    let given = model
        .ask(&Prompt::empty(&brief), &mut RequestDraft::default(), &mut |delta: Delta<'_>| {
            heard.push(format!("{delta:?}"));
        })
        .await;

    assert_eq!(
        given.unwrap(),
        ModelAnswer { usage: TokenUsage { cost: Some(Cost(0)), ..TokenUsage::default() }, ..answer }
    );
    assert_eq!(heard, [r#"Reasoning("Hm.")"#, r#"Text("Look:")"#, r#"Call("read")"#]);
}
