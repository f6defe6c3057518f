//! A chain of models: who is asked, who answers, and what is told about it.

use updraft_models::{Error, resolve};

use super::server::{Act, Server, broken, says, status, stream};
use super::talk::{Talk, access};

const CHAIN: &str =
    "openai-compatible/first?tools=native&images=yes | openai-compatible/second?tools=native&images=yes";

/// Asks the chain once of a server with these exchanges.
async fn ask(exchanges: Vec<Vec<Act>>) -> (Result<String, Error>, Option<String>, Vec<String>) {
    let server = Server::new(exchanges).await;
    let model = resolve(CHAIN, &access(&server)).unwrap();
    let answer = Talk::new().ask(&*model).await;
    let by = answer.as_ref().ok().and_then(|answer| answer.by.clone());
    let bodies = server.bodies();
    let asked = bodies.iter().map(|body| if body.contains("first") { "first" } else { "second" }.to_owned());
    (answer.map(|answer| answer.text), by, asked.collect())
}

#[tokio::test]
async fn the_first_answers_where_it_can() {
    let (answer, by, asked) = ask(vec![stream(&says("hi"))]).await;
    assert_eq!((answer.unwrap().as_str(), by, asked.as_slice()), ("hi", None, ["first".to_owned()].as_slice()));
}

#[tokio::test]
async fn one_that_is_refused_makes_room_for_the_next_and_the_answer_says_whose_it_is() {
    for code in [400, 401, 404] {
        let (answer, by, asked) = ask(vec![status(code, "", r#"{"error":"no"}"#), stream(&says("hi"))]).await;
        assert_eq!(answer.unwrap(), "hi");
        assert_eq!(by.as_deref(), Some("openai-compatible/second"));
        assert_eq!(asked, ["first", "second"]);
    }
}

#[tokio::test]
async fn an_answer_that_broke_off_is_not_asked_for_elsewhere_on_the_same_account() {
    let half = "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n";
    let (answer, _, asked) = ask(vec![broken(half), stream(&says("hi"))]).await;
    assert!(matches!(answer, Err(Error::Broken { again: true, .. })), "{answer:?}");
    assert_eq!(asked, ["first"]);
}

#[tokio::test]
async fn one_that_failed_is_asked_last_for_a_while() {
    let exchanges = vec![status(401, "", "{}"), stream(&says("a")), stream(&says("b"))];
    let server = Server::new(exchanges).await;
    let model = resolve(CHAIN, &access(&server)).unwrap();
    assert_eq!(Talk::new().ask(&*model).await.unwrap().text, "a");
    assert_eq!(Talk::new().ask(&*model).await.unwrap().text, "b");
    assert!(server.bodies()[2].contains("second"));
}

#[tokio::test]
async fn where_all_fail_the_last_word_is_kept() {
    let (answer, ..) = ask(vec![status(401, "", r#"{"error":"a"}"#), status(403, "", r#"{"error":"b"}"#)]).await;
    assert!(matches!(answer, Err(Error::Refused { status: 403, .. })));
}
