//! Performs the effects that a run wants: the trait, and its real implementation with models and tools.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use updraft_models::{Model, ModelAccess};
use updraft_run::{EffectFacts, Failure, FailureKind, PreparedCall, RecoveryOutcome, Reply, ToolCall};
use updraft_tools::{CallContext, CallLog, CallResult, Dispatcher, Place, RegistrySnapshot, RunContext, Workspace};
use updraft_workspace::WorkspaceCopy;

use tokio_util::sync::CancellationToken;

/// A boxed future, so that the trait can be used as a trait object.
pub type EffectFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Performs effects. The engine decides when; the implementation knows how.
pub trait EffectPerformer: Send + Sync {
    /// The model of this name.
    fn model(&self, name: &str) -> Result<Arc<dyn Model>, updraft_models::Error>;

    /// The model set up again after its key was refused, if the keys have changed since.
    fn renewed_model(&self, name: &str, refused: &Arc<dyn Model>) -> Option<Arc<dyn Model>> {
        let _ = (name, refused);
        None
    }

    /// How long to wait for a model that is not available.
    fn outage_limit(&self) -> Duration {
        Duration::ZERO
    }

    /// The full name of the tool that a shorter name refers to.
    fn full_name(&self, called: &str) -> Option<String> {
        let _ = called;
        None
    }

    /// Copies a workspace to another folder, unless that has been done.
    fn copy_workspace<'a>(&'a self, from: &'a str, to: &'a str) -> EffectFuture<'a, Result<(), Failure>> {
        let _ = (from, to);
        Box::pin(std::future::ready(Ok(())))
    }

    /// The current tools, if some of them may change during runs.
    fn snapshot(&self) -> Option<RegistrySnapshot> {
        None
    }

    /// What a call would touch. Has no side effects.
    fn prepare(&self, workspace: &str, call: &ToolCall) -> PreparedCall;

    /// What is known only just before a call. Reads, but changes nothing.
    fn facts<'a>(&'a self, workspace: &'a str, call: &'a ToolCall) -> EffectFuture<'a, EffectFacts>;

    /// Contents that a call is about to replace, to be stored before it begins. Reads, but changes nothing.
    fn previous_contents<'a>(&'a self, workspace: &'a str, call: &'a ToolCall) -> EffectFuture<'a, Vec<Vec<u8>>> {
        let _ = (workspace, call);
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Makes a call.
    fn call<'a>(
        &'a self,
        workspace: &'a str,
        call: &'a ToolCall,
        given: CallEnvironment,
    ) -> EffectFuture<'a, CallResult>;

    /// Releases what tools hold for a run that is over.
    fn release<'a>(&'a self, run: &'a str) -> EffectFuture<'a, ()> {
        let _ = run;
        Box::pin(std::future::ready(()))
    }

    /// Ends what tools keep running for a step that is over.
    fn end_step<'a>(&'a self, run: &'a str, step: &'a str) -> EffectFuture<'a, ()> {
        let _ = (run, step);
        Box::pin(std::future::ready(()))
    }

    /// The background commands of a step that run in this process.
    fn running(&self, run: &str, step: &str) -> Vec<String> {
        let _ = (run, step);
        Vec::new()
    }

    /// After a crash: finds out whether a call happened, and completes what was cut off halfway.
    fn reconcile<'a>(
        &'a self,
        workspace: &'a str,
        call: &'a ToolCall,
        facts: &'a EffectFacts,
    ) -> EffectFuture<'a, RecoveryOutcome>;
}

/// What a call is made with besides its arguments.
#[derive(Debug)]
pub struct CallEnvironment {
    /// A key that is the same for every attempt at this call, and different for all other calls.
    pub key: String,
    /// Cancelled when the call is to stop.
    pub cancel: CancellationToken,
    /// What the tool may know about the run.
    pub context: RunContext,
    /// Where the tool reports its progress.
    pub log: CallLog,
    /// Where the lines that a program prints while it runs go.
    pub output: CallLog,
}

/// The real performer: models by name, tools by the dispatcher, each run in its own workspace.
pub struct RealPerformer {
    access: Mutex<Arc<ModelAccess>>,
    dispatcher: Dispatcher,
    models: Mutex<BTreeMap<String, CachedModel>>,
    places: Mutex<BTreeMap<String, Place>>,
}

/// A model that has been set up.
struct CachedModel {
    model: Arc<dyn Model>,
    /// The keys it was set up with.
    access: Arc<ModelAccess>,
}

impl RealPerformer {
    /// A performer with this access to models and these tools.
    pub fn new(access: ModelAccess, dispatcher: Dispatcher) -> Self {
        Self { access: Mutex::new(Arc::new(access)), dispatcher, models: Mutex::default(), places: Mutex::default() }
    }

