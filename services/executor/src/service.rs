//! The service: resolves the desktop of each call and implements the contract's trait.
//!
//! No policy lives here, but for who may read files without a lease. Every error becomes a report through the single mapping in
//! [`crate::error`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::{BoxFuture, join_all};
use motorium_kit::principal::{DEFAULT_TENANT, Principal, Role};
use motorium_kit::server::HealthCheck;
use motorium_proto::domain::desktop::Lease;
use motorium_proto::domain::effect::ActionOutcome;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::{DesktopEpoch, DisplayId};
use motorium_proto::error::FieldError;
use motorium_proto::service::{
    AcquireRequest, ActionProgress, Capabilities, ClipboardText, DeleteFilesRequest,
    DownloadedFile, Executor, FenceRequest, FileInfo, FileRequest, HumanInput, LookUpRequest,
    PageText, PerformRequest, PutFile, ReadClipboardRequest, ReadPageRequest, ReleaseRequest,
    RenewRequest, Result, ResultStream,
};
use motorium_proto::v1::common;
use motorium_store::audit::AuditLog;

use crate::audited::{self, AuditedCall};
use crate::desktop::Desktop;
use crate::drivers::clipboard_content::ClipboardContent;
use crate::error::Error;
use crate::guard::lease::MAX_TTL;
use crate::guard::secret_grants::{self, OnBehalfOf};

/// Shorter leases cannot be renewed in time over a network.
const MIN_TTL: Duration = Duration::from_secs(1);
/// Upper bound of a page's text: more than a model reads, and small enough for one gRPC message.
const MAX_PAGE_CHARACTERS: usize = 1_000_000;

/// Time after which a display does not answer, unless an action is in progress: a long text takes that long to type.
// A display answers within milliseconds; below the 5 s that a check of health may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The Executor of one or more displays.
#[derive(Debug)]
pub struct ExecutorService {
    desktops: BTreeMap<DisplayId, Arc<Desktop>>,
    /// Display of calls that name none.
    default_display: Option<DisplayId>,
    /// Records what callers do on a desktop for themselves.
    audit: AuditLog,
}

impl ExecutorService {
    /// Creates a service for these desktops; the first is the default.
    #[must_use]
    pub fn new(desktops: Vec<Arc<Desktop>>) -> Self {
        let default_display = desktops.first().map(|desktop| desktop.display().clone());
        let desktops = desktops
            .into_iter()
            .map(|desktop| (desktop.display().clone(), desktop))
            .collect();
        Self {
            desktops,
            default_display,
            audit: AuditLog::off(),
        }
    }

    /// Records what callers do on a desktop for themselves in this log.
    #[must_use]
    pub fn audited(self, audit: AuditLog) -> Self {
        Self { audit, ..self }
    }

    /// Stops everything and restores all displays, at the end of the process.
    pub async fn close(&self) {
        futures::future::join_all(self.desktops.values().map(|desktop| desktop.close())).await;
    }

    /// Restores the clipboards, and returns the contents that would be lost with this process, by display.
    pub async fn remaining_clipboards(
        &self,
    ) -> Vec<(DisplayId, std::result::Result<ClipboardContent, Error>)> {
        let mut remaining = Vec::new();
        for (display, desktop) in &self.desktops {
            let content = desktop.remaining_clipboard().await;
            if !content.as_ref().is_ok_and(ClipboardContent::is_empty) {
                remaining.push((display.clone(), content));
            }
        }
        remaining
    }

    fn desktop(&self, display: Option<&DisplayId>) -> std::result::Result<&Arc<Desktop>, Error> {
        let Some(wanted) = display.or(self.default_display.as_ref()) else {
            return Err(Error::NoDisplay);
        };
        self.desktops
            .get(wanted)
            .ok_or_else(|| Error::DesktopNotFound {
                display: wanted.to_string(),
                known: self
                    .desktops
                    .keys()
                    .map(DisplayId::as_str)
                    .collect::<Vec<_>>()
                    .join(", "),
            })
    }
}

