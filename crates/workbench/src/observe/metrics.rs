//! Counts what the runs of this process do: for Prometheus, with few values for each label.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use updraft_run::{Event, FailureKind, Record, Reply, Run, RunId, TokenUsage};

use super::effect_times::{EffectSort, EffectTimes, EndedEffect};
use super::histogram::DurationHistogram;
use super::metrics_text::{MetricKind, MetricsText};

/// Most different values of a label. What is new after that is counted as `other`.
const MOST_VALUES: usize = 200;
const OTHER: &str = "other";

/// The metrics of the runs that this process drives, since it began. Cheap to clone.
#[derive(Clone, Default)]
pub struct RunMetrics(Arc<Mutex<MetricCounts>>);

#[derive(Default)]
struct MetricCounts {
    /// What is open in each run.
    times: BTreeMap<RunId, EffectTimes>,
    started: u64,
    turns: u64,
    ended: BTreeMap<&'static str, u64>,
    steps: BTreeMap<&'static str, u64>,
    models: BTreeMap<String, ModelCounts>,
    tools: BTreeMap<String, ToolCounts>,
    /// By where it happened and its kind.
    errors: BTreeMap<(&'static str, &'static str), u64>,
}

/// One figure of a model.
type SumOfModel = fn(&ModelCounts) -> f64;

#[derive(Clone, Default)]
struct ModelCounts {
    requests: BTreeMap<&'static str, u64>,
    durations: DurationHistogram,
    input: u64,
    output: u64,
    cached: u64,
    reasoning: u64,
    /// In billionths of a dollar.
    cost: u64,
    unpriced: u64,
}

#[derive(Clone, Default)]
struct ToolCounts {
    calls: BTreeMap<&'static str, u64>,
    durations: DurationHistogram,
}

impl RunMetrics {
    /// Counts a record of a run; `run` is the run after it.
    pub(crate) fn count(&self, id: &RunId, record: &Record, run: &Run) {
        let counts = &mut *self.lock();
        let mut times = counts.times.remove(id).unwrap_or_default();
        for event in &record.events {
            if let Some(ended) = times.see(record.at, event) {
                counts.effect(&ended, run);
            }
            counts.event(event, run);
        }
        if !run.is_over() && !times.is_empty() {
            counts.times.insert(id.clone(), times);
        }
    }

    /// Writes them.
    pub fn write(&self, text: &mut MetricsText) {
        self.lock().write(text);
    }

    fn lock(&self) -> MutexGuard<'_, MetricCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MetricCounts {
    fn event(&mut self, event: &Event, run: &Run) {
        match event {
            Event::Started(_) | Event::Forked { .. } => self.started += 1,
            Event::StepDone { .. } => *self.steps.entry("done").or_default() += 1,
            Event::StepFailed { why, .. } => {
                *self.steps.entry("failed").or_default() += 1;
                self.error("step", why.kind.name());
            }
            Event::StepSkipped { .. } => *self.steps.entry("skipped").or_default() += 1,
            Event::StepCancelled { .. } => *self.steps.entry("cancelled").or_default() += 1,
            Event::Rejected { why, .. } => self.error("call", why.kind.name()),
            Event::Exhausted { .. } => self.error("run", FailureKind::Budget.name()),
            Event::Finished { failed, .. } => {
                *self.ended.entry(run.status().as_str()).or_default() += 1;
                if let Some(why) = failed {
                    self.error("run", why.kind.name());
                }
            }
            _ => {}
        }
    }

    fn effect(&mut self, ended: &EndedEffect<'_>, run: &Run) {
        match ended.sort {
            EffectSort::Ask => {
                self.turns += 1;
                let answer = match ended.reply {
                    Some(Reply::Answer(answer)) => Some(answer),
                    _ => None,
                };
                let by = answer.and_then(|answer| answer.by.as_deref());
                let model = self.model(by.unwrap_or_else(|| run.model_of(&ended.id.step)));
                *model.requests.entry(ended.outcome()).or_default() += 1;
                model.durations.add(ended.took());
                if let Some(answer) = answer {
                    model.used(&answer.usage);
                }
                if let Some(kind) = ended.error() {
                    self.error("model", kind);
                }
            }
            EffectSort::Call => {
                let name = run.call_at(ended.id).map_or_else(|| OTHER.to_owned(), |call| call.name);
                let tool = labelled(&mut self.tools, &name);
                *tool.calls.entry(ended.outcome()).or_default() += 1;
                tool.durations.add(ended.took());
                if let Some(asked) = run.consulted(ended.id) {
                    let model = self.model(asked);
                    *model.requests.entry(ended.outcome()).or_default() += 1;
                    model.durations.add(ended.took());
                    if let Some(Reply::Output(output)) = ended.reply {
                        output.usage.iter().for_each(|usage| model.used(usage));
                    }
                }
                if let Some(kind) = ended.error() {
                    self.error("call", kind);
                }
            }
        }
    }

