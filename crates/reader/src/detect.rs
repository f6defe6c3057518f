//! Finds out what kind of file it is: by its first bytes, by its name, by what a server said, and by its text.

use crate::archive::Archive;
use crate::document::DocumentKind;
use crate::options::ReadOptions;
use crate::{image, text};

/// Bytes of text that are looked at.
const SAMPLE: usize = 4096;

/// Files of .doc, .xls, .ppt and .msg.
const OLD_OFFICE: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
const RICH_TEXT: &[u8] = b"{\\rtf";

/// Endings of files that are text and read as it stands, in pieces that keep lines together.
const CODE: [&str; 74] = [
    "asm",
    "awk",
    "bash",
    "bat",
    "c",
    "cc",
    "cfg",
    "clj",
    "cmake",
    "conf",
    "cpp",
    "cs",
    "css",
    "cu",
    "cxx",
    "dart",
    "diff",
    "dockerfile",
    "el",
    "elm",
    "erl",
    "ex",
    "exs",
    "fish",
    "fs",
    "go",
    "gradle",
    "graphql",
    "groovy",
    "h",
    "hcl",
    "hh",
    "hpp",
    "hs",
    "ini",
    "java",
    "jl",
    "js",
    "jsx",
    "kt",
    "kts",
    "less",
    "lisp",
    "lua",
    "m",
    "makefile",
    "mjs",
    "mk",
    "ml",
    "mm",
    "nim",
    "nix",
    "patch",
    "php",
    "pl",
    "pm",
    "proto",
    "ps1",
    "py",
    "pyi",
    "r",
    "rb",
    "rs",
    "scala",
    "scss",
    "sh",
    "sql",
    "swift",
    "tf",
    "toml",
    "ts",
    "tsx",
    "yaml",
    "yml",
];

/// What a file that cannot be read is, as far as its first bytes tell.
pub(crate) fn describe(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "it is empty".to_owned();
    }
    if bytes.starts_with(OLD_OFFICE) {
        return "an old Office file; save it as .docx, .xlsx, .pptx or .eml".to_owned();
    }
    if bytes.starts_with(RICH_TEXT) {
        return "rich text; save it as .docx".to_owned();
    }
    let start: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("it begins with {}", start.join(" "))
}

/// The kind of a file; nothing if it is neither text nor known.
pub(crate) fn kind_of(bytes: &[u8], name: &str, options: &ReadOptions) -> Option<DocumentKind> {
    if bytes.starts_with(OLD_OFFICE) || bytes.starts_with(RICH_TEXT) {
        return None;
    }
    by_signature(bytes, name, options).or_else(|| text::is_text(bytes).then(|| kind_of_text(bytes, name, options)))
}

/// Whether it begins like a ZIP archive.
pub(crate) fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

fn by_signature(bytes: &[u8], name: &str, options: &ReadOptions) -> Option<DocumentKind> {
    if is_archive(bytes) {
        return Some(kind_of_archive(bytes, name, options));
    }
    // Readers accept a PDF with something else before it.
    let start = &bytes[..bytes.len().min(1024)];
    let has_pdf = start.windows(5).any(|window| window == b"%PDF-");
    if start.starts_with(b"%PDF-") || (has_pdf && (ending(name) == "pdf" || !text::is_text(bytes))) {
        return Some(DocumentKind::Pdf);
    }
    image::size(bytes).map(|_| DocumentKind::Image)
}

/// Office files and books are archives that have a certain file.
fn kind_of_archive(bytes: &[u8], name: &str, options: &ReadOptions) -> DocumentKind {
    let by_name = || match ending(name).as_str() {
        "docx" | "docm" | "dotx" => DocumentKind::Docx,
        "xlsx" | "xlsm" | "xltx" => DocumentKind::Xlsx,
        "pptx" | "pptm" | "ppsx" => DocumentKind::Pptx,
        "epub" => DocumentKind::Epub,
        _ => DocumentKind::Zip,
    };
    let Ok(archive) = Archive::open(bytes, DocumentKind::Zip, &options.limits) else { return by_name() };
    let has = |start: &str| archive.entries.iter().any(|entry| entry.name.starts_with(start));
    if archive.has("META-INF/container.xml") {
        DocumentKind::Epub
    } else if !archive.has("[Content_Types].xml") {
        DocumentKind::Zip
    } else if has("word/") {
        DocumentKind::Docx
    } else if has("xl/") {
        DocumentKind::Xlsx
    } else if has("ppt/") {
        DocumentKind::Pptx
    } else {
        by_name()
    }
}

fn kind_of_text(bytes: &[u8], name: &str, options: &ReadOptions) -> DocumentKind {
    let sample = text::decode(&bytes[..bytes.len().min(SAMPLE)], None);
    let ending = ending(name);
    let by_ending = match ending.as_str() {
        "md" | "markdown" | "mdx" | "rmd" | "qmd" => Some(DocumentKind::Markdown),
        "csv" | "tsv" | "tab" => Some(DocumentKind::Csv),
        "json" | "geojson" | "webmanifest" => Some(DocumentKind::Json),
        "jsonl" | "ndjson" => Some(DocumentKind::JsonLines),
        "ipynb" => Some(DocumentKind::Notebook),
        "html" | "htm" | "xhtml" => Some(DocumentKind::Html),
        "rss" | "atom" => Some(DocumentKind::Feed),
        "eml" | "mht" | "mhtml" if begins_with_field(&sample) => Some(DocumentKind::Mail),
        "xml" if is_feed(&sample) => Some(DocumentKind::Feed),
        "txt" | "text" | "log" | "rst" | "tex" | "xml" => Some(DocumentKind::Text),
        ending if CODE.contains(&ending) => Some(DocumentKind::Code),
        _ => None,
    };
    by_ending.or_else(|| by_media_type(options.media_type.as_deref()?)).unwrap_or_else(|| by_content(&sample))
}

fn by_media_type(media_type: &str) -> Option<DocumentKind> {
    let name = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    Some(match name.as_str() {
        "text/html" | "application/xhtml+xml" => DocumentKind::Html,
        "text/markdown" => DocumentKind::Markdown,
        "text/csv" | "text/tab-separated-values" => DocumentKind::Csv,
        "application/json" => DocumentKind::Json,
        "application/x-ndjson" | "application/jsonl" => DocumentKind::JsonLines,
        "application/rss+xml" | "application/atom+xml" => DocumentKind::Feed,
        "message/rfc822" => DocumentKind::Mail,
        _ => return None,
    })
}

/// By how a text without a telling name begins.
fn by_content(sample: &str) -> DocumentKind {
    let start = sample.trim_start();
    let lower = start[..start.floor_char_boundary(512)].to_ascii_lowercase();
    if lower.starts_with("<!doctype html") || lower.starts_with("<html") {
        DocumentKind::Html
    } else if is_feed(sample) {
        DocumentKind::Feed
    } else if start.starts_with("#!") {
        DocumentKind::Code
    } else {
        DocumentKind::Text
    }
}

/// Whether a text begins as a mail does: `Subject: …`.
fn begins_with_field(sample: &str) -> bool {
    let first = sample.lines().next().unwrap_or_default();
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    first.split_once(':').is_some_and(|(name, _)| is_name(name)) || first.starts_with("From ")
}

fn is_feed(sample: &str) -> bool {
    let start = sample.trim_start();
    start.starts_with('<') && ["<rss", "<feed", "<rdf:RDF"].iter().any(|tag| start.contains(tag))
}

/// What follows the last dot of a name, in small letters; for a name without a dot the name itself.
pub(crate) fn ending(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase()
}
