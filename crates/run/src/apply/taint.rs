//! Tracks where text from outside goes: into steps, and from there into the files that steps write.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::effect::{Effect, PreparedCall};
use crate::goal::Roster;
use crate::id::{EffectAddress, EffectKind, StepId};
use crate::origins::{ALLOWED_HOST, IMPORTED, Origins, REGISTRY, STRANGE_WORKSPACE, UNNAMED};
use crate::reply::{Failure, FailureKind, FileChange, Reply, Verdict};
use crate::rules::Rule;
use crate::sentences;
use crate::state::{Run, RunPhase};
use crate::step::{Step, StepRole};

/// How many changed files are tracked separately; beyond this, the whole workspace counts as changed.
const MOST_FILES: usize = 1000;

/// The files and folders whose text every step is shown.
pub const DOCUMENTS: [&str; 2] = ["AGENTS.md", ".context"];

impl Run {
    /// A step reads the first message of its visit: the goal, variables, the profile of the files, and the results of
    /// earlier steps. It also reads the definitions of its agent's tools.
    pub(super) fn opening_is_read(&mut self, at: usize) {
        let step = &self.steps[at];
        let mut read = self.still_strange(&self.goal.origins);
        let inputs = step.opening.iter().flat_map(|opening| &opening.inputs);
        for variable in inputs.filter_map(|(name, _)| self.variables.get(name)) {
            read.merge(&variable.origins);
        }
        for before in self.before(step) {
            read.merge(&before.origins);
        }
        read.merge(&self.definitions_read(at));
        if step.role != StepRole::Distill {
            // The profile of the given files is shown to every step.
            let distiller = self.step(&StepId::known("distill")).filter(|step| step.role == StepRole::Distill);
            if let Some(distiller) = distiller {
                read.merge(&distiller.origins);
            }
        }
        self.steps[at].origins.merge(&read);
    }

    /// The tools have changed. Every step at work is shown the new definitions with its next question.
    pub(super) fn reloaded(&mut self, roster: &Arc<Roster>, strange: Option<&BTreeMap<String, String>>) {
        self.roster = roster.clone();
        let Some(strange) = strange else { return };
        Arc::make_mut(&mut self.settings).strange_tools.clone_from(strange);
        for at in 0..self.steps.len() {
            if self.steps[at].is_at_work() {
                let words = self.definitions_read(at);
                self.steps[at].origins.merge(&words);
            }
        }
    }

    /// The origins of a step's tool definitions that come from outside.
    fn definitions_read(&self, at: usize) -> Origins {
        let mut read = Origins::default();
        let tools = self.card(&self.steps[at].spec.agent).into_iter().flat_map(|card| &card.tools);
        tools.filter_map(|tool| self.settings.strange_tools.get(tool)).for_each(|place| read.add(place));
        read
    }

    /// A step reads the context: the names of files in the workspace, and some documents.
    pub(super) fn context_is_read(&mut self, id: &EffectAddress, documents: bool) {
        let Some(at) = self.step_index.get(&id.step).copied() else { return };
        if documents && !self.settings.workspace_trusted {
            self.steps[at].origins.add(STRANGE_WORKSPACE);
        }
        for origins in self.tainted.values().chain(self.unlisted_writers.values()) {
            self.steps[at].origins.merge(origins);
        }
        // Text from another run counts as read if the document is shown. File names can be chosen by anyone.
        let is_told = |path: &str| documents && DOCUMENTS.iter().any(|document| paths_meet(document, path));
        for (_, origins) in self.marked.iter().filter(|(path, _)| is_told(path)) {
            self.steps[at].origins.merge(origins);
        }
    }

    /// Other runs wrote text from outside to these files.
    pub(super) fn add_marks(&mut self, files: &BTreeMap<String, Origins>) {
        for (path, origins) in files {
            let origins = self.still_strange(origins);
            if !origins.is_empty() {
                self.marked.entry(path.clone()).or_default().merge(&origins);
            }
        }
    }

    /// What a call is about to write counts as tainted before anyone can read it.
    pub(super) fn call_may_write(&mut self, at: usize, id: &EffectAddress) {
        let Some(prepared) = self.prepared_at(id).cloned() else { return };
        let origins = self.origins_around(&self.steps[at], &prepared);
        if self.is_in_copy(&id.step) {
            // Nobody else reads the copy. What is applied to the workspace is written by the step that chooses.
            self.steps[at].origins.merge(&origins);
            return;
        }
        if prepared.lists_changes && prepared.may_touch_any_file() {
            self.unlisted_writers.entry(id.clone()).or_default().merge(&origins);
        } else {
            self.taint(&prepared, Some(&[]), &origins);
        }
        if prepared.may_touch_any_file() {
            // Code can read files before it makes calls, so its calls are judged by everything it could have read.
            self.steps[at].origins = origins;
        }
    }

