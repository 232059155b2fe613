//! Addresses in text that is typed into an address bar.
//!
//! Follows the address bars of Chromium and Firefox, and takes a text for an address where they differ. What is left is a
//! search. A text with several readings yields each of them, so that a harmless one hides none. It does not decide whether an
//! address may be opened.

use std::net::Ipv6Addr;

use url::{Host, Url};

/// Schemes that browsers open themselves, whatever follows: `file:80/x` is no host with a port.
const BROWSER_SCHEMES: [&str; 25] = [
    "about",
    "blob",
    "brave",
    "chrome",
    "chrome-extension",
    "chrome-search",
    "chrome-untrusted",
    "data",
    "devtools",
    "edge",
    "file",
    "filesystem",
    "ftp",
    "http",
    "https",
    "isolated-app",
    "jar",
    "javascript",
    "moz-extension",
    "opera",
    "resource",
    "vbscript",
    "view-source",
    "vivaldi",
    "wyciwyg",
];
/// Schemes of other programs that may be followed by a number, as in `tel:112`.
const PROGRAM_SCHEMES: [&str; 8] = [
    "callto", "facetime", "mailto", "sip", "sips", "skype", "sms", "tel",
];
/// Schemes that Firefox corrects, and what it opens.
const MISTYPED_SCHEMES: [(&str, &str); 8] = [
    ("htp", "http"),
    ("htps", "https"),
    ("ile", "file"),
    ("le", "file"),
    ("ps", "https"),
    ("tps", "https"),
    ("ttp", "http"),
    ("ttps", "https"),
];
/// Schemes of which the rest of the address may begin with a space, as in `javascript: alert(1)`.
const SCHEMES_BEFORE_A_SPACE: [&str; 9] = [
    "blob",
    "data",
    "file",
    "filesystem",
    "http",
    "https",
    "javascript",
    "vbscript",
    "view-source",
];
/// Schemes that wrap an address.
const WRAPPING_SCHEMES: [&str; 6] = [
    "blob",
    "feed",
    "filesystem",
    "jar",
    "microsoft-edge",
    "view-source",
];
/// Beginnings after which browsers read a host.
const BEFORE_HOST: [&str; 3] = ["://", "//", "\\\\"];
/// Operators of search engines, which are written like a scheme.
const SEARCH_OPERATORS: [&str; 12] = [
    "after", "before", "cache", "define", "filetype", "from", "intext", "intitle", "inurl",
    "related", "site", "to",
];
/// Top-level domains in Chinese, as they are written in host names. Other texts with an ideographic full stop are prose.
const CHINESE_TOP_LEVEL_DOMAINS: [&str; 8] = [
    "xn--fiqs8s",
    "xn--fiqz9s",
    "xn--55qx5d",
    "xn--io0a7i",
    "xn--3ds443g",
    "xn--kprw13d",
    "xn--j6w193g",
    "xn--ses554g",
];
/// Smallest decimal number that is an IPv4 address outside of `0.0.0.0/8`.
const FIRST_IPV4_NUMBER: u64 = 1 << 24;

/// Returns the addresses that a browser may open for a text in its address bar; none if it searches for the text.
pub(crate) fn typed_addresses(text: &str) -> Vec<Url> {
    // Browsers drop line breaks and control characters of a pasted text, also within a scheme.
    let text: String = text
        .chars()
        .filter(|letter| !letter.is_control() || *letter == ' ')
        .collect();
    let text = text.trim();
    if text.starts_with('?') {
        return Vec::new();
    }
    let readings = [
        // The letter of a drive is no scheme.
        file_path(text).or_else(|| with_scheme(text)),
        with_mistyped_scheme(text),
        bare_ipv6(text),
        without_scheme(text),
    ];
    readings.into_iter().flatten().collect()
}

/// Returns the top-level domains with which browsers complete a name if Enter is pressed with these keys. Chromium knows ctrl
/// alone, Firefox has had one for each of the three.
pub(super) fn completing_suffixes(ctrl: bool, shift: bool) -> &'static [&'static str] {
    match (ctrl, shift) {
        (true, false) => &["com"],
        (false, true) => &["net"],
        (true, true) => &["com", "org"],
        (false, false) => &[],
    }
}

/// Returns the address to which browsers complete a text: `www.pay.com` for `pay`. A text with a space is a search.
pub(super) fn completed(text: &str, suffix: &str) -> Option<Url> {
    let text = text.trim();
    if text.is_empty() || text.contains(char::is_whitespace) {
        return None;
    }
    let (scheme, name) = text.split_once("://").unwrap_or(("https", text));
    let end = name.find([':', '/', '\\', '?', '#']);
    let (host, rest) = name.split_at(end.unwrap_or(name.len()));
    let www = if host.starts_with("www.") { "" } else { "www." };
    let address = Url::parse(&format!("{scheme}://{www}{host}.{suffix}{rest}"));
    address.ok().filter(|_| !host.is_empty())
}

