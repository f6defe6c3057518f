//! The merged settings: every value is present, checked, and knows where it came from.

use toml::Spanned;
use updraft_run::{ApprovalMode, Budget, Millis, Rules, RunSettings, ThinkingEffort};

use super::browser::BrowserSettings;
use super::hooks::{self, HookSetting};
use super::knowledge::KnowledgeSettings;
use super::layer::SettingsLayer;
use super::log::RunLogSettings;
use super::memory::MemorySettings;
use super::models::ModelSettings;
use super::origin::{SettingOrigin, SettingValue};
use super::reading::ReadingSettings;
use super::rules;
use super::sandbox::SandboxSettings;
use super::search::SearchSettings;
use super::serving::ServeSettings;
use super::spending::SpendingLimits;
use super::telemetry::TelemetrySettings;
use super::tools::ToolSettings;
use super::web::WebSettings;
use super::webhooks::{self, WebhookEndpoint};
use super::working::WorkingSettings;
use crate::fault::Fault;
use crate::time_format;

/// All settings.
#[derive(Clone, Debug)]
pub struct EffectiveSettings {
    /// The model, as it was written.
    pub model: SettingValue<String>,
    pub(crate) turns: SettingValue<u32>,
    pub(crate) query_turns: SettingValue<u32>,
    /// The turns of `updraft run --agent`.
    pub(crate) agent_turns: SettingValue<u32>,
    pub(crate) parallel: SettingValue<u32>,
    pub(crate) revisits: SettingValue<u32>,
    pub(crate) replans: SettingValue<u32>,
    pub(crate) plan_attempts: SettingValue<u32>,
    pub(crate) repeats: SettingValue<u32>,
    pub(crate) max_steps: SettingValue<u32>,
    pub(crate) max_output: SettingValue<u64>,
    /// Who decides about calls that reach beyond workspace and sandbox.
    pub approvals: SettingValue<ApprovalMode>,
    /// Tools that no agent gets.
    pub deny: SettingValue<Vec<String>>,
    /// What is allowed, asked about and denied.
    pub rules: Rules,
    /// Programs that are called at events.
    pub(crate) hooks: Vec<HookSetting>,
    /// What a run may spend.
    pub(crate) budget: SpendingLimits,
    /// What each of its steps may spend.
    pub(crate) step_budget: SpendingLimits,
    /// How much models think.
    pub(crate) think: SettingValue<ThinkingEffort>,
    /// How long a model may be silent before its answer begins.
    pub(crate) silence: SettingValue<Millis>,
    /// How long it may be silent within an answer.
    pub(crate) stall: SettingValue<Millis>,
    /// How long to wait for a model that is not available.
    pub(crate) max_wait: SettingValue<Millis>,
    /// Whether `auto` looks for servers on this machine.
    pub(crate) probe: SettingValue<bool>,
    /// Whether identical requests are answered from a cache.
    pub(crate) cache: SettingValue<bool>,
    pub(crate) models: ModelSettings,
    /// Tools of the user's own.
    pub tools: ToolSettings,
    /// Which Python runs agents' code; empty for the first on `PATH`.
    pub(crate) python_program: SettingValue<String>,
    /// Whether that code may import installed packages.
    pub(crate) python_packages: SettingValue<bool>,
    /// How the browser is started.
    pub(crate) browser: BrowserSettings,
    /// How web pages are fetched.
    pub(crate) web: WebSettings,
    /// The service that searches the web.
    pub(crate) search: SearchSettings,
    /// What reading a file may cost.
    pub(crate) reading: ReadingSettings,
    /// Conversations of clients, and the bridge.
    pub serving: ServeSettings,
    /// Where traces are sent.
    pub telemetry: TelemetrySettings,
    /// What is logged: a level or a filter.
    pub log: SettingValue<String>,
    /// The log files of runs.
    pub run_logs: RunLogSettings,
    /// What agents' commands may do.
    pub sandbox: SandboxSettings,
    /// Whether the changes of commands are recorded, so that they can be undone.
    pub(crate) undo_commands: SettingValue<bool>,
    /// Which model makes vectors of what is indexed.
    pub(crate) knowledge: KnowledgeSettings,
    /// What is recalled and kept of earlier runs and messages.
    pub memory: MemorySettings,
    /// Whether people are asked, what must be proved, and what runs after edits.
    pub working: WorkingSettings,
    /// Servers that are told when a run ends or needs a person.
    pub webhooks: Vec<WebhookEndpoint>,
}

