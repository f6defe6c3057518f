//! What calls change by themselves is seen from outside: all of it, with what was there before, and nobody else's.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use crate::common::{World, call};
use serde_json::{Value, json};
use tokio::sync::Barrier;
use updraft_run::{Failure, FailureKind, FileChange, Reply, ToolOutput, ToolSpec};
use updraft_tools::{CallContext, ChangeWitness, Dispatcher, Registry, Tool, ToolFuture, ToolLimits, ToolTraits};

type Act = dyn Fn(&Path) + Send + Sync;

/// A tool that does something to the workspace and says nothing of it.
struct Silent {
    spec: ToolSpec,
    act: Box<Act>,
    fails: bool,
    /// Others that it waits for, before it acts and after.
    meets: Option<Arc<Barrier>>,
}

impl Silent {
    fn new(name: &str, act: impl Fn(&Path) + Send + Sync + 'static) -> Self {
        let spec = ToolSpec { name: name.into(), description: "Acts.".into(), parameters: json!({"type": "object"}) };
        Self { spec, act: Box::new(act), fails: false, meets: None }
    }
}

impl Tool for Silent {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits::default()
    }

    fn changes_unseen(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, _: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            if let Some(others) = &self.meets {
                others.wait().await;
            }
            (self.act)(cx.place.workspace.root());
            if let Some(others) = &self.meets {
                others.wait().await;
            }
            if self.fails {
                return Reply::Failed(Failure::new(FailureKind::Tool, "it broke"));
            }
            Reply::Output(Arc::new(ToolOutput { text: "done".into(), ..ToolOutput::default() }))
        })
    }
}

/// A workspace with these tools beside the usual ones, and a witness that keeps contents.
fn world(tools: Vec<Silent>) -> World {
    let limits = ToolLimits::default();
    let mut registry = Registry::standard(&limits);
    for tool in tools {
        registry.insert(Arc::new(tool)).unwrap();
    }
    let mut world = World::new();
    let witness = ChangeWitness::new(Some(world.folder.path().join("kept")));
    world.dispatcher = Dispatcher::new(registry, limits).with_witness(witness);
    world
}

async fn called(world: &World, tool: &str, key: &str) -> (Arc<ToolOutput>, Vec<Vec<u8>>) {
    let cx = CallContext::new(world.place.clone(), key);
    let called = world.dispatcher.call(&call(tool, json!({})), &cx).await;
    match called.reply {
        Reply::Output(output) => (output, called.kept),
        other => panic!("expected an output, found {other:?}"),
    }
}

fn verbs(changes: &[FileChange]) -> Vec<String> {
    let verb = |change: &FileChange| match (change.was.is_some(), change.now.is_some()) {
        (false, _) => "made",
        (true, false) => "removed",
        (true, true) => "changed",
    };
    changes.iter().map(|change| format!("{} {}", verb(change), change.path)).collect()
}

#[tokio::test]
async fn everything_that_is_not_as_it_was_is_told_with_what_was_there() {
    let act = |root: &Path| {
        std::fs::write(root.join("changed"), "two\n").unwrap();
        std::fs::remove_file(root.join("removed")).unwrap();
        std::fs::create_dir(root.join("new")).unwrap();
        std::fs::write(root.join("new/made"), "made\n").unwrap();
        std::fs::set_permissions(root.join("mode"), PermissionsExt::from_mode(0o700)).unwrap();
        std::os::unix::fs::symlink("changed", root.join("link")).unwrap();
        // The same content under a new stamp is no change, and neither is a folder in which something changed.
        let same = std::fs::read(root.join("below/same")).unwrap();
        std::fs::write(root.join("below/same"), same).unwrap();
    };
    let world = world(vec![Silent::new("acts", act)]);
    for (name, text) in [("changed", "one\n"), ("removed", "gone\n"), ("mode", "x"), ("below/same", "same")] {
        world.put(name, text);
    }
    let (output, kept) = called(&world, "acts", "r/a/0/0/call.0").await;
    let wanted = ["changed changed", "made link", "changed mode", "made new", "made new/made", "removed removed"];
    assert_eq!(verbs(&output.changes), wanted);
    assert!(output.changes.iter().all(|change| !change.lost && !change.unsure), "{:?}", output.changes);
    assert!(kept.contains(&b"one\n".to_vec()) && kept.contains(&b"gone\n".to_vec()));
    let mode = &output.changes[2];
    assert_eq!((mode.before, mode.now.unwrap().mode), (mode.after, 0o700));
    let diff = kept.iter().find(|bytes| bytes.starts_with(b"--- a/changed")).unwrap();
    assert!(String::from_utf8_lossy(diff).contains("-one\n+two\n"));
}

