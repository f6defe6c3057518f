//! Answers to particular questions, in full.

use super::world::World;

/// An answer without its last paragraph, which is the same in all.
fn answer(world: &World, goal: &str) -> String {
    let answer = world.answer(goal);
    world.quotes(&answer);
    let (answer, last) = answer.rsplit_once("\n\n").unwrap();
    assert!(last.starts_with("No language model is connected") && !last.contains('\n'), "{last}");
    answer.to_owned()
}

fn stations() -> World {
    World::new()
        .with("README.md", "# Stations\n\nA list of stations and their codes. It is kept by hand.\n")
        .with("docs/kestrel.md", "# Kestrel\n\nThe launch code of station Kestrel is 4711.\n")
        .with("docs/birds.txt", "The kestrel hovers over fields.\n")
}

#[test]
fn a_fact_is_quoted_with_its_place() {
    let said = answer(&stations(), "What is the launch code of station Kestrel?");
    assert_eq!(said, "- [1] docs/kestrel.md:3: \"The launch code of station Kestrel is 4711.\"");
}

#[test]
fn the_code_of_another_station_is_no_answer() {
    for goal in [
        "What is the launch code of station Osprey?",
        "What's the launch code of Station Osprey?",
        "Osprey's launch code?",
    ] {
        assert_eq!(answer(&stations(), goal), "I found no evidence in the files of this folder for: Osprey.", "{goal}");
    }
    let said = answer(&stations(), "what is the launch code of station osprey?");
    assert_eq!(said, "I found no evidence in the files of this folder for: osprey.");
}

#[test]
fn a_name_in_another_file_does_not_make_it_an_answer() {
    let world = stations().with("docs/osprey.md", "# Osprey\n\nThe osprey eats fish. Osprey was painted in 1990.\n");
    let said = answer(&world, "What is the launch code of station Osprey?");
    assert!(!said.contains("4711"), "{said}");
    assert!(!said.contains("no evidence"), "each word stands in a file: {said}");
}

#[test]
fn a_file_named_after_it_does_not_lend_its_name_to_another() {
    let world = World::new().with("osprey.md", "The launch code of station Kestrel is 4711.\n");
    let said = answer(&world, "What is the launch code of station Osprey?");
    assert!(!said.contains("4711"), "{said}");
}

#[test]
fn of_two_names_the_missing_one_is_named() {
    let said = answer(&stations(), "What are the launch codes of Kestrel and Osprey?");
    assert!(said.contains("docs/kestrel.md:3: \"The launch code of station Kestrel is 4711."), "{said}");
    assert!(said.ends_with("I found no evidence in the files of this folder for: Osprey."), "{said}");
}

#[test]
fn a_person_of_the_same_family_name_is_someone_else() {
    let world = World::new().with("crew.txt", "Tom Marsh is the captain.\nElena Novak cooks.\n");
    let said = answer(&world, "Who is Elena Marsh?");
    assert!(!said.contains('"'), "{said}");
}

#[test]
fn a_folder_introduces_itself() {
    let world = stations().with("notes.txt", "After a crash the stations recover from the log within a minute.\n");
    let said = answer(&world, "What is this project about, and how does it survive a crash?");
    assert_eq!(
        said.split("\n\n").collect::<Vec<_>>()[1],
        "- [2] notes.txt:1: \"After a crash the stations recover from the log within a minute.\""
    );
    assert!(
        said.starts_with("- [1] README.md:3: \"A list of stations and their codes. It is kept by hand.\""),
        "{said}"
    );
}

#[test]
fn a_sentence_over_two_lines_is_quoted_whole() {
    let world = World::new().with("a.txt", "Some words before. The tank at\nMarlowe holds 40 litres. And after.\n");
    let said = answer(&world, "How much does the tank at Marlowe hold?");
    assert_eq!(said, "- [1] a.txt:1-2: \"The tank at Marlowe holds 40 litres. And after.\"");
}

#[test]
fn an_empty_folder_has_nothing_to_say() {
    assert_eq!(answer(&World::new(), "What is this?"), "I found nothing to quote in the files of this folder.");
    assert_eq!(answer(&World::new(), "Who is Tom?"), "I found no evidence in the files of this folder for: Tom.");
    assert_eq!(answer(&World::new(), ""), "I found nothing to quote in the files of this folder.");
}

#[test]
fn a_row_is_quoted_with_the_header_of_its_table() {
    let world = World::new().with("ports.csv", "port,M2,S2\nSaint-Malo,3.68,1.43\nBrest,2.05,0.75\n");
    let said = answer(&world, "What is M2 of Brest?");
    assert_eq!(said, "- [1] ports.csv:3: \"port | M2 | S2 … Brest | 2.05 | 0.75\"");
}

#[test]
fn every_part_that_the_files_answer_is_covered() {
    let world = stations().with("ports.csv", "port,M2,S2\nBrest,2.05,0.75\n");
    let said = answer(&world, "What is the launch code of Kestrel, and what is M2 of Brest? Who is Tom?");
    for part in ["is 4711.", "Brest | 2.05", "I found no evidence in the files of this folder for: Tom."] {
        assert!(said.contains(part), "{part} is missing: {said}");
    }
}

#[test]
fn a_file_that_is_named_is_quoted() {
    let world = stations().with("a.txt", "Bread is baked at dawn by two people.\n").with("b/list.txt", "eggs\nmilk\n");
    let said = answer(&world, "What is in a.txt?");
    assert_eq!(said, "- [1] a.txt:1: \"Bread is baked at dawn by two people.\"");
    let said = answer(&world, "What does b/list.txt contain?");
    assert_eq!(said, "- [1] b/list.txt:1-2: \"eggs milk\"");
    let said = answer(&world, "What does kestrel.md say?");
    assert!(said.starts_with("- [1] docs/kestrel.md:"), "{said}");
    assert!(!answer(&world, "What is in missing.txt?").contains('"'));
}

#[test]
fn a_folder_without_a_readme_is_introduced_by_its_first_documents() {
    let world = World::new()
        .with("src/bake.rs", "fn bake() {}\n")
        .with("notes/plan.txt", "Bread is baked at dawn by two people.\n")
        .with("list.txt", "eggs\n");
    let said = answer(&world, "What does this project do?");
    assert_eq!(said, "- [1] notes/plan.txt:1: \"Bread is baked at dawn by two people.\"");
    let said = answer(&World::new().with("list.txt", "eggs\n"), "What does this project do?");
    assert_eq!(said, "- [1] list.txt:1: \"eggs\"");
}
