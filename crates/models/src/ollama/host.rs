//! Parses the address of Ollama in `OLLAMA_HOST`.

use std::net::Ipv6Addr;

use reqwest::Url;
use url::Host;

const PORT: u16 = 11_434;

/// The full address for `host`, `host:port`, `:port`, a listening address (`0.0.0.0`) or a full address. A text that
/// cannot be parsed is returned unchanged, and is refused where it is used.
pub(crate) fn address(written: &str) -> String {
    let host = written.trim().trim_matches(['"', '\'']).trim();
    let whole = match host {
        "" => format!("http://127.0.0.1:{PORT}"),
        "ollama.com" => "https://ollama.com".to_owned(),
        _ if host.contains("://") => host.to_owned(),
        _ if host.parse::<Ipv6Addr>().is_ok() => format!("http://[{host}]"),
        _ if host.starts_with(':') => format!("http://127.0.0.1{host}"),
        _ => format!("http://{host}"),
    };
    let Ok(mut url) = Url::parse(&whole) else { return host.to_owned() };
    // The URL parser does not distinguish port 80 from no port.
    let names_port = host.contains("://") || host.split('/').next().is_some_and(|host| host.ends_with(":80"));
    if url.port().is_none() && !names_port && url.scheme() == "http" {
        let _ = url.set_port(Some(PORT));
    }
    let here = match url.host() {
        Some(Host::Ipv4(address)) if address.is_unspecified() => Some("127.0.0.1"),
        Some(Host::Ipv6(address)) if address.is_unspecified() => Some("[::1]"),
        Some(Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_)) | None => None,
    };
    let _ = here.map(|here| url.set_host(Some(here)));
    url.as_str().trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_people_write_becomes_an_address() {
        for (written, meant) in [
            ("", "http://127.0.0.1:11434"),
            (" 'box' ", "http://box:11434"),
            ("box:5000", "http://box:5000"),
            ("box:80", "http://box:80"),
            ("box/", "http://box:11434"),
            ("box/ollama/", "http://box:11434/ollama"),
            (":5000", "http://127.0.0.1:5000"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:5000", "http://127.0.0.1:5000"),
            ("http://0.0.0.0:11434/", "http://127.0.0.1:11434"),
            ("::1", "http://[::1]:11434"),
            ("[::]:5000", "http://[::1]:5000"),
            ("http://box", "http://box"),
            ("http://box:11434/", "http://box:11434"),
            ("https://box.example/ollama/", "https://box.example/ollama"),
            ("ollama.com", "https://ollama.com"),
            ("two words", "two words"),
        ] {
            let meant = meant.strip_suffix(":80").unwrap_or(meant);
            assert_eq!(address(written), meant, "{written}");
        }
    }
}
