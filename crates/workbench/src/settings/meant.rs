//! What is meant: every value present, checked, and knowing where it came from.

use toml::Spanned;
use updraft_run::{Approvals, Budget, Millis, Rules as CallRules, Settings as Rules, Think};

use super::layer::Layer;
use super::models::Models;
use super::rules;
use super::sandbox::Confined;
use super::serving::Serving;
use super::spending::Spending;
use super::tools::Tools;
use super::web::Pages;
use crate::fault::Fault;
use crate::moment;

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    User,
    /// A workspace that is trusted.
    Workspace,
    /// A workspace that is not: it can only tighten.
    Stranger,
    Environment,
    Flag,
}

impl Origin {
    pub(super) fn word(self) -> &'static str {
        match self {
            Origin::Default => "default",
            Origin::User => "user",
            Origin::Workspace | Origin::Stranger => "workspace",
            Origin::Environment => "environment",
            Origin::Flag => "flag",
        }
    }
}

/// A value and where it came from.
#[derive(Clone, Debug)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it came from, for people.
    pub from: String,
}

impl<T> Sourced<T> {
    pub(super) fn default_of(value: T) -> Self {
        Self { value, from: Origin::Default.word().into() }
    }

    /// Whether nobody has set it.
    pub(crate) fn is_default(&self) -> bool {
        self.from == Origin::Default.word()
    }
}

/// All settings.
#[derive(Clone, Debug)]
pub struct Meant {
    /// The model, as it was written.
    pub model: Sourced<String>,
    pub(crate) turns: Sourced<u32>,
    pub(crate) query_turns: Sourced<u32>,
    /// The turns of `updraft run --agent`.
    pub(crate) agent_turns: Sourced<u32>,
    pub(crate) parallel: Sourced<u32>,
    pub(crate) revisits: Sourced<u32>,
    pub(crate) replans: Sourced<u32>,
    pub(crate) plan_attempts: Sourced<u32>,
    pub(crate) repeats: Sourced<u32>,
    pub(crate) max_steps: Sourced<u32>,
    pub(crate) compact_at: Sourced<u64>,
    pub(crate) compact_keep: Sourced<u32>,
    pub(crate) max_output: Sourced<u64>,
    /// Who decides about calls that reach beyond workspace and sandbox.
    pub approvals: Sourced<Approvals>,
    /// Tools that no agent gets.
    pub deny: Sourced<Vec<String>>,
    /// What is allowed, asked about and denied.
    pub rules: CallRules,
    /// What a run may spend.
    pub(crate) budget: Spending,
    /// What each of its steps may spend.
    pub(crate) step_budget: Spending,
    /// How much models think.
    pub(crate) think: Sourced<Think>,
    /// How long a model may say nothing before its answer begins.
    pub(crate) silence: Sourced<Millis>,
    /// How long it may say nothing in the midst of an answer.
    pub(crate) stall: Sourced<Millis>,
    /// How long a model that is not available is waited for.
    pub(crate) max_wait: Sourced<Millis>,
    /// Whether `auto` looks for servers on this machine.
    pub(crate) probe: Sourced<bool>,
    /// Whether identical requests are answered from a cache.
    pub(crate) cache: Sourced<bool>,
    pub(crate) models: Models,
    /// Tools of the user's own.
    pub tools: Tools,
    /// Which Python runs agents' code; empty for the first on `PATH`.
    pub(crate) python_program: Sourced<String>,
    /// Whether that code may import installed packages.
    pub(crate) python_packages: Sourced<bool>,
    /// How pages of the web are reached.
    pub(crate) web: Pages,
    /// Conversations of clients, and the bridge.
    pub serving: Serving,
    /// What is logged: a level or a filter.
    pub log: Sourced<String>,
    /// What agents' commands may do.
    pub sandbox: Confined,
    /// Whether what commands change is gathered, so that it can be undone.
    pub(crate) undo_commands: Sourced<bool>,
}

impl Default for Meant {
    fn default() -> Self {
        let rules = Rules::default();
        Self {
            model: Sourced::default_of("auto".into()),
            turns: Sourced::default_of(rules.turns),
            query_turns: Sourced::default_of(rules.query_turns),
            agent_turns: Sourced::default_of(50),
            parallel: Sourced::default_of(rules.parallel),
            revisits: Sourced::default_of(rules.revisits),
            replans: Sourced::default_of(rules.replans),
            plan_attempts: Sourced::default_of(rules.plan_attempts),
            repeats: Sourced::default_of(rules.repeats),
            max_steps: Sourced::default_of(rules.max_steps),
            compact_at: Sourced::default_of(rules.compact_at),
            compact_keep: Sourced::default_of(rules.compact_keep),
            max_output: Sourced::default_of(rules.max_output),
            approvals: Sourced::default_of(Approvals::Ask),
            deny: Sourced::default_of(Vec::new()),
            rules: CallRules::default(),
            budget: Spending::default(),
            step_budget: Spending::default(),
            think: Sourced::default_of(Think::Auto),
            silence: Sourced::default_of(Millis(300_000)),
            stall: Sourced::default_of(Millis(120_000)),
            max_wait: Sourced::default_of(Millis(600_000)),
            probe: Sourced::default_of(true),
            cache: Sourced::default_of(false),
            models: Models::default(),
            tools: Tools::default(),
            python_program: Sourced::default_of(String::new()),
            python_packages: Sourced::default_of(false),
            web: Pages::default(),
            serving: Serving::default(),
            log: Sourced::default_of("info".into()),
            sandbox: Confined::default(),
            undo_commands: Sourced::default_of(true),
        }
    }
}