    fn model(&mut self, spec: &str) -> &mut ModelCounts {
        labelled(&mut self.models, model_label(spec))
    }

    fn error(&mut self, at: &'static str, kind: &'static str) {
        *self.errors.entry((at, kind)).or_default() += 1;
    }

    fn write(&self, text: &mut MetricsText) {
        use MetricKind::Counter;
        let help = "Runs that this process has started.";
        text.single("updraft_runs_started_total", Counter, help, self.started as f64);
        text.begin("updraft_runs_ended_total", Counter, "Runs that have ended here, by how.");
        for (status, count) in &self.ended {
            text.sample(&[("status", status)], *count as f64);
        }
        text.begin("updraft_steps_ended_total", Counter, "Steps that have ended, by how.");
        for (state, count) in &self.steps {
            text.sample(&[("state", state)], *count as f64);
        }
        text.single("updraft_turns_total", Counter, "Questions to models that have ended.", self.turns as f64);
        self.write_models(text);
        self.write_tools(text);
        text.begin("updraft_errors_total", Counter, "Errors by where they happened and their kind.");
        for ((at, kind), count) in &self.errors {
            text.sample(&[("at", at), ("kind", kind)], *count as f64);
        }
    }

    fn write_models(&self, text: &mut MetricsText) {
        use MetricKind::Counter;
        text.begin("updraft_model_requests_total", Counter, "Questions to models, by how they ended.");
        for (model, counts) in &self.models {
            for (outcome, count) in &counts.requests {
                text.sample(&[("model", model), ("outcome", outcome)], *count as f64);
            }
        }
        text.begin_histogram("updraft_model_request_duration_seconds", "How long models took to answer.");
        for (model, counts) in &self.models {
            text.histogram(&[("model", model)], &counts.durations);
        }
        text.begin("updraft_tokens_total", Counter, "Tokens that models read (input) and wrote (output).");
        for (model, counts) in &self.models {
            text.sample(&[("model", model), ("direction", "input")], counts.input as f64);
            text.sample(&[("model", model), ("direction", "output")], counts.output as f64);
        }
        let sums: [(&str, &str, SumOfModel); 4] = [
            ("updraft_cached_tokens_total", "Input tokens that came from a cache.", |counts| counts.cached as f64),
            ("updraft_reasoning_tokens_total", "Output tokens spent on reasoning.", |counts| counts.reasoning as f64),
            ("updraft_cost_dollars_total", "What models have cost, in US dollars.", |counts| counts.cost as f64 / 1e9),
            ("updraft_unpriced_answers_total", "Answers whose price is not known.", |counts| counts.unpriced as f64),
        ];
        for (name, help, sum) in sums {
            text.begin(name, Counter, help);
            for (model, counts) in &self.models {
                text.sample(&[("model", model)], sum(counts));
            }
        }
    }

    fn write_tools(&self, text: &mut MetricsText) {
        text.begin("updraft_tool_calls_total", MetricKind::Counter, "Tool calls, by how they ended.");
        for (tool, counts) in &self.tools {
            for (outcome, count) in &counts.calls {
                text.sample(&[("tool", tool), ("outcome", outcome)], *count as f64);
            }
        }
        text.begin_histogram("updraft_tool_call_duration_seconds", "How long tool calls took.");
        for (tool, counts) in &self.tools {
            text.histogram(&[("tool", tool)], &counts.durations);
        }
    }
}

impl ModelCounts {
    fn used(&mut self, usage: &TokenUsage) {
        self.input += usage.input;
        self.output += usage.output;
        self.cached += usage.cached;
        self.reasoning += usage.reasoning;
        match usage.cost {
            Some(cost) => self.cost += cost.0,
            None => self.unpriced += 1,
        }
    }
}

/// The entry for a value of a label.
fn labelled<'a, T: Default>(all: &'a mut BTreeMap<String, T>, value: &str) -> &'a mut T {
    let value = if all.len() < MOST_VALUES || all.contains_key(value) { value } else { OTHER };
    all.entry(value.to_owned()).or_default()
}

/// A model's name without settings, alternatives and paths of files.
pub(crate) fn model_label(spec: &str) -> &str {
    let first = spec.split(['?', '|']).next().unwrap_or_default();
    match first.split_once('/') {
        Some((own @ ("scripted" | "recorded"), _)) => own,
        _ => first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_a_short_name() {
        assert_eq!(model_label("openai/gpt-5?think=high|ollama/x"), "openai/gpt-5");
        assert_eq!(model_label("scripted//tmp/a.json"), "scripted");
        assert_eq!(model_label("builtin"), "builtin");
    }

    #[test]
    fn a_label_has_a_limited_number_of_values() {
        let mut tools: BTreeMap<String, ToolCounts> = BTreeMap::new();
        for n in 0..1_000 {
            *labelled(&mut tools, &format!("tool{n}")).calls.entry("done").or_default() += 1;
        }
        assert_eq!(tools.len(), MOST_VALUES + 1);
        assert_eq!(tools[OTHER].calls["done"], 800);
    }
}
