//! The check of a plan, and the spellings in which plans are read.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{graph, id};
use serde_json::{Value, json};
use updraft_run::{Graph, GraphContext, StepSpec};

fn around() -> GraphContext<'static> {
    let variables = BTreeSet::from(["given"]);
    let agents = vec!["coder", "planner", "thinker"];
    GraphContext { agents, variables, begun: BTreeMap::new(), max_steps: 100_000, models: Some(vec!["fast"]) }
}

fn step(name: &str, reads: &[&str], writes: &[&str], after: &[&str]) -> StepSpec {
    let own = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let after = after.iter().map(|name| id(name)).collect();
    StepSpec { reads: own(reads), writes: own(writes), after, ..StepSpec::new(id(name), "thinker") }
}

fn faults(steps: Vec<StepSpec>) -> Vec<String> {
    Graph { steps }.faults(&around())
}

#[test]
fn a_sound_plan_has_no_faults() {
    let steps =
        vec![step("a", &["given"], &["x"], &[]), step("b", &["x"], &["y"], &[]), step("c", &["x", "y"], &[], &["a"])];
    assert_eq!(faults(steps), Vec::<String>::new());
}

#[test]
fn a_circle_is_named_by_its_members_and_not_by_those_behind_it() {
    let plan = graph(&["a < c", "b < a", "c < b", "behind < c", "free"]);
    assert_eq!(plan.faults(&around()), ["the steps `a`, `b`, `c` wait for each other in a cycle"]);
    assert_eq!(graph(&["a < a"]).faults(&around()), ["the step `a` waits for itself"]);
}

#[test]
fn a_circle_through_variables_is_a_circle() {
    let steps = vec![step("a", &["y"], &["x"], &[]), step("b", &["x"], &["y"], &[])];
    assert_eq!(faults(steps), ["the steps `a`, `b` wait for each other in a cycle"]);
}

