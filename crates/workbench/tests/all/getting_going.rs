//! Runs are started, resumed and forked the same way, whoever asks.

use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;
use updraft_journal::{Batch, Journal, parse_export};
use updraft_run::{
    ApprovalMode, Budget, Event, Goal, Input, Level, Record, Run, RunId, RunMode, RunSettings, Status, Timestamp,
};
use updraft_sandbox::Network;
use updraft_workbench::service::{RunListQuery, RunRequest};
use updraft_workbench::settings::TrustedWorkspaces;
use updraft_workbench::{
    AppFolders, Confine, Flags, Fork, Kind, NewGoal, Notice, ResumeOutcome, RunCallbacks, StoredRun, UpdraftService,
    Workbench, journal, skills,
};

/// A folder to work in, and one for what Updraft keeps.
struct Room {
    _kept: tempfile::TempDir,
    folders: AppFolders,
    folder: std::path::PathBuf,
    told: Arc<Mutex<Vec<Notice>>>,
}

impl Room {
    fn new() -> Self {
        let kept = tempfile::tempdir().unwrap();
        let folder = kept.path().canonicalize().unwrap().join("project");
        std::fs::create_dir(&folder).unwrap();
        Self { folders: AppFolders::under(&kept.path().join("home")), _kept: kept, folder, told: Arc::default() }
    }

    /// Whoever attends stops each run before it begins anything.
    fn callbacks(&self) -> RunCallbacks {
        let (told, stop) = (Arc::clone(&self.told), CancellationToken::new());
        stop.cancel();
        RunCallbacks {
            stop,
            tell: Arc::new(move |notice| told.lock().unwrap().push(notice)),
            ..RunCallbacks::default()
        }
    }

    fn open(&self, flags: Flags) -> Workbench {
        Workbench::open(&self.folders, &self.folder, flags, self.callbacks()).unwrap()
    }

    fn config(&self, name: &str, bytes: &[u8]) {
        let file = self.folders.config.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
    }

    /// Starts a run that rests at once.
    async fn start(&self, bench: &Workbench, mode: RunMode) -> RunId {
        let goal = Goal { text: "What is here?".into(), mode, ..Goal::default() };
        let id = journal::new_id().unwrap();
        let handle = bench.start(id.clone(), NewGoal { goal, ..NewGoal::default() }).await.unwrap();
        Box::pin(handle.drive()).await.unwrap();
        id
    }
}

/// A run as it is after its export was imported.
async fn imported(journal: &Journal, id: &RunId) -> RunId {
    let mut text = Vec::new();
    journal.export_jsonl(id, &mut text).unwrap();
    let mut export = parse_export(&mut text.as_slice()).unwrap();
    export.head.id = journal::new_id().unwrap();
    export.records.push(stored(journal, id).advance(Input::Import, export.head.created));
    let copy = export.head.id.clone();
    journal.import(export.head, export.records, export.blobs).await.unwrap();
    copy
}

/// Nothing is tried out on this machine: commands are not confined, and none is run.
fn flags() -> Flags {
    let confine = Confine { level: Some(Level::None), ..Confine::default() };
    Flags { model: Some("builtin".into()), probe: Some(false), confine, ..Flags::default() }
}

fn stored(journal: &Journal, id: &RunId) -> Run {
    journal::load(journal, id).unwrap()
}

#[tokio::test]
async fn a_run_begins_with_what_was_said_and_people_are_told_by_values() {
    let room = Room::new();
    let budget = Budget { turns: Some(7), ..Budget::default() };
    let bench = room.open(Flags { approvals: Some(ApprovalMode::ReadOnly), budget, ..flags() });
    let id = room.start(&bench, RunMode::Plan).await;
    let run = stored(bench.journal().unwrap(), &id);
    let settings = run.settings();
    assert_eq!((settings.model.as_str(), settings.sandbox), ("builtin", Level::None));
    assert_eq!((settings.approvals, settings.least_turns), (ApprovalMode::ReadOnly, Some(7)));
    assert_eq!(settings.grants.as_ref().unwrap().flags.level, Some(Level::None));
    let model = Notice::Model { name: "builtin".into(), why: None };
    assert_eq!(*room.told.lock().unwrap(), [model, Notice::Unconfined]);
}

