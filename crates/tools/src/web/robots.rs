//! robots.txt (RFC 9309): which pages of a site programs are asked not to fetch, and how fast.

use std::time::Duration;

/// The name that robots.txt files know us by.
const AGENT: &str = "updraft";
/// Most bytes of a robots.txt that are read, as the RFC demands.
pub(super) const LARGEST: usize = 500 << 10;

/// The rules of one robots.txt that concern us.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RobotsRules {
    rules: Vec<RobotsRule>,
    /// The pause that the site asks for between requests.
    pub(super) delay: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq)]
struct RobotsRule {
    allows: bool,
    /// As written, for people.
    pattern: String,
    /// Without escapes, to compare with.
    plain: Vec<u8>,
}

impl RobotsRules {
    /// Reads the groups that name us, or those for everyone if none does.
    pub(super) fn parse(text: &str) -> Self {
        let (mut ours, mut everyone) = (None, Self::default());
        let (mut is_for_us, mut is_for_all, mut has_rules) = (false, false, true);
        for line in text.trim_start_matches('\u{feff}').lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((name, value)) = line.split_once(':') else { continue };
            let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
            if name == "user-agent" {
                if has_rules {
                    (is_for_us, is_for_all, has_rules) = (false, false, false);
                }
                is_for_us |= value.split('/').next().unwrap_or_default().eq_ignore_ascii_case(AGENT);
                is_for_all |= value == "*";
                continue;
            }
            has_rules = true;
            if is_for_us {
                ours.get_or_insert_with(Self::default).take(&name, value);
            }
            if is_for_all {
                everyone.take(&name, value);
            }
        }
        ours.unwrap_or(everyone)
    }

    fn take(&mut self, name: &str, value: &str) {
        match name {
            "allow" | "disallow" if !value.is_empty() => {
                let rule = RobotsRule { allows: name == "allow", pattern: value.to_owned(), plain: plain(value) };
                self.rules.push(rule);
            }
            "crawl-delay" => {
                let seconds = value.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                self.delay = self.delay.max(seconds);
            }
            _ => {}
        }
    }

    /// The rule by which a page is not to be fetched. The longest one that fits decides; of two, the one that allows.
    pub(super) fn refusal(&self, path: &str) -> Option<&str> {
        let path = plain(path);
        let fitting = self.rules.iter().filter(|rule| fits(&rule.plain, &path));
        let deciding = fitting.max_by_key(|rule| (rule.plain.len(), rule.allows))?;
        (!deciding.allows).then_some(deciding.pattern.as_str())
    }
}

/// Whether a path begins like a pattern, in which `*` is anything and a last `$` the end.
fn fits(pattern: &[u8], path: &[u8]) -> bool {
    let (pattern, is_whole) = match pattern.strip_suffix(b"$") {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut pieces = pattern.split(|byte| *byte == b'*');
    let Some(mut rest) = path.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let mut last: &[u8] = b"";
    let mut has_star = false;
    for piece in pieces {
        (has_star, last) = (true, piece);
        let Some(at) = find(rest, piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    // The last piece may come again further on, up to the end.
    !is_whole || rest.is_empty() || (has_star && rest.ends_with(last))
}

fn find(text: &[u8], piece: &[u8]) -> Option<usize> {
    if piece.is_empty() {
        return Some(0);
    }
    text.windows(piece.len()).position(|window| window == piece)
}

/// Decodes escapes, since `/%61` and `/a` are the same path; an escaped slash stays escaped.
fn plain(text: &str) -> Vec<u8> {
    let (bytes, mut decoded, mut at) = (text.as_bytes(), Vec::new(), 0);
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).filter(|_| byte == b'%').and_then(|two| std::str::from_utf8(two).ok());
        let escaped = digits.and_then(|two| u8::from_str_radix(two, 16).ok()).filter(|byte| *byte != b'/');
        decoded.push(escaped.unwrap_or(byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &str = "User-agent: *\nDisallow: /private/ # not for programs\nAllow: /private/open\nCrawl-delay: 2\n\n\
        User-agent: otherbot\nUser-agent: third\nDisallow: /\n";

    #[test]
    fn the_longest_rule_decides_and_an_equal_one_that_allows_wins() {
        let rules = RobotsRules::parse(SITE);
        assert_eq!(rules.refusal("/private/page"), Some("/private/"));
        assert_eq!(rules.refusal("/private/open?q=1"), None);
        assert_eq!(rules.refusal("/%70rivate/x"), Some("/private/"));
        assert_eq!(rules.refusal("/"), None);
        assert_eq!(rules.delay, Some(Duration::from_secs(2)));
        assert_eq!(RobotsRules::parse("user-agent:*\nallow:/a\ndisallow:/a").refusal("/a"), None);
    }

    #[test]
    fn a_group_that_names_us_is_the_only_one_that_counts() {
        let ours =
            RobotsRules::parse(&format!("{SITE}\nUSER-AGENT: Updraft/9\ndisallow: /x\nuser-agent: *\ndisallow: /y\n"));
        assert_eq!((ours.refusal("/x"), ours.refusal("/private/page"), ours.refusal("/y")), (Some("/x"), None, None));
        let together =
            RobotsRules::parse("User-agent: updraft\nUser-agent: *\nDisallow: /\nUser-agent: updraft\nAllow: /a");
        assert_eq!((together.refusal("/b"), together.refusal("/a")), (Some("/"), None));
    }

    #[test]
    fn stars_and_ends_are_understood() {
        for (pattern, path, is_refused) in [
            ("/*.pdf$", "/a/b.pdf", true),
            ("/*.pdf$", "/a/b.pdf?x", false),
            ("/*.pdf$", "/a.pdf/b.pdf", true),
            ("/a*b*c", "/a-b-b-c-d", true),
            ("/a*b*c", "/a-c-b", false),
            ("/exact$", "/exactly", false),
            ("*", "/anything", true),
            ("/fish", "/catfish", false),
            ("/a%2fb", "/a/b", false),
        ] {
            let rules = RobotsRules::parse(&format!("user-agent: *\ndisallow: {pattern}\n"));
            assert_eq!(rules.refusal(path).is_some(), is_refused, "{pattern} {path}");
        }
    }

    #[test]
    fn what_is_no_robots_txt_forbids_nothing() {
        for text in
            ["", "<!doctype html><p>Disallow: /</p>", "Disallow: /\n", "user-agent: *\ndisallow:\ncrawl-delay: -1"]
        {
            assert_eq!(RobotsRules::parse(text).refusal("/"), None, "{text}");
        }
    }
}
