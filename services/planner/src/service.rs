//! The Planner service: hands each call to what answers it. It holds no state of any task.

use async_trait::async_trait;
use motorium_proto::service::{
    BackendInfo, ExtractRequest, Extraction, PlanRequest, Planned, Planner, PointerCheck,
    PointerRequest, ResolveRequest, Resolved, Result, SummarizeRequest, Summary,
};

use crate::error::Error;
use crate::router::Router;
use crate::{pointer, summary, target};

/// Decides, by the backends of its router.
#[derive(Debug)]
pub struct PlannerService {
    router: Router,
}

impl PlannerService {
    /// A service over a router.
    #[must_use]
    pub fn new(router: Router) -> Self {
        Self { router }
    }
}

#[async_trait]
impl Planner for PlannerService {
    async fn plan(&self, request: PlanRequest) -> Result<Planned> {
        Ok(self.router.plan(request).await?)
    }

    async fn summarize(&self, request: SummarizeRequest) -> Result<Summary> {
        Ok(summary::summarise(&request))
    }

    async fn extract(&self, _: ExtractRequest) -> Result<Extraction> {
        Err(Error::NeedsModel { call: "Extract" }.into())
    }

    async fn locate_pointer(&self, request: PointerRequest) -> Result<PointerCheck> {
        Ok(pointer::check(&request))
    }

    async fn resolve_target(&self, request: ResolveRequest) -> Result<Resolved> {
        Ok(target::resolve(&request)?)
    }

    async fn list_backends(&self) -> Result<Vec<BackendInfo>> {
        Ok(self.router.list())
    }
}
