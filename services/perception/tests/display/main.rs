//! Perception on real X servers, with real applications.

mod conformance;
mod description;
mod detection;
mod faults;
mod idle;
mod incremental;
mod incremental_capture;
mod remote_parsers;
mod service;
mod session;
mod support;
mod text_reading;