impl Meant {
    /// Takes over what a layer says; what it may not decide is named in `ignored`.
    pub(crate) fn take(&mut self, layer: &Layer, ignored: &mut Vec<String>) -> Result<(), Fault> {
        let written = &layer.written;
        let mut taking = Taking { layer, ignored };
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
        taking.within("compact_at", 1_000..=10_000_000, &mut self.compact_at, written.compact_at.as_ref())?;
        taking.within("compact_keep", 1..=100, &mut self.compact_keep, written.compact_keep.as_ref())?;
        taking.within("max_output", 1..=1_000_000, &mut self.max_output, written.max_output.as_ref())?;
        if let (Some(mode), Some(_)) = (&written.mode, &written.approvals) {
            let place = layer.place(mode);
            return Err(Fault::config(format!("{place}: `mode` and `approvals` decide the same; keep one of them")));
        }
        taking.ordered("mode", &mut self.approvals, written.mode.as_ref(), |new, old| new >= old);
        taking.ordered("approvals", &mut self.approvals, written.approvals.as_ref(), |new, old| new >= old);
        rules::take(&mut self.rules, layer, taking.ignored)?;
        if let Some(deny) = &written.deny {
            // What one source denies, no other allows.
            self.deny.value.extend(deny.get_ref().iter().cloned());
            self.deny.value.sort();
            self.deny.value.dedup();
            self.deny.from = taking.source(deny);
        }
        self.budget.take("budget", &mut taking, &written.budget);
        self.step_budget.take("step_budget", &mut taking, &written.step_budget);
        if let Some(think) = &written.think {
            let Some(meant) = Think::parse(think.get_ref()) else {
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
        self.web.take(&mut taking, &written.web)?;
        self.tools.take(&mut taking, &written.tools)?;
        self.serving.take(&mut taking, written)?;
        self.models.take(layer, taking.ignored)?;
        self.sandbox.take(layer, taking.ignored)?;
        let python = &written.python;
        taking.free("python.program", &mut self.python_program, python.program.as_ref());
        taking.free("python.packages", &mut self.python_packages, python.packages.as_ref());
        taking.free("log.level", &mut self.log, written.log.level.as_ref());
        taking.free("undo.commands", &mut self.undo_commands, written.undo.commands.as_ref());
        Ok(())
    }

    /// Forgets interpreters that are named by their place in the workspace: what is there is a stranger's.
    pub(super) fn leave_relative_programs(&mut self, ignored: &mut Vec<String>) {
        for (name, slot) in [("tools.python", &mut self.tools.python), ("python.program", &mut self.python_program)] {
            if slot.value.contains('/') && !std::path::Path::new(&slot.value).is_absolute() {
                ignored.push(format!("`{name}`, which is in the workspace"));
                *slot = Sourced::default_of(String::new());
            }
        }
    }

    /// The rules a run begins with. Model and workspace are filled in by whoever chose them.
    pub fn rules(&self) -> Rules {
        Rules {
            turns: self.turns.value,
            query_turns: self.query_turns.value,
            parallel: self.parallel.value,
            revisits: self.revisits.value,
            replans: self.replans.value,
            plan_attempts: self.plan_attempts.value,
            repeats: self.repeats.value,
            max_steps: self.max_steps.value,
            compact_at: self.compact_at.value,
            compact_keep: self.compact_keep.value,
            max_output: self.max_output.value,
            approvals: self.approvals.value,
            deny: self.deny.value.clone(),
            rules: self.rules.clone(),
            step_budget: self.step_budget.budget(),
            think: self.think.value,
            ..Rules::default()
        }
    }

    /// What a run may spend.
    pub fn budget(&self) -> Budget {
        self.budget.budget()
    }

    /// Every setting: name, value as TOML, where it came from.
    pub fn list(&self) -> Vec<(String, String, String)> {
        fn row<T>(name: &str, sourced: &Sourced<T>, value: impl Fn(&T) -> String) -> (String, String, String) {
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
            row("compact_at", &self.compact_at, ToString::to_string),
            row("compact_keep", &self.compact_keep, ToString::to_string),
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
        rows.extend(self.web.list());
        rows.extend(self.tools.list());
        rows.extend(self.serving.list());
        rows.extend(self.models.list());
        rows
    }
}

/// Taking over the values of one layer.
pub(super) struct Taking<'a> {
    pub(super) layer: &'a Layer,
    ignored: &'a mut Vec<String>,
}

impl Taking<'_> {
    /// A value that only a trusted source may decide.
    pub(super) fn free<T: Clone>(&mut self, name: &str, slot: &mut Sourced<T>, written: Option<&Spanned<T>>) {
        self.ordered(name, slot, written, |_, _| false);
    }

    /// A value that only the user decides, never a file of a workspace, trusted or not.
    pub(super) fn own<T: Clone>(&mut self, name: &str, slot: &mut Sourced<T>, written: Option<&Spanned<T>>) {
        match self.layer.origin {
            Origin::Workspace | Origin::Stranger if written.is_some() => {
                self.ignored.push(format!("`{name}`, which only your own settings decide"));
            }
            Origin::Default
            | Origin::User
            | Origin::Workspace
            | Origin::Stranger
            | Origin::Environment
            | Origin::Flag => {
                self.ordered(name, slot, written, |_, _| true);
            }
        }
    }

    /// A number within bounds, which a stranger may only lower.
    pub(super) fn within<T: Copy + PartialOrd + std::fmt::Display>(
        &mut self,
        name: &str,
        bounds: std::ops::RangeInclusive<T>,
        slot: &mut Sourced<T>,
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

    /// A length of time within bounds, which a stranger may only lower.
    pub(super) fn lasting(
        &mut self,
        name: &str,
        bounds: std::ops::RangeInclusive<Millis>,
        slot: &mut Sourced<Millis>,
        written: Option<&Spanned<Millis>>,
    ) -> Result<(), Fault> {
        if let Some(value) = written.filter(|value| !bounds.contains(value.get_ref())) {
            let [is, least, most] = [value.get_ref(), bounds.start(), bounds.end()].map(|time| moment::length(*time));
            let place = self.layer.place(value);
            return Err(Fault::config(format!("{place}: `{name}` is {is}; expected from {least} to {most}")));
        }
        self.ordered(name, slot, written, |new, old| new <= old);
        Ok(())
    }

    /// A limit, which a stranger may only set or lower.
    pub(super) fn limit<T: Copy + PartialOrd>(
        &mut self,
        name: &str,
        slot: &mut Sourced<Option<T>>,
        written: Option<&Spanned<T>>,
    ) {
        let written = written.map(|value| Spanned::new(value.span(), Some(*value.get_ref())));
        self.ordered(name, slot, written.as_ref(), |new, old| old.is_none() || new <= old);
    }

    /// A value that a stranger may decide only where it is no laxer than what was there.
    pub(super) fn ordered<T: Clone>(
        &mut self,
        name: &str,
        slot: &mut Sourced<T>,
        written: Option<&Spanned<T>>,
        is_stricter: impl Fn(&T, &T) -> bool,
    ) {
        let Some(value) = written else { return };
        if self.layer.origin == Origin::Stranger && !is_stricter(value.get_ref(), &slot.value) {
            self.ignored.push(format!("`{name}`"));
            return;
        }
        *slot = Sourced { value: value.get_ref().clone(), from: self.source(value) };
    }

    fn source<T>(&self, value: &Spanned<T>) -> String {
        self.layer.source(value)
    }
}

#[cfg(test)]
mod tests {
    use updraft_run::Cost;

    use super::*;

    fn meant(origin: Origin, text: &str) -> (Meant, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, text).unwrap();
        let mut meant = Meant::default();
        let mut ignored = Vec::new();
        meant.take(&Layer::file(&file, origin).unwrap(), &mut ignored).unwrap();
        (meant, ignored)
    }

    const MIXED: &str = "model = \"openai/gpt-5\"\nturns = 3\nparallel = 500\napprovals = \"allow\"\ndeny = [\"nap\"]\n\
                         [budget]\ncost = 0.5\n[prices.\"a/b\"]\ninput = 1.0\noutput = 2.0\n";

    #[test]
    fn a_stranger_can_only_tighten() {
        let (meant, ignored) = meant(Origin::Stranger, MIXED);
        assert_eq!(
            (meant.turns.value, meant.parallel.value, meant.budget.cost.value),
            (3, 64, Some(Cost(500_000_000)))
        );
        assert_eq!((meant.model.value.as_str(), meant.approvals.value), ("auto", Approvals::Ask));
        assert_eq!(meant.deny.value, ["nap"]);
        assert_eq!(ignored, ["`model`", "`parallel`", "`approvals`", "the price of a/b"]);
    }

    #[test]
    fn the_user_decides_everything_and_each_value_knows_its_line() {
        let (meant, ignored) = meant(Origin::User, MIXED);
        assert_eq!((meant.parallel.value, meant.approvals.value), (500, Approvals::Allow));
        assert!(meant.parallel.from.ends_with("config.toml:3"), "{}", meant.parallel.from);
        assert!(ignored.is_empty() && meant.models.prices.contains_key("a/b"));
    }
}
