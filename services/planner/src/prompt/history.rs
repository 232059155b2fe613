//! What happened before, one line for each step: `Step 2: typed "hello" into [3] → the screen changed`.

use motorium_proto::domain::action::{Action, Button, ScrollAmount, Target, Text, WindowSelector};
use motorium_proto::domain::decision::{PastAction, PastStep};
use motorium_proto::domain::effect::{ActionResult, Verdict};
use motorium_proto::domain::key::Key;

use super::Language;

/// Longest text that a line quotes, in characters.
const LONGEST_QUOTE: usize = 120;

/// What a model is told in two languages.
fn say(language: Language, english: &str, chinese: &str) -> String {
    match language {
        Language::English => english.to_owned(),
        Language::Chinese => chinese.to_owned(),
    }
}

/// One step as one line, without the data that came of it.
#[must_use]
pub fn line(step: &PastStep, language: Language) -> String {
    let actions = step.actions.iter().map(|action| done(action, language));
    let calls = step.function_calls.iter().map(|call| {
        let called = say(language, "called", "调用了");
        format!("{called} {}({})", call.name, cut(&call.arguments_json))
    });
    let extracted = step
        .extracted_json
        .iter()
        .map(|_| say(language, "took data from the screen", "从屏幕上提取了数据"));
    let mut parts: Vec<String> = actions.chain(calls).chain(extracted).collect();
    if parts.is_empty() {
        parts.push(say(language, "nothing was done", "没有执行任何操作"));
    }
    let name = say(language, "Step", "第");
    let (space, after) = match language {
        Language::English => (" ", ": "),
        Language::Chinese => ("", "步："),
    };
    format!("{name}{space}{}{after}{}", step.step, parts.join("; "))
}

fn done(action: &PastAction, language: Language) -> String {
    let what = words(&action.planned.action, language);
    let intent = match action.planned.intent.trim() {
        "" => String::new(),
        intent => format!(" ({})", cut(intent)),
    };
    format!("{what}{intent} → {}", outcome(action, language))
}

/// What came of an action.
fn outcome(action: &PastAction, language: Language) -> String {
    let detail = &action.outcome.detail;
    let because = |words: String| {
        if detail.is_empty() {
            words
        } else {
            format!("{words}: {}", cut(detail))
        }
    };
    match action.outcome.result {
        ActionResult::Performed => effect(action, language),
        ActionResult::Refused => {
            let words = say(language, "refused by a rule", "被规则拒绝");
            let rule = action.outcome.rule.as_deref();
            because(rule.map_or_else(|| words.clone(), |rule| format!("{words} ({rule})")))
        }
        ActionResult::Failed => because(say(language, "failed", "失败")),
        ActionResult::Unknown => say(
            language,
            "it is not known whether it was done; look at the screen",
            "不知道是否已执行，请看屏幕",
        ),
        ActionResult::Cancelled => because(say(language, "stopped before its end", "中途停止")),
    }
}

fn effect(action: &PastAction, language: Language) -> String {
    let verdict = action.effect.as_ref().map(|effect| effect.verdict);
    let words = match verdict {
        Some(Verdict::Confirmed) => say(language, "the screen changed", "屏幕有变化"),
        Some(Verdict::ChangedElsewhere) => say(
            language,
            "the screen changed, but elsewhere",
            "屏幕别处有变化",
        ),
        Some(Verdict::NoEffect) => say(language, "no change", "没有变化"),
        Some(Verdict::EndReached) => say(
            language,
            "the end is reached, nothing more to scroll",
            "已到尽头，无法继续滚动",
        ),
        Some(Verdict::Unknown) | None => say(language, "done, effect unknown", "已执行，效果未知"),
    };
    match (action.retries, language) {
        (0, _) => words,
        (1, Language::English) => format!("{words}, retried once"),
        (2, Language::English) => format!("{words}, retried twice"),
        (times, Language::English) => format!("{words}, retried {times} times"),
        (times, Language::Chinese) => format!("{words}，重试了{times}次"),
    }
}

