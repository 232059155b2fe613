//! The domain: what the contract's messages mean, with nothing optional that is required.
//!
//! Generated types stop at the edge of a service. They are turned into these by `TryFrom` (see [`crate::convert`])
//! and nothing behind the edge handles a raw message.

pub mod action;
pub mod decision;
pub mod desktop;
pub mod effect;
pub mod element;
pub mod frame;
pub mod geometry;
pub mod id;
pub mod key;
