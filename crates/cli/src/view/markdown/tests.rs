//! Tests of how Markdown is rendered.

use super::*;

fn plain(text: &str, columns: usize) -> String {
    render(text, columns, Paint::off())
}

#[test]
fn a_page_is_wrapped_at_words_and_keeps_its_lists_and_code() {
    let text = "# Title\n\nSome **bold** words that are longer than the line allows.\n\n- one\n  - inner one with words that wrap\n- two\n\n3. three\n4. four\n\n```rust\nlet x = 1;\n\nlet y = \"a long line of code that is never broken\";\n```\n\n> quoted\n\nend";
    insta::assert_snapshot!(plain(text, 30), @r#"
    # Title

    Some bold words that are
    longer than the line allows.

    • one
      • inner one with words that
        wrap
    • two

    3. three
    4. four

      rust:
        let x = 1;

        let y = "a long line of code that is never broken";

    │ quoted

    end
    "#);
}

#[test]
fn lines_that_were_broken_stay_broken() {
    assert_eq!(plain("one\ntwo", 80), "one\ntwo");
}

#[test]
fn numbers_stand_where_the_table_says() {
    let text = "| region | units | of all |\n|:---|---:|:---:|\n| East | 120 | 60 % |\n| West | 8 | 4 % |";
    insta::assert_snapshot!(plain(text, 80), @r"
    region │ units │ of all
    ───────┼───────┼───────
    East   │   120 │  60 %
    West   │     8 │  4 %
    ");
}

#[test]
fn a_table_is_aligned_and_its_cells_wrap_where_it_is_too_wide() {
    let text = "| clause | 2024 | 2025 |\n|---|---|---|\n| Term | 12 months | 24 months, renewed automatically |\n| Fee | 4,000 | 4,400 |";
    insta::assert_snapshot!(plain(text, 80), @r"
    clause │ 2024      │ 2025
    ───────┼───────────┼─────────────────────────────────
    Term   │ 12 months │ 24 months, renewed automatically
    Fee    │ 4,000     │ 4,400
    ");
    insta::assert_snapshot!(plain(text, 40), @r"
    clause │ 2024      │ 2025
    ───────┼───────────┼────────────────────
    Term   │ 12 months │ 24 months, renewed
           │           │ automatically
    Fee    │ 4,000     │ 4,400
    ");
    insta::assert_snapshot!(plain(text, 20), @r"
    clause: Term
    2024: 12 months
    2025: 24 months,
      renewed
      automatically

    clause: Fee
    2024: 4,000
    2025: 4,400
    ");
}

#[test]
fn with_colours_marks_become_styles_and_nothing_steers_the_terminal() {
    let shown = render("**a** `b` \u{1b}[2J [c](https://x.example/)", 80, Paint::on());
    assert_eq!(shown, "\u{1b}[1ma\u{1b}[0m \u{1b}[36mb\u{1b}[0m \\u{1b}[2J \u{1b}[4mc\u{1b}[0m (https://x.example/)");
}

#[test]
fn data_and_wide_characters_are_kept() {
    let data = "{\"a\": \"*x*\",\n \"b\": 1}";
    assert_eq!(plain(data, 80), data);
    assert_eq!(plain("日本語のとても長い文章です、折り返します", 20), "日本語のとても長い文\n章です、折り返します");
}

#[test]
fn citations_are_shown_with_their_words_and_links_stay_links() {
    let cited =
        "It is 2.05 m [1], signed [2: not found].\n\n[1]: tides.csv:3 \"Brest\"\n[2: not found]: a.md:1 \"Ada\"\n";
    let expected =
        "It is 2.05 m [1], signed [2: not found].\n\n[1]: tides.csv:3 \"Brest\"\n[2: not found]: a.md:1 \"Ada\"";
    assert_eq!(plain(cited, 80), expected);
    assert_eq!(plain("See [the tides][1].\n\n[1]: https://example.org\n", 80), "See the tides (https://example.org).");
}
