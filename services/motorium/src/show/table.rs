//! Tables for terminals, in the language of their caller: that of the task they are about, or else of the terminal.
//!
//! It does not print: its callers do.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{ColumnConstraint, ContentArrangement, Table};
use motorium_messages::{Language, Message, choice_key};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, Effect};
use motorium_proto::v1::common::Platform;
use motorium_proto::v1::orchestrator as wire;
use motorium_task::words;

use super::{columns, one_line, shortened, with_detail};

/// Width of tables that are not printed to a terminal, in columns. Longer cells are wrapped.
const DEFAULT_WIDTH: u16 = 100;

/// Creates a table with these columns, by their keys in the catalogue.
fn table(columns: &[&str], language: Language) -> Table {
    let header = columns
        .iter()
        .map(|column| Message::TableColumn { column }.text(language));
    let mut table = Table::new();
    if !table.is_tty() {
        table.set_width(DEFAULT_WIDTH);
    }
    table
        .load_style(UTF8_FULL_CONDENSED)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header.collect::<Vec<_>>());
    // Names are not wrapped, so that they can be copied.
    if let Some(names) = table.column_mut(0) {
        names.set_constraint(ColumnConstraint::ContentWidth);
    }
    table
}

/// Returns the name of a platform, which is the same in both languages: as options and settings have it.
fn platform(platform: Platform, language: Language) -> String {
    match platform {
        Platform::Unspecified => Message::PlatformUnknown.text(language),
        named => choice_key(named.as_str_name().trim_start_matches("PLATFORM_")),
    }
}

/// Formats tasks, one per row.
#[must_use]
pub(crate) fn tasks(tasks: &[wire::Task], language: Language) -> String {
    let mut table = table(&["task", "state", "steps", "goal", "answer"], language);
    for task in tasks {
        let answer = match &task.failure {
            Some(failure) => failure.message.clone(),
            None => task.answer.clone(),
        };
        table.add_row([
            task.name.clone(),
            words::state(task.state(), language),
            task.step_count.to_string(),
            task.goal.clone(),
            answer,
        ]);
    }
    table.to_string()
}

/// Formats a list of tasks, one line each: a long goal or answer is cut at the width of the terminal.
#[must_use]
pub(crate) fn task_list(tasks: &[wire::Task], language: Language) -> String {
    let width = table(&[], language).width().unwrap_or(DEFAULT_WIDTH);
    task_list_within(tasks, language, usize::from(width))
}

/// Width that a column takes besides its content: a border and two spaces.
const COLUMN_BORDER: usize = 3;
/// Minimum width of a goal, also where the terminal is too narrow for it.
const MIN_GOAL_WIDTH: usize = 24;
/// Minimum width of an answer. Below it there is no column of answers; `tasks show` has them.
const MIN_ANSWER_WIDTH: usize = 24;

fn task_list_within(tasks: &[wire::Task], language: Language, width: usize) -> String {
    let states: Vec<String> = tasks
        .iter()
        .map(|task| words::state(task.state(), language))
        .collect();
    let header = |column: &str| columns(&Message::TableColumn { column }.text(language));
    let names = tasks.iter().map(|task| columns(&task.name)).max();
    let names = names.unwrap_or(0).max(header("task"));
    let state = states.iter().map(|state| columns(state)).max();
    let state = state.unwrap_or(0).max(header("state"));
    let rest = width.saturating_sub(names + state + header("steps") + 5 * COLUMN_BORDER + 1);
    let shows_answer = rest >= MIN_GOAL_WIDTH + MIN_ANSWER_WIDTH;
    let goal_width = match shows_answer {
        true => rest / 2,
        false => (rest + COLUMN_BORDER).max(MIN_GOAL_WIDTH),
    };
    let mut headers = vec!["task", "state", "steps", "goal"];
    headers.extend(shows_answer.then_some("answer"));
    let mut table = table(&headers, language);
    // The cells have their widths already, and nothing is to be wrapped.
    table.set_content_arrangement(ContentArrangement::Disabled);
    for (task, state) in tasks.iter().zip(states) {
        let steps = task.step_count.to_string();
        let goal = one_line(&task.goal, goal_width);
        let mut row = vec![task.name.clone(), state, steps, goal];
        let answer = task.failure.as_ref().map(|failure| &failure.message);
        let answer = answer.unwrap_or(&task.answer);
        row.extend(shows_answer.then(|| one_line(answer, rest - goal_width)));
        table.add_row(row);
    }
    table.to_string()
}