impl HealthCheck for ExecutorService {
    /// Checks that a display answers.
    fn check(&self) -> BoxFuture<'_, std::result::Result<(), String>> {
        Box::pin(async move {
            let asked = self.desktops.values().map(|desktop| answers(desktop));
            let answers = join_all(asked).await;
            if answers.iter().any(std::result::Result::is_ok) {
                return Ok(());
            }
            let problem = answers.into_iter().find_map(std::result::Result::err);
            Err(problem.unwrap_or_else(|| Error::NoDisplay.to_string()))
        })
    }
}

/// Checks that a display answers, or that an action holds it up.
async fn answers(desktop: &Desktop) -> std::result::Result<(), String> {
    match tokio::time::timeout(ANSWER_TIMEOUT, desktop.pointer()).await {
        Ok(pointer) => pointer.map(drop).map_err(|error| error.to_string()),
        Err(_) if desktop.is_performing() => Ok(()),
        Err(_) => Err(format!("the display {} does not answer", desktop.display())),
    }
}

/// Returns the caller of the current call.
fn caller() -> std::result::Result<Principal, Error> {
    Principal::current().ok_or(Error::NoCaller)
}

/// Returns true if a caller is a service: its calls belong to a task, whose actions the Orchestrator records.
fn is_service(caller: &Principal) -> bool {
    caller.has(Role::Service)
}

/// Returns the epoch under which files are read; `None` for an administrator of the deployment who names none.
fn reading_epoch(request: &FileRequest) -> std::result::Result<Option<DesktopEpoch>, Error> {
    let needs_lease = !caller()?.is_deployment_admin();
    Ok(request.epoch.or(needs_lease.then_some(DesktopEpoch(0))))
}

fn check_ttl(ttl: Duration) -> std::result::Result<(), Error> {
    if (MIN_TTL..=MAX_TTL).contains(&ttl) {
        return Ok(());
    }
    let (min, max) = (MIN_TTL.as_secs(), MAX_TTL.as_secs());
    Err(FieldError::new("ttl", format!("must be between {min} s and {max} s")).into())
}

