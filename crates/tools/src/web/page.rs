//! Turns an HTML page into text for a model: its title, its main text as Markdown, its links.
//!
//! The main text is found by Mozilla's readability rules (`dom_smoothie`). Their time, and that of HTML parsing
//! itself, grows with the square of a page's nesting depth. A page built to exploit that is parsed only until the
//! time limit, and its text is then taken from top to bottom.

use std::time::{Duration, Instant};

use dom_query::Document;
use dom_smoothie::{Config, Readability, TextMode};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{WebLimits, full_text};
use crate::truncate;

/// The time limit for parsing a page. A normal page of the largest size takes a fraction of that.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes parsed between checks of the time.
const CHUNK: usize = 8 << 10;
/// The deepest nesting for which the rules are used. Real pages do not nest deeper.
const DEEPEST: usize = 200;
/// The largest product of nodes and depth for which the rules are fast.
const LARGEST: usize = 3_000_000;
/// If the main text is shorter than this on a page that has more text, it counts as not found.
const SHORTEST: usize = 200;

/// The text of a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PageText {
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) links: Vec<PageLink>,
    /// Whether the page has more text than was read.
    pub(crate) is_cut: bool,
}

/// A link and its text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PageLink {
    pub(crate) text: String,
    pub(crate) url: String,
}

impl PageText {
    /// Reads a page. Takes long, so it must not run on a thread of the async runtime. Stops early when cancelled.
    pub(crate) fn read(html: &str, url: &Url, limits: &WebLimits, stop: &CancellationToken) -> Self {
        let (document, is_cut) = parse(html, limits.html, stop);
        let title = title(&document);
        let links = links(&document, url, limits.links);
        let size = full_text::size(&document);
        let is_tame = size.depth <= DEEPEST && size.nodes.saturating_mul(size.depth) <= LARGEST;
        let all = full_text::text(&document, limits.text * 2);
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
    truncate::line(&title.split_whitespace().collect::<Vec<_>>().join(" "), 300)
}

/// Links to other pages, without duplicates, in document order.
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
            links.push(PageLink { text: truncate::line(&text, 100), url: to.into() });
        }
    }
    links
}
