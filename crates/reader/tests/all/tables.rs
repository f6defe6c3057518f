//! CSV and its dialects.

use updraft_reader::{ReadOptions, read};

fn markdown(text: &str, name: &str) -> String {
    read(text.as_bytes(), name, &ReadOptions::default()).map(|document| document.to_markdown()).unwrap_or_default()
}

#[test]
fn the_dialect_is_guessed() {
    let expected = "| name | note | n |\n| --- | --- | --- |\n| Ada | a, b; c | 1 |\n| Bob | x &#124; y | 2 |\n";
    let cases = [
        "name,note,n\nAda,\"a, b; c\",1\nBob,x | y,2\n",
        "name;note;n\nAda;\"a, b; c\";1\nBob;x | y;2\n",
        "name\tnote\tn\nAda\ta, b; c\t1\nBob\tx | y\t2\n",
        "name|note|n\r\nAda|a, b; c|1\r\nBob|\"x | y\"|2\r\n",
        "'name','note','n'\n'Ada','a, b; c','1'\n'Bob','x | y','2'\n",
    ];
    for text in cases {
        assert_eq!(markdown(text, "a.csv"), expected, "{text}");
    }
}

#[test]
fn a_row_without_names_gets_an_empty_head() {
    assert_eq!(markdown("1,2.5\n3,4\n", "a.csv"), "|  |  |\n| --- | --- |\n| 1 | 2.5 |\n| 3 | 4 |\n");
    // Years may name columns.
    assert_eq!(
        markdown("town,2024,2025\nOslo,1,2\n", "a.csv"),
        "| town | 2024 | 2025 |\n| --- | --- | --- |\n| Oslo | 1 | 2 |\n"
    );
}

#[test]
fn each_row_has_its_lines_even_if_a_cell_goes_over_several() {
    let text = "a,b\n\"one\ntwo\",\"say \"\"hi\"\"\"\n\n3,4\n";
    let document = read(text.as_bytes(), "a.csv", &ReadOptions::default()).unwrap();
    let rows: Vec<(String, &str)> =
        document.blocks.iter().map(|block| (block.place.to_string(), block.text.as_str())).collect();
    let expected =
        [("line 1", "| a | b |\n| --- | --- |"), ("lines 2-3", "| one two | say \"hi\" |"), ("line 5", "| 3 | 4 |")];
    assert_eq!(rows, expected.map(|(place, text)| (place.to_owned(), text)));
}

#[test]
fn a_quote_that_is_never_closed_does_not_swallow_the_rest() {
    assert_eq!(markdown("a,b\n\"x,1\ny,2\n", "a.csv"), "| a | b |\n| --- | --- |\n| \"x | 1 |\n| y | 2 |\n");
}

#[test]
fn rows_may_be_too_short_or_too_long() {
    assert_eq!(
        markdown("a,b\n1\n1,2,3\n4,5\n", "a.csv"),
        "| a | b |\n| --- | --- |\n| 1 |  |\n| 1 | 2 | 3 |\n| 4 | 5 |\n"
    );
}
