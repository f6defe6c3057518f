//! The sources that a run's answer cites, compared with the files as they are now.

use std::io::Read;
use std::path::Path;

use serde_json::{Value, json};
use updraft_journal::hash_of;
use updraft_run::{Citation, CitationFinding, StepId, find_quotation};
use updraft_workspace::{LinkPolicy, Workspace, text};

use crate::RunReport;

/// Larger files are not compared with what was quoted from them.
const LARGEST_SOURCE: u64 = 64 << 20;

/// A citation of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CitedSource {
    /// The step whose result it is in.
    pub step: StepId,
    /// The citation, as it was checked in the run.
    pub citation: Citation,
    /// The source now.
    pub state: SourceState,
}

/// A source now, compared with what was quoted from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceState {
    /// It is the same file, or still contains the words.
    Same,
    /// It no longer contains them.
    Changed,
    /// It is not there.
    Gone,
    /// It is not a file of the workspace, or cannot be compared.
    Unknown,
}

/// The citations of the steps whose results are the answer.
pub fn sources_of(report: &RunReport) -> Vec<CitedSource> {
    let workspace = Workspace::open(Path::new(&report.head.workspace)).ok();
    let workspace = workspace.as_ref();
    let steps = report.run.answering_steps().into_iter();
    let cited = steps.flat_map(|step| {
        step.citations.iter().map(move |citation| CitedSource {
            step: step.spec.id.clone(),
            citation: citation.clone(),
            state: SourceState::of(citation, workspace),
        })
    });
    cited.collect()
}

impl CitedSource {
    /// The citation, its step and how it stands, as an object.
    pub fn to_json(&self) -> Value {
        let mut value = json!(self.citation);
        value["step"] = self.step.as_str().into();
        value["holds"] = (self.citation.finding == CitationFinding::Holds).into();
        value["changed_since"] = matches!(self.state, SourceState::Changed | SourceState::Gone).into();
        value["status"] = self.status().into();
        value
    }

    /// Whether the quoted words hold, in a few words.
    pub fn status(&self) -> String {
        match (&self.citation.finding, self.state) {
            (CitationFinding::Holds, SourceState::Same | SourceState::Unknown) => "holds".to_owned(),
            (CitationFinding::Holds, SourceState::Changed) => "held; the source has changed since".to_owned(),
            (CitationFinding::Holds, SourceState::Gone) => "held; the source is gone".to_owned(),
            (CitationFinding::Unquoted, _) => "quotes nothing".to_owned(),
            (finding, _) => finding.fault().unwrap_or_else(|| "not checked".to_owned()),
        }
    }
}

impl SourceState {
    fn of(citation: &Citation, workspace: Option<&Workspace>) -> Self {
        let is_address = citation.source.contains("://");
        let Some(workspace) = workspace.filter(|_| !is_address) else { return Self::Unknown };
        let Ok(path) = workspace.locate(&citation.source) else { return Self::Unknown };
        let Ok((file, about)) = workspace.open_file(&path, LinkPolicy::Inside) else { return Self::Gone };
        let mut bytes = Vec::new();
        if about.len > LARGEST_SOURCE || file.take(LARGEST_SOURCE).read_to_end(&mut bytes).is_err() {
            return Self::Unknown;
        }
        if citation.hash.as_ref().is_some_and(|hash| *hash == hash_of(&bytes).to_string()) {
            return Self::Same;
        }
        match text::decode(&bytes) {
            Some((text, _)) if !find_quotation(&text, &citation.quote).is_empty() => Self::Same,
            None if citation.hash.is_none() => Self::Unknown,
            Some(_) | None => Self::Changed,
        }
    }
}
