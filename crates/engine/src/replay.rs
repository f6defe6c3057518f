//! Replays a run: the recorded inputs are decided again, every event is compared, and every prompt is built again.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use updraft_journal::Journal;
use updraft_run::{ContentHash, EffectAddress, EffectFacts, EffectKind, Event, Record, Run, RunId};

use crate::Error;
use crate::context::{Snapshot, WorkspaceContext};
use crate::conversation::{Conversation, PromptSources};
use crate::prompt_texts::{PromptKit, RosterTexts};

/// What a replay found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayReport {
    /// How many events were decided again and compared.
    pub events: u64,
    /// How many events were copied from another run; these are only applied.
    pub copied: u64,
    /// How many prompts were built again.
    pub prompts: u64,
    /// Where the rules now decide something else, in order.
    pub differences: Vec<ReplayDifference>,
}

/// One place where a replay differs from the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayDifference {
    /// The number of the event.
    pub event: u64,
    /// What differs.
    pub what: DifferenceKind,
}

/// What differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// The journal has one event, the rules decide another.
    Event {
        /// The event in the journal.
        recorded: Option<String>,
        /// The event that the rules decide.
        decided: Option<String>,
    },
    /// The prompt of this effect differs.
    Prompt {
        /// The effect.
        id: EffectAddress,
        /// The recorded hash.
        recorded: ContentHash,
        /// The hash of the prompt as it is built now.
        made: ContentHash,
    },
}

/// Replays a run without any network: it needs only the journal.
pub fn replay(journal: &Journal, id: &RunId) -> Result<ReplayReport, Error> {
    let mut replayed = ReplayReport::default();
    let mut failure = None;
    let mut prompts = PromptRebuilder::new(journal, id);
    let copied = copied_events(journal, id)?;
    // Two runs: one decides, the other follows the journal. After a difference, the first is set to the second.
    let (mut decides, mut told) = (Run::default(), Run::default());
    journal.read(id, 0, &mut |first, record: Record| {
        let differences = replayed.differences.len();
        if first + record.events.len() as u64 <= copied + 1 {
            decides.record(&record);
            replayed.copied += record.events.len() as u64;
        } else {
            let decided = decides.advance(record.input.clone(), record.at);
            compare(first, &record.events, &decided.events, &mut replayed);
            replayed.events += record.events.len() as u64;
        }
        if let Err(error) = prompts.follow(first, &mut told, &record, &mut replayed) {
            failure = Some(error);
            return ControlFlow::Break(());
        }
        if replayed.differences.len() > differences {
            decides.clone_from(&told);
        }
        ControlFlow::Continue(())
    })?;
    failure.map_or(Ok(replayed), Err)
}

