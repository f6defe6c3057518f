//! What `sed` runs and writes by its script: `e` runs a command, `w` writes a file, and `s` has both as flags.

/// Whether a script may run or write something. What cannot be told for certain may.
pub(super) fn does_more(script: &str) -> bool {
    if script.contains("s;") || script.contains("s}") || script.contains("s{") {
        // Its pieces cannot be told apart by what parts them.
        return true;
    }
    script.split([';', '\n', '{', '}']).any(piece_does_more)
}

fn piece_does_more(piece: &str) -> bool {
    let command = behind_address(piece);
    let mut letters = command.chars();
    match letters.next() {
        Some('e') => letters.next().is_none_or(char::is_whitespace),
        Some('w' | 'W') => true,
        Some('s') => letters.next().is_some_and(|mark| flags(letters.as_str(), mark).contains(['e', 'w'])),
        _ => false,
    }
}

/// A command without the lines that it is for: `1,$`, `/words/`, `\,words,`, `!`.
fn behind_address(piece: &str) -> &str {
    let mut rest = piece.trim_start();
    loop {
        let before = rest;
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c.is_whitespace() || ",$!~+".contains(c));
        let marked = rest.strip_prefix('/').map(|rest| (rest, '/'));
        let marked = marked.or_else(|| {
            let own = rest.strip_prefix('\\')?;
            let mark = own.chars().next()?;
            Some((&own[mark.len_utf8()..], mark))
        });
        if let Some((words, mark)) = marked {
            rest = behind(words, mark).trim_start_matches(['I', 'M']);
        }
        if rest == before {
            return rest;
        }
    }
}

/// What stands behind the flags' mark of `s/a/b/flags`.
fn flags(rest: &str, mark: char) -> &str {
    let flags = behind(behind(rest, mark), mark);
    flags.split_whitespace().next().unwrap_or_default()
}

/// What follows the next mark that is not written with a backslash, nor within brackets.
fn behind(text: &str, mark: char) -> &str {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if !escaped && c == mark {
            return &text[at + c.len_utf8()..];
        }
        escaped = !escaped && c == '\\';
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::does_more;

    #[test]
    fn scripts_that_run_or_write_are_told_from_those_that_edit() {
        let harmful = [
            "e touch x",
            "1e touch x",
            "e",
            "$!e",
            "/a/e touch x",
            "s/a/b/e",
            "s/a/b/ge",
            "s|a|b|w out",
            "w out",
            "p;w x",
        ];
        for script in harmful.into_iter().chain(["1,5{e x\n}", "\\,a,e x", "s;a;b;e", "s/\\//b/e", "/x/I,/y/w z"]) {
            assert!(does_more(script), "{script}");
        }
        for script in
            ["1,10p", "$p", "s/a/b/g", "s/we/ew/", "/end/d", "s,x,ew,", "y/abc/def/", "$!N;P;D", "s/e/w/2", "file.txt"]
        {
            assert!(!does_more(script), "{script}");
        }
    }
}
