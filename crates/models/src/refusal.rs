//! What a server says instead of an answer.

use reqwest::Response;
use reqwest::header::LOCATION;
use serde_json::Value;

use crate::retry::{Trouble, retry_after};
use crate::watch::Watch;

/// Longer explanations are pages, not messages.
const LONGEST_MESSAGE: usize = 300;

/// No explanation needs more of the body.
const LARGEST_BODY: usize = 16 << 10;

/// Reads why the status is not a success.
pub(crate) async fn read(mut response: Response, watch: &mut Watch) -> Trouble {
    let status = response.status().as_u16();
    let after = retry_after(response.headers());
    let plain = said_by_head(&response);
    let mut body = Vec::new();
    while body.len() < LARGEST_BODY {
        // What is missing of an explanation changes nothing: the status has been seen.
        let Ok(Ok(Some(piece))) = watch.over(response.chunk()).await else { break };
        body.extend_from_slice(&piece);
    }
    let text = String::from_utf8_lossy(&body);
    let message = serde_json::from_str(&text).ok().and_then(|value| message_of(&value));
    let message = shorten(&message.unwrap_or_else(|| text.into_owned()));
    Trouble::of_status(status, if message.is_empty() { plain } else { message }, after)
}

/// What a response says without its body: where it sends us, or what its status means.
fn said_by_head(response: &Response) -> String {
    let location = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
    match location.filter(|_| response.status().is_redirection()) {
        Some(to) => format!("it is now at `{}`", shorten(to)),
        None => response.status().canonical_reason().unwrap_or_default().to_owned(),
    }
}

/// What an error in the middle of a stream means: the JSON that stood under `error`.
pub(crate) fn in_stream(error: &str) -> Trouble {
    let value: Value = serde_json::from_str(error).unwrap_or_default();
    let message = shorten(&message_of(&value).unwrap_or_else(|| error.to_owned()));
    let code = value.get("code").and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
    let invalid = value.get("type").and_then(Value::as_str) == Some("invalid_request_error");
    match code {
        Some(status @ 400..=599) => Trouble::of_status(status as u16, message, None),
        _ if invalid => Trouble::Refused { status: 400, message },
        _ => Trouble::Cut(message),
    }
}

/// The words in an error body, as the servers we know write them, with the code where it is a word.
fn message_of(value: &Value) -> Option<String> {
    let inner = value.get("error").unwrap_or(value);
    let words = [inner, &inner["message"], &inner["detail"], &inner["msg"]].into_iter().find_map(Value::as_str)?;
    match inner["code"].as_str().filter(|code| !words.contains(code) && code.parse::<u64>().is_err()) {
        Some(code) => Some(format!("{code}: {words}")),
        None => Some(words.to_owned()),
    }
}

/// A text in one line, cut to the length of a message. What steers a terminal is left out.
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
        ];
        for (body, expected) in cases {
            assert_eq!(message_of(&body).as_deref(), expected, "{body}");
        }
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
