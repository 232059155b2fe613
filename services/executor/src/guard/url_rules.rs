//! Rules for URLs: allowed schemes, allowed hosts, denied hosts.
//!
//! A URL is checked as a browser parses it: its host in ASCII and without the trailing dot of a fully qualified name.
//! Private hosts (this machine, the local network, metadata services) are denied unless a pattern lists them or the user
//! named them: the caller passes the hosts of its lease. Enforcing the rules in a browser is the driver's task.

use std::fmt;
use std::net::IpAddr;

use motorium_kit::host_pattern::{FORMS, Host, HostPattern};
use motorium_proto::domain::private_host::{is_private_address, is_private_host};
use url::Url;

use super::named_hosts::NamedHosts;
use super::refusal::Refusal;

/// Default schemes of allowed URLs.
pub const DEFAULT_URL_SCHEMES: &[&str] = &["http", "https"];

/// Blank pages that a browser shows before its first navigation.
const EMPTY_PAGES: &[&str] = &["about:blank", "about:srcdoc"];
/// Hosts of the `chrome` scheme that are blank pages or error pages.
const EMPTY_CHROME_PAGES: &[&str] = &[
    "newtab",
    "new-tab-page",
    "new-tab-page-third-party",
    "chromewebdata",
];

/// Rules for the URLs that may be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlRules {
    /// Allowed schemes, in lower case.
    pub schemes: Vec<String>,
    /// Allowed hosts; an empty list allows none. Private hosts that the user named are allowed where `*` is.
    pub hosts: Vec<HostRule>,
    /// Denied hosts; they take precedence over `hosts`.
    pub denied_hosts: Vec<HostRule>,
}

impl UrlRules {
    /// Parses a URL as a browser does and checks it.
    ///
    /// # Errors
    /// Returns the refusal.
    pub fn parse_and_check(&self, text: &str, named: &NamedHosts) -> Result<Url, Refusal> {
        let url = Url::parse(text).map_err(|error| {
            scheme_refusal(format!(
                "`{text}` is not an absolute URL ({error}); use for example https://example.com/"
            ))
        })?;
        self.check(&url, named)?;
        Ok(url)
    }

    /// Checks the addresses that the text or the keys of an action may open in the address bar of a browser.
    ///
    /// # Errors
    /// Returns the refusal of the first one that is not allowed.
    pub fn check_typed(&self, addresses: &[String], named: &NamedHosts) -> Result<(), Refusal> {
        let pages = addresses
            .iter()
            .filter(|address| !EMPTY_PAGES.contains(&address.as_str()));
        for address in pages {
            self.parse_and_check(address, named)
                .map_err(|refusal| Refusal {
                    // The focus is not always known, and the text may be none for the address bar.
                    reason: format!(
                        "{}. It may be typed into an address bar; if it is for another field, click that field first",
                        refusal.reason
                    ),
                    ..refusal
                })?;
        }
        Ok(())
    }

    /// Checks a parsed URL.
    ///
    /// # Errors
    /// Returns the refusal.
    pub fn check(&self, url: &Url, named: &NamedHosts) -> Result<(), Refusal> {
        if !self.schemes.iter().any(|allowed| allowed == url.scheme()) {
            let allowed = self.schemes.join(", ");
            return Err(scheme_refusal(format!(
                "URLs with the scheme {} are not allowed; allowed schemes: {allowed}",
                url.scheme()
            )));
        }
        // A `file:` URL has no host; the scheme rule decides about files.
        let Some(written) = url.host() else {
            return Ok(());
        };
        let host = Host::from(written.clone());
        if let Some(rule) = self.denied_hosts.iter().find(|one| one.matches(&host)) {
            let reason = format!("the host {written} is denied by {rule}");
            return Err(Refusal {
                rule: "rules.denied_url_hosts",
                reason,
            });
        }
        if self.lists(&host) {
            return Ok(());
        }
        if !self.allows_any_host() {
            return Err(Refusal {
                rule: "rules.url_hosts",
                reason: format!("the host {written} is not allowed"),
            });
        }
        if !is_private_host(&written.to_string()) || named.contain(url) {
            return Ok(());
        }
        Err(Refusal {
            rule: "rules.url_hosts",
            reason: format!(
                "the host {written} is on this machine or its network; name its address with its port in the goal, or list it in \
                 executor.rules.url_hosts"
            ),
        })
    }

    /// Returns whether a page may come from this address: a public one, or one that the rules list, for a host that they
    /// list or that the user named. Addresses that are denied are denied under every name.
    #[must_use]
    pub fn allows_remote(&self, url: &Url, address: IpAddr, named: &NamedHosts) -> bool {
        let literal = Host::Ip(address.to_canonical());
        if self.denied_hosts.iter().any(|one| one.matches(&literal)) {
            return false;
        }
        let is_listed = url.host().is_some_and(|host| self.lists(&host.into()));
        !is_private_address(address) || self.lists(&literal) || is_listed || named.contain(url)
    }

