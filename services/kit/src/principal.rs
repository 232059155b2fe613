//! The authenticated caller of the current call: its name, its tenant and its roles.
//!
//! This module does not authenticate callers (`server` does) and decides nothing: it only says on whose behalf code runs.
//! Available in the handler's own task; tasks that the handler spawns do not inherit it, so handlers read it first.
//! Invariant: code that serves no call has no principal, and so no rights, unless it enters those of this process
//! ([`Principal::local`]) explicitly.

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::str::FromStr;
use std::sync::Arc;

pub use motorium_proto::domain::owner::{DEFAULT_TENANT, LOCAL};

/// Prefix of the names of principals with a token of an issuer (`jwt`). No caller of the callers file may be mistaken for one.
pub(crate) const ISSUED_PREFIX: &str = "oidc:";
/// Maximum length of names, tenants and certificate names.
// As that of host names, which certificates have.
const MAX_NAME_BYTES: usize = 255;

tokio::task_local! {
    static CURRENT: Principal;
}

/// A permission of a caller. The authorisation table has the roles that each call needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Sees tasks, screens and approvals.
    Viewer,
    /// Takes tasks over, and hands them back.
    Operator,
    /// Resolves approvals.
    Approver,
    /// Creates and steers tasks.
    Author,
    /// Registers desktops and uses them directly, changes policies, and sees every tenant.
    Admin,
    /// A service of Motorium that calls another one.
    Service,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 6] = [
        Self::Viewer,
        Self::Operator,
        Self::Approver,
        Self::Author,
        Self::Admin,
        Self::Service,
    ];

    /// Returns the name of the role in configuration files and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Approver => "approver",
            Self::Author => "author",
            Self::Admin => "admin",
            Self::Service => "service",
        }
    }
}

impl Role {
    /// Returns the role with a name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::named(text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("there is no role `{text}`; roles are {names}")
        })
    }
}

/// Checks the name of a principal or a tenant, which is logged and shown: a caller must not be able to look like another.
pub(crate) fn check_name(field: &str, name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:/@+|".contains(c);
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.chars().all(is_plain) {
        return Err(format!(
            "`{field}` must consist of 1 to {MAX_NAME_BYTES} letters, digits and the characters -._:/@+|"
        ));
    }
    Ok(())
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An authenticated caller. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal(Arc<Identity>);

/// The parts of a principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Unique within a deployment, such as `night-shift` or `spiffe://example.com/orchestrator`.
    pub name: String,
    /// The tenant whose tasks and sessions the caller may see.
    pub tenant: String,
    pub roles: BTreeSet<Role>,
}

impl Principal {
    /// Creates a principal.
    #[must_use]
    pub fn new(identity: Identity) -> Self {
        Self(Arc::new(identity))
    }

    /// Returns the principal with every role: this process, or the caller of a server that authenticates none.
    #[must_use]
    pub fn local() -> Self {
        Self::new(Identity {
            name: LOCAL.to_owned(),
            tenant: DEFAULT_TENANT.to_owned(),
            roles: Role::ALL.into_iter().collect(),
        })
    }

    /// Returns the principal of the call that this task serves. `None` if it serves none: refuse what asks for it then.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Self::clone).ok()
    }

    /// Returns the unique name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the tenant.
    #[must_use]
    pub fn tenant(&self) -> &str {
        &self.0.tenant
    }

    /// Returns true if the principal has a role.
    #[must_use]
    pub fn has(&self, role: Role) -> bool {
        self.0.roles.contains(&role)
    }

    /// Returns true for an administrator of the deployment, who sees every tenant.
    #[must_use]
    pub fn is_deployment_admin(&self) -> bool {
        self.has(Role::Admin) && self.tenant() == DEFAULT_TENANT
    }

    /// Returns the roles.
    #[must_use]
    pub fn roles(&self) -> &BTreeSet<Role> {
        &self.0.roles
    }

    /// Runs `future` on behalf of this principal.
    pub async fn scope<F: Future>(self, future: F) -> F::Output {
        CURRENT.scope(self, future).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_a_handler_spawns_has_no_principal() {
        let inside = async || {
            (
                Principal::current(),
                tokio::spawn(async { Principal::current() }).await.unwrap(),
            )
        };
        let seen = Principal::local().scope(inside()).await;
        assert_eq!(seen, (Some(Principal::local()), None));
        assert_eq!(inside().await, (None, None));
    }
}
