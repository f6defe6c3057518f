//! Parses error responses of servers.

use std::time::Duration;

use reqwest::Response;
use reqwest::header::LOCATION;
use serde_json::Value;

use crate::reset_after;
use crate::retry::AttemptError;
use crate::silence_timer::SilenceTimer;

/// Maximum length of a message: longer explanations are whole pages.
const LONGEST_MESSAGE: usize = 300;

/// Maximum bytes of the body that are read for an explanation.
const LARGEST_BODY: usize = 16 << 10;

/// Reads why a request failed, from a response without a success status.
pub(crate) async fn read(mut response: Response, watch: &mut SilenceTimer) -> AttemptError {
    let status = response.status().as_u16();
    let after = reset_after(response.headers());
    let plain = said_by_head(&response);
    let mut body = Vec::new();
    while body.len() < LARGEST_BODY {
        // A missing part of the explanation changes nothing: the status is known.
        let Ok(Ok(Some(piece))) = watch.over(response.chunk()).await else { break };
        body.extend_from_slice(&piece);
    }
    let text = String::from_utf8_lossy(&body);
    let value: Option<Value> = serde_json::from_str(&text).ok();
    let after = after.or_else(|| retry_delay(value.as_ref()?));
    let message = value.and_then(|value| message_of(&value));
    let message = shorten(&message.unwrap_or_else(|| text.into_owned()));
    AttemptError::of_status(status, if message.is_empty() { plain } else { message }, after)
}

/// A message from a response without a body: its redirect target, or the meaning of its status.
fn said_by_head(response: &Response) -> String {
    let location = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
    match location.filter(|_| response.status().is_redirection()) {
        Some(to) => format!("it is now at `{}`", shorten(to)),
        None => response.status().canonical_reason().unwrap_or_default().to_owned(),
    }
}

/// Translates an error in a stream: the JSON of its `error` field.
pub(crate) fn in_stream(error: &str) -> AttemptError {
    let value: Value = serde_json::from_str(error).unwrap_or_default();
    let message = shorten(&message_of(&value).unwrap_or_else(|| error.to_owned()));
    let code = value.get("code").and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
    let invalid = value.get("type").and_then(Value::as_str) == Some("invalid_request_error");
    match code {
        Some(status @ 400..=599) => AttemptError::of_status(status as u16, message, retry_delay(&value)),
        _ if invalid => AttemptError::Refused { status: 400, message },
        _ => AttemptError::Cut(message),
    }
}

/// The message in an error body, in the formats of known servers, with the code if it is a word.
fn message_of(value: &Value) -> Option<String> {
    let inner = inner_of(value);
    let words = [&value["error_description"], inner, &inner["message"], &inner["detail"], &inner["msg"]];
    let words = words.into_iter().find_map(Value::as_str)?;
    let reason = details(inner).find_map(|detail| detail["reason"].as_str());
    match [inner, &inner["code"]]
        .into_iter()
        .find_map(Value::as_str)
        .or(reason)
        .filter(|code| !words.contains(code) && code.parse::<u64>().is_err())
    {
        Some(code) => Some(format!("{code}: {words}")),
        None => Some(words.to_owned()),
    }
}

/// The wait that Google asks for in the body: `"retryDelay": "17.5s"`.
fn retry_delay(value: &Value) -> Option<Duration> {
    let delay = details(inner_of(value)).find_map(|detail| detail["retryDelay"].as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}

/// The error itself; some servers wrap it, or the whole body, in a list.
fn inner_of(value: &Value) -> &Value {
    let value = value.get(0).unwrap_or(value);
    value.get("error").unwrap_or(value)
}

fn details(inner: &Value) -> impl Iterator<Item = &Value> {
    inner["details"].as_array().into_iter().flatten()
}

/// A text on one line, truncated to the length of a message. Terminal control characters are removed.
pub(crate) fn shorten(text: &str) -> String {
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        for letter in word.chars().filter(|letter| !letter.is_control()) {
            if length == LONGEST_MESSAGE {
                line.push('…');
                return line;
            }
            line.push(letter);
            length += 1;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_are_found_where_servers_put_them() {
        let cases = [
            (json!({"error": {"message": "no", "code": "bad_thing"}}), Some("bad_thing: no")),
            (json!({"error": {"message": "no", "code": "404"}}), Some("no")),
            (json!({"error": "no"}), Some("no")),
            (json!({"detail": "no"}), Some("no")),
            (json!({"message": "no"}), Some("no")),
            (json!({"other": 1}), None),
            (json!({"error": "invalid_grant", "error_description": "Revoked."}), Some("invalid_grant: Revoked.")),
            (json!([{"error": {"message": "no", "code": 400}}]), Some("no")),
            (
                json!({"error": {"message": "no", "code": 400, "details": [{}, {"reason": "API_KEY_INVALID"}]}}),
                Some("API_KEY_INVALID: no"),
            ),
        ];
        for (body, expected) in cases {
            assert_eq!(message_of(&body).as_deref(), expected, "{body}");
        }
    }

    #[test]
    fn the_wait_is_found_among_the_details() {
        let body = |delay: &str| json!({"error": {"details": [{"@type": "Help"}, {"retryDelay": delay}]}});
        assert_eq!(retry_delay(&body("17.5s")), Some(Duration::from_millis(17_500)));
        assert_eq!(retry_delay(&body("-1s")), None);
        assert_eq!(retry_delay(&body("soon")), None);
        let passing = in_stream(r#"{"code":429,"message":"slow","details":[{"retryDelay":"2s"}]}"#);
        assert_eq!(passing.asked_wait(), Some(Duration::from_secs(2)));
    }

    #[test]
    fn long_messages_are_cut() {
        let short = shorten(&"ä b\n".repeat(1_000));
        assert_eq!(short.chars().count(), LONGEST_MESSAGE + 1);
        assert!(short.ends_with('…'));
        assert_eq!(shorten("  one\n two "), "one two");
        assert_eq!(shorten("\u{1b}[2Jone\u{7}"), "[2Jone");
    }

    #[test]
    fn errors_in_mid_stream_pass_unless_they_blame_the_request() {
        assert!(in_stream(r#"{"message":"overloaded","code":503}"#).passes());
        assert!(in_stream(r#""slot unavailable""#).passes());
        assert!(!in_stream(r#"{"message":"too long","type":"invalid_request_error"}"#).passes());
        assert!(!in_stream(r#"{"message":"too long","code":400}"#).passes());
    }
}
