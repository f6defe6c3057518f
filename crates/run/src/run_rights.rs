//! How much a run may do, and what one run, or the process that would continue it, may do beyond another.

use crate::confinement::Level;
use crate::goal::ApprovalMode;
use crate::grants::CommandGrants;
use crate::state::Run;

/// How much a run may do, or the tools of a process that would continue it.
#[derive(Clone, Copy, Debug)]
pub struct RunRights<'a> {
    /// Who decides about its calls.
    pub approvals: ApprovalMode,
    /// How far its commands are confined.
    pub level: Level,
    /// What its commands are granted. Absent if it was not recorded: then nothing is compared.
    pub grants: Option<&'a CommandGrants>,
}

/// A right that one has and another has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtraRight {
    /// Nobody is asked before its calls.
    Unasked,
    /// It may change files.
    MayWrite,
    /// Its commands are less confined.
    LessConfined,
    /// Its commands are granted more.
    MoreGranted(Box<CommandGrants>),
}

impl RunRights<'_> {
    /// The rights here that `there` does not have.
    pub fn beyond(&self, there: &RunRights<'_>) -> Vec<ExtraRight> {
        let mut extra = Vec::new();
        if self.approvals == ApprovalMode::Allow && there.approvals != ApprovalMode::Allow {
            extra.push(ExtraRight::Unasked);
        }
        if self.approvals != ApprovalMode::ReadOnly && there.approvals == ApprovalMode::ReadOnly {
            extra.push(ExtraRight::MayWrite);
        }
        if self.level.is_less_than(there.level) {
            extra.push(ExtraRight::LessConfined);
        }
        let more = self.grants.zip(there.grants).map(|(here, there)| here.beyond(there));
        extra.extend(more.filter(|more| *more != CommandGrants::default()).map(Box::new).map(ExtraRight::MoreGranted));
        extra
    }
}

impl Run {
    /// What it may do.
    pub fn own_rights(&self) -> RunRights<'_> {
        let settings = &self.settings;
        RunRights { approvals: settings.approvals, level: settings.sandbox, grants: settings.grants.as_ref() }
    }
}
