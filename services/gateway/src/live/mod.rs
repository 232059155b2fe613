//! Live screens: one stream for all viewers of a desktop or a task, and an image of fitting size for each.
//!
//! - `snapshot`: the screen at one time, and its encodings
//! - `screen`: follows a desktop or a task
//! - `viewer`: one WebSocket
//! - `frame`: one frame over plain HTTP
//!
//! Viewers share a stream only if they call with the same token: what a caller may see, the services decide.

pub(crate) mod frame;
mod screen;
mod snapshot;
mod viewer;

pub(crate) use screen::Screens;
pub(crate) use viewer::{watch_screen, watch_screen_of_task};
