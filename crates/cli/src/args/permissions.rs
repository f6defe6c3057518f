//! Arguments about permissions: modes, rules, and the scope of "always".

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use updraft_run::{ApprovalMode, ApprovalScope};

use super::shared::{RunName, WorkspaceFlags};

// Who decides about calls that reach beyond workspace and sandbox.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PermissionFlags {
    /// What agents may do: `read-only` changes nothing; `workspace` asks before a call that leaves workspace and
    /// sandbox (without a terminal the run waits, exit code 3); `full` asks only if a rule says so, or if prompt
    /// injection is possible
    #[arg(long, value_name = "MODE", value_parser = modes(), conflicts_with_all = ["yes", "read_only"])]
    pub(crate) mode: Option<ApprovalMode>,
    /// Change nothing: the same as --mode read-only
    #[arg(long, conflicts_with = "yes")]
    pub(crate) read_only: bool,
    /// Do not ask before calls that leave workspace and sandbox: the same as --mode full
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
}

impl PermissionFlags {
    /// The mode that any of the flags sets.
    pub(crate) fn approvals(&self) -> Option<ApprovalMode> {
        let read_only = self.read_only.then_some(ApprovalMode::ReadOnly);
        self.mode.or(read_only).or(self.yes.then_some(ApprovalMode::Allow))
    }
}

/// The parser for modes.
fn modes() -> impl TypedValueParser<Value = ApprovalMode> {
    let words = PossibleValuesParser::new(["read-only", "workspace", "full"]);
    words.try_map(|word| ApprovalMode::from_mode(&word).ok_or("no such mode"))
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    pub(crate) run: RunName,
    /// Which call to allow, if several wait for approval
    pub(crate) id: Option<String>,
    /// Allow such calls from now on: in this run, or in this workspace; `updraft show RUN` shows the rule
    #[arg(long, value_name = "SCOPE", num_args = 0..=1, default_missing_value = "run")]
    pub(crate) always: Option<ScopeWord>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeWord {
    Run,
    Workspace,
}

impl From<ScopeWord> for ApprovalScope {
    fn from(word: ScopeWord) -> Self {
        match word {
            ScopeWord::Run => ApprovalScope::Run,
            ScopeWord::Workspace => ApprovalScope::Workspace,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct PermissionsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<PermissionsCommand>,
    #[command(flatten)]
    pub(crate) place: WorkspaceFlags,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// Allow such calls from now on in this workspace, as "always" does when you are asked
    Allow {
        /// The rule: `tool` or `tool(pattern)`, such as `run_command(git push)`
        rule: String,
    },
    /// Remove a rule that was allowed with "always" in this workspace, so that you are asked again
    Forget {
        /// The rule, as the list shows it
        rule: String,
    },
    /// Trust marked files as your own again. Runs wrote text from outside to them, so read them first
    Clear {
        /// Files or folders, as the list shows them
        #[arg(required_unless_present = "all")]
        files: Vec<String>,
        /// Clear all of them
        #[arg(long, conflicts_with = "files")]
        all: bool,
    },
}
