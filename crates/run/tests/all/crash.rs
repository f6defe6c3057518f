//! Every crash of the pure machine: the process ends at every append, in three ways, and another goes on.
//!
//! The driver here is the engine's loop in small: append, then act. Two broken drivers show that the verdict notices.

#![allow(clippy::panic, clippy::expect_used, reason = "a broken script shall stop the test")]

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{World, calls, gives, model_fails, opaque, plan, says, start, talk};
use updraft_run::{
    Effect, EffectAddress, EffectClass, EffectFacts, EffectKind, Event, Input, PreparedCall, Record, RecoveryFinding,
    RecoveryOutcome, Reply, Run, RunMode, Timestamp, ToolCall,
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
#[derive(Clone, Default)]
struct Disk {
    journal: Vec<Record>,
    /// The journal, folded: folding all of it at every append would make each life cost the square of its length.
    folded: Run,
    appends: usize,
    crashes: Vec<(usize, Crash)>,
    /// How often each attempt touched the world.
    performed: BTreeMap<(EffectAddress, u32), u32>,
    /// Effects performed although their reply was stored.
    performed_again: Vec<EffectAddress>,
    /// Steps whose next question said that an outcome is unknown.
    told: BTreeSet<String>,
}

struct Ended;

/// One process.
struct Process<'a> {
    world: World,
    disk: &'a mut Disk,
    /// What the code that this process runs has wished for so far. Code ends with its process.
    wished: BTreeMap<EffectAddress, usize>,
    driver: Driver,
    epoch: u64,
}

/// What the code of a tool calls: calls of every class where it may not be run again, and reads where it may.
fn wishes(tool: &str) -> &'static [&'static str] {
    match tool {
        "run_python" => &["write", "send", "fetch", "send"],
        "fetch" => &["read", "read"],
        _ => &[],
    }
}

/// Parallel steps, calls of every class, code that calls tools, a failure with a new plan, and a question.
fn script() -> World {
    World::default()
        .says("plan", [plan(&["a", "b", "c < a b"]), plan(&["d < a", "e < d"])])
        .says("a", [calls(&["read x", "send mail", "write y"]), calls(&["send more"]), says("A")])
        .says("b", [calls(&["read z"]), model_fails("the model is gone")])
        .says("d", [calls(&["ask_user which?"]), says("D")])
        .says("e", [calls(&["write z", "fetch u", "run_python c"]), says("E")])
        .gives("read", gives("text"))
        .gives("fetch", gives("page"))
        .gives("send", gives("sent"))
        .gives("write", gives("written"))
        .gives("run_python", gives("ran"))
        .prepares("send", opaque())
        .prepares("run_python", opaque())
        .prepares("write", PreparedCall { class: EffectClass::Checkable, ..PreparedCall::default() })
        .prepares("fetch", PreparedCall { class: EffectClass::Idempotent, ..PreparedCall::default() })
}

