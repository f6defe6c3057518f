//! What is around the text of every page: its head, the search, the contents, the sections of the page, the next page.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::contents::{self, CONTENTS};
use super::links::relative;
use super::render::RenderedPage;

/// A whole page.
pub(crate) fn whole(page: &RenderedPage, all: &[RenderedPage]) -> String {
    let to = |address: &str| relative(&page.address, address);
    let title = if page.address == "index.html" { "Updraft".to_owned() } else { format!("{} · Updraft", page.title) };
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                meta name="description" content=(summary(page));
                link rel="icon" href="data:,";
                link rel="stylesheet" href=(to("site.css"));
                script src=(to("search.js")) data-root=(to("")) defer {}
            }
            body {
                a.skip href="#site-text" { "Skip to the text" }
                header.top {
                    a.home href=(to("index.html")) { "Updraft" }
                    a.to-contents href="#site-contents" { "Contents" }
                    search #site-search hidden {
                        input type="search" id="site-words" aria-label="Search the documentation" placeholder="Search" autocomplete="off";
                        ol #site-found hidden {}
                    }
                }
                div.columns {
                    main.text #site-text {
                        (sections(page, "here-narrow"))
                        (PreEscaped(&page.body))
                        (neighbours(page, all))
                    }
                    (sections(page, "here-wide"))
                    nav.contents #site-contents aria-label="Contents" { (contents_list(page, all)) }
                }
            }
        }
    };
    markup.into_string()
}

/// The first words of the page, for search engines.
fn summary(page: &RenderedPage) -> String {
    let text =
        page.sections.iter().map(|section| section.text.trim()).find(|text| !text.is_empty()).unwrap_or_default();
    let words: String = text.chars().take(160).collect();
    words.rsplit_once(' ').map(|(words, _)| words.to_owned()).unwrap_or(words)
}

/// The sections of this page; folded up where there is no room beside the text.
fn sections(page: &RenderedPage, place: &str) -> Markup {
    let list: Vec<_> = page.sections.iter().filter(|section| section.level == 2).collect();
    let entries = html! {
        ul { @for section in &list { li { a href={ "#" (section.anchor) } { (section.title) } } } }
    };
    html! {
        @if list.len() > 1 {
            @if place == "here-narrow" {
                details class=(place) { summary { "On this page" } (entries) }
            } @else {
                nav class=(place) aria-label="On this page" { p { "On this page" } (entries) }
            }
        } @else if place == "here-wide" {
            div class=(place) {}
        }
    }
}

fn contents_list(page: &RenderedPage, all: &[RenderedPage]) -> Markup {
    let place = |source: &str| all.iter().find(|one| one.source == source);
    let is_here = |source: &str| {
        let in_decisions = page.source.starts_with(contents::DECISIONS) && source.starts_with(contents::DECISIONS);
        (source == page.source).then_some("page").or(in_decisions.then_some("true"))
    };
    html! {
        @for group in CONTENTS {
            p.group { (group.title) }
            ul {
                @for (source, name) in group.pages {
                    @if let Some(one) = place(source) {
                        li { a href=(relative(&page.address, &one.address)) aria-current=[is_here(source)] { (name) } }
                    }
                }
            }
        }
    }
}

/// The pages before and after this one, in the order of the contents.
fn neighbours(page: &RenderedPage, all: &[RenderedPage]) -> Markup {
    let order: Vec<(&RenderedPage, &str)> = contents::in_order()
        .filter_map(|(source, name)| Some((all.iter().find(|one| one.source == *source)?, *name)))
        .collect();
    let Some(at) = order.iter().position(|(one, _)| one.source == page.source) else { return html! {} };
    let link = |at: Option<usize>, words: &str, rel: &str| {
        let found = at.and_then(|at| order.get(at));
        html! {
            @if let Some((one, name)) = found {
                a class=(rel) rel=(rel) href=(relative(&page.address, &one.address)) { span { (words) } (name) }
            }
        }
    };
    html! {
        nav.neighbours aria-label="Neighbouring pages" {
            (link(at.checked_sub(1), "Before", "prev"))
            (link(Some(at + 1), "Next", "next"))
        }
    }
}
