//! Perception on real X servers, with real applications.

mod conformance;
mod faults;
mod quiet;
mod reading;
mod service;
mod support;