impl Process<'_> {
    /// Decides, and returns once that is on disk.
    fn append(&mut self, input: Input) -> Result<(), Ended> {
        let n = self.disk.appends;
        self.disk.appends += 1;
        let acted = matches!(input, Input::Replied { .. });
        let crash = self.disk.crashes.iter().find(|(at, _)| *at == n).map(|(_, crash)| *crash);
        let record = self.world.run.advance(input, Timestamp(n as i64));
        match crash {
            Some(Crash::BeforeCommit) => return Err(Ended),
            Some(Crash::AfterActing) if acted => return Err(Ended),
            Some(Crash::AfterCommit | Crash::AfterActing) | None => {
                self.disk.folded.record(&record);
                self.disk.journal.push(record);
            }
        }
        assert_eq!(self.disk.folded, self.world.run);
        assert_eq!(self.world.run.audit(), Vec::<String>::new());
        if crash == Some(Crash::AfterCommit) { Err(Ended) } else { Ok(()) }
    }

    fn drive(&mut self) -> Result<(), Ended> {
        while !self.world.run.is_over() {
            let startable: Vec<EffectAddress> = self
                .world
                .run
                .open()
                .keys()
                .filter(|id| self.world.run.may_begin(id) && !self.is_question(id))
                .cloned()
                .collect();
            for id in &startable {
                self.begin(id)?;
            }
            let question = self.world.run.open().keys().find(|id| self.is_question(id)).cloned();
            let begun = self.world.run.open().iter().find(|(_, open)| open.begun.is_some()).map(|(id, _)| id.clone());
            match (begun.or_else(|| startable.into_iter().next()), question) {
                (Some(id), _) => self.go_on(&id)?,
                (None, Some(_)) => self.append(Input::Answer { id: None, text: "blue".into() })?,
                (None, None) => panic!("the run is stuck: {:?}", self.world.run.open()),
            }
        }
        Ok(())
    }

    fn is_question(&self, id: &EffectAddress) -> bool {
        matches!(self.world.run.open()[id].effect, Effect::Question { .. })
    }

    fn begin(&mut self, id: &EffectAddress) -> Result<(), Ended> {
        let step = self.world.run.step(&id.step).expect("an open effect has a step");
        if id.kind == EffectKind::Ask && talk(step).contains("outcome unknown") {
            self.disk.told.insert(id.step.to_string());
        }
        let attempt = self.world.run.open()[id].attempt;
        if self.driver == Driver::ActsBeforeItAppends {
            self.act(id, attempt);
        }
        if self.driver != Driver::LeavesOutBegun {
            self.append(Input::Begun { id: id.clone(), attempt, epoch: self.epoch, facts: EffectFacts::default() })?;
        }
        Ok(())
    }

    /// Goes on with what has begun: code wishes for calls, two at a time, and ends when they have.
    fn go_on(&mut self, id: &EffectAddress) -> Result<(), Ended> {
        let name = self.world.run.call_at(id).map(|call| call.name).unwrap_or_default();
        let wishes = if id.inner.is_none() { wishes(&name) } else { &[] };
        let inner: Vec<EffectAddress> =
            self.world.run.open().keys().filter(|open| open.is_within(id)).cloned().collect();
        let wished = self.wished.entry(id.clone()).or_default();
        match (wishes.get(*wished), inner.first()) {
            (Some(name), _) if inner.len() < 2 => {
                *wished += 1;
                let args = serde_json::Value::Null;
                let call = ToolCall { id: String::new(), name: (*name).into(), args, fault: None };
                let prepared = Box::new(self.world.prepared.get(*name).cloned().unwrap_or_default());
                self.append(Input::Wished { under: id.clone(), call, prepared })
            }
            (_, Some(inner)) => self.finish(inner),
            (_, None) => self.finish(id),
        }
    }

    fn finish(&mut self, id: &EffectAddress) -> Result<(), Ended> {
        let attempt = self.world.run.open()[id].attempt;
        if self.driver != Driver::ActsBeforeItAppends {
            self.act(id, attempt);
        }
        let world = &self.world;
        let reply = world.reply_to(id, &self.world.run.open()[id]).unwrap_or_else(|| panic!("no script for {id}"));
        let prepared = world.prepare(id, &reply);
        self.append(Input::Replied { id: id.clone(), attempt, reply, prepared })
    }

    /// Touches the world.
    fn act(&mut self, id: &EffectAddress, attempt: u32) {
        *self.disk.performed.entry((id.clone(), attempt)).or_default() += 1;
        if stored_replies(&self.disk.journal).any(|(stored, _)| stored == id) {
            self.disk.performed_again.push(id.clone());
        }
    }
}

fn stored_replies(journal: &[Record]) -> impl Iterator<Item = (&EffectAddress, &Reply)> {
    journal.iter().flat_map(|record| &record.events).filter_map(|event| match event {
        Event::Replied { id, reply, .. } => Some((id, reply)),
        _ => None,
    })
}

