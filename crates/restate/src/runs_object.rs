//! The object `Runs`, one for each run: it decides about inputs, one request at a time, in milliseconds.
//!
//! | handler | does |
//! |---|---|
//! | `attach` | gives the run to the process that asks, and refuses the one before |
//! | `adopt` | takes a run that exists already, with its records, in one piece or in several |
//! | `advance` | decides about inputs of the process that performs the run's effects |
//! | `tell` | decides about an input that a person gives from anywhere |
//!
//! Nothing here reads a clock, draws a number or performs an effect: the same request and state give the same commands.

use serde::Serialize;
use serde::de::DeserializeOwned;
use updraft_engine::{advance_and_filter, effects_to_begin, open_effects};
use updraft_run::{Input, Record, Run};

use crate::invocation::{Command, Invocation};
use crate::messages::{
    AdoptRequest, AdvanceRequest, AttachRequest, DecidedInput, HandOver, LogEntry, ObjectHead, SentRecord, TellRequest,
};
use crate::service_names::ServiceNames;

/// The key of an object's state.
pub(crate) const HEAD: &str = "head";
/// The key of a log entry's state.
pub(crate) const ENTRY: &str = "entry";

/// Why a handler gives no commands.
#[derive(Debug)]
pub(crate) enum HandlerFault {
    /// It is refused for good, with a status of HTTP.
    Refused(u16, String),
    /// It may work later.
    Later(String),
}

impl HandlerFault {
    pub(crate) fn unreadable(error: impl std::fmt::Display) -> Self {
        Self::Refused(400, format!("the request cannot be read: {error}"))
    }
}

/// A run as its object stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct FoldedRun {
    pub(crate) head: ObjectHead,
    pub(crate) run: Run,
}

pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, HandlerFault> {
    serde_json::from_slice(body).map_err(HandlerFault::unreadable)
}

pub(crate) fn json(value: &impl Serialize) -> Result<Vec<u8>, HandlerFault> {
    serde_json::to_vec(value).map_err(|error| HandlerFault::Later(error.to_string()))
}

/// The state of the object.
pub(crate) fn head_of(invocation: &Invocation) -> Result<ObjectHead, HandlerFault> {
    match invocation.state.get(HEAD) {
        Some(head) => parse(head),
        None => Ok(ObjectHead::default()),
    }
}

/// Gives the run to the process that asks. Restate calls the machine that was registered last, so whoever asks from another
/// one has been taken over from.
pub(crate) fn attach(invocation: &Invocation, machine: &str) -> Result<Vec<Command>, HandlerFault> {
    let head = if let Some(stored) = invocation.replayed.first() {
        parse(stored)?
    } else {
        let asking: Option<AttachRequest> = parse(&invocation.input)?;
        if asking.is_some_and(|asking| asking.machine != machine) {
            let why = "another machine has taken the place of this worker; stop it".to_owned();
            return Err(HandlerFault::Refused(409, why));
        }
        let head = head_of(invocation)?;
        ObjectHead { epoch: head.epoch + 1, ..head }
    };
    let head = json(&head)?;
    Ok(vec![Command::Set { key: HEAD, value: head.clone() }, Command::Output(head)])
}

/// Whether records may be taken over. One that was cut off between two pieces begins anew.
pub(crate) fn check_adopt(request: &AdoptRequest, head: &ObjectHead) -> Result<(), HandlerFault> {
    check_epoch(head, request.epoch)?;
    let is_beginning = request.from == 0 && (head.records == 0 || head.is_partial);
    if is_beginning || (head.is_partial && head.records == request.from) {
        return Ok(());
    }
    Err(HandlerFault::Refused(409, format!("the run has {} records already", head.records)))
}

