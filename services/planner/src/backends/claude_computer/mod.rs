//! Claude with its own computer tool: the conversation is Anthropic's, with every word of the model as it was said.
//!
//! - [`input`]: what the tool is told to do, as actions of ours
//! - [`memory`]: the conversation between two steps, without pixels
//! - [`request`]: the request, from the conversation and what the model can do
//!
//! Which version of the tool a model has is looked up in the table of models. A turn that only looks (a screenshot, a
//! closer look, the cursor's place) is answered at once from the frame at hand, and nothing is performed for it.

mod input;
mod memory;
mod request;

use bytes::Bytes;
use motorium_proto::domain::decision::Next;
use serde_json::{Value, json};

use super::dialect::{Answer, Asked, Dialect, Misread, Reading, Step, Unasked};
use super::estimate;
use super::native::acts::Sight;
use super::native::shown::{self, Shown};
use super::native::toolbox::Toolbox;
use super::native::turn::{self, Heard, Meaning, Turn};
use super::native::words;
use crate::answer::validate::Ground;
use crate::models::Api;
use crate::picture::{self, SentPicture};
use memory::Memory;
use request::Tool;

/// The name in configurations.
pub const NAME: &str = "claude_computer";

/// Answers beyond this would have to be streamed.
const MOST_TOKENS: u64 = 21_333;

/// Asks Claude with its computer tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClaudeComputer;

impl Dialect for ClaudeComputer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn api(&self) -> Api {
        Api::AnthropicMessages
    }

    fn needs_image(&self) -> bool {
        true
    }

    fn ask(&self, step: &Step<'_>) -> Result<Asked, Unasked> {
        let tool = Tool::of(step.model)?;
        let view = view(step)?;
        let setup = request::setup(step, tool, &view)?;
        if let Some(memory) = Memory::continued(step, &setup, &view)? {
            let asked = request::assemble(step, &setup, &memory, view)?;
            let is_too_long = estimate::is_too_long(&asked, step.model, step.request.frame.size);
            if !is_too_long && !request::is_too_large(&asked) {
                return Ok(asked);
            }
        }
        request::assemble(step, &setup, &Memory::new(step, &setup)?, view)
    }

    fn read(&self, step: &Step<'_>, asked: &Asked, answer: &Value) -> Result<Answer, Misread> {
        check_stop(asked, answer)?;
        let (turn, said) = heard(step, asked, answer)?;
        match turn.next {
            Some(next) => {
                let memory = Memory::of(asked)?;
                let memory = memory.after(answer, turn.calls).noting(turn.suspected);
                let decided = reading(step, next, said, memory);
                Ok(Answer::Decided(Box::new(decided)))
            }
            None => looks(step, asked, answer, turn),
        }
    }

    fn repair(&self, step: &Step<'_>, asked: &Asked, answer: &Value, misread: &Misread) -> Asked {
        match misread {
            Misread::Truncated { limit } => with_more_room(asked, *limit),
            _ if answer["stop_reason"] == "model_context_window_exceeded" => {
                anew(step).unwrap_or_else(|_| asked.clone())
            }
            _ => told(step, asked, answer, misread).unwrap_or_else(|| asked.clone()),
        }
    }
}

fn view(step: &Step<'_>) -> Result<SentPicture, Unasked> {
    if !step.pictures.has_current() {
        return Err(picture::Error::NoImage.into());
    }
    let taste = step.model.taste;
    let frame = step.request.frame.size;
    let view = SentPicture::whole(frame, taste.rule, taste.convention);
    Ok(view.map_err(picture::Error::from)?)
}

/// Whether the answer may be used at all.
fn check_stop(asked: &Asked, answer: &Value) -> Result<(), Misread> {
    match answer["stop_reason"].as_str() {
        Some("refusal") => {
            let explanation = answer["stop_details"]["explanation"].as_str();
            Err(Misread::Refused {
                message: explanation.unwrap_or("no reason is given").to_owned(),
            })
        }
        Some("max_tokens") => Err(Misread::Truncated {
            limit: asked.body["max_tokens"].as_u64().unwrap_or_default(),
        }),
        Some("model_context_window_exceeded") => {
            Err(Misread::invalid("The conversation has become too long."))
        }
        // An ending of an unknown kind: what was said counts.
        _ => Ok(()),
    }
}

/// The decision of an answer, and the model's own words in it.
fn heard(step: &Step<'_>, asked: &Asked, answer: &Value) -> Result<(Turn, String), Misread> {
    let view = asked
        .view
        .ok_or_else(|| Misread::invalid("There was no screenshot."))?;
    let tool = Tool::of(step.model).map_err(|error| Misread::invalid(error.to_string()))?;
    let sight = Sight::new(view, step.request);
    let toolbox = Toolbox::with(&step.request.functions);
    let blocks = answer["content"].as_array().map_or(&[][..], Vec::as_slice);
    let calls = tool_uses(answer)
        .map(|block| call(block, tool, &sight, &toolbox, &ground(step)))
        .collect::<Result<Vec<_>, _>>()?;
    if calls.is_empty() {
        return Err(Misread::invalid(
            "Your turn has no call. Use the computer, or call finish, fail or ask_user.",
        ));
    }
    let current = Shown::current(step.pictures).ok();
    Ok((turn::decide(calls, current.as_ref()), said(blocks)))
}

