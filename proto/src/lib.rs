//! The contract of Motorium: generated messages, domain types, limits and errors.
//!
//! Shared by every service and client. It holds no state.

pub mod convert;
pub mod domain;
pub mod error;
mod field_error;
pub mod limits;
pub mod service;

/// Generated messages, clients and servers, nested like their packages.
#[expect(
    clippy::allow_attributes_without_reason,
    clippy::large_enum_variant,
    reason = "generated"
)]
mod generated {
    pub(crate) mod common {
        pub mod v1 {
            tonic::include_proto!("motorium.common.v1");
        }
    }
    pub(crate) mod perception {
        pub mod v1 {
            tonic::include_proto!("motorium.perception.v1");
        }
    }
    pub(crate) mod planner {
        pub mod v1 {
            tonic::include_proto!("motorium.planner.v1");
        }
    }
    pub(crate) mod executor {
        pub mod v1 {
            tonic::include_proto!("motorium.executor.v1");
        }
    }
    pub(crate) mod orchestrator {
        pub mod v1 {
            tonic::include_proto!("motorium.orchestrator.v1");
        }
    }
    pub(crate) mod hook {
        pub mod v1 {
            tonic::include_proto!("motorium.hook.v1");
        }
    }
    pub(crate) mod tool {
        pub mod v1 {
            tonic::include_proto!("motorium.tool.v1");
        }
    }
}

/// Generated messages, clients and servers, one module per package. Only the edges use them: [`convert`], [`service`],
/// and the server and clients of the Orchestrator.
pub mod v1 {
    pub use super::generated::common::v1 as common;
    pub use super::generated::executor::v1 as executor;
    pub use super::generated::hook::v1 as hook;
    pub use super::generated::orchestrator::v1 as orchestrator;
    pub use super::generated::perception::v1 as perception;
    pub use super::generated::planner::v1 as planner;
    pub use super::generated::tool::v1 as tool;
}

/// Encoded descriptors of the whole contract, with comments, for server reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
