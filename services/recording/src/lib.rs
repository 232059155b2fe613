//! The record of a task: its log, recordings of its runs, replay, and export as files.
//!
//! - [`log`]: the events of a task in the store: encoding, decoding, appending
//! - [`recording`]: requests and responses of a run, kept so that it can be repeated without the services
//! - [`replay`]: an exported task as the source of a replay, and the comparison with it
//! - [`trajectory`]: a task as files, for people and for programs
//! - [`transcript`]: the messages and steps of the tasks of a session
//! - [`ports`]: the three services that a run talks to
//!
//! Nothing is run here: the run loop belongs to the Orchestrator, which passes its ports through a recording and drives replays.

pub mod log;
pub mod ports;
pub mod recording;
pub mod replay;
pub mod trajectory;
pub mod transcript;
