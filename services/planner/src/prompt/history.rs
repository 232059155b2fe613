//! Earlier steps, one line each: `Step 2: clicked [3] (open the menu) → the screen changed`. Places are in the model's
//! own coordinates: a model that is told `(980, 540)` in frame pixels and answers in thousandths would take it for
//! another place.
//!
//! Screenshots of the steps are not part of the lines.

use motorium_proto::domain::action::{Action, Button, ScrollAmount, Target, Text, WindowSelector};
use motorium_proto::domain::decision::{PastAction, PastStep};
use motorium_proto::domain::effect::{ActionResult, Verdict};
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use motorium_proto::domain::key::Key;

use super::Language;
use crate::screenshot::{CoordinateConvention, ImageSpec, SentImage};

/// Maximum length of a quoted text, in characters: keeps each step on one short line.
const MAX_QUOTE_CHARS: usize = 120;

/// Format of positions on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoordinateFormat {
    /// The stored form: elements by number, points in frame pixels.
    Capture,
    /// The model's form: positions on the images that it was sent.
    Model {
        image_spec: ImageSpec,
        /// Size of the current frame; also used for steps without their own size.
        frame: CaptureSize,
        /// `true` if elements are numbered in the image.
        numbered: bool,
    },
}

impl CoordinateFormat {
    fn element(self, id: impl std::fmt::Display, language: Language) -> String {
        match self {
            CoordinateFormat::Capture | CoordinateFormat::Model { numbered: true, .. } => {
                format!("[{id}]")
            }
            CoordinateFormat::Model { .. } => localised(language, "an element", "一个元素"),
        }
    }

    /// Returns whether the model sees the numbers of elements.
    fn is_numbered(self) -> bool {
        !matches!(
            self,
            CoordinateFormat::Model {
                numbered: false,
                ..
            }
        )
    }

    /// Formats a point; `None` if it is not on the model's image.
    fn point(self, point: CapturePoint, step: &PastStep) -> Option<String> {
        let CoordinateFormat::Model {
            image_spec, frame, ..
        } = self
        else {
            return Some(format!("({}, {})", point.x, point.y));
        };
        let size = step.frame_size.unwrap_or(frame);
        let image = SentImage::whole(size, image_spec.rule, image_spec.convention).ok()?;
        let reported = image.to_reported(point).ok()?;
        Some(match image_spec.convention {
            CoordinateConvention::Fractions => format!("({:.3}, {:.3})", reported.x, reported.y),
            _ => format!("({}, {})", reported.x, reported.y),
        })
    }
}

/// Formats the actions of one step.
#[derive(Clone, Copy)]
struct LineFormatter<'a> {
    step: &'a PastStep,
    language: Language,
    places: CoordinateFormat,
}

/// Returns the text in the language of the prompt.
fn localised(language: Language, english: &str, chinese: &str) -> String {
    match language {
        Language::English => english.to_owned(),
        Language::Chinese => chinese.to_owned(),
    }
}

/// Formats a step as one line, without its result data.
#[must_use]
pub fn line(step: &PastStep, language: Language, places: CoordinateFormat) -> String {
    let reader = LineFormatter {
        step,
        language,
        places,
    };
    let actions = step.actions.iter().map(|action| reader.done(action));
    let calls = step.function_calls.iter().map(|call| {
        let called = localised(language, "called", "调用了");
        format!("{called} {}({})", call.name, cut(&call.arguments_json))
    });
    let extracted = step
        .extracted_json
        .iter()
        .map(|_| localised(language, "took data from the screen", "从屏幕上提取了数据"));
    let mut parts: Vec<String> = actions.chain(calls).chain(extracted).collect();
    if parts.is_empty() {
        parts.push(localised(language, "nothing was done", "没有执行任何操作"));
    }
    let name = localised(language, "Step", "第");
    let (space, after) = match language {
        Language::English => (" ", ": "),
        Language::Chinese => ("", "步："),
    };
    format!("{name}{space}{}{after}{}", step.step, parts.join("; "))
}

/// Formats the outcome of an action.
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
            because(match action.outcome.rule.as_deref() {
                Some(rule) => {
                    let words = localised(language, "refused by a rule", "被规则拒绝");
                    format!("{words} ({rule})")
                }
                // A person refused it, or nobody answered.
                None => localised(language, "refused", "被拒绝"),
            })
        }
        ActionResult::Failed => because(localised(language, "failed", "失败")),
        ActionResult::Unknown => localised(
            language,
            "it is not known whether it was done; look at the screen",
            "不知道是否已执行，请看屏幕",
        ),
        ActionResult::Cancelled => {
            because(localised(language, "stopped before its end", "中途停止"))
        }
    }
}

