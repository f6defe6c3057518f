//! Driving a run whose home is elsewhere: inputs are decided there, and effects begin when they are handed over.

use updraft_journal::{Batch, Blob, Change, Journal, Lease};
use updraft_run::{Record, Run, RunId, Timestamp};

use super::{NextActions, QueuedInput, RunDriver};
use crate::Error;
use crate::home::{HandedEffect, HomeAttachment, HomeDecision, HomeInputs, RunHome};
use crate::run_copy::note_had;

/// How long it may take to record that effects begin, in milliseconds, until it is asked whether the run is still this
/// process's.
const LONG: i64 = 2000;
/// How often that is asked if the answers take as long themselves.
const CONFIRMATIONS: u32 = 3;

impl RunDriver {
    /// Whether the run's home is elsewhere.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.home.is_some()
    }

    /// Has the run's home decide about inputs, and brings the run here up to date. What others have sent there since is
    /// recorded here first.
    pub(super) async fn decide_at_home(&mut self, arrived: Vec<QueuedInput>) -> Result<(Vec<Record>, Vec<i64>), Error> {
        // The home may have accepted a record when this process dies, so what it names must be here before.
        let blobs = std::mem::take(&mut self.unwritten.blobs);
        if !blobs.is_empty() {
            let blobs = self.keep_for_others(blobs).await?;
            self.engine.journal.put_blobs(&self.id, blobs).await?;
        }
        let (mut handled, mut records) = (Vec::new(), Vec::new());
        let mut group: Vec<QueuedInput> = Vec::new();
        for mail in arrived {
            if mail.row.is_some_and(|row| !self.inbox.taken.insert(row)) {
                continue;
            }
            handled.extend(mail.row);
            // An input of the inbox has a key of its own: after a crash, it is sent once more.
            let is_single = mail.row.is_some();
            if is_single {
                self.decide_group(std::mem::take(&mut group), &mut records).await?;
            }
            group.push(mail);
            if is_single {
                self.decide_group(std::mem::take(&mut group), &mut records).await?;
            }
        }
        self.decide_group(group, &mut records).await?;
        Ok((records, handled))
    }

    async fn decide_group(&mut self, group: Vec<QueuedInput>, records: &mut Vec<Record>) -> Result<(), Error> {
        let (Some(home), Some(place)) = (self.engine.home.clone(), &self.home) else { return Ok(()) };
        if group.is_empty() {
            return Ok(());
        }
        // Each journal counts from 1, and the run may have been driven with another one before.
        let key = group.iter().find_map(|mail| mail.row.map(|row| format!("inbox-{row}-{}", mail.sent.0)));
        let (epoch, known) = (place.epoch, place.records);
        let (mut inputs, mut waiting) = (Vec::new(), Vec::new());
        for mail in group {
            inputs.push((self.clock.now(), mail.input));
            waiting.push(mail.reply_to);
        }
        let HomeDecision { before, decided } = home.advance(&self.id, epoch, HomeInputs { inputs, key }).await?;
        if before > known {
            for record in home.records(&self.id, known, before).await? {
                self.follow(record, records);
            }
        }
        // The reply to inputs that were sent before is what was decided then.
        let is_repeated = before < known;
        for ((record, is_kept), reply_to) in decided.into_iter().zip(waiting) {
            if is_kept && !is_repeated {
                self.follow(record.clone(), records);
            }
            if let Some(reply_to) = reply_to {
                self.remember(reply_to, &record);
            }
        }
        Ok(())
    }

    /// The time by both clocks: the steady one stands still while a machine sleeps, and the other one can be set.
    pub(super) fn both_clocks(&self) -> [Timestamp; 2] {
        [self.engine.now(), self.clock.now()]
    }

    /// Makes sure that the run is still this process's, if much time has passed: it may have been suspended, and whoever
    /// has taken the run over meanwhile has told that what had begun is in doubt.
    pub(super) async fn confirm_since(&mut self, mut then: [Timestamp; 2]) -> Result<(), Error> {
        let (Some(home), Some(place)) = (self.engine.home.clone(), &self.home) else { return Ok(()) };
        let epoch = place.epoch;
        for _ in 0..CONFIRMATIONS {
            let now = self.both_clocks();
            if now.iter().zip(then).all(|(now, then)| now.0 - then.0 < LONG) {
                break;
            }
            then = now;
            home.confirm(&self.id, epoch).await?;
        }
        Ok(())
    }

    fn follow(&mut self, record: Record, records: &mut Vec<Record>) {
        self.run.record(&record);
        if let Some(place) = &mut self.home {
            place.records += 1;
        }
        records.push(record);
    }

    /// Looks once more for what was handed over, before the run is left: whatever comes later finds nobody here, and has it
    /// opened again. Returns whether there was something.
    pub(super) async fn last_handed(&mut self) -> Result<bool, Error> {
        let (Some(home), Some(place)) = (self.engine.home.clone(), &mut self.home) else { return Ok(false) };
        place.handed.close();
        let left: Vec<HandedEffect> = std::iter::from_fn(|| place.handed.try_recv().ok()).collect();
        if left.is_empty() || self.engine.stop.is_cancelled() {
            return Ok(false);
        }
        let records = place.records;
        self.home = Some(HomeAttachment { records, ..home.attach(&self.id).await? });
        for handed in left {
            self.take_handed(handed).await?;
        }
        Ok(true)
    }

    /// Takes an effect that was handed over: brings the run up to date, and begins the effect unless it runs here, has
    /// begun, or is no longer wanted.
    pub(super) async fn take_handed(&mut self, handed: HandedEffect) -> Result<(), Error> {
        let known = self.home.as_ref().map_or(0, |place| place.records);
        if handed.records > known
            && let Some(home) = self.engine.home.clone()
        {
            let mut records = Vec::new();
            for record in home.records(&self.id, known, handed.records).await? {
                self.follow(record, &mut records);
            }
            self.append(records, Vec::new()).await?;
        }
        let Some((id, attempt)) = handed.effect else {
            // Others have sent something: a cancel, or another roster.
            self.briefing.kit = self.engine.kit_of(&self.id, &self.run)?;
            return self.begin(NextActions { stop: true, ..NextActions::default() }).await;
        };
        let is_new = |open: &updraft_run::OpenEffect| open.attempt == attempt && open.begun.is_none();
        if self.run.open().get(&id).is_some_and(is_new) && !self.work.effects.has(&id) {
            self.begin(NextActions { effects: vec![id], ..NextActions::default() }).await?;
        }
        Ok(())
    }
}

