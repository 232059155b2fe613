//! Policy decisions about actions and function calls: allow, require approval, or deny.
//!
//! - `action`: the inputs, the category and the argument of an action
//! - [`context`]: the attributes of an action or a call that policies can refer to
//! - `target_context`: the target on the screen, its label and surroundings, and the meaning of keys there
//! - [`engine`]: Cedar policies over action contexts
//! - `named_hosts`: private hosts in the user's words
//! - [`provenance`]: parts of an argument that do not come from the user
//! - [`described_step`]: a step that is described, without a screen
//! - `decoding`: decoded forms of a text, and the values in it
//! - [`rules`]: the rules of a policy, described for people
//! - [`source`]: loading policies from files, and reloading them when the files change
//!
//! The lexicon that gives texts a meaning is in `motorium_text`. Approvals are requested and awaited by the run loop, not here.

mod action;
pub mod context;
mod decoding;
pub mod described_step;
pub mod engine;
mod named_hosts;
pub mod provenance;
pub mod rules;
pub mod source;
mod target_context;

pub use context::{ActionContext, ActionInputs, CallInputs};
pub use engine::{Creator, Judgement, Policy, PolicyDecision, PolicyRule, Requester};
pub use named_hosts::{PRIVATE_ADDRESS_RULE, named_private_hosts, private_hosts_of};
pub use rules::{RuleDescription, RuleEffect};
pub use source::{PolicyDocument, PolicySource};
pub use target_context::surrounding_area;
