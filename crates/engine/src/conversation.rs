//! Builds the prompts of a step. A prompt is a function of the run, the prompt texts and the context, so that it can be
//! built again exactly.

use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};
use updraft_journal::Journal;
use updraft_models::{Prompt, RequestDraft, TaskBrief};
use updraft_run::{
    AgentCard, BYTES_OF_A_PICTURE, ContentHash, ConversationEntry, EffectAddress, EffectKind, Message, ModelAnswer,
    Note, Picture, PictureRef, Run, ShownPart, Step, StepRole, ThinkingEffort, ToolSpec, TraceParent, Tries,
};

use crate::answer_schema::{schema_of, verdict_schema};
use crate::compacted_facts::facts_in_words;
use crate::context::{Snapshot, WorkspaceContext};
use crate::opening::opening;
use crate::plan_prompt;
use crate::prompt_texts::PromptKit;
use crate::proof_prompt;
use crate::turn_messages::{answer_in_words, earlier_messages, not_made, note_in_words, pictures_of, results};

/// The sources of a prompt besides the run: the prompt texts, and the journal for pictures.
#[derive(Clone, Copy)]
pub(crate) struct PromptSources<'a> {
    pub(crate) kit: &'a PromptKit,
    pub(crate) journal: &'a Journal,
}

impl PromptSources<'_> {
    /// The pictures as a model is shown them. A picture that is missing from the journal is left out.
    fn pictures<'r>(&self, wanted: impl Iterator<Item = &'r PictureRef>) -> Option<Message> {
        let found = wanted.filter_map(|picture| {
            let bytes = self.journal.blob(&picture.blob.hash).ok().flatten()?;
            Some(Picture { name: picture.name.clone(), mime: picture.mime.clone(), bytes: bytes.into() })
        });
        let found: Vec<Picture> = found.collect();
        (!found.is_empty()).then(|| Message::Pictures(found.into()))
    }
}

/// How a question is asked, besides its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskOptions {
    pub(crate) max_output: u64,
    /// Whether that was chosen, or a budget counts on it.
    pub(crate) is_limited: bool,
    /// The chosen amount of thinking.
    pub(crate) think: ThinkingEffort,
    /// The amount of thinking that the task needs.
    pub(crate) need: ThinkingEffort,
    pub(crate) attempt: u32,
    /// Its place in the run's trace.
    pub(crate) trace: Option<TraceParent>,
}

/// The conversation of one visit. It is kept between turns and only appended to.
#[derive(Debug)]
pub(crate) struct Conversation {
    visit: u32,
    /// The context it began with.
    pub(crate) context: ContentHash,
    /// Whether that context contains documents of the workspace that were shown.
    pub(crate) documents: bool,
    /// How many entries of `Step::conversation` are among the messages.
    consumed: usize,
    /// How often what the model was shown had been replaced when it was built. After another time it is built again.
    rewrites: u32,
    /// The answer whose calls the next results belong to.
    last: Option<Arc<ModelAnswer>>,
    system: Arc<str>,
    tools: Arc<[ToolSpec]>,
    messages: Vec<Message>,
    /// The schema that its answer must fit, if there is one.
    schema: Option<Arc<Value>>,
    /// The next answer continues the last one.
    is_cut: bool,
    brief: TaskBrief,
    /// It is the conversation with a planner whose model is small: each question stands alone.
    briefly: bool,
    /// A hash over everything the model has been told, each message chained to the ones before.
    chain: [u8; 32],
    /// The conversation in the provider's form.
    pub(crate) draft: RequestDraft,
}

impl Conversation {
    /// Begins the conversation of a step's current visit, and adds what has been said so far.
    pub(crate) fn open(run: &Run, step: &Step, from: PromptSources<'_>, snapshot: &Snapshot) -> Self {
        let context = &*snapshot.context;
        let kit = from.kit;
        let equipped = kit.agent(&step.spec.agent);
        let briefly = step.role == StepRole::Plan && run.settings().has_small_window();
        let system = if briefly {
            kit.small_planner.clone()
        } else {
            equipped.map_or_else(|| Arc::from(""), |agent| agent.system.clone())
        };
        let tools = equipped.map_or_else(|| Arc::from([]), |agent| agent.tools.clone());
        let mut hasher = Sha256::new();
        hasher.update(system.as_bytes());
        for tool in tools.iter() {
            hasher.update([0]);
            hasher.update(tool.name.as_bytes());
            hasher.update(tool.description.as_bytes());
            hasher.update(tool.parameters.to_string().as_bytes());
        }
        let mut conversation = Self {
            visit: step.visit,
            context: snapshot.hash,
            documents: context.has_documents() && step.role != StepRole::Distill,
            consumed: 0,
            rewrites: step.rewrites,
            last: None,
            system,
            tools,
            messages: Vec::new(),
            schema: schema_of(run, step),
            is_cut: false,
            brief: brief_of(run, step),
            briefly,
            chain: hasher.finalize().into(),
            draft: RequestDraft::default(),
        };
        if briefly {
            conversation.add_small_planner_question(run, step, kit, context);
            return conversation;
        }
        let earlier = earlier_messages(&run.goal().earlier, kit);
        conversation.brief.earlier = earlier.len();
        for message in earlier {
            conversation.push(message);
        }
        conversation.push(Message::User(opening(run, step, kit, context).into()));
        if let Some(shown) = from.pictures(run.goal().pictures.iter()) {
            conversation.push(shown);
        }
        conversation.catch_up(step, from);
        conversation
    }

