//! Waits for models that are temporarily unavailable, up to a limit. After that the run is told, and stops.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use updraft_models::{Delta, Error, Model, Outage, Prompt, RequestDraft};
use updraft_run::{Failure, FailureKind, Millis, ModelAnswer, Reply};

use crate::effects::{DeltaListener, failed};

/// The wait before the first retry; each further wait is twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(5);
/// The longest wait, so that a model that is available again is used soon.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// How long a refused key or an empty account is retried: either may just have been fixed.
const ACCOUNT_LIMIT: Duration = Duration::from_secs(4);

/// How long a host that cannot be found is looked for at the first request of a run: the address is probably wrong, and somebody
/// sits before it.
const HOST_LIMIT: Duration = Duration::from_secs(30);

/// How long to wait for a model, and what ends the wait early.
pub(crate) struct OutageWait {
    pub(crate) limit: Duration,
    /// No model has answered in this run yet.
    pub(crate) is_first: bool,
    /// Cancelled when the run should come to rest.
    pub(crate) stop_waiting: CancellationToken,
}

/// Shorter waits are not recorded: a second more or less is chance, and a run that is recovered twice goes on in the same
/// way.
const SHORTEST_RECORDED: Millis = Millis(5_000);

/// Sets a model up again if the keys have changed since it was set up.
pub(crate) type ModelRenewal = Box<dyn Fn(&Arc<dyn Model>) -> Option<Arc<dyn Model>> + Send + Sync>;

/// A model, and how to set it up again if its key was refused.
pub(crate) struct RenewableModel {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) renewal: ModelRenewal,
}

/// Asks a model, repeatedly while it is not available.
pub(crate) async fn ask(
    RenewableModel { mut model, renewal }: RenewableModel,
    prompt: &Prompt<'_>,
    draft: &mut RequestDraft,
    hear: &mut DeltaListener,
    patience: &OutageWait,
) -> Result<ModelAnswer, Reply> {
    let begun = Instant::now();
    let (mut rounds, mut attempts) = (0, 0);
    loop {
        let waited = if rounds == 0 { Duration::ZERO } else { begun.elapsed() };
        // Watchers are told only once that it is asked again, and then how long the wait is.
        let mut told = |delta: Delta<'_>| {
            if rounds == 0 || !matches!(delta, Delta::Again(_)) {
                hear(delta);
            }
        };
        let error = match model.ask(prompt, draft, &mut told).await {
            Ok(mut answer) => {
                answer.waited.0 += u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
                if answer.waited < SHORTEST_RECORDED {
                    answer.waited = Millis::default();
                }
                return Ok(answer);
            }
            Err(error) => error,
        };
        if error.is_too_long() {
            return Err(failed(&error));
        }
        let limit = match error.outage() {
            None => return Err(failed(&error)),
            Some(Outage::NoHost) if patience.is_first => patience.limit.min(HOST_LIMIT),
            Some(Outage::Passing | Outage::NoHost) => patience.limit,
            Some(Outage::Failing) => Duration::ZERO,
            Some(Outage::Lasting) => patience.limit.min(ACCOUNT_LIMIT),
        };
        if let Some(renewed) = renewed_after(&error, &model, &renewal) {
            model = renewed;
            continue;
        }
        attempts += error.attempts();
        let left = limit.saturating_sub(begun.elapsed());
        let wait = FIRST_WAIT.saturating_mul(1 << rounds.min(8)).min(LONGEST_WAIT).min(left);
        if left.is_zero() || patience.stop_waiting.is_cancelled() {
            return Err(unavailable(&error, attempts, begun.elapsed()));
        }
        hear(Delta::Waiting(&waiting(&*model, &error, attempts + 1, wait)));
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = patience.stop_waiting.cancelled() => return Err(unavailable(&error, attempts, begun.elapsed())),
        }
        rounds += 1;
    }
}

/// The same model with another key, if this key was refused and has changed since.
pub(crate) fn renewed_after(error: &Error, model: &Arc<dyn Model>, renewal: &ModelRenewal) -> Option<Arc<dyn Model>> {
    if error.is_about_key() { renewal(model) } else { None }
}

/// The reply for a model that could not be set up.
pub(crate) fn setup_failure(error: &Error) -> Reply {
    if error.outage().is_some() { unavailable(error, 0, Duration::ZERO) } else { failed(error) }
}

