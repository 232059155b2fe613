//! The gateway: serves browsers, which speak neither gRPC nor HTTP/2 without encryption.
//!
//! - the web page
//! - gRPC-Web to the Orchestrator, and to Perception and Executor of each desktop
//! - watches, live screens and the input of people over WebSockets; files; REST with server-sent events
//! - resources over REST, and the Model Context Protocol for other agents
//!
//! It holds no rights and judges none. Every call is made with the token of its caller, and the services decide. It stores
//! nothing but the sessions of browsers. docs/gateway.md describes the interface.
//!
//! Invariant: nothing but the page's own files is served without a session or a token, and nothing at all under the name of
//! another host.

mod access;
mod address;
mod browser_sessions;
mod caller;
mod chat;
mod config;
mod connections;
mod error;
mod files;
mod guard;
mod json;
mod live;
mod login;
mod mcp;
mod openapi;
mod operate;
mod page;
mod path;
mod peer;
mod proxy;
mod query;
mod quota;
mod resources;
mod server;
mod session_api;
mod socket;
mod time;
mod upstream;
mod watches;

pub use config::{Config, ConfigError, LocalAccess, Services, Settings, folder};
pub use error::reason;
pub use server::{Gateway, StartError, own_token, running_address};
