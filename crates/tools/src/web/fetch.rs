//! Fetches one page, or finds it in the cache: checks each redirect, and limits the size of the body.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::time::Duration;

use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName,
    LOCATION,
};
use reqwest::{Response, StatusCode};
use serde::{Deserialize, Serialize};
use updraft_reader::{ReadOptions, is_packed};
use updraft_run::{Failure, FailureKind};
use url::Url;

use super::decompress::{self, unpack};
use super::resolver::ResolveError;
use super::target::Target;
use super::{Fetcher, charset};
use crate::builtin::now;
use crate::truncate;

/// The response for an address.
#[derive(Debug)]
pub(crate) struct FetchedPage {
    /// The final address, after redirects.
    pub(crate) url: Url,
    pub(crate) status: StatusCode,
    /// The media type without parameters; empty if the server does not send one.
    pub(crate) media: String,
    pub(crate) content: PageContent,
    /// Whether the body was longer than the limit.
    pub(crate) is_cut: bool,
    /// The other site that the page redirects to, which was not contacted.
    pub(crate) elsewhere: Option<Url>,
    /// The hosts that were contacted.
    pub(crate) hosts: Vec<String>,
    /// How old it is, if it comes from the cache.
    pub(crate) age: Option<Duration>,
}

/// What a server sent.
#[derive(Debug)]
pub(crate) enum PageContent {
    /// Text, decoded.
    Text(String),
    /// A file that has to be unpacked: a PDF, an Office file.
    Document(Vec<u8>),
}

/// A response as it is kept in the cache: unpacked, but not decoded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RawPage {
    /// The final address, after redirects.
    pub(super) url: String,
    pub(super) status: u16,
    /// What the server said about its type.
    pub(super) content_type: String,
    /// What the server said about keeping it.
    pub(super) cache_control: String,
    pub(super) hosts: Vec<String>,
    pub(super) is_cut: bool,
    #[serde(skip)]
    pub(super) body: Vec<u8>,
}

/// Where a page may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageSource {
    /// The cache, if it is there and not too old.
    CacheOrSite,
    /// Its site in any case.
    Site,
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
    pub(crate) async fn fetch(&self, address: &str, source: PageSource) -> Result<FetchedPage, FetchError> {
        let target = Target::parse(address, &self.web)?;
        // Pages of this machine are being worked on: they are always fetched.
        let cache = self.web.cache.clone().filter(|_| !target.is_loopback);
        let asked = target.url.to_string();
        if let (Some(cache), PageSource::CacheOrSite) = (cache.clone(), source) {
            let asked = asked.clone();
            let found = tokio::task::spawn_blocking(move || cache.get(&asked, now())).await;
            if let Some((raw, age)) = found.ok().flatten() {
                return Ok(FetchedPage { age: Some(age), ..self.taken_in(raw).await? });
            }
        }
        let raw = match self.fetch_anew(target).await? {
            Ok(raw) => raw,
            Err(redirected) => return Ok(*redirected),
        };
        if let Some(cache) = cache {
            let kept = raw.clone();
            let keeping = tokio::task::spawn_blocking(move || cache.put(&asked, &kept, now()));
            // A page that cannot be kept is fetched again next time.
            let _ = keeping.await;
        }
        self.taken_in(raw).await
    }

    /// Follows redirects to a page; gives where they lead if that is another site.
    async fn fetch_anew(&self, mut target: Target) -> Result<Result<RawPage, Box<FetchedPage>>, FetchError> {
        let mut hosts: Vec<String> = Vec::new();
        for _ in 0..=self.web.limits.redirects {
            if !hosts.iter().any(|host| host == target.host()) {
                hosts.push(target.host().to_owned());
            }
            let _turn = self.turn(&target).await?;
            let response = self.ask(&target).await?;
            let Some(location) = location(&response) else {
                return self.received(&target.url, hosts, response).await.map(Ok);
            };
            let next = target.follow(&location, &self.web)?;
            if !target.is_same_site(&next) {
                return Ok(Err(Box::new(FetchedPage {
                    url: target.url,
                    status: response.status(),
                    media: String::new(),
                    content: PageContent::Text(String::new()),
                    is_cut: false,
                    elsewhere: Some(next.url),
                    hosts,
                    age: None,
                })));
            }
            target = next;
        }
        let (most, host) = (self.web.limits.redirects, target.host());
        Err(FetchError::Lasting(failed(format!("`{host}` redirects more than {most} times"))))
    }

    /// Sends one request.
    pub(super) async fn ask(&self, target: &Target) -> Result<Response, FetchError> {
        let client = self.client().await?;
        let asked = client.get(target.url.clone()).header(ACCEPT, "text/html, text/*, application/json, */*;q=0.5");
        let asked = asked.header(ACCEPT_ENCODING, decompress::ACCEPTED);
        asked.send().await.map_err(|error| trouble(target.host(), &error))
    }

    async fn received(&self, url: &Url, hosts: Vec<String>, response: Response) -> Result<RawPage, FetchError> {
        let status = response.status();
        let host = url.host_str().unwrap_or_default();
        if is_passing(status) {
            return Err(FetchError::Passing(failed(format!("`{host}` answers {status}; it may work later"))));
        }
        let content_type = header(response.headers(), &CONTENT_TYPE).unwrap_or_default();
        let (media, _) = media(&content_type);
        let may_be_read = self.web.documents.is_some() && is_document(&media);
        if !media.is_empty() && !is_text(&media) && !may_be_read {
            let size = header(response.headers(), &CONTENT_LENGTH).and_then(|len| len.parse::<u64>().ok());
            return Err(FetchError::Lasting(not_text(url, &media, size)));
        }
        let cache_control = header(response.headers(), &CACHE_CONTROL).unwrap_or_default();
        let (body, is_cut) = body(response, self.web.limits.body).await?;
        Ok(RawPage { url: url.to_string(), status: status.as_u16(), content_type, cache_control, hosts, is_cut, body })
    }

    /// Finds out what a response is, and decodes text.
    async fn taken_in(&self, raw: RawPage) -> Result<FetchedPage, FetchError> {
        let RawPage { url, status, content_type, hosts, is_cut, body, .. } = raw;
        let broken = || failed("the page could not be read".to_owned());
        let url = Url::parse(&url).map_err(|_| broken())?;
        let status = StatusCode::from_u16(status).map_err(|_| broken())?;
        let (media, charset) = media(&content_type);
        let (length, name, reads) = (body.len() as u64, file_name(&url), self.web.documents.is_some());
        let is_readable = media.is_empty() || is_text(&media);
        let classified = tokio::task::spawn_blocking(move || {
            let options = ReadOptions { media_type: Some(content_type), ..ReadOptions::default() };
            if reads && is_packed(&body, &name, &options) {
                return Some(PageContent::Document(body));
            }
            let is_binary = body.len() >= 2
                && body.contains(&0)
                && !body.starts_with(b"\xFF\xFE")
                && !body.starts_with(b"\xFE\xFF");
            (is_readable && !is_binary).then(|| PageContent::Text(charset::decode(&body, charset.as_deref())))
        });
        let content = classified.await.map_err(|_| broken())?;
        let content = content.ok_or_else(|| not_text(&url, &media, Some(length)))?;
        Ok(FetchedPage { url, status, media, content, is_cut, elsewhere: None, hosts, age: None })
    }
}

