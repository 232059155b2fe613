//! Records the calls that change something in the audit log: before they are made, and with their outcome before they are
//! answered.
//!
//! A call whose beginning cannot be recorded is not made. One whose outcome cannot be recorded fails, although it was made: its
//! beginning is in the log, and repeated with its `request_id` it changes nothing further.

use std::future::Future;

use motorium_kit::principal::Principal;
use motorium_proto::v1::orchestrator as wire;
use motorium_store::audit::AuditEntry;
use tonic::{Code, Request, Status};

use super::{Edge, ownership};
use crate::audit;
use crate::error::Error;

/// A request that names the resource that it changes.
pub(super) trait Named: Send {
    fn resource(&self) -> &str;
}

/// Implements [`Named`] for requests with the field `name`.
macro_rules! named {
    ($($request:ident),* $(,)?) => {
        $(impl Named for wire::$request {
            fn resource(&self) -> &str {
                &self.name
            }
        })*
    };
}

named!(
    CancelTaskRequest,
    PauseTaskRequest,
    ResumeTaskRequest,
    DeleteTaskRequest,
    SendMessageRequest,
    AcknowledgeUserActionRequest,
    TakeOverRequest,
    HandBackRequest,
    ResolveApprovalRequest,
    DeleteSessionRequest,
    UnregisterDesktopRequest,
    DrainDesktopRequest,
);

impl Named for wire::RegisterDesktopRequest {
    fn resource(&self) -> &str {
        let desktop = self.desktop.as_ref();
        desktop.map_or("", |desktop| &desktop.name)
    }
}

impl Edge {
    /// Makes a call that changes the resource that its request names.
    pub(super) async fn change<'a, R: Named, T, F>(
        &'a self,
        method: &'static str,
        request: Request<R>,
        call: impl FnOnce(&'a Self, R) -> F + Send,
    ) -> Result<T, Status>
    where
        F: Future<Output = Result<T, Error>> + Send,
    {
        let principal = ownership::caller()?;
        let request = request.into_inner();
        let resource = request.resource().to_owned();
        self.record(audit::call(&principal, method, &resource, None))
            .await?;
        let result = call(self, request).await.map_err(Status::from);
        self.record_end(&principal, method, &resource, result).await
    }

    /// Makes a call that creates a resource, whose response has the name.
    pub(super) async fn audited_creation<T, E: Into<Status>>(
        &self,
        method: &'static str,
        name: fn(&T) -> &str,
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, Status> {
        let principal = ownership::caller()?;
        self.record(audit::call(&principal, method, "", None))
            .await?;
        let result = call.await.map_err(Into::into);
        let created = result.as_ref().map(|response| name(response).to_owned());
        let resource = created.unwrap_or_default();
        self.record_end(&principal, method, &resource, result).await
    }

    /// Records the beginning of a call that is not made if this fails.
    pub(super) async fn record_begin(
        &self,
        principal: &Principal,
        method: &'static str,
        resource: &str,
    ) -> Result<(), Status> {
        self.record(audit::call(principal, method, resource, None))
            .await
    }

    /// Records the outcome of a call in words.
    pub(super) async fn record_outcome(
        &self,
        principal: &Principal,
        method: &'static str,
        resource: &str,
        outcome: String,
    ) -> Result<(), Status> {
        self.record(audit::call(principal, method, resource, Some(outcome)))
            .await
    }

    /// Records the outcome of a call and returns it.
    pub(super) async fn record_end<T>(
        &self,
        principal: &Principal,
        method: &'static str,
        resource: &str,
        result: Result<T, Status>,
    ) -> Result<T, Status> {
        let code = result.as_ref().map_or_else(Status::code, |_| Code::Ok);
        let outcome = Some(format!("{code:?}"));
        self.record(audit::call(principal, method, resource, outcome))
            .await?;
        result
    }

    async fn record(&self, entry: AuditEntry) -> Result<(), Status> {
        let recorded = self.audit.record(vec![entry]).await;
        recorded.map_err(|error| Error::AuditFailed(error).into())
    }
}
