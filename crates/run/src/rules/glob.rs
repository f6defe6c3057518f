//! Patterns with `*`: in names and words, and over paths with `**`.

/// Whether a text is meant by a pattern in which `*` stands for any characters.
pub(super) fn wild(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    // Where the last `*` stood, and how far the text was then: only the last one is ever tried again.
    let mut last: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            last = Some((p, t));
            p += 1;
        } else if pattern.get(p) == Some(&text[t]) {
            p += 1;
            t += 1;
        } else if let Some((star, from)) = last {
            last = Some((star, from + 1));
            p = star + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// Whether a path of the workspace is meant: `**` stands for any folders, `*` for characters of one name.
pub(super) fn path_fits(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.trim_start_matches("./").split('/').collect();
    let path: Vec<&str> = path.split('/').filter(|part| *part != ".").collect();
    // The same way as above, one name at a time.
    let (mut p, mut t) = (0, 0);
    let mut last: Option<(usize, usize)> = None;
    while t < path.len() {
        if pattern.get(p) == Some(&"**") {
            last = Some((p, t));
            p += 1;
        } else if pattern.get(p).is_some_and(|name| wild(name, path[t])) {
            p += 1;
            t += 1;
        } else if let Some((star, from)) = last {
            last = Some((star, from + 1));
            p = star + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|name| *name == "**" || name.is_empty())
}

/// Whether something that a pattern means may lie within a folder.
pub(super) fn covers_some(folder: &str, pattern: &str) -> bool {
    if folder == "." {
        return true;
    }
    let mut wanted = pattern.trim_start_matches("./").split('/');
    for name in folder.split('/') {
        match wanted.next() {
            Some("**") => return true,
            Some(want) if wild(want, name) => {}
            Some(_) | None => return false,
        }
    }
    wanted.next().is_some()
}
