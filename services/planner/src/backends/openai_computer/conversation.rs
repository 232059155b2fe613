//! The conversation between two steps: the provider's items, the model's own verbatim (each reasoning item right before
//! its call), images by checksum. If the provider stores the conversation, only the items that it has not received.

use motorium_proto::domain::decision::PastStep;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::setup::Setup;
use super::storage::ConversationStorage;
use crate::backends::dialect::{ModelRequest, RequestError, StepContext};
use crate::backends::native::calls::{self, CallResult, CallStatus, PendingCall};
use crate::backends::native::conversation_image::{self, ConversationImage};
use crate::backends::native::conversation_state::{self, ConversationState};
use crate::backends::native::messages;
use crate::models::{Api, TokenUsage};
use crate::response::ResponseError;
use crate::screenshot;

/// A conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Conversation {
    #[serde(flatten)]
    pub(super) state: ConversationState,
    /// Last response in the provider's store, if it stores the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<String>,
    /// Tokens of the stored conversation, as the provider counted them last.
    #[serde(default)]
    kept_tokens: u64,
    items: Vec<Value>,
}

impl Conversation {
    /// Starts a conversation at this step.
    pub(super) fn new(step: &StepContext<'_>, setup: &Setup) -> Result<Self, RequestError> {
        let mut state = ConversationState::new(setup.fingerprint(), &step.request.history);
        let mut parts = labelled(setup, &state.take_new_user_images(step));
        parts.push(text_part(&messages::first(step)?));
        parts.push(image_part(setup, &ConversationImage::current(step.images)?));
        Ok(Self {
            state,
            response: None,
            kept_tokens: 0,
            items: vec![user(parts)],
        })
    }

    /// Continues the request's conversation with the results of the last turn; `None` if that is not possible.
    pub(super) fn continued(
        step: &StepContext<'_>,
        setup: &Setup,
    ) -> Result<Option<Self>, RequestError> {
        let Ok(mut memory) = serde_json::from_slice::<Self>(&step.request.conversation) else {
            return Ok(None);
        };
        let history = &step.request.history;
        let Some(last) = memory.state.step_since(&setup.fingerprint(), history) else {
            return Ok(None);
        };
        let mut calls = memory.state.calls().iter();
        if !calls.all(|call| is_accepted(call, last)) {
            return Ok(None);
        }
        memory.answer(step, setup, last)?;
        memory.state.ask_after(history);
        // A computer call's output requires a screenshot, so that images cannot be removed one by one.
        let can_be_shown = conversation_image::can_be_shown(&memory.shown(), step);
        Ok(can_be_shown
            .into_iter()
            .all(|can_be| can_be)
            .then_some(memory))
    }

    /// Returns the conversation that a request was built from.
    pub(super) fn of(model_request: &ModelRequest) -> Result<Self, ResponseError> {
        conversation_state::restore(model_request)
    }

    /// Appends the model's response, with its calls and the injections that it reports.
    pub(super) fn after(
        mut self,
        keeping: ConversationStorage,
        answer: &Value,
        calls: Vec<PendingCall>,
        suspected: Vec<String>,
    ) -> Result<Self, ResponseError> {
        self.state.receive(calls, suspected);
        match keeping {
            ConversationStorage::Stored => {
                let id = answer["id"].as_str().map(ToOwned::to_owned);
                self.response =
                    Some(id.ok_or_else(|| ResponseError::invalid("The response has no id."))?);
                let counted = TokenUsage::of(Api::OpenaiResponses, answer);
                self.kept_tokens = counted.input.unwrap_or(0) + counted.output.unwrap_or(0);
                self.items.clear();
            }
            ConversationStorage::Stateless => self.items.extend(replayed(answer)),
        }
        Ok(self)
    }

    /// Appends the screenshots that the model asked for.
    pub(super) fn with_screenshot_results(
        mut self,
        step: &StepContext<'_>,
    ) -> Result<Self, screenshot::Error> {
        let calls = self.state.take_calls();
        let current = ConversationImage::current(step.images)?;
        for settled in calls::resolve_calls(&calls, None, step.request, None) {
            self.items.push(output(&settled, &current));
        }
        Ok(self)
    }

    /// Appends the error of the model's last turn. Nothing of that turn was performed.
    pub(super) fn with_correction(
        mut self,
        step: &StepContext<'_>,
        problem: &str,
    ) -> Result<Self, screenshot::Error> {
        let current = ConversationImage::current(step.images)?;
        for call in self.state.take_calls() {
            let text = match &call.fate {
                CallStatus::Invalid { problem } => problem.clone(),
                _ => "Not executed, because of another call of this turn.".to_owned(),
            };
            let settled = CallResult {
                call: &call,
                succeeded: false,
                text,
                image: None,
            };
            self.items.push(output(&settled, &current));
        }
        Ok(self.with_user_text(problem))
    }

    /// Appends a user message.
    pub(super) fn with_user_text(mut self, word: &str) -> Self {
        self.items.push(user(vec![text_part(word)]));
        self
    }