    /// Whether this is still the conversation of the step in its current state, with the texts of this kit.
    pub(crate) fn fits(&self, step: &Step, kit: &PromptKit) -> bool {
        let own = kit.agent(&step.spec.agent).map(|agent| &agent.system);
        let own = if self.briefly { Some(&kit.small_planner) } else { own };
        let same_words = own.is_none_or(|system| Arc::ptr_eq(system, &self.system));
        let same_question = !self.briefly || self.consumed == step.conversation.len();
        self.visit == step.visit
            && same_question
            && same_words
            && self.rewrites == step.rewrites
            && self.consumed <= step.conversation.len()
    }

    /// Asks a small planner with everything it needs to know and nothing of what it answered before.
    fn add_small_planner_question(&mut self, run: &Run, step: &Step, kit: &PromptKit, context: &WorkspaceContext) {
        for (goal, plan) in plan_prompt::examples(run, kit) {
            self.push(Message::User(goal.into()));
            self.push(Message::Assistant(Arc::new(ModelAnswer { text: plan, ..ModelAnswer::default() })));
        }
        let memories = context.memory_lines(&step.spec.agent);
        self.push(Message::User(plan_prompt::short_question(run, step, kit, &memories).into()));
        self.consumed = step.conversation.len();
    }

    /// Appends what has been said since.
    pub(crate) fn catch_up(&mut self, step: &Step, from: PromptSources<'_>) {
        let kit = from.kit;
        for entry in step.conversation.iter().skip(self.consumed) {
            match entry {
                ConversationEntry::Answer(answer) => {
                    self.last = Some(answer.clone());
                    self.is_cut = false;
                    self.push(Message::Assistant(answer.clone()));
                }
                ConversationEntry::Results(ended) => {
                    let message = results(self.last.as_deref(), ended, &step.shown, kit);
                    self.push(message);
                    let shown = ended.numbered().filter(|(n, _)| step.shown.get(n) != Some(&ShownPart::NAME));
                    if let Some(shown) = from.pictures(shown.flat_map(|(_, outcome)| pictures_of(outcome))) {
                        self.push(shown);
                    }
                }
                ConversationEntry::Note(note) => {
                    self.is_cut |= *note == Note::CutOff;
                    // The templates of an older run may have no text for this note: then nothing is added.
                    let words = note_in_words(note, kit);
                    if !words.is_empty() {
                        self.push(Message::User(words.into()));
                    }
                }
                ConversationEntry::Summary(summary) => {
                    let facts = facts_in_words(&step.compacted);
                    let text = kit.say("compacted", &[("summary", summary), ("facts", &facts)]);
                    self.push(Message::User(text.trim_end().into()));
                }
            }
        }
        self.consumed = step.conversation.len();
    }

    /// A separate question about the conversation: a judgement of the step's result, or a summary of the conversation.
    pub(crate) fn side_question(&self, run: &Run, step: &Step, kit: &PromptKit, id: &EffectAddress) -> Self {
        let kind = id.kind;
        let proves = step.role == StepRole::Prove;
        let mut side = Self {
            visit: self.visit,
            context: self.context,
            documents: self.documents,
            consumed: self.consumed,
            rewrites: self.rewrites,
            last: None,
            system: self.system.clone(),
            // The same prefix with the same tools: the provider has it in its cache.
            tools: if kind == EffectKind::Compact { self.tools.clone() } else { Arc::from([]) },
            messages: Vec::new(),
            schema: (kind == EffectKind::Judge).then(|| if proves { proof_prompt::schema() } else { verdict_schema() }),
            is_cut: false,
            brief: TaskBrief {
                side_question: Some(kind),
                earlier: if kind == EffectKind::Judge { 0 } else { self.brief.earlier },
                ..self.brief.clone()
            },
            briefly: false,
            chain: Sha256::digest(self.system.as_bytes()).into(),
            draft: RequestDraft::default(),
        };
        if kind == EffectKind::Judge && proves {
            side.push(Message::User(proof_prompt::question(run, kit).into()));
        } else if kind == EffectKind::Judge {
            let result = step.last_answer().map(|answer| answer.text.as_str()).unwrap_or_default();
            let task = if step.spec.prompt.is_empty() { &step.spec.description } else { &step.spec.prompt };
            let text = kit.say("judge", &[("goal", &run.goal().text), ("task", task), ("result", result)]);
            side.push(Message::User(text.into()));
        } else {
            self.messages.iter().cloned().for_each(|message| side.push(message));
            side.push(Message::User(kit.say("compact", &[]).into()));
            if let Some(answer) = step.side_answer().filter(|_| id.n > 0) {
                side.push(Message::Assistant(answer.clone()));
                if !answer.calls.is_empty() {
                    side.push(not_made(answer));
                }
                side.push(Message::User(kit.say("compact-again", &[]).into()));
            }
        }
        side
    }

