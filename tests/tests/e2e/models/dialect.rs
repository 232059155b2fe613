//! Answers of models in the protocols of their providers.

use serde_json::{Value, json};

use super::sight::Sight;
use super::spellings::{self, Spelling};

/// A kind of backend, with the protocol of its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    ClaudeSom,
    ClaudeComputer,
    OpenAiComputer,
    Operator,
    OpenCua,
    QwenVl,
}

pub(super) const ALL: [Dialect; 6] = [
    Dialect::ClaudeSom,
    Dialect::ClaudeComputer,
    Dialect::OpenAiComputer,
    Dialect::Operator,
    Dialect::OpenCua,
    Dialect::QwenVl,
];

/// A decision of a model.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Move {
    /// Clicks a control of the form: the text that names it in a list of elements, and its centre on the screenshot.
    Click(&'static str, (f64, f64)),
    Type(String),
    /// Presses control and a letter.
    Control(char),
    /// Calls a function, beside the computer tool of native backends.
    Call(&'static str, Value),
    /// Clicks far outside of the screen, or an element that does not exist.
    ClickNowhere,
    /// An action that no protocol has.
    Fly,
    /// An answer that breaks off.
    BreakOff,
    /// Reasoning without an answer.
    Ponder,
    /// A question to the user in words, without a call.
    Ask(&'static str),
    /// Ends with success, of which this text on the screen is evidence.
    Done(&'static str),
}

impl Dialect {
    /// Returns the kind of the backend.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::ClaudeSom => "claude_som",
            Self::ClaudeComputer => "claude_computer",
            Self::OpenAiComputer => "openai_computer",
            Self::Operator => "operator",
            Self::OpenCua => "opencua",
            Self::QwenVl => "qwen_vl",
        }
    }

    pub(super) fn model(self) -> &'static str {
        match self {
            Self::ClaudeSom | Self::ClaudeComputer => "claude-opus-4-6",
            Self::OpenAiComputer => "gpt-5.6-sol",
            Self::Operator => "local-vl",
            Self::OpenCua => "opencua-7b",
            Self::QwenVl => "qwen3-vl-plus",
        }
    }

    /// Returns the end of the address that a request of this protocol goes to.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::ClaudeSom | Self::ClaudeComputer => "/messages",
            Self::OpenAiComputer => "/responses",
            Self::Operator | Self::OpenCua | Self::QwenVl => "/chat/completions",
        }
    }

    /// Returns the response with a decision. `number` makes ids of calls unique.
    pub(super) fn response(self, decision: &Move, sight: &Sight, number: usize) -> Value {
        match self {
            Self::ClaudeSom => anthropic(
                json!({"type": "text", "text": som(decision, sight).to_string()}),
                "end_turn",
            ),
            Self::ClaudeComputer => claude(decision, number),
            Self::OpenAiComputer => responses(openai(decision, number), self.model()),
            Self::Operator => chat(&som(decision, sight).to_string(), self.model()),
            Self::OpenCua => chat(&opencua(decision, sight), self.model()),
            Self::QwenVl => chat(&qwen(decision, sight), self.model()),
        }
    }

    /// Returns the response with an action in the spelling of another tool.
    pub(super) fn spelled(self, spelling: &Spelling, sight: &Sight, number: usize) -> Value {
        match self {
            Self::ClaudeSom => self.text_response(&spellings::som(spelling, sight).to_string()),
            Self::ClaudeComputer => {
                anthropic_call("computer", &spellings::claude(spelling, sight), number)
            }
            Self::OpenAiComputer => responses(
                openai_computer_call(&spellings::openai(spelling, sight), number),
                self.model(),
            ),
            Self::Operator => {
                self.text_response(&spellings::som_with_terminate(spelling, sight).to_string())
            }
            Self::OpenCua => {
                let words = match spelling {
                    Spelling::Fail(reason) => reason,
                    _ => "Go on with the form.",
                };
                chat(
                    &opencua_step(words, &spellings::opencua(spelling, sight)),
                    self.model(),
                )
            }
            Self::QwenVl => chat(&qwen_calls(&spellings::qwen(spelling, sight)), self.model()),
        }
    }

    /// Returns the response with a text.
    pub(super) fn text_response(self, text: &str) -> Value {
        match self {
            Self::ClaudeSom | Self::ClaudeComputer => {
                anthropic(json!({"type": "text", "text": text}), "end_turn")
            }
            Self::OpenAiComputer => responses(openai_message(text, 1), self.model()),
            Self::Operator | Self::OpenCua | Self::QwenVl => chat(text, self.model()),
        }
    }
}

