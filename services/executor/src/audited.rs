//! Records in the audit log what callers do on a desktop for themselves: before it is done, and with its outcome before it is
//! answered.
//!
//! Actions that a service performs for a task are not recorded here: the Orchestrator records them, with the name of the task.
//! `ReleaseAll` is not recorded either, because the emergency stop must not wait for a disk.
//!
//! Invariant: a call whose beginning cannot be recorded is not made.

use std::future::Future;
use std::time::SystemTime;

use motorium_kit::principal::Principal;
use motorium_proto::domain::action::ActionKind;
use motorium_proto::domain::id::DisplayId;
use motorium_proto::error::ErrorReport;
use motorium_store::audit::{AuditEntry, AuditLog, Phase};

use crate::error::Error;

/// A call that is recorded, by names only.
#[derive(Debug)]
pub(crate) struct AuditedCall {
    caller: Principal,
    method: &'static str,
    resource: String,
    kind: &'static str,
}

impl AuditedCall {
    /// Creates the record of a call that changes a display.
    pub(crate) fn of(caller: Principal, method: &'static str, display: &DisplayId) -> Self {
        Self {
            caller,
            method,
            resource: format!("displays/{}", display.as_str()),
            kind: "",
        }
    }

    /// Names what the call changes on the display.
    pub(crate) fn on(self, collection: &'static str, name: &str) -> Self {
        Self {
            resource: format!("{}/{collection}/{name}", self.resource),
            ..self
        }
    }

    /// Names the kind of an action.
    pub(crate) fn with_kind(self, kind: ActionKind) -> Self {
        Self {
            kind: kind.as_str(),
            ..self
        }
    }

    fn entry(&self, phase: Phase, outcome: &str) -> AuditEntry {
        AuditEntry {
            at: SystemTime::now(),
            principal: self.caller.name().to_owned(),
            tenant: self.caller.tenant().to_owned(),
            what: self.method,
            phase,
            resource: self.resource.clone(),
            kind: self.kind.to_owned(),
            outcome: outcome.to_owned(),
        }
    }
}

/// Makes a call and records it. `outcome` names the outcome of a call that did not fail.
///
/// # Errors
/// Those of the call, and [`Error::AuditFailed`].
pub(crate) async fn make<T>(
    audit: &AuditLog,
    call: AuditedCall,
    outcome: impl Fn(&T) -> &'static str + Send,
    made: impl Future<Output = Result<T, Error>> + Send,
) -> Result<T, ErrorReport>
where
    T: Send,
{
    let begun = call.entry(Phase::Begun, "");
    record(audit, begun).await?;
    let result = made.await.map_err(ErrorReport::from);
    let reached = match &result {
        Ok(value) => outcome(value),
        Err(report) => report.reason.as_str(),
    };
    let ended = call.entry(Phase::Ended, reached);
    record(audit, ended).await?;
    result
}

async fn record(audit: &AuditLog, entry: AuditEntry) -> Result<(), Error> {
    let recorded = audit.record(vec![entry]).await;
    recorded.map_err(Error::AuditFailed)
}
