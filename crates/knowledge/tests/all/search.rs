//! Finding passages by words.

use updraft_knowledge::{DocumentFilter, MatchForm, SearchRequest};

use crate::world::{World, places, search};

const TIDES: &str = "port,M2,S2\nAberdeen,1.30,0.45\nBrest,2.05,0.75\nCuxhaven,1.34,0.35\n";

#[test]
fn a_value_is_found_by_its_row_and_its_column() {
    let world = World::with(&[("tides.csv", TIDES), ("notes.md", "# Notes\n\nNothing about ports here.\n")]);
    let answer = world.search("What is M2 of Brest?");
    let best = &answer.passages[0];
    assert_eq!(best.path, "tides.csv");
    let marked: Vec<&str> = best.snippet.marks.iter().map(|mark| &best.snippet.text[mark.clone()]).collect();
    assert_eq!(marked, ["M2", "Brest"]);
    assert_eq!((answer.unknown, answer.corrections), (vec![], vec![]));
}

#[test]
fn other_forms_of_a_word_match_and_the_answer_says_how() {
    let world = World::with(&[("a.md", "The heated plates were connected.\n"), ("b.md", "Apples and pears.\n")]);
    let answer = world.search("connections of a plate heated");
    assert_eq!(places(&answer), ["a.md line 1"]);
    let why: Vec<_> = answer.passages[0].why.words.iter().map(|word| (word.word.as_str(), word.form)).collect();
    let expected = [("connections", MatchForm::Stem), ("plate", MatchForm::Stem), ("heated", MatchForm::Exact)];
    assert_eq!(why, expected);
}

#[test]
fn a_misspelled_word_is_corrected_only_if_it_occurs_nowhere() {
    let world = World::with(&[("a.md", "The turbulent boundary layer.\n"), ("b.md", "A bundary is a typo here.\n")]);
    let answer = world.search("turbulnet layres");
    let corrections = [("turbulnet".to_owned(), "turbul".to_owned()), ("layres".to_owned(), "layer".to_owned())];
    assert_eq!(answer.corrections, corrections);
    assert_eq!(places(&answer)[0], "a.md line 1");
    assert_eq!(places(&world.search("bundary"))[0], "b.md line 1");
    assert_eq!(world.search("zzyzx").unknown, ["zzyzx"]);
}

#[test]
fn languages_without_spaces_are_found_by_two_characters() {
    let world =
        World::with(&[("rain.txt", "梅雨前線は日本列島に停滞する。\n"), ("snow.txt", "冬の日本海側では雪が多い。\n")]);
    assert_eq!(places(&world.search("梅雨"))[0], "rain.txt line 1");
    assert_eq!(places(&world.search("雪はどこで多いか"))[0], "snow.txt line 1");
    let world = World::with(&[
        ("thai.txt", "ข้อมูลท่าเรือและน้ำขึ้นน้ำลง\n"),
        ("hindi.txt", "बंदरगाह में ज्वार की ऊँचाई\n"),
        ("greek.txt", "Ο πλούς του λιμένος\n"),
    ]);
    for (question, path) in [("น้ำขึ้น", "thai.txt"), ("ज्वार", "hindi.txt"), ("ΠΛΟΥΣ ΛΙΜΕΝΟΣ", "greek.txt")]
    {
        let answer = world.search(question);
        assert_eq!(places(&answer), [format!("{path} line 1")], "{answer:?}");
    }
}

#[test]
fn words_inside_identifiers_and_names_of_files_match() {
    let code = "fn parse(input: &str) -> Tree {\n    readHttpBody(input)\n}\n";
    let world = World::with(&[("server.rs", code), ("README.md", "# Tool\n\nA tool.\n")]);
    let answer = world.search("body");
    assert_eq!(places(&answer), ["server.rs lines 1-3"]);
    assert_eq!(answer.passages[0].why.words[0].form, MatchForm::Part);
    assert_eq!(world.search("server").passages[0].why.words[0].form, MatchForm::Heading);
}

#[test]
fn filters_choose_by_path_kind_and_date() {
    let world = World::with(&[("docs/a.md", "harbour\n"), ("src/a.rs", "// harbour\n"), ("docs/b.txt", "harbour\n")]);
    world.ingest();
    let index = world.index();
    let found = |filter: DocumentFilter| {
        let request = SearchRequest { text: "harbour".to_owned(), filter, ..SearchRequest::default() };
        let mut paths: Vec<String> =
            index.search(&request, None).unwrap().passages.into_iter().map(|passage| passage.path).collect();
        paths.sort();
        paths
    };
    let path = DocumentFilter { path: Some("docs/*".to_owned()), ..DocumentFilter::default() };
    assert_eq!(found(path), ["docs/a.md", "docs/b.txt"]);
    let kind = DocumentFilter { kinds: vec!["code".to_owned()], ..DocumentFilter::default() };
    assert_eq!(found(kind), ["src/a.rs"]);
    let old = DocumentFilter { until: Some(1_000), ..DocumentFilter::default() };
    assert_eq!(found(old), [""; 0]);
    let new = DocumentFilter { since: Some(1_000), ..DocumentFilter::default() };
    assert_eq!(found(new).len(), 3);
}

#[test]
fn a_question_of_stop_words_or_of_nothing_is_answered() {
    let world = World::with(&[("who.md", "The Who were a band.\n"), ("b.md", "Something else.\n")]);
    assert_eq!(places(&world.search("who"))[0], "who.md line 1");
    search(&world.index(), &"nothing like qwertz before ".repeat(10_000));
    for text in ["", "   ", "\"", "a OR (b", "NEAR(", "* : ^", "-"] {
        search(&world.index(), text);
    }
}

#[test]
fn words_between_quotation_marks_stand_next_to_each_other() {
    let world = World::with(&[
        ("a.md", "The code exits. An exit needs no code at all, so code, code, code.\n"),
        ("b.md", "A long page about other things that mentions the exit codes once, among much else.\n"),
    ]);
    assert_eq!(places(&world.search("exit code")).len(), 2);
    assert_eq!(places(&world.search("what does \"exit code\" mean")), ["b.md line 1"]);
    let answer = world.search("\"code exit page\"");
    assert_eq!((places(&answer).len(), answer.unknown), (2, vec!["\"code exit page\"".to_owned()]));
}

#[test]
fn chunks_that_are_all_alike_are_all_found() {
    let files: Vec<(String, &str)> = (0..150).map(|at| (format!("{at}/LICENSE"), "Permission is granted.\n")).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let world = World::with(&files);
    assert_eq!(world.search("permission granted").passages.len(), 10);
}

#[test]
fn words_that_were_asked_for_before_are_found_once_they_are_written() {
    let world = World::with(&[("a.md", "The year 2025.\n")]);
    world.ingest();
    let index = world.index();
    assert_eq!(search(&index, "2026").unknown, ["2026"]);
    world.write("a.md", "The year 2026.\n");
    world.ingest();
    assert_eq!(places(&search(&index, "2026")), ["a.md line 1"]);
}
