//! Any text, read as the answer to a numbered screen.

#![no_main]

use libfuzzer_sys::fuzz_target;
use motorium_planner_fuzz::numbered;

fuzz_target!(|text: &str| numbered(text));
