//! A tool that does what a test says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use updraft_run::{EffectClass, Reply, ToolOutput, ToolSpec};
use updraft_tools::{CallContext, Registry, Tool, ToolFuture, ToolLimits, ToolSource, ToolTraits};

use super::World;

type Act = dyn Fn(u32, &CallContext) -> ToolFuture<'static> + Send + Sync;

/// A tool that does what the test says. It is told which attempt it is.
pub(crate) struct Scripted {
    spec: ToolSpec,
    traits: ToolTraits,
    output: Option<Value>,
    source: ToolSource,
    calls: AtomicU32,
    act: Box<Act>,
}

impl Scripted {
    pub(crate) fn new(
        class: EffectClass,
        act: impl Fn(u32, &CallContext) -> ToolFuture<'static> + Send + Sync + 'static,
    ) -> Self {
        let spec = ToolSpec { name: "scripted".into(), description: String::new(), parameters: json!({}) };
        let traits = ToolTraits { class, group: "test", time: Duration::from_secs(30), ..ToolTraits::default() };
        Self { spec, traits, output: None, source: ToolSource::BuiltIn, calls: AtomicU32::new(0), act: Box::new(act) }
    }

    pub(crate) fn blocking(mut self) -> Self {
        self.traits.blocking = true;
        self
    }

    pub(crate) fn with_parameters(mut self, parameters: Value) -> Self {
        self.spec.parameters = parameters;
        self
    }

    pub(crate) fn promising(mut self, output: Value) -> Self {
        self.output = Some(output);
        self
    }

    pub(crate) fn made_by(mut self, source: ToolSource) -> Self {
        self.source = source;
        self
    }

    pub(crate) fn named(mut self, name: &str) -> Self {
        self.spec.name = name.into();
        self
    }
}

impl Tool for Scripted {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn traits(&self) -> ToolTraits {
        self.traits
    }
    fn output(&self) -> Option<&Value> {
        self.output.as_ref()
    }
    fn source(&self) -> ToolSource {
        self.source.clone()
    }
    fn call<'a>(&'a self, _: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        (self.act)(self.calls.fetch_add(1, Ordering::SeqCst) + 1, cx)
    }
}

pub(crate) fn says(text: impl Into<String>) -> Reply {
    Reply::Output(Arc::new(ToolOutput { text: text.into(), ..ToolOutput::default() }))
}

pub(crate) fn at_once(reply: Reply) -> ToolFuture<'static> {
    Box::pin(async move { reply })
}

pub(crate) fn world(tool: Scripted) -> World {
    limited(tool, ToolLimits::default())
}

pub(crate) fn limited(tool: Scripted, limits: ToolLimits) -> World {
    let mut registry = Registry::default();
    registry.insert(Arc::new(tool)).unwrap();
    World::of(registry, limits)
}
