//! Recognition of URLs, as opposed to file names and ordinary words.

/// Returns the URL that the word denotes. With `surely` (`go to`, `visit`) any host is accepted; otherwise a bare
/// host must end in a well-known top-level domain, because `open report.pdf` is not a visit to a web site.
pub(super) fn url(word: &str, surely: bool) -> Option<String> {
    if word.chars().any(char::is_whitespace) {
        return None;
    }
    if has_scheme(word) || word.starts_with("about:") {
        return Some(word.to_owned());
    }
    let host = word.split(['/', '?', '#']).next().unwrap_or_default();
    let is_one = is_local(host)
        || is_host(host) && (surely || has_common_domain(host) || host.starts_with("www."));
    is_one.then(|| format!("{}://{word}", if is_local(host) { "http" } else { "https" }))
}

/// Returns whether the word starts with `http://`, `https://` or `file://`.
fn has_scheme(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    ["http://", "https://", "file://"]
        .iter()
        .any(|scheme| lower.len() > scheme.len() && lower.starts_with(scheme))
}

/// Returns whether the host is `localhost` or an IPv4 address. These get `http`, because they rarely serve TLS.
fn is_local(host: &str) -> bool {
    let (name, port) = host.split_once(':').unwrap_or((host, "80"));
    let is_address =
        name.split('.').count() == 4 && name.split('.').all(|part| part.parse::<u8>().is_ok());
    (name == "localhost" || is_address) && port.parse::<u16>().is_ok()
}

/// Returns whether the word is a host name: dot-separated labels of letters, digits and hyphens, the last one letters only,
/// with an optional port.
fn is_host(host: &str) -> bool {
    let (name, port) = host.split_once(':').unwrap_or((host, "443"));
    let labels: Vec<&str> = name.split('.').collect();
    let well_formed = |label: &&str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
    };
    let last_is_word = labels
        .last()
        .is_some_and(|label| label.chars().count() >= 2 && label.chars().all(char::is_alphabetic));
    labels.len() >= 2
        && labels.iter().all(well_formed)
        && last_is_word
        && port.parse::<u16>().is_ok()
}

/// Top-level domains that are not common file extensions.
const COMMON_DOMAINS: &[&str] = &[
    "com", "org", "net", "edu", "gov", "io", "dev", "app", "info", "cn", "de", "fr", "uk", "jp",
    "eu", "us", "ru", "nl", "ch", "it", "es", "ca", "au", "in", "br", "hk", "tw", "kr", "sg", "me",
    "tv", "biz", "xyz", "online", "site", "shop", "cloud", "test", "local", "example",
];

fn has_common_domain(host: &str) -> bool {
    let name = host.split(':').next().unwrap_or_default();
    name.rsplit('.')
        .next()
        .is_some_and(|domain| COMMON_DOMAINS.contains(&domain.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, surely: bool, expected: Option<&str>) {
        assert_eq!(url(word, surely).as_deref(), expected, "{word}");
    }

    #[test]
    fn urls_are_distinguished_from_file_names() {
        check(
            "https://a.org/b;c?d=e.f",
            false,
            Some("https://a.org/b;c?d=e.f"),
        );
        check("file:///tmp/x.html", false, Some("file:///tmp/x.html"));
        check("example.com", false, Some("https://example.com"));
        check(
            "example.com:8080/a?b#c",
            false,
            Some("https://example.com:8080/a?b#c"),
        );
        check(
            "www.beispiel.museum",
            false,
            Some("https://www.beispiel.museum"),
        );
        check("localhost:3000", false, Some("http://localhost:3000"));
        check("127.0.0.1/x", false, Some("http://127.0.0.1/x"));
        check("about:blank", false, Some("about:blank"));
        for no in [
            "report.pdf",
            "main.rs",
            "v1.2",
            "Firefox",
            "a..com",
            "https://",
            "notes",
            "Node.js",
        ] {
            check(no, false, None);
        }
        check("crates.rs", true, Some("https://crates.rs"));
        check("Settings", true, None);
    }
}
