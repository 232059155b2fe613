//! Any text, read as tool calls.

#![no_main]

use libfuzzer_sys::fuzz_target;
use motorium_planner::answer::tool_calls::{self, computer_use};

fuzz_target!(|text: &str| {
    let Ok(calls) = tool_calls::read(text) else {
        return;
    };
    assert!(!calls.is_empty());
    let before = tool_calls::words_before(text);
    assert!(text.contains(before));
    if let Ok(commands) = computer_use::read(&calls) {
        assert!(!commands.actions.is_empty() || commands.ending.is_some());
        for action in &commands.actions {
            assert!(action.check_limits().is_ok());
            assert!(action.targets().all(|point| point.x.is_finite() && point.y.is_finite()));
        }
    }
});
