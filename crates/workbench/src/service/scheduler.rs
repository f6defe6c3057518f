//! Carries out the schedules of the workspace while the service is open. What is due is claimed in one transaction with the
//! schedule's next time; the id of a run follows from its time, so that there is one run for each, whoever is killed when.

use std::collections::BTreeSet;
use std::time::Duration;

use tracing::warn;
use updraft_run::{DueTime, RunId, Status};

use super::runs::LiveRuns;
use crate::fault::{Fault, blocking};
use crate::notice::{Notice, Tell};
use crate::schedules::{self, DueRun, NewSchedule, Schedule};
use crate::time_format;

/// The entry point recorded in the goal of runs that schedules begin.
pub(crate) const SCHEDULE: &str = "schedule";
/// How often the schedules are looked at: other processes may change them, and a machine may have slept.
const LOOK: Duration = Duration::from_secs(2);

/// How long it rests at least.
const SHORTEST: Duration = Duration::from_millis(50);

impl LiveRuns {
    /// Carries out schedules until the service stops.
    pub fn keep_schedules(&self, tell: Tell) {
        let runs = self.clone();
        self.in_background(async move {
            let mut trouble = None;
            while !runs.is_stopping() {
                let looked = runs.carry_out_schedules(&tell).await;
                let why = looked.as_ref().err().map(Fault::in_one_line);
                if let Some(why) = why.as_ref().filter(|_| trouble != why) {
                    // Once, and not every time it looks.
                    warn!(why, "the schedules cannot be carried out");
                    tell(Notice::Schedules(why.clone()));
                }
                trouble = why;
                let next = looked.unwrap_or_default();
                tokio::select! {
                    () = runs.stop_token().cancelled() => return,
                    () = tokio::time::sleep(next.unwrap_or(LOOK).clamp(SHORTEST, LOOK)) => {}
                }
            }
        });
    }

    /// The schedules of the workspace. Blocks on the disk.
    pub fn schedules(&self) -> Result<Vec<Schedule>, Fault> {
        schedules::list(self.journal(), &self.bench().folder)
    }

    /// Adds a schedule, after everything was checked that can be checked before its time comes.
    pub async fn add_schedule(&self, new: NewSchedule) -> Result<Schedule, Fault> {
        new.work.new_goal(self.bench())?;
        schedules::add(self.journal(), &self.bench().folder, Schedule::new(new, time_format::now())?).await
    }

    /// Claims what is due, begins the runs, and returns the time until the next one.
    async fn carry_out_schedules(&self, tell: &Tell) -> Result<Option<Duration>, Fault> {
        let runs = self.clone();
        let (all, busy) = blocking(move || {
            let all = runs.schedules()?;
            let busy = all.iter().filter_map(|one| one.last.as_ref()).filter(|last| runs.is_under_way(&last.run));
            let busy: BTreeSet<RunId> = busy.map(|last| last.run.clone()).collect();
            Ok((all, busy))
        })
        .await?;
        if all.is_empty() {
            return Ok(None);
        }
        let now = time_format::now();
        let is_busy = move |one: &Schedule| one.last.as_ref().is_some_and(|last| busy.contains(&last.run));
        let is_due = all.iter().any(|one| one.is_due(now));
        let all = if is_due {
            let is_busy = is_busy.clone();
            let claimed = schedules::change(self.journal(), &self.bench().folder, move |all| {
                let claim = |one: &mut Schedule| {
                    let said = one.claim(now, is_busy(one));
                    said.into_iter().map(|text| (one.name.clone(), text)).collect::<Vec<_>>()
                };
                let said: Vec<_> = all.iter_mut().flat_map(claim).collect();
                (all.clone(), said)
            });
            let (all, said) = claimed.await?;
            for (schedule, what) in said {
                tell(Notice::Schedule { schedule, what });
            }
            all
        } else {
            all
        };
        for one in &all {
            if let Some(due) = one.ready(is_busy(one)) {
                Box::pin(self.begin_due(one, due, tell)).await;
            }
        }
        let next = all.iter().filter(|one| !one.paused).filter_map(|one| one.next).min();
        Ok(next.map(|next| Duration::from_millis(next.since(time_format::now()).0)))
    }

    /// Begins the run of a schedule, unless it has begun already, and records it.
    async fn begin_due(&self, schedule: &Schedule, due: &DueRun, tell: &Tell) {
        let mut failed = None;
        if self.journal().head(&due.run).is_err() {
            let begun = Box::pin(self.start_due(schedule, due)).await;
            if self.is_stopping() && begun.is_err() {
                return;
            }
            // Another server of this workspace may have been faster.
            failed = begun.err().filter(|_| self.journal().head(&due.run).is_err());
        }
        let failed = failed.map(|fault| fault.in_one_line());
        let (name, what) = (
            schedule.name.clone(),
            match &failed {
                None => format!("began run {}, due at {}", due.run, schedule.local(due.due)),
                Some(why) => format!("the run due at {} did not begin: {why}", schedule.local(due.due)),
            },
        );
        let (due, now) = (due.clone(), time_format::now());
        let recorded = schedules::change_one(self.journal(), &self.bench().folder, &name, move |one| {
            one.begun(&due, failed.as_deref(), now)
        });
        match recorded.await {
            // Another server of this workspace has said it.
            Ok(false) => {}
            Ok(true) => tell(Notice::Schedule { schedule: name, what }),
            // A schedule that was removed in the meantime needs no record.
            Err(fault) => {
                warn!(schedule = name, why = fault.in_one_line(), "what became of a schedule was not recorded");
                tell(Notice::Schedule { schedule: name, what });
            }
        }
    }

    async fn start_due(&self, schedule: &Schedule, due: &DueRun) -> Result<(), Fault> {
        let bench = self.bench();
        let (mut new, model) = schedule.work.new_goal(bench)?;
        SCHEDULE.clone_into(&mut new.goal.door);
        new.goal.due = Some(DueTime { schedule: schedule.name.clone(), at: due.due });
        let own = model.map(|model| self.own_bench(Some(model), None)).transpose()?;
        let handle = Box::pin(own.as_ref().unwrap_or(bench).start(due.run.clone(), new)).await?;
        self.drive_on(handle, own);
        Ok(())
    }

    /// Whether a run works or waits. One that stopped for its budget, or that a person paused, holds up no other.
    fn is_under_way(&self, id: &RunId) -> bool {
        let head = self.journal().head(id);
        head.is_ok_and(|head| {
            matches!(head.status, Status::New | Status::Running | Status::Waiting | Status::Cancelling)
        })
    }
}
