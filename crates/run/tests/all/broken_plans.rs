//! Thirty kinds of broken plans: each is repaired, or named by a fault that the planner can act on.

use crate::support::{World, at, says, start};
use updraft_run::{ConversationEntry, Note, RunMode, StepRole};

/// What becomes of a plan.
#[derive(Clone, Copy)]
enum Outcome {
    /// It is read as these steps.
    Repaired(&'static str),
    /// It is sent back with a fault that contains this.
    Fault(&'static str),
}

use Outcome::{Fault, Repaired};

const KINDS: [(&str, &str, Outcome); 36] = [
    (
        "words around it",
        "Here is my plan:\n\n{\"steps\": [{\"id\": \"a\", \"agent\": \"thinker\"}]}\n\nGood luck!",
        Repaired("a"),
    ),
    ("a fenced block", "```json\n{\"steps\": [{\"id\": \"a\", \"agent\": \"thinker\"}]}\n```", Repaired("a")),
    (
        "thoughts before it",
        "<think>Maybe {two} steps?</think>{\"steps\": [{\"id\": \"a\", \"agent\": \"thinker\"}]}",
        Repaired("a"),
    ),
    ("a trailing comma", "{\"steps\": [{\"id\": \"a\", \"agent\": \"thinker\",},]}", Repaired("a")),
    ("single quotes", "{'steps': [{'id': 'a', 'agent': 'thinker'}]}", Repaired("a")),
    ("names without quotes", "{steps: [{id: \"a\", agent: \"thinker\"}]}", Repaired("a")),
    ("Python's words", "{\"steps\": [{\"id\": \"a\", \"agent\": \"thinker\", \"reads\": None}]}", Repaired("a")),
    ("comments", "{\"steps\": [ // the plan\n{\"id\": \"a\", \"agent\": \"thinker\"}]}", Repaired("a")),
    ("a missing bracket", "{\"steps\": [{\"id\": \"a\", \"agent\": \"thinker\"}}", Repaired("a")),
    ("a bare list", "[{\"id\": \"a\", \"agent\": \"thinker\"}]", Repaired("a")),
    ("a wrapping object", "{\"plan\": {\"steps\": [{\"id\": \"a\", \"agent\": \"thinker\"}]}}", Repaired("a")),
    (
        "nodes and edges",
        "{\"nodes\": [{\"id\": \"a\", \"agent\": \"thinker\"}, {\"id\": \"b\", \"agent\": \"coder\"}], \"edges\": [{\"source\": \"a\", \"target\": \"b\"}]}",
        Repaired("a, b < a"),
    ),
    (
        "numbers for ids",
        "{\"steps\": [{\"id\": 1, \"agent\": \"thinker\"}, {\"id\": 2, \"agent\": \"thinker\", \"after\": [1]}]}",
        Repaired("1, 2 < 1"),
    ),
    (
        "a text for a list",
        "{\"steps\": [{\"id\": \"a\", \"agent\": \"thinker\"}, {\"id\": \"b\", \"agent\": \"thinker\", \"after\": \"a\"}]}",
        Repaired("a, b < a"),
    ),
    ("a class for an agent", "{\"steps\": [{\"id\": \"a\", \"agent\": \"ThinkerAgent\"}]}", Repaired("a")),
    (
        "tasks without names",
        "{\"steps\": [{\"agent\": \"coder\", \"task\": \"count\"}, {\"agent\": \"thinker\", \"task\": \"explain\"}]}",
        Repaired("step_1, step_2"),
    ),
    (
        "a name twice in a list",
        "{\"steps\": [{\"id\": \"a\", \"agent\": \"thinker\"}, {\"id\": \"b\", \"agent\": \"thinker\", \"after\": [\"a\", \"a\"]}]}",
        Repaired("a, b < a"),
    ),
    (
        "nothing for a list",
        "{\"steps\": [{\"id\": \"a\", \"agent\": \"thinker\", \"reads\": null, \"after\": null}]}",
        Repaired("a"),
    ),
    (
        "Python code",
        "def plan():\n    return [Step('a', thinker)]\n",
        Fault("no plan; answer with the plan as one JSON object"),
    ),
    (
        "plain words",
        "First I would look at the files, and then answer.",
        Fault("no plan; answer with the plan as one JSON object"),
    ),
    ("an empty answer", "", Fault("no plan; answer with the plan as one JSON object")),
    ("an empty object", "{}", Fault("the plan has no steps: expected an object with a list `steps`")),
    ("no steps", "{\"steps\": []}", Fault("the plan has no steps")),
    ("steps that are texts", "{\"steps\": [\"read the files\", \"answer\"]}", Fault("step 1 is not an object")),
    (
        "an object for the steps",
        "{\"steps\": {\"a\": \"thinker\"}}",
        Fault("the plan has no steps: expected an object with a list `steps`"),
    ),
    (
        "a step without a name",
        "{\"steps\": [{\"agent\": \"thinker\", \"writes\": [\"x\"]}]}",
        Fault("step 1 has no `id`"),
    ),
    (
        "a name with spaces",
        "{\"steps\": [{\"id\": \"read it\", \"agent\": \"thinker\"}]}",
        Fault("`read it` is not a valid step id"),
    ),
    ("no agent", "{\"steps\": [{\"id\": \"a\", \"writes\": [\"x\"]}]}", Fault("step `a` names no `agent`")),
    (
        "an agent nearly spelled right",
        "{\"steps\": [{\"id\": \"a\", \"agent\": \"thinkr\"}]}",
        Fault("names the agent `thinkr`, which does not exist; available: `thinker`"),
    ),
    (
        "an invented agent",
        "{\"steps\": [{\"id\": \"a\", \"agent\": \"wizard\"}]}",
        Fault("names the agent `wizard`, which does not exist; available: `browser`, `coder`"),
    ),
    (
        "an invented model",
        "{\"steps\": [{\"id\": \"a\", \"agent\": \"thinker\", \"model\": \"gpt-9\"}]}",
        Fault("names the model `gpt-9`, which is not set up"),
    ),
    (
        "a step twice",
        "{\"steps\": [{\"id\": \"a\", \"agent\": \"thinker\"}, {\"id\": \"a\", \"agent\": \"coder\"}]}",
        Fault("two steps have the id `a`; each needs its own id"),
    ),
    (
        "a circle",
        "{\"steps\": [{\"id\": \"a\", \"agent\": \"thinker\", \"after\": [\"b\"]}, {\"id\": \"b\", \"agent\": \"thinker\", \"after\": [\"a\"]}]}",
        Fault("the steps `a`, `b` wait for each other in a cycle"),
    ),
    (
        "a variable that nobody writes",
        "{\"steps\": [{\"id\": \"a\", \"agent\": \"thinker\", \"reads\": [\"facts\"]}]}",
        Fault("step `a` reads `facts`, which no step before it writes"),
    ),
    (
        "two writers side by side",
        "{\"steps\": [{\"id\": \"a\", \"agent\": \"thinker\", \"writes\": [\"x\"]}, {\"id\": \"b\", \"agent\": \"thinker\", \"writes\": [\"x\"]}]}",
        Fault("the steps `a` and `b` both write `x`"),
    ),
    (
        "a step that is not there",
        "{\"steps\": [{\"id\": \"a\", \"agent\": \"thinker\", \"after\": [\"before\"]}]}",
        Fault("step `a` waits for `before`, and there is no such step"),
    ),
];

/// The steps that a planner's answer became, and the faults that it was told.
fn told(answer: &str) -> (String, Vec<String>) {
    let mut world = World::of(start(RunMode::Plan));
    world.reply(&at("plan/0/0/ask.0"), says(answer));
    let steps = world.run.steps().filter(|step| step.role == StepRole::Work).map(|step| {
        let after: Vec<&str> = step.spec.after.iter().map(updraft_run::StepId::as_str).collect();
        if after.is_empty() { step.spec.id.to_string() } else { format!("{} < {}", step.spec.id, after.join(" ")) }
    });
    let steps = steps.collect::<Vec<_>>().join(", ");
    let faults = world.step("plan").conversation.iter().find_map(|entry| match entry {
        ConversationEntry::Note(Note::PlanFaults { faults }) => Some(faults.clone()),
        _ => None,
    });
    (steps, faults.unwrap_or_default())
}

#[test]
fn every_broken_plan_is_repaired_or_named_by_its_fault() {
    for (kind, answer, outcome) in KINDS {
        let (steps, faults) = told(answer);
        match outcome {
            Repaired(expected) => assert_eq!((steps.as_str(), faults.len()), (expected, 0), "{kind}: {faults:?}"),
            Fault(expected) => {
                assert!(faults.iter().any(|fault| fault.contains(expected)), "{kind}: {faults:?}");
                assert_eq!(steps, "", "{kind}");
            }
        }
    }
}

#[test]
fn a_huge_plan_is_refused_by_its_size_and_a_deep_one_does_no_harm() {
    let many: Vec<String> = (0..100_001).map(|n| format!("{{\"id\":\"s{n}\",\"agent\":\"thinker\"}}")).collect();
    let (_, faults) = told(&format!("{{\"steps\":[{}]}}", many.join(",")));
    assert_eq!(faults, ["the plan has 100001 steps; at most 100000 are allowed"]);
    let long = format!("{{\"steps\":[{{\"id\":\"a\",\"agent\":\"thinker\",\"prompt\":\"{}\"}}]}}", "x".repeat(200_001));
    assert!(told(&long).1[0].contains("longer than 200000 bytes"));
    let (steps, faults) = told(&"[".repeat(100_000));
    assert_eq!((steps.as_str(), faults.len()), ("", 1), "{faults:?}");
}

#[test]
fn tasks_without_names_become_a_sequence_that_can_be_planned_again() {
    let tasks =
        "{\"steps\": [{\"agent\": \"coder\", \"task\": \"count\"}, {\"agent\": \"thinker\", \"task\": \"explain\"}]}";
    let world = World::of(start(RunMode::Plan))
        .says("plan", [says(tasks), says(tasks)])
        .says("step_1", [says("{\"result_1\": 3}")])
        .says("step_2", [crate::support::model_fails("gone")])
        .says("step_1.1", [says("{\"result_1.1\": 4}")])
        .says("step_2.1", [says("four")])
        .go();
    assert_eq!((world.answer().as_str(), world.run.status_word()), ("four", "done"));
    assert_eq!(world.step("step_2.1").spec.reads, ["result_1.1"]);
}
