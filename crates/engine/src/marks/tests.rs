//! Tests marks on disk: several processes at once, files that are deleted and created, runs that are cut off.

use std::collections::BTreeMap;

use updraft_run::{Origins, RunId, Timestamp};

use super::{MarkStore, RoamingState, UndoRemains, WorkspaceMarks};

fn run(name: &str) -> RunId {
    RunId::parse(name).unwrap()
}

fn of(path: &str, page: &str) -> BTreeMap<String, Origins> {
    BTreeMap::from([(path.to_owned(), Origins::of(page))])
}

struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("ws")).unwrap();
        Self { folder }
    }

    fn book(&self) -> WorkspaceMarks {
        let workspace = self.folder.path().join("ws");
        MarkStore::at(&self.folder.path().join("origins")).book(&workspace.display().to_string())
    }

    fn file(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join("ws").join(name), text).unwrap();
    }

    fn remove(&self, name: &str) {
        std::fs::remove_file(self.folder.path().join("ws").join(name)).unwrap();
    }

    fn marked(&self) -> Vec<String> {
        self.book().all().unwrap().into_iter().map(|marked| marked.path).collect()
    }
}

/// No run is at work.
fn nobody(_: &RunId) -> bool {
    false
}

#[test]
fn of_many_who_mark_at_once_nobody_is_lost() {
    let world = World::new();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let book = world.book();
            scope.spawn(move || {
                for k in 0..10 {
                    book.add(&run(&format!("r{n}")), &of(&format!("f{n}-{k}"), "p"), Timestamp(0)).unwrap();
                }
            });
        }
    });
    assert_eq!(world.marked().len(), 80);
}

#[test]
fn a_workspace_knows_nothing_of_another_and_a_run_is_not_told_of_its_own() {
    let world = World::new();
    world.book().add(&run("one"), &of("a", "p"), Timestamp(0)).unwrap();
    let other = MarkStore::at(&world.folder.path().join("origins")).book("/elsewhere");
    assert!(other.all().unwrap().is_empty());
    assert_eq!(world.book().by_others(&run("two")).unwrap(), of("a", "p"));
    assert!(world.book().by_others(&run("one")).unwrap().is_empty());
}

#[test]
fn a_run_that_may_change_anything_counts_for_all_until_it_rests_and_then_for_what_it_changed() {
    let world = World::new();
    world.file("new.txt", "words");
    world.book().add(&run("one"), &of(".", "p"), Timestamp(0)).unwrap();
    assert_eq!(world.marked(), ["."]);
    world.book().settle(&run("one")).unwrap();
    assert_eq!(world.marked(), ["new.txt"]);
    // Nothing has changed since a time in the future.
    world.book().add(&run("two"), &of(".", "p"), Timestamp(i64::MAX)).unwrap();
    world.book().settle(&run("two")).unwrap();
    assert_eq!(world.book().by_others(&run("one")).unwrap(), BTreeMap::new());
}

/// Old files in a folder that is renamed while a run is at work, whatever else is created in it.
#[test]
fn what_lies_in_a_folder_whose_path_is_new_is_new_there_whatever_its_time() {
    let later = Timestamp(i64::MAX / 2_000_000);
    for makes_something in [false, true] {
        let world = World::new();
        let ws = world.folder.path().join("ws");
        std::fs::create_dir_all(ws.join("d/inner")).unwrap();
        std::fs::create_dir(ws.join("stays")).unwrap();
        for file in ["d/notes.md", "d/inner/more.md", "stays/own.md"] {
            world.file(file, "words");
        }
        // By their times alone, nothing has changed since.
        world.book().add(&run("one"), &of(".", "p"), later).unwrap();
        std::fs::create_dir(ws.join("deep")).unwrap();
        std::fs::rename(ws.join("d"), ws.join("deep/e")).unwrap();
        if makes_something {
            world.file("deep/e/index", "x");
            std::fs::create_dir(ws.join("d")).unwrap();
            world.file("d/notes.md", "another");
        }
        world.book().settle(&run("one")).unwrap();
        let mut expected = vec!["deep/e/inner/more.md", "deep/e/notes.md"];
        if makes_something {
            expected = vec!["d/notes.md", "deep/e/index", "deep/e/inner/more.md", "deep/e/notes.md"];
        }
        assert_eq!(world.marked(), expected);
    }
}