    /// Returns the last response in the provider's store.
    pub(super) fn response(&self) -> Option<&str> {
        self.response.as_deref()
    }

    /// Returns the tokens of the conversation in the provider's store.
    pub(super) fn kept_tokens(&self) -> u64 {
        self.kept_tokens
    }

    /// Returns every image of the conversation, in order.
    pub(super) fn shown(&self) -> Vec<ConversationImage> {
        conversation_image::all(&self.items, is_ours)
    }

    /// Returns the items with every image inserted, in the form that `as_sent` produces.
    pub(super) fn with_images(
        &self,
        as_sent: impl FnMut(&ConversationImage) -> Result<Value, screenshot::Error>,
    ) -> Result<Vec<Value>, screenshot::Error> {
        conversation_image::fill_images(&self.items, is_ours, as_sent)
    }

    pub(super) fn to_json(&self) -> Value {
        json!(self)
    }

    /// Appends the result of every call of the last turn, and the current screenshot.
    fn answer(
        &mut self,
        step: &StepContext<'_>,
        setup: &Setup,
        last: Option<&PastStep>,
    ) -> Result<(), RequestError> {
        let calls = self.state.take_calls();
        let current = ConversationImage::current(step.images)?;
        let settled = calls::resolve_calls(&calls, last, step.request, None);
        let url = page_url(step, setup);
        let outputs = settled.iter().map(|settled| {
            let mut item = output(settled, &current);
            if let (Some(url), "computer_call_output") =
                (url, item["type"].as_str().unwrap_or_default())
            {
                item["output"]["current_url"] = json!(url);
            }
            item
        });
        self.items.extend(outputs);
        let answered = calls.iter().any(|call| call.fate == CallStatus::Asked);
        let of_computer = |settled: &&CallResult<'_>| is_computer(settled.call);
        let result_texts = settled
            .iter()
            .filter(of_computer)
            .map(|settled| settled.text.clone());
        let new_messages = messages::new_messages(step, last, answered)?;
        let texts: Vec<String> = result_texts
            .chain([new_messages])
            .filter(|text| !text.is_empty())
            .collect();
        let mut parts = Vec::new();
        if !texts.is_empty() {
            parts.push(text_part(&texts.join("\n\n")));
        }
        parts.extend(labelled(setup, &self.state.take_new_user_images(step)));
        if !calls.iter().any(is_computer) {
            parts.push(image_part(setup, &current));
        }
        if !parts.is_empty() {
            self.items.push(user(parts));
        }
        Ok(())
    }
}

/// Returns the URL for the outputs of computer calls. Only the older tool has a place for it; the newer one reads it in
/// the text beside.
fn page_url<'a>(step: &StepContext<'a>, setup: &Setup) -> Option<&'a str> {
    let url = step.request.current_url.as_deref();
    url.filter(|_| setup.is_preview && !step.degraded.without_current_url)
}

/// Returns the items of a response verbatim. Trailing reasoning without a following item is removed, because the API
/// rejects it.
fn replayed(answer: &Value) -> Vec<Value> {
    let items = super::items(answer);
    let kept = items.iter().rposition(|item| item["type"] != "reasoning");
    items[..kept.map_or(0, |last| last + 1)].to_vec()
}

/// Returns whether the user has accepted every safety check of a call. The provider does not continue without that.
fn is_accepted(call: &PendingCall, last: Option<&PastStep>) -> bool {
    let accepted = last.map_or(&[][..], |step| &step.acknowledged_safety_checks);
    checks(call).all(|check| {
        let mut accepted = accepted.iter();
        accepted.any(|accepted| check["id"] == accepted.id.as_str())
    })
}

fn checks(call: &PendingCall) -> impl Iterator<Item = &Value> {
    call.detail["checks"].as_array().into_iter().flatten()
}

fn is_computer(call: &PendingCall) -> bool {
    call.detail["computer"] == true
}

/// Returns the item that answers a call: a screenshot for the computer, whatever its outcome, and text for a function.
fn output(settled: &CallResult<'_>, current: &ConversationImage) -> Value {
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

/// Returns whether we wrote the item. Model items are passed on verbatim, even if they look like a placeholder.
fn is_ours(item: &Value) -> bool {
    item["role"] == "user" || item["type"] == "computer_call_output"
}

fn user(content: Vec<Value>) -> Value {
    json!({"role": "user", "content": content})
}

fn text_part(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}

fn image_part(setup: &Setup, shown: &ConversationImage) -> Value {
    json!({"type": "input_image", "detail": setup.detail(), "image_url": shown.placeholder()})
}

/// Returns parts with images of the user, each after its label.
fn labelled(setup: &Setup, images: &[(String, ConversationImage)]) -> Vec<Value> {
    let parts = images.iter();
    parts
        .flat_map(|(label, image)| [text_part(label), image_part(setup, image)])
        .collect()
}
