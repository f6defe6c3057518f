//! The order in which people read a page: columns one after the other, what spans them before or after.

use super::bidi::is_backward;
use super::lines::TextLine;
use super::tables;

/// Cuts within cuts go no deeper.
const DEEPEST: u32 = 24;
/// A column has lines of at least this many characters; shorter ones are cells of a table.
const COLUMN_LINE: usize = 14;
/// Only so many gaps between columns are looked at, the widest first.
const WIDEST_GAPS: usize = 20;

/// A piece of a page.
#[derive(Debug, PartialEq)]
pub(super) enum PageBlock {
    /// Lines that follow each other.
    Lines(Vec<TextLine>),
    /// Rows of cells.
    Table(Vec<Vec<String>>),
}

/// Puts the lines of a page in order. Text that is turned against the page comes last.
pub(super) fn order(lines: &[TextLine]) -> Vec<PageBlock> {
    let mut blocks = Vec::new();
    for turn in 0..4 {
        let turned: Vec<TextLine> = lines.iter().filter(|line| line.turn == turn).cloned().collect();
        for region in cut(turned, 0) {
            blocks.extend(tables::split(region));
        }
    }
    blocks
}

/// Cuts lines into regions that are read one after the other.
fn cut(mut lines: Vec<TextLine>, depth: u32) -> Vec<Vec<TextLine>> {
    if lines.is_empty() {
        return Vec::new();
    }
    lines.sort_by(|one, other| other.base.total_cmp(&one.base).then(one.left.total_cmp(&other.left)));
    if depth >= DEEPEST || lines.len() < 3 {
        return vec![lines];
    }
    if let Some(gutter) = gutter(&lines) {
        let runs_left = lines.iter().filter(|line| is_backward(&line.text)).count() * 2 > lines.len();
        let (left, right): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.right <= gutter);
        let (first, second) = if runs_left { (right, left) } else { (left, right) };
        let mut regions = cut(first, depth + 1);
        regions.extend(cut(second, depth + 1));
        return regions;
    }
    let Some(at) = widest_gap(&lines) else { return vec![lines] };
    let below = lines.split_off(at);
    let mut regions = cut(lines, depth + 1);
    let mut others = cut(below, depth + 1);
    // Where no columns were found on either side, the gap is only white between two paragraphs.
    if let ([above], [below]) = (regions.as_mut_slice(), others.as_mut_slice()) {
        above.append(below);
        return regions;
    }
    regions.extend(others);
    regions
}

/// Where a strip of white runs down between two columns of text.
fn gutter(lines: &[TextLine]) -> Option<f64> {
    let mut spans: Vec<(f64, f64)> = lines.iter().map(|line| (line.left, line.right)).collect();
    spans.sort_by(|one, other| one.0.total_cmp(&other.0));
    let size = median(lines.iter().map(|line| line.size));
    let mut gaps: Vec<(f64, f64)> = Vec::new();
    let mut right = spans.first()?.1;
    for (left, end) in spans {
        if left - right > size * 0.7 {
            gaps.push((left - right, f64::midpoint(left, right)));
        }
        right = right.max(end);
    }
    gaps.sort_by(|one, other| other.0.total_cmp(&one.0));
    gaps.into_iter().take(WIDEST_GAPS).map(|(_, middle)| middle).find(|middle| are_columns(lines, *middle))
}

/// Whether both sides are columns of text: several lines each, side by side, and long enough to be more than cells.
fn are_columns(lines: &[TextLine], middle: f64) -> bool {
    let (left, right): (Vec<&TextLine>, Vec<&TextLine>) = lines.iter().partition(|line| line.right <= middle);
    let extent = |side: &[&TextLine]| {
        let top = side.iter().map(|line| line.top()).fold(f64::MIN, f64::max);
        let bottom = side.iter().map(|line| line.bottom()).fold(f64::MAX, f64::min);
        (top, bottom)
    };
    let is_text = |side: &[&TextLine]| {
        let letters: usize = side.iter().map(|line| line.text.chars().count()).sum();
        side.len() >= 3 && letters >= COLUMN_LINE * side.len()
    };
    if !is_text(&left) || !is_text(&right) {
        return false;
    }
    let ((top_left, bottom_left), (top_right, bottom_right)) = (extent(&left), extent(&right));
    let common = top_left.min(top_right) - bottom_left.max(bottom_right);
    common > 0.4 * (top_left - bottom_left).min(top_right - bottom_right)
}

/// The line before which there is clearly more white than between the others.
fn widest_gap(lines: &[TextLine]) -> Option<usize> {
    let mut gaps: Vec<(usize, f64)> = Vec::new();
    let mut bottom = lines.first()?.bottom();
    for (index, line) in lines.iter().enumerate().skip(1) {
        let gap = bottom - line.top();
        if gap > 0.0 {
            gaps.push((index, gap));
        }
        bottom = bottom.min(line.bottom());
    }
    let size = median(lines.iter().map(|line| line.size));
    let (index, gap) = gaps.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    (gap > size * 0.3).then_some(index)
}

pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(10.0)
}
