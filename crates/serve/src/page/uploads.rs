//! Files that come with a goal: received up to a limit, and put into a folder of the workspace under names of their own.

use axum::extract::multipart::Field;
use updraft_workbench::service::WorkspaceFiles;

use super::failure::PageFailure;

/// The folder of the workspace that files are put into.
pub(crate) const FOLDER: &str = "uploads";
/// Most bytes of all files of one form.
pub(crate) const MOST_BYTES: usize = 64 << 20;
/// Most files of one form.
pub(crate) const MOST_FILES: usize = 100;

/// Files that were sent, until the goal is known to be usable.
#[derive(Default)]
pub(super) struct Receiver {
    files: Vec<(String, Vec<u8>)>,
    bytes: usize,
}

impl Receiver {
    /// Receives one file.
    pub(super) async fn take(&mut self, mut field: Field<'_>) -> Result<(), PageFailure> {
        let name = safe_name(field.file_name().unwrap_or_default());
        let mut content = Vec::new();
        while let Some(part) = field.chunk().await.map_err(|error| PageFailure::usage(&error.body_text()))? {
            self.bytes += part.len();
            if self.bytes > MOST_BYTES {
                return Err(PageFailure::usage(
                    "the files are too large together; put them into the workspace yourself",
                ));
            }
            content.extend_from_slice(&part);
        }
        // A form without files sends one without name and content.
        if name.is_empty() && content.is_empty() {
            return Ok(());
        }
        if self.files.len() == MOST_FILES {
            return Err(PageFailure::usage("there are more than 100 files; put them into the workspace yourself"));
        }
        self.files.push((name, content));
        Ok(())
    }

    /// Stores the files in the workspace, and gives their paths. A file that is there is never replaced.
    pub(super) async fn store(self, workspace: &WorkspaceFiles) -> Result<Vec<String>, PageFailure> {
        let mut paths = Vec::new();
        for (name, content) in self.files {
            paths.push(workspace.add(FOLDER, &name, content).await?);
        }
        Ok(paths)
    }
}

/// The last part of a name, without anything that means something to a file system, a shell or a terminal.
pub(crate) fn safe_name(sent: &str) -> String {
    let last = sent.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ' ' | '(' | ')' | '+');
    let plain: String = last.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let plain = plain.trim().trim_start_matches(['.', '-']).trim_end_matches('.');
    let mut end = plain.len().min(120);
    while !plain.is_char_boundary(end) {
        end -= 1;
    }
    match (plain.is_empty(), sent.is_empty()) {
        (true, true) => String::new(),
        (true, false) => "file".to_owned(),
        (false, _) => plain[..end].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_lead_nowhere_else() {
        let names = ["../../etc/passwd", "C:\\x\\y.txt", ".bashrc", "-rf", "a\u{0}b\n.txt", "..", "", "Plan (1).md"];
        let safe = ["passwd", "y.txt", "bashrc", "rf", "a_b_.txt", "file", "", "Plan (1).md"];
        assert_eq!(names.map(safe_name), safe);
        assert_eq!(safe_name(&"ä".repeat(200)).len(), 120);
    }
}
