//! A unified diff for people: its hunks, with the lines that were added and removed marked.

use crate::out::{self, Paint};
use crate::view;

/// The lines of all hunks, at most this wide. The names of files are left out if there is only one.
pub(crate) fn lines(diff: &str, columns: usize, paint: Paint) -> Vec<String> {
    let several = diff.lines().filter(|line| line.starts_with("+++ ")).count() > 1;
    let mut shown = Vec::new();
    for line in diff.lines() {
        let text = out::harmless(line).replace('\t', "    ");
        let text = if columns == usize::MAX { text } else { cut(&text, columns) };
        match line.get(..1).unwrap_or_default() {
            _ if line.starts_with("--- ") => {}
            _ if line.starts_with("+++ ") => {
                if several {
                    let name = text.trim_start_matches("+++ ").trim_start_matches("b/");
                    shown.push(paint.bold(name));
                }
            }
            "@" => shown.push(paint.cyan(&hunk(&text))),
            "+" => shown.push(paint.green(&text)),
            "-" => shown.push(paint.red(&text)),
            "\\" => {}
            _ => shown.push(paint.dim(&text)),
        }
    }
    shown
}

/// `@@ -1,4 +1,5 @@` as `line 1`: where the hunk is in the new file.
fn hunk(text: &str) -> String {
    let place = text.split_once('+').map(|(_, rest)| rest.split([',', ' ']).next().unwrap_or_default());
    place.map_or_else(|| text.to_owned(), |line| format!("line {line}"))
}

/// Unlike `view::cut`, keeps the spaces at the beginning.
fn cut(text: &str, columns: usize) -> String {
    let start = text.len() - text.trim_start().len();
    let (indent, rest) = text.split_at(start);
    format!("{indent}{}", view::cut(rest, columns.saturating_sub(view::width(indent))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_say_where_they_are_and_keep_their_marks() {
        let diff =
            "--- a/cart.py\n+++ b/cart.py\n@@ -1,3 +1,3 @@\n def total():\n-    return 1\n+    return 2 + 日本\n";
        assert_eq!(lines(diff, 14, Paint::off()), ["line 1", " def total():", "-    return 1", "+    return 2…"]);
        let two = format!("{diff}--- a/b\n+++ b/b\n@@ -0,0 +7 @@\n+new\n");
        assert_eq!(lines(&two, 80, Paint::off())[5..], ["b", "line 7", "+new"]);
    }
}
