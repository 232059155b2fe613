//! What all backends share that give a model its provider's own computer tool.
//!
//! - [`acts`]: from what a model says of its screenshot to actions of ours
//! - [`calls`]: the calls of a model's turn, and what it is told of each of them afterwards
//! - [`toolbox`]: the tools beside the computer: ours, and the functions that a task brings
//! - [`shown`]: pictures within a conversation, kept by their checksums
//! - [`turn`]: the decision that a turn of several calls comes to
//! - [`briefing`]: what a model is told in words; `intent` and [`words`]: what people read
//!
//! A conversation only grows at its end. Where that is not possible (a picture that it shows is no longer given, the
//! screen has another size, other backends have decided in between) it is not edited: a new one begins, in which the
//! past is told in words. So neither a provider's cache nor thinking that is bound to what came before it ever meets a
//! changed beginning.

pub(super) mod acts;
pub(super) mod briefing;
pub(super) mod calls;
mod intent;
pub(super) mod shown;
pub(super) mod toolbox;
pub(super) mod turn;
pub(super) mod words;
