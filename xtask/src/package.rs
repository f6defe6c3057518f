//! `cargo xtask package`: the program as packages that others install.
//!
//! | file | its subject |
//! |---|---|
//! | `package/options.rs` | the command line |
//! | `package/binary.rs` | which machines a program is made for, and what each kind of package calls them |
//! | `package/elf.rs` | what a Linux program needs |
//! | `package/contents.rs` | what is packaged beside the program |
//! | `package/tar.rs` | tar archives |
//! | `package/zip.rs` | zip archives |
//! | `package/ar.rs` | ar archives |
//! | `package/archive.rs` | the release archive |
//! | `package/wheel.rs` | the wheel |
//! | `package/npm.rs` | the packages for npm |
//! | `package/deb.rs` | the Debian package |
//!
//! The same program and version give the same bytes: times are fixed, entries sorted, owners root.

mod ar;
mod archive;
mod binary;
mod contents;
mod deb;
mod elf;
mod npm;
mod options;
mod tar;
mod wheel;
mod zip;

use std::fs;
use std::path::Path;
use std::rc::Rc;

use sha2::{Digest, Sha256};

use contents::PackageContents;
use options::PackageOptions;

/// The version of all our packages.
const VERSION: &str = env!("CARGO_PKG_VERSION");
const SUMMARY: &str = "Carries out goals with AI agents, and resumes where it stopped after a crash";
const HOMEPAGE: &str = env!("CARGO_PKG_REPOSITORY");
/// The time of everything in a package: the first that a zip archive can hold, 1980-01-01.
const TIME: u64 = 315_532_800;
const SUMS: &str = "SHA256SUMS";

/// A file in a package.
#[derive(Clone, Debug)]
struct PackageFile {
    path: String,
    bytes: Rc<[u8]>,
    is_executable: bool,
}

impl PackageFile {
    fn plain(path: impl Into<String>, bytes: impl Into<Rc<[u8]>>) -> Self {
        Self { path: path.into(), bytes: bytes.into(), is_executable: false }
    }

    fn executable(path: impl Into<String>, bytes: impl Into<Rc<[u8]>>) -> Self {
        Self { path: path.into(), bytes: bytes.into(), is_executable: true }
    }

    fn text(path: impl Into<String>, text: impl AsRef<str>) -> Self {
        Self::plain(path, text.as_ref().as_bytes())
    }

    fn mode(&self) -> u32 {
        if self.is_executable { 0o755 } else { 0o644 }
    }
}

/// Makes the packages that the arguments ask for, and says which files were written.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<String, String> {
    let options = PackageOptions::parse(arguments).map_err(|why| format!("{why}\n\n{}", options::USAGE))?;
    let contents = PackageContents::gather(root, &options)?;
    let mut made = Vec::new();
    for kind in &options.kinds {
        made.extend(match kind.as_str() {
            "archive" => vec![archive::make(&contents, options.level)?],
            "wheel" => vec![wheel::make(&contents, options.level)?],
            "npm" => npm::make(&contents, options.level)?,
            _ => vec![deb::make(&contents, options.level)?],
        });
    }
    made.sort_by(|one, other| one.path.cmp(&other.path));
    for file in &made {
        write(&options.out, &file.path, &file.bytes)?;
        write(&options.out, &format!("{}.sha256", file.path), sum_line(file).as_bytes())?;
    }
    sum_up(&options.out)?;
    let names: Vec<&str> = made.iter().map(|file| file.path.as_str()).collect();
    Ok(format!("{} with {} in {}", names.join(", "), SUMS, options.out.display()))
}

/// Writes the list of the checksums of all packages in the folder, also of those made before.
fn sum_up(folder: &Path) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path.extension().is_some_and(|extension| extension == "sha256") {
            lines.push(fs::read_to_string(&path).map_err(cannot)?);
        }
    }
    lines.sort_by(|one, other| one.get(64..).cmp(&other.get(64..)));
    write(folder, SUMS, lines.concat().as_bytes())
}

/// A line as `sha256sum` writes and checks it.
fn sum_line(file: &PackageFile) -> String {
    let digits: Vec<String> = Sha256::digest(&file.bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}  {}\n", digits.concat(), file.path)
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), String> {
    let path = folder.join(name);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&path, bytes))
        .map_err(|error| format!("could not write {}: {error}", path.display()))
}

/// Compressed as gzip, without name or time.
fn gzip(bytes: &[u8], level: u32) -> Result<Vec<u8>, String> {
    use std::io::Write as _;
    let mut encoder = flate2::GzBuilder::new().mtime(0).write(Vec::new(), flate2::Compression::new(level));
    encoder.write_all(bytes).and_then(|()| encoder.finish()).map_err(|error| format!("could not compress: {error}"))
}
