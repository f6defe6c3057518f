//! Pictures reach the models that can be shown them, in every dialect; where one cannot, those that can are named.

use crate::judge::judge;
use crate::place::Place;
use crate::providers::PROVIDERS;
use crate::service::Service;

/// One red pixel.
const PNG: [u8; 69] = [
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 144, 119, 83,
    222, 0, 0, 0, 12, 73, 68, 65, 84, 120, 156, 99, 248, 207, 192, 0, 0, 3, 1, 1, 0, 201, 254, 146, 239, 0, 0, 0, 0,
    73, 69, 78, 68, 174, 66, 96, 130,
];
/// The same as requests hold it.
const SENT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

/// Which of the requests held the picture.
fn shown(place: &Place) -> Vec<bool> {
    place.service().asked().iter().map(|asked| asked.body.contains(SENT)).collect()
}

#[test]
fn a_picture_handed_over_is_shown_from_the_first_turn_on() {
    let Some(judge) = judge() else { return };
    for provider in &PROVIDERS {
        let place = Place::new(Service::plain(judge));
        std::fs::write(place.ws().join("pic.png"), PNG).unwrap();
        place.run(&provider.spec(), &["--file", "pic.png"]).answered(provider);

        assert_eq!(shown(&place), [true, true], "{provider:?}");
        place.replays();
    }
}

#[test]
fn a_picture_that_an_agent_reads_is_shown_next() {
    let Some(judge) = judge() else { return };
    for provider in &PROVIDERS {
        let place = Place::new(Service::plain(judge));
        std::fs::write(place.ws().join("a.txt"), PNG).unwrap();
        let ran = place.run(&provider.spec(), &[]).done();

        assert!(ran.out.contains("`a.txt` is a picture (image/png, 69 bytes)"), "{provider:?}: {}", ran.out);
        assert_eq!(shown(&place), [false, true], "{provider:?}");
        let prompts = place.updraft(&["show", "last", "--prompts"]).done().out;
        assert_eq!(prompts.matches("[picture a.txt: image/png, 69 bytes]").count(), 1, "{provider:?}: {prompts}");
        place.replays();
    }
}

#[test]
fn a_model_that_sees_nothing_is_told_of_a_picture_in_words() {
    let Some(judge) = judge() else { return };
    for provider in &PROVIDERS {
        let place = Place::new(Service::plain(judge));
        std::fs::write(place.ws().join("a.txt"), PNG).unwrap();
        // The services answer to results, and to pictures after them, but not to words after them.
        place.run(&format!("{}?images=no", provider.spec()), &["--max-turns", "2"]).code(4);

        assert_eq!(shown(&place), [false, false], "{provider:?}");
        let asked = place.service().asked();
        assert!(
            asked[1].body.contains("a picture (image/png, 69 bytes) that this model does not accept"),
            "{provider:?}: {}",
            asked[1].body
        );
    }
}

#[test]
fn who_cannot_be_shown_a_picture_names_those_that_can() {
    let place = Place::new(Service::plain("nobody"));
    std::fs::write(place.ws().join("pic.png"), PNG).unwrap();
    for model in ["builtin", "openai/gpt-5.4-mini?images=no", "ollama/qwen3?images=no"] {
        let ran = place.run(model, &["--file", "pic.png"]).code(5);

        let name = model.split('?').next().unwrap();
        let fault = format!("error: `{name}` does not accept pictures, and `pic.png` is one");
        assert!(ran.err.contains(&fault), "{}", ran.err);
        assert!(ran.err.contains("gemini/gemini-3.8-flash"), "{}", ran.err);
    }
    assert_eq!(place.service().asked().len(), 0);
}
