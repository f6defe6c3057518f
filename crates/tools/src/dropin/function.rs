//! A Python function as a tool, called in a worker process that has imported its file.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{ContentHash, EffectClass, Failure, FailureKind, Millis, Reply, ToolOutput, ToolSpec};
use updraft_sandbox::{ChildResult, KillReason};

use super::definition::FileDescription;
use super::find::{self, CandidateKind};
use super::{DropInsShared, ListedTool, describe};
use crate::tool::{CallContext, CallLog, Tool, ToolFuture, ToolSource, ToolTraits};
use crate::worker::{self, PoolLimits, WorkerAnswerFuture, WorkerFault, WorkerHost, WorkerPool};

/// Imports the file and serves calls.
const CALLING: &str = concat!(include_str!("python/convert.py"), include_str!("python/calling.py"));
/// The time limit until the interpreter is ready; the file is imported by the first call, within the time of that
/// call.
const START: Duration = Duration::from_secs(30);

pub(super) struct PythonTool {
    listed: ListedTool,
    /// The description of the file after it changed, with the hash of its content.
    later: Mutex<Option<(ContentHash, Arc<FileDescription>)>>,
    shared: Arc<DropInsShared>,
}

impl PythonTool {
    pub(super) fn new(shared: Arc<DropInsShared>, listed: ListedTool) -> Self {
        Self { listed, later: Mutex::default(), shared }
    }

    async fn run(&self, args: Value, cx: &CallContext) -> Result<Reply, Failure> {
        let workspace = cx.place.workspace.root();
        let pool = self.pool(workspace).await?;
        let mut call = json!({ "name": self.listed.spec.name, "args": args });
        if self.listed.definition.context {
            call["context"] = context(cx);
        }
        let host = PrintForwarder::new(cx.log.clone());
        let writable = self.shared.writable(workspace, self.listed.traits.class).await?;
        let called = pool.call(&writable, &call, &host, self.shared.settings.time).await;
        host.finish();
        self.shared.settings.confinement.remember(worker::moved_aside(&called), &cx.around.run);
        let is_imported = host.is_imported.load(Ordering::Relaxed);
        match called {
            Ok(done) if !done.end["unfit"].is_null() => {
                let why = done.end["unfit"].as_str().unwrap_or_default();
                Err(self.failed(format!("`{}`: {why}", self.listed.spec.name)))
            }
            Ok(done) if !done.end["failure"].is_null() => Err(self.raised(&done.end["failure"], workspace)),
            Ok(done) => {
                let mut output = ToolOutput { hosts: done.reached, ..self.output(done.value.unwrap_or_default()) };
                output.text.push_str(&crate::left_behind(&done.moved_aside, &done.troubles));
                Ok(Reply::Output(Arc::new(output)))
            }
            Err(WorkerFault::NotStarted(failure)) => Err(failure),
            Err(WorkerFault::TimedOut { limit, .. }) if is_imported => {
                Ok(Reply::TimedOut { limit: Millis(limit.as_millis() as u64) })
            }
            Err(WorkerFault::TimedOut { limit, .. }) => Err(Failure::new(
                FailureKind::Timeout,
                format!(
                    "importing `{}` took longer than {} s, so none of its tools can be called; what runs when it is \
                     imported should be short",
                    self.listed.shown,
                    limit.as_secs()
                ),
            )),
            Err(WorkerFault::Ended { ended, .. }) => Err(self.failed(self.gone(is_imported, ended.as_deref()))),
            Err(WorkerFault::Forged { why, .. }) => {
                Err(self.failed(format!("the worker of `{}` sent {why}, and was stopped", self.listed.shown)))
            }
        }
    }

