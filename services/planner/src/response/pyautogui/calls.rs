//! Meaning of each supported function.
//!
//! No Python is executed: a function that is not in the table is an error for the model.

use std::time::Duration;

use motorium_proto::domain::action::{Action, Button, ControlCharacters, ScrollAmount};
use motorium_proto::domain::key::Key;
use motorium_proto::limits::MAX_CHORD_REPEATS;

use super::held_keys::{self, KeyStep};
use super::literal::{CallArguments, Literal, PythonCall, texts, words};
use crate::response::model_actions::{ModelActions, TaskEnding, parse_text};
use crate::screenshot::ReportedPoint;

/// Maximum number of actions per code block: bounds what one response can do.
const MAX_ACTIONS: usize = 200;
/// Maximum number of wheel clicks per call: bounds what one response can do.
const MAX_WHEEL: i32 = 100;
/// Maximum duration of a wait or hold per call, in seconds.
// Bounds how long one response can block a step.
const MAX_SECONDS: f64 = 60.0;
/// Duration of `computer.wait()` without an argument. A model that needs more looks at the screen and waits again.
pub(super) const DEFAULT_WAIT: Duration = Duration::from_secs(5);

/// Parameters, in Python's order. Those without meaning here (tweening, logging) are accepted and ignored.
const CLICK: &[&str] = &[
    "x",
    "y",
    "clicks",
    "interval",
    "button",
    "duration",
    "tween",
    "logScreenshot",
    "_pause",
];
const ONE_BUTTON_CLICK: &[&str] = &[
    "x",
    "y",
    "interval",
    "duration",
    "tween",
    "logScreenshot",
    "_pause",
];
const SEVERAL_CLICKS: &[&str] = &[
    "x",
    "y",
    "interval",
    "button",
    "duration",
    "tween",
    "logScreenshot",
    "_pause",
];
const MOVE: &[&str] = &["x", "y", "duration", "tween", "logScreenshot", "_pause"];
const MOVE_BY: &[&str] = &[
    "xOffset",
    "yOffset",
    "duration",
    "tween",
    "logScreenshot",
    "_pause",
];
const DRAG: &[&str] = &[
    "x",
    "y",
    "duration",
    "tween",
    "button",
    "logScreenshot",
    "_pause",
    "mouseDownUp",
];
const DRAG_BY: &[&str] = &[
    "xOffset",
    "yOffset",
    "duration",
    "tween",
    "button",
    "logScreenshot",
    "_pause",
    "mouseDownUp",
];
const BUTTON: &[&str] = &[
    "x",
    "y",
    "button",
    "duration",
    "tween",
    "logScreenshot",
    "_pause",
];
const SCROLL: &[&str] = &["clicks", "x", "y", "logScreenshot", "_pause"];
const WRITE: &[&str] = &["message", "interval", "logScreenshot", "_pause"];
const PRESS: &[&str] = &["keys", "presses", "interval", "logScreenshot", "_pause"];
const ONE_KEY: &[&str] = &["keys", "logScreenshot", "_pause"];
const SECONDS: &[&str] = &["seconds"];
const ENDING: &[&str] = &["message"];
const TERMINATE: &[&str] = &["status", "answer"];
const APPLICATION: &[&str] = &["name"];

/// Collects the actions that the calls ask for.
#[derive(Debug, Default)]
pub(super) struct ActionBuilder {
    steps: Vec<KeyStep>,
    ending: Option<TaskEnding>,
    /// Pointer position, as far as the code itself determines it.
    pointer: Option<ReportedPoint>,
}

impl ActionBuilder {
    /// Adds one call.
    pub(super) fn add(&mut self, call: &PythonCall) -> Result<(), String> {
        if self.ending.is_some() {
            return Err("nothing can follow the end of the task".to_owned());
        }
        match (call.module.as_str(), call.function.as_str()) {
            ("computer", "terminate") => self.ending = Some(ending(&call.arguments(TERMINATE)?)?),
            ("computer", "done") => {
                self.ending = Some(TaskEnding::Done(words_of_ending(&call.arguments(ENDING)?)?));
            }
            ("computer", "fail") => {
                self.ending = Some(TaskEnding::Fail(words_of_ending(&call.arguments(ENDING)?)?));
            }
            ("computer" | "pyautogui", "wait") | ("time" | "pyautogui", "sleep") => {
                self.wait(call)?
            }
            ("computer", "open_application") => {
                self.open_application(&call.arguments(APPLICATION)?)?;
            }
            ("pyautogui" | "computer", _) => self.add_input(call)?,
            _ => return Err(unknown(call)),
        }
        Ok(())
    }

