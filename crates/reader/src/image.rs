//! Pictures: only their form and size are read, from the first bytes.

use crate::blocks::Blocks;
use crate::document::{BlockKind, DocumentKind, SourcePlace};
use crate::options::ReadLimits;

/// A picture's form, and its width and height where its first bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImageSize {
    form: &'static str,
    size: Option<(u32, u32)>,
}

/// Describes a picture in one block.
pub(crate) fn read(bytes: &[u8], name: &str, limits: &ReadLimits) -> Blocks {
    let mut blocks = Blocks::new(DocumentKind::Image, limits);
    let description = match size(bytes) {
        Some(ImageSize { form, size: Some((width, height)) }) => format!("{form} image, {width} × {height} pixels"),
        Some(ImageSize { form, size: None }) => format!("{form} image"),
        None => "image".to_owned(),
    };
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    blocks.push(SourcePlace::default(), BlockKind::Image, format!("![{description}]({name})"));
    blocks
}

/// The form of a picture; nothing if the bytes are no picture.
pub(crate) fn size(bytes: &[u8]) -> Option<ImageSize> {
    let big = |at: usize| number(bytes, at, 4, Order::BigEndian);
    let little = |at: usize, length: usize| number(bytes, at, length, Order::LittleEndian);
    let (form, size) = if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        ("PNG", big(16).zip(big(20)))
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        ("JPEG", jpeg_size(bytes))
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        ("GIF", little(6, 2).zip(little(8, 2)))
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        ("WebP", webp_size(bytes))
    } else if bytes.starts_with(b"BM") && little(14, 4).is_some_and(|header| (12..=124).contains(&header)) {
        ("BMP", little(18, 4).zip(little(22, 4)))
    } else if bytes.starts_with(b"II*\0") || bytes.starts_with(b"MM\0*") {
        ("TIFF", None)
    } else if bytes.get(4..12).is_some_and(|brand| brand == b"ftypavif" || brand == b"ftypheic") {
        ("HEIF", None)
    } else {
        return None;
    };
    Some(ImageSize { form, size })
}

#[derive(Clone, Copy)]
enum Order {
    BigEndian,
    LittleEndian,
}

fn number(bytes: &[u8], at: usize, length: usize, order: Order) -> Option<u32> {
    let part = bytes.get(at..at + length)?;
    let fold = |sum: u32, byte: &u8| sum << 8 | u32::from(*byte);
    Some(match order {
        Order::BigEndian => part.iter().fold(0, fold),
        Order::LittleEndian => part.iter().rev().fold(0, fold),
    })
}

/// The size stands in the segment that begins the picture itself.
fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    while bytes.get(at) == Some(&0xff) {
        let marker = *bytes.get(at + 1)?;
        if matches!(marker, 0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf) {
            let height = number(bytes, at + 5, 2, Order::BigEndian)?;
            return Some((number(bytes, at + 7, 2, Order::BigEndian)?, height));
        }
        at += 2 + number(bytes, at + 2, 2, Order::BigEndian)? as usize;
    }
    None
}

fn webp_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let little = |at: usize, length: usize| number(bytes, at, length, Order::LittleEndian);
    match bytes.get(12..16)? {
        b"VP8 " => Some((little(26, 2)? & 0x3fff, little(28, 2)? & 0x3fff)),
        b"VP8L" => {
            let bits = little(21, 4)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => Some((little(24, 3)? + 1, little(27, 3)? + 1)),
        _ => None,
    }
}
