//! Checks a graph before it is accepted, and names all its faults at once.

use std::collections::{BTreeMap, BTreeSet};

use super::{Graph, GraphFault, StepField, StepSpec};
use crate::id::StepId;

/// What a graph is checked against.
#[derive(Clone, Debug, Default)]
pub struct GraphContext<'a> {
    /// The agents that exist.
    pub agents: Vec<&'a str>,
    /// Variables that already exist, or will be written by steps at work.
    pub variables: BTreeSet<&'a str>,
    /// Steps that have begun: their ids are taken. The value says whether they may be named in `after`, that is, did
    /// not fail.
    pub begun: BTreeMap<&'a StepId, bool>,
    /// How many steps a graph may have.
    pub max_steps: usize,
    /// The names of models that steps may use; `None` if they are not known yet and checked later.
    pub models: Option<Vec<&'a str>>,
}

/// The longest prompt or description of a step. A longer one is not a plan.
const LONGEST_TEXT: usize = 200_000;
/// The longest name of a variable. A longer one is a mistake.
const LONGEST_NAME: usize = 128;
/// The limit on work spent on ordering several writers of one variable, before the graph counts as too tangled.
const MOST_VISITS: usize = 5_000_000;

impl Graph {
    /// All faults of the graph, in words a model can act on. Empty if the graph may be planned.
    pub fn faults(&self, around: &GraphContext<'_>) -> Vec<String> {
        self.faults_with_place(around).into_iter().map(|fault| fault.text).collect()
    }

    /// The same, each with the steps and the field that it is about.
    pub fn faults_with_place(&self, around: &GraphContext<'_>) -> Vec<GraphFault> {
        if self.steps.is_empty() {
            return vec![GraphFault::of_graph("the plan has no steps")];
        }
        if self.steps.len() > around.max_steps {
            let (has, most) = (self.steps.len(), around.max_steps);
            return vec![GraphFault::of_graph(format!("the plan has {has} steps; at most {most} are allowed"))];
        }
        let mut faults = Vec::new();
        let places = self.places(around, &mut faults);
        for step in &self.steps {
            check_step(step, around, &places, &mut faults);
        }
        let writers = self.writers();
        let edges = self.edges(around, &places, &writers, &mut faults);
        match order(&edges) {
            Ok(order) => self.check_writers(around, &writers, &edges, &order, &mut faults),
            Err(circle) => {
                let names: Vec<String> = circle.iter().take(10).map(|at| format!("`{}`", self.steps[*at].id)).collect();
                let text = match names.as_slice() {
                    [only] => format!("the step {only} waits for itself"),
                    several => format!("the steps {} wait for each other in a cycle", several.join(", ")),
                };
                let steps = circle.iter().map(|at| self.steps[*at].id.clone()).collect();
                faults.push(GraphFault { steps, field: Some(StepField::After), text });
            }
        }
        faults
    }

    /// For each step, the indexes of the steps it depends on in this graph: `after`, and the writers of its variables.
    pub fn dependencies(&self) -> Vec<Vec<usize>> {
        let places: BTreeMap<&StepId, usize> = self.steps.iter().enumerate().map(|(at, s)| (&s.id, at)).collect();
        let writers = self.writers();
        self.steps.iter().enumerate().map(|(at, step)| waits_for(at, step, &places, &writers)).collect()
    }

    fn places(&self, around: &GraphContext<'_>, faults: &mut Vec<GraphFault>) -> BTreeMap<&StepId, usize> {
        let mut places = BTreeMap::new();
        for (at, step) in self.steps.iter().enumerate() {
            let id = &step.id;
            let mut add = |text| faults.push(GraphFault::of_step(id, StepField::Id, text));
            if places.insert(id, at).is_some() {
                add(format!("two steps have the id `{id}`; each needs its own id"));
            }
            if around.begun.contains_key(id) {
                add(format!("the id `{id}` belongs to a step that has already begun; use another"));
            }
        }
        places
    }

