//! Earlier steps as text, for models that did not decide them or keep no record of their own.

use motorium_proto::domain::decision::{FunctionCall, PastAction, PastStep};
use motorium_proto::domain::effect::{ActionResult, Verdict};
use motorium_proto::service::PlanRequest;

use crate::prompt::Language;
use crate::prompt::untrusted::untrusted;

/// Returns the actions of a step and their outcomes, on one line.
pub(in crate::backends) fn actions_text(step: &PastStep, language: Language) -> String {
    let actions = step
        .actions
        .iter()
        .map(|action| action_text(action, language));
    let calls = step.function_calls.iter().map(call_words);
    let all: Vec<String> = actions.chain(calls).chain(results(step)).collect();
    match (all.is_empty(), language) {
        (false, _) => all.join("; "),
        (true, Language::English) => "nothing".to_owned(),
        (true, Language::Chinese) => "无".to_owned(),
    }
}

fn call_words(call: &FunctionCall) -> String {
    format!("{}({})", call.name, call.arguments_json)
}

/// Returns function results and data extracted from the screen, delimited because neither is written by the user.
pub(in crate::backends) fn results(step: &PastStep) -> impl Iterator<Item = String> {
    let functions = step.function_results.iter().map(|result| {
        let call = step
            .function_calls
            .iter()
            .find(|call| call.call_id == result.call_id);
        let name = call.map_or(result.call_id.as_str(), |call| call.name.as_str());
        match &result.outcome {
            Ok(value) => untrusted(name, value),
            Err(reason) => untrusted(name, &format!("failed: {reason}")),
        }
    });
    let extracted = step.extracted_json.iter();
    functions.chain(extracted.map(|data| untrusted("screen", data)))
}

fn action_text(action: &PastAction, language: Language) -> String {
    let intent = &action.planned.intent;
    match outcome(action, language) {
        Some(outcome) => format!("{intent} ({outcome})"),
        None => intent.clone(),
    }
}

/// Returns the outcome that a model has to know; `None` if the action had the expected effect.
pub(in crate::backends) fn outcome(action: &PastAction, language: Language) -> Option<String> {
    let say = |english: &str, chinese: &str| match language {
        Language::English => Some(english.to_owned()),
        Language::Chinese => Some(chinese.to_owned()),
    };
    if action.outcome.result != ActionResult::Performed {
        return Some(not_performed(action, language));
    }
    match action.effect.as_ref().map(|effect| effect.verdict) {
        Some(Verdict::NoEffect) => say("nothing changed on the screen", "屏幕没有变化"),
        Some(Verdict::TargetMoved) => say(
            "the target moved as it was clicked, so the click may have missed it",
            "点击时目标移动了，可能没有点中",
        ),
        Some(Verdict::TextDiffers) => say(
            "the field shows another text than the one entered",
            "输入框显示的文字与输入的不同",
        ),
        Some(Verdict::EndReached) => {
            say("nothing changed: the end is reached", "没有变化：已到尽头")
        }
        _ => None,
    }
}

fn not_performed(action: &PastAction, language: Language) -> String {
    let detail = &action.outcome.detail;
    match (action.outcome.result, language) {
        (ActionResult::Unknown, Language::English) => {
            format!("it is not known whether this was done: {detail}")
        }
        (ActionResult::Unknown, Language::Chinese) => format!("不确定是否已执行：{detail}"),
        (_, Language::English) => format!("not done: {detail}"),
        (_, Language::Chinese) => format!("未执行：{detail}"),
    }
}

/// Returns all user messages since the task began, in order.
pub(in crate::backends) fn user_words(request: &PlanRequest) -> Vec<String> {
    let before = request.history.iter().flat_map(|step| &step.user_messages);
    before.chain(&request.user_messages).cloned().collect()
}
