//! The anchors of headings, as GitHub makes them, so that a link works there and on the site.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::render;

/// Names anchors one after the other; a heading that comes again gets a number.
#[derive(Debug, Default)]
pub(crate) struct AnchorNames {
    seen: BTreeMap<String, usize>,
}

impl AnchorNames {
    /// The anchor of the next heading of the page.
    pub(crate) fn next(&mut self, heading: &str) -> String {
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
        let name: String = heading.trim().to_lowercase().chars().filter(kept).collect();
        let name = name.replace(' ', "-");
        let times = self.seen.entry(name.clone()).or_default();
        *times += 1;
        if *times == 1 { name } else { format!("{name}-{}", *times - 1) }
    }
}

/// Every anchor of a page.
pub(crate) fn in_text(text: &str) -> BTreeSet<String> {
    let (mut names, mut found, mut heading) = (AnchorNames::default(), BTreeSet::new(), None);
    for event in Parser::new_ext(text, render::options()) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                found.extend(heading.take().map(|heading| names.next(&heading)));
            }
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&words);
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_those_of_github() {
        let mut names = AnchorNames::default();
        assert_eq!(names.next("`NAME.md`: a rule, or a built-in check"), "namemd-a-rule-or-a-built-in-check");
        assert_eq!(names.next("Again"), "again");
        assert_eq!(names.next("Again"), "again-1");
        assert_eq!(in_text("# One\n\n## Two `x`\n"), ["one", "two-x"].map(String::from).into());
    }
}
