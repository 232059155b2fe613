//! The Orchestrator as its users meet it: over gRPC, with a real store, with services that do as they are told.
//!
//! One file for each thing that a user would notice. `support` has the cluster that they all run on.

mod approvals;
mod bad_input;
mod cancelling;
mod circles;
mod completion;
mod desktops;
mod disturbances;
mod ending_process;
mod endings;
mod errand;
mod functions;
mod hooks;
mod ladder;
mod limits;
mod lists;
mod pausing;
mod pointer;
mod provenance;
mod recovery;
mod replay;
mod requests;
mod several;
mod support;
mod watching;