    /// The workers for the current content of the file. Older workers are kept until their calls end.
    async fn pool(&self, workspace: &Path) -> Result<WorkerPool, Failure> {
        let (path, folder) =
            (self.listed.path.clone(), self.listed.path.parent().map(PathBuf::from).unwrap_or_default());
        let looked = tokio::task::spawn_blocking(move || {
            find::read(&path, CandidateKind::Python).map(|content| (content, find::generation(&folder)))
        });
        let looked = looked.await.map_err(|_| self.failed("the file could not be looked at"))?;
        let (content, generation) = looked.map_err(|why| self.failed(format!("`{}`: {why}", self.listed.shown)))?;
        if content.hash != self.listed.hash {
            self.compare(content.hash, &content.source).await?;
        }
        let mut pools = self.shared.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (self.listed.path.clone(), self.listed.traits.class == EffectClass::Pure);
        if let Some((of, pool)) = pools.get(&key)
            && *of == generation
        {
            return Ok(pool.clone());
        }
        let pool = self.new_pool(workspace);
        pools.insert(key, (generation, pool.clone()));
        Ok(pool)
    }

    fn new_pool(&self, workspace: &Path) -> WorkerPool {
        let settings = &self.shared.settings;
        let mut confinement = settings.confinement.clone();
        confinement.policy.limits.memory = confinement.policy.limits.memory.min(super::MEMORY);
        if self.listed.traits.class == EffectClass::Pure {
            confinement.policy = confinement.policy_for_reading(workspace);
        }
        let program = worker::WorkerProgram {
            name: format!("Python for `{}`", self.listed.shown),
            program: settings.python.clone(),
            // Not `-S`: a user who installed a package for the interpreter expects tools to find it.
            args: ["-I", "-B", "-X", "utf8", "-c", CALLING].map(str::to_owned).to_vec(),
            looks: false,
            read: self.shared.readable(workspace, self.listed.traits.class),
            hello: json!({ "path": self.listed.path, "folder": workspace }),
            start: START,
        };
        WorkerPool::new(confinement, program, PoolLimits::default())
    }

    /// Checks that the changed file still has this function, with the same parameters and result.
    async fn compare(&self, hash: ContentHash, source: &[u8]) -> Result<(), Failure> {
        let known = self.later.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let described = if let Some((_, described)) = known.filter(|(of, _)| *of == hash) {
            described
        } else {
            let mut listed = describe::python(&self.shared, &[source]).await;
            let described = Arc::new(listed.pop().map(|(described, _)| described).unwrap_or_default());
            *self.later.lock().unwrap_or_else(PoisonError::into_inner) = Some((hash, Arc::clone(&described)));
            described
        };
        let changed = |how: String| {
            let why = format!("`{}` was changed since its tools were listed: {how}", self.listed.shown);
            Err(Failure::new(FailureKind::Validation, why))
        };
        let name = &self.listed.spec.name;
        let Some(now) = described.tools.iter().find(|tool| tool.name == *name) else {
            let why = described.problems.first().map(|problem| format!(" (line {}: {})", problem.line, problem.text));
            return changed(format!("it no longer has a tool named `{name}`{}", why.unwrap_or_default()));
        };
        if (&now.parameters, now.context) != (&self.listed.definition.parameters, self.listed.definition.context) {
            return changed(format!("`{name}` now has other parameters; a new run will use them"));
        }
        if now.output != self.listed.definition.output {
            return changed(format!("`{name}` now has another output schema; a new run will use it"));
        }
        Ok(())
    }

