//! One page of Markdown as HTML: headings get anchors, links lead to the site, comments and other raw HTML are left out.

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::SourcePage;
use super::anchors::AnchorNames;
use super::links::LinkTargets;
use crate::fault::Fault;

/// A page as it is shown.
#[derive(Debug)]
pub(crate) struct RenderedPage {
    pub(crate) source: String,
    pub(crate) address: String,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) sections: Vec<PageSection>,
}

/// A heading and the text below it, up to the next heading.
#[derive(Debug)]
pub(crate) struct PageSection {
    pub(crate) level: u8,
    pub(crate) anchor: String,
    pub(crate) title: String,
    pub(crate) text: String,
}

/// The Markdown that our pages use.
pub(crate) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH
}

/// Renders a page; also what is wrong with its links.
pub(crate) fn page(page: &SourcePage, targets: &LinkTargets<'_>) -> (RenderedPage, Vec<Fault>) {
    let events: Vec<Event<'_>> = Parser::new_ext(&page.text, options()).collect();
    let mut shown = Vec::with_capacity(events.len());
    let (mut faults, mut names, mut sections) = (Vec::new(), AnchorNames::default(), Vec::<PageSection>::new());
    let mut is_heading = false;
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => continue,
            Event::Start(Tag::Heading { level, .. }) => {
                let title = heading(&events[at..]);
                let anchor = names.next(&title);
                let (level, text) = (*level as u8, String::new());
                shown.push(raw(format!("<h{level} id=\"{}\">", escaped(&anchor))));
                sections.push(PageSection { level, anchor, title, text });
                is_heading = true;
                continue;
            }
            Event::End(TagEnd::Heading(level)) => {
                is_heading = false;
                let anchor = sections.last().map(|section| escaped(&section.anchor)).unwrap_or_default();
                let link = format!(" <a class=\"anchor\" href=\"#{anchor}\" aria-label=\"Link to this section\">#</a>");
                shown.push(raw(format!("{link}</h{}>\n", *level as u8)));
                continue;
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let dest_url = match targets.resolve(page, dest_url) {
                    Ok(found) => CowStr::from(found),
                    Err(fault) => {
                        faults.push(fault);
                        CowStr::from("")
                    }
                };
                let (link_type, title, id) = (*link_type, title.clone(), id.clone());
                shown.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
                continue;
            }
            Event::Start(Tag::Table(_)) => shown.push(raw("<div class=\"table-wrap\" tabindex=\"0\">".to_owned())),
            Event::Start(Tag::CodeBlock(kind)) => {
                let kind = match kind {
                    CodeBlockKind::Fenced(kind) if !kind.is_empty() => format!(" class=\"language-{}\"", escaped(kind)),
                    CodeBlockKind::Fenced(_) | CodeBlockKind::Indented => String::new(),
                };
                shown.push(raw(format!("<pre tabindex=\"0\"><code{kind}>")));
                continue;
            }
            Event::Text(words) | Event::Code(words) => {
                if let Some(section) = sections.last_mut().filter(|_| !is_heading) {
                    section.text.push_str(words);
                }
            }
            Event::SoftBreak | Event::HardBreak | Event::End(_) => {
                if let Some(section) = sections.last_mut().filter(|section| !section.text.ends_with(' ')) {
                    section.text.push(' ');
                }
            }
            _ => {}
        }
        shown.push(event.clone());
        if matches!(event, Event::End(TagEnd::Table)) {
            shown.push(raw("</div>\n".to_owned()));
        }
    }
    let mut body = String::new();
    html::push_html(&mut body, shown.into_iter());
    let (source, address, title) = (page.source.clone(), page.address.clone(), title(&page.text));
    (RenderedPage { source, address, title, body, sections }, faults)
}

/// The first heading of a page.
pub(crate) fn title(text: &str) -> String {
    let events: Vec<Event<'_>> = Parser::new_ext(text, options()).collect();
    let first = events.iter().position(|event| matches!(event, Event::Start(Tag::Heading { .. })));
    first.map(|at| heading(&events[at..])).unwrap_or_default()
}

/// The words of the heading that begins here.
fn heading(events: &[Event<'_>]) -> String {
    let inside = events.iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    let words = inside.filter_map(|event| match event {
        Event::Text(words) | Event::Code(words) => Some(words.as_ref()),
        _ => None,
    });
    words.collect()
}

fn raw(text: String) -> Event<'static> {
    Event::Html(text.into())
}

/// Text inside a quoted attribute.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_anchors_sections_and_no_comments() {
        let text =
            "# A `b`\n\n<!-- not run: x -->\n```sh\necho \"<\"\n```\n\n## C\n\nwords [there](#a-b) [gone](x.md)\n";
        let source = SourcePage { source: "docs/a.md".into(), address: "a.html".into(), text: text.into() };
        let targets = LinkTargets {
            root: std::path::Path::new("/nowhere"),
            addresses: [("docs/a.md".to_owned(), "a.html".to_owned())].into(),
            anchors: [("docs/a.md".to_owned(), super::super::anchors::in_text(text))].into(),
        };
        let (page, faults) = page(&source, &targets);
        assert_eq!(page.title, "A b");
        assert!(
            page.body.contains("<h1 id=\"a-b\">A <code>b</code>") && !page.body.contains("not run"),
            "{}",
            page.body
        );
        assert!(page.body.contains("<code class=\"language-sh\">echo \"&lt;\"") && page.body.contains("href=\"#a-b\""));
        let sections: Vec<(u8, &str, &str)> =
            page.sections.iter().map(|one| (one.level, one.anchor.as_str(), one.text.trim())).collect();
        assert_eq!(sections, [(1, "a-b", "echo \"<\""), (2, "c", "words there  gone")]);
        assert_eq!(faults.len(), 1);
    }
}