    /// For each variable, the steps that write it.
    fn writers(&self) -> BTreeMap<&str, Vec<usize>> {
        let mut writers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, step) in self.steps.iter().enumerate() {
            for name in &step.writes {
                writers.entry(name).or_default().push(at);
            }
        }
        writers
    }

    /// For each variable, the steps that read it.
    fn readers(&self) -> BTreeMap<&str, Vec<usize>> {
        let mut readers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, step) in self.steps.iter().enumerate() {
            for name in &step.reads {
                readers.entry(name).or_default().push(at);
            }
        }
        readers
    }

    fn edges(
        &self,
        around: &GraphContext<'_>,
        places: &BTreeMap<&StepId, usize>,
        writers: &BTreeMap<&str, Vec<usize>>,
        faults: &mut Vec<GraphFault>,
    ) -> Vec<Vec<usize>> {
        let mut edges = Vec::with_capacity(self.steps.len());
        for (at, step) in self.steps.iter().enumerate() {
            for name in &step.reads {
                let others = writers.get(name.as_str()).map_or(0, |w| w.iter().filter(|w| **w != at).count());
                if others == 0 && !around.variables.contains(name.as_str()) {
                    let id = &step.id;
                    let text =
                        format!("step `{id}` reads `{name}`, which no step before it writes and which was not given");
                    faults.push(GraphFault::of_step(id, StepField::Reads, text));
                }
            }
            edges.push(waits_for(at, step, places, writers));
        }
        edges
    }

    /// Two writers of one variable must be ordered, and every reader must be ordered with each writer.
    fn check_writers(
        &self,
        around: &GraphContext<'_>,
        writers: &BTreeMap<&str, Vec<usize>>,
        edges: &[Vec<usize>],
        order: &[usize],
        faults: &mut Vec<GraphFault>,
    ) {
        let mut rank = vec![0; order.len()];
        for (n, at) in order.iter().enumerate() {
            rank[*at] = n;
        }
        let mut reach = PathSearch { edges, rank: &rank, left: MOST_VISITS };
        let readers = self.readers();
        for (name, several) in writers.iter().filter(|(_, several)| several.len() > 1) {
            let mut several = several.clone();
            several.sort_by_key(|at| rank[*at]);
            for pair in several.windows(2) {
                if !reach.from(pair[1], pair[0]) {
                    let [one, other] = [pair[0], pair[1]].map(|at| &self.steps[at].id);
                    let text = format!(
                        "the steps `{one}` and `{other}` both write `{name}` and neither waits for the other; add `after`, or use two names"
                    );
                    let steps = vec![one.clone(), other.clone()];
                    faults.push(GraphFault { steps, field: Some(StepField::After), text });
                }
            }
            for at in readers.get(name).into_iter().flatten().copied() {
                let others = || several.iter().copied().filter(|writer| *writer != at);
                let given = around.variables.contains(name) || others().any(|writer| reach.from(at, writer));
                // If a step could write while this one reads, the value would depend on timing.
                let is_ordered = others().all(|writer| reach.from(at, writer) || reach.from(writer, at));
                if !given || !is_ordered {
                    let id = &self.steps[at].id;
                    let text = format!(
                        "step `{id}` reads `{name}`, which several steps write; say with `after` which of them come first"
                    );
                    faults.push(GraphFault::of_step(id, StepField::After, text));
                }
            }
        }
        if reach.left == 0 {
            faults.push(GraphFault::of_graph("the plan is too complex to check; use more names for variables"));
        }
    }
}

fn check_step(
    step: &StepSpec,
    around: &GraphContext<'_>,
    places: &BTreeMap<&StepId, usize>,
    faults: &mut Vec<GraphFault>,
) {
    let id = &step.id;
    let mut add = |field, text| faults.push(GraphFault::of_step(id, field, text));
    if !around.agents.contains(&step.agent.as_str()) {
        let close = close_to(&step.agent, &around.agents);
        add(
            StepField::Agent,
            format!("step `{id}` names the agent `{}`, which does not exist; available: {close}", step.agent),
        );
    }
    if let (Some(model), Some(known)) = (&step.model, &around.models)
        && !known.contains(&model.as_str())
    {
        let there = if known.is_empty() { "none; leave it out".to_owned() } else { close_to(model, known) };
        add(
            StepField::Model,
            format!("step `{id}` names the model `{model}`, which is not set up; available: {there}"),
        );
    }
    for earlier in &step.after {
        match (places.contains_key(earlier), around.begun.get(earlier)) {
            (true, _) | (false, Some(true)) => {}
            (false, Some(false)) => {
                add(StepField::After, format!("step `{id}` waits for `{earlier}`, which has failed"));
            }
            (false, None) => {
                add(StepField::After, format!("step `{id}` waits for `{earlier}`, and there is no such step"));
            }
        }
    }
    if step.description.len() > LONGEST_TEXT || step.prompt.len() > LONGEST_TEXT {
        add(StepField::Text, format!("the text of step `{id}` is longer than {LONGEST_TEXT} bytes"));
    }
    for name in step.reads.iter().chain(&step.writes) {
        if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
            let shown: String = name.chars().take(40).collect();
            add(
                StepField::Writes,
                format!("step `{id}` has a variable `{shown}`; names have 1 to {LONGEST_NAME} characters"),
            );
        }
    }
}

