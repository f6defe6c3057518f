//! Handles the requests that our process sends to the launcher while the program runs: about guarded files, or to end
//! it.

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::sockets::ServiceSockets;
use crate::channel::Channel;
use crate::guard::{ChangedPaths, FolderGuard, GuardReport};
use crate::protocol::{LauncherEvent, LauncherRequest, LauncherResult};

/// The connection to our process, and the guards that its requests are about.
pub(super) struct RequestHandler<'a> {
    pub(super) line: &'a Channel,
    guards: &'a [FolderGuard],
    aside: Option<&'a Path>,
    sockets: Option<&'a ServiceSockets>,
    /// Whether everything that the program did has been checked, and the program was not used since.
    is_settled: Cell<bool>,
}

/// Whether the program continues.
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

    /// A handler with the same guards for another connection.
    pub(super) fn beside<'b>(&self, line: &'b Channel) -> RequestHandler<'b>
    where
        'a: 'b,
    {
        RequestHandler::new(line, self.guards, self.aside, self.sockets)
    }

    /// Reads one request, which must have arrived, and answers it. A closed connection is a request to end.
    pub(super) fn answer(&self) -> ProgramDecision {
        let news = match self.line.receive::<LauncherRequest>() {
            Ok(Some((LauncherRequest::IsCurrent, _))) => {
                let is_current = self.guards.iter().all(FolderGuard::is_as_before)
                    && self.sockets.is_none_or(ServiceSockets::are_as_before);
                // A program that is not current is not used again, so new files are never its work.
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

    /// The last check, once every process is gone. Files that others changed since the program was settled are not
    /// attributed to it. In the given folder, whose changes were staged, only those changes are attributed to it.
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
