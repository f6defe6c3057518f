//! Models that cannot be had for a while: they are waited for, within a limit; then the run is told, and stops.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use updraft_models::{Delta, Draft, Error, Model, Outage, Prompt};
use updraft_run::{Answer, Failure, FailureKind, Reply};

use crate::effects::{Listener, failed};

/// The wait before a model is tried again; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(5);
/// No wait is longer: a model that is back shall not wait for us.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// A key that was refused, or an account with nothing left, is tried again for so long: both may just have been changed.
const ACCOUNT_LIMIT: Duration = Duration::from_secs(4);

/// How long a model is waited for, and what ends the wait early.
pub(crate) struct Patience {
    pub(crate) limit: Duration,
    /// Cancelled when the run shall come to rest.
    pub(crate) hurry: CancellationToken,
}

/// Asks a model, again and again where it cannot be had.
pub(crate) async fn ask(
    model: &dyn Model,
    (prompt, draft): (&Prompt<'_>, &mut Draft),
    hear: &mut Listener,
    patience: &Patience,
) -> Result<Answer, Reply> {
    let begun = Instant::now();
    let (mut rounds, mut attempts) = (0, 0);
    loop {
        // Whoever looks on has heard once that it is asked again, and then how long it is waited for.
        let mut told = |delta: Delta<'_>| {
            if rounds == 0 || !matches!(delta, Delta::Again(_)) {
                hear(delta);
            }
        };
        let error = match model.ask(prompt, draft, &mut told).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let limit = match error.outage() {
            None => return Err(failed(&error)),
            Some(Outage::Passing) => patience.limit,
            Some(Outage::Lasting) => patience.limit.min(ACCOUNT_LIMIT),
        };
        attempts += if let Error::Unreachable { attempts, .. } = &error { *attempts } else { 1 };
        let left = limit.saturating_sub(begun.elapsed());
        let wait = FIRST_WAIT.saturating_mul(1 << rounds.min(8)).min(LONGEST_WAIT).min(left);
        if left.is_zero() || patience.hurry.is_cancelled() {
            return Err(had_not(&error, attempts, begun.elapsed()));
        }
        hear(Delta::Waiting(&waiting(model, &error, attempts + 1, wait)));
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = patience.hurry.cancelled() => return Err(had_not(&error, attempts, begun.elapsed())),
        }
        rounds += 1;
    }
}

/// What a run hears of a model that could not even be set up.
pub(crate) fn not_to_be_had(error: &Error) -> Reply {
    if error.outage().is_some() { had_not(error, 0, Duration::ZERO) } else { failed(error) }
}

fn had_not(error: &Error, attempts: u32, time: Duration) -> Reply {
    let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
    let words = match error {
        Error::Unreachable { model, message, .. } => {
            format!("`{model}` cannot be had: {message}{hint}; tried {attempts} times in {}", length(time))
        }
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
