//! An answer that breaks off is asked for again, and what it may have cost is not forgotten.

use serde_json::Value;

use crate::judge::judge;
use crate::place::{Place, SAID};
use crate::providers::PROVIDERS;
use crate::service::{Service, Then};

#[test]
fn a_stream_that_breaks_off_is_asked_for_again_and_stays_in_doubt() {
    let Some(judge) = judge() else { return };
    for provider in &PROVIDERS {
        let service = Service::start(judge, |_, before| if before.is_empty() { Then::Break } else { Then::Pass });
        let place = Place::new(service);
        let heard = place.run(&provider.spec(), &["--budget", "1", "--json"]).done().json();
        let end = heard.last().unwrap();

        assert_eq!(end["answer"], SAID, "{provider:?}");
        let bodies: Vec<String> = place.service().asked().into_iter().map(|asked| asked.body).collect();
        assert_eq!(bodies.len(), 3, "{provider:?}");
        assert_eq!(bodies[0], bodies[1], "{provider:?}");
        let events = place.events();
        let interrupted: Vec<&Value> = events.iter().filter_map(|event| event["event"].get("interrupted")).collect();
        assert_eq!(interrupted.len(), 1, "{provider:?}: {interrupted:?}");
        assert_eq!(interrupted[0]["id"], "retriever/0/0/ask.0");

        place.assert_cost(end, place.reserved()[0]);
        place.replays();
    }
}

#[test]
fn a_model_that_only_breaks_off_stops_the_run() {
    let Some(judge) = judge() else { return };
    let place = Place::new(Service::start(judge, |_, _| Then::Break));
    let ran = place.run(&PROVIDERS[0].spec(), &["--budget", "1", "--json"]).code(4);

    let end = &ran.json().pop().unwrap();
    assert_eq!((&end["type"], &end["kind"]), (&"run.exhausted".into(), &"outage".into()), "{end}");
    assert_eq!(place.service().asked().len(), 4);
    // Each of the attempts may have been billed.
    let reserved = place.reserved();
    assert_eq!(reserved.len(), 4);
    place.assert_cost(end, reserved.iter().sum());
    place.replays();
}
