//! A picture in the clipboard: terminals do not paste those, so a program of the desktop is asked for it.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use updraft_tools::{LARGEST_PICTURE, mime_of};

use crate::folders::{self, AppFolders};

/// The programs that give the picture in the clipboard, each with its arguments and the variable that says it can work.
const PROGRAMS: [(&str, &[&str], Option<&str>); 3] = [
    ("wl-paste", &["--type", "image/png"], Some("WAYLAND_DISPLAY")),
    ("xclip", &["-selection", "clipboard", "-t", "image/png", "-o"], Some("DISPLAY")),
    ("pngpaste", &["-"], None),
];

/// Where pasted pictures are kept until `updraft prune` removes them. Runs have copies in the journal.
fn folder(folders: &AppFolders) -> PathBuf {
    folders.state.join("pasted")
}

/// Removes the pictures that were pasted before this time, or only names them.
pub(crate) fn prune_pasted(folders: &AppFolders, before: SystemTime, is_dry: bool) -> Vec<PathBuf> {
    let is_old = |file: &PathBuf| {
        let about = std::fs::symlink_metadata(file);
        about.is_ok_and(|about| about.is_file() && about.modified().is_ok_and(|modified| modified < before))
    };
    // Usually there is no such folder.
    let files = std::fs::read_dir(folder(folders)).into_iter().flatten();
    let old = files.filter_map(|file| Some(file.ok()?.path())).filter(is_old);
    old.filter(|file| is_dry || std::fs::remove_file(file).is_ok()).collect()
}

/// Puts the picture in the clipboard into a file.
pub(super) fn save_picture(folders: &AppFolders) -> Result<PathBuf, String> {
    let folder = folder(folders);
    let has = |variable: Option<&str>| variable.is_none_or(|name| folders::set(name).is_some());
    let mut usable =
        PROGRAMS.iter().filter(|(program, _, needs)| has(*needs) && folders::on_path(program).is_some()).peekable();
    if usable.peek().is_none() {
        return Err("the clipboard cannot be read: wl-paste, xclip or pngpaste is needed".to_owned());
    }
    let found = usable.find_map(|(program, arguments, _)| picture(program, arguments));
    let bytes = found.ok_or("there is no picture in the clipboard")?;
    if bytes.len() as u64 > LARGEST_PICTURE {
        return Err(format!("the picture in the clipboard is larger than {LARGEST_PICTURE} bytes"));
    }
    let cannot = |error: std::io::Error| format!("the picture cannot be kept: {error}");
    std::fs::create_dir_all(&folder).map_err(cannot)?;
    let file = folder.join(format!("pasted-{}.png", folders::unguessable(6)?));
    let mut how = std::fs::OpenOptions::new();
    let mut written = folders::private_file(&file, how.write(true).truncate(true)).map_err(cannot)?;
    written.write_all(&bytes).map_err(cannot)?;
    Ok(file)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a program of the user's desktop, with fixed arguments, when they press a key"
)]
fn picture(program: &str, arguments: &[&str]) -> Option<Vec<u8>> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    (output.status.success() && mime_of(&output.stdout).is_some()).then_some(output.stdout)
}
