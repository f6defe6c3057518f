//! Words that must not be published: paths of somebody's own machine.

use std::path::Path;

use crate::fault::Fault;
use crate::tree;

/// Split, so that this file does not find itself.
const PATTERNS: [&str; 2] = [concat!("/ro", "ot/"), concat!("/wo", "rk/")];

/// Not ours to word.
const EXCEPT: [&str; 2] = ["Cargo.lock", "LICENSE"];

/// Looks through every file git knows.
pub(crate) fn check(root: &Path) -> Result<Vec<Fault>, String> {
    let tracked = tree::output(root, "git", &["ls-files", "-z"])?;
    let mut faults = Vec::new();
    for path in tracked.split('\0').filter(|path| !path.is_empty() && !EXCEPT.contains(path)) {
        let file = root.join(path);
        // A link may point anywhere, and a file removed a moment ago is still tracked.
        if file.is_symlink() || !file.is_file() {
            continue;
        }
        faults.extend(faults_in(path, &tree::read(&file)?));
    }
    Ok(faults)
}

fn faults_in(path: &str, text: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        for pattern in PATTERNS.iter().filter(|pattern| holds(line, pattern)) {
            faults.push(Fault::new(
                format!("{path}:{number} names a path below `{pattern}`"),
                "write it relative to the repository, or use a temporary folder in tests",
            ));
        }
    }
    faults
}

/// Whether the line has the pattern as the beginning of an absolute path, not as the middle of a longer one.
fn holds(line: &str, pattern: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || "_-.~/}".contains(c);
    line.match_indices(pattern).any(|(at, _)| !line[..at].ends_with(continues))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_path_is_found_with_its_line() {
        let text = format!("fine\ncd {}project\n", PATTERNS[1]);
        let found: Vec<String> = faults_in("a.md", &text).into_iter().map(|fault| fault.what).collect();
        assert_eq!(found, [format!("a.md:2 names a path below `{}`", PATTERNS[1])]);
    }

    #[test]
    fn the_middle_of_a_longer_path_is_fine() {
        assert_eq!(faults_in("a.md", &format!("see target{}x and ${{DIR}}{}x\n", PATTERNS[0], PATTERNS[1])), []);
    }
}
