//! Words for people: states of tasks, verdicts on effects, outcomes of actions.
//!
//! Tables, exports and progress lines take them from here, so that one thing has one name per language. Not here: the names
//! in machine-readable output, which are those of the contract and of [`Verdict::as_str`] and [`ActionResult::as_str`].

use motorium_messages::{Language, Message, choice_key};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, Verdict};
use motorium_proto::v1::orchestrator::approval::State as ApprovalState;
use motorium_proto::v1::orchestrator::task::State;

/// Returns the word for the state of a task, such as "awaiting user".
#[must_use]
pub fn state(state: State, language: Language) -> String {
    let state = &state_key(state);
    Message::TaskState { state }.text(language)
}

/// Returns the state of a task as a sentence, such as "Waiting for the user."
#[must_use]
pub fn state_sentence(state: State, language: Language) -> String {
    let state = &state_key(state);
    Message::TaskStateSentence { state }.text(language)
}

fn state_key(state: State) -> String {
    choice_key(state.as_str_name().trim_start_matches("STATE_"))
}

/// Returns the words for what became of an approval.
#[must_use]
pub fn approval(state: ApprovalState, language: Language) -> String {
    let state = &choice_key(state.as_str_name().trim_start_matches("STATE_"));
    Message::ApprovalState { state }.text(language)
}

/// Returns the words for a verdict on an effect, such as "changed elsewhere".
#[must_use]
pub fn verdict(verdict: Verdict, language: Language) -> String {
    let verdict = &choice_key(verdict.as_str());
    Message::EffectVerdict { verdict }.text(language)
}

/// Returns the words for the outcome of an action; without an outcome the action is under way.
#[must_use]
pub fn outcome(outcome: Option<&ActionOutcome>, language: Language) -> String {
    let outcome = &match outcome {
        None => choice_key("under way"),
        // Part of its input was sent, so that "not performed" would be wrong.
        Some(stopped) if stopped.result == ActionResult::Cancelled && !stopped.sent_nothing => {
            choice_key("stopped")
        }
        Some(outcome) => choice_key(outcome.result.as_str()),
    };
    Message::ActionOutcome { outcome }.text(language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: impl Fn(Language) -> String, english: &str, chinese: &str) {
        assert_eq!(words(Language::English), english);
        assert_eq!(words(Language::Chinese), chinese);
    }

    #[test]
    fn every_state_has_a_word_and_a_sentence() {
        let check = |of: State, english: &str, chinese: &str, sentence: &str| {
            check(|language| state(of, language), english, chinese);
            assert_eq!(state_sentence(of, Language::English), sentence);
        };
        check(State::Pending, "pending", "未开始", "Not started.");
        check(State::Running, "running", "运行中", "Still running.");
        check(State::Paused, "paused", "已暂停", "Paused.");
        let waiting = "Waiting for the user.";
        check(State::AwaitingUser, "awaiting user", "等待用户", waiting);
        check(State::Succeeded, "succeeded", "已完成", "Done.");
        check(State::Failed, "failed", "失败", "Failed.");
        check(State::Cancelled, "cancelled", "已取消", "Cancelled.");
        check(State::Unspecified, "unknown", "未知", "Unknown.");
    }

    #[test]
    fn every_verdict_has_a_word() {
        let check = |of: Verdict, chinese: &str| {
            check(|language| verdict(of, language), of.as_str(), chinese);
        };
        check(Verdict::Confirmed, "已生效");
        check(Verdict::ChangedElsewhere, "别处有变化");
        check(Verdict::NoEffect, "没有效果");
        check(Verdict::Unknown, "效果未知");
        check(Verdict::EndReached, "已到尽头");
        check(Verdict::TargetMoved, "目标移动了");
        check(Verdict::TextDiffers, "文字不符");
    }

    #[test]
    fn an_action_that_was_stopped_halfway_is_not_called_unperformed() {
        let check = |of: Option<ActionOutcome>, english: &str, chinese: &str| {
            check(|language| outcome(of.as_ref(), language), english, chinese);
        };
        let with = |result| Some(ActionOutcome::new(result, ""));
        check(None, "under way", "正在执行");
        check(with(ActionResult::Performed), "performed", "已执行");
        check(with(ActionResult::Refused), "refused", "被拒绝");
        check(with(ActionResult::Failed), "failed", "失败");
        check(with(ActionResult::Unknown), "outcome unknown", "结果未知");
        check(with(ActionResult::Cancelled), "stopped", "中途停止");
        let unsent = ActionOutcome::cancelled_unsent("");
        check(Some(unsent), "not performed", "未执行");
    }

    #[test]
    fn an_approval_is_given_denied_or_void() {
        let check = |of: ApprovalState, english: &str, chinese: &str| {
            check(|language| approval(of, language), english, chinese);
        };
        check(ApprovalState::Approved, "approved", "已批准");
        check(ApprovalState::Denied, "denied", "已拒绝");
        check(ApprovalState::Expired, "the approval expired", "批准已过期");
        let void = "the approval is no longer valid";
        check(ApprovalState::Invalidated, void, "批准已失效");
    }
}