    /// A background command may be told anything that its step knows, and write it to any file.
    fn taint_by_background(&mut self, at: usize, origins: &Origins) {
        let step = &self.steps[at];
        if step.background.is_empty() || origins.is_empty() || self.is_in_copy(&step.spec.id) {
            return;
        }
        self.tainted.entry(".".to_owned()).or_default().merge(origins);
    }

    /// A call has replied: its step reads the output, and the files it changed carry the origins in its context.
    pub(super) fn reply_is_read(&mut self, at: usize, id: &EffectAddress, reply: &Reply) {
        self.unlisted_writers.remove(id);
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
            // The text of an error may have been chosen by someone outside.
            Reply::Failed(_) | Reply::InDoubt { .. } if is_outside => self.places_of(id, &prepared),
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
        if !self.is_in_copy(&id.step) {
            self.taint(&prepared, listed(reply).as_deref(), &origins);
        }
        self.taint_by_background(at, &origins);
        self.steps[at].origins = origins;
        if let Some(outer) = id.outer() {
            // From here on, the code that made the call may write this text anywhere.
            self.call_may_write(at, &outer);
        }
    }

    /// What a call that reached outside returned comes from there, whether or not the tool says so.
    fn places_of(&self, id: &EffectAddress, prepared: &PreparedCall) -> Origins {
        let mut places = Origins::default();
        for host in &prepared.hosts {
            if prepared.granted { places.add(&format!("{ALLOWED_HOST}{host}")) } else { places.add(host) }
        }
        if places.is_empty() && prepared.granted && prepared.installs {
            places.add(REGISTRY);
        }
        if places.is_empty() {
            let call = self.call_at(id).map(|call| format!("what `{}` got from the network", call.name));
            places.add(call.as_deref().unwrap_or(UNNAMED));
        }
        places
    }

    /// The files a call changed, as far as they were listed, carry these origins.
    fn taint(&mut self, prepared: &PreparedCall, changed: Option<&[&str]>, origins: &Origins) {
        if origins.is_empty() || !prepared.changes() {
            return;
        }
        let is_listed = prepared.lists_changes && changed.is_some();
        let changed = changed.unwrap_or_default();
        let too_many = changed.len() > MOST_FILES || self.tainted.len() > MOST_FILES;
        let named = prepared.writes.iter().map(String::as_str).chain(changed.iter().copied());
        let anywhere = too_many || (prepared.may_touch_any_file() && !is_listed);
        let paths: Vec<&str> = if anywhere { vec!["."] } else { named.collect() };
        for path in paths {
            self.tainted.entry(path.to_owned()).or_default().merge(origins);
        }
    }

    /// Everything so far was written by the author of the file.
    pub(super) fn imported(&mut self) {
        self.is_imported = true;
        self.users_words.clear();
        if self.phase == RunPhase::Running {
            self.phase = RunPhase::Paused;
        }
        self.steps.iter_mut().for_each(|step| step.origins.add(IMPORTED));
        self.variables.values_mut().for_each(|variable| variable.origins.add(IMPORTED));
    }

    /// Keeps what a person allowed with "always".
    pub(super) fn remember(&mut self, effect: &Effect, verdict: &Verdict) {
        let Effect::Approval { always, like, origins, .. } = effect else { return };
        if !verdict.allow || verdict.always.is_none() {
            return;
        }
        self.agreed.extend(like.as_deref().map(|like| (like.clone(), origins.clone())));
        for rule in always.iter().filter_map(|rule| Rule::parse(rule, "always, in this run").ok()) {
            if !self.remembered.contains(&rule) {
                self.remembered.push(rule);
            }
        }
    }
}

impl Run {
    /// The origins of everything in this run, its answer included.
    pub fn origins(&self) -> Origins {
        let mut origins = self.goal.origins.clone();
        self.steps.iter().for_each(|step| origins.merge(&step.origins));
        self.variables.values().for_each(|variable| origins.merge(&variable.origins));
        origins
    }

    /// The origins that a step has read, or that a call of the step would read.
    pub(crate) fn origins_around(&self, step: &Step, prepared: &PreparedCall) -> Origins {
        let mut origins = step.origins.clone();
        if prepared.lasts && !self.settings.workspace_trusted {
            // Every prompt lists names of files, and what is kept is told in other workspaces too.
            origins.add(STRANGE_WORKSPACE);
        }
        origins.merge(&self.origins_of_files(prepared));
        origins
    }

