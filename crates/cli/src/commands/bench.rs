//! A hidden command for external benchmarks: the normal engine and journal, with two tools that do nothing.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use tokio::task::{JoinSet, LocalSet};
use updraft_engine::{Agent, Agents, Engine, EngineOptions, NewRun, Prompts, RealPerformer};
use updraft_models::{ModelAccess, ProviderAccess};
use updraft_run::{Budget, Goal, RunMode, RunPhase, RunSettings};
use updraft_tools::{Dispatcher, NapMode, Registry, ToolLimits};

use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::{journal, runtime, tools};

/// The prompt of its only agent.
const PROMPT: &str = include_str!("bench.md");

/// The task to measure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BenchTask {
    /// One agent, one run.
    React,
    /// One agent, many runs at once.
    Sessions,
    /// A plan and all its steps.
    Dag,
}

pub(crate) fn run() -> CliResult {
    let wanted = |name: &str| folders::set(name).ok_or_else(|| CliError::usage(format!("{name} is not set")));
    let number = |name: &str| folders::set(name).and_then(|text| text.parse().ok()).unwrap_or(1_usize);
    let task = match wanted("PERF_TASK")?.as_str() {
        "react" => BenchTask::React,
        "sessions" => BenchTask::Sessions,
        "dag" => BenchTask::Dag,
        other => return Err(CliError::usage(format!("PERF_TASK is `{other}`; expected `react`, `sessions` or `dag`"))),
    };
    let nap = if folders::set("PERF_TOOLS").as_deref() == Some("sync") { NapMode::Blocking } else { NapMode::Async };
    let work = PathBuf::from(wanted("PERF_WORK")?);
    std::fs::create_dir_all(&work).map_err(|error| CliError::file("make", &work, &error))?;
    let bench = Bench {
        task,
        sessions: if task == BenchTask::Sessions { number("PERF_N") } else { 1 },
        repeat: number("PERF_REPEAT"),
        model: format!("openai-compatible/{}?tools=native&images=no", wanted("PERF_MODEL")?),
        base: format!("{}/v1", wanted("PERF_BASE")?.trim_end_matches('/')),
        nap,
        work,
    };
    runtime::block_on(bench.measure())
}

struct Bench {
    task: BenchTask,
    sessions: usize,
    repeat: usize,
    model: String,
    base: String,
    nap: NapMode,
    work: PathBuf,
}

impl Bench {
    async fn measure(self) -> CliResult {
        let folders = AppFolders::under(&self.work);
        let journal = journal::open(&folders)?;
        let registry = Registry::default().with_bench(self.nap);
        let reach = ProviderAccess { base: Some(self.base.clone()), ..ProviderAccess::default() };
        let access = ModelAccess { reach: [("openai-compatible".to_owned(), reach)].into(), ..ModelAccess::default() };
        let performer = RealPerformer::new(access, Dispatcher::new(registry.clone(), ToolLimits::default()));
        let engine = Engine::new(
            journal.clone(),
            Arc::new(performer),
            EngineOptions { marks: Some(tools::marks(&folders)), ..EngineOptions::default() },
        );
        let stage = Rc::new(BenchSetup {
            agents: self.agents()?,
            prompts: Prompts::compiled_in(),
            bench: self,
            registry,
            engine,
        });
        let mut worst = CliExitCode::Done;
        for _ in 0..stage.bench.repeat.max(1) {
            if round(&stage).await? != CliExitCode::Done {
                worst = CliExitCode::Failed;
            }
        }
        drop(stage);
        journal.close().await;
        Ok(worst)
    }

    fn goal(&self) -> Goal {
        let (text, mode) = match self.task {
            BenchTask::React | BenchTask::Sessions => ("Go on until you are done.", RunMode::Agent("bench".into())),
            BenchTask::Dag => ("PLAN_REQUEST", RunMode::Plan),
        };
        Goal { text: text.into(), mode, ..Goal::default() }
    }

    fn settings(&self) -> RunSettings {
        RunSettings {
            model: self.model.clone(),
            workspace: self.work.display().to_string(),
            query_turns: u32::MAX,
            parallel: 64,
            window: Some(u64::MAX / 1_000_000),
            repeats: u32::MAX,
            ..RunSettings::default()
        }
    }

    fn agents(&self) -> Result<Agents, CliError> {
        if self.task == BenchTask::Dag {
            return Ok(Agents::compiled_in()?);
        }
        let mut agents = Agents::default();
        agents.insert(Agent {
            name: "bench".into(),
            purpose: "Is measured.".into(),
            tools: vec!["echo".into(), "nap".into()],
            prompt: PROMPT.trim().into(),
            ..Agent::default()
        });
        Ok(agents)
    }
}

/// What all runs of a measurement share.
struct BenchSetup {
    bench: Bench,
    agents: Agents,
    prompts: Prompts,
    registry: Registry,
    engine: Engine,
}

impl BenchSetup {
    /// One run from goal to answer.
    async fn session(&self) -> CliResult {
        let new = NewRun {
            goal: self.bench.goal(),
            settings: self.bench.settings(),
            budget: Budget::default(),
            plan: None,
            agents: &self.agents,
            prompts: &self.prompts,
            tools: &|wanted| self.registry.specs_for(wanted),
            models: &|_| None,
            only_reads: &|_| true,
            pictures: Vec::new(),
        };
        let rested = self.engine.start(journal::new_id()?, new).await?.drive().await?;
        let is_good = matches!(rested.run.phase(), RunPhase::Over { failed: None, .. });
        Ok(if is_good { CliExitCode::Done } else { CliExitCode::Failed })
    }
}

/// All sessions at once; their first events share commits like all others.
async fn round(stage: &Rc<BenchSetup>) -> CliResult {
    if stage.bench.sessions <= 1 {
        return Box::pin(stage.session()).await;
    }
    let local = LocalSet::new();
    let mut running = JoinSet::new();
    for _ in 0..stage.bench.sessions {
        let stage = Rc::clone(stage);
        running.spawn_local_on(async move { stage.session().await }, &local);
    }
    let all = async {
        let mut code = CliExitCode::Done;
        while let Some(ended) = running.join_next().await {
            if ended.map_err(|error| CliError::failed(error.to_string()))?? != CliExitCode::Done {
                code = CliExitCode::Failed;
            }
        }
        Ok(code)
    };
    local.run_until(all).await
}
