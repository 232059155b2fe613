//! What the Planner understands, finds and decides.

mod adverse;
mod anew;
mod answers;
mod asked;
mod chat;
mod contract;
mod coordinates;
mod dialogue;
mod failures;
mod fallback;
mod fixtures;
mod fuzz;
mod grammar;
mod injection;
mod loopback;
mod matcher;
mod misconfigured;
mod native;
mod numbered;
mod page;
mod pictures;
mod request;
mod screens;
mod served;
mod service;
mod task;
