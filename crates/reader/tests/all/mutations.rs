//! Real files, changed at random: reading them ends with a document or an error, never otherwise.

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::sample::Index;
use updraft_reader::{ReadLimits, ReadOptions, read};

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
    fn any_bytes_under_any_name_are_read_or_refused(bytes in vec(any::<u8>(), 0..300), name in 0..FILES.len()) {
        let _ = read(&bytes, FILES[name].0, &ReadOptions::default());
    }
}
