//! Hostile archives: bombs, lies, depth and loops in Office files, books and ZIP files.

use crate::HostileFile;
use crate::common::packed::zip;

const TYPES: (&str, &[u8]) = ("[Content_Types].xml", b"<Types/>");
/// A kind of archive: what it needs besides the part that is filled, that part, and how the part begins.
struct Shape {
    ending: &'static str,
    parts: Vec<(&'static str, &'static [u8])>,
    main: &'static str,
    start: &'static str,
    /// One element that carries text.
    element: &'static str,
}

fn shapes() -> Vec<Shape> {
    let workbook: &[u8] = b"<workbook><sheets><sheet name='S' r:id='a'/></sheets></workbook>";
    let workbook_relations: &[u8] = b"<R><Relationship Id='a' Type='x/worksheet' Target='worksheets/sheet1.xml'/>\
        <Relationship Id='b' Type='x/sharedStrings' Target='sharedStrings.xml'/></R>";
    let presentation: &[u8] = b"<p:presentation><p:sldIdLst><p:sldId r:id='a'/></p:sldIdLst></p:presentation>";
    let slide_relation: &[u8] = b"<R><Relationship Id='a' Type='x/slide' Target='slides/slide1.xml'/></R>";
    let container: &[u8] = b"<c><rootfile full-path='a.opf'/></c>";
    let package: &[u8] =
        b"<package><manifest><item id='a' href='a.xhtml'/></manifest><spine><itemref idref='a'/></spine></package>";
    vec![
        Shape {
            ending: "docx",
            parts: vec![TYPES],
            main: "word/document.xml",
            start: "<w:document><w:body>",
            element: "<w:p><w:r><w:t>word</w:t></w:r></w:p>",
        },
        Shape {
            ending: "xlsx",
            parts: vec![TYPES, ("xl/workbook.xml", workbook), ("xl/_rels/workbook.xml.rels", workbook_relations)],
            main: "xl/worksheets/sheet1.xml",
            start: "<worksheet><sheetData>",
            element: "<row><c t='inlineStr'><is><t>word</t></is></c></row>",
        },
        Shape {
            ending: "pptx",
            parts: vec![
                TYPES,
                ("ppt/presentation.xml", presentation),
                ("ppt/_rels/presentation.xml.rels", slide_relation),
            ],
            main: "ppt/slides/slide1.xml",
            start: "<p:sld><p:cSld><p:spTree>",
            element: "<p:sp><p:txBody><a:p><a:r><a:t>word</a:t></a:r></a:p></p:txBody></p:sp>",
        },
        Shape {
            ending: "epub",
            parts: vec![("META-INF/container.xml", container), ("a.opf", package)],
            main: "a.xhtml",
            start: "<html><body>",
            element: "<p>word</p>",
        },
    ]
}

fn with(shape: &Shape, main: &str) -> Vec<u8> {
    let mut parts = shape.parts.clone();
    parts.push((shape.main, main.as_bytes()));
    zip(&parts)
}

pub(crate) fn all(spaces: &[u8]) -> Vec<HostileFile> {
    let mut files = Vec::new();
    let mut add = |name: &str, bytes: Vec<u8>| files.push(HostileFile { name: name.to_owned(), bytes });
    for shape in &shapes() {
        let end = shape.ending;
        add(&format!("spaces.{end}"), with_packed(&shape.parts, shape.main, &prefixed(shape.start, spaces)));
        add(&format!("elements.{end}"), with(shape, &(shape.start.to_owned() + &shape.element.repeat(150_000))));
        add(&format!("deep.{end}"), with(shape, &(shape.start.to_owned() + &"<w:ins>".repeat(200_000))));
        add(&format!("laughs.{end}"), with(shape, &(entities() + shape.start + &shape.element.replace("word", "&e;"))));
        let outside = "<!DOCTYPE d [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>".to_owned();
        add(&format!("outside.{end}"), with(shape, &(outside + shape.start + &shape.element.replace("word", "&x;"))));
        add(&format!("no-xml.{end}"), with(shape, &"\u{1}\u{2}<<<&&&>>>".repeat(50_000)));
        let honest = with(shape, &(shape.start.to_owned() + &shape.element.repeat(50)));
        add(&format!("half.{end}"), honest[..honest.len() / 2].to_vec());
        add(&format!("lying.{end}"), lying(honest));
    }
    let shapes = shapes();
    let xlsx = &shapes[1];
    let mut strings = xlsx.parts.clone();
    strings.push((xlsx.main, b"<worksheet><sheetData><row><c t='s'><v>0</v></c></row></sheetData></worksheet>"));
    add("strings.xlsx", with_packed(&strings, "xl/sharedStrings.xml", &prefixed("<sst><si><t>", spaces)));
    let far = "<worksheet><sheetData><row r='1048576'><c r='XFD1048576'><v>2</v></c></row></sheetData><mergeCells>\
               <mergeCell ref='A1:XFD1048576'/></mergeCells></worksheet>";
    add("far.xlsx", with(xlsx, far));
    let styles: Vec<(&str, &[u8])> = vec![TYPES, ("word/document.xml", b"<w:document><w:body/></w:document>")];
    add("styles.docx", with_packed(&styles, "word/styles.xml", &prefixed("<w:styles>", spaces)));
    add("nested.zip", (0..10).fold(b"word".repeat(1000), |inner, _| zip(&[("inner.zip", &inner)])));
    let names: Vec<String> = (0..60_000).map(|number| format!("folder/{number}")).collect();
    let entries: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    add("many.zip", zip(&entries));
    add("overlapping.docx", overlapping(spaces));
    add(
        "method.docx",
        replaced(&zip(&[TYPES, ("word/document.xml", b"<w:document/>")]), b"\x14\0\0\0\x08\0", b"\x14\0\0\0\x63\0"),
    );
    add("only-end.zip", [b"PK\x05\x06".as_slice(), &[0xff; 18]].concat());
    files
}