/// How many events at the beginning were copied from another run.
fn copied_events(journal: &Journal, id: &RunId) -> Result<u64, Error> {
    let mut copied = 0;
    journal.read(id, 0, &mut |_, record: Record| {
        for event in &record.events {
            if let Event::Forked { at, .. } = event {
                copied = *at;
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok(copied)
}

fn compare(first: u64, recorded: &[Event], decided: &[Event], replayed: &mut ReplayReport) {
    for n in 0..recorded.len().max(decided.len()) {
        let (old, new) = (recorded.get(n), decided.get(n));
        if old != new {
            let words = |event: Option<&Event>| event.map(|event| serde_json::to_string(event).unwrap_or_default());
            let what = DifferenceKind::Event { recorded: words(old), decided: words(new) };
            replayed.differences.push(ReplayDifference { event: first + n as u64, what });
            return;
        }
    }
}

/// A prompt as it was sent.
#[derive(Debug)]
pub struct SentPrompt {
    /// The effect that sent it.
    pub id: EffectAddress,
    /// The agent it was sent to.
    pub agent: String,
    /// When it was sent.
    pub at: updraft_run::Timestamp,
    /// The whole prompt, for people.
    pub prompt: String,
}

/// Builds every prompt of a run again and passes each to `visit`, in order.
pub fn prompts(journal: &Journal, id: &RunId, visit: &mut dyn FnMut(SentPrompt)) -> Result<(), Error> {
    let mut rebuilder = PromptRebuilder::new(journal, id);
    let mut run = Run::default();
    let mut failure = None;
    journal.read(id, 0, &mut |_, record: Record| {
        run.pass(&record);
        for event in &record.events {
            if let Event::Begun { id, facts: facts @ EffectFacts { prompt: Some(_), .. }, .. } = event {
                match rebuilder.make(&run, id, facts) {
                    Ok(Some(made)) => {
                        let agent = run.step(&id.step).map(|step| step.spec.agent.clone()).unwrap_or_default();
                        visit(SentPrompt { id: id.clone(), agent, at: record.at, prompt: made.in_words() });
                    }
                    Ok(None) => {}
                    Err(error) => {
                        failure = Some(error);
                        return ControlFlow::Break(());
                    }
                }
            }
            rebuilder.apply(&mut run, event);
        }
        ControlFlow::Continue(())
    })?;
    failure.map_or(Ok(()), Err)
}

/// Builds the prompt that one effect was sent with; `None` if it has not begun, or is no question to a model.
pub fn prompt_at(journal: &Journal, id: &RunId, address: &EffectAddress) -> Result<Option<SentPrompt>, Error> {
    let mut rebuilder = PromptRebuilder::new(journal, id);
    let mut run = Run::default();
    let mut made = Ok(None);
    journal.read(id, 0, &mut |_, record: Record| {
        run.pass(&record);
        for event in &record.events {
            if let Event::Begun { id, facts: facts @ EffectFacts { prompt: Some(_), .. }, .. } = event
                && id == address
            {
                let agent = run.step(&id.step).map(|step| step.spec.agent.clone()).unwrap_or_default();
                let prompt = rebuilder.make(&run, id, facts).map(|made| made.map(Conversation::in_words));
                let sent = |prompt| SentPrompt { id: id.clone(), agent, at: record.at, prompt };
                made = prompt.map(|prompt| prompt.map(sent));
                return ControlFlow::Break(());
            }
            rebuilder.apply(&mut run, event);
        }
        ControlFlow::Continue(())
    })?;
    made
}

/// Builds prompts again from the journal.
struct PromptRebuilder<'a> {
    journal: &'a Journal,
    id: &'a RunId,
    kits: BTreeMap<ContentHash, PromptKit>,
    contexts: BTreeMap<ContentHash, Arc<WorkspaceContext>>,
    /// Conversations that continue, so that a long one is not built again for every turn.
    open: BTreeMap<updraft_run::StepId, Conversation>,
    /// The last separate question about one of them (judgement or summary).
    side: Option<Conversation>,
}

impl<'a> PromptRebuilder<'a> {
    fn new(journal: &'a Journal, id: &'a RunId) -> Self {
        Self { journal, id, kits: BTreeMap::new(), contexts: BTreeMap::new(), open: BTreeMap::new(), side: None }
    }

    /// Applies a record, and compares each prompt that was sent.
    fn follow(&mut self, first: u64, run: &mut Run, record: &Record, replayed: &mut ReplayReport) -> Result<(), Error> {
        run.pass(record);
        for (n, event) in record.events.iter().enumerate() {
            if let Event::Begun { id, facts: facts @ EffectFacts { prompt: Some(recorded), .. }, .. } = event {
                let made = self.make(run, id, facts)?.map(Conversation::hash);
                if let Some(made) = made.filter(|made| made != recorded) {
                    let what = DifferenceKind::Prompt { id: id.clone(), recorded: *recorded, made };
                    replayed.differences.push(ReplayDifference { event: first + n as u64, what });
                }
                replayed.prompts += 1;
            }
            self.apply(run, event);
        }
        self.open.retain(|step, _| run.step(step).is_some_and(|step| !step.has_ended()));
        Ok(())
    }

    fn apply(&mut self, run: &mut Run, event: &Event) {
        match event {
            // From here on conversations may begin with another goal, or use other texts.
            Event::Forked { .. } => self.open.clear(),
            Event::Reloaded { .. } => self.kits.clear(),
            _ => {}
        }
        run.apply(event);
    }

    /// The conversation that an effect continued.
    fn make(&mut self, run: &Run, id: &EffectAddress, facts: &EffectFacts) -> Result<Option<&Conversation>, Error> {
        let Some(step) = run.step(&id.step) else { return Ok(None) };
        let context = facts.context.or(step.context).or(run.settings().context);
        self.load(run, context)?;
        let kit = run.roster().words.and_then(|hash| self.kits.get(&hash));
        let Some(kit) = kit else { return Ok(None) };
        let hash = context.unwrap_or(ContentHash([0; 32]));
        let snapshot = Snapshot { hash, context: self.contexts.get(&hash).cloned().unwrap_or_default() };
        let begins = id.kind == EffectKind::Ask && id.turn == 0;
        let kept = self.open.remove(&id.step).filter(|kept| !begins && kept.fits(step, kit));
        let from = PromptSources { kit, journal: self.journal };
        let mut conversation = kept.unwrap_or_else(|| Conversation::open(run, step, from, &snapshot));
        conversation.catch_up(step, from);
        let side = (id.kind != EffectKind::Ask).then(|| conversation.side_question(run, step, kit, id));
        let place = self.open.entry(id.step.clone()).insert_entry(conversation).into_mut();
        Ok(Some(match side {
            Some(side) => self.side.insert(side),
            None => place,
        }))
    }

    fn load(&mut self, run: &Run, context: Option<ContentHash>) -> Result<(), Error> {
        let incomplete = |what: &str| Error::Incomplete { run: self.id.clone(), what: what.into() };
        if let Some(hash) = run.roster().words.filter(|hash| !self.kits.contains_key(hash)) {
            let bytes = self.journal.blob(&hash)?.ok_or_else(|| incomplete("its agents and prompts are missing"))?;
            let words: RosterTexts =
                serde_json::from_slice(&bytes).map_err(|_| incomplete("its prompts cannot be read"))?;
            self.kits.insert(hash, PromptKit::new(run.roster(), words));
        }
        if let Some(hash) = context.filter(|hash| !self.contexts.contains_key(hash)) {
            let bytes = self.journal.blob(&hash)?.ok_or_else(|| incomplete("a context is missing"))?;
            let context = serde_json::from_slice(&bytes).map_err(|_| incomplete("a context cannot be read"))?;
            self.contexts.insert(hash, Arc::new(context));
        }
        Ok(())
    }
}
