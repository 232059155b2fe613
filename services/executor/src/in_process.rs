//! The Executor for callers within its process, which act for this process: no server has authenticated them.
//!
//! It gives them every role, so only code of the process may hold it. It checks and records nothing itself: the service does.

use std::sync::Arc;

use async_trait::async_trait;
use motorium_kit::principal::Principal;
use motorium_proto::executor_service;
use motorium_proto::service::Result;
use motorium_proto::service::definition::*;

use crate::service::ExecutorService;

/// A service whose calls are made on behalf of this process.
#[derive(Debug)]
pub struct InProcessExecutor(Arc<ExecutorService>);

impl InProcessExecutor {
    /// Wraps a service.
    #[must_use]
    pub fn new(service: Arc<ExecutorService>) -> Self {
        Self(service)
    }
}

/// Expands to the methods of the service, each on behalf of this process.
macro_rules! on_behalf_of_this_process {
    (
        $(#[$about:meta])*
        service $Service:ident in $module:ident {
            proto $proto:literal;
            transport $transport:tt;
            $(
                $(#[$doc:meta])*
                $kind:ident $recorded:ident fn $method:ident($($arg:ident: $Request:ty)?) -> $Response:ty
                    = rpc $rpc:ident($In:ident) returns $Out:ident $(as $Stream:ident)?;
            )+
        }
    ) => {
        #[async_trait]
        impl $Service for InProcessExecutor {
            $(
                async fn $method(&self $(, $arg: $Request)?) -> Result<$Response> {
                    Principal::local().scope(self.0.$method($($arg)?)).await
                }
            )+
        }
    };
}

executor_service!(on_behalf_of_this_process);
