//! Parses any text as tool calls.

#![no_main]

use libfuzzer_sys::fuzz_target;
use motorium_planner_fuzz::tool_calls;

fuzz_target!(|text: &str| tool_calls(text));