/// Formats approvals, one per row.
#[must_use]
pub(crate) fn approvals(approvals: &[wire::Approval], language: Language) -> String {
    let mut table = table(&["approval", "action", "reason"], language);
    for approval in approvals {
        let action = approval.action.as_ref();
        table.add_row([
            approval.name.clone(),
            action
                .map(|planned| planned.intent.clone())
                .unwrap_or_default(),
            approval.reason.clone(),
        ]);
    }
    table.to_string()
}

/// Formats steps with their actions: step, action, effect, milliseconds.
#[must_use]
pub(crate) fn steps(steps: &[wire::Step], language: Language) -> String {
    let mut table = table(&["step", "action", "effect", "milliseconds"], language);
    for step in steps {
        let milliseconds = elapsed(step).map(|ms| ms.to_string()).unwrap_or_default();
        if step.actions.is_empty() {
            table.add_row([
                step.number.to_string(),
                shortened(&step.progress),
                String::new(),
                milliseconds,
            ]);
            continue;
        }
        for (index, action) in step.actions.iter().enumerate() {
            let intent = action
                .planned
                .as_ref()
                .map(|planned| shortened(&planned.intent))
                .unwrap_or_default();
            let first = index == 0;
            table.add_row([
                if first {
                    step.number.to_string()
                } else {
                    String::new()
                },
                intent,
                effect(action, language),
                if first {
                    milliseconds.clone()
                } else {
                    String::new()
                },
            ]);
        }
    }
    table.to_string()
}

/// Returns the result of an action: its effect, or else the outcome of an action that was not performed.
fn effect(action: &wire::StepAction, language: Language) -> String {
    let effect = action.effect.clone().map(Effect::try_from);
    if let Some(Ok(effect)) = effect {
        let verdict = words::verdict(effect.verdict, language);
        return with_detail(&verdict, &effect.explanation, language);
    }
    let outcome = action.outcome.clone().map(ActionOutcome::try_from);
    match outcome {
        Some(Ok(outcome)) if outcome.result != ActionResult::Performed => {
            let word = words::outcome(Some(&outcome), language);
            with_detail(&word, &outcome.detail, language)
        }
        Some(Ok(outcome)) => outcome.detail,
        _ => String::new(),
    }
}

fn elapsed(step: &wire::Step) -> Option<i64> {
    let (start, end) = (step.start_time?, step.end_time?);
    let milliseconds =
        |time: prost_types::Timestamp| time.seconds * 1000 + i64::from(time.nanos) / 1_000_000;
    Some(milliseconds(end) - milliseconds(start))
}

/// Formats desktops, one per row.
#[must_use]
pub(crate) fn desktops(
    desktops: &[motorium_proto::v1::common::Desktop],
    language: Language,
) -> String {
    let columns = ["desktop", "state", "platform", "display", "task", "labels"];
    let mut table = table(&columns, language);
    for desktop in desktops {
        let state = &choice_key(desktop.state().as_str_name().trim_start_matches("STATE_"));
        let mut labels: Vec<String> = desktop
            .labels
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        labels.sort();
        table.add_row([
            desktop.name.clone(),
            Message::DesktopState { state }.text(language),
            platform(desktop.platform(), language),
            desktop.display.clone(),
            desktop.task.clone(),
            labels.join(" "),
        ]);
    }
    table.to_string()
}

