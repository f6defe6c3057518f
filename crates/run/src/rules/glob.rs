//! Patterns with `*`: for names and words, and for paths with `**`.

/// Whether a text matches a pattern in which `*` stands for any characters.
pub(super) fn wild(pattern: &str, text: &str) -> bool {
    fits(pattern.as_bytes(), text.as_bytes(), &b'*', |wanted, byte| wanted == byte)
}

/// Whether a path of the workspace matches: `**` stands for any folders, `*` for characters within one name.
pub(super) fn path_fits(pattern: &str, path: &str) -> bool {
    fits(&names(pattern), &names(path), &"**", |wanted, name| wild(wanted, name))
}

/// Whether a path is inside what the pattern matches: denying a folder denies everything in it.
pub(super) fn path_is_within(pattern: &str, path: &str) -> bool {
    let mut pattern = names(pattern);
    pattern.push("**");
    fits(&pattern, &names(path), &"**", |wanted, name| wild(wanted, name))
}

/// The components of a path.
fn names(path: &str) -> Vec<&str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".").collect()
}

/// Whether all of `text` matches `pattern`, in which `any` stands for any number of parts.
fn fits<T: PartialEq>(pattern: &[T], text: &[T], any: &T, is_meant: impl Fn(&T, &T) -> bool) -> bool {
    let (mut p, mut t) = (0, 0);
    // The position of the last `any`, and how far the text was then: only the last one is ever tried again.
    let mut last: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(any) {
            last = Some((p, t));
            p += 1;
        } else if pattern.get(p).is_some_and(|wanted| is_meant(wanted, &text[t])) {
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
    pattern[p..].iter().all(|left| left == any)
}

/// Whether something that a pattern matches may be inside a folder.
pub(super) fn covers_some(folder: &str, pattern: &str) -> bool {
    if folder == "." {
        return true;
    }
    let mut wanted = names(pattern).into_iter();
    for name in names(folder) {
        match wanted.next() {
            Some("**") => return true,
            Some(want) if wild(want, name) => {}
            Some(_) | None => return false,
        }
    }
    wanted.next().is_some()
}