    /// Adds a model that is already set up with the same keys, under its name.
    #[must_use]
    pub fn with_model(self, name: &str, model: Arc<dyn Model>) -> Self {
        let cached = CachedModel { model, access: self.access() };
        self.models.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), cached);
        self
    }

    /// The current access to models.
    fn access(&self) -> Arc<ModelAccess> {
        Arc::clone(&self.access.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the keys again. Returns the new access if some have changed.
    fn renew(&self) -> Option<Arc<ModelAccess>> {
        let mut access = self.access.lock().unwrap_or_else(PoisonError::into_inner);
        *access = Arc::new(access.renewed()?);
        Some(Arc::clone(&access))
    }

    /// The dispatcher.
    pub fn dispatcher(&self) -> &Dispatcher {
        &self.dispatcher
    }

    /// What is known about a call, with the full name of the model it asks.
    fn with_model_named(&self, prepared: PreparedCall) -> PreparedCall {
        let Some(name) = prepared.model.as_deref().filter(|_| prepared.fault.is_none()) else { return prepared };
        match self.may_consult(name) {
            Ok(model) => {
                // The user has set it up, so asking it does not count as reaching outside; but the question leaves this
                // machine.
                let hosts = self.model(&model).map(|model| model.hosts()).unwrap_or_default();
                PreparedCall { model: Some(model), sends: !hosts.is_empty(), hosts, ..prepared }
            }
            Err(why) => {
                let fault = Some(Failure::new(FailureKind::Validation, why));
                PreparedCall { model: None, fault, ..prepared }
            }
        }
    }

    /// The model that an agent names, if the user has set it up. An agent cannot set up a model itself: a name that
    /// contains an address would send its question there.
    fn may_consult(&self, name: &str) -> Result<String, String> {
        let (name, access) = (name.trim(), self.access());
        let not_set_up = |why: &str| {
            let providers = updraft_models::providers().into_iter().filter(|provider| access.can_use(provider));
            let providers = providers.map(|provider| format!("{}/NAME", provider.name));
            let all: Vec<String> = access.profiles.keys().cloned().chain(providers).collect();
            format!("`{name}` is not a model that is set up here{why}; available: {}", all.join(", "))
        };
        if let Some(own) = access.profiles.get(name) {
            return Ok(own.clone());
        }
        let is_known = self.models.lock().unwrap_or_else(PoisonError::into_inner).contains_key(name);
        let is_of_own_making =
            name.contains(['?', '|']) || name.starts_with("scripted/") || name.starts_with("recorded/");
        if is_of_own_making && !is_known {
            return Err(not_set_up(""));
        }
        self.model(name).map_err(|error| not_set_up(&format!(" ({error})")))?;
        Ok(name.to_owned())
    }

    /// A run's workspace, opened once.
    fn place(&self, workspace: &str) -> Result<Place, Failure> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = places.get(workspace) {
            return Ok(place.clone());
        }
        let opened = Workspace::open(Path::new(workspace));
        let opened = opened.map_err(|error| Failure::new(FailureKind::Config, error.to_string()))?;
        let place = Place { workspace: opened };
        places.insert(workspace.to_owned(), place.clone());
        Ok(place)
    }
}