fn effect(action: &PastAction, language: Language) -> String {
    let verdict = action.effect.as_ref().map(|effect| effect.verdict);
    let words = match verdict {
        Some(Verdict::Confirmed) => localised(language, "the screen changed", "屏幕有变化"),
        Some(Verdict::ChangedElsewhere) => localised(
            language,
            "the screen changed, but elsewhere",
            "屏幕别处有变化",
        ),
        Some(Verdict::NoEffect) => localised(language, "no change", "没有变化"),
        Some(Verdict::TargetMoved) => localised(
            language,
            "the target moved as it was clicked, so the click may have missed it",
            "点击时目标移动了，可能没有点中",
        ),
        Some(Verdict::TextDiffers) => localised(
            language,
            "the field shows another text than the one entered",
            "输入框显示的文字与输入的不同",
        ),
        Some(Verdict::EndReached) => localised(
            language,
            "the end is reached, nothing more to scroll",
            "已到尽头，无法继续滚动",
        ),
        Some(Verdict::Unknown) | None => {
            localised(language, "done, effect unknown", "已执行，效果未知")
        }
    };
    match (action.retries, language) {
        (0, _) => words,
        (1, Language::English) => format!("{words}, retried once"),
        (2, Language::English) => format!("{words}, retried twice"),
        (times, Language::English) => format!("{words}, retried {times} times"),
        (times, Language::Chinese) => format!("{words}，重试了{times}次"),
    }
}

impl LineFormatter<'_> {
    fn done(self, action: &PastAction) -> String {
        let what = self.words(action);
        let intent = match action.planned.intent.trim() {
            "" => String::new(),
            intent => format!(" ({})", cut(intent)),
        };
        format!("{what}{intent} → {}", outcome(action, self.language))
    }

    /// Formats an action.
    fn words(self, past: &PastAction) -> String {
        let label = past.target_label.as_deref();
        let action = &past.planned.action;
        let language = self.language;
        let word = |english: &str, chinese: &str| localised(language, english, chinese);
        match action {
            Action::Move { to } => format!(
                "{} {}",
                word("moved the pointer to", "指针移到"),
                self.labelled(to, label)
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
                    (Button::Back, _) => word("clicked the back button at", "按了后退侧键于"),
                    (Button::Forward, _) => word("clicked the forward button at", "按了前进侧键于"),
                };
                format!(
                    "{clicked} {}{}",
                    self.place(at.as_ref(), label),
                    held(modifiers, language)
                )
            }
            Action::MouseDown { at, .. } => {
                let pressed = word("pressed the button at", "按下鼠标于");
                format!("{pressed} {}", self.place(at.as_ref(), label))
            }
            Action::MouseUp { at, .. } => {
                let released = word("released the button at", "松开鼠标于");
                format!("{released} {}", self.place(at.as_ref(), label))
            }
            Action::Drag { path, .. } => {
                let path: Vec<String> = path.iter().map(|place| self.target(place)).collect();
                let label = label.map_or_else(String::new, |label| format!(" {label}"));
                format!("{} {}{label}", word("dragged", "拖动"), path.join(" → "))
            }
            Action::Scroll { at, amount, .. } => {
                let (scrolled, at_word) = (word("scrolled", "滚动了"), word("at", "于"));
                let way = way(*amount, language);
                format!(
                    "{scrolled} {way} {at_word} {}",
                    self.place(at.as_ref(), label)
                )
            }
            Action::TypeText { text, .. } => {
                format!("{} {}", word("typed", "输入了"), quoted(text))
            }
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

    fn place(self, at: Option<&Target>, label: Option<&str>) -> String {
        at.map_or_else(
            || localised(self.language, "where the pointer was", "指针所在处"),
            |target| self.labelled(target, label),
        )
    }

    /// Formats a target with the kind and the text that it had: its number may be another element's by now.
    fn labelled(self, target: &Target, label: Option<&str>) -> String {
        let place = self.target(target);
        match (label, target) {
            // The text is the target.
            (None, _) | (Some(_), Target::Text(_)) => place,
            (Some(label), Target::Element(_)) if !self.places.is_numbered() => cut(label),
            (Some(label), _) => format!("{place} {}", cut(label)),
        }
    }

    fn target(self, target: &Target) -> String {
        match target {
            Target::Element(id) => self.places.element(id, self.language),
            Target::Point(point) => self
                .places
                .point(*point, self.step)
                .unwrap_or_else(|| localised(self.language, "a point", "某一点")),
            Target::Text(anchor) => format!("\"{}\"", cut(&anchor.text)),
        }
    }
}