/// Returns a click on the first element whose line in the list has this text.
fn som(decision: &Move, sight: &Sight) -> Value {
    let act = |action: Value| json!({"thought": "I look at the form.", "progress": "Filling the form", "next": "act", "actions": [action]});
    match decision {
        Move::Click(label, _) => {
            let element = element_called(&sight.text, label);
            act(
                json!({"intent": format!("click {label}"), "action": "click", "element_id": element}),
            )
        }
        Move::Type(text) => {
            act(json!({"intent": "type the text", "action": "type_text", "text": text}))
        }
        Move::ClickNowhere => {
            act(json!({"intent": "click", "action": "click", "element_id": 9999}))
        }
        Move::Call(..) | Move::Ponder | Move::Ask(_) => {
            panic!("{decision:?} is not for this protocol")
        }
        Move::Control(letter) => act(
            json!({"intent": "press the shortcut", "action": "press_keys", "keys": ["ctrl", letter]}),
        ),
        Move::Fly => act(json!({"intent": "fly", "action": "fly"})),
        Move::BreakOff => json!("I look at the form and {\"next\": \"act\", \"actions\": ["),
        Move::Done(evidence) => {
            json!({"thought": "It is saved.", "progress": "Saved", "next": "done", "message": "It is saved.",
            "evidence": [evidence]})
        }
    }
}

/// Returns the number of the first element with this text in a list of elements.
pub(super) fn element_called(text: &str, label: &str) -> u32 {
    let quoted = format!("\"{label}\"");
    // The list of the current screen is the last one.
    let mut lines = text.lines().rev();
    let line = lines.find(|line| line.starts_with('[') && line.contains(&quoted));
    let line = line.unwrap_or_else(|| panic!("{label} is not in\n{text}"));
    line[1..].split(']').next().unwrap().parse().unwrap()
}

fn anthropic(content: Value, stop: &str) -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-6", "content": [content],
        "stop_reason": stop, "stop_sequence": null,
        "usage": {"input_tokens": 1500, "output_tokens": 60, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}})
}

fn claude(decision: &Move, number: usize) -> Value {
    let (tool, input) = match decision {
        Move::Click(_, (x, y)) => (
            "computer",
            json!({"action": "left_click", "coordinate": [x.round(), y.round()]}),
        ),
        Move::Type(text) => ("computer", json!({"action": "type", "text": text})),
        Move::Call(name, input) => (*name, input.clone()),
        Move::Control(letter) => (
            "computer",
            json!({"action": "key", "text": format!("ctrl+{letter}")}),
        ),
        Move::BreakOff => ("computer", json!({})),
        Move::ClickNowhere => (
            "computer",
            json!({"action": "left_click", "coordinate": [9000, 9000]}),
        ),
        Move::Fly => ("computer", json!({"action": "fly"})),
        Move::Ponder | Move::Ask(_) => panic!("{decision:?} is not for this protocol"),
        Move::Done(evidence) => (
            "finish",
            json!({"answer": "It is saved.", "evidence": [evidence]}),
        ),
    };
    anthropic_call(tool, &input, number)
}

fn anthropic_call(tool: &str, input: &Value, number: usize) -> Value {
    let call =
        json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": tool, "input": input});
    anthropic(call, "tool_use")
}

fn responses(output: Value, model: &str) -> Value {
    json!({"id": "resp_1", "object": "response", "created_at": 1_763_683_200, "status": "completed", "model": model,
        "output": [output], "parallel_tool_calls": true, "tool_choice": "auto", "tools": [{"type": "computer"}],
        "error": null, "incomplete_details": null,
        "usage": {"input_tokens": 1500, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 60,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 1560}})
}

fn openai(decision: &Move, number: usize) -> Value {
    let action = match decision {
        Move::Click(_, (x, y)) => {
            json!({"type": "click", "button": "left", "x": x.round(), "y": y.round()})
        }
        Move::Type(text) => json!({"type": "type", "text": text}),
        Move::Control(letter) => {
            json!({"type": "keypress", "keys": ["CTRL", letter.to_uppercase().to_string()]})
        }
        Move::Call(name, arguments) => {
            return json!({"type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"),
                "name": name, "arguments": arguments.to_string(), "status": "completed"});
        }
        Move::BreakOff => json!({"type": "click"}),
        Move::ClickNowhere => json!({"type": "click", "button": "left", "x": 9000, "y": 9000}),
        Move::Fly => json!({"type": "fly"}),
        Move::Ponder => {
            let summary = json!({"type": "summary_text", "text": "The form wants a name."});
            return json!({"type": "reasoning", "id": format!("rs_{number}"), "summary": [summary]});
        }
        Move::Ask(question) => return openai_message(question, number),
        Move::Done(_) => return openai_message("It is saved.", number),
    };
    openai_computer_call(&action, number)
}