/// The same, after a few bytes that are stored as they are.
fn prefixed(start: &str, packed: &[u8]) -> Vec<u8> {
    let length = start.len() as u16;
    let head = [&[0][..], &length.to_le_bytes(), &(!length).to_le_bytes(), start.as_bytes()].concat();
    [head, packed.to_vec()].concat()
}

/// An archive with one part that is packed already; the list says that it has 100 bytes.
fn with_packed(parts: &[(&str, &[u8])], name: &str, packed: &[u8]) -> Vec<u8> {
    let mut all = parts.to_vec();
    all.push((name, b"\x01\x02\x03"));
    // Found by its name: the local header and the list both say where it is and how long it is.
    let made = zip(&all);
    let placeholder = crate::common::packed::deflated(b"\x01\x02\x03");
    let at = find(&made, [name.as_bytes(), &placeholder].concat().as_slice()) + name.len();
    let grown = (packed.len() - placeholder.len()) as u32;
    let mut bytes = [&made[..at], packed, &made[at + placeholder.len()..]].concat();
    let sizes = |bytes: &mut Vec<u8>, at: usize| {
        bytes[at..at + 4].copy_from_slice(&(packed.len() as u32).to_le_bytes());
        bytes[at + 4..at + 8].copy_from_slice(&100u32.to_le_bytes());
    };
    sizes(&mut bytes, at - name.len() - 12);
    let listed = bytes.len() - 22 - name.len();
    sizes(&mut bytes, listed - 46 + 20);
    let end = bytes.len() - 6;
    let list_at = u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) + grown;
    bytes[end..end + 4].copy_from_slice(&list_at.to_le_bytes());
    bytes
}

/// The list says that every file is far away and immense.
fn lying(mut bytes: Vec<u8>) -> Vec<u8> {
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(4).position(|window| window == b"PK\x01\x02") {
        at += found + 4;
        bytes[at + 16..at + 24].fill(0xfe);
        bytes[at + 38..at + 42].fill(0x7f);
    }
    bytes
}

/// A hundred files that are all the same bytes.
fn overlapping(spaces: &[u8]) -> Vec<u8> {
    let mut bytes = with_packed(&[TYPES], "word/document.xml", &prefixed("<w:document>", spaces));
    let end = bytes.split_off(bytes.len() - 22);
    let entry = bytes[bytes.len() - 46 - "word/document.xml".len()..].to_vec();
    for number in 0..100 {
        let mut entry = entry.clone();
        let name = format!("word/document{number:>3}x");
        entry[46..].copy_from_slice(name.as_bytes());
        bytes.extend(entry);
    }
    let mut end = end;
    end[8..10].copy_from_slice(&102u16.to_le_bytes());
    end[10..12].copy_from_slice(&102u16.to_le_bytes());
    bytes.extend(end);
    bytes
}

fn entities() -> String {
    let mut text = String::from("<!DOCTYPE d [<!ENTITY a \"aaaaaaaaaa\">");
    for (name, inner) in [("b", "a"), ("c", "b"), ("d", "c"), ("e", "d")] {
        let value = format!("&{inner};").repeat(1000);
        text.extend(["<!ENTITY ", name, " \"", &value, "\">"]);
    }
    text + "]>"
}

fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(old.len()).position(|window| window == old) {
        at += found;
        bytes[at..at + new.len()].copy_from_slice(new);
    }
    bytes
}

fn find(bytes: &[u8], wanted: &[u8]) -> usize {
    bytes.windows(wanted.len()).position(|window| window == wanted).unwrap()
}
