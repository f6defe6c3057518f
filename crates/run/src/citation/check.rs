//! Checks a citation against what was read in the run.

use super::entry::CitationEntry;
use super::excerpt::{Excerpt, Reading};
use super::{Citation, CitationFinding, find_quotation};

/// How many lines a place may be off: a line break more or less is no false citation.
const OFF: u32 = 1;

/// Checks a citation. A source that was not read is no fault if some of what was read is forgotten.
pub(crate) fn check(entry: CitationEntry, readings: &[Reading], has_forgotten: bool) -> Citation {
    let CitationEntry { n, source, place, quote, .. } = entry;
    let (mut finding, mut hash) = (CitationFinding::Unread, None);
    if quote.is_empty() {
        return Citation { n, source, place, quote, hash, finding: CitationFinding::Unquoted };
    }
    for excerpt in readings.iter().rev().flat_map(|reading| reading.excerpts(&source)) {
        let seen = compare(&excerpt, &place, &quote);
        let is_better = rank(&seen) > rank(&finding);
        if is_better {
            hash = excerpt.hash.map(str::to_owned);
            finding = seen;
        }
        if finding == CitationFinding::Holds {
            break;
        }
    }
    if finding == CitationFinding::Unread && has_forgotten {
        finding = CitationFinding::Unchecked;
    }
    Citation { n, source, place, quote, hash, finding }
}

fn rank(finding: &CitationFinding) -> u8 {
    match finding {
        CitationFinding::Unread | CitationFinding::Unquoted | CitationFinding::Unchecked => 0,
        CitationFinding::NotFound => 1,
        CitationFinding::Elsewhere { .. } => 2,
        CitationFinding::Holds => 3,
    }
}

fn compare(excerpt: &Excerpt<'_>, place: &str, quote: &str) -> CitationFinding {
    let mut spans = find_quotation(&excerpt.text, quote);
    if spans.is_empty() {
        // Several quotations in one entry.
        let pieces: Vec<&str> = quote.split(['"', '“', '”', '„', '«', '»']).step_by(2).collect();
        let found: Vec<_> =
            pieces.iter().filter_map(|piece| find_quotation(&excerpt.text, piece).into_iter().next()).collect();
        if pieces.len() > 1 && found.len() == pieces.len() {
            spans = found;
        }
    }
    let Some(first) = spans.first() else { return CitationFinding::NotFound };
    if spans.iter().any(|span| excerpt.is_at(place, *span)) {
        return CitationFinding::Holds;
    }
    CitationFinding::Elsewhere { at: excerpt.place_of(*first) }
}

impl Excerpt<'_> {
    /// Whether the place is where the words stand, as far as that is known.
    fn is_at(&self, place: &str, span: (u32, u32)) -> bool {
        let lower = place.to_lowercase();
        let numbers = numbers(&lower);
        let is_page = lower.starts_with(['p']) || lower.starts_with("slide");
        let is_line = lower.starts_with(|c: char| c.is_ascii_digit()) || lower.starts_with('l');
        let (first, last) = (numbers.first(), numbers.get(1).or(numbers.first()));
        if let (true, Some(page), Some(first), Some(last)) =
            (is_page && !lower.starts_with("part"), self.page, first, last)
        {
            return (u64::from(*first)..=u64::from(*last)).contains(&page);
        }
        if let (true, Some(offset), Some(first), Some(last)) = (is_line, self.first_line, first, last) {
            if let Some(end) = self.last_line {
                return offset <= last.saturating_add(OFF) && end.saturating_add(OFF) >= *first;
            }
            let (start, end) = (offset.saturating_add(span.0 - 1), offset.saturating_add(span.1 - 1));
            return start <= last.saturating_add(OFF) && end.saturating_add(OFF) >= *first;
        }
        match self.sheet {
            Some(sheet) if lower.contains('!') || lower.starts_with("sheet") => lower.contains(&sheet.to_lowercase()),
            Some(_) | None => true,
        }
    }

    fn place_of(&self, span: (u32, u32)) -> String {
        match (self.page, self.first_line, self.sheet) {
            (Some(page), ..) => format!("page {page}"),
            (None, Some(offset), _) if self.last_line.is_some() => {
                format!("lines {offset}-{}", self.last_line.unwrap_or(offset))
            }
            (None, Some(offset), _) if span.0 == span.1 => format!("line {}", offset.saturating_add(span.0 - 1)),
            (None, Some(offset), _) => {
                format!("lines {}-{}", offset.saturating_add(span.0 - 1), offset.saturating_add(span.1 - 1))
            }
            (None, None, Some(sheet)) => format!("sheet {sheet}"),
            (None, None, None) => "in another part".to_owned(),
        }
    }
}

/// The numbers in a text, in their order.
fn numbers(text: &str) -> Vec<u32> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}
