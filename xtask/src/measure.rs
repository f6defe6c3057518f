//! How long a Rust file and its functions are, tests not counted.
//!
//! It works by lines and indentation, which is exact for code that `cargo fmt` has formatted, but for text inside raw
//! strings. Clippy's `too_many_lines` looks at the same limit from within.

/// A function and its length from the line with `fn` to its closing brace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// The line of `fn`, counted from 1.
    pub(crate) line: usize,
    pub(crate) lines: usize,
}

/// The lines outside `#[cfg(test)] mod … { }`, each with its number counted from 1.
pub(crate) fn outside_tests(text: &str) -> Vec<(usize, &str)> {
    let mut kept = Vec::new();
    let mut lines = text.lines().zip(1..).peekable();
    while let Some((line, number)) = lines.next() {
        if line != "#[cfg(test)]" {
            kept.push((number, line));
            continue;
        }
        let mut head = vec![(number, line)];
        while let Some((line, number)) = lines.next_if(|(line, _)| line.starts_with("#[")) {
            head.push((number, line));
        }
        let opens_module = lines.peek().is_some_and(|(line, _)| line.starts_with("mod ") && line.ends_with('{'));
        if opens_module {
            lines.by_ref().find(|(line, _)| *line == "}");
        } else {
            kept.extend(head);
        }
    }
    kept
}

/// Every function that begins in these lines, in order; one inside another is counted in both.
pub(crate) fn functions(lines: &[(usize, &str)]) -> Vec<Function> {
    let begins = lines.iter().enumerate().filter_map(|(at, (_, line))| function_name(line).map(|name| (at, name)));
    begins.map(|(at, name)| Function { name, line: lines[at].0, lines: length(&lines[at..]) }).collect()
}

/// The name of the function whose signature begins on this line.
fn function_name(line: &str) -> Option<String> {
    let (before, after) = line.split_once("fn ")?;
    let is_signature = before.split_whitespace().all(|word| {
        word.starts_with("pub") || word.starts_with('"') || ["const", "async", "unsafe", "extern"].contains(&word)
    });
    let name: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (is_signature && !name.is_empty()).then_some(name)
}

/// From the line of `fn` to the line at the same indentation that ends it.
fn length(lines: &[(usize, &str)]) -> usize {
    let Some((_, first)) = lines.first() else {
        return 0;
    };
    if first.ends_with('}') || first.ends_with(';') {
        return 1;
    }
    let indentation = indent(first);
    let end = lines.iter().skip(1).position(|(_, line)| {
        indent(line) == indentation && (*line.trim_start() == *"}" || line.ends_with(';') || line.ends_with("{}"))
    });
    end.map_or(lines.len(), |end| end + 2)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(text: &str) -> Vec<(String, usize, usize)> {
        functions(&outside_tests(text)).into_iter().map(|it| (it.name, it.line, it.lines)).collect()
    }

    #[test]
    fn a_test_module_is_not_counted_and_what_follows_is() {
        let text = "//! Doc.\nfn a() {}\n\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        let numbers: Vec<usize> = outside_tests(text).into_iter().map(|(number, _)| number).collect();
        assert_eq!(numbers, [1, 2, 3, 9]);
    }

    #[test]
    fn a_test_only_function_or_module_file_is_counted_as_it_stands() {
        let text = "#[cfg(test)]\nfn only() {}\n#[cfg(test)]\nmod tests;\n";
        assert_eq!(outside_tests(text).len(), 4);
    }

    #[test]
    fn functions_are_measured_from_fn_to_the_closing_brace() {
        let text = "\
pub(crate) async fn long(
    a: u8,
) -> u8 {
    if a > 1 {
        a
    }
}

impl A {
    const fn short() {}
    pub fn method(&self) {
        let f = fn_like(1);
    }
}

trait T {
    fn declared(
        &self,
    ) -> u8;
    fn given(&self) -> u8 {
        1
    }
}
";
        let expected = [("long", 1, 7), ("short", 10, 1), ("method", 11, 3), ("declared", 17, 3), ("given", 20, 3)];
        assert_eq!(measured(text), expected.map(|(name, line, lines)| (name.to_owned(), line, lines)));
    }

    #[test]
    fn a_comment_or_a_type_that_says_fn_is_no_function() {
        assert_eq!(measured("// the fn of it\ntype F = fn (u8);\nlet s = \"fn x\";\n"), []);
    }
}
