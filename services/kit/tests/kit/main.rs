//! The kit over real sockets: what a caller, an operator or a mesh would notice.

mod access;
mod configuration;
mod deadlines;
mod health_and_reflection;
mod pages;
mod probe;
mod process;
mod shutting_down;
mod starting;
mod statuses;