#[tokio::test]
async fn trust_that_was_ended_counts_no_more_where_the_workbench_stays_open() {
    let room = Room::new();
    let skill = "---\nname: weigh\ndescription: How to weigh.\n---\nUse scales.\n";
    std::fs::create_dir_all(room.folder.join(".updraft/skills/weigh")).unwrap();
    std::fs::write(room.folder.join(".updraft/skills/weigh/SKILL.md"), skill).unwrap();
    let trusted = TrustedWorkspaces::load(&room.folders);
    trusted.add(&room.folder, &trusted.what_counts(&room.folder)).unwrap();
    let bench = room.open(flags());
    let journal = bench.journal().unwrap();
    let skills = || skills::of(&room.folders, &room.folder, &bench.settings).len();
    let before = room.start(&bench, RunMode::Plan).await;
    assert_eq!((stored(journal, &before).settings().workspace_trusted, skills()), (true, 1));
    assert!(trusted.remove(&room.folder).unwrap());
    let after = room.start(&bench, RunMode::Plan).await;
    assert_eq!((stored(journal, &after).settings().workspace_trusted, skills()), (false, 0));
    let copy = imported(journal, &before).await;
    let Ok(ResumeOutcome::Here(handle)) = bench.adopt(&copy, Vec::new()).await else { panic!("nobody else has it") };
    Box::pin(handle.drive()).await.unwrap();
    assert!(!stored(journal, &copy).settings().workspace_trusted);
}

#[tokio::test]
async fn an_agent_asked_through_mcp_has_the_turns_of_a_query_and_others_those_of_an_agent() {
    let room = Room::new();
    room.config("config.toml", b"query_turns = 3\nagent_turns = 4\n");
    let stop = CancellationToken::new();
    let (service, left) =
        UpdraftService::open(&room.folders, &room.folder, flags(), stop.clone(), Arc::new(|_| {})).await.unwrap();
    let work = RunRequest { goal: "What is here?".into(), agent: Some("researcher".into()) };
    let outside = RunId::parse(&service.runs.dispatch(&work).await.unwrap().run).unwrap();
    assert_eq!(left, 0);
    stop.cancel();
    service.close().await;
    let bench = room.open(flags());
    let journal = bench.journal().unwrap();
    let id = room.start(&bench, RunMode::Agent("researcher".into())).await;
    let turns = |id: &RunId| stored(journal, id).settings().query_turns;
    assert_eq!((turns(&outside), turns(&id)), (3, 4));
    let copy = imported(journal, &id).await;
    let Ok(ResumeOutcome::Here(handle)) = bench.adopt(&copy, Vec::new()).await else { panic!("nobody else has it") };
    Box::pin(handle.drive()).await.unwrap();
    assert_eq!((stored(journal, &copy).is_imported(), turns(&copy)), (false, 4));
}

#[tokio::test]
async fn a_run_that_is_taken_over_gets_the_same_settings_as_one_that_begins_here() {
    let room = Room::new();
    room.config("guardrails/short.md", b"---\nwhen: output\naction: stop\ncheck: length\nmost: 3\n---\n");
    let budget = Budget { turns: Some(7), ..Budget::default() };
    let bench = room.open(Flags { budget, ..flags() });
    let journal = bench.journal().unwrap();
    let goal = Goal { text: "What is here?".into(), mode: RunMode::Plan, ..Goal::default() };
    let begun = journal::new_id().unwrap();
    let new = NewGoal { goal, plan_first: true, ..NewGoal::default() };
    Box::pin(bench.start(begun.clone(), new).await.unwrap().drive()).await.unwrap();
    let copy = imported(journal, &begun).await;
    let Ok(ResumeOutcome::Here(handle)) = bench.adopt(&copy, Vec::new()).await else { panic!("nobody else has it") };
    Box::pin(handle.drive()).await.unwrap();
    let (begun, copy) = (stored(journal, &begun), stored(journal, &copy));
    assert!(begun.settings().guards.output && begun.settings().plan_first);
    // Only the candidates' folder is its own, and agents' models are those of this machine.
    let copies = copy.settings().copies.clone();
    let same = RunSettings { same_model: true, copies, ..(**begun.settings()).clone() };
    assert_eq!(**copy.settings(), same);
}

