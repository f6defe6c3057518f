//! What goes wrong on the way, in every dialect: what is asked again, what is not, and that half an answer is none.

use std::time::Duration;

use updraft_models::{Error, ModelAccess, Outage, RetryPolicy, resolve};

use super::houses::{HOUSES, House};
use super::server::{Act, Server, chunk, chunked, head, status, whole};
use super::talk::{Talk, access};

/// What becomes of a request.
#[derive(Clone, Copy, Debug)]
enum Then {
    /// It is answered.
    Answered,
    /// It is made again at once, and then answered: nothing can have been written.
    MadeAgain,
    /// Something may have been written and counted: whoever pays is told, with these words, and may ask again.
    Told(&'static str),
    /// Nothing was said: whoever pays is told, and may ask again.
    Unanswered,
    /// It is given up with these words: it would be the same the next time.
    GivenUp(&'static str),
}

/// Gives the first request this exchange and the next a good one, and checks what comes of it.
async fn check(house: &House, what: &str, first: Vec<Act>, then: Then) {
    let what = format!("{what} of {}", house.spec);
    let good = chunked(house.content_type, 1_000, house.answer("whole").as_bytes());
    let server = Server::new(vec![first, good]).await;
    let model = resolve(house.spec, &access(&server)).unwrap();
    let mut talk = Talk::new();

    let outcome = talk.ask(&*model).await;

    let asked = server.bodies().len();
    match (outcome, then) {
        (Ok(answer), Then::Answered) => assert_eq!((answer.text.as_str(), asked), ("whole", 1), "{what}"),
        (Ok(answer), Then::MadeAgain) => {
            assert_eq!((answer.text.as_str(), asked), ("whole", 2), "{what}");
            assert_eq!(server.bodies()[0], server.bodies()[1], "{what}");
        }
        (Err(Error::Broken { message, again: true, .. }), Then::Told(words)) => {
            assert!(message.contains(words), "{what}: {message}");
            assert_eq!(asked, 1, "{what}");
            talk.attempt = 2;
            assert_eq!(talk.ask(&*model).await.unwrap().text, "whole", "{what}");
        }
        (Err(Error::Silent { .. }), Then::Unanswered) => {
            assert_eq!(asked, 1, "{what}");
            talk.attempt = 2;
            assert_eq!(talk.ask(&*model).await.unwrap().text, "whole", "{what}");
        }
        (
            Err(error @ (Error::Refused { .. } | Error::Garbled { .. } | Error::Broken { again: false, .. })),
            Then::GivenUp(words),
        ) => {
            assert!(error.to_string().contains(words), "{what}: {error}");
            assert_eq!(asked, 1, "{what}");
        }
        (outcome, then) => panic!("{what}: expected {then:?}, found {outcome:?}"),
    }
}

/// The same for every dialect.
async fn check_all(what: &str, first: impl Fn(&House) -> Vec<Act>, then: Then) {
    for house in HOUSES {
        check(house, what, first(house), then).await;
    }
}

/// A good answer with these lines as its head.
fn headed(house: &House, head: &str) -> Vec<Act> {
    let body = house.answer("whole");
    vec![Act::Send(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes())]
}

#[tokio::test]
async fn a_server_that_has_too_much_to_do_is_asked_again() {
    let later = r#"{"error":{"message":"later"}}"#;
    check_all("429", |_| status(429, "", later), Then::MadeAgain).await;
    check_all("429 with a wait", |_| status(429, "retry-after: 0.02\r\n", later), Then::MadeAgain).await;
    check_all("429 with two waits", |_| status(429, "retry-after: 0\r\nretry-after: 900\r\n", later), Then::MadeAgain)
        .await;
    check_all("429 with nonsense", |_| status(429, "retry-after: soon\r\n", "\u{1}\u{2}"), Then::MadeAgain).await;
    for code in [408, 500, 502, 503, 504, 529] {
        check_all("a server's failure", |_| status(code, "", later), Then::MadeAgain).await;
    }
    check_all("500 cut off", |_| cut_after(b"HTTP/1.1 500 No\r\ncontent-length: 90\r\n\r\nhalf"), Then::MadeAgain)
        .await;
}

#[tokio::test]
async fn nobody_there_is_asked_four_times() {
    for house in HOUSES {
        let server = Server::new(Vec::new()).await;
        let gone = access(&server);
        drop(server);

        let error = Talk::new().ask(&*resolve(house.spec, &gone).unwrap()).await.unwrap_err();

        assert!(matches!(error, Error::Unreachable { attempts: 4, .. }), "{error}");
        assert!(error.hint().is_some(), "{error}");
    }
}

fn cut_after(bytes: &[u8]) -> Vec<Act> {
    vec![Act::Send(bytes.to_vec()), Act::Close]
}

#[tokio::test]
async fn an_answer_that_is_cut_anywhere_is_none() {
    for house in HOUSES {
        let part = house.part("grüß");
        let in_letter = part.find('ü').unwrap() + 1;
        let cut = &part.as_bytes()[..in_letter];
        let more = "the stream ended before the answer did";
        // As servers break off: without the end of the chunks, short of the promised length, or quite in order.
        let chunks = [head(house.content_type), chunk(cut)].concat();
        check(house, "a cut in a letter", cut_after(&chunks), Then::Told("")).await;
        let promised =
            format!("HTTP/1.1 200 OK\r\ncontent-type: {}\r\ncontent-length: 9999\r\n\r\n", house.content_type);
        let short = [promised.as_bytes(), cut].concat();
        check(house, "a length that was not kept", cut_after(&short), Then::Told("")).await;
        check(house, "an end in a letter", chunked(house.content_type, 7, cut), Then::Told("")).await;
        let first = house.part("half");
        check(house, "an end after a part", chunked(house.content_type, 7, first.as_bytes()), Then::Told(more)).await;
        check(house, "a cut in the head", cut_after(b"HTTP/1.1 200 OK\r\ncontent-ty"), Then::Told("")).await;
        check(house, "no head at all", vec![Act::Close], Then::Told("")).await;
    }
}

#[tokio::test]
async fn silence_is_not_waited_for_without_end() {
    let long = Duration::from_mins(1);
    check_all("silence", |_| vec![Act::Pause(long)], Then::Unanswered).await;
    let half = |house: &House| [head(house.content_type), chunk(house.part("half").as_bytes())].concat();
    check_all(
        "silence in the midst",
        |house| vec![Act::Send(half(house)), Act::Pause(long)],
        Then::Told("no response for 300ms"),
    )
    .await;
}

#[tokio::test]
async fn bytes_that_say_nothing_are_no_progress() {
    let every = Duration::from_millis(20);
    let blanks = |house: &House| match house.content_type {
        "text/event-stream" => ": still here\n\nevent: ping\ndata:\n\n",
        _ => "\n\n",
    };
    check_all(
        "comments before the answer",
        |house| vec![Act::Send(head(house.content_type)), Act::Drip(chunk(blanks(house).as_bytes()), every)],
        Then::Unanswered,
    )
    .await;
    let half = |house: &House| [head(house.content_type), chunk(house.part("half").as_bytes())].concat();
    check_all(
        "comments in the midst",
        |house| vec![Act::Send(half(house)), Act::Drip(chunk(blanks(house).as_bytes()), every)],
        Then::Told("no response for 300ms"),
    )
    .await;
    check_all(
        "blanks before an answer in one piece",
        |_| vec![Act::Send(head("application/json")), Act::Drip(chunk(b" \n"), every)],
        Then::Unanswered,
    )
    .await;
    let pings = |house: &House| house.spec.starts_with("anthropic/");
    for house in HOUSES.iter().filter(|house| pings(house)) {
        let ping = chunk(b"event: ping\ndata: {\"type\":\"ping\"}\n\n");
        let acts = vec![Act::Send(half(house)), Act::Drip(ping, every)];
        check(house, "pings", acts, Then::Told("no response for 300ms")).await;
    }
}

#[tokio::test]
async fn a_server_that_fails_at_the_request_is_asked_four_times_and_told_from_an_overload() {
    for house in HOUSES {
        let server = Server::always(status(500, "", r#"{"error":{"message":"oops"}}"#)).await;
        let error = Talk::new().ask(&*resolve(house.spec, &access(&server)).unwrap()).await.unwrap_err();
        assert!(matches!(error, Error::Failing { attempts: 4, .. }), "{error}");
        assert_eq!((error.outage(), server.bodies().len()), (Some(Outage::Failing), 4));
    }
}

#[tokio::test]
async fn an_answer_that_trickles_is_an_answer() {
    let asks = HOUSES.iter().map(async |house| {
        let body = house.answer("whole");
        let (slow, rest) = body.as_bytes().split_at(80);
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {}\r\nconnection: close\r\n\r\n", house.content_type);
        let every = Duration::from_millis(20);
        let trickle = Act::Trickle(slow.to_vec(), every);
        let acts = vec![Act::Send(head.into_bytes()), trickle, Act::Send(rest.to_vec()), Act::Close];
        let server = Server::new(vec![acts]).await;
        // Less than the whole takes.
        let patience = RetryPolicy { silence: every * 300, stall: every * 60, ..access(&server).patience };
        let model = resolve(house.spec, &ModelAccess { patience, ..access(&server) }).unwrap();

        assert_eq!(Talk::new().ask(&*model).await.unwrap().text, "whole");
    });
    futures_util::future::join_all(asks).await;
}

#[tokio::test]
async fn no_refusal_is_read_to_an_end_that_never_comes() {
    for house in HOUSES {
        let begin = b"HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
        let server = Server::always(vec![Act::Send(begin), Act::Repeat(chunk(&[b'x'; 1 << 15]), 3_000)]).await;

        let error = Talk::new().ask(&*resolve(house.spec, &access(&server)).unwrap()).await.unwrap_err();

        assert!(matches!(error, Error::Failing { attempts: 4, .. }), "{error}");
        assert!(error.to_string().len() < 1_000, "{error}");
        assert!(server.repeated() < 40 << 20, "{} bytes", server.repeated());
    }
}

#[tokio::test]
async fn garbage_is_no_answer() {
    let noise: Vec<u8> = (0..4_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    check_all("no HTTP", |_| cut_after(&noise), Then::Told("")).await;
    check_all("noise", |house| chunked(house.content_type, 100, &noise), Then::Told("")).await;
    check_all(
        "noise after a part",
        |house| chunked(house.content_type, 100, &[house.part("half").as_bytes(), &noise].concat()),
        Then::Told(""),
    )
    .await;
    let broken_letter = |house: &House| {
        let part = house.answer("whXle").into_bytes();
        let body: Vec<u8> = part.into_iter().map(|byte| if byte == b'X' { 0xff } else { byte }).collect();
        chunked(house.content_type, 100, &body)
    };
    check_all("a letter that is none", broken_letter, Then::Told("")).await;
    check_all(
        "a chunk without size",
        |house| cut_after(&[head(house.content_type), b"zz\r\n".to_vec()].concat()),
        Then::Told(""),
    )
    .await;
}

#[tokio::test]
async fn what_an_answer_is_called_matters_little() {
    for kind in ["application/octet-stream", "text/plain", "TEXT/EVENT-STREAM; charset=utf-8", ""] {
        let named = |house: &House| chunked(kind, 30, house.answer("whole").as_bytes());
        check_all(kind, named, Then::Answered).await;
    }
    check_all("no type", |house| headed(house, "HTTP/1.1 200 OK\r\n"), Then::Answered).await;
    check_all(
        "a page",
        |_| whole(200, "content-type: text/html; charset=utf-8\r\n", "<html>"),
        Then::GivenUp("a web page"),
    )
    .await;
    // An empty file, as gzip packs it.
    let packed = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let gzip = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n";
    check_all("a packed answer", |_| cut_after(&[&gzip[..], &packed].concat()), Then::GivenUp("packed as `gzip`"))
        .await;
    check_all(
        "nothing was packed",
        |house| headed(house, "HTTP/1.1 200 OK\r\ncontent-encoding: identity\r\n"),
        Then::Answered,
    )
    .await;
}

#[tokio::test]
async fn a_success_without_an_answer_is_none() {
    for (kind, what) in [("", "an error"), ("application/json", "an error as JSON")] {
        let error = |house: &House| whole(200, &format!("content-type: {kind}\r\n"), &house.error_part());
        let bare = |house: &House| whole(200, &format!("content-type: {kind}\r\n"), house.error);
        if kind.is_empty() {
            check_all(what, error, Then::Told("overloaded")).await;
        }
        check_all(what, bare, Then::Told("overloaded")).await;
    }
    for kind in ["application/json", "text/event-stream", "application/x-ndjson"] {
        check_all("nothing", |_| whole(200, &format!("content-type: {kind}\r\n"), ""), Then::Told("")).await;
        check_all("an empty object", |_| whole(200, &format!("content-type: {kind}\r\n"), "{}"), Then::Told("")).await;
    }
    check_all("204", |_| cut_after(b"HTTP/1.1 204 No Content\r\n\r\n"), Then::Told("")).await;
}

#[tokio::test]
async fn headers_that_come_twice_are_read_once() {
    let types = |house: &House| {
        headed(house, &format!("HTTP/1.1 200 OK\r\ncontent-type: {0}\r\ncontent-type: {0}\r\n", house.content_type))
    };
    check_all("two types", types, Then::Answered).await;
    let lengths = |house: &House| {
        let length = house.answer("whole").len();
        headed(house, &format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n"))
    };
    check_all("two lengths", lengths, Then::Answered).await;
    check_all(
        "two lengths that differ",
        |house| headed(house, "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n"),
        Then::Told(""),
    )
    .await;
}

#[tokio::test]
async fn odd_statuses_are_understood() {
    let hints = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n";
    check_all("1xx first", |house| headed(house, hints), Then::Answered).await;
    let to = "location: https://elsewhere.example/v1\r\n";
    check_all("302", |_| status(302, to, ""), Then::GivenUp("status 302: it is now at `https://elsewhere.example/v1`"))
        .await;
    check_all("304", |_| cut_after(b"HTTP/1.1 304 Not Modified\r\n\r\n"), Then::GivenUp("status 304: Not Modified"))
        .await;
    check_all(
        "101",
        |_| cut_after(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
        Then::GivenUp("status 101"),
    )
    .await;
    let escape = "\u{1b}[31mred\u{7}";
    check_all("a message that would paint", |_| status(400, "", escape), Then::GivenUp("status 400: [31mred")).await;
}
