//! Tests of the kit over real sockets, from the view of a caller, an operator or a service mesh.

mod access;
mod callers;
mod configuration;
mod connections;
mod deadlines;
mod health_and_reflection;
mod issuer;
mod pages;
mod probe;
mod process;
mod shutting_down;
mod starting;
mod statuses;
