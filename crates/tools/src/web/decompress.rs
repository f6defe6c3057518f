//! Decompresses bodies up to a limit, since a small body can expand to an endless one.

use std::io::Read;

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// The encodings that we accept.
pub(super) const ACCEPTED: &str = "gzip, deflate, br";

/// The decompressed body, and whether it had more than `most` bytes. Of a body that is broken or cut, the part that
/// can be decompressed is returned; it is an error if there is none.
pub(super) fn unpack(packing: &str, body: Vec<u8>, most: usize) -> Result<(Vec<u8>, bool), String> {
    match packing {
        "" | "identity" => Ok((body, false)),
        "gzip" | "x-gzip" => limited(MultiGzDecoder::new(&body[..]), most),
        // The standard means zlib; some servers send a raw deflate stream.
        "deflate" => {
            limited(ZlibDecoder::new(&body[..]), most).or_else(|_| limited(DeflateDecoder::new(&body[..]), most))
        }
        "br" => limited(brotli_decompressor::Decompressor::new(&body[..], 4096), most),
        other => Err(format!("it is compressed as `{other}`; expected one of {ACCEPTED}")),
    }
}

fn limited(packed: impl Read, most: usize) -> Result<(Vec<u8>, bool), String> {
    let mut body = Vec::new();
    match packed.take(most as u64 + 1).read_to_end(&mut body) {
        Err(error) if body.is_empty() => Err(format!("it cannot be decompressed: {error}")),
        Err(_) => Ok((body, true)),
        Ok(_) => {
            let is_cut = body.len() > most;
            body.truncate(most);
            Ok((body, is_cut))
        }
    }
}
