//! The parts of the gateway that streams to callers use.

use std::sync::Arc;

use motorium_kit::shutdown::Shutdown;

use crate::quota::Quotas;
use crate::upstream::Upstream;

/// Services, limits and the end of the server.
#[derive(Debug, Clone)]
pub(crate) struct StreamContext {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) quotas: Arc<Quotas>,
    pub(crate) shutdown: Shutdown,
}
