//! The page's own files, compiled in: styles, scripts, the icon. Their addresses change with their content.

use std::sync::LazyLock;

use axum::extract::{Path, RawQuery};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use super::words;

/// A file of the page.
struct Asset {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
}

const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

const FILES: [Asset; 11] = [
    Asset { name: "page.css", kind: STYLE, text: include_str!("assets/page.css") },
    Asset { name: "page.js", kind: SCRIPT, text: include_str!("assets/page.js") },
    Asset { name: "morph.js", kind: SCRIPT, text: include_str!("assets/morph.js") },
    Asset { name: "visit.js", kind: SCRIPT, text: include_str!("assets/visit.js") },
    Asset { name: "live.js", kind: SCRIPT, text: include_str!("assets/live.js") },
    Asset { name: "graph.js", kind: SCRIPT, text: include_str!("assets/graph.js") },
    Asset { name: "keys.js", kind: SCRIPT, text: include_str!("assets/keys.js") },
    Asset { name: "travel.js", kind: SCRIPT, text: include_str!("assets/travel.js") },
    Asset { name: "drop.js", kind: SCRIPT, text: include_str!("assets/drop.js") },
    Asset { name: "refresh.js", kind: SCRIPT, text: include_str!("assets/refresh.js") },
    Asset { name: "icon.svg", kind: "image/svg+xml", text: include_str!("assets/icon.svg") },
];

/// A short hash of each file.
static HASHES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let hash = |asset: &Asset| words::hex(&Sha256::digest(asset.text)[..8]);
    FILES.iter().map(hash).collect()
});

fn find(name: &str) -> Option<(&'static Asset, &'static str)> {
    let at = FILES.iter().position(|asset| asset.name == name)?;
    Some((&FILES[at], &HASHES[at]))
}

/// The address of a file, with the hash of its content.
pub(super) fn address(name: &str) -> String {
    find(name).map_or_else(|| format!("/assets/{name}"), |(_, hash)| format!("/assets/{name}?v={hash}"))
}

/// Answers with a file. At an address with its hash, it may be kept for ever.
pub(super) async fn show(Path(name): Path<String>, RawQuery(query): RawQuery, headers: HeaderMap) -> Response {
    let Some((asset, hash)) = find(&name) else { return StatusCode::NOT_FOUND.into_response() };
    let tag = format!("\"{hash}\"");
    let is_fixed = query.as_deref().and_then(|query| query.strip_prefix("v=")) == Some(hash);
    let caching = if is_fixed { "public, max-age=31536000, immutable" } else { "no-cache" };
    let head = [(header::CACHE_CONTROL, caching.to_owned()), (header::ETAG, tag.clone())];
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    (head, [(header::CONTENT_TYPE, asset.kind)], asset.text).into_response()
}
