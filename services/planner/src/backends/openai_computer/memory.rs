//! The conversation between two steps: items as the provider has them, the model's own as it gave them (each reasoning
//! right before its call), with pictures by their checksums. Where the provider keeps the conversation, only what it has
//! not been told yet.

use motorium_proto::domain::decision::PastStep;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Keeping;
use super::request::Setup;
use crate::backends::dialect::{Asked, Misread, Step, Unasked};
use crate::backends::native::briefing;
use crate::backends::native::calls::{self, Call, Fate, Settled, Since};
use crate::backends::native::shown::{self, Shown};
use crate::models::Api;
use crate::picture;
use crate::provider::Tokens;

/// Of this form; a conversation of another one is begun anew.
const FORM: u32 = 1;

/// A conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Memory {
    form: u32,
    setup: String,
    /// The last step that was known when the model was asked last.
    after: u32,
    /// Where the provider keeps the conversation: up to there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<String>,
    /// Tokens of what the provider keeps, as it counted them last.
    #[serde(default)]
    kept_tokens: u64,
    items: Vec<Value>,
    /// Of the model's last turn, still without outputs.
    #[serde(default)]
    calls: Vec<Call>,
    /// Text on the screen that the model has reported since its last decision.
    #[serde(default)]
    suspected: Vec<String>,
}

impl Memory {
    /// A conversation that begins with this step.
    pub(super) fn new(step: &Step<'_>, setup: &Setup) -> Result<Self, Unasked> {
        let text = briefing::first(step)?;
        let screen = picture_part(setup, &Shown::current(step.pictures)?);
        Ok(Self {
            form: FORM,
            setup: setup.fingerprint(),
            after: calls::last_step(&step.request.history),
            response: None,
            kept_tokens: 0,
            items: vec![user(vec![text_part(&text), screen])],
            calls: Vec::new(),
            suspected: Vec::new(),
        })
    }

    /// The conversation of the request, with the outputs of the last turn; `None` if it cannot be continued.
    pub(super) fn continued(step: &Step<'_>, setup: &Setup) -> Result<Option<Self>, Unasked> {
        let Ok(mut memory) = serde_json::from_slice::<Self>(&step.request.conversation) else {
            return Ok(None);
        };
        let last = match Since::step(memory.after, &step.request.history) {
            Since::Nothing => None,
            Since::One(last) => Some(last),
            Since::More => return Ok(None),
        };
        let is_another = memory.form != FORM || memory.setup != setup.fingerprint();
        if is_another || !memory.calls.iter().all(|call| is_accepted(call, last)) {
            return Ok(None);
        }
        memory.answer(step, setup, last)?;
        memory.after = calls::last_step(&step.request.history);
        // The output of a call has to show the screen: none of them can be taken away and the rest kept.
        let can_be_shown = shown::can_be_shown(&memory.shown(), step);
        Ok(can_be_shown
            .into_iter()
            .all(|can_be| can_be)
            .then_some(memory))
    }

    /// The conversation that a request was made of.
    pub(super) fn of(asked: &Asked) -> Result<Self, Misread> {
        let memory = Self::deserialize(&asked.memory);
        memory.map_err(|error| Misread::invalid(format!("The conversation is lost: {error}.")))
    }

    /// The same with the model's answer.
    pub(super) fn after(
        mut self,
        keeping: Keeping,
        answer: &Value,
        calls: Vec<Call>,
    ) -> Result<Self, Misread> {
        self.calls = calls;
        match keeping {
            Keeping::Stored => {
                let id = answer["id"].as_str().map(ToOwned::to_owned);
                self.response =
                    Some(id.ok_or_else(|| Misread::invalid("The response has no id."))?);
                let counted = Tokens::of(Api::OpenaiResponses, answer);
                self.kept_tokens = counted.input.unwrap_or(0) + counted.output.unwrap_or(0);
                self.items.clear();
            }
            Keeping::Sent => self.items.extend(replayed(answer)),
        }
        Ok(self)
    }

    /// The same with the screen that the model wanted to see.
    pub(super) fn looked(mut self, step: &Step<'_>) -> Result<Self, picture::Error> {
        let calls = std::mem::take(&mut self.calls);
        let current = Shown::current(step.pictures)?;
        for settled in calls::settle(&calls, None, step.request, None) {
            self.items.push(output(&settled, &current));
        }
        Ok(self)
    }

    /// The same with text on the screen that the model reports.
    pub(super) fn noting(mut self, suspected: Vec<String>) -> Self {
        self.suspected.extend(suspected);
        self
    }

    /// What the model has reported since its last decision.
    pub(super) fn take_suspected(&mut self) -> Vec<String> {
        std::mem::take(&mut self.suspected)
    }