/// What a look at the world tells: writes leave traces, mails do not.
fn look(run: &Run, disk: &Disk) -> Vec<RecoveryFinding> {
    let writes =
        run.open().keys().filter(|id| id.kind == EffectKind::Call && run.class_of(id) == EffectClass::Checkable);
    let found = |id: &EffectAddress| {
        let happened = disk.performed.keys().any(|(performed, _)| performed == id);
        if happened { RecoveryOutcome::Happened(gives("written")) } else { RecoveryOutcome::DidNotHappen }
    };
    writes.map(|id| RecoveryFinding { id: id.clone(), found: found(id) }).collect()
}

/// One process more. Whether the run came to its end in it.
fn live_once(driver: Driver, disk: &mut Disk, epoch: u64) -> bool {
    let mut run = Run::default();
    disk.journal.iter().for_each(|record| run.record(record));
    let found = look(&run, disk);
    let is_new = disk.journal.is_empty();
    disk.folded = run.clone();
    let mut process = Process { world: World { run, ..script() }, disk, wished: BTreeMap::new(), driver, epoch };
    let first = if is_new { Input::Start(Box::new(start(RunMode::Plan))) } else { Input::Recovered { found } };
    process.append(first).and_then(|()| process.drive()).is_ok()
}

/// Runs to the end from here, through all crashes.
fn live_on(driver: Driver, mut disk: Disk) -> Disk {
    let ended = (0..20).any(|epoch| live_once(driver, &mut disk, epoch));
    assert!(ended, "the run does not end, whatever is tried");
    disk
}

fn live(driver: Driver, crashes: &[(usize, Crash)]) -> Disk {
    live_on(driver, Disk { crashes: crashes.to_vec(), ..Disk::default() })
}

/// Whether all promises were kept; the first that was not, in words.
fn verdict(disk: &Disk) -> Result<(), String> {
    let run = Run::fold(disk.journal.clone());
    if run.status_word() != "done" || run.answer() != "E" {
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

/// By the script: `send` and code that sends may not be done twice at all, `write` only if it did not happen, nor anything
/// that code called. The rest may.
fn may_be_done_twice(id: &EffectAddress) -> bool {
    let place = (id.step.as_str(), id.turn, id.kind, id.n);
    let is_careful = matches!(
        place,
        ("a", 0, EffectKind::Call, 1 | 2) | ("a", 1, EffectKind::Call, 0) | ("e", 0, EffectKind::Call, 0 | 2)
    );
    !is_careful && id.inner.is_none()
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
        for n in 0..appends {
            // All lives are the same up to here.
            let mut begun = Disk { crashes: vec![(n, first)], ..Disk::default() };
            live_once(Driver::Right, &mut begun, 0);
            for (second, later) in KINDS.into_iter().flat_map(|second| (1..4).map(move |later| (second, later))) {
                let crashes = vec![(n, first), (n + later, second)];
                let disk = live_on(Driver::Right, Disk { crashes: crashes.clone(), ..begun.clone() });
                assert_eq!(verdict(&disk), Ok(()), "{crashes:?}");
            }
        }
    }
}

#[test]
fn whatever_code_had_called_is_never_called_again_and_the_step_is_told_what_is_unknown() {
    let appends = live(Driver::Right, &[]).appends;
    let lives = KINDS.into_iter().flat_map(|kind| (0..appends).map(move |n| live(Driver::Right, &[(n, kind)])));
    let (mut in_doubt, mut again) = (0, 0);
    for disk in lives {
        let inner = disk.performed.iter().filter(|((id, _), _)| id.inner.is_some());
        assert!(inner.clone().all(|(_, times)| *times == 1), "{:?}", disk.performed);
        in_doubt += stored_replies(&disk.journal)
            .filter(|(id, reply)| id.inner.is_some() && matches!(reply, Reply::InDoubt { .. }))
            .count();
        again += inner
            .filter(|((id, _), _)| id.inner.is_some_and(|k| k as usize >= wishes("fetch").len()) && id.n == 1)
            .count();
    }
    assert!(in_doubt > 0, "no crash left a call from code in doubt");
    assert!(again > 0, "no code that only reads was run again");
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
