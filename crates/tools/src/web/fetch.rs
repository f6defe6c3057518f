//! Fetches one page: checks each redirect, and limits the size of the body.

use std::error::Error;
use std::io::{self, ErrorKind};

use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, LOCATION,
};
use reqwest::{Response, StatusCode};
use updraft_run::{Failure, FailureKind};
use url::Url;

use super::decompress::{self, unpack};
use super::resolver::ResolveError;
use super::target::Target;
use super::{Fetcher, charset};
use crate::truncate;

/// The response for an address.
#[derive(Debug)]
pub(crate) struct FetchedPage {
    /// The final address, after redirects.
    pub(crate) url: Url,
    pub(crate) status: StatusCode,
    /// The media type without parameters; empty if the server does not send one.
    pub(crate) media: String,
    pub(crate) text: String,
    /// Whether the body was longer than the limit.
    pub(crate) is_cut: bool,
    /// The other site that the page redirects to, which was not contacted.
    pub(crate) elsewhere: Option<Url>,
    /// The hosts that were contacted.
    pub(crate) hosts: Vec<String>,
}

/// Why a page could not be fetched.
#[derive(Debug)]
pub(crate) enum FetchError {
    /// Trying again will not help.
    Lasting(Failure),
    /// The failure may be transient.
    Passing(Failure),
}

impl From<Failure> for FetchError {
    fn from(failure: Failure) -> Self {
        FetchError::Lasting(failure)
    }
}

impl Fetcher {
    /// Fetches a page. The future may be dropped at any time, which closes the connection.
    pub(crate) async fn fetch(&self, address: &str) -> Result<FetchedPage, FetchError> {
        let mut target = Target::parse(address, &self.web)?;
        let client = self.client().await?;
        let mut hosts: Vec<String> = Vec::new();
        for _ in 0..=self.web.limits.redirects {
            if !hosts.iter().any(|host| host == target.host()) {
                hosts.push(target.host().to_owned());
            }
            let asked = client.get(target.url.clone()).header(ACCEPT, "text/html, text/*, application/json, */*;q=0.5");
            let asked = asked.header(ACCEPT_ENCODING, decompress::ACCEPTED);
            let response = asked.send().await.map_err(|error| trouble(target.host(), &error))?;
            let status = response.status();
            let Some(location) = status.is_redirection().then(|| header(response.headers(), &LOCATION)).flatten()
            else {
                return self.taken_in(target.url, hosts, response).await;
            };
            let next = target.follow(&location, &self.web)?;
            if !target.is_same_site(&next) {
                let (media, text, elsewhere) = (String::new(), String::new(), Some(next.url));
                return Ok(FetchedPage { url: target.url, status, media, text, is_cut: false, elsewhere, hosts });
            }
            target = next;
        }
        let (most, host) = (self.web.limits.redirects, target.host());
        Err(FetchError::Lasting(failed(format!("`{host}` redirects more than {most} times"))))
    }

    async fn taken_in(&self, url: Url, hosts: Vec<String>, mut response: Response) -> Result<FetchedPage, FetchError> {
        let status = response.status();
        let host = url.host_str().unwrap_or_default();
        if is_passing(status) {
            return Err(FetchError::Passing(failed(format!("`{host}` answers {status}; it may work later"))));
        }
        let kind = header(response.headers(), &CONTENT_TYPE).unwrap_or_default();
        let (media, charset) = media(&kind);
        if !media.is_empty() && !is_text(&media) {
            let size = header(response.headers(), &CONTENT_LENGTH).and_then(|len| len.parse::<u64>().ok());
            return Err(FetchError::Lasting(not_text(&url, &media, size)));
        }
        let packing = header(response.headers(), &CONTENT_ENCODING).unwrap_or_default().trim().to_ascii_lowercase();
        let most = self.web.limits.body;
        let mut body = Vec::new();
        let mut is_cut = false;
        while let Some(piece) = response.chunk().await.map_err(|error| trouble(host, &error))? {
            let room = most - body.len();
            body.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.len() > room {
                is_cut = true;
                break;
            }
        }
        drop(response);
        let unpacked = tokio::task::spawn_blocking(move || {
            let (bytes, was_longer) = unpack(&packing, body, most)?;
            let is_binary = bytes.len() >= 2
                && bytes.contains(&0)
                && !bytes.starts_with(b"\xFF\xFE")
                && !bytes.starts_with(b"\xFE\xFF");
            let text = if is_binary { None } else { Some(charset::decode(&bytes, charset.as_deref())) };
            Ok((text, bytes.len(), was_longer))
        });
        let unpacked = unpacked.await.unwrap_or_else(|_| Err("it could not be read".to_owned()));
        let (text, len, was_longer) =
            unpacked.map_err(|why| failed(format!("the answer of `{host}` cannot be read: {why}")))?;
        let text = text.ok_or_else(|| not_text(&url, &media, Some(len as u64)))?;
        Ok(FetchedPage { url, status, media, text, is_cut: is_cut || was_longer, elsewhere: None, hosts })
    }
}

fn failed(message: String) -> Failure {
    Failure::new(FailureKind::Tool, message)
}

fn not_text(url: &Url, media: &str, size: Option<u64>) -> Failure {
    let media = if media.is_empty() { "binary data" } else { media };
    let size = size.map_or_else(|| "of unknown size".to_owned(), |size| format!("of {size} bytes"));
    failed(format!("`{}` is `{media}` {size}; web_fetch reads text only", truncate::line(url.as_str(), 200)))
}

fn header(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    Some(String::from_utf8_lossy(headers.get(name)?.as_bytes()).into_owned())
}

/// The essence of a media type and its charset.
fn media(kind: &str) -> (String, Option<String>) {
    let mut parts = kind.split(';');
    let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "/+-._".contains(c);
    let essence = if essence.len() <= 100 && essence.chars().all(is_fine) { essence } else { String::new() };
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_owned())
    });
    (essence, charset)
}

fn is_text(media: &str) -> bool {
    const TEXT: [&str; 9] = [
        "application/json",
        "application/xml",
        "application/xhtml+xml",
        "application/javascript",
        "application/x-javascript",
        "application/x-ndjson",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
    ];
    media.starts_with("text/") || TEXT.contains(&media) || media.ends_with("+json") || media.ends_with("+xml")
}

fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

/// Turns an error of the client into a message, and decides whether it may be transient.
fn trouble(host: &str, error: &reqwest::Error) -> FetchError {
    let mut cause: Option<&dyn Error> = Some(error);
    let mut may_pass = error.is_timeout();
    while let Some(this) = cause {
        if let Some(ResolveError(failure)) = this.downcast_ref() {
            return FetchError::Lasting(failure.clone());
        }
        may_pass |= this.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_incomplete_message);
        may_pass |= this.downcast_ref::<io::Error>().is_some_and(|error| {
            matches!(
                error.kind(),
                ErrorKind::ConnectionRefused
                    | ErrorKind::ConnectionReset
                    | ErrorKind::ConnectionAborted
                    | ErrorKind::BrokenPipe
                    | ErrorKind::TimedOut
                    | ErrorKind::UnexpectedEof
            )
        });
        cause = this.source();
    }
    let failure = failed(format!("`{host}` could not be read: {}", chain(error)));
    if may_pass { FetchError::Passing(failure) } else { FetchError::Lasting(failure) }
}

/// An error and its causes in one line, without the address, which is long and already known.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(this) = cause {
        let text = this.to_string();
        if !words.iter().any(|word| word.contains(&text)) {
            words.push(text);
        }
        cause = this.source();
    }
    if words.is_empty() { error.to_string() } else { words.join(": ") }
}
