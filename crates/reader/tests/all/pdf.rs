//! PDFs: reading order, tables, scans.

use updraft_reader::{PageSelection, ReadError, ReadOptions, read};

const PAPER: &[u8] = include_bytes!("../files/paper.pdf");
const SCAN: &[u8] = include_bytes!("../files/scan.pdf");

#[test]
fn columns_are_read_one_after_the_other_and_tables_by_row() {
    let document = read(PAPER, "paper.pdf", &ReadOptions::default()).unwrap();
    let expected = "# Tides of the North\n\nTides follow the moon in a way that was first written down by sailors, who kept lists of the hours \
                    at which the water stood highest in every harbour they knew of.\n\nIn the second column the text goes on as if nothing had \
                    happened. Readers find their way without being told, and a program has to find it as well from the white between the \
                    columns.\n\n| Harbour | High | Low |\n| --- | --- | --- |\n| Brest | 2.05 | 0.75 |\n| Oslo | 0.31 | 0.12 |\n| Kiel | 0.20 | 0.10 |\n\n\
                    - measured in metres\n";
    assert_eq!(document.to_markdown(), expected);
    let places: Vec<String> = document.blocks.iter().map(|block| block.place.to_string()).collect();
    assert_eq!(places, ["page 1", "page 1", "page 1", "page 2", "page 2"]);
    assert_eq!(document.title.as_deref(), Some("Tides of the North"));
}

#[test]
fn pages_can_be_chosen() {
    let choose = |pages: &str| ReadOptions { pages: PageSelection::parse(pages).ok(), ..ReadOptions::default() };
    assert!(read(PAPER, "a.pdf", &choose("2")).unwrap().to_markdown().starts_with("| Harbour |"));
    assert_eq!(read(PAPER, "a.pdf", &choose("3")), Err(ReadError::NoSuchPage { pages: 2 }));
}

#[test]
fn a_scan_is_recognised() {
    let error = read(SCAN, "a.pdf", &ReadOptions::default()).unwrap_err();
    assert_eq!(error, ReadError::Scanned { pages: 1 });
}

/// A PDF of one page with this content, and a standard font that is not in the file.
fn page(content: &str) -> Vec<u8> {
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R>>>>>>".to_owned(),
        format!("<</Length {}>>stream\n{content}\nendstream", content.len()),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
        "<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>/Length 4>>stream\n/X Do\nendstream".to_owned(),
    ];
    let objects = objects.iter().zip(1..).map(|(object, number)| format!("{number} 0 obj{object}endobj\n"));
    format!("%PDF-1.4\n{}trailer<</Root 1 0 R/Size 7>>\n", objects.collect::<String>()).into_bytes()
}

#[test]
fn a_page_without_a_list_of_objects_and_with_a_form_that_shows_itself_is_read() {
    let file = page("BT /F 12 Tf 20 200 Td (Na\\357ve \\223caf\\351s\\224) Tj ET /X Do");
    let document = read(&file, "a.pdf", &ReadOptions::default()).unwrap();
    assert_eq!(document.to_markdown(), "Naïve “cafés”\n");
}

#[test]
fn gaps_are_spaces_and_text_beside_the_page_is_not_read() {
    let file = page(
        "BT /F 12 Tf 20 200 Td [(two) -400 (wor) 20 (ds)] TJ 5000 0 Td (hidden) Tj ET BT /F 12 Tf 0 1 -1 0 100 50 Tm (turned) Tj ET",
    );
    let document = read(&file, "a.pdf", &ReadOptions::default()).unwrap();
    assert_eq!(document.to_markdown(), "two words\n\nturned\n");
}

#[test]
fn columns_that_stand_close_are_still_columns() {
    // The words of both columns are set wide, and the white between the columns is narrower than the letters are high.
    let left = ["Sailors kept long", "lists of all hours", "at which the water", "stood the highest"];
    let right = ["and children sang", "of the moon which", "pulls all of it up", "and lets it fall"];
    let mut content = String::from("BT /F 10 Tf 2 Tw");
    for (x, lines) in [(20, left), (130, right)] {
        for (line, row) in lines.iter().zip(0..) {
            content.extend([" 1 0 0 1 ", &x.to_string(), " ", &(200 - 12 * row).to_string(), " Tm (", line, ") Tj"]);
        }
    }
    let document = read(&page(&(content + " ET")), "a.pdf", &ReadOptions::default()).unwrap();
    assert_eq!(document.to_markdown(), format!("{}\n\n{}\n", left.join(" "), right.join(" ")));
}

#[test]
fn a_page_without_anything_says_so() {
    let document = read(&page("0 0 m 10 10 l S"), "a.pdf", &ReadOptions::default()).unwrap();
    assert_eq!(
        (document.blocks.len(), document.warnings.as_slice()),
        (0, ["the pages have no text".to_owned()].as_slice())
    );
}
