//! Parses any JSON as the response of every provider.

#![no_main]

use libfuzzer_sys::fuzz_target;
use motorium_planner_fuzz::bodies;

fuzz_target!(|text: &str| bodies(text));
