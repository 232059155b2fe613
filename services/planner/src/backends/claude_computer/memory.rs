//! The conversation between two steps. It is kept as Anthropic's own messages, the model's word for word, with pictures by
//! their checksums. It is handed back to whoever asks, and comes back with the next step.

use motorium_proto::domain::decision::PastStep;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::request::Setup;
use crate::backends::dialect::{Asked, Misread, Step, Unasked};
use crate::backends::native::acts::Sight;
use crate::backends::native::briefing;
use crate::backends::native::calls::{self, AFTER_A_FAILURE, Call, Fate, Picture, Settled, Since};
use crate::backends::native::shown::{self, Shown};
use crate::picture::{self, SentPicture};

/// Of this form; a conversation of another one is begun anew.
const FORM: u32 = 1;
/// What stands where a picture was taken away.
const NO_LONGER_SHOWN: &str = "(A screenshot of an earlier step, which is no longer shown.)";

/// A conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Memory {
    form: u32,
    /// What everything in it depends on: model, tools, system prompt, size of the screenshots.
    setup: String,
    /// The last step that was known when the model was asked last.
    after: u32,
    messages: Vec<Value>,
    /// Of the model's last turn, still without results.
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
        let screen = Shown::current(step.pictures)?.placeholder();
        Ok(Self {
            form: FORM,
            setup: setup.fingerprint(),
            after: calls::last_step(&step.request.history),
            messages: vec![user(vec![json!({"type": "text", "text": text}), screen])],
            calls: Vec::new(),
            suspected: Vec::new(),
        })
    }

    /// The conversation of the request, with the results of the last turn; `None` if it cannot be continued.
    pub(super) fn continued(
        step: &Step<'_>,
        setup: &Setup,
        view: &SentPicture,
    ) -> Result<Option<Self>, Unasked> {
        let Ok(mut memory) = serde_json::from_slice::<Self>(&step.request.conversation) else {
            return Ok(None);
        };
        let last = match Since::step(memory.after, &step.request.history) {
            Since::Nothing => None,
            Since::One(last) => Some(last),
            Since::More => return Ok(None),
        };
        if memory.form != FORM || memory.setup != setup.fingerprint() || memory.calls.is_empty() {
            return Ok(None);
        }
        memory.answer(step, view, last)?;
        memory.after = calls::last_step(&step.request.history);
        memory.without_lost_pictures(step)
    }

    /// The same with words in place of pictures that cannot be shown any more; `None` where the model's thinking is bound
    /// to everything before it, so that nothing of that may be changed.
    fn without_lost_pictures(mut self, step: &Step<'_>) -> Result<Option<Self>, Unasked> {
        let can_be_shown = shown::can_be_shown(&self.shown(), step);
        if can_be_shown.iter().all(|can_be| *can_be) {
            return Ok(Some(self));
        }
        if step.model.thinking_binds_prefix {
            return Ok(None);
        }
        let mut can_be_shown = can_be_shown.into_iter();
        self.messages = self.filled(|shown| {
            Ok(match can_be_shown.next() {
                Some(true) => shown.placeholder(),
                _ => json!({"type": "text", "text": NO_LONGER_SHOWN}),
            })
        })?;
        Ok(Some(self))
    }

    /// The conversation that a request was made of.
    pub(super) fn of(asked: &Asked) -> Result<Self, Misread> {
        let memory = Self::deserialize(&asked.memory);
        memory.map_err(|error| Misread::invalid(format!("The conversation is lost: {error}.")))
    }

    /// The same with the model's answer, word for word.
    pub(super) fn after(mut self, answer: &Value, calls: Vec<Call>) -> Self {
        let has_content = answer["content"]
            .as_array()
            .is_some_and(|blocks| !blocks.is_empty());
        if has_content {
            let said = json!({"role": "assistant", "content": answer["content"]});
            self.messages.push(said);
        }
        self.calls = calls;
        self
    }

    /// The same with what the model wanted to see.
    pub(super) fn looked(
        mut self,
        step: &Step<'_>,
        view: &SentPicture,
    ) -> Result<Self, picture::Error> {
        let cursor = Sight::new(*view, step.request).cursor_said();
        let calls = std::mem::take(&mut self.calls);
        let settled = calls::settle(&calls, None, step.request, cursor);
        let current = Shown::current(step.pictures)?;
        let results = settled.iter().map(|settled| result(settled, &current));
        self.messages.push(user(results.collect()));
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
    pub(super) fn corrected(mut self, problem: &str) -> Self {
        let calls = std::mem::take(&mut self.calls);
        let mut results: Vec<Value> = calls
            .iter()
            .map(|call| error(call, wrong_with(call, problem)))
            .collect();
        if results.is_empty() {
            results.push(json!({"type": "text", "text": problem}));
        }
        let said_nothing = self
            .messages
            .last()
            .is_some_and(|last| last["role"] == "user");
        match self
            .messages
            .last_mut()
            .and_then(|last| last["content"].as_array_mut())
        {
            // Two turns of one side in a row are refused.
            Some(content) if said_nothing => content.extend(results),
            _ => self.messages.push(user(results)),
        }
        self
    }

    /// Every picture that it shows, in order.
    pub(super) fn shown(&self) -> Vec<Shown> {
        shown::all(&self.messages, is_ours)
    }

    /// The messages with every picture in its place, in the form that `as_sent` gives it.
    pub(super) fn filled(
        &self,
        as_sent: impl FnMut(&Shown) -> Result<Value, picture::Error>,
    ) -> Result<Vec<Value>, picture::Error> {
        shown::filled(&self.messages, is_ours, as_sent)
    }

    pub(super) fn to_json(&self) -> Value {
        json!(self)
    }

    /// What became of every call of the last turn, and the screen as it is now.
    fn answer(
        &mut self,
        step: &Step<'_>,
        view: &SentPicture,
        last: Option<&PastStep>,
    ) -> Result<(), Unasked> {
        let cursor = Sight::new(*view, step.request).cursor_said();
        let calls = std::mem::take(&mut self.calls);
        let settled = calls::settle(&calls, last, step.request, cursor);
        let current = Shown::current(step.pictures)?;
        let answered = calls.iter().any(|call| call.fate == Fate::Asked);
        let news = briefing::news(step, last, answered)?;
        let mut content: Vec<Value> = settled
            .iter()
            .map(|settled| result(settled, &current))
            .collect();
        tell(&mut content, &settled, news);
        show(&mut content, &settled, &current);
        self.messages.push(user(content));
        Ok(())
    }
}