impl Default for EffectiveSettings {
    fn default() -> Self {
        let defaults = RunSettings::default();
        Self {
            model: SettingValue::default_of("auto".into()),
            turns: SettingValue::default_of(defaults.turns),
            query_turns: SettingValue::default_of(defaults.query_turns),
            agent_turns: SettingValue::default_of(50),
            parallel: SettingValue::default_of(defaults.parallel),
            revisits: SettingValue::default_of(defaults.revisits),
            replans: SettingValue::default_of(defaults.replans),
            plan_attempts: SettingValue::default_of(defaults.plan_attempts),
            repeats: SettingValue::default_of(defaults.repeats),
            max_steps: SettingValue::default_of(defaults.max_steps),
            max_output: SettingValue::default_of(defaults.max_output),
            approvals: SettingValue::default_of(ApprovalMode::Ask),
            deny: SettingValue::default_of(Vec::new()),
            rules: Rules::default(),
            hooks: Vec::new(),
            budget: SpendingLimits::default(),
            step_budget: SpendingLimits::default(),
            think: SettingValue::default_of(ThinkingEffort::Auto),
            silence: SettingValue::default_of(Millis(300_000)),
            stall: SettingValue::default_of(Millis(120_000)),
            max_wait: SettingValue::default_of(Millis(600_000)),
            probe: SettingValue::default_of(true),
            cache: SettingValue::default_of(false),
            models: ModelSettings::default(),
            tools: ToolSettings::default(),
            python_program: SettingValue::default_of(String::new()),
            python_packages: SettingValue::default_of(false),
            browser: BrowserSettings::default(),
            web: WebSettings::default(),
            search: SearchSettings::default(),
            reading: ReadingSettings::default(),
            serving: ServeSettings::default(),
            telemetry: TelemetrySettings::default(),
            log: SettingValue::default_of("info".into()),
            run_logs: RunLogSettings::default(),
            sandbox: SandboxSettings::default(),
            undo_commands: SettingValue::default_of(true),
            knowledge: KnowledgeSettings::default(),
            memory: MemorySettings::default(),
            working: WorkingSettings::default(),
            webhooks: Vec::new(),
        }
    }
}

