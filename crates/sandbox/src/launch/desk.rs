//! What our process asks of the launcher while the program runs: about guarded files, or to end.

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::sockets::Sockets;
use crate::channel::Channel;
use crate::guard::{Guard, Made, Outcome};
use crate::order::{News, Request, Verdict};

/// The line to our process, and what is looked after in its name.
pub(super) struct Desk<'a> {
    pub(super) line: &'a Channel,
    guards: &'a [Guard],
    aside: Option<&'a Path>,
    sockets: Option<&'a Sockets>,
    /// Everything that the program did was looked after, and it was told nothing since.
    is_settled: Cell<bool>,
}

/// Whether the program goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    GoOn,
    End,
}

impl<'a> Desk<'a> {
    pub(super) fn new(
        line: &'a Channel,
        guards: &'a [Guard],
        aside: Option<&'a Path>,
        sockets: Option<&'a Sockets>,
    ) -> Self {
        Desk { line, guards, aside, sockets, is_settled: Cell::new(false) }
    }

    /// The same guards, at the end of another line.
    pub(super) fn beside<'b>(&self, line: &'b Channel) -> Desk<'b>
    where
        'a: 'b,
    {
        Desk::new(line, self.guards, self.aside, self.sockets)
    }

    /// Reads one request, which is there, and answers it. A line that is closed asks for the end.
    pub(super) fn answer(&self) -> Wish {
        let news = match self.line.receive::<Request>() {
            Ok(Some((Request::IsCurrent, _))) => {
                let is_current =
                    self.guards.iter().all(Guard::is_as_before) && self.sockets.is_none_or(Sockets::are_as_before);
                // One that is not current is not used again, so that what is new is never its work.
                self.is_settled.set(self.is_settled.get() && !is_current);
                News::Current(is_current)
            }
            Ok(Some((request @ (Request::LookAfter | Request::LookMeanwhile), _))) => {
                let outcome = self.look(None);
                self.is_settled.set(matches!(request, Request::LookAfter));
                News::LookedAfter(Verdict {
                    moved_aside: outcome.moved,
                    troubles: outcome.troubles,
                    ..Verdict::default()
                })
            }
            Ok(None) | Err(_) => return Wish::End,
        };
        if self.line.send(&news, None).is_ok() { Wish::GoOn } else { Wish::End }
    }

    /// What is looked after once every process is gone. What others did since the last look is not the program's, nor what
    /// it did not make where that was gathered: in the folder given.
    pub(super) fn last_look(&self, gathered: Option<(&Path, &Made)>) -> Outcome {
        if self.is_settled.get() { Outcome::default() } else { self.look(gathered) }
    }

    fn look(&self, gathered: Option<(&Path, &Made)>) -> Outcome {
        let mut all = Outcome::default();
        for guard in self.guards {
            let made = gathered.filter(|(folder, _)| *folder == guard.folder()).map(|(_, made)| made);
            let outcome = guard.after(self.aside, made);
            all.moved.extend(outcome.moved);
            all.troubles.extend(outcome.troubles);
        }
        all
    }
}

impl AsFd for Desk<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }
}
