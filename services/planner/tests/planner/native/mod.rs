//! Conversations with models that have their own computer tool.
//!
//! - [`fake_task`]: a simulated desktop that performs decisions, or fails to
//! - [`request_checks`]: invariants of every request
//! - [`faults`]: any sequence of responses, outcomes, stops, crashes and changes of backend
//! - [`claude`], [`openai`]: the exchange with each provider; [`claude_tool`]: the versions of the tool
//! - [`user_images`]: images of the user in a conversation

mod claude;
mod claude_tool;
mod fake_task;
mod faults;
mod openai;
mod request_checks;
mod user_images;
