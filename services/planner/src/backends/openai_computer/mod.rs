//! OpenAI's models with their own computer tool, by the Responses API: the newer `computer` with several actions a call,
//! and the older `computer_use_preview` with one.
//!
//! - [`input`]: what the tool is told to do, as actions of ours
//! - [`memory`]: the conversation between two steps, without pixels
//! - [`request`]: the request, from the conversation and what the model can do
//!
//! A conversation is kept by the provider and continued by its last response, or sent whole each time with the model's
//! reasoning encrypted, for those who have nothing stored, and for accounts
//! for which the provider stores nothing. A warning of the provider is echoed back only if a person has
//! accepted it; if none has, the conversation is begun anew without the call that it was about.

mod input;
mod memory;
mod request;

use std::time::Duration;

use bytes::Bytes;
use motorium_proto::domain::action::Action;
use motorium_proto::domain::decision::{Next, SafetyCheck};
use serde_json::{Value, json};

use super::concessions::Concessions;
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
use crate::provider::Refused;
use memory::Memory;
use request::Setup;

/// The name in configurations.
pub const NAME: &str = "openai_computer";
/// The model that is asked if the user names none.
pub const DEFAULT_MODEL: &str = "gpt-5.6-sol";

/// Most tokens of an answer that was cut off before.
const MOST_TOKENS: u64 = 32_768;

/// Where a conversation is kept between two steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keeping {
    /// By the provider: each request names the response before it.
    #[default]
    Stored,
    /// By nobody: each request has all of it, with the model's reasoning encrypted.
    Sent,
}

/// Asks OpenAI's models with their computer tool.
#[derive(Debug, Clone, Copy, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OpenAiComputer {
    pub keeping: Keeping,
}

impl Dialect for OpenAiComputer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn api(&self) -> Api {
        Api::OpenaiResponses
    }

    fn needs_image(&self) -> bool {
        true
    }

    fn ask(&self, step: &Step<'_>) -> Result<Asked, Unasked> {
        let view = view(step)?;
        let keeping = if step.concessions.without_storage {
            Keeping::Sent
        } else {
            self.keeping
        };
        let setup = Setup::of(step, keeping, &view)?;
        if let Some(memory) = Memory::continued(step, &setup)? {
            let asked = request::assemble(step, &setup, &memory, view)?;
            if !estimate::is_too_long(&asked, step.model, step.request.frame.size) {
                return Ok(asked);
            }
        }
        request::assemble(step, &setup, &Memory::new(step, &setup)?, view)
    }

    fn read(&self, step: &Step<'_>, asked: &Asked, answer: &Value) -> Result<Answer, Misread> {
        check_status(asked, answer)?;
        let heard = heard(step, asked, answer)?;
        let memory = Memory::of(asked)?;
        if heard.turn.calls.is_empty() {
            let memory = memory.after(Keeping::of(asked), answer, Vec::new())?;
            return Ok(decided(step, ended(&heard.said)?, heard, memory));
        }
        let memory = memory
            .after(Keeping::of(asked), answer, heard.turn.calls.clone())?
            .noting(heard.turn.suspected.clone());
        match &heard.turn.next {
            Some(next) => {
                let next = next.clone();
                Ok(decided(step, next, heard, memory))
            }
            None if heard.turn.problem.is_some() => Err(Misread::Invalid {
                message: heard.turn.problem.unwrap_or_default(),
            }),
            // Nothing is to be done, but a person has to read the warning before the screen is shown.
            None if !heard.checks.is_empty() => {
                Ok(decided(step, pause(step, asked)?, heard, memory))
            }
            None => looks(step, asked, memory),
        }
    }

    fn repair(&self, step: &Step<'_>, asked: &Asked, answer: &Value, misread: &Misread) -> Asked {
        match misread {
            Misread::Truncated { limit } => with_more_room(asked, *limit),
            // A response that came to nothing is no part of the conversation.
            _ if check_status(asked, answer).is_err() => asked.clone(),
            _ => told(step, asked, answer, misread).unwrap_or_else(|| asked.clone()),
        }
    }

    fn concede(&self, refused: &Refused, made: Concessions) -> Option<Concessions> {
        let words = refused.words.to_lowercase();
        let is_not_kept = words.contains("zero data retention")
            || words.contains("previous response cannot be used");
        if is_not_kept && !made.without_storage {
            return Some(Concessions {
                without_storage: true,
                ..made
            });
        }
        made.and_what_is_named_in(refused)
    }
}

