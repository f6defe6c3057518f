//! `run_python`: runs code in a fresh Python process in the sandbox, with the shared variables and the agent's tools.

mod file_states;
mod host;
mod report;

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;
use tokio::time::Instant;
use updraft_run::{Failure, FailureKind, PreparedCall, Reply, ToolOutput, ToolSpec};
use updraft_workspace::Place;

use super::changes::by_time;
use super::{now, parse, reply, spec, whole};
use crate::confinement::{Confinement, NO_NETWORK};
use crate::tool::{CallContext, RunContext, Tool, ToolFuture, ToolTraits};
use crate::worker::{PoolLimits, PythonConfig, WorkerFault, WorkerPool, WorkerProgram, moved_aside, reached};
use file_states::FileStates;
use host::PythonHost;
use report::VariantAttempt;

/// The time limit in seconds if the call sets none.
const USUAL_TIME: u64 = 60;
/// The longest time limit that a call can set, in seconds.
const LONGEST_TIME: u64 = 3_600;
/// Most variants of the code that one call may give.
const VARIANTS: usize = 8;

pub(super) struct RunPython {
    spec: ToolSpec,
    output: Value,
    confinement: Confinement,
    python: PythonConfig,
    /// Created by the first call, when Python has been found.
    pool: OnceCell<WorkerPool>,
}

#[derive(Deserialize)]
struct Args {
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    variants: Vec<String>,
    #[serde(default, deserialize_with = "whole")]
    seconds: Option<u64>,
}

impl RunPython {
    fn new(confinement: Confinement, python: PythonConfig) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "code": { "type": "string", "description": "Python code.", "examples": ["import math\nmath.sqrt(2)"] },
                "variants": {
                    "type": "array", "items": { "type": "string" }, "maxItems": VARIANTS,
                    "description": "Alternatives to try in turn until one succeeds, instead of `code`."
                },
                "seconds": { "type": "integer", "minimum": 1, "maximum": LONGEST_TIME, "description": format!("Time limit; default {USUAL_TIME}.") }
            },
            "additionalProperties": false
        });
        let output = json!({
            "type": "object",
            "properties": {
                "result": { "description": "The value of the last expression, or of `result`; text if it is not JSON." },
                "stdout": { "type": "string" },
                "seconds": { "type": "number" },
                "variant": { "type": "integer", "description": "The number of the variant that succeeded, from 1." }
            },
            "required": ["result", "stdout", "seconds", "variant"]
        });
        let (files, network) = if confinement.only_reads() {
            ("this run is read-only: writing in the workspace fails", NO_NETWORK.to_owned())
        } else {
            ("only files are kept", confinement.network_in_words())
        };
        let packages = if python.packages { "installed packages" } else { "no other packages" };
        let description = format!(
            "Run Python code in the workspace folder, in a sandbox: the standard library, {packages}. You get what it \
             prints and the value of its last expression (or of a variable `result`). What stands under Inputs are globals, \
             and in the dict `reads_data`. Your tools are functions: `text = str(read_file(path=\"a.txt\"))`; one that fails \
             raises ToolError, as does a command that exits with an error. {network} Each call starts with a new interpreter; {files}."
        );
        Self { spec: spec("run_python", &description, parameters), output, confinement, python, pool: OnceCell::new() }
    }

    async fn run(&self, args: Value, cx: &CallContext) -> Result<ToolOutput, Failure> {
        let args: Args = parse(&args)?;
        let codes: Vec<String> = args.code.into_iter().chain(args.variants).collect();
        if codes.is_empty() || codes.len() > VARIANTS {
            let why = format!("`run_python` takes `code`, or from 1 to {VARIANTS} `variants`; found {}", codes.len());
            return Err(Failure::new(FailureKind::Validation, why));
        }
        let limit = Duration::from_secs(args.seconds.unwrap_or(USUAL_TIME).min(LONGEST_TIME));
        let pool = self.pool.get_or_try_init(|| self.make_pool(cx)).await?;
        let tools = PythonHost::new(cx);
        let count = codes.len();
        let began = now();
        let attempts = self.attempts(pool, cx, &tools, codes, limit).await?;
        let mut output = tools.with_what_they_touched(report::output(&attempts, count));
        let beyond = by_time::beyond(&self.confinement.policy.write, began).await;
        output.unlisted = output.unlisted.or_else(|| beyond.unlisted());
        output.changes.extend(beyond.list);
        Ok(output)
    }

    async fn make_pool(&self, cx: &CallContext) -> Result<WorkerPool, Failure> {
        let found = self.python.find(&self.confinement, cx.place.workspace.root()).await?;
        let program = WorkerProgram { looks: self.confinement.only_reads(), ..self.python.worker(&found) };
        Ok(WorkerPool::new(self.confinement.clone(), program, PoolLimits::default()))
    }

    /// Tries the variants in order until one succeeds, the time is over, or a failed one may have had an effect.
    async fn attempts(
        &self,
        pool: &WorkerPool,
        cx: &CallContext,
        tools: &PythonHost<'_>,
        codes: Vec<String>,
        limit: Duration,
    ) -> Result<Vec<VariantAttempt>, Failure> {
        let deadline = Instant::now() + limit;
        let count = codes.len();
        let mut attempts: Vec<VariantAttempt> = Vec::new();
        for (at, code) in codes.into_iter().enumerate() {
            let is_last = at + 1 == count;
            let before =
                if is_last { None } else { FileStates::of(&cx.place.workspace, &self.confinement.policy.write).await };
            let began = Instant::now();
            let left = deadline.saturating_duration_since(began);
            let call = call(&code, &cx.around);
            let called = pool.call(cx.place.workspace.root(), &call, tools, left).await;
            self.confinement.remember(moved_aside(&called), &cx.around.run);
            tools.reached(reached(&called));
            if let Err(WorkerFault::NotStarted(failure)) = called {
                return Err(failure);
            }
            let mut attempt = VariantAttempt::of(called, began.elapsed(), limit);
            if let Err(why) = &attempt.came {
                let refused = self.confinement.refused(why, cx.place.workspace.root());
                attempt.notes.extend(refused);
            }
            if !(attempt.is_good() || is_last) {
                attempt.stopped = self.why_not_go_on(cx, tools, before, deadline).await;
            }
            let is_over = attempt.is_good() || attempt.stopped.is_some();
            attempts.push(attempt);
            if is_over {
                break;
            }
        }
        Ok(attempts)
    }

    /// Why the next variant must not be tried after one that failed; `None` if it may be.
    async fn why_not_go_on(
        &self,
        cx: &CallContext,
        tools: &PythonHost<'_>,
        before: Option<FileStates>,
        deadline: Instant,
    ) -> Option<String> {
        if Instant::now() >= deadline {
            return Some("the time is over".to_owned());
        }
        if let Some(tool) = tools.unrepeatable() {
            return Some(format!("it called `{tool}`, which must not be done twice"));
        }
        let after = FileStates::of(&cx.place.workspace, &self.confinement.policy.write).await;
        match (before, after) {
            (Some(before), Some(after)) => before.first_change(&after).map(|path| format!("it changed `{path}`")),
            (_, _) => Some("the workspace is too large to see whether it changed something".to_owned()),
        }
    }
}

