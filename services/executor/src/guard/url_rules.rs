//! Rules for URLs: allowed schemes, allowed hosts, denied hosts.
//!
//! Pure. A URL is checked as a browser parses it: its host in ASCII and without the trailing dot of a fully qualified
//! name. Enforcing the rules in a browser is the driver's task.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

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
    /// Allowed hosts; an empty list allows none.
    pub hosts: Vec<HostPattern>,
    /// Denied hosts; they take precedence over `hosts`.
    pub denied_hosts: Vec<HostPattern>,
}

impl UrlRules {
    /// Parses a URL as a browser does and checks it.
    ///
    /// # Errors
    /// Returns the refusal.
    pub fn parse_and_check(&self, text: &str) -> Result<Url, Refusal> {
        let url = Url::parse(text).map_err(|error| {
            scheme_refusal(format!(
                "`{text}` is not an absolute URL ({error}); use for example https://example.com/"
            ))
        })?;
        self.check(&url)?;
        Ok(url)
    }

    /// Checks a parsed URL.
    ///
    /// # Errors
    /// Returns the refusal.
    pub fn check(&self, url: &Url) -> Result<(), Refusal> {
        if !self.schemes.iter().any(|allowed| allowed == url.scheme()) {
            let allowed = self.schemes.join(", ");
            return Err(scheme_refusal(format!(
                "URLs with the scheme {} are not allowed; allowed schemes: {allowed}",
                url.scheme()
            )));
        }
        // A `file:` URL has no host; the scheme rule decides about files.
        let Some(host) = url.host() else {
            return Ok(());
        };
        if let Some(pattern) = self.denied_hosts.iter().find(|one| one.matches(&host)) {
            let reason = format!("the host {host} is denied by {pattern}");
            return Err(Refusal {
                rule: "rules.denied_url_hosts",
                reason,
            });
        }
        if self.hosts.iter().any(|pattern| pattern.matches(&host)) {
            return Ok(());
        }
        Err(Refusal {
            rule: "rules.url_hosts",
            reason: format!("the host {host} is not allowed"),
        })
    }

    /// Returns whether a browser may show this URL as a page: an allowed URL, its source, a `blob:` of it, or one of
    /// the browser's own blank pages.
    #[must_use]
    pub fn allows_page(&self, address: &str) -> bool {
        if address.is_empty() || EMPTY_PAGES.contains(&address) {
            return true;
        }
        if let Some(inner) = address.strip_prefix("view-source:") {
            return self.allows_page(inner);
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
            "blob" => Url::parse(url.path()).is_ok_and(|maker| self.check(&maker).is_ok()),
            _ => self.check(&url).is_ok(),
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

    /// Returns whether every `http` and `https` URL is allowed.
    #[must_use]
    pub fn allows_all_web_urls(&self) -> bool {
        let open = |scheme: &&str| self.schemes.iter().any(|allowed| allowed == scheme);
        let any_host = self.hosts.contains(&HostPattern::Any);
        any_host && self.denied_hosts.is_empty() && ["http", "https"].iter().all(open)
    }
}

fn scheme_refusal(reason: String) -> Refusal {
    Refusal {
        rule: "rules.url_schemes",
        reason,
    }
}

/// A pattern for hosts: `example.com`, `*.example.com` including the domain itself and its subdomains, or `*` for any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostPattern {
    Any,
    Named { host: Host, below: bool },
}

impl HostPattern {
    /// Parses a pattern of the configuration.
    ///
    /// # Errors
    /// Returns what is wrong with the pattern, and the valid forms.
    pub fn parse(pattern: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "`{pattern}` is not a host pattern; use example.com, *.example.com, 192.0.2.1, or * for any"
            )
        };
        if pattern.trim() == "*" {
            return Ok(Self::Any);
        }
        let (name, below) = match pattern.trim().strip_prefix("*.") {
            Some(parent) => (parent, true),
            None => (pattern.trim(), false),
        };
        let host = Host::parse(without_root(name)).map_err(|_| bad())?;
        if name.contains('*') || (below && !matches!(host, Host::Domain(_))) {
            return Err(bad());
        }
        Ok(Self::Named { host, below })
    }

    /// Returns whether the pattern matches a host. An IPv4 address and its IPv6-mapped form (`::ffff:192.0.2.1`) are
    /// equal.
    #[must_use]
    pub fn matches(&self, host: &Host<&str>) -> bool {
        let Self::Named {
            host: wanted,
            below,
        } = self
        else {
            return true;
        };
        match (wanted, host) {
            (Host::Domain(wanted), Host::Domain(given)) => {
                let given = without_root(given);
                given == wanted
                    || *below
                        && given
                            .strip_suffix(wanted.as_str())
                            .is_some_and(|below| below.ends_with('.'))
            }
            (Host::Domain(_), _) | (_, Host::Domain(_)) => false,
            (wanted, given) => {
                let given = given.to_owned();
                as_ipv6(wanted) == as_ipv6(&given)
            }
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Named { host, below: true } => write!(f, "*.{host}"),
            Self::Named { host, below: false } => write!(f, "{host}"),
        }
    }
}

/// Strips the trailing dot of a fully qualified name.
fn without_root(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

fn as_ipv6<S>(host: &Host<S>) -> Option<Ipv6Addr> {
    match host {
        Host::Ipv4(number) => Some(Ipv4Addr::to_ipv6_mapped(number)),
        Host::Ipv6(number) => Some(*number),
        Host::Domain(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(hosts: &[&str]) -> Vec<HostPattern> {
        hosts
            .iter()
            .map(|host| HostPattern::parse(host).unwrap())
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
        match (addresses.parse_and_check(address), expected) {
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
        let named = addresses(&["example.com"], &[]);
        for shown in [
            "",
            "about:blank",
            "chrome://newtab/",
            "chrome-error://chromewebdata/",
            "https://example.com/",
            "view-source:https://example.com/",
            "blob:https://example.com/7b4c",
        ] {
            assert!(named.allows_page(shown), "{shown}");
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
            assert!(!named.allows_page(hidden), "{hidden}");
        }
    }

    #[test]
    fn all_web_urls_are_allowed_only_without_restrictions() {
        assert!(addresses(&["*"], &[]).allows_all_web_urls());
        assert!(!addresses(&[], &[]).allows_all_web_urls());
        assert!(!addresses(&["example.com"], &[]).allows_all_web_urls());
        assert!(!addresses(&["*"], &["evil.test"]).allows_all_web_urls());
        let secure = UrlRules {
            schemes: vec!["https".to_owned()],
            ..addresses(&["*"], &[])
        };
        assert!(!secure.allows_all_web_urls());
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
        ] {
            assert!(HostPattern::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(
            HostPattern::parse("*.Bücher.example.").unwrap().to_string(),
            "*.xn--bcher-kva.example"
        );
    }
}
