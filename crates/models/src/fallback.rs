//! A chain of models: the first that can answer does.
//!
//! A model that failed is moved to the end for a while, so that the next request does not wait for it again.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use updraft_run::{Ceiling, Price};

use crate::{Delta, DeltaCallback, Error, Model, ModelFuture, Outage, Prompt, RequestDraft};

/// How long a model that failed is asked last.
const REST: Duration = Duration::from_mins(1);

/// Models in the order in which they are asked.
pub(crate) struct FallbackChain {
    name: String,
    models: Vec<Arc<dyn Model>>,
    /// When each model last failed.
    failed: Mutex<Vec<Option<Instant>>>,
}

impl FallbackChain {
    pub(crate) fn new(name: String, models: Vec<Arc<dyn Model>>) -> Self {
        Self { name, failed: Mutex::new(vec![None; models.len()]), models }
    }

    /// The order to ask in: models that did not fail recently come first, each group in its written order.
    fn line(&self) -> Vec<usize> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let rests = |at: usize| failed.get(at).copied().flatten().is_some_and(|when| when.elapsed() < REST);
        let (resting, ready): (Vec<usize>, Vec<usize>) = (0..self.models.len()).partition(|at| rests(*at));
        ready.into_iter().chain(resting).collect()
    }

    fn note(&self, at: usize, failed: bool) {
        let mut all = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        all[at] = failed.then(Instant::now);
    }
}

impl Model for FallbackChain {
    fn name(&self) -> &str {
        &self.name
    }

    /// The highest price of all models: a budget must hold whichever of them answers.
    fn price(&self) -> Option<Price> {
        let prices: Option<Vec<Price>> = self.models.iter().map(|model| model.price()).collect();
        prices?.into_iter().reduce(|a, b| Price {
            input: a.input.max(b.input),
            output: a.output.max(b.output),
            cached: a.cached.max(b.cached),
            stored: a.stored.max(b.stored),
        })
    }

    fn sees(&self) -> Option<bool> {
        self.models.first().and_then(|model| model.sees())
    }

    fn window(&self) -> Pin<Box<dyn Future<Output = Option<u64>> + Send + '_>> {
        Box::pin(async move { self.models.first()?.window().await })
    }

    fn hosts(&self) -> Vec<String> {
        let mut hosts: Vec<String> = self.models.iter().flat_map(|model| model.hosts()).collect();
        hosts.sort();
        hosts.dedup();
        hosts
    }

    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt<'a>,
        draft: &'a mut RequestDraft,
        hear: DeltaCallback<'a>,
    ) -> ModelFuture<'a> {
        Box::pin(async move {
            let (mut failed, mut away): (Option<Error>, Option<Error>) = (None, None);
            for at in self.line() {
                let model = &self.models[at];
                if let Some(error) = &failed {
                    hear(Delta::Again(&format!("{error}; asking {}", model.name())));
                }
                match model.ask(prompt, draft, hear).await {
                    Ok(mut answer) => {
                        self.note(at, false);
                        if at > 0 {
                            answer.by = Some(model.name().to_owned());
                        }
                        return Ok(answer);
                    }
                    // It may be billed, so the caller decides whether to ask again; then another model is asked first.
                    Err(broken @ (Error::Broken { .. } | Error::Silent { .. })) => {
                        self.note(at, true);
                        return Err(broken);
                    }
                    Err(error) => {
                        tracing::debug!(model = model.name(), %error, "asking the next model");
                        self.note(at, true);
                        let before = failed.replace(error);
                        away = away.or(before.filter(is_passing));
                    }
                }
            }
            // If any model may recover, it is worth waiting, whatever the others returned.
            let failed = match failed {
                Some(last) if !is_passing(&last) => away.or(Some(last)),
                last => last,
            };
            Err(failed.unwrap_or_else(|| Error::Unknown { name: self.name.clone(), close: Vec::new() }))
        })
    }

    fn ceiling(&self, prompt: &Prompt<'_>) -> Ceiling {
        let mut most = Ceiling { tokens: 0, cost: Some(updraft_run::Cost(0)) };
        for one in self.models.iter().map(|model| model.ceiling(prompt)) {
            most.tokens = most.tokens.max(one.tokens);
            most.cost = most.cost.zip(one.cost).map(|(a, b)| a.max(b));
        }
        most
    }
}
/// Whether a model may be available again without anybody doing anything.
fn is_passing(error: &Error) -> bool {
    matches!(error.outage(), Some(Outage::Passing | Outage::NoHost))
}