impl EffectPerformer for RealPerformer {
    fn model(&self, name: &str) -> Result<Arc<dyn Model>, updraft_models::Error> {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cached) = models.get(name) {
            return Ok(cached.model.clone());
        }
        let access = self.access();
        let resolved = updraft_models::resolve(name, &access).map(|model| (model, access));
        // A key may have been set since the process started.
        let (model, access) = resolved.or_else(|error| {
            let access = self.renew().ok_or(error)?;
            Ok((updraft_models::resolve(name, &access)?, access))
        })?;
        models.insert(name.to_owned(), CachedModel { model: model.clone(), access });
        Ok(model)
    }

    fn renewed_model(&self, name: &str, refused: &Arc<dyn Model>) -> Option<Arc<dyn Model>> {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = models.get(name)?;
        if !Arc::ptr_eq(&cached.model, refused) {
            return Some(cached.model.clone());
        }
        let access = self.renew().unwrap_or_else(|| self.access());
        if Arc::ptr_eq(&cached.access, &access) {
            return None;
        }
        let model = updraft_models::resolve(name, &access).ok()?;
        models.insert(name.to_owned(), CachedModel { model: model.clone(), access });
        Some(model)
    }

    fn outage_limit(&self) -> Duration {
        self.access().patience.outage
    }

    fn full_name(&self, called: &str) -> Option<String> {
        self.dispatcher.registry().stand_in(called).map(str::to_owned)
    }

    fn copy_workspace<'a>(&'a self, from: &'a str, to: &'a str) -> EffectFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let place = self.place(from)?;
            let to = PathBuf::from(to);
            let copying = tokio::task::spawn_blocking(move || WorkspaceCopy::make(&place.workspace, &to));
            let failed = |_| Failure::new(FailureKind::Config, "the workspace could not be copied");
            copying.await.map_err(failed)?
        })
    }

    fn snapshot(&self) -> Option<RegistrySnapshot> {
        // Tools that were never replaced are those that the run began with.
        Some(self.dispatcher.snapshot()).filter(|snapshot| snapshot.version > 0)
    }

    fn prepare(&self, workspace: &str, call: &ToolCall) -> PreparedCall {
        match self.place(workspace) {
            Ok(place) => self.with_model_named(self.dispatcher.prepare(call, &place)),
            Err(fault) => PreparedCall { fault: Some(fault), ..PreparedCall::default() },
        }
    }

    fn facts<'a>(&'a self, workspace: &'a str, call: &'a ToolCall) -> EffectFuture<'a, EffectFacts> {
        Box::pin(async move {
            match self.place(workspace) {
                Ok(place) => self.dispatcher.facts(call, &place).await,
                Err(_) => EffectFacts::default(),
            }
        })
    }

    fn previous_contents<'a>(&'a self, workspace: &'a str, call: &'a ToolCall) -> EffectFuture<'a, Vec<Vec<u8>>> {
        Box::pin(async move {
            match self.place(workspace) {
                Ok(place) => self.dispatcher.previous_contents(call, &place).await,
                Err(_) => Vec::new(),
            }
        })
    }

    fn call<'a>(
        &'a self,
        workspace: &'a str,
        call: &'a ToolCall,
        given: CallEnvironment,
    ) -> EffectFuture<'a, CallResult> {
        Box::pin(async move {
            match self.place(workspace) {
                Ok(place) => {
                    let CallEnvironment { key, cancel, context: around, log, output } = given;
                    let mut context = CallContext::new(place, key);
                    context.cancel = cancel;
                    context.around = around;
                    context.log = log;
                    context.output = output;
                    self.dispatcher.call(call, &context).await
                }
                Err(fault) => CallResult::of(Reply::Failed(fault)),
            }
        })
    }

    fn release<'a>(&'a self, run: &'a str) -> EffectFuture<'a, ()> {
        Box::pin(self.dispatcher.release(Some(run)))
    }

    fn end_step<'a>(&'a self, run: &'a str, step: &'a str) -> EffectFuture<'a, ()> {
        Box::pin(self.dispatcher.end_step(run, step))
    }

    fn running(&self, run: &str, step: &str) -> Vec<String> {
        self.dispatcher.running(run, step)
    }

    fn reconcile<'a>(
        &'a self,
        workspace: &'a str,
        call: &'a ToolCall,
        facts: &'a EffectFacts,
    ) -> EffectFuture<'a, RecoveryOutcome> {
        Box::pin(async move {
            match self.place(workspace) {
                Ok(place) => self.dispatcher.reconcile(call, facts, &place).await,
                Err(fault) => RecoveryOutcome::CannotTell(fault.message),
            }
        })
    }
}

/// Removes the hosts of the step's own model from a question to another model: they receive the text anyway, so sending
/// it there does not count as sending it out.
pub(crate) fn without_own_hosts(mut prepared: PreparedCall, own: &[String]) -> PreparedCall {
    prepared.hosts.retain(|host| !own.contains(host));
    prepared.sends = !prepared.hosts.is_empty();
    prepared
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use updraft_models::{ProviderAccess, SecretString};
    use updraft_tools::{Registry, ToolLimits};

    use super::*;

    #[test]
    fn a_question_to_a_model_elsewhere_sends_and_one_to_a_model_here_does_not() {
        let mut access = ModelAccess::default();
        access.reach.insert(
            "anthropic".into(),
            ProviderAccess { key: Some(SecretString::new("k")), ..ProviderAccess::default() },
        );
        let dispatcher = Dispatcher::new(Registry::standard(&ToolLimits::default()), ToolLimits::default());
        let performer = RealPerformer::new(access, dispatcher);
        let folder = tempfile::tempdir().unwrap();
        let asked = |model: &str| {
            let args = json!({ "model": model, "question": "why?" });
            let call = ToolCall { id: "1".into(), name: updraft_tools::ASK_MODEL.into(), args, fault: None };
            performer.prepare(&folder.path().display().to_string(), &call)
        };
        let away = asked("anthropic/claude-haiku-5-5");
        assert_eq!((away.sends, away.outside, away.fault.as_ref()), (true, false, None));
        assert_eq!(away.hosts, ["api.anthropic.com"]);
        assert!(!without_own_hosts(away.clone(), &away.hosts).sends, "its own provider hears nothing new");
        assert!(without_own_hosts(away, &["api.openai.com".into()]).sends);
        for here in ["builtin", "ollama/llama3"] {
            let asked = asked(here);
            assert_eq!((asked.sends, asked.hosts.len(), asked.fault), (false, 0, None), "{here}");
        }
        assert_eq!(asked("ollama/gpt-oss:120b-cloud").hosts, ["ollama.com"]);
    }
}
