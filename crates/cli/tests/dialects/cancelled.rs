//! Ctrl-C in the middle of an answer closes the connection, and the run goes on later.

use std::io::{BufRead as _, BufReader};
use std::process::Command;

use crate::judge::judge;
use crate::place::{GOAL, Place, SAID};
use crate::providers::{PROVIDERS, Provider};
use crate::service::{Service, Then};

/// A process that does not outlive its test.
struct Child(std::process::Child);

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn interrupted_in_the_middle_of_an_answer_it_hangs_up_and_can_go_on() {
    let Some(judge) = judge() else { return };
    // What is at work gets a moment to end, so all of them wait for it together.
    std::thread::scope(|all| {
        for provider in &PROVIDERS {
            all.spawn(move || interrupt_and_resume(judge, provider));
        }
    });
}

fn interrupt_and_resume(judge: &'static str, provider: &Provider) {
    let service = Service::start(judge, |_, before| if before.is_empty() { Then::Hold } else { Then::Pass });
    let place = Place::new(service);
    let model = provider.spec();
    let arguments = ["run", "--json", "--budget", "1", "--agent", "retriever", "--model", &model, GOAL];
    let mut child = Child(place.command(&arguments).spawn().unwrap());

    // The answer is not whole yet, and will not be: what comes here was streamed.
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("\"item.updated\"")), "{provider:?}");
    let killed = Command::new("kill").args(["-INT", &child.0.id().to_string()]).status().unwrap();
    assert!(killed.success());
    place.service().until_left();
    let rest: Vec<String> = lines.collect();
    assert_eq!(child.0.wait().unwrap().code(), Some(130), "{provider:?}: {rest:?}");

    let run = place.last();
    let resumed = place.updraft(&["resume", &run, "--json"]).done().json();
    let end = resumed.last().unwrap();
    assert_eq!(end["answer"], SAID, "{provider:?}");
    assert_eq!(place.service().asked().len(), 3, "{provider:?}");
    // What had been written before the connection was closed may have been billed.
    place.assert_cost(end, place.reserved()[0]);
    place.replays();
}