    fn output(&self, value: Value) -> ToolOutput {
        let text = match &value {
            Value::Null => "(it returned nothing)".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let (untrusted, value) = (self.listed.traits.sends, Some(value).filter(|value| !value.is_null()));
        let origins = if untrusted { vec![self.listed.shown.clone()] } else { Vec::new() };
        ToolOutput { text, value, untrusted, origins, ..ToolOutput::default() }
    }

    /// The failure for an exception, with the line of the user's own code.
    fn raised(&self, told: &Value, workspace: &Path) -> Failure {
        #[derive(Deserialize)]
        struct PythonException {
            doing: String,
            r#type: String,
            message: String,
            file: String,
            line: Option<u32>,
            text: String,
        }
        let Ok(raised) = PythonException::deserialize(told) else {
            return self.failed(format!("`{}` failed", self.listed.spec.name));
        };
        let PythonException { doing, r#type: kind, message, file, line, text } = raised;
        let file = match PathBuf::from(&file) {
            path if path == self.listed.path => self.listed.shown.clone(),
            path => path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or(file),
        };
        let place = line.map(|line| format!(" ({file}, line {line}: `{text}`)")).unwrap_or_default();
        let what = if doing == "importing" {
            format!("importing `{}` failed with {kind}", self.listed.shown)
        } else {
            format!("`{}` failed with {kind}", self.listed.spec.name)
        };
        let refused = self.shared.settings.confinement.refused(&message, workspace);
        let why = if message.is_empty() { String::new() } else { format!(": {message}") };
        let words = [format!("{what}{why}{place}")].into_iter().chain(refused);
        self.failed(words.collect::<Vec<_>>().join("; "))
    }

    /// The message for a worker that ended during a call.
    fn gone(&self, is_imported: bool, ended: Option<&ChildResult>) -> String {
        let doing = if is_imported {
            format!("calling `{}`", self.listed.spec.name)
        } else {
            format!("importing `{}`", self.listed.shown)
        };
        let how = match ended {
            None => "it ended without an error message".to_owned(),
            Some(ended) => match ended.killed_for {
                Some(KillReason::Memory) => format!("it took more than {} MiB of memory", super::MEMORY >> 20),
                Some(limit) => format!("it was killed: {limit}"),
                None => format!("it ended itself with exit code {}", ended.exit_code()),
            },
        };
        let said = ended.map(|ended| ended.stderr.text()).unwrap_or_default();
        let last =
            said.trim().lines().next_back().map(|line| format!("; it said: {}", crate::truncate::line(line, 300)));
        format!("Python ended while {doing}: {how}{}", last.unwrap_or_default())
    }

    #[expect(clippy::unused_self, reason = "reads as what it is: this function failed")]
    fn failed(&self, message: impl Into<String>) -> Failure {
        Failure::new(FailureKind::Tool, message)
    }
}

impl Tool for PythonTool {
    fn spec(&self) -> &ToolSpec {
        &self.listed.spec
    }

    fn traits(&self) -> ToolTraits {
        self.listed.traits
    }

    fn output(&self) -> Option<&Value> {
        self.listed.definition.output.as_ref()
    }

    fn source(&self) -> ToolSource {
        ToolSource::File(self.listed.shown.clone())
    }

    fn words_from(&self) -> Option<String> {
        self.listed.words_from.clone()
    }

    fn changes_unseen(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            tokio::select! {
                reply = self.run(args, cx) => reply.unwrap_or_else(Reply::Failed),
                // Dropping the call ends the worker and everything it started.
                () = cx.cancel.cancelled() => Reply::Cancelled,
            }
        })
    }
}

/// What a function may know about the run: the documented context, and the run's id.
fn context(cx: &CallContext) -> Value {
    let around = &cx.around;
    let mut known = around.context.as_ref().map(|make| make()).filter(Value::is_object).unwrap_or_else(|| {
        let root = cx.place.workspace.root();
        json!({ "intent": "", "workspace": { "root": root, "files": [] }, "history": [], "memory": null })
    });
    known["run_id"] = json!(around.run);
    known["step"] = json!(around.step);
    known
}

/// Receives what a function prints, and forwards it line by line.
struct PrintForwarder {
    log: CallLog,
    rest: Mutex<String>,
    is_imported: AtomicBool,
}

impl PrintForwarder {
    fn new(log: CallLog) -> Self {
        Self { log, rest: Mutex::default(), is_imported: AtomicBool::new(false) }
    }

    fn finish(&self) {
        let rest = std::mem::take(&mut *self.rest.lock().unwrap_or_else(PoisonError::into_inner));
        if !rest.is_empty() {
            self.log.line(&rest);
        }
    }
}

impl WorkerHost for PrintForwarder {
    fn answer(&self, what: Value) -> WorkerAnswerFuture<'_> {
        if what == "imported" {
            self.is_imported.store(true, Ordering::Relaxed);
        }
        Box::pin(async { Value::Null })
    }

    fn printed(&self, text: &str) {
        /// A longer line is shown in parts.
        const LONGEST: usize = 4 << 10;
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        rest.push_str(text);
        while let Some(end) =
            rest.find('\n').or_else(|| (rest.len() > LONGEST).then(|| rest.floor_char_boundary(LONGEST)))
        {
            let line: String = rest.drain(..end).collect();
            self.log.line(&line);
            if rest.starts_with('\n') {
                rest.remove(0);
            }
        }
    }
}
