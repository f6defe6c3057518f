//! Files and functions stay short enough to be read in one go, and every file says what it is for.

use std::path::Path;

use crate::exceptions::{self, Exceptions};
use crate::fault::Fault;
use crate::{clippy_files, measure, tree};

/// At this length there are two subjects in one file.
const FILE_LIMIT: usize = 500;
/// Past a screen and a half, a piece of the function has a name of its own.
const FUNCTION_LIMIT: usize = 80;

/// Measures every file of ours.
pub(crate) fn check(root: &Path) -> Result<Vec<Fault>, String> {
    let list = tree::read(&root.join(exceptions::FILE))?;
    let (mut exceptions, mut faults) = Exceptions::parse(&list);
    for folder in tree::crate_folders(root)? {
        for file in tree::rust_files(&folder.join("src"))? {
            let (path, text) = (tree::relative(root, &file), tree::read(&file)?);
            faults.extend(undescribed(&path, &text));
            faults.extend(too_long(&path, &text, &mut exceptions));
        }
        for file in tree::rust_files(&folder.join("tests"))? {
            faults.extend(undescribed(&tree::relative(root, &file), &tree::read(&file)?));
        }
    }
    faults.extend(exceptions.unneeded());
    faults.extend(clippy_files::check(root)?);
    Ok(faults)
}

fn undescribed(path: &str, text: &str) -> Option<Fault> {
    if text.starts_with("//!") {
        return None;
    }
    let found = text.lines().next().unwrap_or_default();
    Some(Fault::new(
        format!("{path}:1 is `{found}`; expected a line that begins with `//!`"),
        "open the file with one sentence that says what it is for",
    ))
}

fn too_long(path: &str, text: &str, exceptions: &mut Exceptions) -> Vec<Fault> {
    if is_test_file(path) {
        return Vec::new();
    }
    let mut faults = Vec::new();
    let lines = measure::outside_tests(text);
    if lines.len() > FILE_LIMIT && !exceptions.excuse(path) {
        faults.push(Fault::new(
            format!("{path}: {} lines without tests; the limit is {FILE_LIMIT}", lines.len()),
            format!(
                "find the two subjects in it and give each a file, or list it in {} with a reason",
                exceptions::FILE
            ),
        ));
    }
    for function in measure::functions(&lines) {
        let place = format!("{path}::{}", function.name);
        if function.lines > FUNCTION_LIMIT && !exceptions.excuse(&place) {
            faults.push(Fault::new(
                format!(
                    "{path}:{}: `{}` has {} lines; the limit is {FUNCTION_LIMIT}",
                    function.line, function.name, function.lines
                ),
                format!(
                    "split off the piece that has a name of its own, or list `{place}` in {} with a reason",
                    exceptions::FILE
                ),
            ));
        }
    }
    faults
}

/// Tests that have moved beside their file: `tests.rs`, `turn_tests.rs`, or below a folder `tests`.
fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.ends_with("_tests.rs") || path.contains("/tests/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str, list: &str) -> Vec<String> {
        let (mut exceptions, _) = Exceptions::parse(list);
        too_long(path, text, &mut exceptions).into_iter().map(|fault| fault.what).collect()
    }

    fn function_of(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    one();\n".repeat(lines - 2))
    }

    #[test]
    fn the_limits_themselves_are_allowed() {
        assert_eq!(found("a.rs", &"x\n".repeat(500), ""), [""; 0]);
        assert_eq!(found("a.rs", &function_of(80), ""), [""; 0]);
    }

    #[test]
    fn a_long_file_is_named_with_its_lines_and_the_limit() {
        assert_eq!(found("a.rs", &"x\n".repeat(501), ""), ["a.rs: 501 lines without tests; the limit is 500"]);
    }

    #[test]
    fn a_long_function_is_named_with_its_lines_and_the_limit() {
        assert_eq!(found("a.rs", &function_of(81), ""), ["a.rs:1: `long` has 81 lines; the limit is 80"]);
    }

    #[test]
    fn what_is_listed_with_a_reason_may_be_longer() {
        assert_eq!(found("a.rs", &"x\n".repeat(501), "\"a.rs\" = \"a list\""), [""; 0]);
        assert_eq!(found("a.rs", &function_of(81), "\"a.rs::long\" = \"a table\""), [""; 0]);
    }

    #[test]
    fn tests_are_not_counted_wherever_they_stand() {
        let text = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", "x\n".repeat(400), "    y\n".repeat(400));
        assert_eq!(found("a.rs", &text, ""), [""; 0]);
        assert_eq!(found("crates/run/src/turn/tests.rs", &"x\n".repeat(900), ""), [""; 0]);
    }

    #[test]
    fn a_file_that_does_not_say_what_it_is_for_is_named() {
        assert_eq!(undescribed("a.rs", "//! What it is for.\n"), None);
        let fault = undescribed("a.rs", "use std::fs;\n").map(|fault| fault.what);
        assert_eq!(fault.as_deref(), Some("a.rs:1 is `use std::fs;`; expected a line that begins with `//!`"));
    }
}