/// The reply for a model that did not become available in time.
fn unavailable(error: &Error, attempts: u32, time: Duration) -> Reply {
    let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
    let words = match error {
        Error::Unreachable { model, message, .. } => {
            format!("`{model}` is not available: {message}{hint}; tried {attempts} times in {}", length(time))
        }
        Error::NoHost { .. } => format!("{error}{hint}; tried {attempts} times in {}", length(time)),
        other => format!("{other}{hint}"),
    };
    Reply::Failed(Failure::new(FailureKind::Outage, words))
}

fn waiting(model: &dyn Model, error: &Error, next: u32, wait: Duration) -> String {
    let who = model.hosts().into_iter().next().unwrap_or_else(|| model.name().to_owned());
    let why = match error {
        Error::Unreachable { message, .. } => message.clone(),
        other => other.to_string(),
    };
    format!("waiting for {who}, attempt {next}, next try in {}: {why}", length(wait))
}

fn length(time: Duration) -> String {
    match time.as_secs() {
        0 => "less than a second".to_owned(),
        seconds @ 1..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use updraft_models::{DeltaCallback, ModelFuture, Price, TaskBrief};

    use super::*;

    /// A model that fails the same way each time.
    struct Failing(fn() -> Error, AtomicU32);

    impl Model for Failing {
        fn name(&self) -> &'static str {
            "failing/m"
        }

        fn price(&self) -> Option<Price> {
            None
        }

        fn ask<'a>(&'a self, _: &'a Prompt<'a>, _: &'a mut RequestDraft, _: DeltaCallback<'a>) -> ModelFuture<'a> {
            self.1.fetch_add(1, Ordering::Relaxed);
            Box::pin(async move { Err((self.0)()) })
        }
    }

    async fn asked(model: &Arc<Failing>, renewal: ModelRenewal) -> Result<ModelAnswer, Reply> {
        asked_at(false, model, renewal).await
    }

    async fn asked_at(is_first: bool, model: &Arc<Failing>, renewal: ModelRenewal) -> Result<ModelAnswer, Reply> {
        let brief = TaskBrief::default();
        let patience = OutageWait { limit: Duration::from_mins(10), is_first, stop_waiting: CancellationToken::new() };
        let mut hear: DeltaListener = Box::new(|_| {});
        let model = RenewableModel { model: model.clone(), renewal };
        ask(model, &Prompt::empty(&brief), &mut RequestDraft::default(), &mut hear, &patience).await
    }

    fn failing(error: fn() -> Error) -> Arc<Failing> {
        Arc::new(Failing(error, AtomicU32::new(0)))
    }

    #[tokio::test]
    async fn a_failure_of_the_server_itself_is_not_waited_for_like_an_overload() {
        let own = failing(|| Error::Failing { model: "m".into(), attempts: 4, message: "status 500: oops".into() });
        let reply = asked(&own, Box::new(|_| None)).await.unwrap_err();
        assert_eq!(own.1.load(Ordering::Relaxed), 1);
        let Reply::Failed(why) = reply else { panic!("{reply:?}") };
        assert_eq!(why.kind, FailureKind::Outage, "the run stops, and can be resumed");
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_is_not_found_is_looked_for_half_a_minute_at_the_first_request_of_a_run() {
        let missing = || {
            failing(|| Error::NoHost { model: "m".into(), host: "h".into(), attempts: 1, why: "no such name".into() })
        };
        for (is_first, seconds) in [(true, 30), (false, 600)] {
            let (began, model) = (Instant::now(), missing());
            let reply = asked_at(is_first, &model, Box::new(|_| None)).await.unwrap_err();
            assert_eq!(began.elapsed().as_secs(), seconds);
            let Reply::Failed(why) = reply else { panic!("{reply:?}") };
            assert_eq!(why.kind, FailureKind::Outage, "the run stops, and can be resumed");
            assert!(why.message.contains("the host `h` cannot be found"), "{why}");
        }
    }

    #[tokio::test]
    async fn a_refused_key_is_read_again_before_the_model_is_given_up() {
        let refused = || Error::Refused { model: "m".into(), status: 401, message: "old".into() };
        let fresh = failing(|| Error::Script { message: "it was asked".into() });
        let (old, renewed) = (failing(refused), fresh.clone());
        let reply = asked(&old, Box::new(move |_| Some(renewed.clone() as Arc<dyn Model>))).await.unwrap_err();
        assert_eq!((old.1.load(Ordering::Relaxed), fresh.1.load(Ordering::Relaxed)), (1, 1), "{reply:?}");
    }
}