/// The message that a worker gets.
fn call(code: &str, around: &RunContext) -> Value {
    let variables: Map<String, Value> =
        around.variables.iter().map(|(name, value)| (name.clone(), (**value).clone())).collect();
    let tools: Map<String, Value> =
        around.tools.iter().map(|tool| (tool.name.clone(), json!(parameters(&tool.parameters)))).collect();
    json!({ "code": code, "variables": variables, "tools": tools })
}

/// The names of a tool's parameters in the order for positional arguments: the required ones first.
fn parameters(schema: &Value) -> Vec<&str> {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut names: Vec<&str> = required.collect();
    let all = schema["properties"].as_object().into_iter().flat_map(Map::keys).map(String::as_str);
    let others: Vec<&str> = all.filter(|name| !names.contains(name)).collect();
    names.extend(others);
    names
}

impl Tool for RunPython {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn output(&self) -> Option<&Value> {
        Some(&self.output)
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits { group: "sandbox", time: Duration::from_secs(LONGEST_TIME + 60), ..self.confinement.traits() }
    }

    fn changes_unseen(&self) -> bool {
        true
    }

    fn prepare(&self, _args: &Value, _place: &Place) -> PreparedCall {
        let ToolTraits { class, outside, sends, destroys, .. } = self.traits();
        if self.confinement.only_reads() {
            return PreparedCall { class, only_reads: true, ..PreparedCall::default() };
        }
        let (hosts, granted) = (self.confinement.hosts(), self.confinement.is_granted());
        PreparedCall { class, outside, sends, destroys, hosts, granted, ..PreparedCall::default() }
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            tokio::select! {
                ended = self.run(args, cx) => reply(ended),
                // Dropping the call ends the worker and everything it started.
                () = cx.cancel.cancelled() => Reply::Cancelled,
            }
        })
    }
}

pub(super) fn tool(confinement: Confinement, python: PythonConfig) -> Arc<dyn Tool> {
    Arc::new(RunPython::new(confinement, python))
}