fn waits_for(
    at: usize,
    step: &StepSpec,
    places: &BTreeMap<&StepId, usize>,
    writers: &BTreeMap<&str, Vec<usize>>,
) -> Vec<usize> {
    let mut found: Vec<usize> = step.after.iter().filter_map(|id| places.get(id).copied()).collect();
    for name in &step.reads {
        // With several writers, `after` says which one is meant. A step that reads its own variable gets the earlier
        // value.
        if let Some([only]) = writers.get(name.as_str()).map(Vec::as_slice)
            && *only != at
        {
            found.push(*only);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The steps in an order in which each comes after those it depends on; or the steps of one cycle.
fn order(edges: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    let mut next = vec![Vec::new(); edges.len()];
    let mut waits = vec![0usize; edges.len()];
    for (at, earlier) in edges.iter().enumerate() {
        waits[at] = earlier.len();
        for from in earlier {
            next[*from].push(at);
        }
    }
    let mut order: Vec<usize> = (0..edges.len()).filter(|at| waits[*at] == 0).collect();
    let mut done = 0;
    while let Some(at) = order.get(done).copied() {
        done += 1;
        for later in &next[at] {
            waits[*later] -= 1;
            if waits[*later] == 0 {
                order.push(*later);
            }
        }
    }
    if order.len() == edges.len() { Ok(order) } else { Err(circle(edges, &waits)) }
}

/// Finds one cycle among the steps that still wait: following dependencies back from any of them leads into one.
fn circle(edges: &[Vec<usize>], waits: &[usize]) -> Vec<usize> {
    let mut way: Vec<usize> = Vec::new();
    let mut seen = BTreeMap::new();
    let mut here = (0..edges.len()).find(|at| waits[*at] > 0);
    while let Some(at) = here {
        if let Some(first) = seen.insert(at, way.len()) {
            let mut circle = way.split_off(first);
            circle.sort_unstable();
            return circle;
        }
        way.push(at);
        here = edges[at].iter().copied().find(|from| waits[*from] > 0);
    }
    way
}

/// Searches for paths backwards through the graph, with a limit on the work.
struct PathSearch<'a> {
    edges: &'a [Vec<usize>],
    rank: &'a [usize],
    left: usize,
}

impl PathSearch<'_> {
    fn from(&mut self, later: usize, earlier: usize) -> bool {
        let mut seen = BTreeSet::new();
        let mut todo = vec![later];
        while let Some(at) = todo.pop() {
            if at == earlier {
                return true;
            }
            if self.left == 0 {
                return true;
            }
            self.left -= 1;
            let before = self.edges[at].iter().filter(|from| self.rank[**from] >= self.rank[earlier]);
            todo.extend(before.filter(|from| seen.insert(**from)));
        }
        false
    }
}

/// Names the most similar names, or all names.
pub fn close_to(name: &str, known: &[&str]) -> String {
    let close = similar_to(name, known);
    let shown = if close.is_empty() { known } else { &close };
    let shown: Vec<String> = shown.iter().take(20).map(|k| format!("`{k}`")).collect();
    if shown.is_empty() { "none".into() } else { shown.join(", ") }
}

/// The names that are similar, in order.
pub(crate) fn similar_to<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    let is_close = |k: &&str| distance(name, k) <= 2 || k.starts_with(name);
    let mut close: Vec<&str> = known.iter().copied().filter(is_close).collect();
    close.sort_unstable();
    close
}

fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replace = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
