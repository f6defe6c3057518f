//! What `awk` runs and writes by its program: `system(…)`, pipes, `print > file`, and what it is fed or loads.

use super::options::{Given, given, is_fed};

/// Whether a call of `awk` may run or write something by its program. What cannot be told for certain may.
pub(super) fn call_does_more(words: &[Option<String>]) -> bool {
    let all = given(&words[1..], "FvfeilE");
    let mut has_program = false;
    for option in &all {
        match option {
            Given::Letter('f' | 'E', file) if is_fed(*file) => return true,
            Given::Letter('e', text) if text.is_none_or(does_more) => return true,
            // Another dialect's options, programs that are loaded, and files that are written.
            Given::Letter('i' | 'l' | 'W' | 'o' | 'p' | 'd' | 'D', _) => return true,
            Given::Letter('f' | 'e' | 'E', _) => has_program = true,
            Given::Long("version" | "help", _) => return false,
            Given::Long("posix" | "traditional" | "re-interval" | "sandbox" | "csv" | "characters-as-bytes", _) => {}
            Given::Long(name, Some(_)) if ["assign", "field-separator"].contains(name) => {}
            Given::Long(..) => return true,
            Given::Word(text) if !has_program => return does_more(text),
            Given::Unknown if !has_program => return true,
            _ => {}
        }
    }
    false
}

fn does_more(program: &str) -> bool {
    let plain = without_texts(program).replace("||", " ");
    if program.contains("system") || plain.contains('@') || plain.contains('|') {
        return true;
    }
    // `print a > b` writes a file; elsewhere the sign compares. Where texts are kept, they may hold what ends a statement.
    let ends: &[char] = if plain.contains('"') { &[] } else { &[';', '}', '\n'] };
    plain.split("print").skip(1).any(|rest| rest.split(ends).next().is_some_and(|statement| statement.contains('>')))
}

/// The program without the texts in quotes. What begins a pattern, and what divides, looks alike: of a program with such a
/// sign or a comment, everything is kept.
fn without_texts(program: &str) -> String {
    if program.contains(['/', '#']) {
        return program.to_owned();
    }
    let mut kept = String::new();
    let (mut quoted, mut escaped) = (false, false);
    for c in program.chars() {
        let ends = c == '"' && !escaped;
        if !quoted && !ends {
            kept.push(c);
        }
        quoted ^= ends;
        escaped = quoted && !escaped && c == '\\';
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::does_more;

    #[test]
    fn programs_that_run_or_write_are_told_from_those_that_print() {
        for program in [
            "BEGIN{system(\"x\")}",
            "{print | \"sh\"}",
            "BEGIN{\"x\" | getline}",
            "{print $1 > \"f\"}",
            "{printf \"a\" >> \"f\"}",
            "BEGIN{f=\"sys\" \"tem\";@f(\"x\")}",
            "{print \"a;/\" > \"f\"}",
            "BEGIN{print 1/2;print \"/\" | \"sh\"}",
        ] {
            assert!(does_more(program), "{program}");
        }
        for program in
            ["{print $1}", "$3 > 5 {print $1, \"|\"}", "NR==1 || /x/", "{s+=$1} END{print s}", "{print \">\"}"]
        {
            assert!(!does_more(program), "{program}");
        }
    }
}
