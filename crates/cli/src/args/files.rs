//! Arguments of the commands that write runs to files and read them again.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Everything, for `updraft import`
    Jsonl,
    /// NetworkX node-link data
    NodeLink,
    /// For people
    Markdown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EdgeNames {
    /// `edges`, as NetworkX 3.6 and newer
    Edges,
    /// `links`, as NetworkX up to 3.5
    Links,
    /// Both, for either
    Both,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The run's id, any unique beginning of it, or `last`
    #[arg(value_name = "RUN", required_unless_present = "all", add = crate::complete::runs())]
    pub(crate) run: Option<String>,
    /// Every run
    #[arg(long, conflicts_with = "run", requires = "out")]
    pub(crate) all: bool,
    /// The form of the file
    #[arg(long, value_enum, default_value = "jsonl")]
    pub(crate) format: ExportFormat,
    /// Node-link data: the name of the list of edges; older NetworkX reads `links`, newer `edges`
    #[arg(long, value_enum, default_value = "both", value_name = "NAME")]
    pub(crate) edges: EdgeNames,
    /// A folder to write into, as YYYY/MM/DD/session_<id>; standard output if left out
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The file; `-` is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Import it under this id
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Node-link data: the model that goes on with what was not done
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// Node-link data: the folder it may work in (default: the current one)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
}
