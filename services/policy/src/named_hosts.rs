//! Hosts with private addresses in the user's own words: what the user names may be opened.

use std::collections::BTreeSet;

use motorium_proto::domain::private_host::is_private_host;
use motorium_text::characters::is_east_asian;
use url::Url;

use crate::target_context::typed_address::typed_addresses;

/// Punctuation around an address in a sentence.
const AROUND: &[char] = &[
    '.', ',', ';', ':', '!', '?', '"', '\'', '`', '(', ')', '<', '>', '{', '}', '“', '”', '‘', '’',
    '«', '»', '„', '。', '，', '、', '；', '：', '！', '？', '（', '）', '《', '》', '「', '」',
];

/// Returns the private hosts of the addresses in these texts, as parsed URLs have them: `localhost`, `127.0.0.1`, `[::1]`.
///
/// A word without a dot is a host only with a scheme, a port or a path, except for `localhost`.
#[must_use]
pub fn named_private_hosts<'a>(texts: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    let words = texts.into_iter().flat_map(words);
    words.flat_map(hosts_of_word).collect()
}

fn hosts_of_word(word: &str) -> Vec<String> {
    let addresses = typed_addresses(word).into_iter();
    let hosts = addresses.filter_map(|url| url.host_str().map(str::to_owned));
    hosts
        .map(|host| host.trim_end_matches('.').to_lowercase())
        .filter(|host| is_private_host(host) && is_meant(word, host))
        .collect()
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

/// Returns the private host of an address that a user gave as such.
#[must_use]
pub fn private_host_of(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    let host = url.host_str()?.trim_end_matches('.').to_lowercase();
    is_private_host(&host).then_some(host)
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
            &["localhost"],
        );
        check("go to localhost:8080.", &["localhost"]);
        check(
            "look at \"http://192.168.1.10/status\" (the router)",
            &["192.168.1.10"],
        );
        check("打开http://127.0.0.1:8123/填写表单", &["127.0.0.1"]);
        check(
            "open http://0x7f.1/ and http://[::1]:9/",
            &["127.0.0.1", "[::1]"],
        );
        check("open http://intranet/wiki", &["intranet"]);
        check("open https://example.com and note: buy milk at 12:30", &[]);
        check(
            "compare local prices of 10.5 kg and/or the router at intranet:8080",
            &["intranet"],
        );
    }
}
