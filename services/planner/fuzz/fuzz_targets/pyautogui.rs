//! Parses any text as Python.

#![no_main]

use libfuzzer_sys::fuzz_target;
use motorium_planner_fuzz::pyautogui;

fuzz_target!(|text: &str| pyautogui(text));