/// Formats the rules of a policy, one per row.
#[must_use]
pub(crate) fn rules(rules: &[wire::PolicyRule], language: Language) -> String {
    let mut table = table(&["rule", "effect", "reason"], language);
    for rule in rules {
        let effects = rule.effects().map(|effect| {
            let effect = &choice_key(effect.as_str_name().trim_start_matches("EFFECT_"));
            Message::RuleEffect { effect }.text(language)
        });
        let because = match language {
            Language::English => &rule.because,
            Language::Chinese => &rule.because_zh,
        };
        table.add_row([
            rule.id.clone(),
            effects.collect::<Vec<_>>().join(", "),
            because.clone(),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use motorium_proto::v1::common;
    use motorium_text::characters::is_wide;

    use super::*;

    fn action(intent: &str, outcome: common::ActionOutcome) -> wire::StepAction {
        wire::StepAction {
            planned: Some(common::PlannedAction {
                intent: intent.to_owned(),
                ..common::PlannedAction::default()
            }),
            outcome: Some(outcome),
            ..wire::StepAction::default()
        }
    }

    fn outcome(result: common::ActionResult, detail: &str) -> common::ActionOutcome {
        common::ActionOutcome {
            result: result.into(),
            detail: detail.to_owned(),
            ..common::ActionOutcome::default()
        }
    }

    fn sample(explanation: &str) -> Vec<wire::Step> {
        let performed = outcome(common::ActionResult::Performed, "");
        let mut clicked = action("点击“保存”", performed);
        clicked.effect = Some(common::Effect {
            verdict: common::EffectVerdict::NoEffect.into(),
            explanation: explanation.to_owned(),
            ..common::Effect::default()
        });
        let refused = outcome(common::ActionResult::Refused, "");
        vec![wire::Step {
            number: 1,
            actions: vec![clicked, action("按 `Enter`", refused)],
            ..wire::Step::default()
        }]
    }

    #[track_caller]
    fn check(table: &str, words: &[&str]) {
        for word in words {
            assert!(table.contains(word), "{word} is missing:\n{table}");
        }
    }

    #[test]
    fn the_steps_of_a_chinese_task_are_chinese() {
        let table = steps(&sample("没有变化"), Language::Chinese);
        check(
            &table,
            &[
                "步骤",
                "操作",
                "效果",
                "毫秒",
                "没有效果：没有变化",
                "被拒绝",
            ],
        );
        let english: Vec<&str> = table
            .split(|letter: char| !letter.is_ascii_alphabetic())
            .filter(|word| !word.is_empty() && *word != "Enter")
            .collect();
        assert!(english.is_empty(), "{english:?}:\n{table}");
    }

    #[test]
    fn the_steps_of_an_english_task_are_english() {
        let table = steps(&sample("nothing changed"), Language::English);
        let words = ["step", "action", "effect", "no effect: nothing changed"];
        check(&table, &words);
        check(&table, &["refused"]);
    }

    #[test]
    fn a_listed_task_takes_one_line_however_long_its_goal() {
        let task = |name: &str, goal: &str| wire::Task {
            name: format!("tasks/{name}"),
            goal: goal.to_owned(),
            answer: "Done: it is\nthere".to_owned(),
            ..wire::Task::default()
        };
        let goals = [
            "click \"Save\" ".repeat(40),
            "open\r\n\u{1b}[2Jthe page".to_owned(),
            "点击“保存”".repeat(30),
        ];
        let tasks: Vec<wire::Task> = goals.iter().map(|goal| task("one", goal)).collect();
        for width in [40, 80, 100, 160] {
            let listed = task_list_within(&tasks, Language::English, width);
            // Two borders, the header and its line.
            assert_eq!(listed.lines().count(), tasks.len() + 4, "{listed}");
            // Borders are as narrow as letters.
            let columns_of = |letter: char| -> usize { if is_wide(letter) { 2 } else { 1 } };
            let width_of = |line: &str| line.chars().map(columns_of).sum::<usize>();
            let widest = listed.lines().map(width_of).max().unwrap_or_default();
            assert!(widest <= width.max(70), "{widest} of {width}:\n{listed}");
            assert_eq!(listed.contains("answer"), width >= 100, "{listed}");
            assert!(
                listed.contains("tasks/one") && listed.contains('…'),
                "{listed}"
            );
        }
    }

    #[test]
    fn states_are_in_the_language_of_the_table() {
        let task = wire::Task {
            name: "tasks/a".to_owned(),
            state: wire::task::State::AwaitingUser.into(),
            ..wire::Task::default()
        };
        let listed = |language| tasks(std::slice::from_ref(&task), language);
        check(&listed(Language::English), &["state", "awaiting user"]);
        check(&listed(Language::Chinese), &["状态", "等待用户"]);
        let desktop = common::Desktop {
            state: common::desktop::State::Draining.into(),
            platform: Platform::Linux.into(),
            ..common::Desktop::default()
        };
        let listed = |language| desktops(std::slice::from_ref(&desktop), language);
        check(&listed(Language::English), &["draining", "linux"]);
        check(&listed(Language::Chinese), &["正在停用", "linux"]);
    }
}