    /// The same with a word about what is wrong with the model's last turn. Nothing of the turn was carried out.
    pub(super) fn corrected(
        mut self,
        step: &Step<'_>,
        problem: &str,
    ) -> Result<Self, picture::Error> {
        let current = Shown::current(step.pictures)?;
        for call in std::mem::take(&mut self.calls) {
            let text = match &call.fate {
                Fate::Invalid { problem } => problem.clone(),
                _ => "Not executed, because of another call of this turn.".to_owned(),
            };
            let settled = Settled {
                call: &call,
                succeeded: false,
                text,
                picture: None,
            };
            self.items.push(output(&settled, &current));
        }
        Ok(self.with_word(problem))
    }

    /// The same with a word to the model.
    pub(super) fn with_word(mut self, word: &str) -> Self {
        self.items.push(user(vec![text_part(word)]));
        self
    }

    /// Up to which response the provider has it.
    pub(super) fn response(&self) -> Option<&str> {
        self.response.as_deref()
    }

    /// Tokens of what the provider has of it.
    pub(super) fn kept_tokens(&self) -> u64 {
        self.kept_tokens
    }

    /// Every picture that it shows, in order.
    pub(super) fn shown(&self) -> Vec<Shown> {
        shown::all(&self.items, is_ours)
    }

    /// The items with every picture in its place, in the form that `as_sent` gives it.
    pub(super) fn filled(
        &self,
        as_sent: impl FnMut(&Shown) -> Result<Value, picture::Error>,
    ) -> Result<Vec<Value>, picture::Error> {
        shown::filled(&self.items, is_ours, as_sent)
    }

    pub(super) fn to_json(&self) -> Value {
        json!(self)
    }

    /// What became of every call of the last turn, and the screen as it is now.
    fn answer(
        &mut self,
        step: &Step<'_>,
        setup: &Setup,
        last: Option<&PastStep>,
    ) -> Result<(), Unasked> {
        let calls = std::mem::take(&mut self.calls);
        let current = Shown::current(step.pictures)?;
        let settled = calls::settle(&calls, last, step.request, None);
        let outputs = settled.iter().map(|settled| output(settled, &current));
        self.items.extend(outputs);
        let answered = calls.iter().any(|call| call.fate == Fate::Asked);
        let of_computer = |settled: &&Settled<'_>| is_computer(settled.call);
        let told = settled
            .iter()
            .filter(of_computer)
            .map(|settled| settled.text.clone());
        let news = briefing::news(step, last, answered)?;
        let texts: Vec<String> = told.chain([news]).filter(|text| !text.is_empty()).collect();
        let mut parts = Vec::new();
        if !texts.is_empty() {
            parts.push(text_part(&texts.join("\n\n")));
        }
        if !calls.iter().any(is_computer) {
            parts.push(picture_part(setup, &current));
        }
        if !parts.is_empty() {
            self.items.push(user(parts));
        }
        Ok(())
    }
}

/// The items of an answer, as they are given. Reasoning that nothing follows is refused when it comes back.
fn replayed(answer: &Value) -> Vec<Value> {
    let items = super::items(answer);
    let kept = items.iter().rposition(|item| item["type"] != "reasoning");
    items[..kept.map_or(0, |last| last + 1)].to_vec()
}

/// Whether a person has accepted every warning of a call. Without that the provider does not go on with it.
fn is_accepted(call: &Call, last: Option<&PastStep>) -> bool {
    let accepted = last.map_or(&[][..], |step| &step.acknowledged_safety_checks);
    checks(call).all(|check| {
        let mut accepted = accepted.iter();
        accepted.any(|accepted| check["id"] == accepted.id.as_str())
    })
}

fn checks(call: &Call) -> impl Iterator<Item = &Value> {
    call.detail["checks"].as_array().into_iter().flatten()
}

fn is_computer(call: &Call) -> bool {
    call.detail["computer"] == true
}

/// The item that answers a call: a screenshot for the computer, whatever came of it, and text for a function.
fn output(settled: &Settled<'_>, current: &Shown) -> Value {
    let call = settled.call;
    if !is_computer(call) {
        let text = match settled.succeeded {
            true => settled.text.clone(),
            false => json!({"error": settled.text}).to_string(),
        };
        return json!({"type": "function_call_output", "call_id": call.id, "output": text});
    }
    let screenshot = json!({"type": "computer_screenshot", "image_url": current.placeholder()});
    let mut item = json!({
        "type": "computer_call_output",
        "call_id": call.id,
        "output": screenshot,
    });
    let accepted: Vec<&Value> = checks(call).collect();
    if !accepted.is_empty() {
        item["acknowledged_safety_checks"] = json!(accepted);
    }
    item
}

/// What the model said is passed on as it is, whatever it looks like.
fn is_ours(item: &Value) -> bool {
    item["role"] == "user" || item["type"] == "computer_call_output"
}

fn user(content: Vec<Value>) -> Value {
    json!({"role": "user", "content": content})
}

fn text_part(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}

fn picture_part(setup: &Setup, shown: &Shown) -> Value {
    json!({"type": "input_image", "detail": setup.detail(), "image_url": shown.placeholder()})
}