/// Formats the scroll direction and distance: `down 5`.
fn way(amount: ScrollAmount, language: Language) -> String {
    let (x, y, unit) = match amount {
        ScrollAmount::Notches { x, y } => (x, y, ""),
        ScrollAmount::Pixels { x, y } => (x, y, " px"),
    };
    let ways = [
        (y, "down", "向下"),
        (-y, "up", "向上"),
        (x, "right", "向右"),
        (-x, "left", "向左"),
    ];
    let ways = ways.into_iter().filter(|(far, _, _)| *far > 0);
    let ways = ways.map(|(far, english, chinese)| {
        format!("{} {far}{unit}", localised(language, english, chinese))
    });
    ways.collect::<Vec<_>>().join(" ")
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
        localised(language, "holding", "同时按住"),
        chord(modifiers)
    )
}

/// Returns the text on one line, truncated.
fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_QUOTE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::decision::PlannedAction;
    use motorium_proto::domain::effect::ActionOutcome;
    use motorium_proto::domain::id::ElementId;

    use super::*;
    use crate::models::{Api, ModelTable};

    fn step(action: Action<Target>) -> PastStep {
        let planned = PlannedAction {
            action,
            intent: "open it".to_owned(),
            verify_pointer: false,
            repeatable: true,
        };
        PastStep {
            step: 2,
            actions: vec![PastAction {
                planned,
                outcome: ActionOutcome::new(ActionResult::Performed, ""),
                effect: None,
                retries: 0,
                target_label: None,
            }],
            ..PastStep::default()
        }
    }

    fn click(at: Target) -> PastStep {
        step(Action::Click {
            at: Some(at),
            button: Button::Left,
            count: 1,
            modifiers: Vec::new(),
        })
    }

    fn seen_by(model: &str, api: Api, numbered: bool) -> CoordinateFormat {
        CoordinateFormat::Model {
            image_spec: ModelTable::default().get(model, api).image_spec,
            frame: CaptureSize::new(1920, 1080),
            numbered,
        }
    }

    #[track_caller]
    fn check(step: &PastStep, places: CoordinateFormat, part: &str) {
        let line = line(step, Language::English, places);
        assert!(line.starts_with(&format!("Step 2: {part}")), "{line}");
    }

    #[test]
    fn history_points_use_the_models_coordinates() {
        let middle = || click(Target::Point(CapturePoint::new(960, 540)));
        let claude = seen_by("claude-opus-4-6", Api::AnthropicMessages, true);
        let opencua = seen_by("opencua-a3b", Api::OpenaiChat, false);
        let qwen = seen_by("qwen3-vl-plus", Api::OpenaiChat, false);
        check(
            &middle(),
            CoordinateFormat::Capture,
            "clicked (960, 540) (open it) →",
        );
        // 1456×819 is the size that Claude is sent for such a screen.
        check(&middle(), claude, "clicked (728, 409) (open it) →");
        check(&middle(), opencua, "clicked (0.500, 0.500) (open it) →");
        check(&middle(), qwen, "clicked (500, 500) (open it) →");
        // On a frame of another size, the same place has other coordinates.
        let smaller = PastStep {
            frame_size: Some(CaptureSize::new(1000, 800)),
            ..middle()
        };
        check(&smaller, qwen, "clicked (961, 676) (open it) →");
        let outside = click(Target::Point(CapturePoint::new(5000, 5)));
        check(&outside, qwen, "clicked a point (open it) →");
    }

    #[test]
    fn an_element_has_a_number_only_where_the_reader_sees_numbers() {
        let save = click(Target::Element(ElementId(3)));
        let claude = |numbered| seen_by("claude-opus-4-6", Api::AnthropicMessages, numbered);
        check(&save, claude(true), "clicked [3] (open it) →");
        check(&save, claude(false), "clicked an element (open it) →");
    }

    #[test]
    fn scroll_direction_is_written_in_words() {
        let scroll = |x, y| {
            step(Action::Scroll {
                at: Some(Target::Element(ElementId(3))),
                amount: ScrollAmount::Notches { x, y },
                modifiers: Vec::new(),
            })
        };
        check(
            &scroll(0, 5),
            CoordinateFormat::Capture,
            "scrolled down 5 at [3] (open it)",
        );
        check(
            &scroll(-2, -1),
            CoordinateFormat::Capture,
            "scrolled up 1 left 2 at [3]",
        );
        let chinese = line(&scroll(0, 5), Language::Chinese, CoordinateFormat::Capture);
        assert!(
            chinese.starts_with("第2步：滚动了 向下 5 于 [3]"),
            "{chinese}"
        );
    }
}