/// Returns an address and the addresses that it wraps: `view-source:file:///x` and `file:///x`.
pub(super) fn unwrapped(address: Url) -> Vec<Url> {
    let mut found = vec![address];
    let mut next = 0;
    // Not recursive: a text may wrap an address thousands of times.
    while let Some(outer) = found.get(next) {
        let inner = wrapped(outer);
        found.extend(inner);
        next += 1;
    }
    found
}

fn wrapped(outer: &Url) -> Vec<Url> {
    let wraps = WRAPPING_SCHEMES.contains(&outer.scheme());
    let inner = outer.as_str().split_once(':').filter(|_| wraps);
    inner
        .map(|(_, inner)| typed_addresses(inner))
        .unwrap_or_default()
}

/// Parses `fe80::1`, with or without a path.
fn bare_ipv6(text: &str) -> Option<Url> {
    let host = before_path(text);
    let address: Ipv6Addr = host.parse().ok()?;
    Url::parse(&format!("https://[{address}]{}", &text[host.len()..])).ok()
}

/// Parses a path of a file, which address bars open: `/etc/passwd`, `~/notes`, `C:\notes`, `\\server\share`.
fn file_path(text: &str) -> Option<Url> {
    let mut letters = text.chars();
    let is_on_drive = letters
        .next()
        .is_some_and(|drive| drive.is_ascii_alphabetic())
        && letters.next() == Some(':')
        && letters
            .next()
            .is_some_and(|next| matches!(next, '\\' | '/'));
    let is_on_server = text.starts_with("\\\\");
    let is_on_unix = text.starts_with('~') || (text.starts_with('/') && text.len() > 1);
    if !is_on_drive && !is_on_server && !is_on_unix {
        return None;
    }
    let path = text.replace('\\', "/");
    Url::parse(&format!("file:///{}", path.trim_start_matches('/'))).ok()
}

/// Parses an address with a scheme. A host with a port (`intranet:8080`) is written alike, and counts only for known schemes.
/// A user with a password (`ann:pw@example.org`) counts always, because any program may have registered the scheme.
fn with_scheme(text: &str) -> Option<Url> {
    let (scheme, rest) = text.split_once(':')?;
    let scheme = scheme.to_ascii_lowercase();
    let is_in = |schemes: &[&str]| schemes.contains(&scheme.as_str());
    let is_known = is_in(&BROWSER_SCHEMES) || is_in(&PROGRAM_SCHEMES);
    let is_host = is_port(rest) || bare_ipv6(text).is_some();
    let is_unknown_host = is_host && !is_known;
    if rest.is_empty() || is_unknown_host || is_in(&SEARCH_OPERATORS) || is_prose(&scheme, rest) {
        return None;
    }
    // Browsers ignore an authority that the standard forbids: Firefox opens the file of `file://a@b/etc/passwd`. Web addresses
    // need their host, so that the second form parses for other schemes only.
    let address = Url::parse(text).or_else(|_| Url::parse(&format!("{scheme}:/")));
    address.ok()
}

fn with_mistyped_scheme(text: &str) -> Option<Url> {
    let (written, rest) = text.split_once(':')?;
    let mut known = MISTYPED_SCHEMES.iter();
    let (_, meant) = known.find(|(mistyped, _)| written.eq_ignore_ascii_case(mistyped))?;
    with_scheme(&format!("{meant}:{rest}"))
}

/// Returns true for a word, a colon and other words (`note: buy milk`). No page of a browser begins with a space.
fn is_prose(scheme: &str, rest: &str) -> bool {
    if !rest.contains(char::is_whitespace)
        || rest.starts_with("//")
        || SCHEMES_BEFORE_A_SPACE.contains(&scheme)
    {
        return false;
    }
    !BROWSER_SCHEMES.contains(&scheme) || rest.starts_with(char::is_whitespace)
}

fn is_port(rest: &str) -> bool {
    let port = before_path(rest);
    !port.is_empty() && port.parse::<u16>().is_ok()
}

