//! Every crash of the pure machine: the process ends at every append, in three ways, and another goes on.
//!
//! The driver here is the engine's loop in small: append, then act. Two broken drivers show that the verdict notices.

#![allow(clippy::panic, clippy::expect_used, reason = "a broken script shall stop the test")]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use support::{World, calls, gives, model_fails, opaque, plan, says, start, talk};
use updraft_run::{
    Address, Class, Effect, Event, Facts, Finding, Found, Input, Kind, Mode, Prepared, Record, Reply, Run, Timestamp,
};

/// When the process ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Crash {
    /// The n-th append is lost.
    BeforeCommit,
    /// The n-th append is on disk, and nothing that follows from it was begun.
    AfterCommit,
    /// The world was touched, and the reply, the n-th append, is lost.
    AfterActing,
}

/// What the driver does in which order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Driver {
    Right,
    ActsBeforeItAppends,
    LeavesOutBegun,
}

/// What outlives the process.
#[derive(Default)]
struct Disk {
    journal: Vec<Record>,
    appends: usize,
    crashes: Vec<(usize, Crash)>,
    /// How often each attempt touched the world.
    performed: BTreeMap<(Address, u32), u32>,
    /// Effects performed although their reply was stored.
    performed_again: Vec<Address>,
    /// Steps whose next question said that an outcome is unknown.
    told: BTreeSet<String>,
}

struct Ended;

/// One process.
struct Process<'a> {
    run: Run,
    disk: &'a mut Disk,
    script: &'a World,
    driver: Driver,
    epoch: u64,
}

/// Parallel steps, calls of every class, a failure with a new plan, and a question.
fn script() -> World {
    World::default()
        .says("plan", [plan(&["a", "b", "c < a b"]), plan(&["d < a", "e < d"])])
        .says("a", [calls(&["read x", "send mail", "write y"]), calls(&["send more"]), says("A")])
        .says("b", [calls(&["read z"]), model_fails("the model is gone")])
        .says("d", [calls(&["ask_user which?"]), says("D")])
        .says("e", [calls(&["write z", "fetch u"]), says("E")])
        .gives("read", gives("text"))
        .gives("fetch", gives("page"))
        .gives("send", gives("sent"))
        .gives("write", gives("written"))
        .prepares("send", opaque())
        .prepares("write", Prepared { class: Class::Checkable, ..Prepared::default() })
        .prepares("fetch", Prepared { class: Class::Idempotent, ..Prepared::default() })
}

impl Process<'_> {
    /// Decides, and returns once that is on disk.
    fn append(&mut self, input: Input) -> Result<(), Ended> {
        let n = self.disk.appends;
        self.disk.appends += 1;
        let acted = matches!(input, Input::Replied { .. });
        let crash = self.disk.crashes.iter().find(|(at, _)| *at == n).map(|(_, crash)| *crash);
        let record = self.run.advance(input, Timestamp(n as i64));
        match crash {
            Some(Crash::BeforeCommit) => return Err(Ended),
            Some(Crash::AfterActing) if acted => return Err(Ended),
            Some(Crash::AfterCommit | Crash::AfterActing) | None => self.disk.journal.push(record),
        }
        assert_eq!(Run::fold(self.disk.journal.clone()), self.run);
        assert_eq!(self.run.audit(), Vec::<String>::new());
        if crash == Some(Crash::AfterCommit) { Err(Ended) } else { Ok(()) }
    }

    fn drive(&mut self) -> Result<(), Ended> {
        while !self.run.is_over() {
            let startable: Vec<Address> =
                self.run.open().keys().filter(|id| self.run.may_begin(id) && !self.is_question(id)).cloned().collect();
            for id in &startable {
                self.begin(id)?;
            }
            let question = self.run.open().keys().find(|id| self.is_question(id)).cloned();
            let begun = self.run.open().iter().find(|(_, open)| open.begun.is_some()).map(|(id, _)| id.clone());
            match (begun.or_else(|| startable.into_iter().next()), question) {
                (Some(id), _) => self.finish(&id)?,
                (None, Some(_)) => self.append(Input::Answer { id: None, text: "blue".into() })?,
                (None, None) => panic!("the run is stuck: {:?}", self.run.open()),
            }
        }
        Ok(())
    }

    fn is_question(&self, id: &Address) -> bool {
        matches!(self.run.open()[id].effect, Effect::Question { .. })
    }

    fn begin(&mut self, id: &Address) -> Result<(), Ended> {
        let step = self.run.step(&id.step).expect("an open effect has a step");
        if id.kind == Kind::Ask && talk(step).contains("outcome unknown") {
            self.disk.told.insert(id.step.to_string());
        }
        let attempt = self.run.open()[id].attempt;
        if self.driver == Driver::ActsBeforeItAppends {
            self.act(id, attempt);
        }
        if self.driver != Driver::LeavesOutBegun {
            self.append(Input::Begun { id: id.clone(), attempt, epoch: self.epoch, facts: Facts::default() })?;
        }
        Ok(())
    }

    fn finish(&mut self, id: &Address) -> Result<(), Ended> {
        let attempt = self.run.open()[id].attempt;
        if self.driver != Driver::ActsBeforeItAppends {
            self.act(id, attempt);
        }
        let world = World { run: self.run.clone(), ..self.script.clone() };
        let reply = world.reply_to(id, &self.run.open()[id]).unwrap_or_else(|| panic!("no script for {id}"));
        let prepared = world.prepare(id, &reply);
        self.append(Input::Replied { id: id.clone(), attempt, reply, prepared })
    }

    /// Touches the world.
    fn act(&mut self, id: &Address, attempt: u32) {
        *self.disk.performed.entry((id.clone(), attempt)).or_default() += 1;
        if stored_replies(&self.disk.journal).any(|(stored, _)| stored == id) {
            self.disk.performed_again.push(id.clone());
        }
    }
}

