//! Hostile PDFs, tables, texts and mails.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::{BOMB, HostileFile};

pub(crate) fn all(spaces: &[u8]) -> Vec<HostileFile> {
    let mut files = Vec::new();
    let mut add = |name: &str, bytes: Vec<u8>| files.push(HostileFile { name: name.to_owned(), bytes });
    pdfs(&mut add, spaces);
    mails(&mut add);
    texts(&mut add);
    files
}

fn pdfs(add: &mut dyn FnMut(&str, Vec<u8>), spaces: &[u8]) {
    let bomb = zlib(spaces);
    let page = "<</Type/Page/Parent 2 0 R/Resources<</Font<</F 9 0 R>>>>/Contents 4 0 R>>";
    let font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>";
    let words = stream("", b"BT /F 12 Tf 10 10 Td (word) Tj ET");
    let plain = |kids: String, count: usize, content: Vec<u8>| {
        let pages = format!("<</Type/Pages/Kids[{kids}]/Count {count}>>");
        pdf(&[(1, catalog()), (2, pages.into()), (3, page.into()), (4, content), (9, font.into())])
    };
    let kids: Vec<String> = (10..10_010).map(|n| format!("{n} 0 R")).collect();
    let pages = format!("<</Type/Pages/Kids[{}]/Count 10000>>", kids.join(" "));
    let mut objects = vec![(1, catalog()), (2, pages.into()), (4, words.clone()), (9, font.into())];
    objects.extend((10..10_010).map(|n| (n, Vec::from(page))));
    add("pages.pdf", pdf(&objects));
    add("circle.pdf", plain("2 0 R 2 0 R 3 0 R".to_owned(), 9, words.clone()));
    add("no-kids.pdf", plain(String::new(), 2_147_483_647, words.clone()));
    add("count.pdf", plain("3 0 R".to_owned(), usize::MAX, words.clone()));
    let deep: Vec<(u32, Vec<u8>)> =
        (2..10_000).map(|n| (n, format!("<</Type/Pages/Kids[{} 0 R]/Count 1>>", n + 1).into())).collect();
    add("deep-tree.pdf", pdf(&[vec![(1, catalog())], deep].concat()));
    let length = b"<</Length 4 0 R>>stream\nBT (x) Tj ET\nendstream".to_vec();
    add("length.pdf", plain("3 0 R".to_owned(), 1, length));
    add("self.pdf", plain("3 0 R".to_owned(), 1, b"4 0 R".to_vec()));
    add("flate.pdf", plain("3 0 R".to_owned(), 1, stream("/Filter/FlateDecode", &bomb)));
    let twice = packed(&packed(&vec![0; 1 << 20], 20), 1);
    add("twice.pdf", plain("3 0 R".to_owned(), 1, stream("/Filter[/FlateDecode/FlateDecode]", &twice)));
    add("arrays.pdf", plain("3 0 R".to_owned(), 1, stream("", &b"[".repeat(500_000))));
    add("dicts.pdf", plain("3 0 R".to_owned(), 1, b"<</A".repeat(200_000)));
    add("states.pdf", plain("3 0 R".to_owned(), 1, stream("", &b"q ".repeat(1_000_000))));
    add("glyphs.pdf", plain("3 0 R".to_owned(), 1, stream("", &b"BT /F 1 Tf (xxxxxxxx) Tj ET ".repeat(100_000))));
    let objects = stream("/Type/ObjStm/N 99999/First 9/Filter/FlateDecode", &bomb);
    add("objects.pdf", pdf(&[(1, catalog()), (2, objects)]));
    let form = stream("/Type/XObject/Subtype/Form/Resources<</XObject<</X 4 0 R>>>>", b"/X Do /X Do");
    let drawn = "<</Type/Page/Parent 2 0 R/Resources<</XObject<</X 4 0 R>>>>/Contents 5 0 R>>";
    let pages = "<</Type/Pages/Kids[3 0 R]/Count 1>>";
    let drawing = stream("", b"/X Do");
    add("form.pdf", pdf(&[(1, catalog()), (2, pages.into()), (3, drawn.into()), (4, form), (5, drawing)]));
    let mut looped = plain("3 0 R".to_owned(), 1, words.clone());
    let at = looped.len();
    looped.extend(format!("xref\n0 0\ntrailer<</Root 1 0 R/Prev {at}>>\nstartxref\n{at}\n%%EOF").bytes());
    add("xref.pdf", looped);
    let whole = plain("3 0 R".to_owned(), 1, words);
    add("half.pdf", whole[..whole.len() / 2].to_vec());
    add("only-head.pdf", b"%PDF-1.7\n".to_vec());
}

