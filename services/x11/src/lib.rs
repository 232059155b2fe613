//! The X11 connection that Perception and Executor share: a timeout on every call, authentication, atoms, and the
//! window list.
//!
//! Deliberately absent: pixels, damage and the cursor (Perception); input, the keymap and the clipboard (Executor); and
//! the names of the services' errors, which map [`Error`] into their own in one place each.
//!
//! Invariant: no call waits longer than the [`Watchdog`] allows, not even for a stopped server. After
//! [`Error::ends_connection`] the connection is dropped and its owner opens a new one.

mod address;
mod atoms;
mod connection;
mod error;
mod waker;
mod watchdog;
pub mod windows;

pub use address::Address;
pub use atoms::Atoms;
pub use connection::{Connection, Xcb};
pub use error::{Error, ignore_gone};
pub use waker::{Waker, wait_readable};
pub use watchdog::{Watchdog, WatchedStream};
