//! Selects lines of a text by their numbers.

/// The range of lines: the first, the last, and the total number. The error says how many lines there are.
pub(super) fn range(text: &str, start: Option<u64>, end: Option<u64>) -> Result<(u64, u64, u64), String> {
    let (start, total) = (start.unwrap_or(1), text.split_inclusive('\n').count() as u64);
    let end = end.unwrap_or(u64::MAX).min(total);
    if start == 0 || start > total || end < start {
        return Err(format!("there are no lines {start} to {end}: the file has {total}"));
    }
    Ok((start, end, total))
}

/// The text of these lines, unchanged.
pub(super) fn of(text: &str, start: u64, end: u64) -> String {
    text.split_inclusive('\n').skip(start as usize - 1).take((end - start + 1) as usize).collect()
}
