//! The gateway: serves browsers, which speak neither gRPC nor HTTP/2 without encryption.
//!
//! - the web page
//! - gRPC-Web to the Orchestrator, and to Perception and Executor of each desktop
//! - watches, live screens and the input of people over WebSockets; files; REST with server-sent events
//!
//! It holds no rights and judges none. Every call is made with the token of its caller, and the services decide. It stores
//! nothing but the sessions of browsers. docs/gateway.md describes the interface.
//!
//! Invariant: nothing but the page's own files is served without a session or a token, and nothing at all under the name of
//! another host.

mod access;
mod address;
mod caller;
mod chat;
mod config;
mod error;
mod files;
mod guard;
mod json;
mod live;
mod login;
mod openapi;
mod operate;
mod page;
mod peer;
mod private_file;
mod proxy;
mod quota;
mod server;
mod session_api;
mod sessions;
mod socket;
mod streams;
mod time;
mod upstream;
mod watches;

pub use config::{Config, ConfigError, Settings, Surroundings};
pub use error::reason;
pub use server::{Gateway, StartError, own_token, running_address};
