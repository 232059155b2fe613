//! The conversation between two steps. It is stored as Anthropic messages: the model's turns verbatim, images by
//! checksum. The caller receives it and passes it back with the next step.
//!
//! No request is sent here.

use motorium_proto::domain::decision::PastStep;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::setup::Setup;
use crate::backends::dialect::{ModelRequest, RequestError, StepContext};
use crate::backends::native::actions::ScreenshotContext;
use crate::backends::native::calls::{
    self, AFTER_A_FAILURE, CallResult, CallStatus, PendingCall, ResultImage,
};
use crate::backends::native::conversation_image::{self, ConversationImage};
use crate::backends::native::conversation_state::{self, ConversationState};
use crate::backends::native::messages;
use crate::response::ResponseError;
use crate::screenshot::{self, SentImage};

/// Text in place of a removed screenshot.
const NO_LONGER_SHOWN: &str = "(A screenshot of an earlier step, which is no longer shown.)";
/// Text in place of a removed image of the user.
const IMAGE_NO_LONGER_SHOWN: &str = "(An image of the user, which is no longer shown.)";

/// A conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Conversation {
    #[serde(flatten)]
    pub(super) state: ConversationState,
    messages: Vec<Value>,
}

impl Conversation {
    /// Starts a conversation at this step.
    pub(super) fn new(step: &StepContext<'_>, setup: &Setup) -> Result<Self, RequestError> {
        let mut state = ConversationState::new(setup.fingerprint(), &step.request.history);
        let mut content = labelled(&state.take_new_user_images(step));
        content.push(text_block(&messages::first(step)?));
        content.push(ConversationImage::current(step.images)?.placeholder());
        Ok(Self {
            state,
            messages: vec![user(content)],
        })
    }

    /// Continues the request's conversation with the results of the last turn; `None` if that is not possible.
    pub(super) fn continued(
        step: &StepContext<'_>,
        setup: &Setup,
        view: &SentImage,
    ) -> Result<Option<Self>, RequestError> {
        let Ok(mut memory) = serde_json::from_slice::<Self>(&step.request.conversation) else {
            return Ok(None);
        };
        let history = &step.request.history;
        let Some(last) = memory.state.step_since(&setup.fingerprint(), history) else {
            return Ok(None);
        };
        if memory.state.calls().is_empty() {
            return Ok(None);
        }
        memory.answer(step, view, last)?;
        memory.state.ask_after(history);
        memory.without_lost_images(step)
    }

    /// Replaces images that can no longer be shown with text. Returns `None` if the model's thinking is bound to all
    /// earlier content, which must then not change.
    fn without_lost_images(mut self, step: &StepContext<'_>) -> Result<Option<Self>, RequestError> {
        let can_be_shown = conversation_image::can_be_shown(&self.shown(), step);
        if can_be_shown.iter().all(|can_be| *can_be) {
            return Ok(Some(self));
        }
        if step.model.thinking_binds_prefix {
            return Ok(None);
        }
        let mut can_be_shown = can_be_shown.into_iter();
        self.messages = self.with_images(|shown| {
            Ok(match can_be_shown.next() {
                Some(true) => shown.placeholder(),
                _ if shown.is_of_user => text_block(IMAGE_NO_LONGER_SHOWN),
                _ => text_block(NO_LONGER_SHOWN),
            })
        })?;
        Ok(Some(self))
    }

    /// Returns the conversation that a request was built from.
    pub(super) fn of(model_request: &ModelRequest) -> Result<Self, ResponseError> {
        conversation_state::restore(model_request)
    }

    /// Appends the model's response verbatim, with its calls and the injections that it reports.
    pub(super) fn after(
        mut self,
        answer: &Value,
        calls: Vec<PendingCall>,
        suspected: Vec<String>,
    ) -> Self {
        let has_content = answer["content"]
            .as_array()
            .is_some_and(|blocks| !blocks.is_empty());
        if has_content {
            let turn = json!({"role": "assistant", "content": answer["content"]});
            self.messages.push(turn);
        }
        self.state.receive(calls, suspected);
        self
    }

    /// Appends the screenshots that the model asked for.
    pub(super) fn with_screenshot_results(
        mut self,
        step: &StepContext<'_>,
        view: &SentImage,
    ) -> Result<Self, screenshot::Error> {
        let cursor = ScreenshotContext::new(*view, step.request).cursor_reported();
        let calls = self.state.take_calls();
        let settled = calls::resolve_calls(&calls, None, step.request, cursor);
        let current = ConversationImage::current(step.images)?;
        let results = settled.iter().map(|settled| result(settled, &current));
        self.messages.push(user(results.collect()));
        Ok(self)
    }

    /// Appends the error of the model's last turn. Nothing of that turn was performed.
    pub(super) fn with_correction(mut self, problem: &str) -> Self {
        let calls = self.state.take_calls();
        let mut results: Vec<Value> = calls
            .iter()
            .map(|call| error(call, wrong_with(call, problem)))
            .collect();
        if results.is_empty() {
            results.push(text_block(problem));
        }
        let ends_with_user_turn = self
            .messages
            .last()
            .is_some_and(|last| last["role"] == "user");
        match self
            .messages
            .last_mut()
            .and_then(|last| last["content"].as_array_mut())
        {
            // The API rejects two consecutive turns of the same role.
            Some(content) if ends_with_user_turn => content.extend(results),
            _ => self.messages.push(user(results)),
        }
        self
    }

    /// Returns every image of the conversation, in order.
    pub(super) fn shown(&self) -> Vec<ConversationImage> {
        conversation_image::all(&self.messages, is_ours)
    }

