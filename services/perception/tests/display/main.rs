//! Perception on real X servers, with real applications.

mod again;
mod conformance;
mod describing;
mod detecting;
mod elsewhere;
mod faults;
mod piecewise;
mod quiet;
mod reading;
mod service;
mod session;
mod support;
