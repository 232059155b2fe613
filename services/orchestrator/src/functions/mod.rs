//! Functions that a user brings: in a ToolService over gRPC, in any language, or in an MCP server.
//!
//! - [`settings`]: which tools are configured, and which addresses a task may name
//! - [`catalog`]: the functions of all tools of a task, and whether arguments are as they are declared
//! - [`outcome`]: what comes back, in a form and a size that a planner can be shown
//! - `call`: a call of a tool, and its error
//! - [`connection`]: a connection to one tool: [`service`] or [`mcp`]
//!
//! Nothing here knows of rules, of people or of the log: when a function is called, and what becomes of a call that was
//! broken off, is the loop's. A call that is dropped is cancelled at the tool too.

mod call;
pub mod catalog;
pub mod connection;
mod mcp;
pub mod outcome;
mod service;
pub mod settings;

pub use call::{ToolCall, ToolError};
pub use catalog::FunctionCatalog;
pub use connection::ToolConnection;
pub use settings::{Tool, ToolEndpoint, ToolSettings, Tools};
