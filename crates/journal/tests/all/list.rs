//! Runs in lists, and by the beginning of their names.

use updraft_journal::{Batch, Error, Journal, RunFilter, RunHeader, Status};
use updraft_run::{RunId, Timestamp};

use crate::world::{World, head, one, run};

async fn filled(world: &World) -> Journal {
    let journal = world.journal();
    for (name, created, status) in
        [("alpha1", 1, Status::Done), ("alpha2", 2, Status::Waiting), ("beta", 3, Status::Done)]
    {
        let batch = Batch { status: Some(status), due: Some(Some(Timestamp(created * 10))), ..one(created + 5, "a") };
        let lease = journal.create(RunHeader { created: Timestamp(created), ..head(name) }, batch).await.unwrap();
        journal.release(lease).await.unwrap();
    }
    journal
}

fn names(journal: &Journal, filter: &RunFilter) -> Vec<RunId> {
    journal.list(filter).unwrap().into_iter().map(|run| run.id).collect()
}

#[tokio::test]
async fn runs_are_listed_newest_first_and_filtered() {
    let world = World::new();
    let journal = filled(&world).await;
    let all = RunFilter::default();
    assert_eq!(names(&journal, &all), [run("beta"), run("alpha2"), run("alpha1")]);
    assert_eq!(names(&journal, &RunFilter { limit: Some(1), ..all.clone() }), [run("beta")]);
    assert_eq!(
        names(&journal, &RunFilter { since: Some(Timestamp(2)), until: Some(Timestamp(3)), ..all.clone() }),
        [run("alpha2")]
    );
    assert_eq!(names(&journal, &RunFilter { status: Some(Status::Done), ..all.clone() }), [run("beta"), run("alpha1")]);
    assert_eq!(names(&journal, &RunFilter { due: Some(Timestamp(20)), ..all.clone() }), [run("alpha2"), run("alpha1")]);
    let elsewhere = RunHeader { created: Timestamp(4), workspace: "/elsewhere".into(), ..head("gamma") };
    let lease = journal.create(elsewhere, one(9, "a")).await.unwrap();
    journal.release(lease).await.unwrap();
    let there = RunFilter { workspace: Some("/elsewhere".into()), limit: Some(1), ..all.clone() };
    assert_eq!(names(&journal, &there), [run("gamma")]);
    let here = RunFilter { workspace: Some(head("beta").workspace), limit: Some(1), ..all };
    assert_eq!(names(&journal, &here), [run("beta")]);
}

#[tokio::test]
async fn a_summary_says_what_the_head_and_the_last_record_say() {
    let world = World::new();
    let journal = world.journal();
    let long = RunHeader {
        goal: "ü".repeat(400),
        workspace: "/w".into(),
        model: "m".into(),
        parent: Some(run("p")),
        ..head("r")
    };
    let lease = journal.create(long, one(7, "a")).await.unwrap();
    let about = journal.head(&run("r")).unwrap();
    assert_eq!(about.goal, "ü".repeat(300));
    assert_eq!((about.workspace.as_str(), about.model.as_str(), about.parent.clone()), ("/w", "m", Some(run("p"))));
    assert_eq!((about.status, about.created, about.updated), (Status::Running, Timestamp(1_000), Timestamp(7)));
    assert!(about.is_owned() && !about.was_cut_off());

    let batch = Batch { status: Some(Status::Waiting), due: Some(Some(Timestamp(9))), ..one(8, "b") };
    journal.append(&lease, batch).await.unwrap();
    let about = journal.head(&run("r")).unwrap();
    assert_eq!((about.status, about.due, about.events), (Status::Waiting, Some(Timestamp(9)), 2));
    journal.append(&lease, Batch { due: Some(None), ..Batch::default() }).await.unwrap();
    assert_eq!(journal.head(&run("r")).unwrap().due, None);
}

#[tokio::test]
async fn a_few_letters_find_a_run() {
    let world = World::new();
    let journal = filled(&world).await;
    assert_eq!(journal.find("b").unwrap(), run("beta"));
    assert_eq!(journal.find("alpha2").unwrap(), run("alpha2"));
    let error = journal.find("alp").unwrap_err();
    assert_eq!(error.to_string(), "`alp` names more than one run: alpha1, alpha2");
    let error = journal.find("betta").unwrap_err();
    assert_eq!(
        (error.to_string(), error.hint()),
        ("no run is named `betta`".into(), Some("did you mean beta?".into()))
    );
    let error = journal.find("zzz").unwrap_err();
    assert!(matches!(&error, Error::UnknownRun { close, .. } if close.is_empty()), "{error:?}");
    drop(journal.create(head("alpha"), Batch::default()).await.unwrap());
    assert_eq!(journal.find("alpha").unwrap(), run("alpha"), "a whole name wins over longer ones");
}
