//! Parses any text as the response to an annotated screenshot.

#![no_main]

use libfuzzer_sys::fuzz_target;
use motorium_planner_fuzz::numbered;

fuzz_target!(|text: &str| numbered(text));
