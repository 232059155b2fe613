//! Decides whose tasks, sessions, uploads and desktops a caller may use. Every call asks here for what it names, and for its
//! caller: one that no server has authenticated is refused.
//!
//! A resource belongs to a tenant, and its principals use it. An administrator of the deployment, which is a principal with
//! the role `admin` in the tenant `default`, uses those of every tenant and alone changes the pool of desktops. To all others a
//! resource does not exist: they get the error of an unknown name, so that a call does not tell which names there are.
//!
//! It does not decide which calls a role may make: the server does that before.

use motorium_kit::principal::Principal;
use motorium_policy::rules::{NamedEntity, RuleDescription};
use motorium_proto::domain::id::TaskName;
use motorium_store::TaskRow;
use motorium_task::owner::Owner;

use super::Edge;
use crate::error::Error;

impl Edge {
    /// Returns the name of a task that the caller may use. Field `field` of the request names it.
    pub(super) async fn visible_task(&self, field: &str, name: &str) -> Result<TaskName, Error> {
        Ok(self.visible_row(field, name).await?.name)
    }

    /// Returns the row of a task that the caller may use. Field `field` of the request names it.
    pub(super) async fn visible_row(&self, field: &str, name: &str) -> Result<TaskRow, Error> {
        let principal = caller()?;
        let task = TaskName::parse(field, name)?;
        let row = self.store.get_task(&task).await?;
        if sees(&principal, &row.tenant) {
            return Ok(row);
        }
        Err(motorium_store::Error::TaskNotFound { task }.into())
    }
}

/// Returns the principal of the current call.
pub(super) fn caller() -> Result<Principal, Error> {
    Principal::current().ok_or(Error::NoCaller)
}

/// Returns whether a principal may use what belongs to a tenant.
pub(super) fn sees(principal: &Principal, tenant: &str) -> bool {
    principal.tenant() == tenant || principal.is_deployment_admin()
}

/// Returns the tenant whose resources are listed for a principal; `None` for those of all.
pub(super) fn listed_tenant(principal: &Principal) -> Option<String> {
    (!principal.is_deployment_admin()).then(|| principal.tenant().to_owned())
}

/// Returns whether a principal may see a rule of the policy: one that names another tenant, or another principal, would tell who
/// else there is.
pub(super) fn sees_rule(principal: &Principal, rule: &RuleDescription) -> bool {
    let is_own = |entity: &NamedEntity| match entity.kind.as_str() {
        "Tenant" => entity.name == principal.tenant(),
        "User" => entity.name == principal.name(),
        _ => true,
    };
    let are_own = rule
        .entities
        .as_ref()
        .is_some_and(|named| named.iter().all(is_own));
    principal.is_deployment_admin() || are_own
}

/// Returns the owner of what a principal creates.
pub(super) fn owner(principal: &Principal) -> Owner {
    Owner {
        creator: principal.name().to_owned(),
        tenant: principal.tenant().to_owned(),
        roles: principal.roles().iter().map(ToString::to_string).collect(),
    }
}

/// Returns an error unless the caller may change the pool of desktops, which all tenants share.
pub(super) fn check_deployment_admin() -> Result<(), Error> {
    let principal = caller()?;
    if principal.is_deployment_admin() {
        return Ok(());
    }
    Err(Error::NotDeploymentAdmin {
        principal: principal.name().to_owned(),
    })
}