    /// The origins of what a call keeps for later runs, also of other workspaces: none if every word of it is the user's
    /// own.
    pub fn origins_kept_by(&self, id: &EffectAddress) -> Origins {
        let (Some(step), Some(prepared)) = (self.step(&id.step), self.prepared_at(id)) else {
            return Origins::of(UNNAMED);
        };
        let is_own = self.call_at(id).is_some_and(|call| self.is_users_own(&call, prepared));
        if is_own {
            return Origins::default();
        }
        self.origins_around(step, prepared).outside_of(&self.settings.workspace)
    }

    /// The origins in the files that a call reads.
    fn origins_of_files(&self, prepared: &PreparedCall) -> Origins {
        let mut origins = Origins::default();
        let reads_files = prepared.may_touch_any_file() || !prepared.reads.is_empty();
        if reads_files && !self.settings.workspace_trusted {
            origins.add(STRANGE_WORKSPACE);
        }
        for (path, tainted) in self.tainted.iter().chain(&self.marked).filter(|_| reads_files) {
            if prepared.may_touch_any_file() || prepared.reads.iter().any(|read| paths_meet(read, path)) {
                origins.merge(tainted);
            }
        }
        self.unlisted_writers.values().filter(|_| reads_files).for_each(|around| origins.merge(around));
        origins
    }

    /// Why a call that was allowed may no longer begin: a file that it reads now contains text that could misuse it and
    /// that was not considered when it was allowed. What the step itself has read since does not matter, because the
    /// arguments are older.
    pub fn stale_approval(&self, id: &EffectAddress) -> Option<Failure> {
        let open = self.open.get(id).filter(|open| open.effect == Effect::Call && id.kind == EffectKind::Call)?;
        let prepared = self.prepared_at(id)?;
        let origins = self.origins_of_files(prepared);
        let call = self.call_at(id)?;
        if self.is_users_own(&call, prepared) || self.is_agreed_to(&call, prepared, &origins) {
            return None;
        }
        let why = || sentences::injection_since(&origins);
        let unseen = origins.could_misuse(prepared) && !origins.are_within(open.allowed_with.names());
        unseen.then(|| Failure::new(FailureKind::Security, why()))
    }

    /// Whether a document of the workspace contains only the user's own text.
    pub fn is_users_document(&self, path: &str) -> bool {
        let mut written = self.tainted.keys().chain(self.marked.keys());
        self.settings.workspace_trusted
            && self.unlisted_origins().is_empty()
            && !written.any(|other| paths_meet(other, path))
    }

    /// The part of a mark that counts. In a trusted workspace, text from its own files counts as the user's.
    fn still_strange(&self, origins: &Origins) -> Origins {
        if self.settings.workspace_trusted { origins.without(STRANGE_WORKSPACE) } else { origins.clone() }
    }

    /// Whether these marks tell the run something it does not know yet.
    pub(crate) fn has_new_marks(&self, files: &BTreeMap<String, Origins>) -> bool {
        files.iter().any(|(path, origins)| self.is_news(path, origins))
    }

    /// Whether the run does not know yet that a file contains text from these origins.
    pub fn is_news(&self, path: &str, origins: &Origins) -> bool {
        let known = self.marked.get(path).map(Origins::names).unwrap_or_default();
        !self.still_strange(origins).are_within(known)
    }
}

/// Whether the output of a call comes from outside, whether or not the tool says so. A write to files that the call
/// names brings nothing in, even if the written file can send something out later. A model that the user has set up is
/// not outside: its answer is derived from what it was asked.
fn reads_outside(prepared: &PreparedCall) -> bool {
    let reaches = !prepared.hosts.is_empty() || (prepared.sends && prepared.writes.is_empty());
    reaches && prepared.model.is_none()
}

/// The files that a call says it has written. Returns `None` if the list may be incomplete: a list that was cut says
/// that there is more, but not what.
fn listed(reply: &Reply) -> Option<Vec<&str>> {
    let Reply::Output(output) = reply else { return None };
    let is_whole = output.all_changes.is_none() && output.unlisted.is_none() && output.more.is_none();
    let was_there = |change: &&FileChange| change.was.is_some() || change.before.is_some();
    let is_gone = |change: &&FileChange| was_there(change) && change.now.is_none() && change.after.is_none();
    let written = output.changes.iter().filter(|change| !is_gone(change));
    is_whole.then(|| written.map(|change| change.path.as_str()).collect())
}

/// Whether two paths are equal or one is a folder that contains the other; `.` contains everything.
pub fn paths_meet(one: &str, other: &str) -> bool {
    let holds = |folder: &str, path: &str| {
        folder == "." || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    holds(one, other) || holds(other, one)
}

/// The origins of a variable. Journals from before origins were named only say that there were some.
pub(super) fn named(untrusted: bool, origins: &Origins) -> Origins {
    if untrusted && origins.is_empty() { Origins::of(UNNAMED) } else { origins.clone() }
}
