//! An HTML page as text for a model: its title, its main text as Markdown, its links.
//!
//! The main text is found by Mozilla's readability rules (`dom_smoothie`). They, and HTML parsing itself, take time that
//! grows with the square of how deep a page nests; a page made for that is parsed only as far as the time goes, and read
//! from top to bottom instead.

use std::time::{Duration, Instant};

use dom_query::Document;
use dom_smoothie::{Config, Readability, TextMode};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{WebLimits, plain};
use crate::cut;

/// How long a page is parsed. An honest one of the largest size takes a fraction of that.
const PATIENCE: Duration = Duration::from_secs(2);
/// Parsed at a time, between looks at the clock.
const CHUNK: usize = 8 << 10;
/// No page that people wrote nests deeper.
const DEEPEST: usize = 200;
/// Nodes times depth, up to which the rules are quick.
const LARGEST: usize = 3_000_000;
/// A main text shorter than this, on a page that has more, was not found.
const SHORTEST: usize = 200;

/// What a page says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PageText {
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) links: Vec<PageLink>,
    /// There was more of it than was read.
    pub(crate) is_cut: bool,
}

/// A link and what it is called.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PageLink {
    pub(crate) text: String,
    pub(crate) url: String,
}

impl PageText {
    /// Reads a page. Takes a while: not for a thread that others wait for. Stops early when it is cancelled.
    pub(crate) fn read(html: &str, url: &Url, limits: &WebLimits, stop: &CancellationToken) -> Self {
        let (document, is_cut) = parse(html, limits.html, stop);
        let title = title(&document);
        let links = links(&document, url, limits.links);
        let size = plain::size(&document);
        let is_tame = size.depth <= DEEPEST && size.nodes.saturating_mul(size.depth) <= LARGEST;
        let all = plain::text(&document, limits.text * 2);
        let main = if is_tame && !stop.is_cancelled() { main_text(document, url) } else { None };
        let main = main.filter(|main| main.len() >= SHORTEST || main.len() * 2 >= all.len());
        Self { title, text: main.unwrap_or(all), links, is_cut }
    }
}

fn parse(html: &str, most: usize, stop: &CancellationToken) -> (Document, bool) {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let mut parser = parse_document(Document::default(), ParseOpts { tree_builder, ..ParseOpts::default() });
    let begun = Instant::now();
    let mut rest = &html[..html.floor_char_boundary(most)];
    while !rest.is_empty() && begun.elapsed() < PATIENCE && !stop.is_cancelled() {
        let (now, later) = rest.split_at(rest.floor_char_boundary(CHUNK));
        parser.process(StrTendril::from_slice(now));
        rest = later;
    }
    (parser.finish(), !rest.is_empty() || html.len() > most)
}

fn main_text(document: Document, url: &Url) -> Option<String> {
    let config = Config { text_mode: TextMode::Markdown, ..Config::default() };
    let article =
        Readability::with_document(document, Some(url.as_str()), Some(config)).and_then(|mut page| page.parse());
    Some(article.ok()?.text_content.trim().to_owned())
}

fn title(document: &Document) -> String {
    let found = document.select("title");
    let title = found.nodes().first().map(dom_query::NodeRef::text).unwrap_or_default();
    cut::line(&title.split_whitespace().collect::<Vec<_>>().join(" "), 300)
}

/// Links to other pages, each once, in the order they stand.
fn links(document: &Document, url: &Url, most: usize) -> Vec<PageLink> {
    let mut links: Vec<PageLink> = Vec::new();
    let mut here = url.clone();
    here.set_fragment(None);
    for node in document.select("a[href]").nodes() {
        if links.len() == most {
            break;
        }
        let Some(mut to) = node.attr("href").and_then(|href| url.join(href.trim()).ok()) else { continue };
        to.set_fragment(None);
        let is_page = matches!(to.scheme(), "https" | "http") && to.as_str().len() <= 2000 && to != here;
        if is_page && !links.iter().any(|link| link.url == to.as_str()) {
            let text = node.text().split_whitespace().take(20).collect::<Vec<_>>().join(" ");
            links.push(PageLink { text: cut::line(&text, 100), url: to.into() });
        }
    }
    links
}