fn stored_replies(journal: &[Record]) -> impl Iterator<Item = (&Address, &Reply)> {
    journal.iter().flat_map(|record| &record.events).filter_map(|event| match event {
        Event::Replied { id, reply, .. } => Some((id, reply)),
        _ => None,
    })
}

/// What a look at the world tells: writes leave traces, mails do not.
fn look(run: &Run, disk: &Disk) -> Vec<Finding> {
    let writes = run.open().keys().filter(|id| id.kind == Kind::Call && run.class_of(id) == Class::Checkable);
    let found = |id: &Address| {
        let happened = disk.performed.keys().any(|(performed, _)| performed == id);
        if happened { Found::Happened(gives("written")) } else { Found::DidNotHappen }
    };
    writes.map(|id| Finding { id: id.clone(), found: found(id) }).collect()
}

/// Runs to the end, through all crashes.
fn live(driver: Driver, crashes: &[(usize, Crash)]) -> Disk {
    let script = script();
    let mut disk = Disk { crashes: crashes.to_vec(), ..Disk::default() };
    for epoch in 0..20 {
        let run = Run::fold(disk.journal.clone());
        let found = look(&run, &disk);
        let is_new = disk.journal.is_empty();
        let mut process = Process { run, disk: &mut disk, script: &script, driver, epoch };
        let first = if is_new { Input::Start(Box::new(start(Mode::Plan))) } else { Input::Recovered { found } };
        if process.append(first).and_then(|()| process.drive()).is_ok() {
            return disk;
        }
    }
    panic!("the run does not end, whatever is tried");
}

/// Whether all promises were kept; the first that was not, in words.
fn verdict(disk: &Disk) -> Result<(), String> {
    let run = Run::fold(disk.journal.clone());
    if run.status() != "done" || run.answer() != "E" {
        return Err(format!("it came to {:?} ({})", run.answer(), run.status()));
    }
    if let Some(((id, attempt), n)) = disk.performed.iter().find(|(_, n)| **n > 1) {
        return Err(format!("attempt {attempt} of {id} was performed {n} times"));
    }
    if let Some(id) = disk.performed_again.first() {
        return Err(format!("{id} was performed after its reply was stored"));
    }
    for id in disk.performed.keys().map(|(id, _)| id) {
        let times: u32 = disk.performed.iter().filter(|((other, _), _)| other == id).map(|(_, n)| n).sum();
        if times > 1 && !may_be_done_twice(id) {
            return Err(format!("{id} may not be done twice, and was done {times} times"));
        }
    }
    for (id, reply) in stored_replies(&disk.journal) {
        let was_performed = disk.performed.keys().any(|(performed, _)| performed == id);
        match reply {
            Reply::InDoubt { .. } if !disk.told.contains(id.step.as_str()) => {
                return Err(format!("nobody was told that the outcome of {id} is unknown"));
            }
            Reply::Output(_) | Reply::Answer(_) if !was_performed => return Err(format!("{id} never happened")),
            _ => {}
        }
    }
    Ok(())
}

