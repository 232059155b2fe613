//! Motorium as a tool of other agents: a server of the Model Context Protocol, at `/mcp`.
//!
//! - `tools`: the tools and their arguments
//! - `server`: lists the tools and passes calls on
//! - `call`, `input`: a call with its results; the answers that clients without sessions bring back
//! - `tasks`: runs, follows, answers and stops tasks; extracts data
//! - `handles`: tasks in the form of the Tasks extension
//! - `approvals`: asks the person at the client
//! - `plain_text`: texts of pages and clients in the words of this server
//! - `files`: files of tasks as resources
//! - `desktop`: looks at a desktop, and acts on it
//! - `session`: sessions of the protocol, each of one caller
//!
//! The protocol itself is rmcp's. Each call of a tool is made with the token of the request that brought it, and the services
//! decide what the caller may do. There is no tool that approves an action: a model could call it. `approve` asks a person, and
//! only a client that can ask one has it.

mod approvals;
mod call;
mod desktop;
mod files;
mod handles;
mod input;
mod plain_text;
mod server;
mod session;
mod tasks;
mod tools;

pub(crate) use session::{McpService, check_session};
