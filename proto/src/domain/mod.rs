//! Domain types of the contract, in which required fields are not optional.
//!
//! Generated types stop at the edge of a service. `TryFrom` converts them into these types (see [`crate::convert`]), and
//! no code behind the edge uses a generated message.

pub mod action;
pub mod decision;
pub mod desktop;
pub mod effect;
pub mod element;
pub mod frame;
pub mod geometry;
pub mod id;
pub mod key;
pub mod owner;
pub mod private_host;
pub mod session;