impl EffectiveSettings {
    /// Applies a layer; settings that it may not decide are listed in `ignored`.
    pub(crate) fn take(&mut self, layer: &SettingsLayer, ignored: &mut Vec<String>) -> Result<(), Fault> {
        let written = &layer.written;
        let mut taking = LayerMerge { layer, ignored };
        taking.free("model", &mut self.model, written.model.as_ref());
        taking.within("turns", 1..=1000, &mut self.turns, written.turns.as_ref())?;
        taking.within("query_turns", 1..=1000, &mut self.query_turns, written.query_turns.as_ref())?;
        taking.within("agent_turns", 1..=1000, &mut self.agent_turns, written.agent_turns.as_ref())?;
        taking.within("parallel", 1..=1000, &mut self.parallel, written.parallel.as_ref())?;
        taking.within("revisits", 0..=100, &mut self.revisits, written.revisits.as_ref())?;
        taking.within("replans", 0..=100, &mut self.replans, written.replans.as_ref())?;
        taking.within("plan_attempts", 1..=100, &mut self.plan_attempts, written.plan_attempts.as_ref())?;
        taking.within("repeats", 2..=1000, &mut self.repeats, written.repeats.as_ref())?;
        taking.within("max_steps", 1..=1_000_000, &mut self.max_steps, written.max_steps.as_ref())?;
        taking.within("max_output", 1..=1_000_000, &mut self.max_output, written.max_output.as_ref())?;
        if let (Some(mode), Some(_)) = (&written.mode, &written.approvals) {
            let place = layer.place(mode);
            return Err(Fault::config(format!("{place}: `mode` and `approvals` set the same thing; keep one of them")));
        }
        taking.ordered("mode", &mut self.approvals, written.mode.as_ref(), |new, old| new >= old);
        taking.ordered("approvals", &mut self.approvals, written.approvals.as_ref(), |new, old| new >= old);
        rules::take(&mut self.rules, layer, taking.ignored)?;
        hooks::take(&mut self.hooks, layer, taking.ignored)?;
        if let Some(deny) = &written.deny {
            // What one source denies, no other can allow.
            self.deny.value.extend(deny.get_ref().iter().cloned());
            self.deny.value.sort();
            self.deny.value.dedup();
            self.deny.from = taking.source(deny);
        }
        self.budget.take("budget", &mut taking, &written.budget);
        self.step_budget.take("step_budget", &mut taking, &written.step_budget);
        if let Some(think) = &written.think {
            let Some(meant) = ThinkingEffort::parse(think.get_ref()) else {
                let place = layer.place(think);
                let what = format!("{place}: `think` is `{}`", think.get_ref());
                return Err(Fault::config(format!(
                    "{what}; expected auto, off, low, medium, high or a number of tokens"
                )));
            };
            taking.free("think", &mut self.think, Some(&Spanned::new(think.span(), meant)));
        }
        taking.free("silence", &mut self.silence, written.silence.as_ref());
        taking.free("stall", &mut self.stall, written.stall.as_ref());
        taking.free("max_wait", &mut self.max_wait, written.max_wait.as_ref());
        taking.free("probe", &mut self.probe, written.probe.as_ref());
        taking.free("cache", &mut self.cache, written.cache.as_ref());
        self.browser.take(&mut taking, &written.browser)?;
        self.web.take(&mut taking, &written.web)?;
        self.search.take(&mut taking, &written.search)?;
        self.reading.take(&mut taking, &written.reading)?;
        self.knowledge.take(&mut taking, &written.knowledge)?;
        self.memory.take(&mut taking, &written.memory)?;
        self.tools.take(&mut taking, &written.tools)?;
        self.working.take(&mut taking, written);
        self.serving.take(&mut taking, written)?;
        self.telemetry.take(&mut taking, &written.telemetry);
        webhooks::take(&mut self.webhooks, layer, taking.ignored)?;
        self.models.take(layer, taking.ignored)?;
        self.sandbox.take(layer, taking.ignored)?;
        let python = &written.python;
        taking.free("python.program", &mut self.python_program, python.program.as_ref());
        taking.free("python.packages", &mut self.python_packages, python.packages.as_ref());
        taking.free("log.level", &mut self.log, written.log.level.as_ref());
        self.run_logs.take(&mut taking, &written.log)?;
        taking.free("undo.commands", &mut self.undo_commands, written.undo.commands.as_ref());
        Ok(())
    }

    /// Ignores interpreters that are given as paths in the workspace: in an untrusted workspace they must not run.
    pub(super) fn leave_relative_programs(&mut self, ignored: &mut Vec<String>) {
        for (name, slot) in [("tools.python", &mut self.tools.python), ("python.program", &mut self.python_program)] {
            if slot.value.contains('/') && !std::path::Path::new(&slot.value).is_absolute() {
                ignored.push(format!("`{name}`, which is in the workspace"));
                *slot = SettingValue::default_of(String::new());
            }
        }
    }

    /// The settings a run begins with. The caller fills in the model and the workspace.
    pub fn run_settings(&self) -> RunSettings {
        RunSettings {
            turns: self.turns.value,
            query_turns: self.query_turns.value,
            parallel: self.parallel.value,
            revisits: self.revisits.value,
            replans: self.replans.value,
            plan_attempts: self.plan_attempts.value,
            repeats: self.repeats.value,
            max_steps: self.max_steps.value,
            max_output: self.max_output.value,
            max_output_chosen: !self.max_output.is_default(),
            approvals: self.approvals.value,
            deny: self.deny.value.clone(),
            rules: self.rules.clone(),
            step_budget: self.step_budget.budget(),
            think: self.think.value,
            assume: self.working.assume.value,
            ..RunSettings::default()
        }
    }

    /// What a run may spend.
    pub fn budget(&self) -> Budget {
        self.budget.budget()
    }

