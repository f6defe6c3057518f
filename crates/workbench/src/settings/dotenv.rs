//! Reads `.env` of a trusted workspace: lines `NAME=value`, which never override the environment.

use std::collections::BTreeMap;
use std::path::Path;

/// The variables in a file; none if it does not exist or is not text.
pub(crate) fn read(file: &Path) -> BTreeMap<String, String> {
    crate::untrusted::read_text(file).map(|text| parse(&text)).unwrap_or_default()
}

fn parse(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.strip_prefix("export ").unwrap_or(line).split_once('='));
    pairs.map(|(name, value)| (name.trim().to_owned(), unquoted(value.trim()))).collect()
}

fn unquoted(value: &str) -> String {
    let inner = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.split_once(quote)).map(|(inner, _)| inner);
    let bare = || value.split(" #").next().unwrap_or_default().trim_end();
    inner('"').or_else(|| inner('\'')).unwrap_or_else(bare).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_quotes_and_exports_are_understood() {
        let read = parse("# keys\nexport A='x y' # z\nB = 1 # two\n\nC=\"a#b\"\nnonsense\n");
        let expected =
            [("A", "x y"), ("B", "1"), ("C", "a#b")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(read, BTreeMap::from(expected));
    }
}
