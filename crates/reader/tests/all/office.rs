//! Word documents, workbooks and presentations, as the programs of `tests/files/make.py` write them.

use updraft_reader::{PageSelection, ReadError, ReadOptions, read};

use crate::packed::zip;

const REPORT: &[u8] = include_bytes!("../files/report.docx");
const SALES: &[u8] = include_bytes!("../files/sales.xlsx");
const SLIDES: &[u8] = include_bytes!("../files/slides.pptx");

fn markdown(bytes: &[u8], options: &ReadOptions) -> String {
    read(bytes, "file", options).map_or_else(|error| format!("error: {error}"), |document| document.to_markdown())
}

#[test]
fn a_word_document_is_read() {
    let expected = "# Harbour report\n\n# Ships\n\nThe harbour had **412 ships** in *May*.\n\n- Container ships\n- Ferries\n1. Moor\n2. Unload\n\n\
                    | Quay | Length | Depth |\n| --- | --- | --- |\n| North | unknown | unknown |\n| South | 260 | 9 |\n";
    let document = read(REPORT, "report.docx", &ReadOptions::default()).unwrap();
    assert_eq!(document.to_markdown(), expected);
    assert_eq!(document.title.as_deref(), Some("Harbour report"));
    assert_eq!(document.blocks[2].place.to_string(), "paragraph 3");
}

#[test]
fn runs_links_notes_formulas_and_boxes_of_a_document_are_read() {
    let body = r#"<w:document><w:body>
        <w:p><w:hyperlink r:id="r1"><w:r><w:t>site</w:t></w:r></w:hyperlink><w:r><w:footnoteReference w:id="2"/></w:r>
          <w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins><w:r><w:t xml:space="preserve"> new</w:t></w:r></w:ins></w:p>
        <w:p><m:oMath><m:sSup><m:e><m:r><m:t>πr</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath></w:p>
        <w:p><w:r><w:fldChar w:fldCharType="begin"/><w:instrText>PAGE</w:instrText><w:t>no</w:t><w:fldChar w:fldCharType="separate"/><w:t>7</w:t><w:fldChar w:fldCharType="end"/></w:r></w:p>
        <w:p><w:r><mc:AlternateContent><mc:Choice><w:drawing><wps:txbx><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent></wps:txbx></w:drawing></mc:Choice>
          <mc:Fallback><w:pict><v:textbox><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent></v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>
        <w:sdt><w:sdtContent><w:p><w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="1"/></w14:checkbox></w:sdtPr></w:sdt><w:r><w:t>done</w:t></w:r></w:p></w:sdtContent></w:sdt>
      </w:body></w:document>"#;
    let file = zip(&[
        ("[Content_Types].xml", b"<Types/>"),
        ("word/document.xml", body.as_bytes()),
        ("word/_rels/document.xml.rels", br#"<Relationships><Relationship Id="r1" Type="x/hyperlink" Target="https://example.org" TargetMode="External"/></Relationships>"#),
        ("word/comments.xml", br#"<w:comments><w:comment w:author="Ann" w:date="2026-01-02"><w:p><w:r><w:t>Why?</w:t></w:r></w:p></w:comment></w:comments>"#),
        ("word/footnotes.xml", br#"<w:footnotes><w:footnote w:id="2"><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote></w:footnotes>"#),
    ]);
    let expected = "[site](https://example.org)[^2] new\n\n$$\\pi r^{2}$$\n\n7\n\nboxed\n\n- [x] done\n\n[^2]: A note.\n\n[author: Ann, time: 2026-01-02]: Why?\n";
    assert_eq!(markdown(&file, &ReadOptions::default()), expected);
}

#[test]
fn a_workbook_is_read_table_by_table_with_its_cells() {
    let document = read(SALES, "sales.xlsx", &ReadOptions::default()).unwrap();
    let expected = "## Sales\n\n| Day | Town | Amount |\n| --- | --- | --- |\n| 2026-01-31 | Brest | 2.05 |\n| 2026-02-01 | Oslo | 1234 |\n\n\
                    | Note |\n| --- |\n| without tax |\n\n## Open times\n\n| Monday &#124; Tuesday | TRUE |\n| --- | --- |\n\
                    | 2026-03-01 08:30:00 |  |\n\n| closed | closed |\n| --- | --- |\n";
    assert_eq!(document.to_markdown(), expected);
    let places: Vec<String> = document.blocks.iter().map(|block| block.place.to_string()).collect();
    assert_eq!(places[1..4], ["sheet Sales!A1:C1", "sheet Sales!A2:C2", "sheet Sales!A3:C3"]);
    assert_eq!(places[4], "sheet Sales!E5");
}

#[test]
fn one_sheet_can_be_asked_for_by_name_or_number() {
    let asked = |sheet: &str| read(SALES, "a", &ReadOptions { sheet: Some(sheet.into()), ..ReadOptions::default() });
    assert_eq!(asked("open times").unwrap().blocks[0].text, "## Open times");
    assert_eq!(asked("2").unwrap().blocks[0].text, "## Open times");
    let expected = ReadError::NoSuchSheet { wanted: "Costs".into(), sheets: vec!["Sales".into(), "Open times".into()] };
    assert_eq!(asked("Costs").unwrap_err(), expected);
}

#[test]
fn a_presentation_is_read_slide_by_slide() {
    let expected = "# Ferries\n\n- Daily to Kiel\n- Weekly to Oslo\n\nNotes: Mention the strike.\n\n# Passengers\n\n\
                    | Year | Count |\n| --- | --- |\n| 2025 | 81000 |\n\nBar chart\n\n|  | Passengers |\n| --- | --- |\n| 2024 | 79000 |\n| 2025 | 81000 |\n";
    assert_eq!(markdown(SLIDES, &ReadOptions::default()), expected);
    let second = ReadOptions { pages: Some(PageSelection::parse("2").unwrap()), ..ReadOptions::default() };
    let document = read(SLIDES, "a", &second).unwrap();
    assert_eq!(
        (document.blocks[0].text.as_str(), document.blocks[0].place.to_string()),
        ("# Passengers", "page 2".into())
    );
    let ninth = ReadOptions { pages: Some(PageSelection::parse("9-").unwrap()), ..ReadOptions::default() };
    assert_eq!(read(SLIDES, "a", &ninth), Err(ReadError::NoSuchPage { pages: 2 }));
}

#[test]
fn choices_of_pages_are_checked() {
    let contains = |text: &str, page: u32| PageSelection::parse(text).is_ok_and(|pages| pages.contains(page));
    assert!(contains("1-3, 7", 2) && contains("1-3, 7", 7) && contains("5-", 900) && !contains("1-3,7", 4));
    for wrong in ["", "0", "3-1", "a", "1-2-3"] {
        assert_eq!(PageSelection::parse(wrong), Err(ReadError::BadPages(wrong.into())));
    }
}
