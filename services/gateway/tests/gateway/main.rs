//! The gateway over real sockets, in front of services that the test makes.

mod access;
mod chat;
mod files;
mod grpc_web;
mod live;
mod mcp;
mod support;
