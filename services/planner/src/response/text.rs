//! Extracts the text of a complete provider response.
//!
//! Content is selected by its type, never by its position. Unknown types are skipped.

use serde_json::Value;

use crate::models::Api;
use crate::response::ResponseError;

/// Maximum text length, in bytes: several times the output limit of any model. Longer text is neither searched for a
/// decision nor sent back for a repair.
const MAX_TEXT_BYTES: usize = 256 << 10;

/// Text of a response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResponseText {
    pub text: String,
    /// Reasoning text. Some servers put the whole response here.
    pub reasoning: String,
}

impl ResponseText {
    /// Extracts the text of a response.
    ///
    /// # Errors
    /// Fails if the model refused, or the response was truncated or exceeds the maximum length.
    pub fn of(api: Api, answer: &Value) -> Result<Self, ResponseError> {
        let response = match api {
            Api::AnthropicMessages => anthropic(answer),
            Api::OpenaiResponses => responses(answer),
            Api::OpenaiChat => chat(answer),
        }?;
        if response.text.len() > MAX_TEXT_BYTES || response.reasoning.len() > MAX_TEXT_BYTES {
            let length = response.text.len().max(response.reasoning.len());
            return Err(ResponseError::invalid(format!(
                "the answer is far too long: {length} bytes, and at most {MAX_TEXT_BYTES} are read"
            )));
        }
        Ok(response)
    }

    /// Returns the text, or the reasoning if there is no text.
    #[must_use]
    pub fn into_text(self) -> String {
        if self.text.trim().is_empty() {
            self.reasoning
        } else {
            self.text
        }
    }
}

fn anthropic(answer: &Value) -> Result<ResponseText, ResponseError> {
    match text_of(&answer["stop_reason"]) {
        "refusal" => {
            let details = &answer["stop_details"];
            let words = [&details["category"], &details["explanation"]].map(text_of);
            return Err(refused(&words));
        }
        "max_tokens" | "model_context_window_exceeded" => return Err(truncated(answer)),
        _ => {}
    }
    let blocks = items(&answer["content"]);
    let of_kind = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
    // The last text block: earlier ones precede other content, and a JSON response comes last.
    let text = of_kind("text")
        .map(|block| text_of(&block["text"]))
        .rfind(|text| !text.trim().is_empty());
    let thinking: Vec<&str> = of_kind("thinking")
        .map(|block| text_of(&block["thinking"]))
        .collect();
    Ok(ResponseText {
        text: text.unwrap_or_default().to_owned(),
        reasoning: thinking.join("\n"),
    })
}

fn responses(answer: &Value) -> Result<ResponseText, ResponseError> {
    match text_of(&answer["incomplete_details"]["reason"]) {
        "" => {}
        "content_filter" => return Err(refused(&["content filter"])),
        _ => return Err(truncated(answer)),
    }
    let output = items(&answer["output"]);
    let messages = output.iter().filter(|item| item["type"] == "message");
    let parts: Vec<&Value> = messages.flat_map(|item| items(&item["content"])).collect();
    let of_kind = |kind: &str, key: &str| -> Vec<&str> {
        let parts = parts.iter().filter(|part| part["type"] == kind);
        parts.map(|part| text_of(&part[key])).collect()
    };
    let refusals = of_kind("refusal", "refusal");
    if !refusals.is_empty() {
        return Err(refused(&refusals));
    }
    let reasoning = output.iter().filter(|item| item["type"] == "reasoning");
    let summaries = reasoning.flat_map(|item| items(&item["summary"]));
    let summaries: Vec<&str> = summaries.map(|part| text_of(&part["text"])).collect();
    Ok(ResponseText {
        text: of_kind("output_text", "text").concat(),
        reasoning: summaries.join("\n"),
    })
}

fn chat(answer: &Value) -> Result<ResponseText, ResponseError> {
    let choice = &answer["choices"][0];
    let message = &choice["message"];
    let refusal = text_of(&message["refusal"]);
    match text_of(&choice["finish_reason"]) {
        _ if !refusal.is_empty() => return Err(refused(&[refusal])),
        "length" => return Err(truncated(answer)),
        "content_filter" => return Err(refused(&["content filter"])),
        _ => {}
    }
    let text = match &message["content"] {
        Value::Array(parts) => parts.iter().map(|part| text_of(&part["text"])).collect(),
        content => text_of(content).to_owned(),
    };
    let reasoning = ["reasoning", "reasoning_content"].map(|key| text_of(&message[key]));
    Ok(ResponseText {
        text,
        reasoning: reasoning.concat(),
    })
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn refused(words: &[&str]) -> ResponseError {
    let words: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| !word.is_empty())
        .collect();
    let message = if words.is_empty() {
        "it does not say why".to_owned()
    } else {
        words.join(": ")
    };
    ResponseError::Refused { message }
}

