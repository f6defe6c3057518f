//! Replaces one of our own files atomically. The file is readable by its owner alone, and synced to disk before the
//! call returns.

use std::fs::{DirBuilder, File};
use std::io::{Result, Write as _};
use std::path::Path;

/// Replaces the content of a file, and creates its folder if it is missing. A concurrent reader, or a reader after a
/// power cut, finds either the old or the new content.
pub fn replace_private(path: &Path, content: &[u8]) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)?;
    let mut draft = tempfile::Builder::new().prefix(".updraft-").suffix(".new").tempfile_in(folder)?;
    draft.write_all(content)?;
    draft.as_file().sync_all()?;
    draft.persist(path).map_err(|error| error.error)?;
    // A folder cannot be synced on Windows.
    if cfg!(windows) { Ok(()) } else { File::open(folder)?.sync_all() }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_for_its_owner_alone_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state/mcp/list.json");
        for content in ["first, and longer", "second"] {
            replace_private(&file, content.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), content);
        }
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(folder.path().join("state").metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
        assert!(replace_private(folder.path(), b"a folder").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left of what failed");
    }
}
