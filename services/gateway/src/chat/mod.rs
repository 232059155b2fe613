//! REST and server-sent events of the chat protocol that Motorium began with, for programs and pages that speak it.
//!
//! - `narration`: from the events of a task to those of the protocol
//! - `stream`: the events of a session as server-sent events
//! - `requests`: messages to a session
//! - `tasks`: tasks without a session
//!
//! It decides nothing: every request is a call of the Orchestrator.

mod narration;
mod requests;
mod stream;
mod tasks;

pub(crate) use requests::{ChatAttachment, acknowledge, attachments, request_id, send, stop};
pub(crate) use stream::follow;
pub(crate) use tasks::{create, get};

/// Handlers and types, for the description of the interface.
pub(crate) mod description {
    pub(crate) use super::requests::{__path_acknowledge, __path_send, __path_stop};
    pub(crate) use super::stream::__path_follow;
    pub(crate) use super::tasks::{__path_create, __path_get};
}