fn catalog() -> Vec<u8> {
    b"<</Type/Catalog/Pages 2 0 R>>".to_vec()
}

fn stream(entries: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<</Length {}{entries}>>stream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

fn pdf(objects: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut file = b"%PDF-1.4\n".to_vec();
    for (number, body) in objects {
        file.extend(format!("{number} 0 obj").bytes());
        file.extend(body);
        file.extend(b"endobj\n");
    }
    file.extend(b"trailer<</Root 1 0 R/Size 10>>\n");
    file
}

/// Blocks of Deflate that unpack to spaces, in the form that PDF has them.
fn zlib(spaces: &[u8]) -> Vec<u8> {
    let (count, base) = (BOMB as u64, 65_521);
    let first = (1 + 32 * count) % base;
    let second = (count % base + 16 * (count % base) * ((count + 1) % base)) % base;
    [&[0x78, 0xda][..], spaces, &(((second << 16) | first) as u32).to_be_bytes()].concat()
}

fn packed(block: &[u8], times: usize) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    for _ in 0..times {
        encoder.write_all(block).unwrap();
    }
    encoder.finish().unwrap()
}

fn texts(add: &mut dyn FnMut(&str, Vec<u8>)) {
    add("line.csv", b"12345,".repeat(2 << 20));
    add("quote.csv", [b"\"".as_slice(), &b"a,b\n".repeat(1 << 18)].concat());
    add("rows.csv", b"a\n".repeat(2 << 20));
    add("deep.json", b"[".repeat(1 << 20));
    add("deep.html", b"<div><b><ul><li>".repeat(100_000));
    add("table.html", b"<table><tr><td colspan=99999 rowspan=99999>".repeat(2_000));
    add("deep.rss", [b"<rss><channel>".as_slice(), &b"<item>".repeat(200_000)].concat());
    add("deep.md", b"> - > - ".repeat(200_000));
    add("cells.ipynb", [b"{\"cells\":".as_slice(), &b"[{\"source\":".repeat(100_000)].concat());
    let lone: Vec<u8> = [0xff, 0xfe].into_iter().chain([0x00, 0xd8].repeat(1 << 20)).chain([0xdc]).collect();
    add("surrogates.txt", lone);
    add("mark.txt", [b"\xff\xfe".as_slice(), &[0x01, 0x02, 0x00].repeat(100_000)].concat());
    add("old.doc", [b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".as_slice(), &[7; 10_000]].concat());
}

fn mails(add: &mut dyn FnMut(&str, Vec<u8>)) {
    let mut nested = String::new();
    for level in 0..2_000 {
        let boundary = format!("b{level}");
        nested.extend(["Content-Type: multipart/mixed; boundary=", &boundary, "\r\n\r\n--", &boundary, "\r\n"]);
    }
    add("nested.eml", format!("From: a@b.example\r\n{nested}\r\ntext\r\n").into_bytes());
    add("headers.eml", [b"Subject: x\r\n".repeat(300_000), b"\r\ntext".to_vec()].concat());
    let encoded = format!("Subject: {}\r\n\r\ntext", "=?utf-8?q?=41?= ".repeat(100_000));
    add("words.eml", encoded.into_bytes());
    let parts = "--x\r\nContent-Type: text/plain\r\n\r\nword\r\n".repeat(50_000);
    add("parts.eml", format!("Content-Type: multipart/mixed; boundary=x\r\n\r\n{parts}--x--").into_bytes());
}
