//! Addresses of providers as people write them. Knows nothing of who answers there.

use reqwest::Url;

/// Where Ollama listens unless told otherwise.
const OLLAMA_HOST: &str = "127.0.0.1";
const OLLAMA_PORT: &str = "11434";

/// Whether requests can be sent there.
pub(super) fn is_usable(base_url: &str) -> bool {
    Url::parse(base_url)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some())
}

/// What `OLLAMA_HOST` means. Scheme, host and port may each be left out; with a scheme, the port
/// that is left out is that of the scheme, as for Ollama itself.
pub(super) fn ollama(written: &str) -> String {
    let written = written.trim();
    let (scheme, rest) = written.split_once("://").unwrap_or(("http", written));
    let (place, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let (host, port) = match place.rsplit_once(':') {
        // The last part of a bare IPv6 address is no port.
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        Some(_) | None => (place, None),
    };
    let port = port.filter(|port| !port.is_empty());
    let host = match host {
        "" => OLLAMA_HOST.to_owned(),
        bare if bare.contains(':') && !bare.contains(['[', '@']) => format!("[{bare}]"),
        host => host.to_owned(),
    };
    match port.or((!written.contains("://")).then_some(OLLAMA_PORT)) {
        Some(port) => format!("{scheme}://{host}:{port}{path}"),
        None => format!("{scheme}://{host}{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollama_is_found_however_its_host_is_written() {
        for (written, expected) in [
            ("127.0.0.1", "http://127.0.0.1:11434"),
            ("127.0.0.1:1", "http://127.0.0.1:1"),
            (":11500", "http://127.0.0.1:11500"),
            ("box", "http://box:11434"),
            ("box/path", "http://box:11434/path"),
            ("::1", "http://[::1]:11434"),
            ("[::1]", "http://[::1]:11434"),
            ("[::1]:1", "http://[::1]:1"),
            ("http://:1", "http://127.0.0.1:1"),
            ("http://box", "http://box"),
            ("https://box/path", "https://box/path"),
            ("https://me:pw@box:1", "https://me:pw@box:1"),
        ] {
            assert_eq!(ollama(written), expected, "{written}");
            assert!(is_usable(expected), "{expected}");
        }
    }

    #[test]
    fn what_is_no_place_for_a_request_is_not_usable() {
        for written in ["", "h", "h:1", "ftp://h", "file:///etc", "http://", "https://:1"] {
            assert!(!is_usable(written), "{written}");
        }
    }
}
