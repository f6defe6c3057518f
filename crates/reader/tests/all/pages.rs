//! Web pages, feeds, books and archives.

use updraft_reader::{ReadOptions, read};

use crate::packed::zip;

fn markdown(bytes: &[u8], name: &str) -> String {
    read(bytes, name, &ReadOptions::default())
        .map_or_else(|error| format!("error: {error}"), |document| document.to_markdown())
}

#[test]
fn a_page_becomes_markdown() {
    let page = b"<!doctype html><title>T</title><nav hidden>no</nav><h2>A <em>b</em></h2>
        <p>Some <b>bold </b>text,<br>x<sup>2</sup> <a href=/there>there</a>, <a href='#x'>here</a> <code>f()</code>.
        <script>no</script>
        <ul><li>one<ol start=3><li>deep</ol><li><p>two</p><p>more</p></ul>
        <dl><dt>Term<dd>Meaning</dl>
        <pre class='language-rust'>\nfn a() {\n}\n</pre>
        <blockquote><p>said</p></blockquote>
        <p><img src=a.png alt='A duck'></p>";
    let expected = "## A *b*\n\nSome **bold** text,\nx^2^ [there](/there), here `f()`.\n\n- one\n    3. deep\n- two\n  more\n\
                    - **Term**\n    - Meaning\n\n```rust\nfn a() {\n}\n```\n\n> said\n\n![A duck](a.png)\n";
    assert_eq!(markdown(page, "a.html"), expected);
}

#[test]
fn cells_that_span_are_repeated() {
    let table = b"<table><caption>C</caption><tr><th>Year<th colspan=2>Sales<tr><td rowspan=2>2025<td>1<td>2<tr><td>3<td>a<ul><li>b</table>";
    let expected = "C\n\n| Year | Sales | Sales |\n| --- | --- | --- |\n| 2025 | 1 | 2 |\n| 2025 | 3 | a - b |\n";
    assert_eq!(markdown(table, "a.html"), expected);
}

#[test]
fn a_table_that_only_arranges_a_page_is_no_table() {
    let page = b"<table><tr><td><h1>Head</h1><p>Text</p></td></tr></table>";
    assert_eq!(markdown(page, "a.html"), "# Head\n\nText\n");
}

#[test]
fn blocks_of_a_page_have_their_lines() {
    let document = read(b"<html>\n<h1>A</h1>\n\n<p>b\nc</p>\n", "a.html", &ReadOptions::default()).unwrap();
    let places: Vec<String> = document.blocks.iter().map(|block| block.place.to_string()).collect();
    assert_eq!(places, ["line 2", "lines 4-5"]);
    assert_eq!(document.title.as_deref(), Some("A"));
}

#[test]
fn the_charset_of_the_server_is_believed() {
    let options = ReadOptions { media_type: Some("text/html; charset=iso-8859-2".into()), ..ReadOptions::default() };
    let document = read(b"<p>\xb3\xf3d\xbc", "page", &options).unwrap();
    assert_eq!(document.to_markdown(), "łódź\n");
}

#[test]
fn feeds_are_read_entry_by_entry() {
    let rss = b"<?xml version='1.0'?><rss><channel><title>News</title><item><title>One &amp; only</title>
        <link>https://example.org/1</link><pubDate>Mon</pubDate><description>&lt;p&gt;Some &lt;b&gt;text&lt;/b&gt;&lt;/p&gt;</description></item></channel></rss>";
    assert_eq!(markdown(rss, "a.xml"), "# News\n\n## One & only\n\nMon\nhttps://example.org/1\n\nSome **text**\n");
    let atom = b"<feed><title>F</title><entry><title>E</title><link href='https://example.org/2'/><summary>S</summary></entry></feed>";
    assert_eq!(markdown(atom, "feed"), "# F\n\n## E\n\nhttps://example.org/2\n\nS\n");
}

#[test]
fn chapters_of_a_book_come_in_their_order() {
    let package = b"<package><metadata><dc:title>Tides</dc:title><dc:creator>A. Moon</dc:creator></metadata><manifest>
        <item id='b' href='b%20two.xhtml'/><item id='a' href='../a.xhtml'/></manifest><spine><itemref idref='a'/><itemref idref='b'/></spine></package>";
    let book = zip(&[
        ("mimetype", b"application/epub+zip"),
        (
            "META-INF/container.xml",
            b"<container><rootfiles><rootfile full-path='OPS/c/x.opf'/></rootfiles></container>",
        ),
        ("OPS/c/x.opf", package),
        ("OPS/c/b two.xhtml", b"<html><body><p>Second</p></body></html>"),
        ("OPS/a.xhtml", b"<html><body><h1>First</h1></body></html>"),
    ]);
    let document = read(&book, "a.epub", &ReadOptions::default()).unwrap();
    assert_eq!(document.to_markdown(), "title: Tides\nauthor: A. Moon\n\n# First\n\nSecond\n");
    assert_eq!(document.blocks[3].place.to_string(), "b two.xhtml, line 1");
    assert_eq!(document.title.as_deref(), Some("Tides"));
}

#[test]
fn an_archive_is_listed() {
    let archive = zip(&[("a/b.txt", b"hello"), ("c.txt", b"")]);
    assert_eq!(markdown(&archive, "a.zip"), "| file | bytes |\n| --- | --- |\n| a/b.txt | 5 |\n| c.txt | 0 |\n");
}
