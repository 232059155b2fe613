//! Any text, read as Python.

#![no_main]

use libfuzzer_sys::fuzz_target;
use motorium_planner::answer::pyautogui;

fuzz_target!(|text: &str| {
    if let Ok(commands) = pyautogui::read(text) {
        assert!(!commands.actions.is_empty() || commands.ending.is_some());
        assert!(["pyautogui.", "computer.", "time."].iter().any(|module| {
            let spaced: String = text.split_whitespace().collect();
            spaced.contains(module) || text.contains('\\')
        }));
        for action in &commands.actions {
            assert!(action.check_limits().is_ok());
            assert!(action.targets().all(|point| point.x.is_finite() && point.y.is_finite()));
        }
    }
});