/// Takes a run with its records, or the next piece of it. Also returns the run. Nothing is handed over before the last piece.
pub(crate) fn adopt(request: AdoptRequest, folded: FoldedRun) -> Result<(LogEntry, FoldedRun), HandlerFault> {
    let FoldedRun { head: ObjectHead { epoch, records: before, mut digest, .. }, mut run } = folded;
    let AdoptRequest { records, is_partial, .. } = request;
    for sent in &records {
        run.record(&sent.read().map_err(HandlerFault::unreadable)?);
        digest = sent.chained(&digest);
    }
    let head = ObjectHead { epoch, records: before + records.len() as u64, digest, is_partial };
    let decided = records.into_iter().map(|record| DecidedInput { record, is_kept: true }).collect();
    let effects = if is_partial { Vec::new() } else { open_effects(&run) };
    let entry = LogEntry { before, decided, effects, is_news: false, head: head.clone() };
    Ok((entry, FoldedRun { head, run }))
}

/// Whether inputs of a process are decided about.
pub(crate) fn check_advance(request: &AdvanceRequest, head: &ObjectHead) -> Result<(), HandlerFault> {
    if head.is_partial {
        return Err(HandlerFault::Refused(409, "the run has not been taken over as a whole".to_owned()));
    }
    check_epoch(head, request.epoch)
}

/// Decides about inputs of the process that performs the run's effects. Also returns the run afterwards.
pub(crate) fn advance(request: &AdvanceRequest, folded: FoldedRun) -> Result<(LogEntry, FoldedRun), HandlerFault> {
    check_advance(request, &folded.head)?;
    let inputs: Result<Vec<Record>, _> = request.inputs.iter().map(SentRecord::read).collect();
    decide(inputs.map_err(HandlerFault::unreadable)?, folded, false)
}

/// Whether an input may come from anywhere, and the run is there.
pub(crate) fn check_tell(request: &TellRequest, head: &ObjectHead) -> Result<(), HandlerFault> {
    if !may_come_from_anywhere(&request.input) {
        let why = "this input can come only from the process that performs the run's effects".to_owned();
        return Err(HandlerFault::Refused(422, why));
    }
    if head.records == 0 || head.is_partial {
        return Err(HandlerFault::Refused(422, "there is no such run".to_owned()));
    }
    Ok(())
}

/// Decides about an input of a person.
pub(crate) fn tell(request: TellRequest, folded: FoldedRun) -> Result<(LogEntry, FoldedRun), HandlerFault> {
    check_tell(&request, &folded.head)?;
    let record = Record { at: request.at, input: request.input, events: Vec::new() };
    decide(vec![record], folded, true)
}

/// Whether an input is one that people give. The others say what happened to effects, and whoever could send them could
/// make a run believe anything.
fn may_come_from_anywhere(input: &Input) -> bool {
    matches!(
        input,
        Input::Tell { .. }
            | Input::Answer { .. }
            | Input::Decline { .. }
            | Input::Verdict { .. }
            | Input::Pause
            | Input::Resume { .. }
            | Input::Cancel { .. }
    )
}

fn decide(inputs: Vec<Record>, folded: FoldedRun, is_news: bool) -> Result<(LogEntry, FoldedRun), HandlerFault> {
    let FoldedRun { mut head, mut run } = folded;
    let (before, mut decided, mut kept) = (head.records, Vec::new(), Vec::new());
    for Record { at, input, .. } in inputs {
        let (record, is_kept) = advance_and_filter(&mut run, input, at);
        let sent = SentRecord::of(&record).map_err(|error| HandlerFault::Refused(422, error.to_string()))?;
        if is_kept {
            head.digest = sent.chained(&head.digest);
            head.records += 1;
            kept.push(record);
        }
        decided.push(DecidedInput { record: sent, is_kept });
    }
    let effects = effects_to_begin(&run, &kept);
    let is_news = is_news && !kept.is_empty();
    let entry = LogEntry { before, decided, effects, is_news, head: head.clone() };
    Ok((entry, FoldedRun { head, run }))
}

fn check_epoch(head: &ObjectHead, epoch: u64) -> Result<(), HandlerFault> {
    if head.epoch == epoch {
        return Ok(());
    }
    let why = format!("another process has taken the run over (epoch {}, not {epoch})", head.epoch);
    Err(HandlerFault::Refused(409, why))
}

