//! The frame of every page.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::assets;

/// Where the name of a visitor stands in the frame, if they have one (`visitor_response.rs`).
pub(super) const VISITOR: &str = "<!--visitor-->";

/// The entries of the main navigation: address and name.
const PLACES: [(&str, &str); 7] = [
    ("/", "Sessions"),
    ("/inbox", "Inbox"),
    ("/new", "New run"),
    ("/knowledge", "Knowledge"),
    ("/memory", "Memory"),
    ("/tools", "Tools"),
    ("/settings", "Settings"),
];

/// What a page is called, and where it is.
pub(super) struct PageFrame<'a> {
    /// The title.
    pub(super) title: &'a str,
    /// The address of its entry in the navigation.
    pub(super) place: &'a str,
    /// The kind of page, for styles and scripts.
    pub(super) kind: &'a str,
    /// How many questions and approvals wait.
    pub(super) waiting: usize,
}

/// A whole page.
pub(super) fn page(frame: &PageFrame<'_>, body: &Markup) -> Markup {
    let navigation = html! {
        nav.places aria-label="Main" {
            @for (address, name) in PLACES {
                a href=(address) aria-current=[(frame.place == address).then_some("page")] {
                    (name)
                    @if address == "/inbox" { (inbox_count(frame.waiting)) }
                }
            }
        }
    };
    whole(frame.title, frame.kind, &html! {}, &navigation, body)
}

/// The number of open questions in the navigation.
pub(super) fn inbox_count(waiting: usize) -> Markup {
    html! { span.badge id="inbox-count" hidden[waiting == 0] { (waiting) span.sr { " waiting" } } }
}

/// A page without navigation, for those who are not inside.
pub(super) fn bare(title: &str, head: &Markup, body: &Markup) -> Markup {
    whole(title, "bare", head, &html! {}, body)
}

fn whole(title: &str, kind: &str, head: &Markup, navigation: &Markup, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" data-page=(kind) {
            head {
                meta charset="utf-8";
                title { (title) " · Updraft" }
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="description" content="Updraft: runs of agents, seen and steered";
                link rel="icon" href=(assets::address("icon.svg")) type="image/svg+xml";
                link rel="stylesheet" href=(assets::address("page.css"));
                script type="module" src=(assets::address("page.js")) {}
                @for script in assets::imported() { link rel="modulepreload" href=(script); }
                (head)
            }
            body {
                a.skip href="#main" { "Skip to content" }
                header.bar {
                    a.brand href="/" { "Updraft" }
                    (navigation)
                    (PreEscaped(VISITOR))
                }
                main id="main" class=(kind) { (body) }
            }
        }
    }
}