#[test]
fn an_unknown_agent_is_named_with_those_it_is_close_to() {
    let plan = graph(&["a:thinkr", "b:wizard"]);
    insta::assert_snapshot!(plan.faults(&around()).join("\n"), @"
    step `a` names the agent `thinkr`, which does not exist; available: `thinker`
    step `b` names the agent `wizard`, which does not exist; available: `coder`, `planner`, `thinker`
    ");
}

#[test]
fn a_variable_that_nobody_writes_before_is_named() {
    insta::assert_snapshot!(faults(vec![step("a", &["x", "given"], &["x"], &[])]).join("\n"), @"step `a` reads `x`, which no step before it writes and which was not given");
}

#[test]
fn two_writers_of_one_variable_must_be_ordered() {
    let tangled = faults(vec![step("a", &[], &["x"], &[]), step("b", &[], &["x"], &[])]);
    insta::assert_snapshot!(tangled.join("\n"), @"the steps `a` and `b` both write `x` and neither waits for the other; add `after`, or use two names");
    let far = vec![step("a", &[], &["x"], &[]), step("m", &[], &[], &["a"]), step("b", &[], &["x"], &["m"])];
    assert_eq!(faults(far), Vec::<String>::new());
}

#[test]
fn a_reader_beside_a_second_writer_is_a_matter_of_luck_and_so_a_fault() {
    let writers = [step("a", &[], &["x"], &[]), step("b", &[], &["x"], &["a"])];
    let beside = [writers.to_vec(), vec![step("r", &["x"], &[], &["a"])]].concat();
    insta::assert_snapshot!(faults(beside).join("\n"), @"step `r` reads `x`, which several steps write; say with `after` which of them come first");
    let behind = [writers.to_vec(), vec![step("r", &["x"], &[], &["b"])]].concat();
    assert_eq!(faults(behind), Vec::<String>::new());
    let between = vec![step("a", &[], &["x"], &[]), step("r", &["x"], &[], &["a"]), step("b", &[], &["x"], &["r"])];
    assert_eq!(faults(between), Vec::<String>::new());
}

#[test]
fn ids_are_used_once_and_never_those_of_steps_that_have_begun() {
    let (done, failed) = (id("done"), id("failed"));
    let surroundings = GraphContext { begun: BTreeMap::from([(&done, true), (&failed, false)]), ..around() };
    let plan = graph(&["a", "a", "done", "b < done", "c < failed", "d < nowhere"]);
    insta::assert_snapshot!(plan.faults(&surroundings).join("\n"), @"
    two steps have the id `a`; each needs its own id
    the id `done` belongs to a step that has already begun; use another
    step `c` waits for `failed`, which has failed
    step `d` waits for `nowhere`, and there is no such step
    ");
}

#[test]
fn sizes_have_limits() {
    let small = GraphContext { max_steps: 2, ..around() };
    assert_eq!(graph(&["a", "b", "c"]).faults(&small), ["the plan has 3 steps; at most 2 are allowed"]);
    assert_eq!(Graph::default().faults(&around()), ["the plan has no steps"]);
    let mut long = step("a", &[""], &["n\n"], &[]);
    long.prompt = "x".repeat(200_001);
    let found = faults(vec![long]);
    assert!(found.iter().any(|fault| fault.contains("longer than 200000 bytes")), "{found:?}");
    assert_eq!(found.iter().filter(|fault| fault.contains("names have 1 to 128")).count(), 2, "{found:?}");
}

#[test]
fn all_faults_are_named_at_once() {
    let mut steps =
        vec![step("a", &["lost"], &["x"], &["nowhere"]), step("b", &[], &["x"], &[]), step("a", &[], &[], &[])];
    steps[1].agent = "wizard".into();
    let found = faults(steps);
    for part in ["two steps have the id `a`", "`wizard`", "reads `lost`", "no such step", "both write `x`"] {
        assert!(found.iter().any(|fault| fault.contains(part)), "{part} is missing in {found:#?}");
    }
}

#[test]
fn a_hundred_thousand_steps_are_checked_without_squares() {
    let wide: Vec<StepSpec> = (0..100_000).map(|n| StepSpec::new(id(&format!("s{n}")), "thinker")).collect();
    assert!(faults(wide).is_empty());
    // A chain with two writers and a reader for every variable: nothing may be looked at for every variable again.
    let chain = (0..100_000usize).map(|n| {
        let name = format!("v{}", n / 3);
        let after = n.checked_sub(1).map(|n| id(&format!("s{n}")));
        let mut step =
            StepSpec { after: after.into_iter().collect(), ..StepSpec::new(id(&format!("s{n}")), "thinker") };
        if n % 3 == 2 {
            step.reads.push(name);
        } else {
            step.writes.push(name);
        }
        step
    });
    assert_eq!(faults(chain.collect()), Vec::<String>::new());
}

#[test]
fn a_step_that_waits_for_fifty_thousand_others_is_read_without_squares() {
    let names: Vec<String> = (0..50_000).map(|n| format!("s{n}")).collect();
    let mut nodes: Vec<Value> = names.iter().map(|name| json!({ "id": name, "agent": "thinker" })).collect();
    nodes.push(json!({ "id": "all", "agent": "thinker", "after": names }));
    nodes.push(json!({ "id": "linked", "agent": "thinker" }));
    let edges: Vec<Value> = names.iter().map(|name| json!({ "source": name, "target": "linked" })).collect();
    let plan = Graph::read(&json!({ "nodes": nodes, "edges": edges })).unwrap();
    assert_eq!(plan.steps[50_000].after.len(), 50_000);
    assert_eq!(plan.steps[50_001].after.len(), 50_000);
}

fn shape(plan: &Value) -> String {
    match Graph::read(plan) {
        Err(faults) => faults.join("\n"),
        Ok(graph) => {
            let lines = graph.steps.iter().map(|step| {
                let after: Vec<&str> = step.after.iter().map(updraft_run::StepId::as_str).collect();
                format!(
                    "{} by {} after {after:?} reads {:?} writes {:?}: {}",
                    step.id, step.agent, step.reads, step.writes, step.prompt
                )
            });
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}

#[test]
fn every_spelling_of_a_plan_reads_the_same() {
    let first = json!({ "id": "a", "agent": "ThinkerAgent", "prompt": "think", "writes": ["x"] });
    let second = |key: &str| json!({ "id": "b", "agent": "Coder", "agent_prompt": "code", "reads": "x", key: ["a"] });
    let bare = json!({ "id": "b", "agent": "coder", "instruction": "code", "inputs": ["x"] });
    let edge = json!([{ "source": "ROOT", "target": "a" }, { "source": "a", "target": "b" }]);
    let expected = shape(&json!({ "steps": [first, second("after")] }));
    insta::assert_snapshot!(expected, @r#"
    a by thinker after [] reads [] writes ["x"]: think
    b by coder after ["a"] reads ["x"] writes []: code
    "#);
    for plan in [
        json!([first, second("after")]),
        json!({ "steps": [first, second("depends_on")] }),
        json!({ "plan_graph": { "nodes": [first, second("dependencies")] } }),
        json!({ "plan_graph": { "nodes": [first, bare], "edges": edge } }),
        json!({ "plan": { "steps": [first, bare], "links": [{ "from": "a", "to": "b" }] } }),
        json!({ "directed": true, "multigraph": false, "graph": {}, "nodes": [{ "id": "ROOT" }, first, bare], "links": edge }),
        json!({ "output": { "plan_graph": { "nodes": [first, bare], "edges": edge } } }),
        json!({ "steps": [first, { "id": "b", "agent": "coder", "task": "code", "reads": ["x", "x"], "after": null, "depends_on": ["a", "ROOT", "a"] }] }),
    ] {
        assert_eq!(shape(&plan), expected, "{plan}");
    }
}

#[test]
fn an_agent_whose_own_name_ends_in_agent_keeps_it() {
    for (written, read) in
        [("travel-agent", "travel-agent"), ("my_agent", "my_agent"), ("ThinkerAgent", "thinker"), ("Agent", "agent")]
    {
        let plan = Graph::read(&json!([{ "id": "a", "agent": written }])).unwrap();
        assert_eq!(plan.steps[0].agent, read);
    }
}

#[test]
fn what_cannot_be_read_is_named_step_by_step() {
    let plan = json!({ "steps": [
        { "agent": "thinker" },
        { "id": "a" },
        { "id": "no spaces", "agent": "thinker" },
        "b",
        { "id": "c", "agent": "thinker", "reads": { "x": 1 } },
        { "id": "d", "agent": "thinker", "after": ["e!"] },
    ], "edges": [{ "source": "a" }, { "source": "x", "target": "y" }] });
    insta::assert_snapshot!(shape(&plan), @"
    step 1 has no `id`
    step `a` names no `agent`
    `no spaces` is not a valid step id: 1 to 64 letters, digits, `_`, `-`, `.`
    step 4 is not an object
    `reads` of step `c` must be a list of names
    step `d`: `e!` is not a valid step id: 1 to 64 letters, digits, `_`, `-`, `.`
    an edge lacks `source` or `target`
    an edge goes from `x` to `y`, and there is no such step
    ");
    insta::assert_snapshot!(shape(&json!({ "answer": 42 })), @"the plan has no steps: expected an object with a list `steps`, each with `id`, `agent`, `prompt`, `reads`, `writes`, `after`");
    insta::assert_snapshot!(shape(&json!("no")), @"the plan has no steps: expected an object with a list `steps`, each with `id`, `agent`, `prompt`, `reads`, `writes`, `after`");
}
