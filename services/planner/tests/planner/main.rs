//! What the Planner understands, finds and decides.

mod answers;
mod chat;
mod contract;
mod coordinates;
mod dialogue;
mod failures;
mod grammar;
mod matcher;
mod numbered;
mod page;
mod screens;
mod service;
