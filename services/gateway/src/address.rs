//! The addresses of the gateway: the one of the page, and the one at which programs find it.
//!
//! The page has a host name of its own below `localhost`, which browsers resolve to this machine without asking anyone.
//! Cookies belong to a host whatever its port: one for `127.0.0.1` would go to every server of this machine. The name is chosen
//! at random, because a page that knows it could bring a browser to another port of it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use motorium_kit::private_file;

use crate::caller::random_label;
use crate::config::Config;

/// Name of the file with the host name of the page.
const HOST_FILE: &str = "host";
/// Name of the file with the address of a running gateway.
const ADDRESS_FILE: &str = "address";

/// Address of the page.
#[derive(Debug, Clone)]
pub(crate) struct PageAddress {
    /// Host name, without a port.
    pub(crate) host: String,
    /// URL for browsers, without a slash at its end.
    pub(crate) url: String,
    /// Port of the listener, also behind a proxy.
    pub(crate) port: u16,
    pub(crate) is_encrypted: bool,
    /// Requests come from a proxy, which names their sender.
    pub(crate) is_proxied: bool,
}

impl PageAddress {
    /// Returns the configured URL, or else one with the host name in this folder. It is chosen if there is none.
    pub(crate) fn open(config: &Config, folder: &Path, address: SocketAddr) -> io::Result<Self> {
        let port = address.port();
        if let Some(public) = &config.public_url {
            return Ok(Self {
                host: public.authority.host().to_ascii_lowercase(),
                url: public.to_string(),
                port,
                is_encrypted: public.is_encrypted(),
                is_proxied: true,
            });
        }
        let host = local_host(folder)?;
        Ok(Self {
            url: format!("http://{host}:{port}"),
            host,
            port,
            is_encrypted: false,
            is_proxied: false,
        })
    }
}

fn local_host(folder: &Path) -> io::Result<String> {
    if let Some(host) = private_file::read_text(&folder.join(HOST_FILE))?
        && is_local_page_host(&host)
    {
        return Ok(host);
    }
    let host = format!("motorium-{}.localhost", random_label());
    private_file::create_folder(folder)?;
    private_file::replace(&folder.join(HOST_FILE), host.as_bytes())?;
    Ok(host)
}

fn is_local_page_host(host: &str) -> bool {
    let label = host.strip_suffix(".localhost");
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    label.is_some_and(|label| !label.is_empty() && label.chars().all(is_plain))
}

/// Returns the address at which programs of this machine reach a listener.
fn local_address(listener: SocketAddr) -> SocketAddr {
    match listener.ip().is_unspecified() {
        true => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), listener.port()),
        false => listener,
    }
}

/// Notes the address of a running gateway, for commands that look for it.
pub(crate) fn announce(folder: &Path, listener: SocketAddr) -> io::Result<()> {
    let address = local_address(listener).to_string();
    private_file::create_folder(folder)?;
    private_file::replace(&folder.join(ADDRESS_FILE), address.as_bytes())
}

/// Removes the note of [`announce`], unless another gateway has made one since.
pub(crate) fn withdraw(folder: &Path, listener: SocketAddr) {
    if announced(folder) == Some(local_address(listener)) {
        // A note that stays names an address at which nothing answers, as the configured one would.
        let _ = std::fs::remove_file(folder.join(ADDRESS_FILE));
    }
}

/// Returns the address of the running gateway with this folder.
pub(crate) fn announced(folder: &Path) -> Option<SocketAddr> {
    let text = private_file::read_text(&folder.join(ADDRESS_FILE)).ok()??;
    text.parse().ok()
}

/// Returns true if both addresses of the loopback have to be served: browsers may try either for a name below `localhost`.
pub(crate) fn has_two_loopbacks(listen: SocketAddr) -> bool {
    listen.ip() == IpAddr::V4(Ipv4Addr::LOCALHOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    fn open(folder: &Path, settings: Settings, port: u16) -> PageAddress {
        let config = settings.resolve().unwrap();
        PageAddress::open(&config, folder, SocketAddr::from(([127, 0, 0, 1], port))).unwrap()
    }

    #[test]
    fn the_page_keeps_its_host_and_shares_it_with_no_other_gateway() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = open(one.path(), Settings::default(), 7780);
        assert!(first.host.ends_with(".localhost") && first.host.len() > 20);
        assert_eq!(first.url, format!("http://{}:7780", first.host));
        let again = open(one.path(), Settings::default(), 7781);
        assert_eq!(again.host, first.host);
        assert_ne!(
            open(other.path(), Settings::default(), 7780).host,
            first.host
        );
    }

    #[test]
    fn a_damaged_host_is_chosen_anew() {
        let folder = tempfile::tempdir().unwrap();
        for damaged in [
            "",
            "evil.example",
            ".localhost",
            "a b.localhost",
            "a.b.localhost",
        ] {
            std::fs::write(folder.path().join(HOST_FILE), damaged).unwrap();
            let host = open(folder.path(), Settings::default(), 1).host;
            assert!(host.starts_with("motorium-"), "{damaged}: {host}");
        }
    }

    #[test]
    fn a_public_url_is_the_address_of_the_page() {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings {
            public_url: Some("https://Motorium.example.com".to_owned()),
            ..Settings::default()
        };
        let page = open(folder.path(), settings, 7780);
        assert_eq!(page.host, "motorium.example.com");
        assert!(page.is_encrypted && page.is_proxied);
    }

    #[test]
    fn a_running_gateway_is_found_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(announced(folder.path()), None);
        announce(folder.path(), "0.0.0.0:7781".parse().unwrap()).unwrap();
        assert_eq!(
            announced(folder.path()),
            Some("127.0.0.1:7781".parse().unwrap())
        );
        withdraw(folder.path(), "127.0.0.1:7780".parse().unwrap());
        assert!(announced(folder.path()).is_some());
        withdraw(folder.path(), "0.0.0.0:7781".parse().unwrap());
        assert_eq!(announced(folder.path()), None);
    }
}
