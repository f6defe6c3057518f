//! Packs what is sent with gzip, for browsers that take it: the page's own files once, pages as they are made.

use std::io::Write as _;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Below this, gzip saves no packet.
const SHORTEST: usize = 1024;

pub(super) fn gzip(text: &[u8], how: Compression) -> std::io::Result<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::new(), how);
    packer.write_all(text)?;
    packer.finish()
}

pub(super) fn is_accepted(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|accepted| accepted.to_str().ok());
    accepted.any(|accepted| accepted.split(',').any(is_gzip))
}

/// `gzip` or `gzip;q=0.5`, but not `gzip;q=0`.
fn is_gzip(coding: &str) -> bool {
    let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
    let quality = parameters.trim().strip_prefix("q=").and_then(|quality| quality.trim().parse::<f32>().ok());
    name.trim().eq_ignore_ascii_case("gzip") && quality.is_none_or(|quality| quality > 0.0)
}

/// Packs a page. Streams are left alone, and so is what is packed already.
pub(super) async fn pack(request: Request, next: Next) -> Response {
    let is_wanted = is_accepted(request.headers());
    let response = next.run(request).await;
    let kind = response.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    if !kind.starts_with(b"text/html") {
        return response;
    }
    let (mut head, body) = response.into_parts();
    head.headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
    if !is_wanted {
        return Response::from_parts(head, body);
    }
    // Pages are made in memory, so they can be read without a limit.
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    if bytes.len() < SHORTEST {
        return Response::from_parts(head, Body::from(bytes));
    }
    let page = bytes.clone();
    let Ok(Ok(packed)) = tokio::task::spawn_blocking(move || gzip(&page, Compression::fast())).await else {
        return Response::from_parts(head, Body::from(bytes));
    };
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    Response::from_parts(head, Body::from(packed))
}
