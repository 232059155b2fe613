//! Shared parts of the backends that use a provider's own computer tool.
//!
//! - [`actions`]: converts model coordinates into actions
//! - [`calls`]: the calls of a model's turn, and their results
//! - [`toolbox`]: the other tools: ours, and the task's functions
//! - [`conversation_image`]: images in a conversation, stored by checksum
//! - [`conversation_state`]: the rest of a stored conversation that providers share
//! - [`turn`]: the decision of a turn with several calls
//! - [`messages`]: prompts for the model; `intent` and [`progress`]: texts for the user
//!
//! A conversation only grows at its end. If that is not possible (an image is no longer available, the screen size has
//! changed, another backend has decided in between), it is not edited: a new one starts, in which earlier steps are
//! described as text. So the prefix never changes under a provider's cache, or under thinking that is bound to it.

pub(super) mod actions;
pub(super) mod calls;
pub(super) mod conversation_image;
pub(super) mod conversation_state;
mod intent;
pub(super) mod messages;
pub(super) mod progress;
pub(super) mod toolbox;
pub(super) mod turn;
