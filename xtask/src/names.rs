//! Names of types: nouns, and one name means one thing.

use std::collections::BTreeMap;
use std::path::Path;

use crate::fault::Fault;
use crate::{measure, tree};

/// What every file or crate may have one of: the arguments of a tool, what can go wrong.
const SHARED: [&str; 2] = ["Args", "Error"];
/// A name that is private in each place may stand in as many crates.
const MOST: usize = 3;
/// Participles that do not end in `ed`.
const IRREGULAR: [&str; 32] = [
    "Begun",
    "Broken",
    "Built",
    "Chosen",
    "Done",
    "Drawn",
    "Forgotten",
    "Found",
    "Gave",
    "Given",
    "Gone",
    "Heard",
    "Held",
    "Hidden",
    "Kept",
    "Known",
    "Left",
    "Lost",
    "Made",
    "Meant",
    "Met",
    "Said",
    "Seen",
    "Sent",
    "Shown",
    "Spent",
    "Spoken",
    "Taken",
    "Thought",
    "Told",
    "Understood",
    "Written",
];
/// Nouns that do.
const NOUNS: [&str; 7] = ["Deed", "Embed", "Feed", "Need", "Seed", "Speed", "Thread"];

/// A type, and where it is defined.
#[derive(Debug, PartialEq, Eq)]
struct Definition {
    name: String,
    place: String,
    of: String,
    is_public: bool,
}

/// Looks at every type that our crates define outside their tests.
pub(crate) fn check(root: &Path) -> Result<Vec<Fault>, String> {
    let mut all = Vec::new();
    for folder in tree::crate_folders(root)? {
        let of = tree::relative(root, &folder);
        for file in tree::rust_files(&folder.join("src"))? {
            let path = tree::relative(root, &file);
            if !path.ends_with("/tests.rs") && !path.contains("/tests/") {
                all.extend(definitions(&of, &path, &tree::read(&file)?));
            }
        }
    }
    Ok(faults(&all))
}

fn definitions(of: &str, path: &str, text: &str) -> Vec<Definition> {
    let lines = measure::outside_tests(text);
    let defined = lines.iter().filter_map(|(number, line)| {
        let (is_public, name) = defined_in(line)?;
        Some(Definition { name, place: format!("{path}:{number}"), of: of.to_owned(), is_public })
    });
    defined.collect()
}

/// The type that a line defines, and whether everybody may use it. Types inside an `impl` have the name that a trait gives.
fn defined_in(line: &str) -> Option<(bool, String)> {
    let is_inside = line.starts_with(' ');
    let mut words = line.split_whitespace();
    let mut word = words.next()?;
    let is_public = word == "pub";
    if word.starts_with("pub") {
        word = words.next()?;
    }
    let is_definition = ["struct", "enum", "trait", "union"].contains(&word) || (word == "type" && !is_inside);
    let name: String = words.next()?.chars().take_while(|c| c.is_alphanumeric()).collect();
    (is_definition && name.starts_with(char::is_uppercase)).then_some((is_public, name))
}

fn faults(all: &[Definition]) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut by_name: BTreeMap<&str, Vec<&Definition>> = BTreeMap::new();
    for one in all {
        by_name.entry(&one.name).or_default().push(one);
    }
    for (name, holders) in by_name {
        let places = || holders.iter().map(|one| one.place.as_str()).collect::<Vec<_>>().join(", ");
        if is_participle(name) {
            faults.push(Fault::new(
                format!("{}: `{name}` is a participle", places()),
                "name what it is: a noun that a newcomer understands",
            ));
        } else if !SHARED.contains(&name) && clashes(&holders) {
            let hint = format!(
                "give all but one another name: once in a crate, public names once in all, and at most {MOST} times"
            );
            faults.push(Fault::new(format!("{}: `{name}` means several things", places()), hint));
        }
    }
    faults
}

fn clashes(holders: &[&Definition]) -> bool {
    let twice = |chosen: fn(&Definition) -> bool, same: fn(&Definition, &Definition) -> bool| {
        let chosen: Vec<_> = holders.iter().filter(|one| chosen(one)).collect();
        chosen.iter().enumerate().any(|(at, one)| chosen[..at].iter().any(|other| same(one, other)))
    };
    holders.len() > MOST || twice(|_| true, |one, other| one.of == other.of) || twice(|one| one.is_public, |_, _| true)
}

/// Whether a name is one word, and that is a participle.
fn is_participle(name: &str) -> bool {
    let is_one_word = name.chars().skip(1).all(char::is_lowercase);
    is_one_word && ((name.ends_with("ed") && !NOUNS.contains(&name)) || IRREGULAR.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let all = files.iter().flat_map(|(of, text)| definitions(of, &format!("{of}/a.rs"), text)).collect::<Vec<_>>();
        faults(&all).into_iter().map(|fault| fault.what).collect()
    }

    #[test]
    fn participles_are_found_and_nouns_are_not() {
        let text = "struct Found;\npub enum Staged {}\nstruct Feed;\nstruct FoundFile;\nfn told() {}\n";
        let expected = ["a/a.rs:1: `Found` is a participle", "a/a.rs:2: `Staged` is a participle"];
        assert_eq!(found(&[("a", text)]), expected);
    }

    #[test]
    fn a_name_stands_once_in_a_crate_and_public_ones_once_in_all() {
        assert_eq!(found(&[("a", "struct Line;\npub(crate) struct Line;\n")]).len(), 1);
        assert_eq!(found(&[("a", "pub struct Line;\n"), ("b", "pub trait Line {}\n")]).len(), 1);
        assert_eq!(found(&[("a", "pub struct Line;\n"), ("b", "struct Line;\n")]), [""; 0]);
        assert_eq!(found(&["a", "b", "c", "d"].map(|of| (of, "struct Line;\n"))).len(), 1, "too many");
        assert_eq!(found(&[("a", "struct Args;\nmod x {\n    struct Args;\n}\n")]), [""; 0]);
    }

    #[test]
    fn tests_and_what_traits_name_are_left_alone() {
        let text =
            "struct Line;\nimpl X for Y {\n    type Line = u8;\n}\n#[cfg(test)]\nmod tests {\n    struct Line;\n}\n";
        assert_eq!(found(&[("a", text)]), [""; 0]);
    }
}