#[test]
fn a_command_that_could_not_list_its_changes_is_judged_by_the_folders_of_before() {
    let later = Timestamp(i64::MAX / 2_000_000);
    let world = World::new();
    let (book, ws) = (world.book(), world.folder.path().join("ws"));
    std::fs::create_dir(ws.join("d")).unwrap();
    world.file("d/notes.md", "words");
    let folders = book.folders();
    let says = |state, marked: &BTreeMap<_, _>| {
        let (before, after) = book.update(&run("one"), marked, Some(state), later).unwrap();
        assert!(before != after && after == book.stamp());
        assert_eq!(world.marked().len(), marked.len());
    };
    says(RoamingState::Listed, &of(".", "p"));
    says(RoamingState::Ended, &BTreeMap::new());
    says(RoamingState::Listed, &of(".", "p"));
    std::fs::rename(ws.join("d"), ws.join("e")).unwrap();
    world.file("e/more.md", "words");
    says(RoamingState::Open(&folders), &of(".", "p"));
    book.settle(&run("one")).unwrap();
    assert_eq!(world.marked(), ["e/more.md", "e/notes.md"]);
}

#[test]
fn what_a_run_left_that_was_cut_off_is_settled_by_the_next_but_not_while_it_is_at_work() {
    let world = World::new();
    world.file("new.txt", "words");
    world.book().add(&run("one"), &of(".", "p"), Timestamp(0)).unwrap();
    world.book().look(|_| true).unwrap();
    assert_eq!(world.marked(), ["."]);
    world.book().look(nobody).unwrap();
    assert_eq!(world.marked(), ["new.txt"]);
}

#[test]
fn a_mark_outlives_edits_and_a_file_that_comes_back_but_not_another_file_in_its_place() {
    let world = World::new();
    let book = world.book();
    world.file("notes.md", "words of a page");
    book.add(&run("one"), &of("notes.md", "p"), Timestamp(0)).unwrap();
    book.settle(&run("one")).unwrap();
    world.file("notes.md", "words of a page, and mine");
    book.look(nobody).unwrap();
    assert_eq!(world.marked(), ["notes.md"]);
    for (content, marked) in [("words of a page", 1), ("mine alone", 0)] {
        world.remove("notes.md");
        book.look(nobody).unwrap();
        world.file("notes.md", content);
        book.look(nobody).unwrap();
        assert_eq!(world.marked().len(), marked, "{content}");
    }
}

#[test]
fn what_one_run_takes_back_another_may_have_written_too() {
    let world = World::new();
    let book = world.book();
    for name in ["one", "two"] {
        book.add(&run(name), &of("notes.md", name), Timestamp(0)).unwrap();
    }
    book.undone(&run("two"), &["notes.md".to_owned()], UndoRemains::These(&[])).unwrap();
    assert_eq!(book.by_others(&run("three")).unwrap(), of("notes.md", "one"));
}

#[test]
fn a_folder_that_stands_for_what_was_taken_back_is_no_longer_marked_unless_something_is_left_in_it() {
    let world = World::new();
    let book = world.book();
    let marked_after = |left: UndoRemains<'_>| {
        book.clear(None).unwrap();
        for path in ["target", "docs", "notes.md"] {
            book.add(&run("one"), &of(path, "p"), Timestamp(0)).unwrap();
        }
        book.undone(&run("one"), &["target/a.o".to_owned(), "docs/b.md".to_owned()], left).unwrap();
        world.marked()
    };
    assert_eq!(marked_after(UndoRemains::These(&[])), [""; 0]);
    assert_eq!(marked_after(UndoRemains::These(&["docs/c.md".to_owned()])), ["docs"]);
    // It is unknown what else was changed: a folder that still exists may contain it.
    std::fs::create_dir(world.folder.path().join("ws/docs")).unwrap();
    assert_eq!(marked_after(UndoRemains::Unknown), ["docs", "notes.md"]);
    book.clear(None).unwrap();
    book.add(&run("one"), &of(".", "p"), Timestamp(0)).unwrap();
    book.undone(&run("one"), &[], UndoRemains::Unknown).unwrap();
    assert_eq!(world.marked(), ["."]);
    book.undone(&run("one"), &[], UndoRemains::These(&[])).unwrap();
    assert_eq!(world.marked(), [""; 0]);
}

