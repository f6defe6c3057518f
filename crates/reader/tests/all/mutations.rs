//! Real files, changed at random: reading them ends with a document or an error, never otherwise.

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::sample::Index;
use updraft_reader::{ReadLimits, ReadOptions, read};

use crate::packed::zip;

const FILES: [(&str, &[u8]); 8] = [
    ("a.docx", include_bytes!("../files/report.docx")),
    ("a.xlsx", include_bytes!("../files/sales.xlsx")),
    ("a.pptx", include_bytes!("../files/slides.pptx")),
    ("a.pdf", include_bytes!("../files/paper.pdf")),
    ("a.html", b"<table><tr><td colspan=2>a<td>b</table><ul><li>c<pre>d</pre><dl><dt>e<dd>f</dl><a href=g><b>h"),
    ("a.eml", b"Subject: =?utf-8?Q?a=C3?=\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Transfer-Encoding: base64\n\nYQ==\n--x--"),
    ("a.csv", b"a;'b';\"c\n1;2;3\"\n\"x\"\"y\";;\n"),
    ("a.ipynb", br#"{"cells":[{"cell_type":"code","source":["a"],"outputs":[{"data":{"text/plain":"b"}}]}]}"#),
];

const RELATIONS: &[u8] = br#"<R><Relationship Id="a" Type="x/worksheet" Target="a.xml"/><Relationship Id="b" Type="x/sharedStrings" Target="b.xml"/>
    <Relationship Id="c" Type="x/styles" Target="c.xml"/><Relationship Id="d" Type="x/slide" Target="a.xml"/><Relationship Id="e" Type="x/comments" Target="e.xml"/></R>"#;

/// Parts of Office files, changed before they are packed: what is packed cannot be changed at random and still be unpacked.
const PARTS: [(&str, &str, &[u8]); 7] = [
    ("word/document.xml", "word/_rels/document.xml.rels", br#"<w:document><w:body><w:p><w:pPr><w:pStyle w:val="H"/><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr>
        <w:r><w:rPr><w:b/></w:rPr><w:t>a</w:t><w:tab/></w:r><m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den/></m:f></m:oMath></w:p>
        <w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/><w:vMerge w:val="restart"/></w:tcPr><w:p/></w:tc></w:tr><w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr></w:tc></w:tr></w:tbl></w:body></w:document>"#),
    ("word/styles.xml", "x", br#"<s><w:style w:styleId="H"><w:name w:val="heading 1"/><w:basedOn w:val="H"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style></s>"#),
    ("word/numbering.xml", "x", br#"<n><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="1"><w:start w:val="3"/><w:numFmt w:val="lowerRoman"/><w:lvlText w:val="%1.%2."/></w:lvl></w:abstractNum>
        <w:num w:numId="1"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="1"><w:startOverride w:val="9"/></w:lvlOverride></w:num></n>"#),
    ("xl/workbook.xml", "xl/_rels/workbook.xml.rels", br#"<w><workbookPr date1904="1"/><sheets><sheet name="S" r:id="a"/></sheets></w>"#),
    ("xl/a.xml", "x", br#"<s><row r="2"><c r="B2" s="1"><v>45000.5</v></c><c t="s"><v>0</v></c><c t="inlineStr"><is><t>x&amp;y</t></is></c></row><mergeCell ref="B2:D9"/></s>"#),
    ("ppt/presentation.xml", "ppt/_rels/presentation.xml.rels", br#"<p><p:sldId id="1" r:id="d"/></p>"#),
    ("ppt/a.xml", "ppt/_rels/a.xml.rels", br#"<p><p:spTree><p:sp><p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>T</a:t></a:r></a:p></p:txBody></p:sp>
        <p:graphicFrame><a:tbl><a:tr><a:tc gridSpan="2"/><a:tc hMerge="1"/></a:tr></a:tbl></p:graphicFrame></p:spTree></p>"#),
];

/// A file with all parts of one kind, one of them changed.
fn package(changed_part: usize, changes: &[Change]) -> Vec<u8> {
    let (path, _, bytes) = PARTS[changed_part];
    let altered = changed(bytes, changes);
    let altered_relations = changed(RELATIONS, changes);
    let kind = path.split('/').next().unwrap_or_default();
    let mut files: Vec<(&str, &[u8])> = vec![
        ("[Content_Types].xml", b"<T/>"),
        ("xl/b.xml", b"<s><si><t>shared</t></si></s>"),
        ("xl/c.xml", b"<s><cellXfs><xf/><xf numFmtId='22'/></cellXfs></s>"),
    ];
    files.retain(|(name, _)| name.starts_with(kind) || name.starts_with('['));
    for (index, (path, relations, bytes)) in PARTS.iter().enumerate().filter(|(_, part)| part.0.starts_with(kind)) {
        files.push((path, if index == changed_part { &altered } else { bytes }));
        files.push((relations, if changes.len() > 8 { &altered_relations } else { RELATIONS }));
    }
    zip(&files)
}

#[derive(Clone, Debug)]
enum Change {
    Set(Index, u8),
    Cut(Index),
    Remove(Index, u8),
    Repeat(Index, Index),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        (any::<Index>(), b'('..=b'>').prop_map(|(at, byte)| Change::Set(at, byte)),
        any::<Index>().prop_map(Change::Cut),
        (any::<Index>(), any::<u8>()).prop_map(|(at, length)| Change::Remove(at, length)),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Change::Repeat(from, to)),
    ]
}

fn changed(bytes: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for change in changes {
        let length = bytes.len();
        if length == 0 {
            break;
        }
        match change {
            Change::Set(at, byte) => bytes[at.index(length)] = *byte,
            Change::Cut(at) => bytes.truncate(at.index(length)),
            Change::Remove(at, count) => {
                let at = at.index(length);
                bytes.drain(at..(at + usize::from(*count)).min(length));
            }
            Change::Repeat(from, to) => {
                let from = from.index(length);
                let piece = bytes[from..(from + 64).min(length)].to_vec();
                let to = to.index(length);
                bytes.splice(to..to, piece);
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_files_are_read_or_refused(file in 0..FILES.len(), changes in vec(change(), 1..12)) {
        let (name, bytes) = FILES[file];
        let limits = ReadLimits { output: 100_000, decompressed: 16 << 20, ..ReadLimits::default() };
        let document = read(&changed(bytes, &changes), name, &ReadOptions { limits, ..ReadOptions::default() });
        if let Ok(document) = document {
            assert!(document.blocks.iter().map(|block| block.text.len()).sum::<usize>() <= 100_000);
        }
    }

    #[test]
    fn changed_parts_of_office_files_are_read_or_refused(part in 0..PARTS.len(), changes in vec(change(), 0..12)) {
        let limits = ReadLimits { output: 1_000_000, decompressed: 16 << 20, ..ReadLimits::default() };
        let document = read(&package(part, &changes), "a", &ReadOptions { limits, ..ReadOptions::default() });
        assert!(!changes.is_empty() || document.is_ok(), "{document:?}");
    }

    #[test]
    fn any_bytes_under_any_name_are_read_or_refused(bytes in vec(any::<u8>(), 0..300), name in 0..FILES.len()) {
        let _ = read(&bytes, FILES[name].0, &ReadOptions::default());
    }
}