impl Keeping {
    /// Where the conversation of a request is kept.
    fn of(asked: &Asked) -> Self {
        match asked.body["store"].as_bool() {
            Some(false) => Self::Sent,
            _ => Self::Stored,
        }
    }
}

/// A turn that only wants to see the screen is shown it.
fn looks(step: &Step<'_>, asked: &Asked, memory: Memory) -> Result<Answer, Misread> {
    let memory = memory
        .looked(step)
        .map_err(|error| Misread::invalid(error.to_string()))?;
    if memory.shown().len() > step.model.max_images {
        return Err(Misread::invalid("You have looked often enough: act now."));
    }
    let again = again(step, asked, &memory);
    let again = again.map_err(|error| Misread::invalid(error.to_string()))?;
    Ok(Answer::Again(Box::new(again)))
}

/// The model's turn, answered with what is wrong with it. A turn with a warning cannot be answered before a person
/// has read it, so that the conversation begins anew.
fn told(step: &Step<'_>, asked: &Asked, answer: &Value, misread: &Misread) -> Option<Asked> {
    let heard = heard(step, asked, answer).ok();
    let problem = misread.to_string();
    let memory = match heard {
        Some(heard) if !heard.checks.is_empty() => {
            let view = asked.view?;
            let setup = Setup::of(step, Keeping::of(asked), &view).ok()?;
            Memory::new(step, &setup).ok()?.with_word(&problem)
        }
        heard => {
            let turn = heard.map(|heard| heard.turn);
            let (calls, suspected) =
                turn.map_or_else(Default::default, |turn| (turn.calls, turn.suspected));
            let memory = Memory::of(asked)
                .ok()?
                .after(Keeping::of(asked), answer, calls);
            let memory = memory.ok()?.noting(suspected);
            memory.corrected(step, &problem).ok()?
        }
    };
    again(step, asked, &memory).ok()
}

fn again(step: &Step<'_>, asked: &Asked, memory: &Memory) -> Result<Asked, Unasked> {
    let view = asked.view.map_or_else(|| view(step), Ok)?;
    let setup = Setup::of(step, Keeping::of(asked), &view)?;
    request::assemble(step, &setup, memory, view)
}

/// What an answer has.
struct Said {
    turn: Turn,
    said: String,
    /// To be read by a person before anything is done.
    checks: Vec<SafetyCheck>,
}

fn view(step: &Step<'_>) -> Result<SentPicture, Unasked> {
    if !step.pictures.has_current() {
        return Err(picture::Error::NoImage.into());
    }
    let taste = step.model.taste;
    let view = SentPicture::whole(step.request.frame.size, taste.rule, taste.convention);
    Ok(view.map_err(picture::Error::from)?)
}

/// Whether the answer may be used at all.
fn check_status(asked: &Asked, answer: &Value) -> Result<(), Misread> {
    let reason = answer["incomplete_details"]["reason"].as_str();
    match (answer["status"].as_str(), reason) {
        (_, Some("max_output_tokens")) => Err(Misread::Truncated {
            limit: asked.body["max_output_tokens"].as_u64().unwrap_or_default(),
        }),
        (_, Some("content_filter")) => Err(Misread::Refused {
            message: "the provider's filter stopped the answer".to_owned(),
        }),
        (Some("completed") | None, None) => Ok(()),
        (status, _) => {
            let status = status.unwrap_or("incomplete");
            let error = answer["error"]["message"].as_str().unwrap_or_default();
            Err(Misread::invalid(format!(
                "The response is {status}. {error}"
            )))
        }
    }
}

fn items(answer: &Value) -> &[Value] {
    answer["output"].as_array().map_or(&[], Vec::as_slice)
}

fn heard(step: &Step<'_>, asked: &Asked, answer: &Value) -> Result<Said, Misread> {
    let view = asked
        .view
        .ok_or_else(|| Misread::invalid("There was no screenshot."))?;
    let sight = Sight::new(view, step.request);
    let toolbox = Toolbox::with(&step.request.functions);
    let mut calls = Vec::new();
    let mut checks = Vec::new();
    for item in items(answer) {
        match item["type"].as_str() {
            Some("computer_call") => {
                checks.extend(pending(item).filter_map(safety_check));
                calls.push(computer_call(item, &sight)?);
            }
            Some("function_call") => calls.push(function_call(item, &toolbox, &ground(step))?),
            Some("message") => refusal(item)?,
            _ => {}
        }
    }
    let current = Shown::current(step.pictures).ok();
    Ok(Said {
        turn: turn::decide(calls, current.as_ref()),
        said: said(items(answer)),
        checks,
    })
}

