//! Damaged answers: readers neither panic nor make an action out of what is not there.

use motorium_planner::answer::commands::Commands;
use motorium_planner::answer::tool_calls::computer_use;
use motorium_planner::answer::{pyautogui, tool_calls};
use motorium_planner::picture::SaidPoint;
use proptest::prelude::*;

/// Answers that are understood, to be damaged.
const CODE: &[&str] = &[
    "import pyautogui\npyautogui.click(x=644, y=364, clicks=2)\npyautogui.write('Hello')",
    "pyautogui.keyDown('ctrl')\npyautogui.click(1, 2)\npyautogui.keyUp('ctrl')",
    "pyautogui.moveTo((1, 2))\npyautogui.dragTo(30, 40, duration=0.5)\ncomputer.terminate(status='success')",
    "pyautogui.hotkey(['ctrl', 's'])\npyautogui.scroll(-5)  # down\ntime.sleep(1.5)",
];
const CALLS: &[&str] = &[
    "Click.\n<tool_call>\n{\"name\": \"computer_use\", \"arguments\": {\"action\": \"left_click\", \"coordinate\": [500, 320]}}\n</tool_call>",
    "<tool_call>\n<function=computer_use>\n<parameter=action>\ntype\n</parameter>\n<parameter=text>\nHello\n</parameter>\n</function>\n</tool_call>",
    "<tool_call>{\"name\": \"computer_use\", \"arguments\": {\"action\": \"terminate\", \"status\": \"success\"}}</tool_call>",
];
/// What damage is made of, beside single characters.
const PIECES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "'",
    "\"",
    "\\",
    "\n",
    "    ",
    "'''",
    "f'{",
    "**",
    "lambda:",
    "if ",
    "0x",
    "1e",
    "é",
    "\u{feff}",
    "\0",
    "<tool_call>",
    "</tool_call>",
    "<parameter=",
    "</parameter>",
    "<function=",
    "{",
    "}",
    ",",
    ":",
    "null",
    "-",
    "\u{2028}",
];

/// One place of a text, and what is done there: something put in, taken out, or doubled.
fn damage() -> impl Strategy<Value = (prop::sample::Index, usize, String)> {
    let piece = prop_oneof![
        proptest::sample::select(PIECES).prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
        Just(String::new()),
    ];
    (any::<prop::sample::Index>(), 0usize..12, piece)
}

fn damaged(text: &str, damages: &[(prop::sample::Index, usize, String)]) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for (place, gone, put) in damages {
        let at = place.index(characters.len() + 1);
        let end = (at + gone).min(characters.len());
        characters.splice(at..end, put.chars());
    }
    characters.into_iter().collect()
}

/// What no reader may let through, whatever the text was.
fn is_sound(commands: &Commands) -> bool {
    let asks = !commands.actions.is_empty() || commands.ending.is_some();
    asks && commands.actions.iter().all(|action| {
        let aimed = |point: &SaidPoint| point.x.is_finite() && point.y.is_finite();
        action.check_limits().is_ok() && action.targets().all(aimed)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn damaged_python_is_read_or_refused(
        code in proptest::sample::select(CODE),
        damages in proptest::collection::vec(damage(), 0..6),
    ) {
        let text = damaged(code, &damages);
        if let Ok(commands) = pyautogui::read(&text) {
            prop_assert!(is_sound(&commands), "{commands:?}");
        }
    }

    #[test]
    fn damaged_calls_are_read_or_refused(
        call in proptest::sample::select(CALLS),
        damages in proptest::collection::vec(damage(), 0..6),
    ) {
        let text = damaged(call, &damages);
        if let Ok(calls) = tool_calls::read(&text)
            && let Ok(commands) = computer_use::read(&calls)
        {
            prop_assert!(is_sound(&commands), "{commands:?}");
        }
    }

    /// Any text at all.
    #[test]
    fn noise_asks_for_nothing(text in any::<String>()) {
        prop_assert!(pyautogui::read(&text).is_err());
        prop_assert!(tool_calls::read(&text).is_err());
    }
}
