//! Decides what a swarm adds to its router's plan: a last step that joins all results, and who works if the plan cannot
//! be carried out.

use crate::goal::{AgentCard, RunMode};
use crate::graph::{Graph, StepSpec, Tries};
use crate::id::StepId;
use crate::role::AgentRole;
use crate::state::Run;
use crate::step::Step;

impl Run {
    /// The plan of a swarm, with a last step that reads the results of all others and answers the goal. The plan of
    /// another run, or of one step, stays as it is.
    pub(super) fn with_synthesis(&self, mut graph: Graph) -> Graph {
        if self.goal.mode != RunMode::Swarm || graph.steps.len() < 2 {
            return graph;
        }
        let mut is_used = vec![false; graph.steps.len()];
        graph.dependencies().iter().flatten().for_each(|at| is_used[*at] = true);
        let unused: Vec<usize> = (0..graph.steps.len()).filter(|at| !is_used[*at]).collect();
        let last = match unused.as_slice() {
            [only] if self.joins_results(&graph.steps[*only]) => *only,
            _ => {
                let Some(agent) = self.synthesizer() else { return graph };
                let mut step = StepSpec::new(self.free_id("answer", &graph), &agent.name);
                step.description = "Join the results of all workers into the answer to the goal".into();
                graph.steps.push(step);
                graph.steps.len() - 1
            }
        };
        // Of several tries of a step, only what was chosen counts.
        let is_try = |step: &StepSpec| matches!(step.tries.as_deref(), Some(Tries::One { .. }));
        let others = graph.steps.iter().enumerate().filter(|(at, step)| *at != last && !is_try(step));
        let others: Vec<&StepSpec> = others.map(|(_, step)| step).collect();
        let results: Vec<String> = others.iter().flat_map(|step| step.writes.clone()).collect();
        let silent = others.iter().filter(|step| step.writes.is_empty());
        let silent: Vec<StepId> = silent.map(|step| step.id.clone()).collect();
        let step = &mut graph.steps[last];
        step.reads.extend(results.into_iter().filter(|name| !step.reads.contains(name)).collect::<Vec<_>>());
        step.after.extend(silent.into_iter().filter(|id| !step.after.contains(id)).collect::<Vec<_>>());
        graph
    }

    /// The workers whose keywords are in the goal: those that only read first, then those that change something, then
    /// the judges of what they made. Returns `None` outside of a swarm, or if no keyword is there.
    pub(super) fn delegated_by_keywords(&self, router: &Step) -> Option<Graph> {
        if self.goal.mode != RunMode::Swarm {
            return None;
        }
        let goal = self.goal.own_words().to_lowercase();
        let words: Vec<&str> = goal.split(|c: char| !c.is_alphanumeric()).collect();
        let is_asked_for =
            |card: &&AgentCard| card.keywords.iter().any(|keyword| words.contains(&keyword.to_lowercase().as_str()));
        let mut workers: Vec<&AgentCard> = self.roster.agents.iter().filter(is_asked_for).collect();
        let rank = |card: &AgentCard| if card.role() == AgentRole::Judge { 2 } else { u8::from(!card.read_only) };
        workers.sort_by_key(|card| rank(card));
        let mut graph = Graph::default();
        let mut results: Vec<(u8, String)> = Vec::new();
        for card in workers {
            let mut step = StepSpec::new(self.free_id(&card.name, &graph), &card.name);
            step.description = format!("The part of the goal that is for the {}", card.name);
            step.prompt.clone_from(&self.goal.text);
            step.reads =
                results.iter().filter(|(before, _)| *before < rank(card)).map(|(_, name)| name.clone()).collect();
            let result = format!("{}_result{}", card.name.replace(['-', '.'], "_"), suffix(router.visit));
            step.writes = vec![result.clone()];
            results.push((rank(card), result));
            graph.steps.push(step);
        }
        (!graph.steps.is_empty()).then(|| self.with_synthesis(graph))
    }

    /// Whether the step's agent only joins what it is given.
    fn joins_results(&self, step: &StepSpec) -> bool {
        let card = self.card(&step.agent);
        card.is_some_and(|card| {
            card.role() == AgentRole::Thinker || (card.tools.is_empty() && card.role() == AgentRole::Work)
        })
    }

    fn synthesizer(&self) -> Option<&AgentCard> {
        self.roster.in_role(AgentRole::Thinker).or_else(|| self.roster.in_role(AgentRole::Generalist))
    }

    /// An id that no step has: the name itself, or with a number behind it.
    fn free_id(&self, name: &str, graph: &Graph) -> StepId {
        let is_free = |id: &StepId| !self.step_index.contains_key(id) && graph.steps.iter().all(|step| step.id != *id);
        let numbered = (2..).map(|number| super::plan::named(&format!("{name}.{number}")));
        let mut ids = std::iter::once(super::plan::named(name)).chain(numbered);
        ids.find(is_free).unwrap_or_else(|| StepId::known("step"))
    }
}

fn suffix(visit: u32) -> String {
    if visit == 0 { String::new() } else { format!("_{visit}") }
}