    fn add_input(&mut self, call: &PythonCall) -> Result<(), String> {
        match call.function.as_str() {
            "click" => self.click(call, CLICK, None, 1),
            "leftClick" | "left_click" => self.click(call, ONE_BUTTON_CLICK, Some(Button::Left), 1),
            "rightClick" | "right_click" => {
                self.click(call, ONE_BUTTON_CLICK, Some(Button::Right), 1)
            }
            "middleClick" | "middle_click" => {
                self.click(call, ONE_BUTTON_CLICK, Some(Button::Middle), 1)
            }
            "doubleClick" | "double_click" => self.click(call, SEVERAL_CLICKS, None, 2),
            "tripleClick" | "triple_click" => self.click(call, SEVERAL_CLICKS, None, 3),
            "moveTo" => self.move_to(&call.arguments(MOVE)?),
            "move" | "moveRel" => self.move_by(&call.arguments(MOVE_BY)?),
            "dragTo" => self.drag_to(&call.arguments(DRAG)?),
            "drag" | "dragRel" => self.drag_by(&call.arguments(DRAG_BY)?),
            "mouseDown" => self.mouse(call, |at, button| Action::MouseDown { at, button }),
            "mouseUp" => self.mouse(call, |at, button| Action::MouseUp { at, button }),
            "scroll" | "vscroll" => {
                self.scroll(call, |clicks| ScrollAmount::Notches { x: 0, y: -clicks })
            }
            "hscroll" => self.scroll(call, |clicks| ScrollAmount::Notches { x: clicks, y: 0 }),
            "write" | "typewrite" => self.write(&call.arguments(WRITE)?),
            "press" | "key" => self.press(&call.arguments(PRESS)?),
            "hotkey" => self.hotkey(call),
            "keyDown" => self.key(call, KeyStep::Down),
            "keyUp" => self.key(call, KeyStep::Up),
            _ => Err(unknown(call)),
        }
    }

    /// Returns the collected actions.
    pub(super) fn into_commands(self) -> Result<ModelActions, String> {
        let actions = held_keys::fold(self.steps)?;
        if actions.is_empty() && self.ending.is_none() {
            return Err("the code asks for no action".to_owned());
        }
        if actions.len() > MAX_ACTIONS {
            let asked = actions.len();
            return Err(format!(
                "the code asks for {asked} actions, and at most {MAX_ACTIONS} are done at once"
            ));
        }
        for action in &actions {
            action.check_limits().map_err(words)?;
        }
        Ok(ModelActions {
            actions,
            ending: self.ending,
        })
    }

    fn act(&mut self, action: Action<ReportedPoint>) {
        self.steps.push(KeyStep::Act(action));
    }

    fn wait(&mut self, call: &PythonCall) -> Result<(), String> {
        let seconds = call.arguments(SECONDS)?.number("seconds")?;
        let duration = seconds.map_or(Ok(DEFAULT_WAIT), time)?;
        self.act(Action::Wait { duration });
        Ok(())
    }

    fn open_application(&mut self, arguments: &CallArguments) -> Result<(), String> {
        let name = arguments
            .text("name")?
            .ok_or("the application is missing")?;
        let name = name.trim().to_owned();
        self.act(Action::OpenApplication { name });
        Ok(())
    }