/// What the model said is passed on as it is, whatever it looks like.
fn is_ours(message: &Value) -> bool {
    message["role"] == "user"
}

fn user(content: Vec<Value>) -> Value {
    json!({"role": "user", "content": content})
}

/// The block that answers a call.
fn result(settled: &Settled<'_>, current: &Shown) -> Value {
    if !settled.succeeded {
        return error(settled.call, settled.text.clone());
    }
    let text = Some(&settled.text).filter(|text| !text.is_empty());
    let text = text.map(|text| json!({"type": "text", "text": text}));
    let picture = settled.picture.as_ref().map(|picture| match picture {
        Picture::Shown(shown) => shown.placeholder(),
        Picture::Now(region) => Shown {
            region: *region,
            ..current.clone()
        }
        .placeholder(),
    });
    let content: Vec<Value> = text.into_iter().chain(picture).collect();
    of(settled.call, json!(content))
}

/// The block that answers a call which failed. Such a block may only have text.
fn error(call: &Call, text: String) -> Value {
    let mut block = of(call, json!(text));
    block["is_error"] = json!(true);
    block
}

fn of(call: &Call, content: Value) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": call.id, "content": content});
    if call.detail.is_string() {
        block["toolset_name"] = call.detail.clone();
    }
    block
}

/// What is said of a call of a turn that is wrong.
fn wrong_with(call: &Call, problem: &str) -> String {
    match &call.fate {
        Fate::Invalid { problem } => problem.clone(),
        Fate::AfterFailure => AFTER_A_FAILURE.to_owned(),
        _ => format!("Not executed, because of another call of this turn: {problem}"),
    }
}

/// Says what is new within the last result whose words are not prescribed: text behind the results makes a model end its
/// turn without a word.
fn tell(content: &mut [Value], settled: &[Settled<'_>], news: String) {
    let free = settled
        .iter()
        .rposition(|settled| settled.text != AFTER_A_FAILURE);
    let Some(block) = free.and_then(|index| content.get_mut(index)) else {
        return;
    };
    if news.is_empty() {
        return;
    }
    match &mut block["content"] {
        Value::Array(parts) => parts.push(json!({"type": "text", "text": news})),
        Value::String(text) => {
            text.push_str("\n\n");
            text.push_str(&news);
        }
        _ => {}
    }
}

/// Shows the screen as it is: within the last result, or behind it where that may only have text.
fn show(content: &mut Vec<Value>, settled: &[Settled<'_>], current: &Shown) {
    let whole = |settled: &Settled<'_>| match &settled.picture {
        Some(Picture::Now(None)) => true,
        Some(Picture::Shown(shown)) => shown == current,
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