#[tokio::test]
async fn a_service_that_takes_a_run_over_still_shows_its_plan_first() {
    let room = Room::new();
    let bench = room.open(flags());
    let journal = bench.journal().unwrap();
    let goal = Goal { text: "What is here?".into(), mode: RunMode::Plan, ..Goal::default() };
    let begun = journal::new_id().unwrap();
    let new = NewGoal { goal, plan_first: true, ..NewGoal::default() };
    Box::pin(bench.start(begun.clone(), new).await.unwrap().drive()).await.unwrap();
    let copy = imported(journal, &begun).await;
    let stop = CancellationToken::new();
    let (service, _) =
        UpdraftService::open(&room.folders, &room.folder, flags(), stop.clone(), Arc::new(|_| {})).await.unwrap();
    service.runs.adopt(copy.as_str()).await.unwrap();
    for _ in 0..600 {
        if stored(journal, &copy).plan_approval().is_some() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let run = stored(journal, &copy);
    assert!(run.plan_approval().is_some() && run.awaits_first_approval());
    // The tools are held to reading, and the run has the mode of the settings all the same.
    assert_eq!(run.settings().approvals, ApprovalMode::Ask);
    stop.cancel();
    service.close().await;
}

#[tokio::test]
async fn a_run_that_only_reads_goes_on_on_its_own_workbench_and_not_where_tools_may_write() {
    let room = Room::new();
    let bench = room.open(Flags { approvals: Some(ApprovalMode::ReadOnly), ..flags() });
    let id = room.start(&bench, RunMode::Plan).await;
    bench.journal().unwrap().clone().close().await;
    let shared = room.open(flags());
    let refused = shared.resume(&id, Vec::new()).await.err().unwrap();
    assert_eq!(refused.kind, Kind::Usage);
    assert!(refused.message.contains("it is read-only"), "{refused}");
    let kept = shared.journal().unwrap();
    let run = stored(kept, &id);
    let at = StoredRun::new(&run, kept).unwrap();
    let own = Workbench::open_for(&at, &room.folders, Flags::default(), room.callbacks()).unwrap();
    assert_eq!(own.settings.effective.approvals.value, ApprovalMode::ReadOnly);
    assert!(matches!(own.resume(&id, Vec::new()).await, Ok(ResumeOutcome::Here(_))));
}

#[tokio::test]
async fn a_run_keeps_the_rights_it_was_started_with_and_a_fork_those_that_are_said_with_it() {
    let room = Room::new();
    let bench = room.open(flags());
    let from = room.start(&bench, RunMode::Plan).await;
    let journal = bench.journal().unwrap();
    let run = stored(journal, &from);
    let said = Confine { network: Some(Network::Host), ..Confine::default() };
    let at = StoredRun::new(&run, journal).unwrap();
    let own = Workbench::open_for(&at, &room.folders, said.alone(), room.callbacks()).unwrap();
    assert_eq!(own.flags.confine.level, Some(Level::None), "kept");
    let to = journal::new_id().unwrap();
    let at = journal.head(&from).unwrap().events;
    let fork = Fork { from, at, to: to.clone(), model: None, goal: None, variables: Vec::new(), stays: false };
    let handle = own.fork(fork, Vec::new()).await.unwrap();
    Box::pin(handle.drive()).await.unwrap();
    let flags = stored(journal, &to).settings().grants.clone().unwrap().flags;
    assert_eq!((flags.network.as_deref(), flags.level), (Some("host"), Some(Level::None)));
}

#[tokio::test]
async fn a_run_that_is_there_goes_on_and_is_stopped_whatever_became_of_the_files_of_prompts() {
    let room = Room::new();
    let bench = room.open(flags());
    let id = room.start(&bench, RunMode::Plan).await;
    bench.journal().unwrap().clone().close().await;
    room.config("prompts/again.md", b"\xff\xfe");
    let bench = room.open(flags());
    let new = || NewGoal { goal: Goal { text: "Again".into(), ..Goal::default() }, ..NewGoal::default() };
    assert_eq!(bench.check(&new(), Vec::new()).unwrap_err().kind, Kind::Config);
    assert_eq!(bench.start(journal::new_id().unwrap(), new()).await.err().unwrap().kind, Kind::Config);
    assert_eq!(bench.prepare().await.unwrap_err().kind, Kind::Config);
    let kept = bench.journal().unwrap();
    let run = stored(kept, &id);
    let at = StoredRun::new(&run, kept).unwrap();
    let own = Workbench::open_for(&at, &room.folders, Flags::default(), room.callbacks()).unwrap();
    own.engine_without_servers().await.unwrap();
    assert!(matches!(own.resume(&id, Vec::new()).await, Ok(ResumeOutcome::Here(_))));
}

#[tokio::test]
async fn a_model_that_is_an_unknown_run_is_refused_before_anybody_is_served() {
    let room = Room::new();
    let bench = room.open(flags());
    room.start(&bench, RunMode::Plan).await;
    let flags = Flags { model: Some("recorded/nobody".into()), ..flags() };
    let opened =
        UpdraftService::open(&room.folders, &room.folder, flags, CancellationToken::new(), Arc::new(|_| {})).await;
    let refused = opened.err().unwrap();
    assert!(refused.kind == Kind::Usage && refused.message.contains("nobody"), "{refused}");
}

#[tokio::test]
async fn a_copy_that_stays_stops_nobody_else_on_the_workbench() {
    let room = Room::new();
    let from = room.start(&room.open(flags()), RunMode::Plan).await;
    let callbacks = RunCallbacks::default();
    let stop = callbacks.stop.clone();
    let bench = Workbench::open(&room.folders, &room.folder, flags(), callbacks).unwrap();
    let journal = bench.journal().unwrap();
    let (at, to) = (journal.head(&from).unwrap().events, journal::new_id().unwrap());
    let fork = Fork { from, at, to: to.clone(), model: None, goal: None, variables: Vec::new(), stays: true };
    let handle = bench.fork(fork, Vec::new()).await.unwrap();
    assert!(Box::pin(handle.drive()).await.unwrap().was_stopped, "it begins nothing");
    assert!(!stop.is_cancelled() && !stored(journal, &to).is_over());
}

#[tokio::test]
async fn the_figures_of_a_long_run_are_added_up_once_and_stored() {
    let room = Room::new();
    let bench = room.open(flags());
    let id = room.start(&bench, RunMode::Agent("researcher".into())).await;
    let journal = bench.journal().unwrap();
    let lease = journal.acquire(&id).await.unwrap();
    let events = (0..21_000).map(|n| Event::Told { message: n.to_string() }).collect();
    let input = Input::Tell { message: "many".into() };
    journal.append(&lease, Batch::of(vec![Record { at: Timestamp(1), input, events }])).await.unwrap();
    journal.release(lease).await.unwrap();
    bench.close_with_journal().await;
    for is_stored in [false, true] {
        let stop = CancellationToken::new();
        let (service, _) =
            UpdraftService::open(&room.folders, &room.folder, flags(), stop.clone(), Arc::new(|_| {})).await.unwrap();
        let query = RunListQuery { most: 1, ..RunListQuery::default() };
        let figures = || service.runs.run_list(&query).unwrap().rows.remove(0).figures;
        assert_eq!(figures().is_some(), is_stored);
        let found = loop {
            match figures() {
                Some(found) => break found,
                None => tokio::task::yield_now().await,
            }
        };
        assert_eq!(found.steps, 1);
        stop.cancel();
        service.close().await;
    }
}

#[tokio::test]
async fn a_run_that_rests_is_stopped_when_another_process_says_so() {
    let room = Room::new();
    let bench = room.open(flags());
    let id = room.start(&bench, RunMode::Plan).await;
    let (journal, stop) = (bench.journal().unwrap(), CancellationToken::new());
    let (service, _) =
        UpdraftService::open(&room.folders, &room.folder, flags(), stop.clone(), Arc::new(|_| {})).await.unwrap();
    let cancel = Input::Cancel { by: "ann".into(), step: None };
    journal.send(&id, "cancel", &cancel, Timestamp(1)).await.unwrap();
    for _ in 0..600 {
        if stored(journal, &id).is_over() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(stored(journal, &id).status(), Status::Cancelled);
    stop.cancel();
    service.close().await;
}
