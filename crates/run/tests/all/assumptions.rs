//! Runs in which nobody is asked: agents state what they assume, and it is recorded.

use std::sync::Arc;

use crate::support::{World, given, says, used};
use serde_json::{Value, json};
use updraft_run::{ModelAnswer, Reply, RunSettings, RunStart, Status, ToolCall};

fn asks(args: Value) -> Reply {
    let call = ToolCall { id: "c".into(), name: "ask_user".into(), args, fault: None };
    Reply::Answer(Arc::new(ModelAnswer { calls: vec![call], usage: used(10), ..ModelAnswer::default() }))
}

fn assuming(assume: bool) -> RunStart {
    let start = given(&["a"]);
    RunStart { settings: Arc::new(RunSettings { assume, ..(*start.settings).clone() }), ..start }
}

#[test]
fn an_assumption_is_recorded_instead_of_a_question() {
    let question = json!({ "question": "Which port?" });
    let stated = json!({ "question": "Which port?", "assumption": "8080, the usual one" });
    let world = World::of(assuming(true)).says("a", [asks(question.clone()), asks(stated), says("on 8080")]).go();
    assert_eq!(world.run.status(), Status::Done);
    insta::assert_snapshot!(world.transcript(), @r#"
    started: the goal
    planned because "first": a
    wants a/0/0/ask.0
    a/0/0/ask.0 says ask_user({"question":"Which port?"})
    rejects a/0/0/call.0: nobody is asked in this run. Call `ask_user` again with `assumption`: what you take as given instead
    wants a/0/1/ask.0
    a/0/1/ask.0 says ask_user({"assumption":"8080, the usual one","question":"Which port?"})
    rejects a/0/1/call.0: nobody is asked in this run. Go on with your assumption, and state it as one in your result: 8080, the usual one
    wants a/0/2/ask.0
    a/0/2/ask.0 says "on 8080"
    a done
    finished: on 8080
    "#);
    let assumed: Vec<_> = world.run.assumptions().iter().map(|one| one.assumption.as_str()).collect();
    assert_eq!(assumed, ["8080, the usual one"]);
    let world = World::of(assuming(false)).says("a", [asks(question)]).go();
    assert_eq!(world.run.status(), Status::Waiting, "otherwise the question waits for a person");
}
