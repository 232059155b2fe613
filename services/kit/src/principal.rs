//! The authenticated caller of the current call: its name, its tenant and its roles.
//!
//! This module does not authenticate callers (`server` does) and decides nothing: it only says on whose behalf code runs.
//! Available in the handler's own task; tasks that the handler spawns do not inherit it, so handlers read it first.

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

pub use motorium_proto::domain::owner::{DEFAULT_TENANT, LOCAL};

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

    /// Returns the principal of the call that this task serves; [`Principal::local`] if it serves none.
    #[must_use]
    pub fn current() -> Self {
        CURRENT
            .try_with(Self::clone)
            .unwrap_or_else(|_| Self::local())
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
