//! Parses any text as the answer to the questions beside a task's steps.

#![no_main]

use libfuzzer_sys::fuzz_target;
use motorium_planner_fuzz::questions;

fuzz_target!(|text: &str| questions(text));
