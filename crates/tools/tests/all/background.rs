//! Commands that keep running while their step goes on.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]

use serde_json::{Value, json};
use updraft_run::CallOrder;
use updraft_sandbox::{Policy, SandboxLevel};
use updraft_tools::{Confinement, Registry, ToolLimits};

use crate::common::confined::confinement;
use crate::common::{World, call};

async fn world() -> Option<World> {
    let limits = ToolLimits::default();
    Some(World::of(Registry::standard(&limits).with_commands(confinement().await?), limits))
}

async fn start(world: &World, command: &str) -> String {
    world.text("run_command", json!({ "command": command, "background": true })).await
}

/// `[bg1 runs, 0:07; …` without the time.
fn without_age(text: &str) -> String {
    let (name, rest) = text.split_once(", ").unwrap();
    let end = rest.find([';', ']']).unwrap();
    assert!(rest[..end].split(':').all(|part| part.parse::<u32>().is_ok()), "{text}");
    format!("{name}{}", &rest[end..])
}

#[tokio::test]
async fn what_is_new_is_read_once_and_a_line_is_waited_for() {
    let Some(world) = world().await else { return };
    let begun = start(&world, "echo one; while [ ! -e go ]; do sleep 0.05; done; echo ready; exec sleep 600").await;
    assert_eq!(begun, "[bg1 runs until you stop it or your task ends; read it with `background`]\none\n");
    let read = async |args: Value| world.output("background", args).await;
    assert_eq!(without_age(&read(json!({ "name": "bg1" })).await.text), "[bg1 runs]\n[nothing new was printed]\n");
    let late = read(json!({ "name": "bg1", "wait": "ready", "seconds": 1 })).await;
    assert_eq!(without_age(&late.text), "[bg1 runs; it did not print `ready` within 1 s]\n[nothing new was printed]\n");
    assert!(late.is_error);
    // It works in the folder itself, so it sees what others write there.
    world.put("go", "");
    let came = read(json!({ "name": "bg1", "wait": "read" })).await;
    assert_eq!((without_age(&came.text).as_str(), came.is_error), ("[bg1 runs; it printed `read`]\nready\n", false));
    assert_eq!(came.background.as_deref(), Some(&["bg1".to_owned()][..]));
    let stopped = read(json!({ "name": "bg1", "stop": true })).await;
    assert_eq!(stopped.text, "[bg1 has ended: stopped]\n[nothing new was printed]\n");
    assert_eq!((stopped.is_error, stopped.background.as_deref()), (false, Some(&[][..])));
}

#[tokio::test]
async fn one_that_fails_at_once_says_so_at_once() {
    let Some(world) = world().await else { return };
    let args = json!({ "command": "echo no such module >&2; exit 3", "background": true });
    let output = world.output("run_command", args).await;
    assert_eq!(output.text, "[bg1 has ended: exit code 3]\nno such module\n");
    assert!(output.is_error);
    let why = world.failure("background", json!({ "name": "bg2" })).await.message;
    assert_eq!(why, "no background command `bg2`; they end with their step and with the program: there is bg1");
}

#[tokio::test]
async fn at_most_four_run_at_a_time_and_all_end_with_their_step() {
    let Some(world) = world().await else { return };
    for n in 1..=4 {
        assert!(start(&world, &format!("while true; do echo x >> beat-{n}; sleep 0.01; done")).await.contains("runs"));
    }
    let why = world.failure("run_command", json!({ "command": "sleep 600", "background": true })).await.message;
    assert!(why.starts_with("at most 4 background commands run at a time: bg1 (`while true;"), "{why}");
    world.output("background", json!({ "name": "bg2", "stop": true })).await;
    assert!(start(&world, "sleep 600").await.starts_with("[bg5 runs"), "names are not used again");
    assert_eq!(world.dispatcher.running("", ""), ["bg1", "bg3", "bg4", "bg5"]);

    world.dispatcher.end_step("another run", "").await;
    assert_eq!(world.dispatcher.running("", "").len(), 4, "the step of another run has its own");
    world.dispatcher.end_step("", "").await;
    assert!(world.dispatcher.running("", "").is_empty());
    let sizes = || [1, 2, 3, 4].map(|n| world.content(&format!("beat-{n}")).len());
    let before = sizes();
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert_eq!(sizes(), before, "nothing writes any more");
}

#[tokio::test]
async fn a_command_that_hangs_hears_that_it_waited_for_no_input() {
    let Some(world) = world().await else { return };
    let text = world.text("run_command", json!({ "command": "echo so far; sleep 600", "seconds": 1 })).await;
    let told = "[it did not wait for input, which is empty; what asks needs a flag such as `-y` or `CI=1`, what never ends \
                `background`; `seconds` may be up to ";
    assert!(
        text.starts_with("[killed: time limit reached") && text.contains(told) && text.contains("so far"),
        "{text}"
    );
}

#[test]
fn starting_one_takes_its_turn_reading_does_not_and_who_only_reads_has_none() {
    let of = |read_only: bool| {
        let mut confinement = Confinement::new("/nonexistent", Policy::strict("/nonexistent"));
        (confinement.level, confinement.read_only) = (Some(SandboxLevel::Full), read_only);
        let limits = ToolLimits::default();
        World::of(Registry::standard(&limits).with_commands(confinement), limits)
    };
    let world = of(false);
    let order = |name: &str, args: Value| world.dispatcher.prepare(&call(name, args), &world.place).order;
    assert_eq!(order("run_command", json!({ "command": "ls", "background": true })), CallOrder::Alone);
    assert_eq!(order("run_command", json!({ "command": "ls" })), CallOrder::Reads);
    assert_eq!(order("background", json!({ "name": "bg1", "wait": "3000" })), CallOrder::Reads);
    assert_eq!(order("background", json!({ "name": "bg1", "stop": true })), CallOrder::Alone);
    let registry = world.dispatcher.registry();
    let names: Vec<String> = registry.specs_for(&["run_command"]).into_iter().map(|spec| spec.name).collect();
    assert_eq!(names, ["background", "run_command"], "who may start them can read them");
    let world = of(true);
    let start = call("run_command", json!({ "command": "ls", "background": true }));
    assert!(world.dispatcher.prepare(&start, &world.place).fault.is_some());
    assert!(world.dispatcher.registry().get("background").is_none());
}
