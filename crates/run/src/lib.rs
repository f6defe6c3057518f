//! Defines what a run is and decides what it does next, as pure data.
//!
//! A run is a log of events, and [`Run`] is the result of folding that log. [`Run::advance`] takes one [`Input`] (a
//! goal, a reply, a cancel), decides what follows, applies it, and returns it as a [`Record`] for the journal. Some of
//! the events ask for an effect; the engine performs it and feeds the reply back as the next input.
//!
//! ```
//! use std::sync::Arc;
//! use updraft_run::{AgentCard, Goal, Input, Roster, Run, RunMode, RunSettings, RunStart, Timestamp};
//!
//! let goal = Goal { text: "Say hello".into(), mode: RunMode::Agent("thinker".into()), ..Goal::default() };
//! let agents = vec![AgentCard { name: "thinker".into(), ..AgentCard::default() }];
//! let roster = Arc::new(Roster { agents, ..Roster::default() });
//! let settings = Arc::new(RunSettings::default());
//! let start = RunStart { goal, roster, settings, budget: Default::default(), plan: None, earlier: Default::default() };
//!
//! let mut run = Run::default();
//! let record = run.advance(Input::Start(Box::new(start)), Timestamp(0));
//! let wanted: Vec<String> = run.open().keys().map(ToString::to_string).collect();
//! assert_eq!(wanted, ["thinker/0/0/ask.0"]);
//! assert_eq!(Run::fold([record]), run);
//! ```
//!
//! Nothing here awaits, reads a clock or a file, or draws a random number.
//!
//! | to read | file |
//! |---|---|
//! | which events and inputs there are | `event.rs`, `input.rs` |
//! | how decisions are made | `decide.rs`, then `decide/turn.rs`, `decide/calls.rs`, `decide/conclude.rs` |
//! | the state, and how events change it | `state.rs`, `step.rs`, `open_effect.rs`, `apply.rs` |
//! | requirements and their proof | `requirement.rs`, `proof.rs`, `decide/prove.rs` |
//! | graphs | `graph.rs`, `graph/check.rs`, `graph/read.rs` |
//! | reading models' text | `answer_calls.rs`, `extract.rs`, `citation.rs`, and the crate updraft-lenient |

#![deny(clippy::wildcard_enum_match_arm)]

mod actions;
mod allowance;
mod answer_calls;
mod apply;
mod arguments;
mod assumption;
mod audit;
mod budget;
mod call_order;
mod change_summary;
mod citation;
mod confinement;
mod conversation_size;
mod decide;
mod earlier;
mod earlier_runs;
mod effect;
mod event;
mod expected_cost;
mod extract;
mod goal;
mod grants;
mod graph;
mod guard;
mod id;
mod input;
mod inquiry;
mod made_again;
mod message;
mod nesting_limit;
mod open_effect;
mod origins;
mod permission;
mod plan_status;
mod proof;
mod read_rules;
mod reply;
mod requirement;
mod rights;
mod role;
mod rules;
mod run_rights;
mod schema;
mod sentences;
mod shown;
mod state;
mod status;
mod step;
mod think;
mod trace_parent;
mod tries;
mod users_own_calls;

pub use actions::{Action, Actions};
pub use answer_calls::{ASK_USER, outcome_words};
pub use apply::is_in_cache;
pub use apply::{DOCUMENTS, paths_meet};
pub use arguments::{CallMatcher, argument_lines};
pub use assumption::Assumption;
pub use budget::Ledger;
pub use call_order::{CallOrder, RowOfEdits};
pub use citation::{Citation, CitationFinding, find_quotation};
pub use confinement::{Denial, Level, ResumeTerms, SharedTools};
pub use conversation_size::{BYTES_OF_A_PICTURE, ConversationSize};
pub use earlier::{ConversationLimits, EarlierConversation, EarlierMessage};
pub use earlier_runs::{EarlierRuns, KeptResult, RepeatedRun};
pub use effect::{Effect, EffectClass, EffectFacts, ExpectedWrite, HOOKS_PASSED, Inquiry, PreparedCall, SimpleCommand};
pub use event::{Event, Judgement, Note, PlanReason};
pub use goal::{
    AgentCard, ApprovalMode, Budget, BudgetLimit, Ceiling, ChosenModel, DueTime, Goal, ReflectionMode, Roster, RunMode,
    RunSettings, RunStart, SMALL_WINDOW,
};
pub use grants::{CommandGrants, GrantFlags};
pub use graph::{Graph, GraphContext, GraphFault, StepField, StepSpec, Tries, TryPlanner, close_to};
pub use guard::{CHECK_GUARDRAILS, GuardedPoints};
pub use id::{BadId, ContentHash, Cost, EffectAddress, EffectKind, Millis, RunId, StepId, Timestamp};
pub use input::{ForkChange, Input, Record, RecoveryFinding, RecoveryOutcome};
pub use inquiry::FormField;
pub use made_again::is_made_again;
pub use message::{FinishReason, Message, ModelAnswer, Picture, Price, TokenUsage, ToolCall, ToolResult, ToolSpec};
pub use nesting_limit::{DEEPEST, is_too_deep};
pub use open_effect::{Funds, InnerCall, OpenEffect};
pub use origins::{Origins, STRANGE_DEFINITIONS, STRANGE_WORKSPACE, network_origins};
pub use permission::{ApprovalRequest, CALL_TOOL, Permission};
pub use proof::{CallEnd, CallFact, Evidence, FileFact, Proof, ProofFinding, ProofState};
pub use read_rules::ReadRules;
pub use reply::{
    ApprovalScope, AttachedDocument, BlobRef, Failure, FailureKind, FileChange, FileKind, FileMetadata, PictureRef,
    Reply, ToolOutput, UnlistedCount, Verdict, error_chain,
};
pub use requirement::{Check, Requirement};
pub use rights::{NarrowedRights, Rights, RightsLayer};
pub use role::AgentRole;
pub use rules::{Rule, Rules};
pub use run_rights::{ExtraRight, RunRights};
pub use shown::{OUTPUT_PREFIX, Shortening, ShownPart, WindowSource, output_name, output_number};
pub use state::{Run, RunPhase, Variable};
pub use status::Status;
pub use step::{
    CallSlot, CompactedFacts, ConversationEntry, PriorVisit, Step, StepRole, StepState, ToolCallOutcome, TurnResults,
    VisitOpening,
};
pub use think::ThinkingEffort;
pub use trace_parent::TraceParent;
pub use tries::KEEP_CANDIDATE;