#[tokio::test]
async fn what_is_written_twice_within_the_clocks_grain_with_the_same_length_is_seen_each_time() {
    let count = std::sync::atomic::AtomicU8::new(b'a');
    let act = move |root: &Path| {
        let letter = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        std::fs::write(root.join("letter"), [letter]).unwrap();
    };
    let world = world(vec![Silent::new("acts", act)]);
    for n in 0..20 {
        let (output, _) = called(&world, "acts", &format!("r/a/0/{n}/call.0")).await;
        assert_eq!(output.changes.len(), 1, "call {n}");
    }
}

#[tokio::test]
async fn a_call_that_fails_tells_what_it_had_changed() {
    let act = |root: &Path| std::fs::write(root.join("half"), "done").unwrap();
    let world = world(vec![Silent { fails: true, ..Silent::new("breaks", act) }]);
    let (output, _) = called(&world, "breaks", "r/a/0/0/call.0").await;
    assert_eq!((output.is_error, output.text.as_str()), (true, "it broke"));
    assert_eq!(verbs(&output.changes), ["made half"]);
}

#[tokio::test]
async fn what_others_changed_before_and_after_a_call_is_not_its_own() {
    let world = world(vec![Silent::new("acts", |_| {})]);
    world.put("before", "x");
    assert_eq!(called(&world, "acts", "r/a/0/0/call.0").await.0.changes, []);
    world.put("between", "y");
    assert_eq!(called(&world, "acts", "r/a/0/1/call.0").await.0.changes, []);
}

#[tokio::test]
async fn two_that_were_under_way_at_once_say_that_they_are_not_sure() {
    let barrier = Arc::new(Barrier::new(2));
    let tool = |name: &'static str| {
        let act = move |root: &Path| std::fs::write(root.join(name), name).unwrap();
        Silent { meets: Some(Arc::clone(&barrier)), ..Silent::new(name, act) }
    };
    let world = world(vec![tool("one"), tool("two")]);
    let (one, two) = tokio::join!(called(&world, "one", "r/a/0/0/call.0"), called(&world, "two", "r/a/0/0/call.1"));
    for output in [one.0, two.0] {
        assert_eq!(verbs(&output.changes), ["made one", "made two"]);
        assert!(output.changes.iter().all(|change| change.unsure));
    }
}

#[tokio::test]
async fn what_a_file_tool_wrote_meanwhile_is_the_file_tools() {
    let barrier = Arc::new(Barrier::new(2));
    let act = |root: &Path| std::fs::write(root.join("own"), "own").unwrap();
    let world = world(vec![Silent { meets: Some(Arc::clone(&barrier)), ..Silent::new("acts", act) }]);
    world.put("shared", "old\n");
    let writes = async {
        barrier.wait().await;
        let cx = CallContext::new(world.place.clone(), "r/b/0/0/call.0");
        let args = json!({ "path": "shared", "content": "new\n" });
        let written = world.dispatcher.call(&call("write_file", args), &cx).await.reply;
        barrier.wait().await;
        written
    };
    let ((output, _), written) = tokio::join!(called(&world, "acts", "r/a/0/0/call.0"), writes);
    assert_eq!(verbs(&output.changes), ["made own"]);
    assert!(!output.changes[0].unsure);
    let Reply::Output(written) = written else { panic!("{written:?}") };
    assert_eq!(verbs(&written.changes), ["changed shared"]);
}