/// Takes a run over from its home, and brings the copy in the journal up to date. A run that the home does not know is
/// given to it.
pub(crate) async fn attach(
    home: &dyn RunHome,
    journal: &Journal,
    lease: &Lease,
    id: &RunId,
    run: &mut Run,
) -> Result<HomeAttachment, Error> {
    if let Some(place) = home_of(journal, id)?.filter(|place| !home.has(place)) {
        return Err(Error::Elsewhere { run: id.clone(), place });
    }
    let mut attached = home.attach(id).await?;
    let here = journal.load(id)?;
    let known = here.len() as u64;
    if (1..known).contains(&attached.records) {
        let what = format!("its home has {} records, and {known} are known here", attached.records);
        return Err(Error::Incomplete { run: id.clone(), what });
    }
    // First: without this note, it would also be continued by processes that do not use its home.
    note_had(journal, id).await?;
    note_home(journal, id, home.place()).await?;
    if attached.records == 0 {
        for hash in journal.named_values(id)? {
            if let Some(bytes) = journal.blob(&hash)? {
                home.keep_blobs(id, &[Blob::new(bytes)]).await?;
            }
        }
        home.adopt(id, attached.epoch, &here).await?;
        attached.records = known;
    } else if attached.records > known {
        let missing = home.records(id, known, attached.records).await?;
        let blobs = home.blobs_in(id, &missing).await?;
        for record in &missing {
            run.record(record);
        }
        let batch = Batch { status: Some(run.recorded_status()), blobs, ..Batch::of(missing) };
        journal.append(lease, batch).await?;
    }
    Ok(attached)
}

/// Notes where a run has its home.
pub(crate) async fn note_home(journal: &Journal, id: &RunId, place: String) -> Result<(), Error> {
    Ok(journal.change_stored(HOMES, id.as_str(), move |_| (Change::Set(place.clone()), ())).await?)
}

/// Where the journal notes which runs have their home elsewhere, so that no other process continues them here.
const HOMES: &str = "homes";

/// Where a run has its home, if that is elsewhere.
pub fn home_of(journal: &Journal, id: &RunId) -> Result<Option<String>, Error> {
    Ok(journal.stored(HOMES, id.as_str())?.map(|found| found.value))
}

/// Refuses to continue a run here whose home is elsewhere.
pub(crate) fn check_home(journal: &Journal, id: &RunId, run: &Run) -> Result<(), Error> {
    match home_of(journal, id)? {
        Some(place) if !run.is_over() => Err(Error::Elsewhere { run: id.clone(), place }),
        Some(_) | None => Ok(()),
    }
}

/// Forgets the home of a run that is over.
pub(crate) async fn leave_home(journal: &Journal, id: &RunId) {
    // If this fails, only the note stays.
    if let Err(error) = journal.change_stored(HOMES, id.as_str(), |_| (Change::Remove, ())).await {
        tracing::debug!(%error, "the home of a run was not forgotten");
    }
}
