//! The packages for npm: one for each platform with the program inside, and one that starts the right one.
//!
//! Nothing is fetched when they are installed, and no script is run then: npm itself leaves out the packages of other
//! platforms by their `os` and `cpu`.

use serde_json::{Map, Value, json};

use super::binary::TargetSystem;
use super::contents::PackageContents;
use super::tar::FolderEntries;
use super::{HOMEPAGE, PackageFile, SUMMARY, VERSION, tar};

/// Whose the platforms' packages are.
const SCOPE: &str = "@updraft-run";
/// The platforms we release for; on others, the launcher says what to do.
const PLATFORMS: [&str; 2] = ["linux-arm64", "linux-x64"];

pub(super) fn make(contents: &PackageContents, level: u32) -> Result<Vec<PackageFile>, String> {
    Ok(vec![platform(contents, level)?, launcher(contents, level)?])
}

fn platform(contents: &PackageContents, level: u32) -> Result<PackageFile, String> {
    let (system, processor) = contents.target.node_names();
    let mut about =
        about(&format!("{SCOPE}/{system}-{processor}"), &format!("The program for {system} on {processor}"));
    about.insert("os".into(), json!([system]));
    about.insert("cpu".into(), json!([processor]));
    if let TargetSystem::Linux { glibc: Some(_), .. } = contents.target.system {
        about.insert("libc".into(), json!(["glibc"]));
    }
    about.insert("preferUnplugged".into(), json!(true));
    let program = format!("package/bin/{}", contents.target.program());
    let files = [
        PackageFile::text("package/package.json", written(&about)?),
        PackageFile::executable(program, contents.binary.clone()),
        PackageFile::plain("package/LICENSE", contents.own("LICENSE")?),
    ];
    let name = format!("{}-{system}-{processor}-{VERSION}.tgz", SCOPE.trim_start_matches('@'));
    Ok(PackageFile::plain(name, tar::make(&files, FolderEntries::None, level)?))
}

fn launcher(contents: &PackageContents, level: u32) -> Result<PackageFile, String> {
    let mut about = about("updraft", SUMMARY);
    about.insert("bin".into(), json!({"updraft": "bin/updraft.js"}));
    about.insert("engines".into(), json!({"node": ">=18"}));
    let man: Vec<String> = contents.manuals.iter().map(|(name, _)| format!("man/{name}")).collect();
    about.insert("man".into(), json!(man));
    let platforms = PLATFORMS.iter().map(|platform| (format!("{SCOPE}/{platform}"), json!(VERSION)));
    about.insert("optionalDependencies".into(), Value::Object(platforms.collect()));
    let mut files = vec![
        PackageFile::text("package/package.json", written(&about)?),
        PackageFile::executable("package/bin/updraft.js", contents.own("deploy/npm/updraft.js")?),
        PackageFile::plain("package/LICENSE", contents.own("LICENSE")?),
        PackageFile::plain("package/README.md", contents.own("README.md")?),
    ];
    let manuals = contents.manuals.iter();
    files.extend(manuals.map(|(name, page)| PackageFile::plain(format!("package/man/{name}"), page.clone())));
    Ok(PackageFile::plain(format!("updraft-{VERSION}.tgz"), tar::make(&files, FolderEntries::None, level)?))
}

fn about(name: &str, description: &str) -> Map<String, Value> {
    let repository = json!({"type": "git", "url": format!("git+{HOMEPAGE}.git")});
    let about = [
        ("name", json!(name)),
        ("version", json!(VERSION)),
        ("description", json!(description)),
        ("license", json!("Apache-2.0")),
        ("repository", repository),
    ];
    about.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn written(about: &Map<String, Value>) -> Result<String, String> {
    serde_json::to_string_pretty(about).map(|text| text + "\n").map_err(|error| error.to_string())
}
