//! Drives runs from goal to answer.
//!
//! The [`Engine`] writes a run's decisions to the journal, performs the effects it wants through [`EffectPerformer`],
//! and feeds each reply back as the next input. A run that only waits for people holds no task, no lease and no memory
//! here.
//!
//! | to read | file |
//! |---|---|
//! | the loop | `drive.rs`, then `drive/next_inputs.rs` and `drive/begin.rs` |
//! | performing effects | `perform.rs`, `effects.rs` |
//! | what models are told | `conversation.rs`, `context.rs`, `prompt_texts.rs` |
//! | agents and templates as files | `agents.rs`, `prompts.rs` |
//! | recipes as files | `recipe_file.rs`, `recipe_parameter.rs`, `recipe_template.rs` |
//! | starting and opening runs | `engine.rs`, `start.rs` |
//! | runs whose home is elsewhere | `home.rs`, `drive/at_home.rs`, `run_copy.rs` |
//! | which files contain text from outside | `marks.rs`, `drive/marks.rs` |
//! | reports about past runs | `report.rs`, `stop_reason.rs`, `replay.rs`, `nodelink.rs`, `call_audit.rs`, `changed_files.rs` |
//! | answers of people to a run's questions | `response.rs` |
//! | undoing a run's changes | `undo.rs`, then `undo/plan.rs` and `undo/carry_out.rs` |

mod agent_stats;
mod agents;
mod answer_schema;
mod ask_model;
mod bus;
mod call_audit;
mod changed_files;
mod clock;
mod compacted_facts;
mod context;
mod context_parts;
mod conversation;
mod diff;
mod drive;
mod earlier_turns;
mod effects;
mod engine;
mod error;
mod file_lines;
mod files_since;
mod finished_steps;
mod folder_instructions;
mod front_matter;
mod guardrail_file;
mod history;
mod home;
mod kept_output;
mod marks;
mod nodelink;
mod opening;
mod outage;
mod perform;
mod plan_prompt;
mod prompt_texts;
mod prompts;
mod proof_prompt;
mod proof_report;
mod read_untrusted;
mod recipe_file;
mod recipe_parameter;
mod recipe_template;
mod recorded_model;
mod replay;
mod report;
mod response;
mod run_copy;
mod skills;
mod sources;
mod start;
mod stop_reason;
mod tool_counts;
pub mod trace_context;
mod turn_messages;
mod undo;
mod watcher;
mod whereabouts;

pub use agent_stats::{AgentStats, AgentTally};
pub use agents::{Agent, Agents, FolderTrust, RemoteAddress};
pub use bus::{BusMessage, MessageKind, bus};
pub use call_audit::{ApprovalRecord, CallAudit, touched};
pub use changed_files::{ChangedFile, changed_files};
pub use context::{SkillEntry, WorkspaceContext};
pub use context_parts::{ContextPart, context_of};
pub use diff::{RunDiff, StepDiff, diff};
pub use drive::{DriveResult, advance_and_filter, home_of};
pub use engine::{Engine, EngineOptions, RunHandle, RunSender};
pub use error::Error;
pub use finished_steps::{FinishedRun, FinishedStep, ResultState, WebResults};
pub use front_matter::read_yaml;
pub use guardrail_file::{GuardrailFile, ReadGuardrail};
pub use history::PastStep;
pub use home::{HandedEffect, HomeAttachment, HomeDecision, HomeInputs, RunHome, effects_to_begin, open_effects};
pub use marks::{MarkStore, MarkedFile, UndoRemains, WorkspaceMarks};
pub use nodelink::{EdgeList, node_link};
pub use perform::{CallEnvironment, EffectFuture, EffectPerformer, RealPerformer};
pub use prompt_texts::{AgentTexts, RosterTexts};
pub use prompts::Prompts;
pub use proof_report::{EvidenceReport, RequirementReport, proof_of};
pub use recipe_file::{FilledRecipe, RecipeFile};
pub use recipe_parameter::{ParameterKind, RecipeParameter};
pub use recorded_model::recorded;
pub use replay::{
    DifferenceKind, ReplayDifference, ReplayReport, SentPrompt, prompt_at, prompts as prompts_of, replay,
};
pub use report::{RunReport, Statistics, StepReport, dollars, failure_of, messages, requirements, waiting_for};
pub use response::{PersonResponse, ResponseStatus, outlives_its_process};
pub use run_copy::RunCopy;
pub use skills::{FoundSkill, check_skill, find_skills};
pub use sources::{CitedSource, SourceState, sources_of};
pub use start::{Background, LONGEST_GOAL, NewRun, ToolOffer};
pub use stop_reason::{command_to_go_on, raised_limit, why_stopped};
pub use tool_counts::ToolCallCount;
pub use undo::{
    ChangeFilter, FileReview, PathSnapshot, RecordedChange, ReviewedChange, ReviewedState, SkippedPath, Undo, UndoMove,
    UndoPlan, UndoResult, UndoSkipReason, UnlistedCall,
};
pub use updraft_models::Delta;
pub use watcher::{NoWatcher, RunWatcher};
pub use whereabouts::{GitState, Whereabouts};
