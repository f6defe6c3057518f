//! Pictures among the files of a goal: they are shown to the models themselves, with every request.

use std::io::Read;
use std::path::Path;

use updraft_run::{BlobRef, PictureRef};
use updraft_tools::{LARGEST_PICTURE, mime_of};

use crate::fault::Fault;

/// Pictures are sent with every request, so their total size is limited too.
const MOST: u64 = 15 << 20;

/// The pictures among files of a workspace, and their bytes.
pub fn pictures_among(files: &[String], workspace: &Path) -> Result<(Vec<PictureRef>, Vec<Vec<u8>>), Fault> {
    let (mut pictures, mut bytes) = (Vec::new(), Vec::new());
    for file in files {
        let sum: usize = bytes.iter().map(Vec::len).sum();
        if sum as u64 > MOST {
            return Err(Fault::usage(format!("the pictures have more than {MOST} bytes in total"))
                .hint("pass fewer or smaller ones; agents can read others when they need them"));
        }
        if let Some((picture, content)) = picture(file, workspace)? {
            pictures.push(picture);
            bytes.push(content);
        }
    }
    Ok((pictures, bytes))
}

/// Pictures that were sent with their names, and their bytes.
pub(crate) fn pictures_of(sent: Vec<(String, Vec<u8>)>) -> Result<(Vec<PictureRef>, Vec<Vec<u8>>), Fault> {
    let (mut pictures, mut all) = (Vec::new(), Vec::new());
    for (name, bytes) in sent {
        let mime = mime_of(&bytes).ok_or_else(|| {
            Fault::usage(format!("`{name}` is no picture that models take")).hint("send PNG, JPEG, WebP or GIF")
        })?;
        if bytes.len() as u64 > LARGEST_PICTURE {
            return Err(Fault::usage(format!("the picture `{name}` is larger than {LARGEST_PICTURE} bytes")));
        }
        let blob = BlobRef { hash: updraft_journal::Blob::new(bytes.clone()).hash(), len: bytes.len() as u64 };
        pictures.push(PictureRef { name, mime: mime.to_owned(), blob });
        all.push(bytes);
    }
    if all.iter().map(Vec::len).sum::<usize>() as u64 > MOST {
        return Err(Fault::usage(format!("the pictures have more than {MOST} bytes in total")));
    }
    Ok((pictures, all))
}

/// A file that is a picture, and its bytes.
fn picture(file: &str, workspace: &Path) -> Result<Option<(PictureRef, Vec<u8>)>, Fault> {
    let path = workspace.join(file);
    let cannot = |error: std::io::Error| Fault::usage(format!("the file `{file}` cannot be used: {error}"));
    let mut bytes = Vec::new();
    let mut opened = std::fs::File::open(&path).map_err(cannot)?;
    opened.by_ref().take(16).read_to_end(&mut bytes).map_err(cannot)?;
    let Some(mime) = mime_of(&bytes) else { return Ok(None) };
    opened.take(LARGEST_PICTURE + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > LARGEST_PICTURE {
        return Err(Fault::usage(format!("the picture `{file}` is larger than {LARGEST_PICTURE} bytes"))
            .hint("make it smaller; providers refuse larger ones"));
    }
    let blob = updraft_journal::Blob::new(bytes.clone());
    let blob = BlobRef { hash: blob.hash(), len: bytes.len() as u64 };
    // Where it is outside the workspace is nobody's business.
    let name = if Path::new(file).is_absolute() { path.file_name().and_then(|name| name.to_str()) } else { None };
    let name = name.unwrap_or(file).to_owned();
    Ok(Some((PictureRef { name, mime: mime.to_owned(), blob }, bytes)))
}
