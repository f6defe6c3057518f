//! The page's own files, compiled in: styles, scripts, the icon. Their addresses change with their content.

use std::sync::LazyLock;

use axum::extract::{Path, RawQuery};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use sha2::{Digest, Sha256};

use super::{packing, words};

/// A file of the page.
struct Asset {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
}

const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The styles, joined to one file for the browser. Later ones refine earlier ones.
macro_rules! styles {
    ($($name:literal)*) => { concat!($(include_str!(concat!("assets/style/", $name, ".css")), "\n"),*) };
}

pub(super) const STYLES: &str = styles!(
    "values" "base" "frame" "text" "controls" "states" "pieces" "forms" "plan" "surroundings" "sessions" "run" "chat"
    "travel" "steps" "graph" "timeline" "screens"
);

const FILES: [Asset; 14] = [
    Asset { name: "page.css", kind: STYLE, text: STYLES },
    Asset { name: "page.js", kind: SCRIPT, text: include_str!("assets/page.js") },
    Asset { name: "morph.js", kind: SCRIPT, text: include_str!("assets/morph.js") },
    Asset { name: "follow.js", kind: SCRIPT, text: include_str!("assets/follow.js") },
    Asset { name: "redraw.js", kind: SCRIPT, text: include_str!("assets/redraw.js") },
    Asset { name: "visit.js", kind: SCRIPT, text: include_str!("assets/visit.js") },
    Asset { name: "labels.js", kind: SCRIPT, text: include_str!("assets/labels.js") },
    Asset { name: "live.js", kind: SCRIPT, text: include_str!("assets/live.js") },
    Asset { name: "graph.js", kind: SCRIPT, text: include_str!("assets/graph.js") },
    Asset { name: "keys.js", kind: SCRIPT, text: include_str!("assets/keys.js") },
    Asset { name: "travel.js", kind: SCRIPT, text: include_str!("assets/travel.js") },
    Asset { name: "drop.js", kind: SCRIPT, text: include_str!("assets/drop.js") },
    Asset { name: "refresh.js", kind: SCRIPT, text: include_str!("assets/refresh.js") },
    Asset { name: "icon.svg", kind: "image/svg+xml", text: include_str!("assets/icon.svg") },
];

/// What is made of a file once: a short hash, and the text packed with gzip.
struct PackedAsset {
    hash: String,
    gzip: Vec<u8>,
}

static PACKED: LazyLock<Vec<PackedAsset>> = LazyLock::new(|| {
    let pack = |asset: &Asset| PackedAsset {
        hash: words::hex(&Sha256::digest(asset.text)[..8]),
        gzip: packing::gzip(asset.text.as_bytes(), Compression::best()).unwrap_or_default(),
    };
    FILES.iter().map(pack).collect()
});

fn find(name: &str) -> Option<(&'static Asset, &'static PackedAsset)> {
    let at = FILES.iter().position(|asset| asset.name == name)?;
    Some((&FILES[at], &PACKED[at]))
}

/// The address of a file, with the hash of its content.
pub(super) fn address(name: &str) -> String {
    find(name).map_or_else(|| format!("/assets/{name}"), |(_, packed)| format!("/assets/{name}?v={}", packed.hash))
}

/// The addresses of the scripts that others import. Named in a page's head, they are fetched at once and not one after the other.
pub(super) fn imported() -> impl Iterator<Item = String> {
    let scripts = FILES.iter().filter(|asset| asset.kind == SCRIPT && asset.name != "page.js");
    scripts.map(|asset| format!("/assets/{}", asset.name))
}

/// Answers with a file. At an address with its hash, it may be kept for ever.
pub(super) async fn show(Path(name): Path<String>, RawQuery(query): RawQuery, headers: HeaderMap) -> Response {
    let Some((asset, packed)) = find(&name) else { return StatusCode::NOT_FOUND.into_response() };
    let tag = format!("\"{}\"", packed.hash);
    let is_fixed = query.as_deref().and_then(|query| query.strip_prefix("v=")) == Some(&packed.hash);
    let caching = if is_fixed { "public, max-age=31536000, immutable" } else { "no-cache" };
    let head = [
        (header::CACHE_CONTROL, caching.to_owned()),
        (header::ETAG, tag.clone()),
        (header::VARY, "accept-encoding".to_owned()),
    ];
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    let kind = [(header::CONTENT_TYPE, asset.kind)];
    if !packed.gzip.is_empty() && packing::is_accepted(&headers) {
        return (head, kind, [(header::CONTENT_ENCODING, "gzip")], packed.gzip.as_slice()).into_response();
    }
    (head, kind, asset.text).into_response()
}
