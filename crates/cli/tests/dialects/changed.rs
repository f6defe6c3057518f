//! A run that changes its model half way goes on with a history that the new one takes.

use crate::judge::judge;
use crate::place::Place;
use crate::providers::{PROVIDERS, Provider, pairs};
use crate::service::{Asked, Service, Then};

/// Written by the first model when its calls are answered.
const AFTER_RESULTS: &str = "9";
/// What stands for a signature where Gemini did not make the call itself.
const UNSIGNED: &str = "skip_thought_signature_validator";

#[test]
fn a_fork_goes_on_with_any_other_model() {
    let Some(judge) = judge() else { return };
    for first in &PROVIDERS {
        let place = Place::new(Service::plain(judge));
        place.run(&first.spec(), &[]).answered(first);
        let run = place.last();
        for (_, second) in pairs().filter(|(one, _)| *one == first) {
            let forked = ["fork", &run, "--at", AFTER_RESULTS, "--model", &second.spec()];
            place.updraft(&forked).answered(second);

            place.replays();
            let asked = place.service().asked();
            let last = asked.last().unwrap();
            assert!(last.is_for(second), "{first:?} to {second:?}: {last:?}");
            let is_marked = last.body.contains(UNSIGNED);
            assert_eq!(is_marked, second.name == "gemini", "{first:?} to {second:?}: {last:?}");
        }
    }
}

/// Runs with a model that answers once and then fails with this status, and another to fall back to.
fn falls_back(judge: &'static str, first: &'static Provider, second: &'static Provider, status: u16) -> Place {
    let service = Service::start(judge, move |asked, before| {
        let is_again = asked.is_for(first) && !before.is_empty();
        if is_again { Then::Refuse(status) } else { Then::Pass }
    });
    falls_back_with(service, first, second)
}

fn falls_back_with(service: Service, first: &'static Provider, second: &'static Provider) -> Place {
    let place = Place::new(service);
    place.config(&format!("[profiles.chain]\nmodel = \"{}\"\nfallback = [\"{}\"]\n", first.spec(), second.spec()));
    place.run("chain", &[]).answered(second);

    let by: Vec<_> = place.answers().iter().map(|answer| answer["by"].as_str().map(str::to_owned)).collect();
    assert_eq!(by, [None, Some(second.spec())], "{first:?} to {second:?}");
    place.replays();
    place
}

#[test]
fn another_model_answers_where_the_first_refuses() {
    let Some(judge) = judge() else { return };
    for (first, second) in pairs() {
        let place = falls_back(judge, first, second, 401);

        let whose: Vec<bool> = place.service().asked().iter().map(|asked| asked.is_for(second)).collect();
        assert_eq!(whose, [false, false, true], "{first:?} to {second:?}");
    }
}

#[test]
fn another_model_answers_after_the_first_was_asked_again_in_vain() {
    let Some(judge) = judge() else { return };
    let place = falls_back(judge, &PROVIDERS[0], &PROVIDERS[2], 500);

    let whose: Vec<bool> = place.service().asked().iter().map(|asked| asked.is_for(&PROVIDERS[2])).collect();
    assert_eq!(whose, [false, false, false, false, false, true]);
}

#[test]
fn another_model_is_asked_after_the_first_broke_off() {
    let Some(judge) = judge() else { return };
    for (at, first) in PROVIDERS.iter().enumerate() {
        let second = &PROVIDERS[(at + 1) % PROVIDERS.len()];
        let broken = move |asked: &Asked| asked.is_for(first) && asked.body.contains("alpha");
        let service = Service::start(judge, move |asked, _| if broken(asked) { Then::Break } else { Then::Pass });
        let place = falls_back_with(service, first, second);

        let names: Vec<String> = place.events().iter().map(|event| event["type"].to_string()).collect();
        assert_eq!(names.iter().filter(|name| name.contains("interrupted")).count(), 1, "{first:?} to {second:?}");
    }
}