/// An action in words.
#[must_use]
pub fn words(action: &Action<Target>, language: Language) -> String {
    let word = |english: &str, chinese: &str| say(language, english, chinese);
    match action {
        Action::Move { to } => format!(
            "{} {}",
            word("moved the pointer to", "指针移到"),
            target(to)
        ),
        Action::Click {
            at,
            button,
            count,
            modifiers,
        } => {
            let clicked = match (button, count) {
                (Button::Left, 1) => word("clicked", "点击了"),
                (Button::Left, 2) => word("double-clicked", "双击了"),
                (Button::Left, _) => word("triple-clicked", "三击了"),
                (Button::Right, _) => word("right-clicked", "右键点击了"),
                (Button::Middle, _) => word("middle-clicked", "中键点击了"),
            };
            format!(
                "{clicked} {}{}",
                place(at.as_ref(), language),
                held(modifiers, language)
            )
        }
        Action::MouseDown { at, .. } => {
            let pressed = word("pressed the button at", "按下鼠标于");
            format!("{pressed} {}", place(at.as_ref(), language))
        }
        Action::MouseUp { at, .. } => {
            let released = word("released the button at", "松开鼠标于");
            format!("{released} {}", place(at.as_ref(), language))
        }
        Action::Drag { path, .. } => {
            let path: Vec<String> = path.iter().map(target).collect();
            format!("{} {}", word("dragged", "拖动"), path.join(" → "))
        }
        Action::Scroll { at, amount, .. } => {
            let (x, y) = match *amount {
                ScrollAmount::Notches { x, y } | ScrollAmount::Pixels { x, y } => (x, y),
            };
            let place = place(at.as_ref(), language);
            format!("{} ({x}, {y}) {place}", word("scrolled by", "滚动"))
        }
        Action::TypeText { text, .. } => format!("{} {}", word("typed", "输入了"), quoted(text)),
        Action::KeyChord { keys, repeat } => {
            let times = if *repeat > 1 {
                format!(" ×{repeat}")
            } else {
                String::new()
            };
            format!("{} {}{times}", word("pressed", "按了"), chord(keys))
        }
        Action::HoldKey { keys, duration } => {
            format!(
                "{} {} {} ms",
                word("held", "按住"),
                chord(keys),
                duration.as_millis()
            )
        }
        Action::Wait { duration } => {
            format!("{} {} ms", word("waited", "等待了"), duration.as_millis())
        }
        Action::SetClipboard { text } => {
            format!(
                "{} {}",
                word("put on the clipboard", "放入剪贴板"),
                quoted(text)
            )
        }
        Action::Paste { text: Some(text) } => {
            format!("{} {}", word("pasted", "粘贴了"), quoted(text))
        }
        Action::Paste { text: None } => word("pasted the clipboard", "粘贴了剪贴板"),
        Action::OpenApplication { name } => format!("{} {name}", word("opened", "打开了")),
        Action::OpenUrl { url } => format!("{} {}", word("opened", "打开了"), cut(url)),
        Action::FocusWindow { window } => {
            format!("{} {}", word("focused", "切换到"), selector(window))
        }
        Action::GoToUrl { url } => format!("{} {}", word("went to", "前往"), cut(url)),
        Action::GoBack => word("went back", "后退"),
        Action::GoForward => word("went forward", "前进"),
        Action::Refresh => word("refreshed", "刷新"),
    }
}

fn place(at: Option<&Target>, language: Language) -> String {
    at.map_or_else(
        || say(language, "where the pointer was", "指针所在处"),
        target,
    )
}

/// A target as an answer names it.
fn target(target: &Target) -> String {
    match target {
        Target::Element(id) => format!("[{id}]"),
        Target::Point(point) => format!("({}, {})", point.x, point.y),
        Target::Text(anchor) => format!("\"{}\"", cut(&anchor.text)),
    }
}

fn selector(window: &WindowSelector) -> String {
    match window {
        WindowSelector::Id(text)
        | WindowSelector::Title(text)
        | WindowSelector::Application(text) => {
            format!("\"{}\"", cut(text))
        }
    }
}

fn quoted(text: &Text) -> String {
    match text {
        Text::Literal(text) => format!("\"{}\"", cut(text)),
        Text::Secret(name) => format!("secret:{name}"),
    }
}

fn chord(keys: &[Key]) -> String {
    let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
    keys.join("+")
}

fn held(modifiers: &[Key], language: Language) -> String {
    if modifiers.is_empty() {
        return String::new();
    }
    format!(
        " {} {}",
        say(language, "holding", "同时按住"),
        chord(modifiers)
    )
}

/// A text on one line, and not too long.
fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
