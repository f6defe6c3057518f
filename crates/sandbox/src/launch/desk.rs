//! What our process asks of the launcher while the program runs: about guarded files, or to end.

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::sockets::ServiceSockets;
use crate::channel::Channel;
use crate::guard::{ChangedPaths, FolderGuard, GuardReport};
use crate::order::{LauncherEvent, LauncherRequest, LauncherResult};

/// The line to our process, and what is looked after in its name.
pub(super) struct RequestHandler<'a> {
    pub(super) line: &'a Channel,
    guards: &'a [FolderGuard],
    aside: Option<&'a Path>,
    sockets: Option<&'a ServiceSockets>,
    /// Everything that the program did was looked after, and it was told nothing since.
    is_settled: Cell<bool>,
}

/// Whether the program goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramDecision {
    GoOn,
    End,
}

impl<'a> RequestHandler<'a> {
    pub(super) fn new(
        line: &'a Channel,
        guards: &'a [FolderGuard],
        aside: Option<&'a Path>,
        sockets: Option<&'a ServiceSockets>,
    ) -> Self {
        RequestHandler { line, guards, aside, sockets, is_settled: Cell::new(false) }
    }

    /// The same guards, at the end of another line.
    pub(super) fn beside<'b>(&self, line: &'b Channel) -> RequestHandler<'b>
    where
        'a: 'b,
    {
        RequestHandler::new(line, self.guards, self.aside, self.sockets)
    }

    /// Reads one request, which is there, and answers it. A line that is closed asks for the end.
    pub(super) fn answer(&self) -> ProgramDecision {
        let news = match self.line.receive::<LauncherRequest>() {
            Ok(Some((LauncherRequest::IsCurrent, _))) => {
                let is_current = self.guards.iter().all(FolderGuard::is_as_before)
                    && self.sockets.is_none_or(ServiceSockets::are_as_before);
                // One that is not current is not used again, so that what is new is never its work.
                self.is_settled.set(self.is_settled.get() && !is_current);
                LauncherEvent::Current(is_current)
            }
            Ok(Some((request @ (LauncherRequest::LookAfter | LauncherRequest::LookMeanwhile), _))) => {
                let outcome = self.look(None);
                self.is_settled.set(matches!(request, LauncherRequest::LookAfter));
                LauncherEvent::LookedAfter(LauncherResult {
                    moved_aside: outcome.moved,
                    troubles: outcome.troubles,
                    ..LauncherResult::default()
                })
            }
            Ok(None) | Err(_) => return ProgramDecision::End,
        };
        if self.line.send(&news, None).is_ok() { ProgramDecision::GoOn } else { ProgramDecision::End }
    }

    /// What is looked after once every process is gone. What others did since the last look is not the program's, nor what
    /// it did not make where that was gathered: in the folder given.
    pub(super) fn last_look(&self, gathered: Option<(&Path, &ChangedPaths)>) -> GuardReport {
        if self.is_settled.get() { GuardReport::default() } else { self.look(gathered) }
    }

    fn look(&self, gathered: Option<(&Path, &ChangedPaths)>) -> GuardReport {
        let mut all = GuardReport::default();
        for guard in self.guards {
            let made = gathered.filter(|(folder, _)| *folder == guard.folder()).map(|(_, made)| made);
            let outcome = guard.after(self.aside, made);
            all.moved.extend(outcome.moved);
            all.troubles.extend(outcome.troubles);
        }
        all
    }
}

impl AsFd for RequestHandler<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }
}
