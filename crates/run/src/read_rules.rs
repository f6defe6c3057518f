//! The rules about reading that apply to one caller, for tools that look at many files and leave out what is forbidden.

use crate::effect::PreparedCall;
use crate::rules::{RETRIEVE, Rule, RuleMatch, Rules};

/// The rules that ask about or deny reading. A tool that reads many files at once cannot ask about each of them, so
/// both kinds leave a file out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadRules(Vec<Rule>);

impl ReadRules {
    /// The rules of all layers that apply to a caller.
    pub fn of<'a>(layers: impl IntoIterator<Item = &'a Rules>) -> Self {
        let restricting = |rules: &'a Rules| rules.deny.iter().chain(&rules.ask);
        // A rule without a pattern is about the tool, not about files.
        let of_files = layers.into_iter().flat_map(restricting).filter(|rule| rule.pattern.is_some());
        Self(of_files.cloned().collect())
    }

    /// Whether a file of the workspace may not be read.
    pub fn forbid(&self, path: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let reading = PreparedCall { reads: vec![path.to_owned()], leaves_out: true, ..PreparedCall::default() };
        self.0.iter().any(|rule| rule.matches(RETRIEVE, &reading) != RuleMatch::No)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(ask: &[&str], deny: &[&str]) -> Rules {
        let parse = |texts: &[&str]| texts.iter().map(|text| Rule::parse(text, "").unwrap()).collect();
        Rules { ask: parse(ask), deny: parse(deny), ..Rules::default() }
    }

    #[test]
    fn what_any_tool_may_not_read_is_left_out() {
        let layers = [rules(&["search_files(private/**)"], &["read_file(.env)", "write_file(open/**)"])];
        let agent = rules(&[], &["*(hidden)", "retrieve(notes/*.md)", "read_file", "list_files(listed/**)"]);
        let read = ReadRules::of(layers.iter().chain([&agent]));
        let forbidden = ["private/a/b", ".env", "hidden/x", "notes/a.md"];
        assert!(forbidden.iter().all(|path| read.forbid(path)));
        assert!(["open/a", "notes/a.txt", "listed/a", "env"].iter().all(|path| !read.forbid(path)));
        assert!(!ReadRules::default().forbid("a"));
        let anywhere = ReadRules::of([&rules(&["read_file(src/**/secret.txt)"], &["read_file(**/.env)"])]);
        assert!(["a/.env", ".env", "src/a/secret.txt"].iter().all(|path| anywhere.forbid(path)));
        assert!(["a/b.rs", "src/a/open.txt"].iter().all(|path| !anywhere.forbid(path)));
    }
}