    fn click(
        &mut self,
        call: &PythonCall,
        parameters: &[&'static str],
        button: Option<Button>,
        count: u8,
    ) -> Result<(), String> {
        let arguments = call.arguments(parameters)?;
        let at = point(&arguments)?;
        let count = match arguments.whole_number("clicks")? {
            None => count,
            Some(clicks @ 1..=3) => clicks as u8,
            Some(clicks) => {
                return Err(format!(
                    "{clicks} clicks at once are not possible: 1, 2 or 3 are"
                ));
            }
        };
        let button = button.map_or_else(|| named_button(&arguments), Ok)?;
        self.pointer = at.or(self.pointer);
        self.act(Action::Click {
            at,
            button,
            count,
            modifiers: Vec::new(),
        });
        Ok(())
    }

    fn move_to(&mut self, arguments: &CallArguments) -> Result<(), String> {
        let to = needed_point(arguments)?;
        self.pointer = Some(to);
        self.act(Action::Move { to });
        Ok(())
    }

    fn move_by(&mut self, arguments: &CallArguments) -> Result<(), String> {
        let to = self.beside_pointer(arguments)?;
        self.pointer = Some(to);
        self.act(Action::Move { to });
        Ok(())
    }

    fn drag_to(&mut self, arguments: &CallArguments) -> Result<(), String> {
        let to = needed_point(arguments)?;
        self.drag(to, arguments)
    }

    fn drag_by(&mut self, arguments: &CallArguments) -> Result<(), String> {
        let to = self.beside_pointer(arguments)?;
        self.drag(to, arguments)
    }

    fn drag(&mut self, to: ReportedPoint, arguments: &CallArguments) -> Result<(), String> {
        let button = named_button(arguments)?;
        match self.pointer.replace(to) {
            Some(from) => self.act(Action::Drag {
                path: vec![from, to],
                button,
                modifiers: Vec::new(),
                duration: arguments.number("duration")?.map(time).transpose()?,
                hold: None,
            }),
            // The drag starts at the current pointer, whose position the code does not state.
            None => {
                self.act(Action::MouseDown { at: None, button });
                self.act(Action::Move { to });
                self.act(Action::MouseUp { at: None, button });
            }
        }
        Ok(())
    }

    fn beside_pointer(&self, arguments: &CallArguments) -> Result<ReportedPoint, String> {
        let by = |name| Ok::<f64, String>(arguments.number(name)?.unwrap_or(0.0));
        let pointer = self.pointer.ok_or(
            "movements from where the pointer is are understood only after a call that says where it is",
        )?;
        Ok(ReportedPoint::new(
            pointer.x + by("xOffset")?,
            pointer.y + by("yOffset")?,
        ))
    }

    fn mouse(
        &mut self,
        call: &PythonCall,
        action: impl FnOnce(Option<ReportedPoint>, Button) -> Action<ReportedPoint>,
    ) -> Result<(), String> {
        let arguments = call.arguments(BUTTON)?;
        let at = point(&arguments)?;
        self.pointer = at.or(self.pointer);
        let button = named_button(&arguments)?;
        self.act(action(at, button));
        Ok(())
    }

    fn scroll(
        &mut self,
        call: &PythonCall,
        amount: impl FnOnce(i32) -> ScrollAmount,
    ) -> Result<(), String> {
        let arguments = call.arguments(SCROLL)?;
        let clicks = arguments
            .whole_number("clicks")?
            .ok_or("the number of wheel clicks is missing")?;
        if clicks == 0 || clicks.unsigned_abs() > MAX_WHEEL.unsigned_abs() {
            return Err(format!(
                "{clicks} wheel clicks are not possible: 1 to {MAX_WHEEL} in either direction are"
            ));
        }
        let at = point(&arguments)?;
        self.pointer = at.or(self.pointer);
        self.act(Action::Scroll {
            at,
            amount: amount(clicks),
            modifiers: Vec::new(),
        });
        Ok(())
    }

    fn write(&mut self, arguments: &CallArguments) -> Result<(), String> {
        // A list contains key names, as for `press`.
        if let Some(Literal::List(keys)) = arguments.get("message") {
            return self.strike(&texts(keys)?, 1);
        }
        let text = arguments.text("message")?.ok_or("the text is missing")?;
        if text.is_empty() {
            return Err("the text is empty".to_owned());
        }
        self.act(Action::TypeText {
            text: parse_text(text),
            control_characters: ControlCharacters::AsKeys,
        });
        Ok(())
    }

    fn press(&mut self, arguments: &CallArguments) -> Result<(), String> {
        let keys = arguments.get("keys").ok_or("the key is missing")?;
        let presses = arguments.whole_number("presses")?.unwrap_or(1);
        let repeat = u32::try_from(presses)
            .ok()
            .filter(|times| (1..=MAX_CHORD_REPEATS).contains(times))
            .ok_or_else(|| {
                format!("a key can be pressed 1 to {MAX_CHORD_REPEATS} times, not {presses}")
            })?;
        self.strike(&texts(std::slice::from_ref(keys))?, repeat)
    }

    /// Presses keys one after the other, the whole sequence `repeat` times.
    fn strike(&mut self, keys: &[&str], repeat: u32) -> Result<(), String> {
        if let [key] = keys {
            let keys = Key::parse_chord("keys", key).map_err(words)?;
            self.act(Action::KeyChord { keys, repeat });
            return Ok(());
        }
        if keys.is_empty()
            || keys.len().saturating_mul(repeat as usize) > MAX_CHORD_REPEATS as usize
        {
            return Err(format!(
                "1 to {MAX_CHORD_REPEATS} keys can be pressed in one call"
            ));
        }
        for _ in 0..repeat {
            for key in keys {
                let keys = Key::parse_chord("keys", key).map_err(words)?;
                self.act(Action::KeyChord { keys, repeat: 1 });
            }
        }
        Ok(())
    }

    fn hotkey(&mut self, call: &PythonCall) -> Result<(), String> {
        let by_name = if call.positional().is_empty() {
            call.arguments(PRESS)?.get("keys").cloned()
        } else {
            None
        };
        let names = by_name
            .as_ref()
            .map_or(call.positional(), std::slice::from_ref);
        let mut keys = Vec::new();
        for name in texts(names)? {
            keys.extend(Key::parse_chord("keys", name).map_err(words)?);
        }
        if keys.is_empty() {
            return Err("the keys are missing".to_owned());
        }
        self.act(Action::KeyChord { keys, repeat: 1 });
        Ok(())
    }

    fn key(&mut self, call: &PythonCall, step: impl FnOnce(Key) -> KeyStep) -> Result<(), String> {
        let arguments = call.arguments(ONE_KEY)?;
        let name = arguments.text("keys")?.ok_or("the key is missing")?;
        self.steps
            .push(step(Key::parse("key", name).map_err(words)?));
        Ok(())
    }
}

fn unknown(call: &PythonCall) -> String {
    format!("there is no function {}.{}", call.module, call.function)
}

fn words_of_ending(arguments: &CallArguments) -> Result<String, String> {
    Ok(arguments.text("message")?.unwrap_or_default().to_owned())
}

fn ending(arguments: &CallArguments) -> Result<TaskEnding, String> {
    let answer = arguments.text("answer")?.unwrap_or_default().to_owned();
    let status = arguments
        .text("status")?
        .unwrap_or("success")
        .to_lowercase();
    match status.as_str() {
        "success" => Ok(TaskEnding::Done(answer)),
        "fail" | "failure" => Ok(TaskEnding::Fail(answer)),
        _ => Err(format!("`{status}` is no status: success and failure are")),
    }
}

fn time(seconds: f64) -> Result<Duration, String> {
    if (0.0..=MAX_SECONDS).contains(&seconds) {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(format!(
        "{seconds} seconds are not possible: 0 to {MAX_SECONDS} are"
    ))
}

fn named_button(arguments: &CallArguments) -> Result<Button, String> {
    match arguments.text("button")?.map(str::to_lowercase).as_deref() {
        None | Some("left" | "primary") => Ok(Button::Left),
        Some("right" | "secondary") => Ok(Button::Right),
        Some("middle") => Ok(Button::Middle),
        Some("back") => Ok(Button::Back),
        Some("forward") => Ok(Button::Forward),
        Some(other) => Err(format!(
            "there is no button `{other}`: left, right, middle, back and forward are"
        )),
    }
}

fn needed_point(arguments: &CallArguments) -> Result<ReportedPoint, String> {
    point(arguments)?.ok_or_else(|| "the point is missing".to_owned())
}

/// Returns the point from `x` and `y`, or from a pair in `x`.
fn point(arguments: &CallArguments) -> Result<Option<ReportedPoint>, String> {
    if let Some(Literal::List(pair)) = arguments.get("x") {
        return match pair[..] {
            [Literal::Number(x), Literal::Number(y)] if arguments.get("y").is_none() => {
                Ok(Some(ReportedPoint::new(x, y)))
            }
            _ => Err("a point is two numbers".to_owned()),
        };
    }
    match (arguments.number("x")?, arguments.number("y")?) {
        (Some(x), Some(y)) => Ok(Some(ReportedPoint::new(x, y))),
        (None, None) => Ok(None),
        _ => Err("a point needs both x and y".to_owned()),
    }
}