// Every method of the contract is served: a default would hide a forgotten one.
#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Executor for ExecutorService {
    async fn acquire_desktop(&self, request: AcquireRequest) -> Result<Lease> {
        let caller = caller()?;
        check_ttl(request.ttl)?;
        let desktop = self.desktop(request.display.as_ref())?;
        let acquired = desktop.acquire(request);
        if is_service(&caller) {
            return Ok(acquired.await?);
        }
        let call = AuditedCall::of(caller, "AcquireDesktop", desktop.display());
        audited::make(&self.audit, call, |_| "OK", acquired).await
    }

    async fn renew_lease(&self, request: RenewRequest) -> Result<Lease> {
        check_ttl(request.ttl)?;
        let desktop = self.desktop(Some(&request.display))?;
        Ok(desktop.renew(request.epoch, request.ttl).await?)
    }

    async fn release_desktop(&self, request: ReleaseRequest) -> Result<()> {
        let caller = caller()?;
        let desktop = self.desktop(Some(&request.display))?;
        let released = desktop.release(request.epoch);
        if is_service(&caller) {
            return Ok(released.await?);
        }
        let call = AuditedCall::of(caller, "ReleaseDesktop", desktop.display());
        audited::make(&self.audit, call, |()| "OK", released).await
    }

    async fn perform(&self, request: PerformRequest) -> Result<ActionOutcome> {
        let caller = caller()?;
        // In-process callers have not passed the wire validation.
        let limits = request.action.check_limits();
        limits.map_err(|error| Error::from(error.within("action")))?;
        let desktop = self.desktop(Some(&request.display))?;
        let is_for_others = secret_grants::is_for_others(&caller, &request);
        let on_behalf_of = OnBehalfOf::of(&caller, &request);
        let call = AuditedCall::of(caller, "Perform", desktop.display())
            .on("actions", request.action_id.as_str())
            .with_kind(request.action.kind());
        let performed = desktop.perform(request, on_behalf_of);
        if is_for_others {
            return Ok(performed.await?);
        }
        let result =
            |outcome: &ActionOutcome| common::ActionResult::from(outcome.result).as_str_name();
        audited::make(&self.audit, call, result, performed).await
    }

    async fn look_up_action(&self, request: LookUpRequest) -> Result<ActionProgress> {
        let desktop = self.desktop(request.display.as_ref())?;
        Ok(desktop.look_up(&request.action_id))
    }

    async fn fence_action(&self, request: FenceRequest) -> Result<ActionProgress> {
        let caller = caller()?;
        let desktop = self.desktop(Some(&request.display))?;
        let call = AuditedCall::of(caller.clone(), "FenceAction", desktop.display())
            .on("actions", request.action_id.as_str());
        let fenced = desktop.fence(request);
        if is_service(&caller) {
            return Ok(fenced.await?);
        }
        audited::make(&self.audit, call, |_| "OK", fenced).await
    }

    async fn release_all(&self, display: Option<DisplayId>) -> Result<Vec<String>> {
        if let Some(display) = display {
            return Ok(self.desktop(Some(&display))?.release_all().await?);
        }
        // Every display is stopped, even if one of them cannot be reached.
        let stopped =
            futures::future::join_all(self.desktops.values().map(|desktop| desktop.release_all()))
                .await;
        let released: std::result::Result<Vec<Vec<String>>, Error> = stopped.into_iter().collect();
        Ok(released?.concat())
    }

    async fn get_pointer(&self, display: Option<DisplayId>) -> Result<CapturePoint> {
        Ok(self.desktop(display.as_ref())?.pointer().await?)
    }

    async fn read_page(&self, request: ReadPageRequest) -> Result<PageText> {
        let desktop = self.desktop(request.display.as_ref())?;
        let max_characters = request.max_characters.min(MAX_PAGE_CHARACTERS);
        Ok(desktop.read_page(max_characters).await?)
    }

    async fn read_clipboard(&self, request: ReadClipboardRequest) -> Result<ClipboardText> {
        let desktop = self.desktop(Some(&request.display))?;
        let ReadClipboardRequest {
            epoch,
            only_if_copied,
            ..
        } = request;
        Ok(desktop.read_clipboard(epoch, only_if_copied).await?)
    }

    async fn put_file(&self, file: PutFile) -> Result<FileInfo> {
        let caller = caller()?;
        let desktop = self.desktop(file.display.as_ref())?;
        let is_of_task = is_service(&caller);
        let call = AuditedCall::of(caller, "PutFile", desktop.display()).on("files", &file.name);
        let put = desktop.put_file(file);
        if is_of_task {
            return Ok(put.await?);
        }
        audited::make(&self.audit, call, |_| "OK", put).await
    }

    async fn get_file(&self, request: FileRequest) -> Result<DownloadedFile> {
        let desktop = self.desktop(request.display.as_ref())?;
        let epoch = reading_epoch(&request)?;
        let (info, content) = desktop.get_file(request.name, epoch).await?;
        Ok(DownloadedFile {
            info,
            content: content.into(),
        })
    }

    async fn stat_file(&self, request: FileRequest) -> Result<Option<FileInfo>> {
        let desktop = self.desktop(request.display.as_ref())?;
        let epoch = reading_epoch(&request)?;
        Ok(desktop.stat_file(request.name, epoch).await?)
    }

    async fn delete_files(&self, request: DeleteFilesRequest) -> Result<()> {
        let caller = caller()?;
        let desktop = self.desktop(request.display.as_ref())?;
        let tenant = request.tenant.unwrap_or_else(|| DEFAULT_TENANT.to_owned());
        let deleted = desktop.delete_files(request.holder, tenant);
        if is_service(&caller) {
            return Ok(deleted.await?);
        }
        let call = AuditedCall::of(caller, "DeleteFiles", desktop.display());
        audited::make(&self.audit, call, |_| "OK", deleted).await
    }

    async fn get_capabilities(&self, display: Option<DisplayId>) -> Result<Capabilities> {
        Ok(self.desktop(display.as_ref())?.capabilities().await?)
    }

    async fn watch_human_input(
        &self,
        display: Option<DisplayId>,
    ) -> Result<ResultStream<HumanInput>> {
        let watch = self.desktop(display.as_ref())?.watch_human().await?;
        let inputs = futures::stream::unfold(watch, |mut watch| async move {
            let input = watch.recv().await?;
            Some((input.map_err(|error| Error::from(error).into()), watch))
        });
        Ok(Box::pin(inputs))
    }
}