fn computer_call(item: &Value, sight: &Sight<'_>) -> Result<Heard, Misread> {
    let checks: Vec<&Value> = pending(item).collect();
    Ok(Heard {
        id: call_id(item)?,
        detail: json!({"computer": true, "checks": checks}),
        meaning: input::read(item, sight),
    })
}

fn function_call(item: &Value, toolbox: &Toolbox, ground: &Ground<'_>) -> Result<Heard, Misread> {
    let name = item["name"].as_str().unwrap_or_default();
    let arguments = item["arguments"].as_str().unwrap_or_default();
    let meaning = match serde_json::from_str::<Value>(arguments) {
        Ok(arguments) => toolbox.read(name, &arguments, ground),
        Err(error) => Meaning::Invalid(format!("The arguments of {name} are no JSON: {error}.")),
    };
    Ok(Heard {
        id: call_id(item)?,
        detail: Value::Null,
        meaning,
    })
}

fn call_id(item: &Value) -> Result<String, Misread> {
    let id = item["call_id"].as_str().map(ToOwned::to_owned);
    id.ok_or_else(|| Misread::invalid("A call has no call_id."))
}

/// The provider's warnings of a call; documentation and types disagree on whether they are always there.
fn pending(item: &Value) -> impl Iterator<Item = &Value> {
    item["pending_safety_checks"]
        .as_array()
        .into_iter()
        .flatten()
}

fn safety_check(check: &Value) -> Option<SafetyCheck> {
    let text = |key: &str| check[key].as_str().unwrap_or_default().to_owned();
    Some(SafetyCheck {
        id: check["id"].as_str()?.to_owned(),
        code: text("code"),
        message: text("message"),
    })
}

fn refusal(message: &Value) -> Result<(), Misread> {
    let mut parts = message["content"].as_array().into_iter().flatten();
    match parts.find_map(|part| part["refusal"].as_str()) {
        Some(refusal) => Err(Misread::Refused {
            message: refusal.to_owned(),
        }),
        None => Ok(()),
    }
}

/// What the model says; the summary of its reasoning where it says nothing.
fn said(items: &[Value]) -> String {
    let texts = |kind: &str, parts: &str| {
        let of_kind = items.iter().filter(|item| item["type"] == kind);
        let parts = of_kind.filter_map(|item| item[parts].as_array()).flatten();
        let texts: Vec<&str> = parts
            .filter_map(|part| part["text"].as_str().map(str::trim))
            .filter(|text| !text.is_empty())
            .collect();
        texts.join("\n")
    };
    let message = texts("message", "content");
    if message.is_empty() {
        texts("reasoning", "summary")
    } else {
        message
    }
}

/// A turn without a call ends the task with what it says.
fn ended(said: &str) -> Result<Next, Misread> {
    if said.is_empty() {
        return Err(Misread::invalid(
            "Your turn has neither a call nor an answer. Use the computer, or say what you have done.",
        ));
    }
    Ok(Next::Done {
        answer: said.to_owned(),
        evidence: Vec::new(),
    })
}

fn pause(step: &Step<'_>, asked: &Asked) -> Result<Next, Misread> {
    let view = asked
        .view
        .ok_or_else(|| Misread::invalid("There was no screenshot."))?;
    let wait = Action::Wait {
        duration: Duration::ZERO,
    };
    Ok(Next::Act(vec![
        Sight::new(view, step.request).planned(wait),
    ]))
}

fn decided(step: &Step<'_>, next: Next, heard: Said, mut memory: Memory) -> Answer {
    let suspected = memory.take_suspected();
    let ground = ground(step);
    Answer::Decided(Box::new(Reading {
        progress: words::progress(&heard.said, &next),
        thought: heard.said,
        next,
        conversation: Bytes::from(memory.to_json().to_string()),
        safety_checks: heard.checks,
        conversation_images: shown::checksums(&memory.shown()),
        suspected_injections: suspected
            .iter()
            .map(|quote| ground.suspected_injection(quote))
            .collect(),
    }))
}

fn ground<'a>(step: &Step<'a>) -> Ground<'a> {
    Ground {
        request: step.request,
        view: None,
    }
}

fn with_more_room(asked: &Asked, limit: u64) -> Asked {
    let mut asked = asked.clone();
    asked.body["max_output_tokens"] = json!(limit.saturating_mul(2).min(MOST_TOKENS));
    asked
}