fn tool_uses(answer: &Value) -> impl Iterator<Item = &Value> {
    let blocks = answer["content"].as_array().into_iter().flatten();
    blocks.filter(|block| block["type"] == "tool_use")
}

fn call(
    block: &Value,
    tool: Tool,
    sight: &Sight<'_>,
    toolbox: &Toolbox,
    ground: &Ground<'_>,
) -> Result<Heard, Misread> {
    let text = |key: &str| block[key].as_str();
    let (Some(id), Some(name)) = (text("id"), text("name")) else {
        return Err(Misread::invalid("A call has no id or no name."));
    };
    let arguments = &block["input"];
    let meaning = match tool.action(name, text("toolset_name"), arguments) {
        Some(action) => input::read(action, arguments, tool, sight),
        None if name == "computer" => Meaning::Invalid("The input has no action.".to_owned()),
        None => toolbox.read(name, arguments, ground),
    };
    Ok(Heard {
        id: id.to_owned(),
        // A result names the toolset that its call named.
        detail: block["toolset_name"].clone(),
        meaning,
    })
}

/// What the model says; what it thinks where it says nothing.
fn said(blocks: &[Value]) -> String {
    let joined = |kind: &str| {
        let texts = blocks.iter().filter(|block| block["type"] == kind);
        let texts = texts.filter_map(|block| block[kind].as_str().map(str::trim));
        let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        texts.join("\n")
    };
    let text = joined("text");
    if text.is_empty() {
        joined("thinking")
    } else {
        text
    }
}

fn reading(step: &Step<'_>, next: Next, thought: String, mut memory: Memory) -> Reading {
    let suspected = memory.take_suspected();
    let ground = ground(step);
    Reading {
        progress: words::progress(&thought, &next),
        thought,
        next,
        conversation: Bytes::from(memory.to_json().to_string()),
        safety_checks: Vec::new(),
        conversation_images: shown::checksums(&memory.shown()),
        suspected_injections: suspected
            .iter()
            .map(|quote| ground.suspected_injection(quote))
            .collect(),
    }
}

fn ground<'a>(step: &Step<'a>) -> Ground<'a> {
    Ground {
        request: step.request,
        view: None,
    }
}

/// A turn in which nothing is to be done: it is shown what it wants to see, unless something is wrong with it.
fn looks(step: &Step<'_>, asked: &Asked, answer: &Value, turn: Turn) -> Result<Answer, Misread> {
    if let Some(problem) = turn.problem {
        return Err(Misread::Invalid { message: problem });
    }
    let wrong = |error: &dyn std::fmt::Display| Misread::invalid(error.to_string());
    let view = asked
        .view
        .ok_or_else(|| Misread::invalid("There was no screenshot."))?;
    let memory = Memory::of(asked)?
        .after(answer, turn.calls)
        .noting(turn.suspected)
        .looked(step, &view)
        .map_err(|error| wrong(&error))?;
    if memory.shown().len() > step.model.max_images {
        return Err(Misread::invalid("You have looked often enough: act now."));
    }
    let again = again(step, &memory, view).map_err(|error| wrong(&error))?;
    Ok(Answer::Again(Box::new(again)))
}

fn again(step: &Step<'_>, memory: &Memory, view: SentPicture) -> Result<Asked, Unasked> {
    let setup = request::setup(step, Tool::of(step.model)?, &view)?;
    request::assemble(step, &setup, memory, view)
}

fn anew(step: &Step<'_>) -> Result<Asked, Unasked> {
    let view = view(step)?;
    let setup = request::setup(step, Tool::of(step.model)?, &view)?;
    request::assemble(step, &setup, &Memory::new(step, &setup)?, view)
}

fn with_more_room(asked: &Asked, limit: u64) -> Asked {
    let mut asked = asked.clone();
    asked.body["max_tokens"] = json!(limit.saturating_mul(2).min(MOST_TOKENS));
    asked
}

/// The model's turn, answered with what is wrong with it.
fn told(step: &Step<'_>, asked: &Asked, answer: &Value, misread: &Misread) -> Option<Asked> {
    let memory = Memory::of(asked).ok()?;
    let is_silent = tool_uses(answer).next().is_none();
    let turn = heard(step, asked, answer).map(|(turn, _)| turn);
    let (calls, suspected) = turn.map_or_else(
        |_| (Vec::new(), Vec::new()),
        |turn| (turn.calls, turn.suspected),
    );
    let memory = memory
        .after(answer, calls)
        .noting(suspected)
        .corrected(&misread.to_string());
    let mut again = again(step, &memory, asked.view?).ok()?;
    if is_silent && request::may_be_forced(step.model) {
        again.body["tool_choice"] = json!({"type": "any"});
    }
    Some(again)
}