fn truncated(answer: &Value) -> ResponseError {
    let usage = &answer["usage"];
    let output_tokens = usage["output_tokens"]
        .as_u64()
        .or(usage["completion_tokens"].as_u64());
    ResponseError::Truncated {
        limit: output_tokens.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(api: Api, answer: Value, expected: Result<(&str, &str), &str>) {
        let response = ResponseText::of(api, &answer);
        let parts = response
            .as_ref()
            .map(|response| (response.text.as_str(), response.reasoning.as_str()))
            .map_err(ToString::to_string);
        assert_eq!(parts, expected.map_err(ToOwned::to_owned), "{answer}");
    }

    #[test]
    fn the_last_text_of_anthropic_counts_and_unknown_blocks_do_not() {
        let answer = json!({"stop_reason": "end_turn", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "x"},
            {"type": "hologram", "text": "no"},
            {"type": "text", "text": "Let me see."},
            {"type": "text", "text": "{}"},
            {"type": "text", "text": " "}]});
        check(Api::AnthropicMessages, answer, Ok(("{}", "hm")));
    }

    #[test]
    fn an_unknown_end_is_an_end() {
        let answer = json!({"stop_reason": "sunset", "content": [{"type": "text", "text": "{}"}]});
        check(Api::AnthropicMessages, answer, Ok(("{}", "")));
    }

    #[test]
    fn model_refusals_are_recognised() {
        let claude = json!({"stop_reason": "refusal", "content": [],
            "stop_details": {"type": "refusal", "category": "cyber", "explanation": "no malware"}});
        check(
            Api::AnthropicMessages,
            claude,
            Err("the model refuses: cyber: no malware"),
        );
        let responses = json!({"status": "completed", "output": [
            {"type": "message", "content": [{"type": "refusal", "refusal": "I cannot"}]}]});
        check(
            Api::OpenaiResponses,
            responses,
            Err("the model refuses: I cannot"),
        );
        let chat = json!({"choices": [{"finish_reason": "stop", "message": {"refusal": "no", "content": null}}]});
        check(Api::OpenaiChat, chat, Err("the model refuses: no"));
        let filtered =
            json!({"choices": [{"finish_reason": "content_filter", "message": {"content": "{}"}}]});
        check(
            Api::OpenaiChat,
            filtered,
            Err("the model refuses: content filter"),
        );
    }

    #[test]
    fn truncated_responses_are_rejected() {
        let claude = json!({"stop_reason": "max_tokens", "usage": {"output_tokens": 8}, "content": [{"type": "text", "text": "{}"}]});
        check(
            Api::AnthropicMessages,
            claude,
            Err("the answer was cut off after 8 tokens"),
        );
        let responses = json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "usage": {"output_tokens": 9}});
        check(
            Api::OpenaiResponses,
            responses,
            Err("the answer was cut off after 9 tokens"),
        );
        let chat = json!({"choices": [{"finish_reason": "length", "message": {"content": "{}"}}], "usage": {"completion_tokens": 7}});
        check(
            Api::OpenaiChat,
            chat,
            Err("the answer was cut off after 7 tokens"),
        );
    }

    #[test]
    fn an_answer_may_lie_among_the_reasoning() {
        for key in ["reasoning", "reasoning_content"] {
            let answer = json!({"choices": [{"finish_reason": "stop", "message": {"content": "", key: "{}"}}]});
            assert_eq!(
                ResponseText::of(Api::OpenaiChat, &answer)
                    .unwrap()
                    .into_text(),
                "{}"
            );
        }
    }

    #[test]
    fn content_in_parts_is_joined() {
        let chat = json!({"choices": [{"message": {"content": [{"type": "text", "text": "{"}, {"type": "text", "text": "}"}]}}]});
        check(Api::OpenaiChat, chat, Ok(("{}", "")));
        let responses = json!({"status": "completed", "incomplete_details": null, "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "{}"}]}]});
        check(Api::OpenaiResponses, responses, Ok(("{}", "hm")));
    }

    #[test]
    fn empty_response_has_no_text() {
        for api in [
            Api::AnthropicMessages,
            Api::OpenaiResponses,
            Api::OpenaiChat,
        ] {
            check(api, json!({}), Ok(("", "")));
            check(api, json!([1, 2]), Ok(("", "")));
        }
    }
}