    /// Every setting: name, value as TOML, where it came from.
    pub fn list(&self) -> Vec<(String, String, String)> {
        fn row<T>(name: &str, sourced: &SettingValue<T>, value: impl Fn(&T) -> String) -> (String, String, String) {
            (name.to_owned(), value(&sourced.value), sourced.from.clone())
        }
        let mut rows = vec![
            row("model", &self.model, |value| format!("{value:?}")),
            row("turns", &self.turns, ToString::to_string),
            row("query_turns", &self.query_turns, ToString::to_string),
            row("agent_turns", &self.agent_turns, ToString::to_string),
            row("parallel", &self.parallel, ToString::to_string),
            row("revisits", &self.revisits, ToString::to_string),
            row("replans", &self.replans, ToString::to_string),
            row("plan_attempts", &self.plan_attempts, ToString::to_string),
            row("repeats", &self.repeats, ToString::to_string),
            row("max_steps", &self.max_steps, ToString::to_string),
            row("max_output", &self.max_output, ToString::to_string),
            row("approvals", &self.approvals, |value| format!("{:?}", value.word())),
            row("deny", &self.deny, |value| format!("{value:?}")),
            row("think", &self.think, |value| format!("{:?}", format!("{value:?}").to_lowercase())),
            row("silence", &self.silence, |value| format!("\"{} s\"", value.0 / 1000)),
            row("stall", &self.stall, |value| format!("\"{} s\"", value.0 / 1000)),
            row("max_wait", &self.max_wait, |value| format!("\"{} s\"", value.0 / 1000)),
            row("probe", &self.probe, ToString::to_string),
            row("cache", &self.cache, ToString::to_string),
            row("python.program", &self.python_program, |value| format!("{value:?}")),
            row("python.packages", &self.python_packages, ToString::to_string),
            row("log.level", &self.log, |value| format!("{value:?}")),
            row("undo.commands", &self.undo_commands, ToString::to_string),
        ];
        rows.extend(self.budget.list("budget"));
        rows.extend(self.step_budget.list("step_budget"));
        rows.extend(self.sandbox.list());
        rows.extend(self.browser.list());
        rows.extend(self.web.list());
        rows.extend(self.search.list());
        rows.extend(webhooks::list(&self.webhooks));
        rows.extend(self.reading.list());
        rows.extend(self.knowledge.list());
        rows.extend(self.memory.list());
        rows.extend(self.working.list());
        rows.extend(self.tools.list());
        rows.extend(self.serving.list());
        rows.extend(self.telemetry.list());
        rows.extend(self.run_logs.list());
        rows.extend(self.models.list());
        rows.extend(hooks::list(&self.hooks));
        rows
    }
}

/// Applies the values of one layer.
pub(super) struct LayerMerge<'a> {
    pub(super) layer: &'a SettingsLayer,
    ignored: &'a mut Vec<String>,
}

