//! The cells of a sheet, and the tables they form: cells that touch each other belong together.

use std::collections::BTreeMap;

/// Cells by row and column, both from 0.
#[derive(Debug, Default)]
pub(super) struct Grid {
    cells: BTreeMap<(u32, u32), String>,
}

/// A rectangle of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    top: u32,
    left: u32,
    bottom: u32,
    right: u32,
    /// How many of its cells say something.
    filled: usize,
}

impl Grid {
    pub(super) fn set(&mut self, row: u32, column: u32, text: String) {
        if !text.trim().is_empty() {
            self.cells.insert((row, column), text);
        }
    }

    pub(super) fn get(&self, row: u32, column: u32) -> Option<&String> {
        self.cells.get(&(row, column))
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// The cells of one row of a region; empty ones are empty texts.
    pub(super) fn row(&self, region: &Region, row: u32) -> Vec<String> {
        let mut cells = vec![String::new(); region.width()];
        for ((_, column), text) in self.cells.range((row, region.left)..=(row, region.right)) {
            cells[(column - region.left) as usize].clone_from(text);
        }
        cells
    }

    /// The filled cells of a region with their names.
    pub(super) fn cells(&self, region: &Region) -> impl Iterator<Item = (String, &String)> {
        let region = *region;
        let cells = self.cells.range((region.top, 0)..=(region.bottom, u32::MAX));
        let inside = cells.filter(move |((_, column), _)| (region.left..=region.right).contains(column));
        inside.map(|((row, column), text)| (cell_name(*row, *column), text))
    }

    /// The tables of the sheet, from top to bottom and left to right.
    pub(super) fn regions(&self) -> Vec<Region> {
        let mut groups = Groups::default();
        let mut group_of: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        for &(row, column) in self.cells.keys() {
            // Neighbours that have been seen: to the left, and the three above.
            let above = row.checked_sub(1).into_iter();
            let above = above.flat_map(|row| (column.saturating_sub(1)..=column + 1).map(move |column| (row, column)));
            let left = column.checked_sub(1).map(|column| (row, column));
            let known: Vec<usize> = above.chain(left).filter_map(|cell| group_of.get(&cell).copied()).collect();
            let group = groups.add(row, column);
            for other in known {
                groups.join(group, other);
            }
            group_of.insert((row, column), group);
        }
        merge_overlaps(groups.regions())
    }
}

/// Groups of cells that grow together.
#[derive(Default)]
struct Groups {
    parents: Vec<usize>,
    regions: Vec<Region>,
}

impl Groups {
    fn add(&mut self, row: u32, column: u32) -> usize {
        self.parents.push(self.parents.len());
        self.regions.push(Region { top: row, left: column, bottom: row, right: column, filled: 1 });
        self.parents.len() - 1
    }

    fn root(&mut self, mut group: usize) -> usize {
        while self.parents[group] != group {
            self.parents[group] = self.parents[self.parents[group]];
            group = self.parents[group];
        }
        group
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        if one != other {
            let (low, high) = (one.min(other), one.max(other));
            self.parents[high] = low;
            self.regions[low] = self.regions[low].with(self.regions[high]);
        }
    }

    fn regions(self) -> Vec<Region> {
        let roots = self.parents.iter().enumerate().filter(|(index, parent)| index == *parent);
        roots.map(|(index, _)| self.regions[index]).collect()
    }
}

/// A table within the frame of another belongs to it.
fn merge_overlaps(mut regions: Vec<Region>) -> Vec<Region> {
    // Beyond this there is no table any more, only cells all over the place.
    const MOST: usize = 2_000;
    let mut has_changed = regions.len() <= MOST;
    while has_changed {
        has_changed = false;
        let mut merged: Vec<Region> = Vec::new();
        for region in regions {
            match merged.iter_mut().find(|other| other.overlaps(region)) {
                Some(other) => {
                    *other = other.with(region);
                    has_changed = true;
                }
                None => merged.push(region),
            }
        }
        regions = merged;
    }
    regions.sort_by_key(|region| (region.top, region.left));
    regions
}

impl Region {
    fn with(self, other: Self) -> Self {
        Self {
            top: self.top.min(other.top),
            left: self.left.min(other.left),
            bottom: self.bottom.max(other.bottom),
            right: self.right.max(other.right),
            filled: self.filled + other.filled,
        }
    }

    fn overlaps(self, other: Self) -> bool {
        self.top <= other.bottom && other.top <= self.bottom && self.left <= other.right && other.left <= self.right
    }

    pub(super) fn width(&self) -> usize {
        (self.right - self.left + 1) as usize
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = u32> + use<> {
        self.top..=self.bottom
    }

    /// Whether a table would be nearly all empty cells.
    pub(super) fn is_sparse(&self) -> bool {
        let area = (self.bottom - self.top + 1) as usize * self.width();
        area > 10_000 && area > self.filled * 20
    }

    /// The cells of a row, such as `A2:D2`.
    pub(super) fn row_name(&self, row: u32) -> String {
        if self.left == self.right {
            return cell_name(row, self.left);
        }
        format!("{}:{}", cell_name(row, self.left), cell_name(row, self.right))
    }
}

/// `A1` for row 0 and column 0.
pub(super) fn cell_name(row: u32, column: u32) -> String {
    let mut letters = Vec::new();
    let mut rest = column + 1;
    while rest > 0 {
        letters.push(char::from(b'A' + ((rest - 1) % 26) as u8));
        rest = (rest - 1) / 26;
    }
    let letters: String = letters.iter().rev().collect();
    format!("{letters}{}", row + 1)
}

/// Row and column of a name such as `B7` or `$B$7`.
pub(super) fn cell_position(name: &str) -> Option<(u32, u32)> {
    let name = name.replace('$', "");
    let digits = name.find(|c: char| c.is_ascii_digit())?;
    let mut column: u32 = 0;
    for letter in name[..digits].bytes() {
        let value = letter.to_ascii_uppercase().checked_sub(b'A').filter(|value| *value < 26)?;
        column = column.checked_mul(26)?.checked_add(u32::from(value) + 1)?;
    }
    let row: u32 = name[digits..].parse().ok()?;
    (row > 0 && row <= 1 << 20 && (1..=1 << 14).contains(&column)).then(|| (row - 1, column - 1))
}
