//! Hosts with private addresses in the user's own words: what the user names may be opened.
//!
//! A host is named with its port: a goal that names `localhost:3000` allows no other port of this machine. A name is written
//! `host:port`, as in `localhost:3000` and `[::1]:80`.

use std::collections::BTreeSet;

use motorium_proto::domain::private_host::is_private_host;
use motorium_text::characters::is_east_asian;
use url::Url;

use crate::target_context::typed_address::typed_addresses;

/// Id of the rule of `careful` that requires approval for a private host that the user did not name.
pub const PRIVATE_ADDRESS_RULE: &str = "private-address";

/// Punctuation around an address in a sentence.
const AROUND: &[char] = &[
    '.', ',', ';', ':', '!', '?', '"', '\'', '`', '(', ')', '<', '>', '{', '}', '“', '”', '‘', '’',
    '«', '»', '„', '。', '，', '、', '；', '：', '！', '？', '（', '）', '《', '》', '「', '」',
];

/// Ports of an address that names none. Users do not say which of them they mean, and browsers try both.
const DEFAULT_PORTS: [u16; 2] = [80, 443];

/// Returns the private hosts of the addresses in these texts with their ports, as parsed URLs have them: `localhost:3000`,
/// `127.0.0.1:80`, `[::1]:443`. An address without a port has both that browsers try.
///
/// A word without a dot is a host only with a scheme, a port or a path, except for `localhost`.
#[must_use]
pub fn named_private_hosts<'a>(texts: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    let words = texts.into_iter().flat_map(words);
    words.flat_map(hosts_of_word).collect()
}

fn hosts_of_word(word: &str) -> Vec<String> {
    let addresses = typed_addresses(word).into_iter();
    addresses
        .filter_map(|url| Some((host_of(&url)?, url)))
        .filter(|(host, _)| is_private_host(host) && is_meant(word, host))
        .flat_map(|(host, url)| names(&host, &url))
        .collect()
}

fn host_of(url: &Url) -> Option<String> {
    let host = url.host_str()?.trim_end_matches('.').to_lowercase();
    Some(host).filter(|host| !host.is_empty())
}

/// Returns the host of an address with the ports that it may mean.
fn names(host: &str, url: &Url) -> Vec<String> {
    let is_web = matches!(url.scheme(), "http" | "https");
    let ports = match url.port() {
        Some(port) => vec![port],
        None if is_web => DEFAULT_PORTS.to_vec(),
        None => url.port_or_known_default().into_iter().collect(),
    };
    ports
        .into_iter()
        .map(|port| format!("{host}:{port}"))
        .collect()
}

/// Returns the name of the private host that an address opens. `None` if its host is public, or it has none.
pub(crate) fn opened_private_host(url: &Url) -> Option<String> {
    let host = host_of(url).filter(|host| is_private_host(host))?;
    // An address without any port, such as that of a file server, is not one that users name.
    let port = url.port_or_known_default().unwrap_or_default();
    Some(format!("{host}:{port}"))
}

/// Returns whether a word is an address and not a number or an alternative (`10.5`, `and/or`).
fn is_meant(word: &str, host: &str) -> bool {
    let word = word.to_lowercase();
    let after_host = word.strip_prefix(host);
    word.contains("://")
        || host == "localhost"
        || host.starts_with('[')
        || after_host.is_some_and(|rest| host.contains('.') || rest.starts_with(':'))
}

/// Returns the names of the private host of an address that a user gave as such.
#[must_use]
pub fn private_hosts_of(address: &str) -> Vec<String> {
    let url = Url::parse(address).ok();
    let host = url.as_ref().and_then(host_of);
    let private = url.zip(host).filter(|(_, host)| is_private_host(host));
    private
        .map(|(url, host)| names(&host, &url))
        .unwrap_or_default()
}

/// Splits a text into words that may be addresses. Languages without spaces write an address between other letters.
fn words(text: &str) -> Vec<&str> {
    let is_end = |letter: char| {
        letter.is_whitespace()
            || (!letter.is_ascii() && !letter.is_alphanumeric())
            || is_east_asian(letter)
    };
    text.split(is_end)
        .map(|word| word.trim_matches(AROUND))
        .filter(|word| !word.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found = named_private_hosts([text]);
        assert_eq!(
            found.iter().map(String::as_str).collect::<Vec<_>>(),
            expected,
            "{text}"
        );
    }

    #[test]
    fn private_addresses_in_sentences_are_found() {
        check(
            "Open http://localhost:3000/app, and log in.",
            &["localhost:3000"],
        );
        check("go to localhost:8080.", &["localhost:8080"]);
        check(
            "look at \"http://192.168.1.10/status\" (the router)",
            &["192.168.1.10:443", "192.168.1.10:80"],
        );
        check("open localhost", &["localhost:443", "localhost:80"]);
        check("打开http://127.0.0.1:8123/填写表单", &["127.0.0.1:8123"]);
        check(
            "open http://0x7f.1:8000/ and http://[::1]:9/",
            &["127.0.0.1:8000", "[::1]:9"],
        );
        check("open ftp://printer.local", &["printer.local:21"]);
        check(
            "open http://intranet/wiki",
            &["intranet:443", "intranet:80"],
        );
        check("open https://example.com and note: buy milk at 12:30", &[]);
        check(
            "compare local prices of 10.5 kg and/or the router at intranet:8080",
            &["intranet:8080"],
        );
    }

    #[test]
    fn a_port_is_named_alone() {
        let named = named_private_hosts(["test http://localhost:3000 please"]);
        let opened = |address: &str| opened_private_host(&Url::parse(address).unwrap());
        let is_named = |address: &str| opened(address).is_some_and(|host| named.contains(&host));
        for same in [
            "http://LOCALHOST:3000/x",
            "https://localhost.:3000",
            "http://u@localhost:3000",
        ] {
            assert!(is_named(same), "{same}");
        }
        for other in [
            "http://localhost/",
            "https://localhost/",
            "http://localhost:22/",
            "http://localhost:30000/",
            "http://localhost:300/",
            "http://127.0.0.1:3000/",
            "http://[::1]:3000/",
            "http://3000:3000@localhost:5432/",
            "http://localhost:9222/json",
            "ftp://localhost/",
            "file://localhost/etc/passwd",
        ] {
            assert!(!is_named(other), "{other}");
        }
        assert_eq!(opened("http://example.com:3000/"), None);
    }
}