impl LayerMerge<'_> {
    /// A value that only a trusted source may set.
    pub(super) fn free<T: Clone>(&mut self, name: &str, slot: &mut SettingValue<T>, written: Option<&Spanned<T>>) {
        self.ordered(name, slot, written, |_, _| false);
    }

    /// A value that only the user may set, never a file of a workspace, trusted or not.
    pub(super) fn own<T: Clone>(&mut self, name: &str, slot: &mut SettingValue<T>, written: Option<&Spanned<T>>) {
        match self.layer.origin {
            SettingOrigin::Workspace | SettingOrigin::Stranger if written.is_some() => {
                self.ignored.push(format!("`{name}`, which only your own settings decide"));
            }
            SettingOrigin::Default
            | SettingOrigin::User
            | SettingOrigin::Workspace
            | SettingOrigin::Stranger
            | SettingOrigin::Environment
            | SettingOrigin::Flag => {
                self.ordered(name, slot, written, |_, _| true);
            }
        }
    }

    /// A number with bounds, which an untrusted workspace may only lower.
    pub(super) fn within<T: Copy + PartialOrd + std::fmt::Display>(
        &mut self,
        name: &str,
        bounds: std::ops::RangeInclusive<T>,
        slot: &mut SettingValue<T>,
        written: Option<&Spanned<T>>,
    ) -> Result<(), Fault> {
        if let Some(value) = written.filter(|value| !bounds.contains(value.get_ref())) {
            let place = self.layer.place(value);
            let (least, most) = (bounds.start(), bounds.end());
            return Err(Fault::config(format!(
                "{place}: `{name}` is {}; expected a number from {least} to {most}",
                value.get_ref()
            )));
        }
        self.ordered(name, slot, written, |new, old| new <= old);
        Ok(())
    }

    /// A duration with bounds, which an untrusted workspace may only lower.
    pub(super) fn lasting(
        &mut self,
        name: &str,
        bounds: std::ops::RangeInclusive<Millis>,
        slot: &mut SettingValue<Millis>,
        written: Option<&Spanned<Millis>>,
    ) -> Result<(), Fault> {
        if let Some(value) = written.filter(|value| !bounds.contains(value.get_ref())) {
            let [is, least, most] =
                [value.get_ref(), bounds.start(), bounds.end()].map(|time| time_format::length(*time));
            let place = self.layer.place(value);
            return Err(Fault::config(format!("{place}: `{name}` is {is}; expected from {least} to {most}")));
        }
        self.ordered(name, slot, written, |new, old| new <= old);
        Ok(())
    }

    /// A limit, which an untrusted workspace may only set or lower.
    pub(super) fn limit<T: Copy + PartialOrd>(
        &mut self,
        name: &str,
        slot: &mut SettingValue<Option<T>>,
        written: Option<&Spanned<T>>,
    ) {
        let written = written.map(|value| Spanned::new(value.span(), Some(*value.get_ref())));
        self.ordered(name, slot, written.as_ref(), |new, old| old.is_none() || new <= old);
    }

    /// A value that an untrusted workspace may set only if that is at least as strict as before.
    pub(super) fn ordered<T: Clone>(
        &mut self,
        name: &str,
        slot: &mut SettingValue<T>,
        written: Option<&Spanned<T>>,
        is_stricter: impl Fn(&T, &T) -> bool,
    ) {
        let Some(value) = written else { return };
        if self.layer.origin == SettingOrigin::Stranger && !is_stricter(value.get_ref(), &slot.value) {
            self.ignored.push(format!("`{name}`"));
            return;
        }
        *slot = SettingValue { value: value.get_ref().clone(), from: self.source(value) };
    }

    fn source<T>(&self, value: &Spanned<T>) -> String {
        self.layer.source(value)
    }
}

#[cfg(test)]
mod tests {
    use updraft_run::Cost;

    use super::*;

    fn meant(origin: SettingOrigin, text: &str) -> (EffectiveSettings, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, text).unwrap();
        let mut meant = EffectiveSettings::default();
        let mut ignored = Vec::new();
        meant.take(&SettingsLayer::file(&file, origin).unwrap(), &mut ignored).unwrap();
        (meant, ignored)
    }

    const MIXED: &str = "model = \"openai/gpt-5\"\nturns = 3\nparallel = 500\napprovals = \"allow\"\ndeny = [\"nap\"]\n\
                         [budget]\ncost = 0.5\n[prices.\"a/b\"]\ninput = 1.0\noutput = 2.0\n";

    #[test]
    fn a_stranger_can_only_tighten() {
        let (meant, ignored) = meant(SettingOrigin::Stranger, MIXED);
        assert_eq!(
            (meant.turns.value, meant.parallel.value, meant.budget.cost.value),
            (3, 64, Some(Cost(500_000_000)))
        );
        assert_eq!((meant.model.value.as_str(), meant.approvals.value), ("auto", ApprovalMode::Ask));
        assert_eq!(meant.deny.value, ["nap"]);
        assert_eq!(ignored, ["`model`", "`parallel`", "`approvals`", "the price of a/b"]);
    }

    #[test]
    fn the_user_decides_everything_and_each_value_knows_its_line() {
        let (meant, ignored) = meant(SettingOrigin::User, MIXED);
        assert_eq!((meant.parallel.value, meant.approvals.value), (500, ApprovalMode::Allow));
        assert!(meant.parallel.from.ends_with("config.toml:3"), "{}", meant.parallel.from);
        assert!(ignored.is_empty() && meant.models.prices.contains_key("a/b"));
    }
}
