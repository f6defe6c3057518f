//! Text, Markdown, source code, JSON and notebooks.

use updraft_reader::{BlockKind, Document, DocumentKind, ReadError, ReadLimits, ReadOptions, read};

fn parse(bytes: &[u8], name: &str) -> Result<Document, ReadError> {
    read(bytes, name, &ReadOptions::default())
}

fn places(document: &Document) -> Vec<(BlockKind, String)> {
    document.blocks.iter().map(|block| (block.kind, block.place.to_string())).collect()
}

#[test]
fn text_is_read_in_any_encoding() {
    let wide: Vec<u8> = "größer\nŁódź".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked: Vec<u8> =
        [0xfe, 0xff].into_iter().chain("größer\nŁódź".encode_utf16().flat_map(u16::to_be_bytes)).collect();
    let (japanese, _, _) = encoding_rs::SHIFT_JIS.encode("名前は佐藤太郎、年齢は三十歳、住所は東京です。");
    let cases: [(&[u8], &str); 6] = [
        ("größer\nŁódź".as_bytes(), "größer\nŁódź\n"),
        (b"\xef\xbb\xbfwith a mark", "with a mark\n"),
        (&wide, "größer\nŁódź\n"),
        (&marked, "größer\nŁódź\n"),
        (b"caf\xe9s and na\xefve gar\xe7ons", "cafés and naïve garçons\n"),
        (&japanese, "名前は佐藤太郎、年齢は三十歳、住所は東京です。\n"),
    ];
    for (bytes, expected) in cases {
        assert_eq!(parse(bytes, "a.txt").unwrap().to_markdown(), expected);
    }
}

#[test]
fn a_broken_byte_does_not_make_utf8_something_else() {
    let mut bytes = "Größe, Länge, Höhe, Tür, für, über, Öl, Äpfel, süß, weiß, Maß. ".repeat(3).into_bytes();
    bytes.push(0xff);
    assert!(parse(&bytes, "a.log").unwrap().to_markdown().starts_with("Größe, Länge"));
}

#[test]
fn a_text_that_is_only_named_like_a_mail_is_text() {
    assert_eq!(parse("No message at all\n".as_bytes(), "a.eml").unwrap().kind, DocumentKind::Text);
    let mail = "Subject: Tides\nFrom: a@example.org\n\nHigh water.\n";
    assert_eq!(parse(mail.as_bytes(), "a.eml").unwrap().kind, DocumentKind::Mail);
}

#[test]
fn a_text_keeps_its_empty_lines_and_each_paragraph_its_lines() {
    let text = "One\ntwo.\n\n\nThree.\n";
    let document = parse(text.as_bytes(), "a.txt").unwrap();
    assert_eq!(
        places(&document),
        [(BlockKind::Paragraph, "lines 1-2".into()), (BlockKind::Paragraph, "line 5".into())]
    );
    assert_eq!(document.to_markdown(), text);
}

#[test]
fn markdown_is_read_by_its_structure() {
    let text = "---\ntags: x\n---\n# Title\nText\nmore\n\n- one\n  goes on\n- two\n\n| a |\n|---|\n\nUnder\n=====\n```rust\n# no heading\n```\n";
    let document = parse(text.as_bytes(), "a.md").unwrap();
    let expected = [
        (BlockKind::Metadata, "lines 1-3"),
        (BlockKind::Heading(1), "line 4"),
        (BlockKind::Paragraph, "lines 5-6"),
        (BlockKind::ListItem, "lines 8-9"),
        (BlockKind::ListItem, "line 10"),
        (BlockKind::Table, "lines 12-13"),
        (BlockKind::Heading(1), "lines 15-16"),
        (BlockKind::Code, "lines 17-19"),
    ];
    assert_eq!(places(&document), expected.map(|(kind, place)| (kind, place.to_owned())));
    assert_eq!((document.to_markdown().as_str(), document.title.as_deref()), (text, Some("Title")));
}

#[test]
fn source_code_is_cut_where_a_new_thing_begins() {
    let text = "fn a() {\n    1;\n\n    2;\n}\n\nfn b() {\n}\n";
    let document = parse(text.as_bytes(), "src/a.rs").unwrap();
    assert_eq!(document.kind, DocumentKind::Code);
    assert_eq!(places(&document), [(BlockKind::Code, "lines 1-5".into()), (BlockKind::Code, "lines 7-8".into())]);
    assert_eq!(document.to_markdown(), text);
}

#[test]
fn a_long_line_of_json_is_broken_and_its_numbers_stay() {
    let long = format!("{{\"b\":[1.10,{{}},\"a,{{\\\"\"],\"a\":\"{}\"}}", "x".repeat(3000));
    let document = parse(long.as_bytes(), "a.json").unwrap();
    let start = "{\n  \"b\": [\n    1.10,\n    {},\n    \"a,{\\\"\"\n  ],\n  \"a\": \"xxx";
    assert_eq!(&document.to_markdown()[..start.len()], start);
    let lines = parse(b"{\"a\":1}\n\n{\"a\":2}\n", "a.jsonl").unwrap();
    assert_eq!(places(&lines), [(BlockKind::Code, "line 1".into()), (BlockKind::Code, "line 3".into())]);
}

#[test]
fn a_notebook_shows_cells_and_what_they_printed() {
    let notebook = br##"{"cells": [
        {"cell_type": "markdown", "source": ["# Tides\n", "High and low."]},
        {"cell_type": "code", "source": "print(1)", "outputs": [{"output_type": "stream", "text": ["1\n"]}]},
        {"cell_type": "code", "source": "1/0", "outputs": [{"output_type": "error", "ename": "ZeroDivisionError", "evalue": "division"}]}
    ], "metadata": {"language_info": {"name": "python"}}, "nbformat": 4}"##;
    let document = parse(notebook, "a.ipynb").unwrap();
    let expected = "# Tides\n\nHigh and low.\n\n```python\nprint(1)\n```\n\n```\n1\n```\n\n```python\n1/0\n```\n\n```\nZeroDivisionError: division\n```\n";
    assert_eq!(document.to_markdown(), expected);
    assert_eq!(document.blocks[3].place.to_string(), "cell 2 output");
}

#[test]
fn what_is_too_long_is_cut_and_that_is_said() {
    let options = ReadOptions { limits: ReadLimits { output: 10, ..ReadLimits::default() }, ..ReadOptions::default() };
    let document = read("äöüäöüäöü\n\nmore".as_bytes(), "a.txt", &options).unwrap();
    assert_eq!(document.to_markdown(), "äöüäö\n");
    assert_eq!(
        document.warnings,
        ["cut off after 10 bytes of Markdown, at line 1", "only the first 20 of 24 bytes are read"]
    );
}

#[test]
fn a_document_survives_the_way_between_two_processes() {
    let document = parse(b"a,b\n1,2\n", "a.csv").unwrap();
    let json = serde_json::to_string(&document).unwrap();
    assert_eq!(serde_json::from_str::<Document>(&json).unwrap(), document);
}

#[test]
fn what_cannot_be_read_is_named() {
    assert!(matches!(parse(b"\x00\x01\x02\x03\xff\x00", "a.bin"), Err(ReadError::Unknown(_))));
    let old = parse(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest", "a.doc").unwrap_err();
    assert!(old.to_string().contains("save it as .docx"), "{old}");
    let picture = parse(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0\x08", "a.png").unwrap();
    assert_eq!(picture.to_markdown(), "![PNG image, 640 × 480 pixels](a.png)\n");
}
