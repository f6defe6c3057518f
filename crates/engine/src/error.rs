//! Why a run could not be started or driven.

use std::path::PathBuf;

use updraft_run::RunId;

/// Why a run could not be started or driven. Failures inside a run are events, not errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The journal could not be read or written.
    #[error(transparent)]
    Journal(#[from] updraft_journal::Error),
    /// A model could not be set up.
    #[error(transparent)]
    Model(#[from] updraft_models::Error),
    /// A tool could not be set up.
    #[error(transparent)]
    Tool(#[from] updraft_tools::Error),
    /// The workspace cannot be opened.
    #[error(transparent)]
    Workspace(#[from] updraft_workspace::Error),
    /// An agent's file has a fault.
    #[error("{file}:{line}: {what}", file = file.display())]
    AgentFile {
        /// The file.
        file: PathBuf,
        /// The line.
        line: usize,
        /// What was found and what was expected.
        what: String,
    },
    /// A file could not be read.
    #[error("could not read `{file}`", file = file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// One of our own files could not be written.
    #[error("could not write `{file}`", file = file.display())]
    Unwritten {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The goal cannot be worked on.
    #[error("{0}")]
    Goal(String),
    /// An agent that is needed has a file that cannot be used.
    #[error("the agent `{name}` cannot be used: {why}")]
    LeftOut {
        /// The agent.
        name: String,
        /// What is wrong with its file.
        why: String,
    },
    /// The agent is described only by a file of a workspace that is not trusted.
    #[error("the agent `{0}` is not used, because the workspace is not trusted")]
    DistrustedAgent(String),
    /// No such agent.
    #[error("no agent named `{name}`; available: {close}")]
    UnknownAgent {
        /// The name as it was written.
        name: String,
        /// Similar names, or all names.
        close: String,
    },
    /// No agent has a role that is needed.
    #[error("no agent has `role: {role}`")]
    NobodyInRole {
        /// The role as it is written in agents' files.
        role: &'static str,
    },
    /// The plan has faults.
    #[error("the plan has {} fault{}:\n  - {}", .0.len(), if .0.len() == 1 { "" } else { "s" }, .0.join("\n  - "))]
    Plan(Vec<String>),
    /// There is a budget in money, but the price of a model is unknown.
    #[error("the price of `{model}` is not known, so a budget in dollars cannot be enforced")]
    UnknownPrice {
        /// The model.
        model: String,
    },
    /// There is a picture, but a model cannot be shown pictures.
    #[error("`{model}` does not accept pictures, and `{picture}` is one")]
    Blind {
        /// The model.
        model: String,
        /// The picture.
        picture: String,
    },
    /// A run's home refused it, or could not be reached before the process had to stop.
    #[error("the home of run `{run}`: {what}")]
    Home {
        /// The run.
        run: RunId,
        /// What it said.
        what: String,
    },
    /// The run's home is elsewhere, and this process does not use it.
    #[error("run `{run}` is kept by {place}")]
    Elsewhere {
        /// The run.
        run: RunId,
        /// Its home.
        place: String,
    },
    /// The journal lacks something a run needs.
    #[error("run `{run}` cannot continue: {what}")]
    Incomplete {
        /// The run.
        run: RunId,
        /// What is missing.
        what: String,
    },
}

impl Error {
    /// What to do about it, if we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Journal(error) => error.hint(),
            Error::Model(error) => error.hint(),
            Error::UnknownPrice { model } => Some(format!(
                "add it to the configuration, in dollars per million tokens: [prices.\"{model}\"] input = …, output = …; or limit tokens with --max-tokens"
            )),
            Error::Blind { .. } => Some(
                "use a model that does, such as `--model vision` (with a key), gemini/gemini-3.8-flash, openai/gpt-5.4-mini \
                 or anthropic/claude-haiku-5-5; if yours does, write `--model 'NAME?images=yes'`"
                    .into(),
            ),
            Error::Elsewhere { .. } => Some(
                "start its worker again: `updraft worker`, or `updraft serve --engine restate`, in the same folder; answers and cancels wait for it".into(),
            ),
            Error::AgentFile { .. } | Error::LeftOut { .. } | Error::NobodyInRole { .. } => {
                Some("`updraft agents` shows the agents that were read".into())
            }
            Error::DistrustedAgent(_) => {
                Some("`updraft trust` shows the workspace's files, and puts them into effect if you agree".into())
            }
            Error::Tool(_)
            | Error::Workspace(_)
            | Error::File { .. }
            | Error::Unwritten { .. }
            | Error::Goal(_)
            | Error::UnknownAgent { .. }
            | Error::Plan(_)
            | Error::Home { .. }
            | Error::Incomplete { .. } => None,
        }
    }
}
