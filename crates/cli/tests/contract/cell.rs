//! The dimensions of a cell: how a run is started, what it does to the world, and where it is cut off.

use serde_json::{Value, json};

/// How a run is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Planned,
    Agent,
    Plan,
    Swarm,
}

impl Way {
    pub(crate) const ALL: [Self; 4] = [Self::Planned, Self::Agent, Self::Plan, Self::Swarm];

    /// Whether its first answer is a plan.
    pub(crate) fn plans(self) -> bool {
        matches!(self, Self::Planned | Self::Swarm)
    }
}

/// What a run does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Only asks its model.
    Model,
    Command,
    WriteFile,
    AppendLine,
    McpPipe,
    McpHttp,
    /// A command and a call to a server, in one turn.
    TwoAtOnce,
    Question,
    /// A command that a person must allow.
    Approval,
    /// Waits because its model is busy.
    Wait,
}

impl Kind {
    pub(crate) const ALL: [Self; 10] = [
        Self::Model,
        Self::Command,
        Self::WriteFile,
        Self::AppendLine,
        Self::McpPipe,
        Self::McpHttp,
        Self::TwoAtOnce,
        Self::Question,
        Self::Approval,
        Self::Wait,
    ];

    pub(crate) fn needs_a_person(self) -> bool {
        matches!(self, Self::Question | Self::Approval)
    }

    /// Whether the world outside hears of the effect itself and can end the program then.
    pub(crate) fn is_heard(self) -> bool {
        matches!(self, Self::Command | Self::McpPipe | Self::McpHttp | Self::TwoAtOnce | Self::Approval)
    }

    /// The file that it leaves in the workspace.
    pub(crate) fn file(self) -> Option<&'static str> {
        match self {
            Self::WriteFile => Some("deep/file.txt"),
            Self::AppendLine => Some("log.txt"),
            Self::Model
            | Self::Command
            | Self::McpPipe
            | Self::McpHttp
            | Self::TwoAtOnce
            | Self::Question
            | Self::Approval
            | Self::Wait => None,
        }
    }

    /// Whether this place exists for it: asking a person or waiting changes nothing outside.
    pub(crate) fn can_be_cut(self, cut: Cut) -> bool {
        match cut {
            Cut::BeforeIntent | Cut::AfterRecord | Cut::DuringResume => true,
            Cut::BeforeEffect => self != Self::Question && self != Self::Wait,
            Cut::AfterEffect => self != Self::Question,
        }
    }

    /// The calls of the step that acts.
    pub(crate) fn calls(self) -> Vec<(&'static str, Value)> {
        let command = ("run_command", json!({"command": "bash count.sh act.0"}));
        match self {
            Self::Model | Self::Wait => vec![],
            Self::Command | Self::Approval => vec![command],
            Self::WriteFile => vec![("write_file", json!({"path": "deep/file.txt", "content": "act.0\n"}))],
            Self::AppendLine => vec![("append_line", json!({"path": "log.txt", "line": "act.0"}))],
            Self::McpPipe => vec![("mcp_pipe_count", json!({"name": "act.0"}))],
            Self::McpHttp => vec![("mcp_web_count", json!({"name": "act.0"}))],
            Self::TwoAtOnce => vec![command, ("mcp_web_count", json!({"name": "act.1"}))],
            Self::Question => vec![("ask_user", json!({"question": "Which colour?"}))],
        }
    }

    /// The effects that are counted outside.
    pub(crate) fn effects(self) -> &'static [&'static str] {
        match self {
            Self::Model | Self::Wait | Self::Question => &[],
            Self::TwoAtOnce => &["act.0", "act.1"],
            Self::Command | Self::WriteFile | Self::AppendLine | Self::McpPipe | Self::McpHttp | Self::Approval => {
                &["act.0"]
            }
        }
    }
}

/// Where the process ends. A file is written inside of the process, so these cuts only come close: what they hit is
/// anything from the wish to the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The model has been asked, and has not yet answered that it wants the effect.
    BeforeIntent,
    /// The effect is on its way, and has not happened.
    BeforeEffect,
    /// It has happened, and its reply is lost.
    AfterEffect,
    /// Its reply is recorded: the model is asked the next question.
    AfterRecord,
    /// After the effect, and then twice more while the run is taken up again.
    DuringResume,
}

impl Cut {
    pub(crate) const ALL: [Self; 5] =
        [Self::BeforeIntent, Self::BeforeEffect, Self::AfterEffect, Self::AfterRecord, Self::DuringResume];
}
