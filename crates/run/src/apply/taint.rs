//! Recording where words from outside went: into steps, and through what those write into files.

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

/// Changed files that are kept apart; with more, the whole workspace counts.
const MOST_FILES: usize = 1000;

/// The files, and folders of files, whose text every step is told.
pub const DOCUMENTS: [&str; 2] = ["AGENTS.md", ".context"];

impl Run {
    /// The first message of a visit is made of the goal, variables, the profile of the files, and what earlier steps gave;
    /// beside it stand the definitions of the agent's tools.
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
            // What it found in the files handed over is told to everyone.
            let distiller = self.step(&StepId::known("distill")).filter(|step| step.role == StepRole::Distill);
            if let Some(distiller) = distiller {
                read.merge(&distiller.origins);
            }
        }
        self.steps[at].origins.merge(&read);
    }

    /// Tools are others from here on: whoever is at work is shown their definitions with the next question.
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

    /// Where the definitions of a step's tools come from, if that is outside.
    fn definitions_read(&self, at: usize) -> Origins {
        let mut read = Origins::default();
        let tools = self.card(&self.steps[at].spec.agent).into_iter().flat_map(|card| &card.tools);
        tools.filter_map(|tool| self.settings.strange_tools.get(tool)).for_each(|place| read.add(place));
        read
    }

    /// The context names the files of the workspace, and holds some of its documents.
    pub(super) fn context_is_read(&mut self, id: &EffectAddress, documents: bool) {
        let Some(at) = self.places.get(&id.step).copied() else { return };
        if documents && !self.settings.workspace_trusted {
            self.steps[at].origins.add(STRANGE_WORKSPACE);
        }
        for origins in self.tainted.values().chain(self.roaming.values()) {
            self.steps[at].origins.merge(origins);
        }
        // What another run wrote is read where its text is told; the names of files, anyone may choose.
        let is_told = |path: &str| documents && DOCUMENTS.iter().any(|document| paths_meet(document, path));
        for (_, origins) in self.marked.iter().filter(|(path, _)| is_told(path)) {
            self.steps[at].origins.merge(origins);
        }
    }

    /// Other runs wrote words from outside to these files.
    pub(super) fn is_marked(&mut self, files: &BTreeMap<String, Origins>) {
        for (path, origins) in files {
            let origins = self.still_strange(origins);
            if !origins.is_empty() {
                self.marked.entry(path.clone()).or_default().merge(&origins);
            }
        }
    }

    /// What is about to be written with words from outside counts as theirs before anyone can read it.
    pub(super) fn call_may_write(&mut self, at: usize, id: &EffectAddress) {
        let Some(prepared) = self.prepared_at(id).cloned() else { return };
        let origins = self.origins_around(&self.steps[at], &prepared);
        if prepared.lists_changes && prepared.roams() {
            self.roaming.entry(id.clone()).or_default().merge(&origins);
        } else {
            self.taint(&prepared, Some(&[]), &origins);
        }
        if prepared.roams() {
            // Code can read before it calls, so what it calls is judged by all that it could have read.
            self.steps[at].origins = origins;
        }
    }

    /// A call has replied: its step reads what it gave, and what it changed is made of what it knew.
    pub(super) fn reply_is_read(&mut self, at: usize, id: &EffectAddress, reply: &Reply) {
        self.roaming.remove(id);
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
            // Of what went wrong, those outside may have chosen the words.
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
        self.taint(&prepared, listed(reply).as_deref(), &origins);
        self.steps[at].origins = origins;
        if let Some(outer) = id.outer() {
            // From here on the code that called may write it anywhere.
            self.call_may_write(at, &outer);
        }
    }

    /// What a call that reached outside brought back came from there, whoever marks it or not.
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

    /// What a call changed, as far as that was listed, is made of these words.
    fn taint(&mut self, prepared: &PreparedCall, changed: Option<&[&str]>, origins: &Origins) {
        if origins.is_empty() || !prepared.changes() {
            return;
        }
        let is_listed = prepared.lists_changes && changed.is_some();
        let changed = changed.unwrap_or_default();
        let too_many = changed.len() > MOST_FILES || self.tainted.len() > MOST_FILES;
        let named = prepared.writes.iter().map(String::as_str).chain(changed.iter().copied());
        let anywhere = too_many || (prepared.roams() && !is_listed);
        let paths: Vec<&str> = if anywhere { vec!["."] } else { named.collect() };
        for path in paths {
            self.tainted.entry(path.to_owned()).or_default().merge(origins);
        }
    }

    /// All that is known so far was written by whoever made the file.
    pub(super) fn imported(&mut self) {
        self.is_imported = true;
        self.users_words.clear();
        if self.phase == RunPhase::Running {
            self.phase = RunPhase::Paused;
        }
        self.steps.iter_mut().for_each(|step| step.origins.add(IMPORTED));
        self.variables.values_mut().for_each(|variable| variable.origins.add(IMPORTED));
    }

    /// Keeps what a person allowed for good.
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
    /// Where the words came from that anything in this run is made of, its answer included.
    pub fn origins(&self) -> Origins {
        let mut origins = self.goal.origins.clone();
        self.steps.iter().for_each(|step| origins.merge(&step.origins));
        self.variables.values().for_each(|variable| origins.merge(&variable.origins));
        origins
    }

    /// Where the words came from that a step has read, or that a call of it would read.
    pub(crate) fn origins_around(&self, step: &Step, prepared: &PreparedCall) -> Origins {
        let mut origins = step.origins.clone();
        origins.merge(&self.origins_of_files(prepared));
        origins
    }

    /// Where the words came from in the files that a call reads.
    fn origins_of_files(&self, prepared: &PreparedCall) -> Origins {
        let mut origins = Origins::default();
        let reads_files = prepared.roams() || !prepared.reads.is_empty();
        if reads_files && !self.settings.workspace_trusted {
            origins.add(STRANGE_WORKSPACE);
        }
        for (path, tainted) in self.tainted.iter().chain(&self.marked).filter(|_| reads_files) {
            if prepared.roams() || prepared.reads.iter().any(|read| paths_meet(read, path)) {
                origins.merge(tainted);
            }
        }
        self.roaming.values().filter(|_| reads_files).for_each(|around| origins.merge(around));
        origins
    }

    /// Why a call that was allowed may no longer begin: by now a file that it reads holds words that could misuse it, and
    /// that nobody weighed. What its own step has read since does not matter: its arguments are older.
    pub fn outdated(&self, id: &EffectAddress) -> Option<Failure> {
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

    /// Whether a document of the workspace holds nobody's words but the user's.
    pub fn is_users_document(&self, path: &str) -> bool {
        let mut written = self.tainted.keys().chain(self.marked.keys());
        self.settings.workspace_trusted && self.roaming().is_empty() && !written.any(|other| paths_meet(other, path))
    }

    /// What of a mark counts. What was written with words of this workspace's files is as much the user's as they are.
    fn still_strange(&self, origins: &Origins) -> Origins {
        if self.settings.workspace_trusted { origins.without(STRANGE_WORKSPACE) } else { origins.clone() }
    }

    /// Whether a run does not know yet all that these files hold.
    pub(crate) fn are_news(&self, files: &BTreeMap<String, Origins>) -> bool {
        files.iter().any(|(path, origins)| self.is_news(path, origins))
    }

    /// Whether a run does not know yet that words from these places are in a file.
    pub fn is_news(&self, path: &str, origins: &Origins) -> bool {
        let known = self.marked.get(path).map(Origins::names).unwrap_or_default();
        !self.still_strange(origins).are_within(known)
    }
}

