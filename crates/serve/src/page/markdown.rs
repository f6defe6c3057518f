//! Markdown as HTML: what a model wrote becomes paragraphs, lists and code, and never markup of its own.

use maud::{Markup, PreEscaped};
use pulldown_cmark::{Alignment, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, html};

/// The level of all headings of a text.
const BELOW: HeadingLevel = HeadingLevel::H3;
/// Texts with more bytes are shown as they are: nobody reads them, and they would take long to read.
const LONGEST: usize = 512 << 10;

/// Markdown as HTML. HTML in it is shown as text, links lead only to web and mail addresses, and pictures become links.
pub(super) fn markdown(text: &str) -> Markup {
    if text.len() > LONGEST {
        return maud::html! { pre.long { (text) } };
    }
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    // For each open link or picture: whether it is a link on the page.
    let mut links: Vec<bool> = Vec::new();
    let mut cells = TableCells::default();
    let events = Parser::new_ext(text, options).map(move |event| match event {
        Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        Event::Start(Tag::Link { dest_url, title, id, .. } | Tag::Image { dest_url, title, id, .. }) => {
            let is_link = is_safe(&dest_url) && !links.contains(&true);
            links.push(is_link);
            if is_link {
                Event::Start(Tag::Link { link_type: LinkType::Inline, dest_url, title, id })
            } else {
                Event::Start(Tag::Emphasis)
            }
        }
        Event::End(TagEnd::Link | TagEnd::Image) => match links.pop() {
            Some(true) => Event::End(TagEnd::Link),
            Some(false) | None => Event::End(TagEnd::Emphasis),
        },
        // The page has headings of its own. Those of a text are one level below a section's: a text may begin with any level,
        // and readers who go from heading to heading shall not miss one.
        Event::Start(Tag::Heading { level, .. }) => {
            let class = CowStr::from(level.to_string());
            Event::Start(Tag::Heading { level: BELOW, id: None, classes: vec![class], attrs: Vec::new() })
        }
        Event::End(TagEnd::Heading(_)) => Event::End(TagEnd::Heading(BELOW)),
        Event::Start(Tag::Table(alignments)) => {
            cells.alignments = alignments;
            Event::Start(Tag::Table(Vec::new()))
        }
        Event::Start(tag @ (Tag::TableHead | Tag::TableRow)) => {
            (cells.is_head, cells.column) = (tag == Tag::TableHead, 0);
            Event::Start(tag)
        }
        // Not a form's field, which would have to have a label.
        Event::TaskListMarker(is_done) => Event::Text(CowStr::Borrowed(if is_done { "☑ " } else { "☐ " })),
        Event::Start(Tag::TableCell) => cells.start(),
        Event::End(TagEnd::TableCell) => cells.end(),
        other => other,
    });
    let mut made = String::with_capacity(text.len() + text.len() / 4);
    html::push_html(&mut made, events);
    PreEscaped(made)
}

/// Writes the cells of a table: with a class where a column is not aligned to its beginning. The library would write a style, which the
/// page's security policy forbids.
#[derive(Default)]
struct TableCells {
    alignments: Vec<Alignment>,
    column: usize,
    is_head: bool,
}

impl TableCells {
    fn start(&mut self) -> Event<'static> {
        let alignment = self.alignments.get(self.column).copied().unwrap_or(Alignment::None);
        self.column += 1;
        Event::Html(CowStr::Borrowed(match (self.is_head, alignment) {
            (true, Alignment::Right) => "<th class=\"right\">",
            (true, Alignment::Center) => "<th class=\"center\">",
            (true, Alignment::None | Alignment::Left) => "<th>",
            (false, Alignment::Right) => "<td class=\"right\">",
            (false, Alignment::Center) => "<td class=\"center\">",
            (false, Alignment::None | Alignment::Left) => "<td>",
        }))
    }

    fn end(&self) -> Event<'static> {
        Event::Html(CowStr::Borrowed(if self.is_head { "</th>" } else { "</td>" }))
    }
}

/// Whether a link may be followed: only addresses that a browser opens as a page or a message.
fn is_safe(address: &CowStr<'_>) -> bool {
    let is_plain = !address.chars().any(|c| c.is_control() || c.is_whitespace());
    let lower = address.to_ascii_lowercase();
    is_plain && ["https://", "http://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_of_a_text_stays_text() {
        let made = markdown("a <script>alert(1)</script> b\n\n<img src=x onerror=alert(1)>\n\n<div onclick=x>\n").0;
        assert!(!made.contains("<script") && !made.contains("<img") && !made.contains("<div"), "{made}");
        assert!(made.contains("&lt;script&gt;"), "{made}");
    }

    #[test]
    fn links_lead_only_where_browsers_open_pages() {
        let text = "[a](javascript:alert(1)) [b](JaVaScRiPt:x) [c](data:text/html,x) [d](https://a.example/?q=\"x) \
                    ![e](javascript:x) ![f](https://a.example/p.png) [g](/runs/x) <javascript:alert(1)>";
        let made = markdown(text).0;
        assert_eq!(made.matches("<a href=").count(), 2, "{made}");
        assert!(!made.to_lowercase().contains("href=\"javascript") && !made.contains("<img"), "{made}");
    }

    #[test]
    fn columns_are_aligned_without_styles() {
        let made = markdown("| a | b | c |\n|---|---:|:---:|\n| 1 | 2 | 3 |\n| 4 | 5 | 6 |\n").0;
        let body = "<tr><td>4</td><td class=\"right\">5</td><td class=\"center\">6</td></tr>";
        let head = "<thead><tr><th>a</th><th class=\"right\">b</th><th class=\"center\">c</th></tr></thead>";
        assert!(made.contains(head) && made.contains(body) && !made.contains("style"), "{made}");
    }

    #[test]
    fn tasks_are_marked_without_fields() {
        let made = markdown("- [x] done\n- [ ] open\n").0;
        assert!(made.contains("<li>☑ done</li>") && made.contains("<li>☐ open</li>"), "{made}");
    }

    #[test]
    fn what_people_write_looks_as_they_mean_it() {
        let made = markdown("# Title\n\n- one\n- **two**\n\n`code` and\n\n| a | b |\n|---|---|\n| 1 | 2 |\n").0;
        for part in
            ["<h3 class=\"h1\">Title</h3>", "<li>one</li>", "<strong>two</strong>", "<code>code</code>", "<table>"]
        {
            assert!(made.contains(part), "{part} in {made}");
        }
    }
}
