//! The release archive: one folder with everything, which `install.sh` and `install.ps1` install.

use super::binary::TargetSystem;
use super::contents::PackageContents;
use super::tar::FolderEntries;
use super::{PackageFile, VERSION, tar, zip};

pub(super) fn make(contents: &PackageContents, level: u32) -> Result<PackageFile, String> {
    let name = format!("updraft-{VERSION}-{}", contents.target.triple());
    let mut files = vec![PackageFile::executable(contents.target.program(), contents.binary.clone())];
    for own in ["LICENSE", "README.md", "CHANGELOG.md"] {
        files.push(PackageFile::plain(own, contents.own(own)?));
    }
    files.push(PackageFile::plain("env.sample", contents.own("deploy/env.sample")?));
    files.extend(
        contents
            .completions
            .iter()
            .map(|(name, script)| PackageFile::plain(format!("completions/{name}"), script.clone())),
    );
    files.extend(contents.manuals.iter().map(|(name, page)| PackageFile::plain(format!("man/{name}"), page.clone())));
    let is_windows = contents.target.system == TargetSystem::Windows;
    if is_windows {
        for own in ["install.bat", "install.ps1"] {
            files.push(PackageFile::plain(own, contents.own(own)?));
        }
    } else {
        files.push(PackageFile::executable("install.sh", contents.own("install.sh")?));
        let unit = contents.own("deploy/systemd/user/updraft@.service")?;
        files.push(PackageFile::plain("systemd/user/updraft@.service", unit));
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    for file in &mut files {
        file.path = format!("{name}/{}", file.path);
    }
    if is_windows {
        return Ok(PackageFile::plain(format!("{name}.zip"), zip::make(&files, level)?));
    }
    Ok(PackageFile::plain(format!("{name}.tar.gz"), tar::make(&files, FolderEntries::None, level)?))
}