/// What a decision brings about: its entry in the log, the effects handed over, the new state, and the result.
pub(crate) fn commands_of(run: &str, entry: &LogEntry, names: &ServiceNames) -> Result<Vec<Command>, HandlerFault> {
    let mut commands = Vec::new();
    let body = json(entry)?;
    if entry.head.records > entry.before {
        let key = ServiceNames::log_key(run, entry.before);
        commands.push(Command::Send { service: names.log(), key, handler: "put", body: body.clone() });
        let news = entry.is_news.then_some(None);
        for effect in entry.effects.iter().cloned().map(Some).chain(news) {
            let body = json(&HandOver { run: run.to_owned(), records: entry.head.records, effect })?;
            commands.push(Command::Send { service: names.hands(), key: String::new(), handler: "perform", body });
        }
        // Last: as long as it is not stored, the same decision is taken again.
        commands.push(Command::Set { key: HEAD, value: json(&entry.head)? });
    }
    commands.push(Command::Output(body));
    Ok(commands)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use updraft_run::{AgentCard, Budget, EarlierRuns, Goal, Roster, RunMode, RunSettings, RunStart, Timestamp};

    use super::*;

    fn names() -> ServiceNames {
        ServiceNames::new("w1").unwrap()
    }

    /// A run with one agent whose model is wanted.
    fn started() -> SentRecord {
        let roster =
            Roster { agents: vec![AgentCard { name: "doer".into(), ..AgentCard::default() }], ..Roster::default() };
        let start = RunStart {
            goal: Goal { text: "do it".into(), mode: RunMode::Agent("doer".into()), ..Goal::default() },
            roster: Arc::new(roster),
            settings: Arc::new(RunSettings::default()),
            budget: Budget::default(),
            plan: None,
            earlier: EarlierRuns::default(),
        };
        let record = Run::default().advance(Input::Start(Box::new(start)), Timestamp(1));
        SentRecord::of(&record).unwrap()
    }

    fn invocation(head: &ObjectHead, input: &impl Serialize) -> Invocation {
        let state = BTreeMap::from([(HEAD.to_owned(), json(head).unwrap())]);
        Invocation { key: "r1".into(), state, input: json(input).unwrap(), ..Invocation::default() }
    }

    fn adopted() -> (LogEntry, FoldedRun) {
        adopt_into(FoldedRun { head: head(3), ..FoldedRun::default() }, vec![started()], false)
    }

    fn head(epoch: u64) -> ObjectHead {
        ObjectHead { epoch, ..ObjectHead::default() }
    }

    fn adopt_into(folded: FoldedRun, records: Vec<SentRecord>, is_partial: bool) -> (LogEntry, FoldedRun) {
        let request = AdoptRequest { epoch: folded.head.epoch, from: folded.head.records, records, is_partial };
        check_adopt(&request, &folded.head).unwrap();
        adopt(request, folded).unwrap()
    }

    #[test]
    fn a_run_that_is_taken_over_has_its_effects_handed_over() {
        let (entry, _) = adopted();
        assert_eq!((entry.before, entry.head.records, entry.effects.len()), (0, 1, 1));
        let commands = commands_of("r1", &entry, &names()).unwrap();
        let said: Vec<String> = commands.iter().map(said).collect();
        assert_eq!(said, ["Log.w1/r1~0/put", "Hands.w1//perform", "set head", "output"]);
    }

    #[test]
    fn a_run_that_is_taken_over_in_pieces_is_one_only_after_the_last() {
        let (whole, folded) = adopted();
        let cancel = || TellRequest { at: Timestamp(5), input: Input::Cancel { by: "ann".into(), step: None } };
        let (told, after) = tell(cancel(), folded).unwrap();
        let second = told.decided[0].record.clone();

        let empty = FoldedRun { head: head(7), ..FoldedRun::default() };
        let (first, partial) = adopt_into(empty, vec![started()], true);
        assert!(first.effects.is_empty() && !whole.effects.is_empty(), "nothing is handed over yet");
        let sent = commands_of("r1", &first, &names()).unwrap();
        assert_eq!(sent.iter().map(said).collect::<Vec<_>>(), ["Log.w1/r1~0/put", "set head", "output"]);
        let refused = |result: Result<(), HandlerFault>| match result {
            Err(HandlerFault::Refused(status, _)) => status,
            other => panic!("{other:?}"),
        };
        let nothing = AdvanceRequest { epoch: 7, inputs: Vec::new() };
        assert_eq!(refused(check_advance(&nothing, &partial.head)), 409);
        assert_eq!(refused(check_tell(&cancel(), &partial.head)), 422);
        let piece = |epoch, from| AdoptRequest { epoch, from, records: vec![started()], is_partial: false };
        assert_eq!(refused(check_adopt(&piece(7, 2), &partial.head)), 409, "one in between is missing");
        // It was cut off here: whoever attaches next begins anew.
        check_adopt(&piece(8, 0), &ObjectHead { epoch: 8, ..partial.head.clone() }).unwrap();

        let (last, complete) = adopt_into(partial, vec![second], false);
        assert_eq!((last.before, last.head.records, last.head.is_partial), (1, 2, false));
        assert_eq!(last.head.digest, after.head.digest);
        check_advance(&nothing, &complete.head).unwrap();
        assert_eq!(refused(check_adopt(&piece(7, 0), &complete.head)), 409);
    }

    fn said(command: &Command) -> String {
        match command {
            Command::Set { key, .. } => format!("set {key}"),
            Command::Send { service, key, handler, .. } => format!("{service}/{key}/{handler}"),
            Command::Output(_) => "output".to_owned(),
            Command::Refuse { status, .. } => format!("refuse {status}"),
        }
    }

    #[test]
    fn the_same_input_is_decided_the_same_way_and_a_repeated_one_decides_nothing() {
        let (_, folded) = adopted();
        let request = || TellRequest { at: Timestamp(5), input: Input::Cancel { by: "ann".into(), step: None } };
        let (first, after) = tell(request(), folded.clone()).unwrap();
        let (second, _) = tell(request(), folded).unwrap();
        assert_eq!(json(&first).unwrap(), json(&second).unwrap());
        assert!(first.is_news && first.head.records > first.before);
        let (again, _) = tell(request(), after).unwrap();
        assert_eq!((again.is_news, again.head.records), (false, again.before));
        let commands = commands_of("r1", &again, &names()).unwrap();
        assert_eq!(commands.iter().map(said).collect::<Vec<_>>(), ["output"], "nothing is written");
    }

    #[test]
    fn whoever_was_taken_over_from_is_refused() {
        let (_, folded) = adopted();
        let refused = advance(&AdvanceRequest { epoch: 2, inputs: Vec::new() }, folded).unwrap_err();
        assert!(matches!(refused, HandlerFault::Refused(409, _)), "{refused:?}");
        let head = ObjectHead { epoch: 3, ..ObjectHead::default() };
        let from = |machine: &str| AttachRequest { machine: machine.to_owned() };
        let commands = attach(&invocation(&head, &from("m1")), "m1").unwrap();
        let [Command::Set { value, .. }, Command::Output(told)] = commands.as_slice() else { panic!("{commands:?}") };
        assert_eq!(parse::<ObjectHead>(value).unwrap().epoch, 4);
        assert_eq!(value, told);
        // Stored, but the process never heard of it: it gets the same epoch, not the next.
        let again = invocation(&ObjectHead { epoch: 4, ..head.clone() }, &from("m1"));
        let stored = Invocation { replayed: vec![value.clone()], ..again };
        assert_eq!(attach(&stored, "m1").unwrap(), commands);
        // It asks again, but Restate calls its successor now.
        let refused = attach(&invocation(&head, &from("m1")), "m2").unwrap_err();
        assert!(matches!(refused, HandlerFault::Refused(409, _)), "{refused:?}");
    }

    #[test]
    fn only_the_worker_says_what_became_of_effects() {
        let (_, folded) = adopted();
        let refused = tell(TellRequest { at: Timestamp(5), input: Input::Import }, folded).unwrap_err();
        assert!(matches!(refused, HandlerFault::Refused(422, _)), "{refused:?}");
    }
}
