//! Work that comes back: the schedules of the workspace, changed by programs, and runs made of recipes.

use updraft_run::RunId;

use super::orders::OrderFace;
use super::runs::LiveRuns;
use crate::fault::{Fault, blocking};
use crate::journal::new_id;
use crate::recipes::{self, FoundRecipe};
use crate::schedules::{self, Schedule, ScheduleWork};
use crate::time_format;

impl LiveRuns {
    /// Stops a schedule until it is resumed, or resumes it.
    pub async fn pause_schedule(&self, name: &str, paused: bool) -> Result<Schedule, Fault> {
        let now = time_format::now();
        let change = move |one: &mut Schedule| {
            one.pause(paused, now);
            one.clone()
        };
        schedules::change_one(self.journal(), &self.bench().folder, name, change).await
    }

    /// Removes a schedule; its runs stay.
    pub async fn remove_schedule(&self, name: &str) -> Result<(), Fault> {
        schedules::remove(self.journal(), &self.bench().folder, name).await
    }

    /// Has a schedule begin a run now, and gives the id that the run will have.
    pub async fn run_schedule(&self, name: &str) -> Result<RunId, Fault> {
        let now = time_format::now();
        let change = move |one: &mut Schedule| one.run_now(now);
        let due = schedules::change_one(self.journal(), &self.bench().folder, name, change).await?;
        let due = due.ok_or_else(|| Fault::usage(format!("too many runs of `{name}` wait already")))?;
        Ok(due.run)
    }

    /// The recipes that can be used here. Blocks on the disk.
    pub fn recipes(&self) -> Vec<FoundRecipe> {
        let bench = self.bench();
        recipes::all(&bench.folders, &bench.folder, &bench.settings)
    }

    /// Starts a run of a recipe that is known by its name, under an id that is not in use if one is given. When this
    /// returns, the goal is on disk.
    pub async fn order_recipe(&self, id: Option<RunId>, work: ScheduleWork) -> Result<RunId, Fault> {
        if self.is_stopping() {
            return Err(Fault::failed("the server is stopping; ask again when it is back"));
        }
        let runs = self.clone();
        let (mut new, model) = blocking(move || work.new_goal(runs.bench())).await?;
        OrderFace::Api.word().clone_into(&mut new.goal.door);
        let id = id.map_or_else(new_id, Ok)?;
        let own = model.map(|model| self.own_bench(Some(model), None)).transpose()?;
        let handle = Box::pin(own.as_ref().unwrap_or(self.bench()).start(id.clone(), new)).await?;
        self.drive_on(handle, own);
        Ok(id)
    }
}