/// Where a response redirects to, if it does.
pub(super) fn location(response: &Response) -> Option<String> {
    response.status().is_redirection().then(|| header(response.headers(), &LOCATION)).flatten()
}

/// The body of a response, unpacked, and whether it was longer than `most`.
pub(super) async fn body(mut response: Response, most: usize) -> Result<(Vec<u8>, bool), FetchError> {
    let host = response.url().host_str().unwrap_or_default().to_owned();
    let packing = header(response.headers(), &CONTENT_ENCODING).unwrap_or_default().trim().to_ascii_lowercase();
    let mut body = Vec::new();
    let mut is_cut = false;
    while let Some(piece) = response.chunk().await.map_err(|error| trouble(&host, &error))? {
        let room = most - body.len();
        body.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            is_cut = true;
            break;
        }
    }
    drop(response);
    let unpacked = tokio::task::spawn_blocking(move || unpack(&packing, body, most)).await;
    let unpacked = unpacked.unwrap_or_else(|_| Err("it could not be read".to_owned()));
    let (bytes, was_longer) =
        unpacked.map_err(|why| failed(format!("the answer of `{host}` cannot be read: {why}")))?;
    Ok((bytes, is_cut || was_longer))
}

/// The last part of an address, which is the name of a file there.
pub(crate) fn file_name(url: &Url) -> String {
    url.path().rsplit('/').next().unwrap_or_default().to_owned()
}

fn failed(message: String) -> Failure {
    Failure::new(FailureKind::Tool, message)
}

fn not_text(url: &Url, media: &str, size: Option<u64>) -> Failure {
    let media = if media.is_empty() { "binary data" } else { media };
    let size = size.map_or_else(|| "of unknown size".to_owned(), |size| format!("of {size} bytes"));
    failed(format!(
        "`{}` is `{media}` {size}; web_fetch reads text, PDF and Office files only",
        truncate::line(url.as_str(), 200)
    ))
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

/// Whether the media type is one that the reader unpacks, or says nothing.
fn is_document(media: &str) -> bool {
    const DOCUMENTS: [&str; 6] = [
        "application/pdf",
        "application/x-pdf",
        "application/epub+zip",
        "application/octet-stream",
        "binary/octet-stream",
        "message/rfc822",
    ];
    DOCUMENTS.contains(&media) || media.starts_with("application/vnd.openxmlformats-officedocument.")
}

fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

/// Turns an error of the client into a message, and decides whether it may be transient.
pub(super) fn trouble(host: &str, error: &reqwest::Error) -> FetchError {
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
