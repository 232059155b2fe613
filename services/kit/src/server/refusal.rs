//! Calls that a server refuses before a service sees them, and who is told of them.
//!
//! It decides on no call, and keeps none.

use std::fmt;

use crate::principal::Principal;

/// A call whose caller is unknown or has no role for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedCall {
    /// Method without its service, such as `CreateTask`; `None` if the server does not serve it: its name is then any text of the
    /// caller's choice.
    pub method: Option<String>,
    /// The caller, if it is known.
    pub caller: Option<Principal>,
    /// Reason of the error that the caller gets.
    pub reason: String,
}

/// Observer of refused calls.
pub trait RefusalObserver: fmt::Debug + Send + Sync {
    /// Must not block: the caller waits for its answer, and may make such calls as fast as it can.
    fn refused(&self, call: RefusedCall);
}
