//! Files that are made to hurt: each costs little and ends with a clear word.

use updraft_reader::{DocumentKind, ReadError, ReadLimits, ReadOptions, read};

use crate::packed::{bomb, zip};

const PARTS: [(&str, &[u8]); 1] = [("[Content_Types].xml", b"<Types/>")];

fn small() -> ReadOptions {
    let limits = ReadLimits { decompressed: 8 << 20, ..ReadLimits::default() };
    ReadOptions { limits, ..ReadOptions::default() }
}

#[test]
fn archives_that_unpack_without_end_are_refused() {
    let workbook = [
        PARTS[0],
        ("xl/workbook.xml", b"<workbook><sheets><sheet name='S' r:id='a'/></sheets></workbook>".as_slice()),
        (
            "xl/_rels/workbook.xml.rels",
            b"<R><Relationship Id='a' Type='x/worksheet' Target='worksheets/sheet1.xml'/></R>".as_slice(),
        ),
    ];
    let container: [(&str, &[u8]); 2] = [
        ("META-INF/container.xml", b"<c><rootfile full-path='a.opf'/></c>"),
        (
            "a.opf",
            b"<package><manifest><item id='a' href='a.xhtml'/></manifest><spine><itemref idref='a'/></spine></package>",
        ),
    ];
    let cases = [
        (bomb(&PARTS, "word/document.xml", b"<w:document><w:body><w:p>", 64 << 20), DocumentKind::Docx),
        (bomb(&workbook, "xl/worksheets/sheet1.xml", b"<worksheet>", 64 << 20), DocumentKind::Xlsx),
        (bomb(&PARTS, "ppt/presentation.xml", b"<p>", 64 << 20), DocumentKind::Pptx),
        (bomb(&container, "a.xhtml", b"<p>", 64 << 20), DocumentKind::Epub),
    ];
    for (file, kind) in cases {
        assert!(file.len() < 1 << 20);
        assert_eq!(read(&file, "a", &small()), Err(ReadError::TooLarge { kind, limit: 8 << 20 }));
    }
}

#[test]
fn entities_are_not_expanded() {
    let mut body = String::from("<!DOCTYPE d [<!ENTITY a \"aaaaaaaaaa\">");
    for (name, inner) in [("b", "a"), ("c", "b"), ("d", "c"), ("e", "d")] {
        let value = format!("&{inner};").repeat(1000);
        body.extend(["<!ENTITY ", name, " \"", &value, "\">"]);
    }
    body.push_str("]><w:document><w:body><w:p><w:r><w:t>before &e; after</w:t></w:r></w:p></w:body></w:document>");
    let file = zip(&[PARTS[0], ("word/document.xml", body.as_bytes())]);
    assert_eq!(read(&file, "a.docx", &small()).unwrap().to_markdown(), "before  after\n");
}

#[test]
fn depth_is_bounded_in_xml_and_flattened_in_pages() {
    let deep = format!("<w:document><w:body>{}x", "<w:ins>".repeat(100_000));
    let file = zip(&[PARTS[0], ("word/document.xml", deep.as_bytes())]);
    assert_eq!(read(&file, "a.docx", &small()), Err(ReadError::TooDeep { kind: DocumentKind::Docx, limit: 256 }));
    for tag in ["<div>", "<b>", "<ul><li>", "<table><tr><td>", "<blockquote>", "<span>"] {
        let page = format!("{}inside", tag.repeat(20_000));
        let document = read(page.as_bytes(), "a.html", &small()).unwrap();
        assert!(document.to_markdown().contains("inside"), "{tag}");
    }
}

#[test]
fn claims_about_sizes_are_not_believed() {
    let page = b"<table><tr><td colspan=999999999 rowspan=999999999>a<td>b<tr><td>c</table>";
    assert!(read(page, "a.html", &small()).unwrap().to_markdown().len() < 100_000);
    let sheet = b"<worksheet><sheetData><row r='1'><c r='A1'><v>1</v></c></row><row r='1048576'><c r='XFD1048576'><v>2</v></c></row></sheetData>\
        <mergeCells><mergeCell ref='A1:XFD1048576'/></mergeCells></worksheet>";
    let file = zip(&[
        PARTS[0],
        ("xl/workbook.xml", b"<workbook><sheets><sheet name='S' r:id='a'/></sheets></workbook>"),
        (
            "xl/_rels/workbook.xml.rels",
            b"<R><Relationship Id='a' Type='x/worksheet' Target='worksheets/sheet1.xml'/></R>",
        ),
        ("xl/worksheets/sheet1.xml", sheet),
    ]);
    let expected = "## S\n\n| 1 |\n| --- |\n\n| 2 |\n| --- |\n";
    assert_eq!(read(&file, "a.xlsx", &small()).unwrap().to_markdown(), expected);
}

#[test]
fn a_table_on_one_endless_line_is_cut() {
    let options =
        ReadOptions { limits: ReadLimits { output: 1 << 20, ..ReadLimits::default() }, ..ReadOptions::default() };
    let line = "12345,".repeat(4 << 20);
    let document = read(line.as_bytes(), "a.csv", &options).unwrap();
    assert!(document.to_markdown().len() <= (1 << 20) + 1);
    assert!(document.warnings.iter().any(|warning| warning.contains("cut off")), "{:?}", document.warnings);
}

#[test]
fn a_pdf_that_unpacks_without_end_is_refused() {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let block = vec![b' '; 1 << 20];
    for _ in 0..64 {
        std::io::Write::write_all(&mut encoder, &block).unwrap();
    }
    let content = encoder.finish().unwrap();
    let mut file =
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n\
        3 0 obj<</Type/Page/Parent 2 0 R/Contents 4 0 R>>endobj\n"
            .to_vec();
    file.extend(format!("4 0 obj<</Filter/FlateDecode/Length {}>>stream\n", content.len()).bytes());
    file.extend(&content);
    file.extend(b"\nendstream endobj\ntrailer<</Root 1 0 R/Size 5>>\n");
    assert_eq!(read(&file, "a.pdf", &small()), Err(ReadError::TooLarge { kind: DocumentKind::Pdf, limit: 8 << 20 }));
}

#[test]
fn a_pdf_whose_pages_go_in_circles_ends() {
    let file = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[2 0 R 2 0 R 3 0 R]/Count 9>>endobj\n\
        3 0 obj<</Type/Pages/Parent 3 0 R/Kids[2 0 R 3 0 R]>>endobj\ntrailer<</Root 1 0 R/Size 4>>\n";
    let read = read(file, "a.pdf", &small());
    assert!(read.is_err() || read.is_ok_and(|document| document.blocks.is_empty()));
}

#[test]
fn broken_utf_16_is_replaced() {
    let document = read(b"\xff\xfea\x00\x00\xd8b\x00\xdc", "a.txt", &small()).unwrap();
    assert_eq!(document.to_markdown(), "a\u{fffd}b\u{fffd}\n");
}
