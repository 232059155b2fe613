//! Servers that may receive a token that all services of an installation share.
//!
//! Addresses from the operator's settings always receive it. Addresses from requests, such as that of a registered desktop, receive
//! it only if they are listed here; otherwise any caller could have the token sent to a server of its own.

use crate::address::{AddressPattern, ServiceAddress};

/// Servers that may receive a shared token.
#[derive(Debug, Clone, Default)]
pub struct Audiences(Vec<AddressPattern>);

impl Audiences {
    /// Creates audiences from the servers that the operator listed.
    #[must_use]
    pub fn new(listed: Vec<AddressPattern>) -> Self {
        Self(listed)
    }

    /// Adds a server of the configuration. A malformed address is not added: creating its channel reports it.
    #[must_use]
    pub fn with_server(mut self, uri: &str) -> Self {
        let server = ServiceAddress::parse(uri);
        self.0
            .extend(server.as_ref().map(AddressPattern::of_server));
        self
    }

    /// Returns true if the server may receive the token.
    pub(super) fn include(&self, address: &ServiceAddress) -> bool {
        self.0.iter().any(|listed| listed.matches(address))
    }

    /// Returns true if the operator permits an unencrypted connection to the server.
    pub(super) fn permit_plaintext(&self, address: &ServiceAddress) -> bool {
        let mut listed = self.0.iter();
        listed.any(|listed| listed.permits_plaintext() && listed.matches(address))
    }
}