    /// Returns the messages with every image inserted, in the form that `as_sent` produces.
    pub(super) fn with_images(
        &self,
        as_sent: impl FnMut(&ConversationImage) -> Result<Value, screenshot::Error>,
    ) -> Result<Vec<Value>, screenshot::Error> {
        conversation_image::fill_images(&self.messages, is_ours, as_sent)
    }

    pub(super) fn to_json(&self) -> Value {
        json!(self)
    }

    /// Appends the result of every call of the last turn, and the current screenshot.
    fn answer(
        &mut self,
        step: &StepContext<'_>,
        view: &SentImage,
        last: Option<&PastStep>,
    ) -> Result<(), RequestError> {
        let cursor = ScreenshotContext::new(*view, step.request).cursor_reported();
        let calls = self.state.take_calls();
        let settled = calls::resolve_calls(&calls, last, step.request, cursor);
        let current = ConversationImage::current(step.images)?;
        let answered = calls.iter().any(|call| call.fate == CallStatus::Asked);
        let new_messages = messages::new_messages(step, last, answered)?;
        let mut content: Vec<Value> = settled
            .iter()
            .map(|settled| result(settled, &current))
            .collect();
        append_new_messages(&mut content, &settled, new_messages);
        let images = self.state.take_new_user_images(step);
        append_user_images(&mut content, &settled, &images);
        append_screenshot(&mut content, &settled, &current);
        self.messages.push(user(content));
        Ok(())
    }
}

/// Returns whether we wrote the message. Model turns are passed on verbatim, even if they look like a placeholder.
fn is_ours(message: &Value) -> bool {
    message["role"] == "user"
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Returns blocks with images of the user, each after its label.
fn labelled(images: &[(String, ConversationImage)]) -> Vec<Value> {
    let blocks = images.iter();
    blocks
        .flat_map(|(label, image)| [text_block(label), image.placeholder()])
        .collect()
}

fn user(content: Vec<Value>) -> Value {
    json!({"role": "user", "content": content})
}

/// Returns the result block of a call.
fn result(settled: &CallResult<'_>, current: &ConversationImage) -> Value {
    if !settled.succeeded {
        return error(settled.call, settled.text.clone());
    }
    let text = Some(&settled.text).filter(|text| !text.is_empty());
    let text = text.map(|text| text_block(text));
    let image = settled.image.as_ref().map(|image| match image {
        ResultImage::Shown(shown) => shown.placeholder(),
        ResultImage::Now(region) => ConversationImage {
            region: *region,
            ..current.clone()
        }
        .placeholder(),
    });
    let content: Vec<Value> = text.into_iter().chain(image).collect();
    of(settled.call, json!(content))
}

/// Returns the result block of a failed call. The API allows only text in it.
fn error(call: &PendingCall, text: String) -> Value {
    let mut block = of(call, json!(text));
    block["is_error"] = json!(true);
    block
}

fn of(call: &PendingCall, content: Value) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": call.id, "content": content});
    if call.detail.is_string() {
        block["toolset_name"] = call.detail.clone();
    }
    block
}

/// Returns the text for a call of an invalid turn.
fn wrong_with(call: &PendingCall, problem: &str) -> String {
    match &call.fate {
        CallStatus::Invalid { problem } => problem.clone(),
        CallStatus::AfterFailure => AFTER_A_FAILURE.to_owned(),
        _ => format!("Not executed, because of another call of this turn: {problem}"),
    }
}

/// Adds new messages to the last result whose text is not prescribed. A text block after the results makes the model end
/// its turn without a response.
fn append_new_messages(content: &mut [Value], settled: &[CallResult<'_>], new_messages: String) {
    let free = settled
        .iter()
        .rposition(|settled| settled.text != AFTER_A_FAILURE);
    let Some(block) = free.and_then(|index| content.get_mut(index)) else {
        return;
    };
    if new_messages.is_empty() {
        return;
    }
    match &mut block["content"] {
        Value::Array(parts) => parts.push(text_block(&new_messages)),
        Value::String(text) => {
            text.push_str("\n\n");
            text.push_str(&new_messages);
        }
        _ => {}
    }
}

/// Adds new images of the user to the last result that may contain images, or after the results if there is none. Then
/// their labels are in the text of a result, because a text block after the results makes the model end its turn.
fn append_user_images(
    content: &mut Vec<Value>,
    settled: &[CallResult<'_>],
    images: &[(String, ConversationImage)],
) {
    let last = settled.iter().rposition(|settled| settled.succeeded);
    let parts = last.and_then(|index| content[index]["content"].as_array_mut());
    if let Some(parts) = parts {
        parts.extend(labelled(images));
        return;
    }
    for (label, image) in images {
        append_new_messages(content, settled, label.clone());
        content.push(image.placeholder());
    }
}

/// Adds the current screenshot to the last result, or after it if that may only contain text.
fn append_screenshot(
    content: &mut Vec<Value>,
    settled: &[CallResult<'_>],
    current: &ConversationImage,
) {
    let whole = |settled: &CallResult<'_>| match &settled.image {
        Some(ResultImage::Now(None)) => true,
        Some(ResultImage::Shown(shown)) => shown == current,
        _ => false,
    };
    if settled.iter().any(whole) {
        return;
    }
    let last = settled.last().filter(|last| last.succeeded);
    match content.last_mut() {
        Some(block) if last.is_some() => {
            if let Some(parts) = block["content"].as_array_mut() {
                parts.push(current.placeholder());
            }
        }
        _ => content.push(current.placeholder()),
    }
}