fn openai_computer_call(action: &Value, number: usize) -> Value {
    json!({"type": "computer_call", "id": format!("cu_{number}"), "call_id": format!("call_{number}"),
        "status": "completed", "pending_safety_checks": [], "actions": [action]})
}

fn openai_message(text: &str, number: usize) -> Value {
    let text = json!({"type": "output_text", "text": text, "annotations": []});
    json!({"type": "message", "id": format!("m_{number}"), "role": "assistant", "status": "completed", "content": [text]})
}

fn chat(content: &str, model: &str) -> Value {
    let message = json!({"role": "assistant", "refusal": null, "content": content});
    json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1_763_683_200, "model": model,
        "choices": [{"index": 0, "finish_reason": "stop", "logprobs": null, "message": message}],
        "usage": {"prompt_tokens": 1400, "completion_tokens": 40, "total_tokens": 1440}})
}

/// Multiple of pixels to which Qwen2.5-VL's processor rounds both sides of an image.
const PATCH: f64 = 28.0;

/// Returns a point of the screenshot in pixels of the image as the model's own processor resizes it.
pub(super) fn resized((x, y): (f64, f64), sight: &Sight) -> (f64, f64) {
    // The image is far from the processor's limits of area.
    let scaled = |at: f64, side: u32| {
        let side = f64::from(side);
        at * (side / PATCH).round() * PATCH / side
    };
    let (width, height) = sight.screen.dimensions();
    (scaled(x, width), scaled(y, height))
}

fn opencua(decision: &Move, sight: &Sight) -> String {
    let code = match decision {
        Move::Click(_, at) => {
            let (x, y) = resized(*at, sight);
            format!("pyautogui.click(x={x:.0}, y={y:.0})")
        }
        Move::Type(text) => format!("pyautogui.write(message={})", json!(text)),
        Move::ClickNowhere => "pyautogui.click(x=9000, y=9000)".to_owned(),
        Move::Call(..) | Move::Ponder | Move::Ask(_) => {
            panic!("{decision:?} is not for this protocol")
        }
        Move::Control(letter) => format!("pyautogui.hotkey('ctrl', '{letter}')"),
        Move::Fly => "pyautogui.fly()".to_owned(),
        Move::BreakOff => "pyautogui.click(x=".to_owned(),
        Move::Done(_) => {
            return "# Step 1:\n## Thought:\nIt is saved.\n\n## Action:\nEnd the task.\n\n## Code:\n```code\n\
                    computer.terminate(status='success')\n```\n"
                .to_owned();
        }
    };
    opencua_step("Go on with the form.", &code)
}

fn opencua_step(words: &str, code: &str) -> String {
    format!(
        "# Step 1:\n## Thought:\nI look at the form.\n\n## Action:\n{words}\n\n## Code:\n```python\n{code}\n```\n"
    )
}

/// Returns a point of the screenshot in thousandths of its sides.
pub(super) fn thousandths((x, y): (f64, f64), sight: &Sight) -> [f64; 2] {
    let of = |at: f64, side: u32| (at * 1000.0 / f64::from(side)).round();
    let (width, height) = sight.screen.dimensions();
    [of(x, width), of(y, height)]
}

fn qwen(decision: &Move, sight: &Sight) -> String {
    let arguments = match decision {
        Move::Click(_, at) => {
            json!({"action": "left_click", "coordinate": thousandths(*at, sight)})
        }
        Move::Type(text) => json!({"action": "type", "text": text}),
        Move::ClickNowhere => json!({"action": "left_click", "coordinate": [1500, 1500]}),
        Move::Call(..) | Move::Ponder | Move::Ask(_) => {
            panic!("{decision:?} is not for this protocol")
        }
        Move::Control(letter) => json!({"action": "key", "keys": ["ctrl", letter]}),
        Move::Fly => json!({"action": "fly"}),
        Move::BreakOff => {
            return "Action: Go on with the form.\n<tool_call>\n{\"name\": \"computer_use\", \"argu".to_owned();
        }
        Move::Done(_) => json!({"action": "terminate", "status": "success"}),
    };
    qwen_calls(&[arguments])
}

fn qwen_calls(arguments: &[Value]) -> String {
    let calls = arguments.iter().map(|arguments| {
        let call = json!({"name": "computer_use", "arguments": arguments});
        format!("\n<tool_call>\n{call}\n</tool_call>")
    });
    format!("Action: Go on with the form.{}", calls.collect::<String>())
}
