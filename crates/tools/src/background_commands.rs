//! Commands that keep running in the background of a step: `run_command` starts them, `background` reads and stops them.
//!
//! They work in the folder itself, hold no turn of commands, and share a private network with the commands of their step, so
//! that `curl localhost:3000` reaches a server among them. They end with their step, and with our process.

mod running;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use updraft_run::{Failure, FailureKind};
use updraft_sandbox::{ChildLifetime, Policy, Sandbox, SharedNetwork};

use crate::confinement::{Confinement, not_started};
use crate::tool::{CallContext, RunContext};

pub(crate) use running::{BackgroundCommand, Ports, WaitTarget};

/// Most of them at a time for one step.
const MOST: usize = 4;

/// The background commands of all steps. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct BackgroundCommands(Arc<BackgroundRegistry>);

#[derive(Default)]
struct BackgroundRegistry {
    steps: Mutex<BTreeMap<StepKey, StepCommands>>,
    /// Held while one is started, so that they are counted.
    starting: tokio::sync::Mutex<()>,
}

/// The ids of a run and of a step.
type StepKey = (String, String);

#[derive(Default)]
struct StepCommands {
    /// Made for the first of them.
    network: Option<SharedNetwork>,
    /// In the order in which they were started, also those that have ended.
    commands: Vec<Arc<BackgroundCommand>>,
}

impl StepCommands {
    fn live(&self) -> impl Iterator<Item = &Arc<BackgroundCommand>> {
        self.commands.iter().filter(|command| command.end().is_none())
    }
}

/// What to start, and where.
pub(crate) struct BackgroundStart {
    pub(crate) command: String,
    pub(crate) folder: PathBuf,
    pub(crate) policy: Policy,
}

impl BackgroundCommands {
    /// Starts one for the step of this call.
    pub(crate) async fn start(
        &self,
        start: BackgroundStart,
        confinement: &Confinement,
        cx: &CallContext,
    ) -> Result<Arc<BackgroundCommand>, Failure> {
        let sandbox = confinement.sandbox().await?;
        let _alone = self.0.starting.lock().await;
        let (live, number, network) = {
            let mut steps = self.steps();
            let step = steps.entry(key(&cx.around)).or_default();
            let live: Vec<String> = step.live().map(|one| format!("{} (`{}`)", one.name, one.command)).collect();
            (live, step.commands.len() + 1, step.network.clone())
        };
        if live.len() >= MOST {
            let why = format!("at most {MOST} background commands run at a time: {}; stop one first", live.join(", "));
            return Err(Failure::new(FailureKind::Validation, why));
        }
        let mut policy = Policy { lifetime: ChildLifetime::Session, staged: None, ..start.policy };
        policy.limits.time = None;
        let network = match network {
            Some(network) => Some(network),
            None => sandbox.share_network(&policy).await.map_err(|error| not_started(&error))?,
        };
        let started = BackgroundCommand::start(
            format!("bg{number}"),
            start.command,
            start.folder,
            &policy,
            network.as_ref(),
            confinement,
            cx,
        )
        .await?;
        let started = Arc::new(started);
        let mut steps = self.steps();
        let step = steps.entry(key(&cx.around)).or_default();
        step.network = network;
        step.commands.push(Arc::clone(&started));
        Ok(started)
    }

    /// The one with this name, or why there is none.
    pub(crate) fn find(&self, name: &str, around: &RunContext) -> Result<Arc<BackgroundCommand>, Failure> {
        let steps = self.steps();
        let commands = steps.get(&key(around)).map(|step| step.commands.as_slice()).unwrap_or_default();
        commands.iter().find(|command| command.name == name).cloned().ok_or_else(|| {
            let known: Vec<&str> = commands.iter().map(|command| command.name.as_str()).collect();
            let known = if known.is_empty() {
                "none was started since".to_owned()
            } else {
                format!("there is {}", known.join(", "))
            };
            let why = format!("no background command `{name}`; they end with their step and with the program: {known}");
            Failure::new(FailureKind::Validation, why)
        })
    }

    /// The names of those of a step that still run.
    pub(crate) fn live(&self, run: &str, step: &str) -> Vec<String> {
        let steps = self.steps();
        let step = steps.get(&(run.to_owned(), step.to_owned()));
        step.into_iter().flat_map(StepCommands::live).map(|command| command.name.clone()).collect()
    }

    /// The network that commands of a step join: that of its background commands, if any of them runs.
    pub(crate) fn network(&self, around: &RunContext) -> Option<SharedNetwork> {
        let steps = self.steps();
        let step = steps.get(&key(around))?;
        step.live().next().and(step.network.clone())
    }

    /// The hosts that those of a step have reached: what a command gets from them may come from there.
    pub(crate) fn reached(&self, around: &RunContext) -> Vec<String> {
        let steps = self.steps();
        let live = steps.get(&key(around)).into_iter().flat_map(StepCommands::live);
        let mut hosts: Vec<String> = live.flat_map(|command| command.reached()).collect();
        hosts.sort();
        hosts.dedup();
        hosts
    }

    /// Where the servers of a step listen.
    pub(crate) fn ports(&self, around: &RunContext, sandbox: Sandbox) -> Ports {
        let network = self.steps().get(&key(around)).and_then(|step| step.network.clone());
        network.map_or(Ports::OfHost(sandbox), Ports::Of)
    }

    /// Ends those of a step, of a run, or all, and waits until their processes are gone.
    pub(crate) async fn end(&self, run: Option<&str>, step: Option<&str>) {
        let gone: Vec<StepCommands> = {
            let mut steps = self.steps();
            let is_meant = |key: &StepKey| run.is_none_or(|run| run == key.0) && step.is_none_or(|step| step == key.1);
            let meant: Vec<StepKey> = steps.keys().filter(|key| is_meant(key)).cloned().collect();
            meant.iter().filter_map(|key| steps.remove(key)).collect()
        };
        for command in gone.iter().flat_map(|step| &step.commands) {
            command.stop().await;
        }
    }

    fn steps(&self) -> MutexGuard<'_, BTreeMap<StepKey, StepCommands>> {
        self.0.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(around: &RunContext) -> StepKey {
    (around.run.clone(), around.step.clone())
}