/// By the script: `send` may not be done twice at all, `write` only if it did not happen, the rest may.
fn may_be_done_twice(id: &Address) -> bool {
    let place = (id.step.as_str(), id.turn, id.kind, id.n);
    !matches!(place, ("a", 0, Kind::Call, 1 | 2) | ("a", 1, Kind::Call, 0) | ("e", 0, Kind::Call, 0))
}

const KINDS: [Crash; 3] = [Crash::BeforeCommit, Crash::AfterCommit, Crash::AfterActing];

fn doubts(disk: &Disk) -> usize {
    stored_replies(&disk.journal).filter(|(_, reply)| matches!(reply, Reply::InDoubt { .. })).count()
}

#[test]
fn without_a_crash_every_effect_is_performed_once_and_nothing_is_in_doubt() {
    let disk = live(Driver::Right, &[]);
    assert_eq!(verdict(&disk), Ok(()));
    assert_eq!(doubts(&disk), 0);
    assert!(disk.performed.values().all(|n| *n == 1));
    assert!(disk.appends > 30, "the script is long enough to crash in: {}", disk.appends);
}

#[test]
fn a_crash_at_any_append_loses_nothing_and_repeats_nothing_that_must_not_be() {
    let appends = live(Driver::Right, &[]).appends;
    let mut in_doubt = 0;
    for kind in KINDS {
        for n in 0..appends {
            let disk = live(Driver::Right, &[(n, kind)]);
            assert_eq!(verdict(&disk), Ok(()), "{kind:?} at append {n}");
            in_doubt += doubts(&disk);
        }
    }
    assert!(in_doubt > 0, "no crash left a mail in doubt: the script does not try what it should");
}

#[test]
fn a_second_crash_while_recovering_changes_nothing_of_that() {
    let appends = live(Driver::Right, &[]).appends;
    for first in KINDS {
        for second in KINDS {
            for n in 0..appends {
                for later in 1..4 {
                    let crashes = [(n, first), (n + later, second)];
                    assert_eq!(verdict(&live(Driver::Right, &crashes)), Ok(()), "{crashes:?}");
                }
            }
        }
    }
}

#[test]
fn a_call_cut_off_in_the_middle_is_in_doubt_and_the_next_question_says_so() {
    let appends = live(Driver::Right, &[]).appends;
    let cut_off = (0..appends).map(|n| live(Driver::Right, &[(n, Crash::AfterActing)])).find(|disk| doubts(disk) > 0);
    let disk = cut_off.expect("some append is the reply of a mail");
    let (id, reply) = stored_replies(&disk.journal).find(|(_, reply)| matches!(reply, Reply::InDoubt { .. })).unwrap();
    assert_eq!(id.to_string(), "a/0/0/call.1");
    assert!(matches!(reply, Reply::InDoubt { evidence } if evidence.contains("left no trace")));
    assert!(disk.told.contains("a"));
}

#[test]
fn a_driver_that_acts_before_it_appends_is_found_out() {
    let appends = live(Driver::ActsBeforeItAppends, &[]).appends;
    let verdicts = (0..appends).map(|n| verdict(&live(Driver::ActsBeforeItAppends, &[(n, Crash::BeforeCommit)])));
    let wrong: Vec<String> = verdicts.filter_map(Result::err).collect();
    assert!(wrong.iter().any(|why| why.contains("performed 2 times") || why.contains("done 2 times")), "{wrong:?}");
}

#[test]
fn a_driver_that_leaves_out_begun_is_found_out() {
    let appends = live(Driver::LeavesOutBegun, &[]).appends;
    let verdicts = (0..appends).map(|n| verdict(&live(Driver::LeavesOutBegun, &[(n, Crash::AfterActing)])));
    let wrong: Vec<String> = verdicts.filter_map(Result::err).collect();
    assert!(wrong.iter().any(|why| why.contains("performed 2 times") || why.contains("done 2 times")), "{wrong:?}");
}
