//! Recording where words from outside went: into steps, and through what those write into files.

use crate::effect::{Effect, Prepared};
use crate::id::{Address, StepId};
use crate::origins::{IMPORTED, Origins, STRANGE_WORKSPACE, UNNAMED};
use crate::reply::{Reply, Verdict};
use crate::rules::Rule;
use crate::state::{Phase, Run};
use crate::step::{Role, Step};

/// Changed files that are kept apart; with more, the whole workspace counts.
const MOST_FILES: usize = 1000;

impl Run {
    /// The first message of a visit is made of variables, the profile of the files, and what earlier steps gave; beside
    /// it stand the definitions of the agent's tools.
    pub(super) fn opening_is_read(&mut self, at: usize) {
        let step = &self.steps[at];
        let mut read = Origins::default();
        let inputs = step.opening.iter().flat_map(|opening| &opening.inputs);
        for variable in inputs.filter_map(|(name, _)| self.variables.get(name)) {
            read.merge(&variable.origins);
        }
        for before in step.spec.after.iter().filter_map(|id| self.step(id)) {
            read.merge(&before.origins);
        }
        let tools = self.card(&step.spec.agent).into_iter().flat_map(|card| &card.tools);
        tools.filter_map(|tool| self.settings.strange_tools.get(tool)).for_each(|place| read.add(place));
        if step.role == Role::Plan {
            // What it found is told to nobody else.
            let distiller = self.step(&StepId::known("distill")).filter(|step| step.role == Role::Distill);
            if let Some(distiller) = distiller {
                read.merge(&distiller.origins);
            }
        }
        self.steps[at].origins.merge(&read);
    }

    /// The context names the files of the workspace, and holds some of its documents.
    pub(super) fn context_is_read(&mut self, id: &Address, documents: bool) {
        let Some(at) = self.places.get(&id.step).copied() else { return };
        if documents && !self.settings.workspace_trusted {
            self.steps[at].origins.add(STRANGE_WORKSPACE);
        }
        for origins in self.tainted.values() {
            self.steps[at].origins.merge(origins);
        }
    }

    /// What is about to be written with words from outside counts as theirs before anyone can read it.
    pub(super) fn call_may_write(&mut self, at: usize, id: &Address) {
        let Some(prepared) = self.prepared_at(id).cloned() else { return };
        let origins = self.origins_around(&self.steps[at], &prepared);
        self.taint(&prepared, &[], &origins);
        if prepared.roams() {
            // Code can read before it calls, so what it calls is judged by all that it could have read.
            self.steps[at].origins = origins;
        }
    }

    /// A call has replied: its step reads what it gave, and what it changed is made of what it knew.
    pub(super) fn reply_is_read(&mut self, at: usize, id: &Address, reply: &Reply) {
        let prepared = self.prepared_at(id).cloned().unwrap_or_default();
        let mut origins = self.origins_around(&self.steps[at], &prepared);
        let is_outside = reads_outside(&prepared);
        let brought = match reply {
            Reply::Output(output) if !output.origins.is_empty() => {
                let mut named = Origins::default();
                output.origins.iter().for_each(|place| named.add(place));
                named
            }
            Reply::Output(output) if output.untrusted || is_outside => self.places_of(id, &prepared),
            Reply::Failed(_) if is_outside => self.places_of(id, &prepared),
            Reply::Output(_)
            | Reply::Failed(_)
            | Reply::Answer(_)
            | Reply::Said(_)
            | Reply::Verdict(_)
            | Reply::TimedOut { .. }
            | Reply::Cancelled
            | Reply::InDoubt { .. } => Origins::default(),
        };
        origins.merge(&brought);
        let changed = if let Reply::Output(output) = reply { output.changes.as_slice() } else { &[] };
        let changed: Vec<&str> = changed.iter().map(|change| change.path.as_str()).collect();
        self.taint(&prepared, &changed, &origins);
        self.steps[at].origins = origins;
        if let Some(outer) = id.outer() {
            // From here on the code that called may write it anywhere.
            self.call_may_write(at, &outer);
        }
    }

    /// What a call that reached outside brought back came from there, whoever marks it or not.
    fn places_of(&self, id: &Address, prepared: &Prepared) -> Origins {
        let mut places = Origins::default();
        prepared.hosts.iter().for_each(|host| places.add(host));
        if places.is_empty() {
            let call = self.call_at(id).map(|call| format!("what `{}` reached outside", call.name));
            places.add(call.as_deref().unwrap_or(UNNAMED));
        }
        places
    }

    fn taint(&mut self, prepared: &Prepared, changed: &[&str], origins: &Origins) {
        if origins.is_empty() || !prepared.changes() {
            return;
        }
        let anywhere = (prepared.roams() && !prepared.lists_changes) || self.tainted.len() > MOST_FILES;
        let named = prepared.writes.iter().map(String::as_str).chain(changed.iter().copied());
        let paths: Vec<&str> = if anywhere || changed.len() > MOST_FILES { vec!["."] } else { named.collect() };
        for path in paths {
            self.tainted.entry(path.to_owned()).or_default().merge(origins);
        }
    }

    /// All that is known so far was written by whoever made the file.
    pub(super) fn imported(&mut self) {
        self.is_imported = true;
        if self.phase == Phase::Running {
            self.phase = Phase::Paused;
        }
        self.steps.iter_mut().for_each(|step| step.origins.add(IMPORTED));
        self.variables.values_mut().for_each(|variable| variable.origins.add(IMPORTED));
    }

    /// Keeps what a person allowed for good.
    pub(super) fn remember(&mut self, effect: &Effect, verdict: &Verdict) {
        let Effect::Approval { always, .. } = effect else { return };
        if !verdict.allow || verdict.always.is_none() {
            return;
        }
        for rule in always.iter().filter_map(|rule| Rule::parse(rule, "always, in this run").ok()) {
            if !self.remembered.contains(&rule) {
                self.remembered.push(rule);
            }
        }
    }
}

impl Run {
    /// Where the words came from that a step has read, or that a call of it would read.
    pub(crate) fn origins_around(&self, step: &Step, prepared: &Prepared) -> Origins {
        let mut origins = step.origins.clone();
        let reads_files = prepared.roams() || !prepared.reads.is_empty();
        if reads_files && !self.settings.workspace_trusted {
            origins.add(STRANGE_WORKSPACE);
        }
        for (path, tainted) in self.tainted.iter().filter(|_| reads_files) {
            if prepared.roams() || prepared.reads.iter().any(|read| meet(read, path)) {
                origins.merge(tainted);
            }
        }
        origins
    }
}

/// Whether what a call gives back comes from outside, whoever marks it or not. A write of files that it names brings
/// nothing in, even where what it writes can carry something out later; and a model that the user has set up is no
/// stranger: what it says is made of what it was asked.
fn reads_outside(prepared: &Prepared) -> bool {
    let reaches = !prepared.hosts.is_empty() || (prepared.sends && prepared.writes.is_empty());
    reaches && prepared.model.is_none()
}

/// Whether one of two paths is the other, or a folder that holds it.
fn meet(one: &str, other: &str) -> bool {
    let holds = |folder: &str, path: &str| {
        folder == "." || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    holds(one, other) || holds(other, one)
}

/// The origins of a variable. Journals of before names were kept only say that there were some.
pub(super) fn named(untrusted: bool, origins: &Origins) -> Origins {
    if untrusted && origins.is_empty() { Origins::of(UNNAMED) } else { origins.clone() }
}
