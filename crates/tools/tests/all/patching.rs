//! apply_patch, and the other forms that edit_file understands: several files change in one call.
#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a test may")]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;
use updraft_run::{RecoveryOutcome, Reply, ToolCall};

use crate::common::{World, call};

/// A call with this patch.
fn patch(body: &str) -> ToolCall {
    call("apply_patch", json!({ "patch": format!("*** Begin Patch\n{body}*** End Patch\n") }))
}

/// Every file of the workspace, with its content as text.
fn files(world: &World) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    read_into(&world.path(""), &world.path(""), &mut found);
    found
}

fn read_into(root: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            found.insert(format!("{name}/"), String::new());
            read_into(root, &path, found);
        } else {
            found.insert(name, String::from_utf8(std::fs::read(&path).unwrap()).unwrap());
        }
    }
}

fn listed(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|(name, content)| ((*name).to_owned(), (*content).to_owned())).collect()
}

const SEVERAL: &str = "*** Add File: new/a.txt\n+one\n*** Update File: b.txt\n@@\n-old\n+new\n*** Delete File: c.txt\n\
                       *** Update File: run.sh\n*** Move to: bin/run.sh\n@@\n-echo 1\n+echo 2\n";

fn several() -> World {
    let world = World::new();
    world.put("b.txt", "old\nrest\n");
    world.put("c.txt", "gone\n");
    world.put("run.sh", "echo 1\n");
    std::fs::set_permissions(world.path("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    world
}

fn changed() -> BTreeMap<String, String> {
    listed(&[("b.txt", "new\nrest\n"), ("bin/", ""), ("bin/run.sh", "echo 2\n"), ("new/", ""), ("new/a.txt", "one\n")])
}

#[tokio::test]
async fn a_patch_adds_changes_moves_and_deletes_files_together() {
    let world = several();
    let call = patch(SEVERAL);
    let prepared = world.dispatcher.prepare(&call, &world.place);
    assert_eq!(prepared.writes, ["new/a.txt", "b.txt", "c.txt", "bin/run.sh", "run.sh"]);
    assert_eq!(prepared.reads, ["b.txt", "run.sh"]);
    let mut contents = world.dispatcher.previous_contents(&call, &world.place).await;
    contents.sort();
    assert_eq!(contents, [b"echo 1\n".to_vec(), b"gone\n".to_vec(), b"old\nrest\n".to_vec()]);

    let Reply::Output(output) = world.dispatcher.call(&call, &world.cx()).await.reply else { panic!("an output") };
    assert_eq!(output.text, "changed 5 files:\nM b.txt\nA bin/run.sh\nA new/a.txt\nD c.txt\nD run.sh\n");
    assert_eq!(files(&world), changed());
    assert_eq!(std::fs::metadata(world.path("bin/run.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    let diff = output.value.as_ref().unwrap()["diff"].as_str().unwrap();
    assert!(diff.contains("--- a/b.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n-old\n+new\n rest\n"), "{diff}");
}

#[tokio::test]
async fn a_patch_of_which_one_section_does_not_fit_changes_nothing() {
    let world = several();
    let before = files(&world);
    let misfit = "*** Update File: b.txt\n@@\n-no such line\n+x\n";
    let refused = async |call: &ToolCall| match world.dispatcher.call(call, &world.cx()).await.reply {
        Reply::Failed(why) => why.message,
        other => panic!("expected a failure, found {other:?}"),
    };
    assert_eq!(
        refused(&patch(misfit)).await,
        "nothing was changed: in `b.txt`, hunk 1 (line 3 of the patch) does not fit: `no such line` is not in the file, nor anything like it"
    );
    let call = patch(&format!("{SEVERAL}{misfit}*** Add File: after.txt\n+never\n"));
    let why = refused(&call).await;
    assert!(why.starts_with("nothing was changed: in `b.txt`, hunk 1 (line 15"), "{why}");
    assert_eq!(files(&world), before);
    assert_eq!(world.dispatcher.facts(&call, &world.place).await.files, []);
}

#[tokio::test]
async fn a_file_that_cannot_be_written_leaves_the_others_as_they_were() {
    let world = several();
    let before = files(&world);
    // The patch makes `z` a file, so nothing can be written below it; that shows only when the files are written.
    let body =
        "*** Update File: b.txt\n@@\n-old\n+new\n*** Delete File: c.txt\n*** Add File: z\n+1\n*** Add File: z/x\n+1\n";
    let Reply::Failed(why) = world.dispatcher.call(&patch(body), &world.cx()).await.reply else { panic!("a failure") };
    assert!(why.message.starts_with("nothing was changed: ") && why.message.contains("`z"), "{}", why.message);
    assert_eq!(files(&world), before);
}

/// What happens between two parts of a patch.
type Moment = fn(&World);

#[tokio::test]
async fn a_patch_that_was_cut_off_between_two_files_is_completed() {
    let world = several();
    let call = patch(SEVERAL);
    let facts = world.dispatcher.facts(&call, &world.place).await;
    assert!(matches!(world.dispatcher.reconcile(&call, &facts, &world.place).await, RecoveryOutcome::DidNotHappen));
    // Each moment at which the process could have ended: so many of the files, in the order in which they are changed.
    let moments: [Moment; 4] = [
        |world| world.put("b.txt", "new\nrest\n"),
        |world| world.put("bin/run.sh", "echo 2\n"),
        |world| world.put("new/a.txt", "one\n"),
        |world| std::fs::remove_file(world.path("c.txt")).unwrap(),
    ];
    for count in 1..=moments.len() {
        let world = several();
        moments[..count].iter().for_each(|moment| moment(&world));
        let outcome = world.dispatcher.reconcile(&call, &facts, &world.place).await;
        let RecoveryOutcome::Happened(Reply::Output(output)) = outcome else { panic!("{count}: {outcome:?}") };
        assert!(output.text.starts_with("changed 5 files:\n"), "{}", output.text);
        assert_eq!(output.changes.len(), 5);
        assert_eq!(files(&world), changed(), "{count}");
        assert!(matches!(
            world.dispatcher.reconcile(&call, &facts, &world.place).await,
            RecoveryOutcome::Happened(Reply::Output(_))
        ));
    }
    // Somebody else has changed a file since: nothing is touched.
    let world = several();
    world.put("b.txt", "new\nrest\n");
    world.put("c.txt", "theirs\n");
    let before = files(&world);
    let outcome = world.dispatcher.reconcile(&call, &facts, &world.place).await;
    let RecoveryOutcome::CannotTell(why) = outcome else { panic!("{outcome:?}") };
    assert!(why.contains("`c.txt` is neither"), "{why}");
    assert_eq!(files(&world), before);
}

#[tokio::test]
async fn paths_in_a_patch_are_checked_like_any_other() {
    let world = several();
    world.link("b.txt", "link");
    for (body, part) in [
        ("*** Add File: ../out.txt\n+1\n", "leaves the workspace"),
        ("*** Update File: b.txt\n*** Move to: ../out.txt\n@@\n-old\n+new\n", "leaves the workspace"),
        ("*** Delete File: .git/config\n", ".git"),
    ] {
        let prepared = world.dispatcher.prepare(&patch(body), &world.place);
        let said = format!("{:?} {:?}", prepared.fault, prepared.because);
        assert!(prepared.fault.is_some() || prepared.outside, "{body}: {said}");
        assert!(said.contains(part) || prepared.outside, "{body}: {said}");
    }
    let before = files(&world);
    for body in ["*** Update File: link\n@@\n-old\n+new\n", "*** Delete File: nested\n", "*** Delete File: none.txt\n"]
    {
        std::fs::create_dir_all(world.path("nested")).unwrap();
        assert!(matches!(world.dispatcher.call(&patch(body), &world.cx()).await.reply, Reply::Failed(_)), "{body}");
        std::fs::remove_dir(world.path("nested")).unwrap();
        assert_eq!(files(&world), before);
    }
}

#[tokio::test]
async fn edit_file_takes_a_patch_and_a_whole_file_too() {
    let world = several();
    let text = "*** Begin Patch\n*** Update File: b.txt\n@@\n-old\n+new\n*** End Patch";
    for name in ["patch", "input"] {
        world.put("b.txt", "old\n");
        let edited = world.text("edit_file", json!({ name: text })).await;
        assert_eq!(edited, "changed 1 file:\nM b.txt\n", "{name}");
        world.put("b.txt", "old\n");
        assert_eq!(world.text("apply_patch", json!({ name: text })).await, edited);
    }
    let whole = call("edit_file", json!({ "path": "b.txt", "content": "all new\n" }));
    let prepared = world.dispatcher.prepare(&whole, &world.place);
    assert_eq!((prepared.passed_on_to.as_deref(), prepared.fault), (Some("write_file"), None));
    world.output("edit_file", whole.args.clone()).await;
    assert_eq!(world.content("b.txt"), b"all new\n");
    let neither = world.fault("edit_file", json!({ "path": "b.txt", "old": "all" })).unwrap();
    assert!(neither.contains("`new`") || neither.contains("\"new\""), "{neither}");
}

/// codex's portable scenarios: `input`, `patch.txt`, `expected`.
#[tokio::test]
#[ignore = "needs codex-rs/apply-patch/tests/fixtures/scenarios of github.com/openai/codex in UPDRAFT_CODEX_SCENARIOS"]
async fn codex_scenarios() {
    let folder = std::env::var("UPDRAFT_CODEX_SCENARIOS").unwrap();
    let mut scenarios: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    // There, what comes before a section that does not fit stays; here a patch is applied as a whole.
    scenarios
        .retain(|path| path.join("patch.txt").is_file() && !path.display().to_string().contains("partial_success"));
    scenarios.sort();
    let mut wrong = Vec::new();
    for scenario in &scenarios {
        let name = scenario.file_name().unwrap().to_str().unwrap();
        let world = World::new();
        let (mut input, mut expected) = (BTreeMap::new(), BTreeMap::new());
        for (part, found) in [("input", &mut input), ("expected", &mut expected)] {
            if scenario.join(part).is_dir() {
                read_into(&scenario.join(part), &scenario.join(part), found);
            }
        }
        input.iter().filter(|(name, _)| !name.ends_with('/')).for_each(|(name, content)| world.put(name, content));
        let text = std::fs::read_to_string(scenario.join("patch.txt")).unwrap();
        let reply = world.call("apply_patch", json!({ "patch": text })).await;
        if files(&world) != expected {
            wrong.push(format!("{name}: {reply:?}\n{:?}\nexpected {expected:?}", files(&world)));
        }
    }
    println!("{} of {} scenarios", scenarios.len() - wrong.len(), scenarios.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(scenarios.len() >= 25, "{} scenarios", scenarios.len());
}