    /// The prompt for the model, and the draft that it is serialised into.
    pub(crate) fn parts(&mut self, options: AskOptions) -> (Prompt<'_>, &mut RequestDraft) {
        let prompt = Prompt {
            system: &self.system,
            tools: &self.tools,
            messages: &self.messages,
            max_output: options.max_output,
            is_limited: options.is_limited,
            think: options.think,
            need: options.need,
            attempt: options.attempt,
            trace: options.trace,
            // The continuation of an answer does not fit a schema by itself.
            schema: self.schema.as_deref().filter(|_| !self.is_cut),
            brief: &self.brief,
        };
        (prompt, &mut self.draft)
    }

    /// Bytes of everything the model is told; a picture counts as in `Step::expected_tokens`.
    pub(crate) fn bytes(&self) -> u64 {
        let tools = self.tools.iter();
        let tools: usize =
            tools.map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len()).sum();
        let messages: u64 = self.messages.iter().map(bytes_of).sum();
        (self.system.len() + tools) as u64 + messages
    }

    /// The tools the model is shown.
    pub(crate) fn tools(&self) -> &[ToolSpec] {
        &self.tools
    }

    /// The hash over everything the model has been told.
    pub(crate) fn hash(&self) -> ContentHash {
        ContentHash(self.chain)
    }

    /// The prompt as text, for people.
    pub(crate) fn in_words(&self) -> String {
        let mut parts = vec![format!("[system]\n{}\n", self.system)];
        let tools = self.tools.iter();
        parts.extend(tools.map(|tool| format!("[tool {}]\n{}\n{}\n", tool.name, tool.description, tool.parameters)));
        for message in &self.messages {
            match message {
                Message::User(said) => parts.push(format!("[user]\n{said}\n")),
                Message::Assistant(answer) => parts.push(format!("[assistant]\n{}\n", answer_in_words(answer))),
                Message::Results(results) => {
                    let results = results.iter();
                    parts.extend(results.map(|result| format!("[result of {}]\n{}\n", result.name, result.text)));
                }
                Message::Pictures(pictures) => {
                    let pictures = pictures.iter();
                    parts.extend(
                        pictures
                            .map(|one| format!("[picture {}: {}, {} bytes]\n", one.name, one.mime, one.bytes.len())),
                    );
                }
            }
        }
        parts.join("\n")
    }

    fn push(&mut self, message: Message) {
        let mut hasher = Sha256::new();
        hasher.update(self.chain);
        match &message {
            Message::User(text) => {
                hasher.update([1]);
                hasher.update(text.as_bytes());
            }
            Message::Assistant(answer) => {
                hasher.update([2]);
                hasher.update(answer.text.as_bytes());
                for call in &answer.calls {
                    for part in [&call.id, &call.name, &call.args.to_string()] {
                        hasher.update([0]);
                        hasher.update(part.as_bytes());
                    }
                }
            }
            Message::Results(results) => {
                hasher.update([3]);
                for result in results {
                    for part in [&result.call, &result.name, &result.text] {
                        hasher.update([0]);
                        hasher.update(part.as_bytes());
                    }
                }
            }
            Message::Pictures(pictures) => {
                hasher.update([4]);
                for picture in pictures.iter() {
                    hasher.update(picture.name.as_bytes());
                    hasher.update(Sha256::digest(&picture.bytes));
                }
            }
        }
        self.chain = hasher.finalize().into();
        self.messages.push(message);
    }
}

fn bytes_of(message: &Message) -> u64 {
    match message {
        Message::User(text) => text.len() as u64,
        Message::Assistant(answer) => answer.bytes(),
        Message::Results(results) => {
            results.iter().map(|result| result.text.len() + result.name.len()).sum::<usize>() as u64
        }
        Message::Pictures(pictures) => pictures.len() as u64 * BYTES_OF_A_PICTURE,
    }
}

fn brief_of(run: &Run, step: &Step) -> TaskBrief {
    let task = if step.spec.prompt.is_empty() { &step.spec.description } else { &step.spec.prompt };
    let inputs = step.opening.iter().flat_map(|opening| opening.inputs.iter().cloned());
    let card = run.roster().agent(&step.spec.agent);
    TaskBrief {
        agent: step.spec.agent.clone(),
        role: card.map(AgentCard::role).unwrap_or_default(),
        goal: run.goal().own_words().to_owned(),
        step: step.spec.id.to_string(),
        task: task.clone(),
        inputs: inputs.collect(),
        writes: step.spec.writes.clone(),
        files: run.goal().files.clone(),
        visit: step.visit,
        side_question: None,
        earlier: 0,
        candidates: run.candidates_of(step),
        tests: match step.spec.tries.as_deref() {
            Some(Tries::Choice { tests, .. }) => tests.clone(),
            Some(Tries::Wanted { .. } | Tries::One { .. }) | None => None,
        },
    }
}
