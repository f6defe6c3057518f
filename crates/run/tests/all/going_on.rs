//! Whether a run may go on somewhere else, and what it is then confined to.

use std::sync::Arc;

use serde_json::json;
use updraft_run::{
    ApprovalMode, Budget, CommandGrants, Denial, Event, ExtraRight, Goal, GrantFlags, Input, Level, ResumeTerms,
    Roster, Run, RunRights, RunSettings, RunStart, SharedTools, Timestamp,
};

fn began(settings: RunSettings) -> Run {
    let start = RunStart {
        goal: Goal { text: "work".into(), ..Goal::default() },
        roster: Arc::new(Roster::default()),
        settings: Arc::new(settings),
        budget: Budget::default(),
        plan: None,
        earlier: updraft_run::EarlierRuns::default(),
    };
    let mut run = Run::default();
    run.advance(Input::Start(Box::new(start)), Timestamp(0));
    run
}

fn at(level: Level) -> Run {
    began(RunSettings { sandbox: level, ..RunSettings::default() })
}

fn terms(level: Level) -> ResumeTerms {
    ResumeTerms { level, ..ResumeTerms::default() }
}

fn go_on(run: &mut Run, terms: ResumeTerms) -> Vec<Event> {
    run.advance(Input::GoOn { terms: Box::new(terms) }, Timestamp(1)).events
}

#[test]
fn a_run_goes_on_where_commands_are_confined_as_much_or_more() {
    assert_eq!(at(Level::Landlock).check_terms(&terms(Level::Full)), Ok(Level::Full));
    assert_eq!(at(Level::Full).check_terms(&terms(Level::Full)), Ok(Level::Full));
    assert_eq!(at(Level::Unknown).check_terms(&terms(Level::None)), Ok(Level::None));
}

#[test]
fn less_confinement_is_refused_unless_a_person_agreed_and_a_refusal_changes_nothing() {
    let mut run = at(Level::Full);
    let less = terms(Level::Landlock);
    assert_eq!(run.check_terms(&less), Err(Denial::LessConfined { began: Level::Full }));
    assert_eq!(go_on(&mut run, less.clone()), []);
    assert_eq!(run.settings().sandbox, Level::Full);
    let agreed = ResumeTerms { is_agreed: true, ..less };
    assert_eq!(go_on(&mut run, agreed), [Event::Confined { level: Level::Landlock, flags: None }]);
    assert_eq!(run.settings().sandbox, Level::Landlock);
}

#[test]
fn a_run_that_began_where_nothing_could_be_confined_goes_on_wherever_something_can() {
    let run = at(Level::Unavailable);
    for level in [Level::Landlock, Level::Full] {
        assert_eq!(run.check_terms(&terms(level)), Ok(level));
    }
    assert_eq!(run.check_terms(&terms(Level::None)), Err(Denial::Unconfined));
    assert_eq!(run.check_terms(&ResumeTerms { is_agreed: true, ..terms(Level::None) }), Ok(Level::None));
}

#[test]
fn where_nothing_can_be_confined_any_more_the_run_is_still_held_to_the_level_it_began_at() {
    let mut run = at(Level::Full);
    assert_eq!(go_on(&mut run, terms(Level::Unavailable)), []);
    assert_eq!(run.settings().sandbox, Level::Full);
}

#[test]
fn tools_that_runs_share_may_do_no_more_than_the_run_was_granted() {
    let granted = CommandGrants { network: "allow:a.org".into(), read: vec!["/a".into()], ..CommandGrants::default() };
    let settings = RunSettings { sandbox: Level::Full, grants: Some(granted.clone()), ..RunSettings::default() };
    let run = began(settings);
    let shared = |grants: CommandGrants| ResumeTerms {
        shared: Some(SharedTools { grants, ..SharedTools::default() }),
        ..terms(Level::Full)
    };
    assert_eq!(run.check_terms(&shared(granted)), Ok(Level::Full));
    let none = CommandGrants { network: "none".into(), ..CommandGrants::default() };
    assert_eq!(run.check_terms(&shared(none)), Ok(Level::Full));
    let more =
        CommandGrants { network: "allow:a.org,b.org".into(), write: vec!["/b".into()], ..CommandGrants::default() };
    assert_eq!(run.check_terms(&shared(more.clone())), Err(Denial::MoreGranted(Box::new(more))));
}

#[test]
fn a_run_that_only_reads_is_not_given_tools_that_write() {
    let run = began(RunSettings { approvals: ApprovalMode::ReadOnly, ..RunSettings::default() });
    let with = |approvals| ResumeTerms {
        shared: Some(SharedTools { approvals, ..SharedTools::default() }),
        ..terms(Level::Full)
    };
    assert_eq!(run.check_terms(&with(ApprovalMode::Ask)), Err(Denial::MayWrite));
    assert_eq!(run.check_terms(&with(ApprovalMode::ReadOnly)), Ok(Level::Full));
}

#[test]
fn what_was_said_of_rights_is_kept_and_a_later_level_takes_the_place_of_the_one_said() {
    let grants = Some(CommandGrants::default());
    let mut run = began(RunSettings { sandbox: Level::Full, grants, ..RunSettings::default() });
    let said = GrantFlags { level: Some(Level::None), network: Some("host".into()), ..GrantFlags::default() };
    go_on(&mut run, ResumeTerms { is_agreed: true, flags: Some(said.clone()), ..terms(Level::None) });
    let kept = |run: &Run| run.settings().grants.clone().map(|grants| grants.flags);
    assert_eq!(kept(&run), Some(said.clone()));
    go_on(&mut run, terms(Level::Full));
    assert_eq!(kept(&run), Some(GrantFlags { level: Some(Level::Full), ..said }));
}

#[test]
fn levels_of_older_journals_are_read_and_an_unknown_word_promises_nothing() {
    let input = serde_json::from_value::<Input>(json!({ "confine": { "level": "landlock" } })).ok();
    let read = input.map(|input| {
        let mut run = at(Level::None);
        run.advance(input, Timestamp(1)).events
    });
    assert_eq!(read, Some(vec![Event::Confined { level: Level::Landlock, flags: None }]));
    assert_eq!(serde_json::from_value::<Level>(json!("better")).ok(), Some(Level::Unknown));
    assert_eq!(serde_json::to_value(Level::Unavailable).ok(), Some(json!("unavailable")));
}

#[test]
fn what_one_may_do_beyond_another_is_named() {
    let (granted, none) =
        (CommandGrants { network: "host".into(), ..CommandGrants::default() }, CommandGrants::default());
    let much = RunRights { approvals: ApprovalMode::Allow, level: Level::None, grants: Some(&granted) };
    let little = RunRights { approvals: ApprovalMode::ReadOnly, level: Level::Full, grants: Some(&none) };
    let more = ExtraRight::MoreGranted(Box::new(granted.clone()));
    let all = [ExtraRight::Unasked, ExtraRight::MayWrite, ExtraRight::LessConfined, more];
    assert_eq!(much.beyond(&little), all);
    assert_eq!((little.beyond(&much), much.beyond(&much)), (vec![], vec![]));
    let unrecorded = RunRights { grants: None, ..little };
    assert_eq!(much.beyond(&unrecorded), all[..3], "what was not recorded is not compared");
    let asked = RunRights { approvals: ApprovalMode::Ask, ..much };
    assert_eq!(much.beyond(&asked), [ExtraRight::Unasked]);
}
