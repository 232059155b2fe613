//! The owner of a task: the principal that created it, and the tenant that it belongs to.
//!
//! It decides nothing: the Orchestrator's edge says who may see a task, and the policy what its creator may have done.

use motorium_proto::domain::owner::{DEFAULT_TENANT, LOCAL};
use motorium_proto::v1::orchestrator as wire;

/// The owner of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Name of the principal that created the task.
    pub creator: String,
    pub tenant: String,
    /// Roles of the creator at that time.
    pub roles: Vec<String>,
}

impl Default for Owner {
    fn default() -> Self {
        Self {
            creator: LOCAL.to_owned(),
            tenant: DEFAULT_TENANT.to_owned(),
            roles: Vec::new(),
        }
    }
}

impl Owner {
    /// Returns the owner of a stored task. One of an earlier version names none.
    pub(super) fn of_record(task: &wire::Task) -> Self {
        let or = |text: &str, default: &str| match text {
            "" => default.to_owned(),
            text => text.to_owned(),
        };
        Self {
            creator: or(&task.creator, LOCAL),
            tenant: or(&task.tenant, DEFAULT_TENANT),
            roles: task.creator_roles.clone(),
        }
    }
}
