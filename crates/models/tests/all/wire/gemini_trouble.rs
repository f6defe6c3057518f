//! What Gemini says when it does not answer.

use std::time::Duration;

use updraft_models::{Error, resolve};

use super::gemini::{FLASH, events, model, says};
use super::server::{Act, Server, status, stream};
use super::talk::{Talk, access};

async fn ask(first: Vec<Act>) -> (Result<String, Error>, Vec<String>, usize) {
    let server = Server::new(vec![first, stream(&says("whole"))]).await;
    let mut talk = Talk::new();
    let answer = talk.ask(&*model(&server, FLASH)).await;
    (answer.map(|answer| answer.text), talk.heard, server.bodies().len())
}

const HALF: &str = r#"{"candidates":[{"content":{"parts":[{"text":"half"}]}}]}"#;

#[tokio::test]
async fn a_wrong_key_is_refused_and_not_repeated() {
    let body = r#"{
  "error": {
    "code": 400, "message": "API key not valid: sk-secret-of-ours.", "status": "INVALID_ARGUMENT",
    "details": [
      {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"},
      {"@type": "type.googleapis.com/google.rpc.DebugInfo", "detail": "invalid key sk-secret-of-ours"}
    ]
  }
}"#;
    for body in [body.to_owned(), format!("[{body}]"), "not JSON, with sk-secret-of-ours".to_owned()] {
        let (answer, _, asked) = ask(status(400, "", &body)).await;

        let error = answer.unwrap_err();
        assert!(matches!(error, Error::Refused { status: 400, .. }), "{error}");
        let words = error.to_string();
        assert!(words.contains("(key)") && !words.contains("secret"), "{words}");
        assert!(words.contains("API_KEY_INVALID: API key not valid") || body.starts_with("not"), "{words}");
        assert_eq!(asked, 1);
    }
}

#[tokio::test]
async fn a_rate_limit_is_waited_for_as_long_as_the_body_says() {
    let body = r#"{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"0.02s"}]}}"#;
    let (answer, heard, asked) = ask(status(429, "", body)).await;

    assert_eq!((answer.unwrap().as_str(), asked), ("whole", 2));
    assert_eq!(heard, ["waiting: status 429: slow", "text whole"]);

    let server = Server::new(vec![status(429, "", &body.replace("0.02s", "300s")), stream(&says("soon"))]).await;
    let mut patient = access(&server);
    patient.patience.longest_wait = Duration::from_hours(1);
    let model = resolve(FLASH, &patient).unwrap();
    let waited = tokio::time::timeout(Duration::from_millis(300), Talk::new().ask(&*model)).await;
    assert!(waited.is_err(), "it was asked again too soon");
}

#[tokio::test]
async fn an_overload_passes_and_an_unknown_model_does_not() {
    let (answer, _, asked) = ask(status(503, "", r#"{"error":{"code":503,"message":"overloaded"}}"#)).await;
    assert_eq!((answer.unwrap().as_str(), asked), ("whole", 2));

    let (answer, ..) = ask(status(404, "", r#"{"error":{"code":404,"message":"no such model"}}"#)).await;
    assert!(matches!(answer.unwrap_err(), Error::Refused { status: 404, .. }));
}

#[tokio::test]
async fn an_error_in_mid_stream_is_bare_json_over_several_lines() {
    let error = |code: u16| {
        format!("{{\r\n  \"error\": {{\r\n    \"code\": {code},\r\n    \"message\": \"so\"\r\n  }}\r\n}}\r\n\r\n")
    };
    let (answer, ..) = ask(stream(&format!("{}{}", events(&[HALF]), error(503)))).await;
    let failed = answer.unwrap_err();
    assert!(matches!(&failed, Error::Broken { message, .. } if message == "status 503: so"), "{failed}");

    let (answer, ..) = ask(stream(&format!("{}{}", events(&[HALF]), error(400)))).await;
    let failed = answer.unwrap_err();
    assert!(matches!(&failed, Error::Broken { message, again: false, .. } if message == "status 400: so"), "{failed}");

    let (answer, ..) = ask(stream(&error(400))).await;
    let failed = answer.unwrap_err();
    assert!(matches!(failed, Error::Refused { status: 400, .. }), "{failed}");
}

#[tokio::test]
async fn a_stream_without_its_end_and_a_call_without_a_name_are_no_answers() {
    let malformed = r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print(1 + 1)"}]}"#;
    let cases = [
        (HALF, "the stream ended before the answer did"),
        (r#"{"usageMetadata":{"promptTokenCount":7}}"#, "the stream ended before the answer did"),
        (malformed, "the model stopped with MALFORMED_FUNCTION_CALL Malformed function call: print(1 + 1)"),
        (r#"{"candidates":[{"finishReason":"MALFORMED_RESPONSE"}]}"#, "the model stopped with MALFORMED_RESPONSE"),
        (r#"{"candidates":7}"#, "invalid type: integer `7`"),
    ];
    for (data, why) in cases {
        let (answer, _, asked) = ask(stream(&events(&[data]))).await;

        let failed = answer.unwrap_err();
        assert!(matches!(&failed, Error::Broken { message, .. } if message.starts_with(why)), "{failed}");
        assert_eq!(asked, 1);
    }
}
