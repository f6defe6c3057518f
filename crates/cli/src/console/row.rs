//! One row of the screen: styled characters with their widths, made from a line with our colour codes.

use unicode_width::UnicodeWidthChar as _;

/// How characters look, as a set of bits: our colour codes and nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RowStyle(u16);

/// The attributes that are kept, with their codes.
const ATTRIBUTES: [(u16, u16); 6] = [(1, 1), (2, 2), (3, 4), (4, 8), (7, 16), (9, 32)];
/// Where the colour begins: 0 for none, or 1 to 8 for the codes 30 to 37.
const COLOUR: u16 = 8;

impl RowStyle {
    /// The style after the parameters of a colour code, such as `1;36`.
    fn after(self, codes: &str) -> Self {
        let mut style = self.0;
        for code in codes.split(';').map(|code| code.parse::<u16>().unwrap_or_default()) {
            match code {
                0 => style = 0,
                30..=37 => style = style & 0xff | (code - 29) << COLOUR,
                39 => style &= 0xff,
                _ => style |= ATTRIBUTES.iter().find(|(known, _)| *known == code).map_or(0, |(_, bit)| *bit),
            }
        }
        Self(style)
    }

    /// The code that switches from the plain style to this one; empty if it is plain.
    pub(super) fn code(self) -> String {
        let mut codes: Vec<String> =
            ATTRIBUTES.iter().filter(|(_, bit)| self.0 & bit != 0).map(|(code, _)| code.to_string()).collect();
        if self.0 >> COLOUR > 0 {
            codes.push((29 + (self.0 >> COLOUR)).to_string());
        }
        if codes.is_empty() { String::new() } else { format!("\x1b[{}m", codes.join(";")) }
    }
}

/// A character with the marks that belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowCell {
    pub(super) symbol: CellSymbol,
    pub(super) width: u8,
    pub(super) style: RowStyle,
}

/// The text of a cell. Nearly all cells hold one character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CellSymbol {
    One(char),
    /// With combining marks.
    Many(String),
}

impl CellSymbol {
    pub(super) fn write(&self, out: &mut String) {
        match self {
            Self::One(c) => out.push(*c),
            Self::Many(text) => out.push_str(text),
        }
    }

    fn add(&mut self, mark: char) {
        *self = match self {
            Self::One(c) => Self::Many(format!("{c}{mark}")),
            Self::Many(text) => Self::Many(format!("{text}{mark}")),
        };
    }
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ScreenRow {
    pub(super) cells: Vec<RowCell>,
    /// It continues the row above: the terminal itself broke the line.
    pub(super) continues: bool,
}

impl ScreenRow {
    /// The columns that it takes.
    pub(super) fn width(&self) -> usize {
        self.cells.iter().map(|cell| usize::from(cell.width)).sum()
    }

    /// The rows that a line takes on a terminal with this many columns, broken where the terminal breaks it.
    pub(super) fn of_line(line: &str, columns: usize) -> Vec<Self> {
        let (mut rows, mut style, mut used) = (vec![Self::default()], RowStyle::default(), 0);
        let mut chars = line.trim_end_matches(' ').chars();
        while let Some(c) = chars.next() {
            if c == '\x1b' {
                let codes: String = chars.by_ref().skip(1).take_while(|c| !c.is_ascii_alphabetic()).collect();
                style = style.after(&codes);
                continue;
            }
            let Some(last) = rows.last_mut() else { break };
            let width = match c.width() {
                None => continue,
                Some(0) => {
                    if let Some(cell) = last.cells.last_mut() {
                        cell.symbol.add(c);
                    }
                    continue;
                }
                Some(width) => width,
            };
            if used + width > columns.max(2) {
                rows.push(Self { continues: true, ..Self::default() });
                used = 0;
            }
            used += width;
            if let Some(last) = rows.last_mut() {
                last.cells.push(RowCell { symbol: CellSymbol::One(c), width: width as u8, style });
            }
        }
        rows
    }

    /// As much of a line as fits on one row.
    pub(super) fn cut(line: &str, columns: usize) -> Self {
        Self::of_line(line, columns).into_iter().next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(row: &ScreenRow) -> String {
        let mut text = String::new();
        row.cells.iter().for_each(|cell| cell.symbol.write(&mut text));
        text
    }

    #[test]
    fn a_line_is_broken_where_a_terminal_breaks_it() {
        let rows = ScreenRow::of_line("\x1b[1mab\x1b[0mcd\x1b[36me\u{301}\x1b[0m日本", 5);
        assert_eq!(rows.iter().map(text).collect::<Vec<_>>(), ["abcde\u{301}", "日本"]);
        assert_eq!((rows[0].width(), rows[1].width(), rows[1].continues), (5, 4, true));
        assert_eq!(rows[0].cells[0].style.code(), "\x1b[1m");
        assert_eq!(rows[0].cells[4].style.code(), "\x1b[36m");
        // A wide character that does not fit is moved to the next row as a whole.
        assert_eq!(ScreenRow::of_line("abcd日", 5).len(), 2);
        assert_eq!(ScreenRow::of_line("", 5), [ScreenRow::default()]);
    }
}
