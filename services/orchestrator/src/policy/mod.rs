//! What may be done, what a person is asked about first, and what is refused.
//!
//! - [`situation`]: what is about to be done, and where, as the rules may speak of it
//! - `place`: the place on the screen, what is written there and around it, and what keys do there
//! - `commands`: what a line for a terminal starts
//! - [`words`]: what texts mean, by lists that a user can change
//! - [`rules`]: Cedar policies over situations
//! - [`provenance`]: whose words an argument is made of
//! - `readings`: what a text says when it is decoded, and as a value
//! - [`source`]: where rules come from, and that they follow their files
//!
//! Nothing is asked and nothing waited for here: that is the loop's.

mod commands;
mod place;
pub mod provenance;
mod readings;
pub mod rules;
pub mod situation;
pub mod source;
mod text;
pub mod words;

pub(crate) use place::around;
pub use rules::{Rule, Rules, Ruling};
pub use situation::{CallCircumstances, Circumstances, Situation};
pub use source::{Source, Written};
