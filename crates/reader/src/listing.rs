//! Archives of other files: what they contain, as a table.

use crate::archive::Archive;
use crate::blocks::Blocks;
use crate::document::{BlockKind, DocumentKind, SourcePlace};
use crate::error::ReadError;
use crate::options::ReadLimits;
use crate::table;

/// Lists the files of an archive without unpacking them.
pub(crate) fn read(bytes: &[u8], limits: &ReadLimits) -> Result<Blocks, ReadError> {
    let archive = Archive::open(bytes, DocumentKind::Zip, limits)?;
    let mut blocks = Blocks::new(DocumentKind::Zip, limits);
    let head = ["file".to_owned(), "bytes".to_owned()];
    blocks.push(SourcePlace::default(), BlockKind::Row, format!("{}\n{}", table::row(&head, 2), table::dashes(2)));
    for entry in archive.entries.iter().filter(|entry| !entry.name.ends_with('/')) {
        let cells = [entry.name.clone(), entry.size.to_string()];
        blocks.push(SourcePlace::part(&entry.name), BlockKind::Row, table::row(&cells, 2));
        if blocks.is_full() {
            break;
        }
    }
    Ok(blocks)
}
