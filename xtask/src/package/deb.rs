//! The Debian package: program, manual pages, completions and units, at the places that Debian's policy names.

use super::binary::{Target, TargetSystem};
use super::contents::PackageContents;
use super::tar::FolderEntries;
use super::{HOMEPAGE, PackageFile, SUMMARY, VERSION, ar, gzip, tar};

const MAINTAINER: &str = "Updraft developers <updraft-run@users.noreply.github.com>";

pub(super) fn make(contents: &PackageContents, level: u32) -> Result<PackageFile, String> {
    let libraries = dependencies(&contents.target)?;
    let files = installed(contents)?;
    let kilobytes: usize = files.iter().map(|file| file.bytes.len().div_ceil(1024)).sum();
    let (version, architecture) = (VERSION.replacen('-', "~", 1), contents.target.debian_name());
    let depends = if libraries.is_empty() { String::new() } else { format!("Depends: {}\n", libraries.join(", ")) };
    let control = format!(
        "Package: updraft\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: {MAINTAINER}\n\
         Installed-Size: {kilobytes}\n{depends}Recommends: ca-certificates, git, python3\nSuggests: chromium\n\
         Section: utils\nPriority: optional\nHomepage: {HOMEPAGE}\nDescription: {SUMMARY}\n \
         A planner turns a goal into a graph of steps, and agents carry them out with models and tools.\n \
         Everything that happens is in a journal on disk before it is acted on.\n"
    );
    let mut about = vec![PackageFile::text("control", control)];
    for script in ["postinst", "postrm", "prerm"] {
        about.push(PackageFile::executable(script, contents.own(&format!("deploy/debian/{script}"))?));
    }
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", tar::make(&about, FolderEntries::All, level)?),
        ("data.tar.gz", tar::make(&files, FolderEntries::All, level)?),
    ];
    Ok(PackageFile::plain(format!("updraft_{version}_{architecture}.deb"), ar::make(&members)))
}

fn installed(contents: &PackageContents) -> Result<Vec<PackageFile>, String> {
    let mut files = vec![PackageFile::executable("usr/bin/updraft", contents.binary.clone())];
    for (name, page) in &contents.manuals {
        files.push(PackageFile::plain(format!("usr/share/man/man1/{name}.gz"), gzip(page, 9)?));
    }
    for (name, script) in &contents.completions {
        let place = match *name {
            "_updraft" => "usr/share/zsh/vendor-completions/_updraft",
            "updraft.fish" => "usr/share/fish/vendor_completions.d/updraft.fish",
            _ => "usr/share/bash-completion/completions/updraft",
        };
        files.push(PackageFile::plain(place, script.clone()));
    }
    for (place, own) in [
        ("usr/lib/systemd/system/updraft.service", "deploy/systemd/system/updraft.service"),
        ("usr/lib/systemd/user/updraft@.service", "deploy/systemd/user/updraft@.service"),
        ("usr/share/doc/updraft/copyright", "deploy/debian/copyright"),
        ("usr/share/doc/updraft/env.sample", "deploy/env.sample"),
    ] {
        files.push(PackageFile::plain(place, contents.own(own)?));
    }
    files.push(PackageFile::plain("usr/share/doc/updraft/changelog.gz", gzip(&contents.own("CHANGELOG.md")?, 9)?));
    Ok(files)
}

/// The packages that hold the libraries the program is linked to.
fn dependencies(target: &Target) -> Result<Vec<String>, String> {
    let TargetSystem::Linux { glibc, libgcc } = target.system else {
        return Err("a Debian package needs a program for Linux".into());
    };
    let libc = glibc.map(|(major, minor)| format!("libc6 (>= {major}.{minor})"));
    Ok(libc.into_iter().chain(libgcc.then(|| "libgcc-s1".to_owned())).collect())
}