/// Parses a host, with or without a port and a path.
fn without_scheme(text: &str) -> Option<Url> {
    let mut beginnings = BEFORE_HOST.iter();
    let host = beginnings.find_map(|beginning| text.strip_prefix(beginning));
    let text = host.unwrap_or(text);
    let authority = before_path(text);
    let path = &text[authority.len()..];
    // `~` and `~ann` are folders.
    let is_folder = authority.starts_with('~') && !authority.contains('@');
    if authority.is_empty()
        || authority.ends_with(':')
        || authority.contains(char::is_whitespace)
        || is_folder
    {
        return None;
    }
    let url = Url::parse(&format!("https://{text}")).ok()?;
    // A word before a slash is a host only if nothing else is written: `and/or the other` is prose.
    let has_path = path.starts_with(['/', '\\']) && !path.contains(char::is_whitespace);
    let has_port = authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| is_port(port));
    let is_user = !url.username().is_empty() && url.password().is_none();
    let is_host = match url.host()? {
        Host::Ipv6(_) => true,
        Host::Ipv4(_) => is_ipv4_notation(authority),
        Host::Domain(_) if has_path || has_port => true,
        // `user@example.org` is an e-mail address.
        Host::Domain(name) if is_user && path.is_empty() && name.contains('.') => false,
        Host::Domain(name) => is_domain(name, authority),
    };
    is_host.then_some(url)
}

/// Returns true for a number that is meant as an IPv4 address: with points, in hexadecimal, or large. A small number is a time, a date
/// or a fraction: `12:30`, `12/05/2026`.
fn is_ipv4_notation(authority: &str) -> bool {
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let host = host.split(':').next().unwrap_or(host);
    match host.trim_end_matches('.').parse::<u64>() {
        Ok(number) => number == 0 || number >= FIRST_IPV4_NUMBER,
        Err(_) => true,
    }
}

/// Returns true for `localhost` and for names with a top-level domain, which has at least two letters. A number with a point is no
/// domain.
fn is_domain(name: &str, written: &str) -> bool {
    let name = name.trim_end_matches('.');
    let Some((_, ending)) = name.rsplit_once('.') else {
        return name == "localhost";
    };
    match ending.starts_with("xn--") {
        true => !written.contains('。') || CHINESE_TOP_LEVEL_DOMAINS.contains(&ending),
        false => ending.len() >= 2 && ending.chars().all(char::is_alphabetic),
    }
}

