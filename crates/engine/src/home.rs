//! A home for runs outside of this process: it decides about their inputs and keeps their records.
//!
//! The journal here is then a copy, written once the home has accepted a record. An effect begins when the home hands it
//! over, and each is begun at most once: see [`HandedEffect`].

use updraft_journal::Blob;
use updraft_run::{EffectAddress, Input, Record, Run, RunId, Timestamp};

use crate::Error;
use crate::drive::NextActions;
use crate::perform::EffectFuture;

/// Keeps runs and decides about their inputs. Every call waits until the home can be reached, or fails when the process
/// is to stop.
pub trait RunHome: Send + Sync {
    /// What and where it is, for people.
    fn place(&self) -> String;

    /// Whether a run whose home is this place can be driven here. It cannot if another worker has it.
    fn has(&self, place: &str) -> bool {
        let _ = place;
        true
    }

    /// Keeps large values where other workers find them too, before a record names them.
    fn keep_blobs<'a>(&'a self, run: &'a RunId, blobs: &'a [Blob]) -> EffectFuture<'a, Result<(), Error>> {
        let _ = (run, blobs);
        Box::pin(std::future::ready(Ok(())))
    }

    /// The large values that records name, as far as they are kept there. Fails if it cannot be told now what is there.
    fn blobs_in<'a>(&'a self, run: &'a RunId, records: &'a [Record]) -> EffectFuture<'a, Result<Vec<Blob>, Error>> {
        let _ = (run, records);
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Takes a run over for this process: whoever had it before can advance it no longer.
    fn attach<'a>(&'a self, run: &'a RunId) -> EffectFuture<'a, Result<HomeAttachment, Error>>;

    /// Gives a run to the home that it does not know yet, with all its records. It hands over what is open.
    fn adopt<'a>(&'a self, run: &'a RunId, epoch: u64, records: &'a [Record]) -> EffectFuture<'a, Result<(), Error>>;

    /// Has the home decide about inputs, in order. When this returns, the records are safe there.
    fn advance<'a>(
        &'a self,
        run: &'a RunId,
        epoch: u64,
        inputs: HomeInputs,
    ) -> EffectFuture<'a, Result<HomeDecision, Error>>;

    /// Fails with `Fenced` if another process has taken the run over since.
    fn confirm<'a>(&'a self, run: &'a RunId, epoch: u64) -> EffectFuture<'a, Result<(), Error>>;

    /// The records from one place up to another, counted from 0.
    fn records<'a>(&'a self, run: &'a RunId, from: u64, to: u64) -> EffectFuture<'a, Result<Vec<Record>, Error>>;
}

/// A run that this process has taken over from its home.
#[derive(Debug)]
pub struct HomeAttachment {
    /// Who advances the run: an earlier process has a lower number, and is refused.
    pub epoch: u64,
    /// How many records the home has.
    pub records: u64,
    /// What the home hands over from now on.
    pub handed: tokio::sync::mpsc::Receiver<HandedEffect>,
}

/// An effect that may begin, since the record that wants it is safe. It may be handed over several times. One that runs
/// here goes on, one that has begun or is no longer wanted is declined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandedEffect {
    /// How many records the home had by then.
    pub records: u64,
    /// The effect's address, and which attempt; absent if there is only something new to read.
    pub effect: Option<(EffectAddress, u32)>,
}

/// Inputs that are decided about together.
#[derive(Clone, Debug, Default)]
pub struct HomeInputs {
    /// The inputs, with the times they came.
    pub inputs: Vec<(Timestamp, Input)>,
    /// A key by which the home recognises them if they are sent again; absent if they never are by another process.
    pub key: Option<String>,
}

/// What the home decided.
#[derive(Clone, Debug)]
pub struct HomeDecision {
    /// How many records the home had before. If these are more than are known here, others have sent inputs.
    pub before: u64,
    /// For each input its record, and whether it was kept: one without consequences is not.
    pub decided: Vec<(Record, bool)>,
}

/// The effects that may begin after these records, each with its attempt; `run` is the run after them.
pub fn effects_to_begin(run: &Run, records: &[Record]) -> Vec<(EffectAddress, u32)> {
    let next = NextActions::after(records);
    let candidates: Vec<EffectAddress> =
        if next.everything { run.open().keys().cloned().collect() } else { next.effects };
    let wanted = candidates.into_iter().filter_map(|id| {
        let open = run.open().get(&id)?;
        let may_begin = !open.effect.is_patient() && open.begun.is_none() && run.phase_allows(&id);
        may_begin.then_some((id, open.attempt))
    });
    wanted.collect()
}

/// The effects that may begin in a run that its home did not know before.
pub fn open_effects(run: &Run) -> Vec<(EffectAddress, u32)> {
    let open = run
        .open()
        .iter()
        .filter(|(id, open)| !open.effect.is_patient() && open.begun.is_none() && run.phase_allows(id));
    open.map(|(id, open)| (id.clone(), open.attempt)).collect()
}
