//! What is asked again, what is not, and what is said about it.

use std::time::Duration;

use updraft_models::{Error, ModelAccess, ProviderAccess, RetryPolicy, SecretString, resolve};

use super::server::{Act, Server, broken, events, says, silent_after, status, stream, whole};
use super::talk::{CHAT, Talk, access, model};

const HALF: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n";

/// Asks a server with this first exchange and a good second one.
async fn second_time_lucky(first: Vec<Act>) -> (String, Vec<String>) {
    let server = Server::new(vec![first, stream(&says("whole"))]).await;
    let mut talk = Talk::new();
    let answer = talk.ask(&*model(&server)).await.unwrap();
    let bodies = server.bodies();
    assert_eq!(bodies.len(), 2);
    assert_eq!(bodies[0], bodies[1]);
    (answer.text, talk.heard)
}

#[tokio::test]
async fn statuses_that_pass_are_asked_again() {
    for code in [408, 409, 500, 502, 504, 529] {
        let (text, heard) = second_time_lucky(status(code, "", r#"{"error":{"message":"later"}}"#)).await;

        assert_eq!(text, "whole");
        assert_eq!(heard, [format!("again: status {code}: later"), "text whole".to_owned()]);
    }
}

#[tokio::test]
async fn rate_limits_are_waited_for_as_long_as_they_ask() {
    let (text, heard) = second_time_lucky(status(429, "retry-after: 0.05\r\n", r#"{"error":"slow down"}"#)).await;

    assert_eq!(text, "whole");
    assert_eq!(heard, ["waiting: status 429: slow down", "text whole"]);
}

#[tokio::test]
async fn an_answer_says_how_long_it_was_waited_for() {
    let limited = status(429, "retry-after: 0.2\r\n", r#"{"error":"slow down"}"#);
    let server = Server::new(vec![limited, stream(&says("whole")), stream(&says("at once"))]).await;
    let model = model(&server);
    assert!(Talk::new().ask(&*model).await.unwrap().waited.0 >= 200);
    assert_eq!(Talk::new().ask(&*model).await.unwrap().waited.0, 0);
}

#[tokio::test]
async fn a_half_streamed_answer_is_never_used_and_whoever_pays_is_told() {
    let error = format!("{HALF}data: {{\"error\":{{\"message\":\"slot lost\",\"code\":500}}}}\n\n");
    let garbled = format!("{HALF}data: {{\"choices\": oops\n\n");
    let cases = [
        (broken(HALF), ""),
        (stream(HALF), "the stream ended before the answer did"),
        (stream(&error), "status 500: slot lost"),
        (stream(&garbled), "expected value at line 1 column 13 in `{\"choices\": oops`"),
        (silent_after(HALF), "no response for 300ms"),
    ];
    for (first, why) in cases {
        let server = Server::new(vec![first, stream(&says("whole"))]).await;
        let mut talk = Talk::new();

        let error = talk.ask(&*model(&server)).await.unwrap_err();
        let Error::Broken { message, .. } = &error else { panic!("{error:?}") };
        assert!(message.starts_with(why), "{message}");
        assert_eq!(server.bodies().len(), 1);

        talk.attempt = 2;
        assert_eq!(talk.ask(&*model(&server)).await.unwrap().text, "whole");
        assert_eq!(talk.heard, ["text half", "again: the answer was interrupted", "text whole"]);
        assert_eq!(server.bodies()[0], server.bodies()[1]);
    }
}

#[tokio::test]
async fn refusals_are_final_cut_to_size_and_free_of_the_key() {
    let words = format!("bad key sk-secret-of-ours {}", "x".repeat(500));
    for code in [400, 401, 403, 404, 422] {
        let server = Server::always(status(code, "", &format!(r#"{{"error":{{"message":"{words}"}}}}"#))).await;

        let error = Talk::new().ask(&*model(&server)).await.unwrap_err();

        assert_eq!(server.bodies().len(), 1);
        let Error::Refused { status, message, .. } = &error else { panic!("{error:?}") };
        assert_eq!(*status, code);
        assert!(message.starts_with("bad key (key) xxx") && message.chars().count() <= 301, "{message}");
        assert_eq!(error.hint().is_some_and(|hint| hint.contains("OPENAI_API_KEY")), matches!(code, 401 | 403));
    }
}

#[tokio::test]
async fn a_request_that_is_blamed_in_mid_stream_is_refused() {
    let server =
        Server::always(stream("data: {\"error\":{\"message\":\"too long\",\"type\":\"invalid_request_error\"}}\n\n"))
            .await;

    let error = Talk::new().ask(&*model(&server)).await.unwrap_err();

    assert!(matches!(error, Error::Refused { status: 400, .. }), "{error}");
    assert_eq!(server.bodies().len(), 1);
}

#[tokio::test]
async fn four_attempts_are_made_and_the_last_words_kept() {
    let server = Server::always(status(500, "", r#"{"error":{"message":"on fire"}}"#)).await;
    let error = Talk::new().ask(&*model(&server)).await.unwrap_err();
    assert_eq!(error.to_string(), "`openai-compatible/test` failed 4 times: status 500: on fire");
    assert_eq!(server.bodies().len(), 4);

    let silent = Server::always(vec![Act::Pause(Duration::from_mins(1))]).await;
    let error = Talk::new().ask(&*model(&silent)).await.unwrap_err();
    assert_eq!(error.to_string(), "no response from `openai-compatible/test` for 1.5 s");
    assert_eq!(silent.bodies().len(), 1);
}

#[tokio::test]
async fn a_slow_stream_that_moves_is_not_a_stalled_one() {
    let mut acts = silent_after(": hello\n\n");
    acts.pop();
    for _ in 0..5 {
        acts.push(Act::Pause(Duration::from_millis(150)));
        acts.push(Act::Send(b"3\r\n:\n\n\r\n".to_vec()));
    }
    let last = says("there");
    acts.push(Act::Send(format!("{:x}\r\n{last}\r\n0\r\n\r\n", last.len()).into_bytes()));
    let server = Server::new(vec![acts]).await;

    assert_eq!(Talk::new().ask(&*model(&server)).await.unwrap().text, "there");
}

#[tokio::test]
async fn nobody_there_is_said_with_its_cause() {
    let server = Server::new(Vec::new()).await;
    let gone = access(&server);
    drop(server);

    let error = Talk::new().ask(&*resolve(CHAT, &gone).unwrap()).await.unwrap_err();

    assert!(matches!(error, Error::Unreachable { attempts: 4, .. }), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
    assert!(!error.to_string().contains("http://"), "{error}");
}

#[tokio::test]
async fn a_web_page_is_no_answer() {
    let server = Server::always(whole(200, "content-type: text/html\r\n", "<html>")).await;

    let error = Talk::new().ask(&*model(&server)).await.unwrap_err();

    assert!(matches!(error, Error::Garbled { .. }), "{error}");
    assert_eq!(server.bodies().len(), 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    let server = Server::always(status(302, "location: http://elsewhere.example/\r\n", "")).await;

    let error = Talk::new().ask(&*model(&server)).await.unwrap_err();

    assert!(matches!(error, Error::Refused { status: 302, .. }), "{error}");
}

#[tokio::test]
async fn one_connection_serves_a_whole_conversation() {
    let server = Server::always(stream(&says("hi"))).await;
    let model = model(&server);

    for _ in 0..5 {
        Talk::new().ask(&*model).await.unwrap();
    }

    assert_eq!(server.connections(), 1);
}

/// llama.cpp promises to keep connections, and closes each after a stream.
#[tokio::test]
async fn a_server_known_to_close_connections_gets_a_new_one_each_time() {
    let props = status(200, "", r#"{"chat_template_caps": {"supports_tools": true}, "chat_template": ""}"#);
    let closes = [stream(&says("hi")), vec![Act::Close]].concat();
    let server = Server::new(vec![props, closes.clone(), closes.clone(), closes]).await;
    let model = resolve("openai-compatible/test", &access(&server)).unwrap();

    for _ in 0..3 {
        assert_eq!(Talk::new().ask(&*model).await.unwrap().text, "hi");
    }

    let heads = server.heads();
    assert!(heads[0].starts_with("GET /props "), "{heads:?}");
    assert!(heads[1..].iter().all(|head| head.contains("\r\nconnection: close\r\n")), "{heads:?}");
}

#[tokio::test]
async fn a_server_that_lingers_after_the_end_costs_little() {
    let server =
        Server::always(silent_after(&events(&[r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#])))
            .await;

    assert_eq!(Talk::new().ask(&*model(&server)).await.unwrap().text, "a");
    assert_eq!(server.bodies().len(), 1);
}

#[tokio::test]
async fn dropping_the_future_closes_the_connection() {
    let server = Server::always(silent_after(HALF)).await;
    let model = resolve(CHAT, &ModelAccess { patience: RetryPolicy::default(), ..access(&server) }).unwrap();

    let asked = tokio::time::timeout(Duration::from_millis(1_500), Talk::new().ask(&*model)).await;

    assert!(asked.is_err());
    while server.closed_early() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn hundreds_may_ask_at_once() {
    let mut acts = vec![Act::Pause(Duration::from_millis(200))];
    acts.extend(stream(&says("hi")));
    let server = Server::always(acts).await;
    let mut patient = access(&server);
    patient.patience.stall = Duration::from_secs(30);
    let model = resolve(CHAT, &patient).unwrap();

    let asks = (0..300).map(|_| async { Talk::new().ask(&*model).await.map(|answer| answer.text) });
    let answers = futures_util::future::join_all(asks).await;

    assert!(answers.iter().all(|answer| answer.as_ref().is_ok_and(|text| text == "hi")));
}

#[test]
fn addresses_and_keys_are_checked_before_anything_is_sent() {
    let at = |base: &str, key: &str| {
        let reach = ProviderAccess { base: Some(base.to_owned()), key: Some(SecretString::new(key)), speech: None };
        resolve("openai/m", &ModelAccess { reach: [("openai".to_owned(), reach)].into(), ..ModelAccess::default() })
    };
    assert!(at("https://example.com/v1/", "sk").is_ok());
    for base in ["", "example.com/v1", "file:///etc/passwd", "http://"] {
        let error = at(base, "sk").err().unwrap();
        assert!(matches!(error, Error::Config { .. }), "{base}: {error}");
    }
    let error = at("https://example.com/v1/", "two\nlines").err().unwrap();
    assert!(!error.to_string().contains("lines"));
}
