//! Answers that are nearly right, in every dialect, streamed and at once: they were paid for, so they are read.

use updraft_models::resolve;
use updraft_run::ModelAnswer;

use super::houses::{HOUSES, House};
use super::server::{Server, chunked};
use super::talk::{Talk, access};

/// A mark before a text, as some editors and proxies write it.
const MARK: &str = "\u{feff}";

/// The answer to one request.
async fn answer(house: &House, content_type: &str, body: &str) -> ModelAnswer {
    let server = Server::new(vec![chunked(content_type, 7, body.as_bytes())]).await;
    let model = resolve(house.spec, &access(&server)).unwrap();
    let answered = Talk::new().ask(&*model).await;
    assert_eq!(server.bodies().len(), 1, "{} asked again after {body}", house.spec);
    answered.unwrap_or_else(|error| panic!("{}: {error} after {body}", house.spec))
}

/// The same answer as a stream and at once.
async fn in_both_ways(house: &House, text: &str, count: &str, odd: &str) -> [ModelAnswer; 2] {
    let fill = |form: &str| form.replace("TEXT", text).replace("COUNT", count).replace("ODD", odd);
    let stream = fill(house.part) + &fill(house.counted);
    let whole = fill(house.whole);
    [answer(house, house.content_type, &stream).await, answer(house, "application/json", &whole).await]
}

#[tokio::test]
async fn half_a_letter_is_a_mark_in_the_text() {
    for house in HOUSES {
        for answer in in_both_ways(house, r"a\ud800b \ud83d\ude00", "5", "0").await {
            assert_eq!(answer.text, "a\u{fffd}b \u{1f600}", "{}", house.spec);
        }
        // In a field that nobody reads it is passed over.
        for answer in in_both_ways(house, "whole", "5", r#""\udfff""#).await {
            assert_eq!(answer.text, "whole", "{}", house.spec);
        }
    }
}

#[tokio::test]
async fn a_number_that_is_none_is_passed_over_where_nobody_reads_it() {
    for house in HOUSES {
        for odd in ["NaN", "Infinity", "-Infinity", "[NaN, {\"x\": -Infinity}]"] {
            for answer in in_both_ways(house, "not NaN", "5", odd).await {
                assert_eq!((answer.text.as_str(), answer.usage.input), ("not NaN", 5), "{} {odd}", house.spec);
            }
        }
    }
}

#[tokio::test]
async fn counts_that_are_none_are_estimated() {
    for house in HOUSES {
        for (count, meant) in [("12", 12), ("12.0", 12), ("\"12\"", 12)] {
            for answer in in_both_ways(house, "whole", count, "0").await {
                let usage = (answer.usage.input, answer.usage.output, answer.usage.estimated);
                assert_eq!(usage, (meant, meant, false), "{} {count}", house.spec);
            }
        }
        for count in ["null", "-3", "\"many\"", "{}", "[1]", "true", "NaN", "1e999", "18446744073709551615"] {
            for answer in in_both_ways(house, "whole", count, "0").await {
                assert_eq!(answer.text, "whole", "{} {count}", house.spec);
                assert!(
                    answer.usage.estimated && answer.usage.output > 0,
                    "{} {count}: {:?}",
                    house.spec,
                    answer.usage
                );
            }
        }
        // Something else in the place of all counts.
        for name in ["\"usage\":", "\"usageMetadata\":"] {
            for other in ["null", "\"none\"", "[]", "7"] {
                let instead = |form: &str| {
                    let (before, rest) = form.split_once(name)?;
                    let (_, after) = rest.split_once('}')?;
                    Some(format!("{before}{name}{other}{after}").replace("TEXT", "whole").replace("ODD", "0"))
                };
                let Some((last, whole)) = instead(house.counted).zip(instead(house.whole)) else { continue };
                let streamed = answer(house, house.content_type, &(house.part("whole") + &last)).await;
                let at_once = answer(house, "application/json", &whole).await;
                for answer in [streamed, at_once] {
                    assert_eq!((answer.text.as_str(), answer.usage.estimated), ("whole", true), "{}", house.spec);
                }
            }
        }
    }
}

#[tokio::test]
async fn a_byte_order_mark_is_no_part_of_an_answer() {
    for house in HOUSES {
        let stream = format!("{MARK}{}", house.answer("whole"));
        assert_eq!(answer(house, house.content_type, &stream).await.text, "whole", "{}", house.spec);
        let whole = house.whole.replace("TEXT", "whole").replace("COUNT", "5").replace("ODD", "0");
        assert_eq!(answer(house, "application/json", &format!("{MARK}{whole}")).await.text, "whole", "{}", house.spec);
    }
}

#[tokio::test]
async fn lines_of_events_may_end_with_a_carriage_return() {
    for house in HOUSES.iter().filter(|house| house.content_type == "text/event-stream") {
        let parts = house.part("who") + &house.answer("le");
        let stream = parts.replace("\r\n", "\n").replace('\n', "\r");
        assert_eq!(answer(house, house.content_type, &stream).await.text, "whole", "{}", house.spec);
    }
}

#[tokio::test]
async fn half_a_letter_in_the_arguments_of_a_call_is_a_mark() {
    let chat = &HOUSES[0];
    let call = r#"{"choices":[{"message":{"tool_calls":[{"id":"c","function":{"name":"read","arguments":"{\"path\":\"a\\ud800\"}"}}]},"finish_reason":"tool_calls"}]}"#;
    let answer = answer(chat, "application/json", call).await;
    assert_eq!(answer.calls[0].args, serde_json::json!({ "path": "a\u{fffd}" }), "{:?}", answer.calls);
}