/// Returns the part of a text before a path, a query or a fragment.
fn before_path(text: &str) -> &str {
    let end = text.find(['/', '\\', '?', '#']);
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed_as_browsers_do() {
        let check = |typed: &str, expected: Option<&str>| {
            let address = completed(typed, "com").map(String::from);
            assert_eq!(address.as_deref(), expected, "{typed}");
        };
        check("pay", Some("https://www.pay.com/"));
        check("www.pay", Some("https://www.pay.com/"));
        check(
            "pay:8443/login?a=b",
            Some("https://www.pay.com:8443/login?a=b"),
        );
        check("http://pay/x", Some("http://www.pay.com/x"));
        check("how to pay", None);
        check("", None);
        check("/etc/passwd", None);
    }

    fn readings(typed: &str) -> Vec<String> {
        let found = typed_addresses(typed).into_iter();
        found.map(String::from).collect()
    }

    fn opens(typed: &str, expected: &str) {
        let found = readings(typed);
        assert!(
            found.iter().any(|url| url == expected),
            "{typed:?}: {found:?}"
        );
    }

    fn searches(typed: &str) {
        assert_eq!(readings(typed), [""; 0], "{typed:?}");
    }

    #[test]
    fn every_scheme_is_an_address() {
        opens("file:///etc/passwd", "file:///etc/passwd");
        opens("FILE:///etc/my notes", "file:///etc/my%20notes");
        opens("chrome://settings", "chrome://settings");
        opens("view-source:file:///x", "view-source:file:///x");
        opens("data:text/html,<b>a b", "data:text/html,<b>a b");
        opens(" javascript: alert(1)", "javascript: alert(1)");
        opens("java\nscript:alert(1)", "javascript:alert(1)");
        opens("mailto:ann@example.org", "mailto:ann@example.org");
        opens("x-own:thing", "x-own:thing");
        opens("x-own://a thing", "x-own:/");
        opens("chrome:settings/a b", "chrome:settings/a b");
        opens("javascript:// x%0aalert(1)", "javascript:/");
        opens("about:config", "about:config");
        opens("https:example.org", "https://example.org/");
        opens("http:/example.org", "http://example.org/");
        opens("http:\\\\example.org", "http://example.org/");
        opens("/etc/passwd", "file:///etc/passwd");
        opens("~/.ssh/id_rsa", "file:///~/.ssh/id_rsa");
        opens("C:\\notes.txt", "file:///C:/notes.txt");
        opens("\\\\server\\share", "file:///server/share");
    }

    #[test]
    fn every_notation_of_an_ip_address_is_an_address() {
        for typed in [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "0x7f.1",
        ] {
            opens(typed, "https://127.0.0.1/");
        }
        opens("１２７.0.0.1", "https://127.0.0.1/");
        opens("0", "https://0.0.0.0/");
        opens("169.254.169.254/latest", "https://169.254.169.254/latest");
        opens("127.0.0.1:8080", "https://127.0.0.1:8080/");
        opens("[::1]", "https://[::1]/");
        opens("[::1]:8080/x", "https://[::1]:8080/x");
        opens("::1", "https://[::1]/");
        opens("fe80::1", "https://[fe80::1]/");
        opens("::1/admin", "https://[::1]/admin");
        opens("ann@127.0.0.1", "https://ann@127.0.0.1/");
        opens("::ffff:10.0.0.1", "https://[::ffff:a00:1]/");
    }

    #[test]
    fn hosts_are_addresses() {
        opens("localhost", "https://localhost/");
        opens("LOCALHOST.", "https://localhost./");
        opens("app.localhost", "https://app.localhost/");
        opens("localhost:8080/x", "https://localhost:8080/x");
        opens("intranet:8080", "https://intranet:8080/");
        opens("intranet/", "https://intranet/");
        opens("intranet/wiki", "https://intranet/wiki");
        opens("example.org", "https://example.org/");
        opens("example.org/a b", "https://example.org/a%20b");
        opens("ann@localhost", "https://ann@localhost/");
        opens("ann@example.org:8080", "https://ann@example.org:8080/");
        opens("://localhost", "https://localhost/");
        opens("例子.中国", "https://xn--fsqu00a.xn--fiqs8s/");
    }

    #[test]
    fn other_texts_are_searches() {
        for typed in [
            "",
            "intranet",
            "cheap flights",
            "what is localhost",
            "? example.org",
            "ann@example.org",
            "and/or the other",
            "Re: invoice",
            "note: buy milk",
            "about: my cat",
            "site:example.org",
            "12:30",
            "12/05/2026",
            "1/2",
            "42",
            "2026",
            "3.",
            "3.x",
            "v1.2.b",
            "你好。世界",
            "天气",
            "http://",
        ] {
            searches(typed);
        }
    }

    #[test]
    fn a_text_with_several_readings_yields_each() {
        let check = |typed: &str, expected: &[&str]| {
            assert_eq!(readings(typed), expected, "{typed:?}");
        };
        for (typed, host) in [
            ("file:a@b/../etc/passwd", "https://file:a@b/etc/passwd"),
            ("file:80/../etc/passwd", "https://file:80/etc/passwd"),
        ] {
            check(typed, &["file:///etc/passwd", host]);
        }
        check("file://a@b/etc/passwd", &["file:///"]);
        check("file://a:80/etc/passwd", &["file:///"]);
        for typed in [
            "chrome:a@settings/passwords",
            "edge:1/flags",
            "javascript:1/alert(1)",
            "javascript:1@b/alert(1)",
            "view-source:a@b/x",
            "ann:pw@example.org/",
        ] {
            check(typed, &[typed, &format!("https://{typed}")]);
        }
        check("tel:112", &["tel:112", "https://tel:112/"]);
        check(
            "http:0/admin",
            &["http://0.0.0.0/admin", "https://http:0/admin"],
        );
        check(
            "ile:80/etc/passwd",
            &["file:///80/etc/passwd", "https://ile:80/etc/passwd"],
        );
        check(
            "//localhost/x",
            &["file:///localhost/x", "https://localhost/x"],
        );
        check(
            "~a@example.org/x",
            &["file:///~a@example.org/x", "https://~a@example.org/x"],
        );
        check("intranet:8080", &["https://intranet:8080/"]);
        check("fe80::1", &["https://[fe80::1]/"]);
        check("https://example.org/", &["https://example.org/"]);
        check("~/notes", &["file:///~/notes"]);
        check("C:/notes", &["file:///C:/notes"]);
    }

    #[test]
    fn wrapped_addresses_are_found() {
        let check = |typed: &str, expected: &[&str]| {
            let found = typed_addresses(typed).into_iter().flat_map(unwrapped);
            let found: Vec<String> = found.map(String::from).collect();
            assert_eq!(found, expected, "{typed:?}");
        };
        check(
            "view-source:http://127.0.0.1/x",
            &["view-source:http://127.0.0.1/x", "http://127.0.0.1/x"],
        );
        check(
            "view-source:view-source:file:///x",
            &[
                "view-source:view-source:file:///x",
                "view-source:file:///x",
                "file:///x",
            ],
        );
    }
}