    /// Returns whether a rule other than `*` matches a host.
    fn lists(&self, host: &Host) -> bool {
        let mut listed = self.hosts.iter().filter(|one| **one != HostRule::Any);
        listed.any(|rule| rule.matches(host))
    }

    fn allows_any_host(&self) -> bool {
        self.hosts.contains(&HostRule::Any)
    }

    /// Returns whether a browser may show this URL as a page: an allowed URL, its source, a `blob:` of it, or one of
    /// the browser's own blank pages.
    #[must_use]
    pub fn allows_page(&self, address: &str, named: &NamedHosts) -> bool {
        if address.is_empty() || EMPTY_PAGES.contains(&address) {
            return true;
        }
        if let Some(inner) = address.strip_prefix("view-source:") {
            return self.allows_page(inner, named);
        }
        let Ok(url) = Url::parse(address) else {
            return false;
        };
        match url.scheme() {
            "chrome-error" => true,
            "chrome"
                if url
                    .host_str()
                    .is_some_and(|host| EMPTY_CHROME_PAGES.contains(&host)) =>
            {
                true
            }
            "blob" => Url::parse(url.path()).is_ok_and(|maker| self.check(&maker, named).is_ok()),
            _ => self.check(&url, named).is_ok(),
        }
    }

    /// Returns the rules as patterns such as `https://*.example.com/*`. Denied hosts start with `not `.
    #[must_use]
    pub fn patterns(&self) -> Vec<String> {
        let of_scheme = |scheme: &String| match scheme.as_str() {
            "file" => vec!["file:///*".to_owned()],
            _ => self
                .hosts
                .iter()
                .map(|host| format!("{scheme}://{host}/*"))
                .collect(),
        };
        let denied = self.denied_hosts.iter().map(|host| format!("not {host}"));
        self.schemes
            .iter()
            .flat_map(of_scheme)
            .chain(denied)
            .collect()
    }

    /// Returns whether every `http` and `https` URL of a public host is allowed.
    #[must_use]
    pub fn allows_all_public_urls(&self) -> bool {
        let open = |scheme: &&str| self.schemes.iter().any(|allowed| allowed == scheme);
        self.allows_any_host() && self.denied_hosts.is_empty() && ["http", "https"].iter().all(open)
    }
}

fn scheme_refusal(reason: String) -> Refusal {
    Refusal {
        rule: "rules.url_schemes",
        reason,
    }
}

/// Hosts of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostRule {
    /// Any public host, written `*`.
    Any,
    /// The hosts of a pattern.
    Listed(HostPattern),
}

