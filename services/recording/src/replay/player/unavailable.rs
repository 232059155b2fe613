//! Services that never respond, expanded from their definitions.

use std::sync::Arc;

use async_trait::async_trait;
use motorium_proto::service::Result;
use motorium_proto::service::definition::*;
use motorium_proto::{executor_service, perception_service, planner_service};

use crate::ports::Ports;

/// Returns services for requests that are not in the recording: they never respond.
pub fn unavailable_services() -> Ports {
    let unavailable = Arc::new(UnavailableServices);
    Ports {
        perception: unavailable.clone(),
        planner: unavailable.clone(),
        executor: unavailable,
    }
}

struct UnavailableServices;

/// Expands to a service that never responds.
macro_rules! unavailable_service {
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
        impl $Service for UnavailableServices {
            $(
                async fn $method(&self $(, _: $Request)?) -> Result<$Response> {
                    never!($method)
                }
            )+
        }
    };
}

macro_rules! never {
    // A run releases its lease when it ends, and must not wait for that.
    (release_desktop) => {
        Ok(())
    };
    ($method:ident) => {
        futures::future::pending().await
    };
}

perception_service!(unavailable_service);
planner_service!(unavailable_service);
executor_service!(unavailable_service);
