//! What the Planner understands, finds and decides.

mod answers;
mod chat;
mod coordinates;
mod dialogue;
mod grammar;
mod matcher;
mod page;
mod screens;
mod service;
