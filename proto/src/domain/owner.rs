//! Names of the owner of what was created without a principal.
//!
//! Deliberately without types: principals are kit's, owners of tasks are of `motorium_task`.

/// Tenant of callers for whom the configuration names none, and of everything from before there were tenants.
pub const DEFAULT_TENANT: &str = "default";
/// Name of a process itself, of callers of a server that authenticates none, and of the creator of everything from before
/// there were principals.
pub const LOCAL: &str = "local";
