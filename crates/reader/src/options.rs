//! What a caller wants of a file: which pages, which sheet, and how much at most.

use serde::{Deserialize, Serialize};

use crate::error::ReadError;

/// Which part of a file is read, and how much of it at most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadOptions {
    /// The pages of a PDF or the slides of a presentation; all, if not given.
    pub pages: Option<PageSelection>,
    /// The sheet of a workbook, by name or by number from 1; all, if not given.
    pub sheet: Option<String>,
    /// The media type that a server gave, with its charset. A file's own signature is believed first.
    pub media_type: Option<String>,
    /// What reading may cost.
    pub limits: ReadLimits,
}

/// What reading one file may cost. Reaching the limit of the output cuts the document and adds a warning; the other
/// limits protect against files that are made to hurt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadLimits {
    /// The most bytes of Markdown.
    pub output: usize,
    /// The most bytes that compressed parts may become, all together.
    pub decompressed: u64,
    /// How deep elements, lists and containers may be nested.
    pub nesting: u32,
    /// The most pages, slides, chapters or sheets.
    pub pages: u32,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { output: 32 << 20, decompressed: 256 << 20, nesting: 256, pages: 5_000 }
    }
}

/// A choice of pages, as people write it: `3`, `1-4`, `2,5-7`, `10-`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageSelection(Vec<(u32, u32)>);

impl PageSelection {
    /// Reads numbers and ranges separated by commas. Pages are counted from 1.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        let fault = || ReadError::BadPages(text.to_owned());
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|number| *number > 0).ok_or_else(fault);
        let mut ranges = Vec::new();
        for piece in text.split(',') {
            let range = match piece.split_once('-') {
                None => (number(piece)?, number(piece)?),
                Some((first, "")) => (number(first)?, u32::MAX),
                Some((first, last)) => (number(first)?, number(last)?),
            };
            if range.0 > range.1 {
                return Err(fault());
            }
            ranges.push(range);
        }
        Ok(Self(ranges))
    }

    /// Whether a page is among them.
    pub fn contains(&self, page: u32) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&page))
    }
}

impl ReadOptions {
    /// Whether a page or slide is wanted and still within the limit.
    pub(crate) fn wants_page(&self, page: u32) -> bool {
        self.pages.as_ref().is_none_or(|pages| pages.contains(page))
    }
}
