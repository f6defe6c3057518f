//! Which files a call is about, by a pattern for their paths.

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use updraft_run::{Failure, FailureKind};
use updraft_workspace::WorkspacePath;

/// A pattern as in `.gitignore`: `*.rs` in every folder, `src/**/*.{ts,tsx}`, `!*.test.ts` for all others.
#[derive(Debug)]
pub(crate) struct PathFilter {
    pattern: Gitignore,
    is_inverted: bool,
}

impl PathFilter {
    /// Reads a pattern; without one every file is taken.
    pub(crate) fn parse(glob: Option<&str>) -> Result<Option<Self>, Failure> {
        let Some(glob) = glob.map(str::trim).filter(|glob| !glob.is_empty()) else { return Ok(None) };
        let (plain, is_inverted) = glob.strip_prefix('!').map_or((glob, false), |rest| (rest, true));
        let plain = plain.strip_prefix("./").unwrap_or(plain);
        let mut builder = GitignoreBuilder::new("");
        builder.allow_unclosed_class(false);
        let built = builder.add_line(None, plain).and_then(|builder| builder.build());
        match built {
            Ok(pattern) => Ok(Some(Self { pattern, is_inverted })),
            Err(error) => Err(Failure::new(FailureKind::Validation, format!("the glob cannot be read: {error}"))),
        }
    }

    /// Whether it takes a file. The pattern may be relative to the workspace, or to the folder where the call starts.
    pub(crate) fn takes(&self, path: &WorkspacePath, start: &WorkspacePath) -> bool {
        let fits = |path: &str| self.pattern.matched_path_or_any_parents(path, false).is_ignore();
        let below = path.as_str().strip_prefix(start.as_str()).and_then(|rest| rest.strip_prefix('/'));
        (fits(path.as_str()) || below.is_some_and(fits)) != self.is_inverted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_takes_names_anywhere_and_paths_from_either_folder() {
        let workspace = tempfile::tempdir().unwrap();
        let workspace = updraft_workspace::Workspace::open(workspace.path()).unwrap();
        let at = |path: &str| workspace.locate(path).unwrap();
        for (glob, path, start, takes) in [
            ("*.rs", "src/a/b.rs", ".", true),
            ("*.rs", "src/a/b.rs.orig", ".", false),
            ("**/*.{ts,tsx}", "web/x.tsx", ".", true),
            ("src/*.rs", "src/b.rs", ".", true),
            ("src/*.rs", "lib/src/b.rs", ".", false),
            ("src/*.rs", "lib/src/b.rs", "lib", true),
            ("./src", "src/a/b.rs", ".", true),
            ("!*.test.ts", "a.test.ts", ".", false),
            ("!*.test.ts", "a.ts", ".", true),
        ] {
            let filter = PathFilter::parse(Some(glob)).unwrap().unwrap();
            assert_eq!(filter.takes(&at(path), &at(start)), takes, "{glob} {path}");
        }
        assert!(PathFilter::parse(None).unwrap().is_none() && PathFilter::parse(Some(" ")).unwrap().is_none());
        assert!(PathFilter::parse(Some("[a")).unwrap_err().message.contains("cannot be read"));
    }
}
