//! Runs told as responses.

use updraft_run::{RunId, Timestamp};
use updraft_workbench::service::AnswerDraft;

use super::*;

fn story() -> ResponseStory {
    let record = ResponseRecord {
        run: RunId::from_bits([7; 10]),
        after: 0,
        created: 1,
        model: "updraft".into(),
        instructions: None,
        previous: None,
        background: true,
        metadata: serde_json::Map::new(),
        input: Vec::new(),
        format: None,
    };
    ResponseStory::new(record, "http://127.0.0.1:7717")
}

fn at(position: u64, moment: RunMoment) -> NumberedMoment {
    NumberedMoment { position, at: Timestamp(5_000), usage: TokenUsage::default(), moment }
}

fn ends(status: Status, answer: &str) -> RunMoment {
    RunMoment::Ends { status, answer: answer.to_owned(), why: "why".to_owned() }
}

#[test]
fn events_are_numbered_without_gaps_and_end_with_the_whole() {
    let mut told = story();
    told.take(&at(3, RunMoment::Progress("planned: 2 steps".into())));
    told.take(&at(5, RunMoment::Progress("a (coder) begins".into())));
    told.take(&at(9, ends(Status::Done, "A loom.")));
    let events = told.drain();
    let numbers: Vec<u64> = events.iter().filter_map(|event| event["sequence_number"].as_u64()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(
        kinds[..4],
        ["response.created", "response.queued", "response.in_progress", "response.output_item.added"]
    );
    let last = events.last().unwrap();
    assert_eq!((last["type"].as_str(), &last["response"]), (Some("response.completed"), &told.body()));
    let body = told.body();
    assert_eq!(body["output"][0]["summary"][1]["text"], "a (coder) begins");
    assert_eq!((&body["output"][1]["content"][0]["text"], &body["status"]), (&"A loom.".into(), &"completed".into()));
}

#[test]
fn a_run_that_ends_otherwise_says_so() {
    for (status, word, event) in [
        (Status::Failed, "failed", "response.failed"),
        (Status::NotDone, "failed", "response.failed"),
        (Status::Cancelled, "cancelled", "response.incomplete"),
        (Status::Unproved, "completed", "response.completed"),
    ] {
        let mut told = story();
        told.take(&at(3, ends(status, "")));
        let body = told.body();
        assert_eq!((body["status"].as_str(), body["error"].is_object()), (Some(word), word == "failed"));
        assert_eq!(told.drain().last().unwrap()["type"], event);
    }
}

fn writes(may_call: bool) -> RunMoment {
    let address = "a/0/0/ask.0".parse().unwrap();
    RunMoment::Writes(AnswerDraft { address, attempt: 1, may_call, has_sources: false })
}

fn written(text: &str, calls: bool) -> RunMoment {
    RunMoment::Written { text: text.to_owned(), calls }
}

const ANSWER: &str = "A loom weaves threads into cloth, and has done so for a long time.";

#[test]
fn an_answer_is_told_while_it_is_written_with_the_numbers_it_will_have() {
    let moments = [
        at(3, RunMoment::Progress("a (thinker) begins".into())),
        at(4, writes(false)),
        at(5, written(ANSWER, false)),
        at(5, ends(Status::Done, ANSWER)),
    ];
    let mut read = story();
    for moment in &moments {
        read.take(moment);
    }
    let read = read.drain();
    for end in 0..ANSWER.len() {
        let mut live = story();
        moments[..2].iter().for_each(|moment| live.take(moment));
        live.hear(&ANSWER[..end]);
        let early = live.drain();
        assert_eq!(early, read[..early.len()], "{end}");
        moments[2..].iter().for_each(|moment| live.take(moment));
        assert_eq!(live.drain(), read[early.len()..], "{end}");
    }
    let texts = read.iter().filter(|event| event["type"] == "response.output_text.delta");
    assert_eq!(texts.filter_map(|event| event["delta"].as_str()).collect::<String>(), ANSWER);
    assert_eq!(read.last().unwrap()["response"]["output"][1]["content"][0]["text"], ANSWER);
}

#[test]
fn an_answer_that_broke_off_ends_and_the_next_has_higher_numbers_for_everybody() {
    let mut live = story();
    let mut read = story();
    for told in [&mut live, &mut read] {
        told.take(&at(3, writes(false)));
    }
    live.hear("A loom is something else altogether, ");
    let early = live.drain();
    assert_eq!(early.last().unwrap()["type"], "response.output_text.delta");
    let rest = [
        at(4, RunMoment::BreaksOff),
        at(5, writes(false)),
        at(6, written(ANSWER, false)),
        at(6, ends(Status::Done, ANSWER)),
    ];
    for moment in &rest {
        live.take(moment);
        read.take(moment);
    }
    let (live, read) = (live.drain(), read.drain());
    let late = |events: &[Value]| -> Vec<Value> {
        events.iter().filter(|event| event["sequence_number"].as_u64() >= Some(STRIDE)).cloned().collect()
    };
    assert_eq!(late(&live), late(&read));
    assert!(late(&live).len() > 5 && live.len() > late(&live).len(), "the message that broke off was ended: {live:?}");
    assert_eq!(live.last().unwrap()["response"]["output"].as_array().unwrap().len(), 1);
}

#[test]
fn long_words_before_a_call_are_a_remark_and_the_answer_is_a_message_of_its_own() {
    let remark = "First I look at the file, since nobody knows what is in it. ".repeat(20);
    let mut told = story();
    told.take(&at(3, writes(true)));
    told.take(&at(4, written(&remark, true)));
    told.take(&at(4, RunMoment::Progress("a (coder) calls read_file".into())));
    told.take(&at(5, writes(true)));
    told.take(&at(6, written("Short.", false)));
    told.take(&at(6, ends(Status::Done, "Short.")));
    let output = told.body()["output"].clone();
    assert_eq!((&output[0]["phase"], &output[0]["content"][0]["text"]), (&"commentary".into(), &remark.into()));
    assert_eq!((&output[1]["type"], &output[2]["content"][0]["text"]), (&"reasoning".into(), &"Short.".into()));
    assert!(output[2]["phase"].is_null() && output.as_array().unwrap().len() == 3, "{output}");
}
