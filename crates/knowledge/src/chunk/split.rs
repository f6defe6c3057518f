//! Cuts a text that is too long for one chunk, at the best place near the end: paragraph, line, sentence, word.

use updraft_reader::SourcePlace;

use super::MOST;

/// A part of a longer text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    pub text: &'a str,
    pub place: SourcePlace,
}

/// Cuts a text into pieces of at most [`MOST`] bytes. Where the place counts lines and the text has as many, every piece
/// gets the lines it covers.
pub(super) fn split<'a>(text: &'a str, place: &SourcePlace) -> Vec<Piece<'a>> {
    let first =
        place.lines.filter(|(first, last)| (last - first) as usize + 1 >= text.lines().count()).map(|(first, _)| first);
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut line = first;
    while !rest.is_empty() {
        let end = if rest.len() <= MOST { rest.len() } else { cut(rest) };
        let (piece, after) = rest.split_at(end);
        let breaks = piece.matches('\n').count() as u32;
        let lines = line.map(|line| (line, line + breaks - u32::from(piece.ends_with('\n') && breaks > 0)));
        if !piece.trim().is_empty() {
            let place = SourcePlace { lines: lines.or(place.lines), ..place.clone() };
            pieces.push(Piece { text: piece.trim_end(), place });
        }
        line = line.map(|line| line + breaks);
        rest = after;
    }
    pieces
}

/// The best place to cut: the last end of a paragraph, a line, a sentence or a word within the limit, in that order, as
/// long as at least half of the limit is used.
fn cut(text: &str) -> usize {
    let most = text.floor_char_boundary(MOST);
    let window = &text[..most];
    let ends = ["\n\n", "\n", "。", ". ", " "].map(|mark| window.rfind(mark).map(|at| at + mark.len()));
    ends.into_iter().flatten().find(|end| *end >= MOST / 2).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_know_their_lines_and_lose_nothing() {
        let text: String = (1..=300).flat_map(|n| ["line number ".to_owned(), format!("{n}\n")]).collect();
        let pieces = split(&text, &SourcePlace::lines(11, 310));
        let lines: Vec<_> = pieces.iter().filter_map(|piece| piece.place.lines).collect();
        assert_eq!(lines.first().map(|lines| lines.0), Some(11));
        assert_eq!(lines.last().map(|lines| lines.1), Some(310));
        assert!(lines.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0), "{lines:?}");
        assert_eq!(pieces.iter().map(|piece| piece.text.lines().count()).sum::<usize>(), 300);
    }

    #[test]
    fn a_line_without_a_space_is_cut_at_the_limit() {
        let pieces = split(&"あ".repeat(2_000), &SourcePlace::lines(1, 1)).len();
        assert_eq!(pieces, 4);
    }
}