impl HostRule {
    /// Parses a rule of the configuration.
    ///
    /// # Errors
    /// Returns what is wrong with the rule, and the valid forms.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "*" {
            return Ok(Self::Any);
        }
        let pattern = text.parse();
        let bad =
            |_| format!("`{text}` is not a host pattern; use {FORMS}, or * for any public host");
        pattern.map(Self::Listed).map_err(bad)
    }

    /// Returns whether the rule is for a host.
    #[must_use]
    pub fn matches(&self, host: &Host) -> bool {
        match self {
            Self::Any => true,
            Self::Listed(pattern) => pattern.matches(host),
        }
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Listed(pattern) => pattern.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(hosts: &[&str]) -> Vec<HostRule> {
        hosts
            .iter()
            .map(|host| HostRule::parse(host).unwrap())
            .collect()
    }

    fn addresses(hosts: &[&str], denied: &[&str]) -> UrlRules {
        UrlRules {
            schemes: DEFAULT_URL_SCHEMES
                .iter()
                .map(ToString::to_string)
                .collect(),
            hosts: patterns(hosts),
            denied_hosts: patterns(denied),
        }
    }

    fn check(addresses: &UrlRules, address: &str, expected: Result<&str, (&str, &str)>) {
        check_with(&NamedHosts::default(), addresses, address, expected);
    }

    fn check_with(
        named: &NamedHosts,
        addresses: &UrlRules,
        address: &str,
        expected: Result<&str, (&str, &str)>,
    ) {
        match (addresses.parse_and_check(address, named), expected) {
            (Ok(url), Ok(expected)) => assert_eq!(url.as_str(), expected),
            (Err(refusal), Err((rule, part))) => {
                assert_eq!(refusal.rule, rule, "{address}");
                assert!(refusal.reason.contains(part), "{}", refusal.reason);
            }
            (got, expected) => panic!("{address}: {got:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn addresses_are_judged_as_a_browser_reads_them() {
        let named = addresses(&["*.Example.com", "localhost", "bücher.example"], &[]);
        let stranger = |host| Err(("rules.url_hosts", host));
        let scheme = |part| Err(("rules.url_schemes", part));
        check(
            &named,
            "HTTPS://WWW.EXAMPLE.COM",
            Ok("https://www.example.com/"),
        );
        check(&named, "https://example.com./", Ok("https://example.com./"));
        check(
            &named,
            "http://localhost:8080/",
            Ok("http://localhost:8080/"),
        );
        check(
            &named,
            "https://xn--bcher-kva.example/",
            Ok("https://xn--bcher-kva.example/"),
        );
        check(
            &named,
            "https://example.com/a b\t?q=ü",
            Ok("https://example.com/a%20b?q=%C3%BC"),
        );
        check(
            &named,
            "https://notexample.com/",
            stranger("notexample.com"),
        );
        check(
            &named,
            "https://example.com@evil.test/",
            stranger("evil.test"),
        );
        check(
            &named,
            "https:\\\\evil.test\\example.com",
            stranger("evil.test"),
        );
        check(&named, "javascript:alert(1)", scheme("javascript"));
        check(&named, "file:///etc/passwd", scheme("file"));
        check(&named, "--incognito", scheme("absolute URL"));
        check(&named, "ftp://example.com", scheme("ftp"));
    }

    #[test]
    fn urls_outside_the_allowed_hosts_are_refused() {
        check(
            &addresses(&["*"], &[]),
            "https://example.com/",
            Ok("https://example.com/"),
        );
        let nothing = addresses(&[], &[]);
        check(
            &nothing,
            "https://example.com/",
            Err(("rules.url_hosts", "example.com")),
        );
    }

    #[test]
    fn denied_hosts_are_denied_in_every_spelling() {
        let most = addresses(&["*"], &["evil.test", "*.ads.test", "127.0.0.1"]);
        let denied = |host| Err(("rules.denied_url_hosts", host));
        check(&most, "https://example.com/", Ok("https://example.com/"));
        check(&most, "http://sub.evil.test/", Ok("http://sub.evil.test/"));
        for spelling in [
            "http://EVIL.test./",
            "http://a@evil.test:8/",
            "http://%65vil.test/",
        ] {
            check(&most, spelling, denied("evil.test"));
        }
        for spelling in ["http://ads.test/", "http://a.b.ads.test/"] {
            check(&most, spelling, denied("ads.test"));
        }
        for spelling in [
            "http://127.0.0.1/",
            "http://0x7f.1/",
            "http://[::ffff:127.0.0.1]/",
        ] {
            check(&most, spelling, denied("127.0.0.1"));
        }
        let both = addresses(&["*.example.com"], &["pay.example.com"]);
        check(&both, "http://pay.example.com/", denied("pay.example.com"));
        check(&both, "http://example.com/", Ok("http://example.com/"));
    }

    #[test]
    fn visible_pages_must_be_allowed_urls_or_blank() {
        let (named, none) = (addresses(&["example.com"], &[]), NamedHosts::default());
        for shown in [
            "",
            "about:blank",
            "chrome://newtab/",
            "chrome-error://chromewebdata/",
            "https://example.com/",
            "view-source:https://example.com/",
            "blob:https://example.com/7b4c",
        ] {
            assert!(named.allows_page(shown, &none), "{shown}");
        }
        for hidden in [
            "https://evil.test/",
            "view-source:https://evil.test/",
            "view-source:file:///etc/passwd",
            "blob:https://evil.test/7b4c",
            "data:text/html,x",
            "file:///etc/passwd",
            "chrome://settings/",
            "filesystem:https://example.com/x",
            "nonsense",
        ] {
            assert!(!named.allows_page(hidden, &none), "{hidden}");
        }
    }

    #[test]
    fn private_hosts_are_allowed_only_if_they_are_listed_or_named() {
        let (any, named) = (addresses(&["*"], &[]), NamedHosts::default());
        let refused = Err(("rules.url_hosts", "executor.rules.url_hosts"));
        for private in [
            "http://localhost:3000/",
            "http://app.localhost/",
            "http://printer.local/",
            "http://metadata.google.internal/",
            "http://router/",
            "http://169.254.169.254/latest/meta-data/",
            "http://2852039166/",
            "http://0xa9.0xfe.0xa9.0xfe/",
            "http://0251.0376.0251.0376/",
            "http://127.1/",
            "http://0/",
            "http://[::ffff:10.0.0.1]/",
            "http://[::1]:8080/",
            "http://[fd00::1]/",
            "http://10.0.0.1./",
            "http://user@192.168.1.1/",
            "http://１２７.０.０.１/",
        ] {
            check_with(&named, &any, private, refused);
            assert!(!any.allows_page(private, &named), "{private}");
            assert!(!any.allows_page(&format!("view-source:{private}"), &named));
        }
        named.add(&[
            "LOCALHOST:3000".to_owned(),
            "127.0.0.1".to_owned(),
            "[fd00::2]:8080".to_owned(),
        ]);
        check_with(
            &named,
            &any,
            "http://localhost:3000/",
            Ok("http://localhost:3000/"),
        );
        check_with(&named, &any, "http://127.1/", Ok("http://127.0.0.1/"));
        check_with(
            &named,
            &any,
            "http://[fd00::2]:8080/",
            Ok("http://[fd00::2]:8080/"),
        );
        for other in [
            "http://[::1]/",
            "http://localhost/",
            "https://localhost/",
            "http://localhost:9222/json",
            "http://localhost:22/",
            "http://127.0.0.1:3000/",
            "http://3000:3000@localhost:5432/",
            "http://[fd00::2]/",
            "http://[fd00::2]:80/",
        ] {
            check_with(&named, &any, other, refused);
            assert!(!any.allows_page(other, &named), "{other}");
            let at_named_port = Url::parse(other).unwrap();
            let local = "127.0.0.1".parse().unwrap();
            assert!(!any.allows_remote(&at_named_port, local, &named));
        }
        named.clear();
        check_with(&named, &any, "http://localhost:3000/", refused);

        let listed = addresses(
            &["*", "localhost", "192.168.0.0/16", "[fd00::]/8"],
            &["192.168.1.1"],
        );
        for allowed in [
            "http://localhost/",
            "http://192.168.1.2/",
            "http://[fd12::1]/",
            "https://example.com/",
        ] {
            check(&listed, allowed, Ok(allowed));
        }
        check(&listed, "http://192.169.1.1/x", Ok("http://192.169.1.1/x"));
        check(&listed, "http://10.0.0.1/", refused);
        check(
            &listed,
            "http://192.168.1.1/",
            Err(("rules.denied_url_hosts", "192.168.1.1")),
        );

        // A strict list stays strict: what the user names replaces only the exception of `*`.
        let strict = addresses(&["example.com"], &[]);
        named.add(&["localhost:80".to_owned()]);
        check_with(
            &named,
            &strict,
            "http://localhost/",
            Err(("rules.url_hosts", "not allowed")),
        );
    }

    #[test]
    fn a_public_name_at_a_private_address_is_found_out() {
        let url = |text: &str| Url::parse(text).unwrap();
        let local: IpAddr = "127.0.0.1".parse().unwrap();
        let (any, named) = (addresses(&["*"], &["203.0.113.9"]), NamedHosts::default());
        assert!(!any.allows_remote(&url("https://rebind.example/"), local, &named));
        assert!(!any.allows_remote(
            &url("https://x.example/"),
            "::ffff:10.0.0.1".parse().unwrap(),
            &named
        ));
        assert!(any.allows_remote(
            &url("https://x.example/"),
            "203.0.113.8".parse().unwrap(),
            &named
        ));
        assert!(!any.allows_remote(
            &url("https://x.example/"),
            "203.0.113.9".parse().unwrap(),
            &named
        ));
        named.add(&["rebind.example:443".to_owned()]);
        assert!(any.allows_remote(&url("https://rebind.example/"), local, &named));
        assert!(!any.allows_remote(&url("https://rebind.example:444/"), local, &named));
        let intranet = addresses(&["*", "*.corp.example"], &[]);
        assert!(intranet.allows_remote(&url("https://wiki.corp.example/"), local, &named));
        let network = addresses(&["*", "127.0.0.0/8"], &[]);
        assert!(network.allows_remote(&url("https://anything.example/"), local, &named));
    }

    #[test]
    fn all_public_urls_are_allowed_only_without_restrictions() {
        assert!(addresses(&["*"], &[]).allows_all_public_urls());
        assert!(!addresses(&[], &[]).allows_all_public_urls());
        assert!(!addresses(&["example.com"], &[]).allows_all_public_urls());
        assert!(!addresses(&["*"], &["evil.test"]).allows_all_public_urls());
        let secure = UrlRules {
            schemes: vec!["https".to_owned()],
            ..addresses(&["*"], &[])
        };
        assert!(!secure.allows_all_public_urls());
    }

    #[test]
    fn a_pattern_that_names_no_host_is_refused() {
        for bad in [
            "",
            "https://example.com",
            "example.com/path",
            "**",
            "a.*.com",
            "*.127.0.0.1",
            "10.0.0.0/33",
            "10.0.0/8",
            "example.com/8",
        ] {
            assert!(HostRule::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(
            HostRule::parse("*.Bücher.example.").unwrap().to_string(),
            "*.xn--bcher-kva.example"
        );
    }
}
