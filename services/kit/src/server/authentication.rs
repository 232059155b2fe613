//! Authentication of callers: who makes a call, by its token or its client certificate.
//!
//! It does not say what a caller may do (`authorisation`). Health checks do not come here: platforms probe without a token.

use std::net::SocketAddr;

use http::{Extensions, HeaderMap};
use motorium_proto::error::{ErrorReport, reason};
use rustls::pki_types::CertificateDer;
use tonic::Code;
use tonic::transport::server::{TcpConnectInfo, TlsConnectInfo};
use webpki::EndEntityCert;

use super::own_token::OwnToken;
use super::{Config, Error, TokenSource};
use crate::bearer;
use crate::callers::CallersFile;
use crate::jwt;
use crate::principal::Principal;
use crate::shutdown::Shutdown;

/// Advice for callers without a valid token, by where the token comes from.
const SEND_TOKEN: &str = "send the header `authorization: Bearer <token>` with the token that the operator of the server gave you";
const SEND_TOKEN_OF_USER: &str = "send the header `authorization: Bearer <token>`; `motorium token` prints the token for the user who \
                                  runs the server, and Motorium's command line and clients find it by themselves";

/// The ways in which one server recognises its callers. Without any, every caller is the local principal.
#[derive(Debug, Clone, Default)]
pub(super) struct Authentication {
    token: Option<OwnToken>,
    /// The token is that of the user, not a configured one.
    is_of_user: bool,
    callers: Option<CallersFile>,
    jwt: Option<jwt::Verifier>,
}

impl Authentication {
    /// Returns the authentication of a server on `address`. Creates the token of the user if the server needs it and there is
    /// none.
    ///
    /// # Errors
    /// If the token of the user cannot be created or must not be used.
    pub(super) fn of(config: &Config, address: SocketAddr) -> Result<Self, Error> {
        let source = config.token_source(address);
        Ok(Self {
            is_of_user: matches!(source, TokenSource::OfUser(_)),
            token: source.token()?.map(OwnToken::new),
            callers: config.callers.clone(),
            jwt: config.jwt.clone().map(jwt::Verifier::new),
        })
    }

    /// Follows the callers file and the file of the token until the server shuts down.
    pub(super) fn follow_files(&self, shutdown: &Shutdown) {
        if let Some(callers) = self.callers.clone() {
            follow(callers.follow(), shutdown);
        }
        if let Some(token) = self.token.clone() {
            follow(token.follow(), shutdown);
        }
    }

    /// Returns true if the server asks who its callers are.
    pub(super) fn names_callers(&self) -> bool {
        self.token.is_some() || self.callers.is_some() || self.jwt.is_some()
    }

    /// Returns the principal of a call with these headers over this connection.
    ///
    /// # Errors
    /// If the caller is not authenticated.
    pub(super) async fn principal(
        &self,
        headers: &HeaderMap,
        connection: &Extensions,
    ) -> Result<Principal, ErrorReport> {
        if !self.names_callers() {
            return Ok(Principal::local());
        }
        if let Some(token) = bearer::token(headers) {
            return self.of_token(token).await;
        }
        let names = certificate_names(connection);
        let listed = self
            .callers
            .as_ref()
            .and_then(|callers| callers.current().of_certificate(&names));
        listed.ok_or_else(|| match names.as_slice() {
            [] => self.refusal("missing token"),
            names => self.refusal(&format!(
                "no caller has a certificate of {}",
                names.join(" or ")
            )),
        })
    }

    async fn of_token(&self, token: &str) -> Result<Principal, ErrorReport> {
        if self.token.as_ref().is_some_and(|own| own.accepts(token)) {
            return Ok(Principal::local());
        }
        let callers = self.callers.as_ref();
        if let Some(caller) = callers.and_then(|callers| callers.current().of_token(token)) {
            return Ok(caller);
        }
        match &self.jwt {
            // Three parts: any other token is a misspelt static one.
            Some(verifier) if token.matches('.').count() == 2 => {
                let checked = verifier.principal(token).await;
                checked
                    .map_err(|problem| self.refusal(&format!("the token is not valid: {problem}")))
            }
            _ => Err(self.refusal("the token is wrong")),
        }
    }

    fn refusal(&self, problem: &str) -> ErrorReport {
        let advice = if self.is_of_user {
            SEND_TOKEN_OF_USER
        } else {
            SEND_TOKEN
        };
        let text = format!("{problem}; {advice}");
        ErrorReport::new(Code::Unauthenticated, reason::UNAUTHENTICATED, text)
    }
}

/// Runs this until the server shuts down.
fn follow(changes: impl Future<Output = ()> + Send + 'static, shutdown: &Shutdown) {
    let shutdown = shutdown.child();
    tokio::spawn(async move {
        tokio::select! {
            () = shutdown.draining() => {}
            () = changes => {}
        }
    });
}

/// Returns the names in the client certificate of a connection: SPIFFE URIs, then DNS names. The handshake has verified that it is
/// of the authority.
fn certificate_names(connection: &Extensions) -> Vec<String> {
    let certificates = connection
        .get::<TlsConnectInfo<TcpConnectInfo>>()
        .and_then(TlsConnectInfo::peer_certs);
    let leaf = certificates.as_ref().and_then(|chain| chain.first());
    leaf.map(names).unwrap_or_default()
}

fn names(certificate: &CertificateDer<'_>) -> Vec<String> {
    let Ok(certificate) = EndEntityCert::try_from(certificate) else {
        return Vec::new();
    };
    let uris = certificate.valid_uri_names();
    let uris = uris.filter(|uri| uri.starts_with("spiffe://"));
    let hosts = certificate.valid_dns_names();
    uris.map(str::to_owned)
        .chain(hosts.map(str::to_ascii_lowercase))
        .collect()
}