#[test]
fn a_folder_is_cleared_with_all_in_it_and_nothing_beside_it() {
    let world = World::new();
    let book = world.book();
    for path in ["docs/a.md", "docs/b.md", "docs.md"] {
        book.add(&run("one"), &of(path, "p"), Timestamp(0)).unwrap();
    }
    assert_eq!((book.clear(Some("docs")).unwrap(), world.marked()), (2, vec!["docs.md".to_owned()]));
    assert_eq!((book.clear(None).unwrap(), world.marked()), (1, Vec::new()));
}

#[test]
fn a_book_that_cannot_be_read_is_an_error_and_not_an_empty_one() {
    let world = World::new();
    world.book().add(&run("one"), &of("a", "p"), Timestamp(0)).unwrap();
    std::fs::write(&world.book().file, "{").unwrap();
    assert!(world.book().all().is_err() && world.book().add(&run("one"), &of("b", "p"), Timestamp(0)).is_err());
}

#[test]
fn a_change_of_one_file_costs_one_row_however_many_are_marked() {
    let world = World::new();
    let book = world.book();
    let many = (0..3_000).map(|n| (format!("f{n}"), Origins::of("p"))).collect();
    book.add(&run("one"), &many, Timestamp(0)).unwrap();
    let length = || std::fs::metadata(&book.file).unwrap().len();
    let before = length();
    book.add(&run("two"), &of("f7", "q"), Timestamp(0)).unwrap();
    assert!(length() - before < 100, "{} bytes", length() - before);
    let before = length();
    book.add(&run("two"), &of("f7", "q"), Timestamp(0)).unwrap();
    assert_eq!(length(), before, "nothing is written where nothing has changed");
    assert_eq!(world.marked().len(), 3_001);
}

#[test]
fn a_file_of_outdated_rows_is_written_anew() {
    let world = World::new();
    let book = world.book();
    for _ in 0..600 {
        book.add(&run("one"), &of("a", "p"), Timestamp(0)).unwrap();
        book.clear(Some("a")).unwrap();
    }
    book.add(&run("one"), &of("b", "p"), Timestamp(0)).unwrap();
    let rows = std::fs::read_to_string(&book.file).unwrap().lines().count();
    assert!(rows < 1_100, "{rows} rows");
    assert_eq!(world.marked(), ["b"]);
}

#[test]
fn a_row_that_was_cut_off_counts_for_nothing_and_damages_no_later_one() {
    let world = World::new();
    let book = world.book();
    book.add(&run("one"), &of("a", "p"), Timestamp(0)).unwrap();
    let text = std::fs::read(&book.file).unwrap();
    let row = "{\"mark\":[\"größe".as_bytes();
    for end in 0..=row.len() {
        std::fs::write(&book.file, [&text, &row[..end]].concat()).unwrap();
        assert_eq!(world.marked(), ["a"], "cut off after {end} bytes");
    }
    book.add(&run("one"), &of("c", "p"), Timestamp(0)).unwrap();
    assert_eq!(world.marked(), ["a", "c"]);
}

#[test]
fn marks_of_an_older_version_still_count() {
    let world = World::new();
    let book = world.book();
    let old =
        r#"{"workspace":"/w","files":{"a":{"one":{"origins":["p"]}}},"roaming":{"two":{"origins":["q"],"since":5}}}"#;
    std::fs::create_dir_all(book.file.parent().unwrap()).unwrap();
    std::fs::write(book.file.with_extension("json"), old).unwrap();
    assert!(book.stamp().is_some());
    assert_eq!(world.marked(), [".", "a"]);
    book.add(&run("one"), &of("b", "p"), Timestamp(0)).unwrap();
    assert_eq!(world.marked(), [".", "a", "b"]);
    assert!(!book.file.with_extension("json").exists());
    book.clear(None).unwrap();
    assert_eq!(world.marked(), [""; 0]);
}
