//! The wheel: pip puts the program itself into `bin`, and a small module lets Python find it.
//!
//! The format is PEP 427, with the tags of PEP 600 and PEP 656.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::contents::PackageContents;
use super::{HOMEPAGE, PackageFile, SUMMARY, VERSION, zip};

pub(super) fn make(contents: &PackageContents, level: u32) -> Result<PackageFile, String> {
    let version = python_version(VERSION);
    let tag = contents.target.wheel_tag();
    let (info, data) = (format!("updraft-{version}.dist-info"), format!("updraft-{version}.data"));
    let mut files = Vec::new();
    for module in ["updraft/__init__.py", "updraft/__main__.py"] {
        files.push(PackageFile::plain(module, contents.own(&format!("deploy/wheel/{module}"))?));
    }
    let program = format!("{data}/scripts/{}", contents.target.program());
    files.push(PackageFile::executable(program, contents.binary.clone()));
    for (name, page) in &contents.manuals {
        files.push(PackageFile::plain(format!("{data}/data/share/man/man1/{name}"), page.clone()));
    }
    files.push(PackageFile::text(format!("{info}/METADATA"), metadata(&version, &contents.own("README.md")?)));
    files.push(PackageFile::text(format!("{info}/WHEEL"), wheel_file(&tag)));
    files.push(PackageFile::plain(format!("{info}/licenses/LICENSE"), contents.own("LICENSE")?));
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let record: Vec<String> = files.iter().map(record_line).chain([format!("{info}/RECORD,,\n")]).collect();
    files.push(PackageFile::text(format!("{info}/RECORD"), record.concat()));
    Ok(PackageFile::plain(format!("updraft-{version}-py3-none-{tag}.whl"), zip::make(&files, level)?))
}

fn metadata(version: &str, readme: &[u8]) -> String {
    format!(
        "Metadata-Version: 2.4\nName: updraft\nVersion: {version}\nSummary: {SUMMARY}\nLicense-Expression: Apache-2.0\n\
         License-File: LICENSE\nProject-URL: Source, {HOMEPAGE}\nRequires-Python: >=3.8\n\
         Description-Content-Type: text/markdown\n\n{}",
        String::from_utf8_lossy(readme)
    )
}

fn wheel_file(tag: &str) -> String {
    let tags: Vec<String> = tag.split('.').map(|tag| format!("Tag: py3-none-{tag}\n")).collect();
    format!("Wheel-Version: 1.0\nGenerator: updraft-xtask {VERSION}\nRoot-Is-Purelib: false\n{}", tags.concat())
}

fn record_line(file: &PackageFile) -> String {
    let digest = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&file.bytes));
    format!("{},sha256={digest},{}\n", file.path, file.bytes.len())
}

/// `0.3.0-rc.1` as Python writes it: `0.3.0rc1`.
fn python_version(version: &str) -> String {
    version.replace("-rc.", "rc").replace("-beta.", "b").replace("-alpha.", "a")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_tags_are_written_as_python_does() {
        assert_eq!(["0.2.0", "0.3.0-rc.1", "1.0.0-alpha.2"].map(python_version), ["0.2.0", "0.3.0rc1", "1.0.0a2"]);
        let text = wheel_file("manylinux_2_17_x86_64.musllinux_1_1_x86_64");
        assert!(text.ends_with("Tag: py3-none-manylinux_2_17_x86_64\nTag: py3-none-musllinux_1_1_x86_64\n"), "{text}");
    }
}