/// Whether what a call gives back comes from outside, whoever marks it or not. A write of files that it names brings
/// nothing in, even where what it writes can carry something out later; and a model that the user has set up is no
/// stranger: what it says is made of what it was asked.
fn reads_outside(prepared: &PreparedCall) -> bool {
    let reaches = !prepared.hosts.is_empty() || (prepared.sends && prepared.writes.is_empty());
    reaches && prepared.model.is_none()
}

/// The files that a call says it has written; nothing, if that may not be all of them. A list that was cut says that there is
/// more, not what.
fn listed(reply: &Reply) -> Option<Vec<&str>> {
    let Reply::Output(output) = reply else { return None };
    let is_whole = output.all_changes.is_none() && output.unlisted.is_none() && output.more.is_none();
    let was_there = |change: &&FileChange| change.was.is_some() || change.before.is_some();
    let is_gone = |change: &&FileChange| was_there(change) && change.now.is_none() && change.after.is_none();
    let written = output.changes.iter().filter(|change| !is_gone(change));
    is_whole.then(|| written.map(|change| change.path.as_str()).collect())
}

/// Whether one of two paths is the other, or a folder that holds it; `.` holds everything.
pub fn paths_meet(one: &str, other: &str) -> bool {
    let holds = |folder: &str, path: &str| {
        folder == "." || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    holds(one, other) || holds(other, one)
}

/// The origins of a variable. Journals of before names were kept only say that there were some.
pub(super) fn named(untrusted: bool, origins: &Origins) -> Origins {
    if untrusted && origins.is_empty() { Origins::of(UNNAMED) } else { origins.clone() }
}
