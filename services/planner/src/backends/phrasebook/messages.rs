//! Messages of the phrasebook for users, in English and Chinese. Every text that a user can see is here.

use std::time::Duration;

use motorium_proto::domain::action::{Ordinal, Place};
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};

use motorium_phrasebook::grammar::{Language, ParseError, ParseErrorKind, TargetPhrase};
use motorium_phrasebook::matcher::{ElementMatch, Relation};

/// Maximum number of characters when the user's own words are repeated. Keeps answers to one line.
const MAX_ECHO_CHARS: usize = 100;

/// Messages in one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Messages(pub(super) Language);

/// Formats the message of the language; both capture their arguments by name.
macro_rules! say {
    ($voice:expr, $english:literal, $chinese:literal $(,)?) => {
        match $voice.0 {
            Language::English => format!($english),
            Language::Chinese => format!($chinese),
        }
    };
}

impl Messages {
    /// Returns the current clause, in the user's words.
    pub(super) fn progress(self, words: &str, number: usize, total: usize) -> String {
        if total == 1 {
            words.to_owned()
        } else {
            format!("{words} ({number}/{total})")
        }
    }

    pub(super) fn waiting(self, words: &str) -> String {
        say!(self, "Waiting: {words}", "等待中：{words}")
    }

    /// Returns that all of `asked` is done; for long goals the number of clauses and the last one.
    pub(super) fn done(self, asked: &[&str], clauses: usize, last: &str) -> String {
        let separator = match self.0 {
            Language::English => "; ",
            Language::Chinese => "；",
        };
        let without_stop = |words: &&str| words.trim_end_matches(['.', '。']).to_owned();
        let joined = asked
            .iter()
            .map(without_stop)
            .collect::<Vec<_>>()
            .join(separator);
        if clauses > 1 && joined.chars().count() > MAX_ECHO_CHARS {
            let last = shortened(&without_stop(&last));
            return say!(
                self,
                "Done, all {clauses} steps; the last one: {last}.",
                "已完成全部 {clauses} 步，最后一步：{last}。",
            );
        }
        let joined = shortened(&joined);
        say!(self, "Done: {joined}.", "已完成：{joined}。")
    }

    /// Returns that a target is not on the screen, with the texts closest to its own.
    pub(super) fn not_found(self, words: &str, aim: &TargetPhrase, nearest: &[String]) -> String {
        let thing = self.target(aim);
        let is_its_text = |text: &&String| {
            let own = aim.text.as_deref().unwrap_or_default();
            text.trim().to_lowercase() == own.trim().to_lowercase()
        };
        // Its text is there, but nothing of its kind or at its place.
        if let Some(text) = nearest.iter().find(is_its_text) {
            let text = self.quoted(text);
            return say!(
                self,
                "`{words}`: {thing} is not on the screen; only the text {text} is.",
                "“{words}”：屏幕上找不到{thing}，只有文字{text}。",
            );
        }
        self.not_found_named(words, &thing, nearest)
    }

    /// As [`Self::not_found`], for something that is no element.
    pub(super) fn not_found_named(self, words: &str, thing: &str, nearest: &[String]) -> String {
        let listed = self.listed(nearest.iter().map(String::as_str));
        match nearest.is_empty() {
            true => say!(
                self,
                "`{words}`: {thing} is not on the screen.",
                "“{words}”：屏幕上找不到{thing}。"
            ),
            false => say!(
                self,
                "`{words}`: {thing} is not on the screen. The closest matches are {listed}.",
                "“{words}”：屏幕上找不到{thing}。最接近的是{listed}。",
            ),
        }
    }

    /// Names a target: its kind, text, ordinal, place and neighbour.
    fn target(self, aim: &TargetPhrase) -> String {
        if self.0 == Language::English {
            return aim.to_string();
        }
        let mut words = String::new();
        if let Some(place) = aim.place {
            words += self.place(place);
            words += "的";
        }
        if let Some((relation, other)) = &aim.relation {
            words += &self.target(other);
            words += relation_suffix(*relation);
        }
        match (aim.all, aim.ordinal) {
            (true, _) => words += "所有",
            (false, Some(Ordinal::Nth(number))) => words += &format!("第{number}个"),
            (false, Some(Ordinal::Last)) => words += "最后一个",
            (false, None) => {}
        }
        if let Some(text) = &aim.text {
            words += &self.quoted(text);
        }
        match (aim.kind, &aim.text) {
            (Some(kind), _) => words += chinese_kind(kind),
            (None, None) => words += "元素",
            (None, Some(_)) => {}
        }
        words
    }

    fn listed<'a>(self, texts: impl IntoIterator<Item = &'a str>) -> String {
        let quoted: Vec<String> = texts.into_iter().map(|text| self.quoted(text)).collect();
        quoted.join(if self.0 == Language::English {
            ", "
        } else {
            "、"
        })
    }

    pub(super) fn quoted(self, text: &str) -> String {
        say!(self, "\"{text}\"", "“{text}”")
    }

    /// Asks which of several matches is meant; the answer may be a number.
    pub(super) fn ask_which(
        self,
        words: &str,
        hits: &[ElementMatch],
        frame: CaptureSize,
    ) -> String {
        let listed: Vec<String> = hits
            .iter()
            .take(9)
            .enumerate()
            .map(|(index, hit)| self.candidate(index + 1, hit, frame))
            .collect();
        let count = hits.len();
        let listed = listed.join(if self.0 == Language::English {
            ", "
        } else {
            "，"
        });
        say!(
            self,
            "`{words}`: {count} elements match: {listed}. Which one do you mean?",
            "“{words}”：有 {count} 处符合：{listed}。指的是哪一个？"
        )
    }

    fn candidate(self, number: usize, hit: &ElementMatch, frame: CaptureSize) -> String {
        let place = self.place(place_of(hit.point, frame));
        let kind = hit.kind.as_str().replace('_', " ");
        let content = &hit.content;
        say!(
            self,
            "({number}) {kind} \"{content}\", {place}",
            "（{number}）“{content}”，{place}"
        )
    }

    fn place(self, place: Place) -> &'static str {
        if self.0 == Language::English {
            return place.as_str();
        }
        match place {
            Place::TopLeft => "左上",
            Place::Top => "上方",
            Place::TopRight => "右上",
            Place::Left => "左侧",
            Place::Centre => "中间",
            Place::Right => "右侧",
            Place::BottomLeft => "左下",
            Place::Bottom => "下方",
            Place::BottomRight => "右下",
        }
    }

    pub(super) fn nothing_changed(self, words: &str) -> String {
        say!(
            self,
            "`{words}` was performed, but nothing on the screen changed.",
            "已执行“{words}”，但屏幕没有任何变化。"
        )
    }

    /// Returns that a field shows another text than was entered; an empty one if it shows none.
    pub(super) fn not_taken(self, words: &str, shown: &str) -> String {
        let quoted = self.quoted(shown);
        match shown.is_empty() {
            true => say!(
                self,
                "`{words}`: the field did not take the text.",
                "“{words}”：该输入框没有接受这段文字。"
            ),
            false => say!(
                self,
                "`{words}`: the field did not take the text; it shows {quoted}.",
                "“{words}”：该输入框没有接受这段文字，现在显示{quoted}。"
            ),
        }
    }

    /// Returns that a field still shows a text.
    pub(super) fn not_cleared(self, words: &str, shown: &str) -> String {
        let shown = self.quoted(shown);
        say!(
            self,
            "`{words}`: the field still shows {shown}.",
            "“{words}”：该输入框仍显示{shown}。"
        )
    }

    /// Returns that a checkbox still has the other state after the click.
    pub(super) fn not_toggled(self, words: &str, on: bool) -> String {
        match on {
            true => say!(
                self,
                "`{words}` was performed, but it is still unchecked.",
                "已执行“{words}”，但仍未勾选。"
            ),
            false => say!(
                self,
                "`{words}` was performed, but it is still checked.",
                "已执行“{words}”，但仍处于勾选状态。"
            ),
        }
    }

    /// Returns that a slider does not have the wanted value.
    pub(super) fn slider_shows(self, words: &str, shown: i64) -> String {
        say!(
            self,
            "`{words}` was performed, but the slider shows {shown}.",
            "已执行“{words}”，但滑块显示 {shown}。"
        )
    }

    /// Returns that a slider cannot be set to a value.
    pub(super) fn no_slider_value(self, words: &str, value: &str) -> String {
        let value = self.quoted(value);
        say!(
            self,
            "`{words}`: {value} is no whole number from 0 to 500.",
            "“{words}”：{value}不是 0 到 500 的整数。"
        )
    }

    /// Returns that a dialog is still open after the key that accepts it.
    pub(super) fn dialog_stands(self, words: &str, title: &str) -> String {
        let title = self.quoted(title);
        say!(
            self,
            "`{words}` was performed, but the dialog {title} is still open.",
            "已执行“{words}”，但对话框{title}仍未关闭。"
        )
    }

    /// Returns that an action of a clause was not performed and no reason is known.
    pub(super) fn not_performed(self, words: &str) -> String {
        say!(self, "`{words}` was not performed.", "没有执行“{words}”。")
    }

    /// Returns which clauses had nothing to change.
    pub(super) fn already_so(self, clauses: &[&str]) -> String {
        let listed = self.listed(clauses.iter().map(|words| words.trim()));
        say!(
            self,
            "Was already so: {listed}.",
            "本来就是这样：{listed}。"
        )
    }

    /// Returns which clauses were left out on the user's wish.
    pub(super) fn left_out(self, clauses: &[&str]) -> String {
        let listed = self.listed(clauses.iter().map(|words| words.trim()));
        say!(self, "Left out: {listed}.", "未执行：{listed}。")
    }

    pub(super) fn refused(self, words: &str, detail: &str) -> String {
        say!(
            self,
            "`{words}` is not allowed: {detail}",
            "“{words}”不被允许：{detail}"
        )
    }

    pub(super) fn failed(self, words: &str, detail: &str) -> String {
        say!(
            self,
            "`{words}` failed: {detail}",
            "“{words}”失败：{detail}"
        )
    }

    pub(super) fn ask_whether_performed(self, words: &str) -> String {
        say!(
            self,
            "Interrupted while performing `{words}`; it is unknown whether it took effect. Check the screen, then answer `done` if it did or `retry` if it did not.",
            "执行“{words}”时被中断，无法确定是否已完成。请查看：已完成请回答“已完成”，否则回答“重试”。",
        )
    }

    pub(super) fn ask_whether_hit(self, words: &str) -> String {
        say!(
            self,
            "The page moved as the click for `{words}` came; it is unknown whether it hit. Check the screen, then answer `done` if it did or `retry` if it did not.",
            "执行“{words}”的点击时页面移动了，无法确定是否点中。请查看：已点中请回答“已完成”，否则回答“重试”。",
        )
    }

    pub(super) fn end_reached(self, words: &str, text: &str) -> String {
        let text = self.quoted(text);
        say!(
            self,
            "`{words}`: reached the end, but {text} did not appear.",
            "“{words}”：已滚动到尽头，没有出现{text}。"
        )
    }

    pub(super) fn no_scroll_end(self, words: &str) -> String {
        say!(
            self,
            "`{words}`: stopped scrolling before the end was reached.",
            "“{words}”：一直可以滚动，没有到达尽头。"
        )
    }

    pub(super) fn wait_timed_out(
        self,
        words: &str,
        text: &str,
        shown: bool,
        waited: Duration,
    ) -> String {
        let (text, seconds) = (self.quoted(text), waited.as_secs());
        match shown {
            true => say!(
                self,
                "`{words}`: {text} did not appear within {seconds} seconds.",
                "“{words}”：{seconds} 秒内没有出现{text}。"
            ),
            false => say!(
                self,
                "`{words}`: {text} is still there after {seconds} seconds.",
                "“{words}”：{seconds} 秒后{text}仍在。"
            ),
        }
    }

    pub(super) fn check_failed(self, words: &str, text: &str, shown: bool) -> String {
        let text = self.quoted(text);
        match shown {
            true => say!(
                self,
                "`{words}`: {text} is not shown.",
                "“{words}”：没有显示{text}。"
            ),
            false => say!(
                self,
                "`{words}`: {text} is shown.",
                "“{words}”：显示了{text}。"
            ),
        }
    }

    pub(super) fn unknown_application(self, words: &str, known: &[String]) -> String {
        let listed = self.listed(known.iter().map(String::as_str));
        say!(
            self,
            "`{words}`: this application is not allowed. Allowed applications: {listed}.",
            "“{words}”：这里不能打开该应用。可以打开的有：{listed}。",
        )
    }

    pub(super) fn no_new_window(self, words: &str, waited: Duration) -> String {
        let seconds = waited.as_secs();
        say!(
            self,
            "`{words}`: no window appeared within {seconds} seconds.",
            "“{words}”：{seconds} 秒内没有出现窗口。"
        )
    }

    /// Reports that a user's message is not an instruction and is ignored.
    pub(super) fn message_ignored(self, message: &str) -> String {
        say!(
            self,
            "`{message}` is not understood and is ignored.",
            "无法理解“{message}”，不作改变。"
        )
    }

    /// Returns example sentences.
    fn example(self) -> &'static str {
        match self.0 {
            Language::English => {
                "`click \"Save\"`, `type \"Alice\" into \"Name\" then press Enter`"
            }
            Language::Chinese => "点击“保存”，在“姓名”中输入“张三”然后按回车",
        }
    }

    /// Returns why a clause cannot be parsed, with examples of sentences that can.
    pub(super) fn not_understood(self, error: &ParseError) -> String {
        let why = self.why(&error.kind);
        let example = self.example();
        say!(
            self,
            "{why}; examples of supported sentences: {example}",
            "{why}；能理解的句子例如：{example}"
        )
    }

    fn why(self, why: &ParseErrorKind) -> String {
        if self.0 == Language::English {
            return why.to_string();
        }
        match why {
            ParseErrorKind::Empty => "目标为空".to_owned(),
            ParseErrorKind::TooLong => "目标太长".to_owned(),
            ParseErrorKind::UnclosedQuote => "引号没有闭合".to_owned(),
            ParseErrorKind::UnknownVerb {
                suggestion: Some(verb),
            } => format!("开头不是已知的动词，是否想说“{verb}”"),
            ParseErrorKind::UnknownVerb { suggestion: None } => "开头不是已知的动词".to_owned(),
            ParseErrorKind::MissingTarget => "没有说明对象".to_owned(),
            ParseErrorKind::InvalidTarget => {
                "没有指明屏幕上的对象，请把它的文字放进引号".to_owned()
            }
            ParseErrorKind::MissingText => "没有说明文字内容".to_owned(),
            ParseErrorKind::UnquotedText => "文字没有放进引号".to_owned(),
            ParseErrorKind::MissingField => "没有说明每段文字输入到哪里".to_owned(),
            ParseErrorKind::MissingDestination => "没有说明拖到哪里".to_owned(),
            ParseErrorKind::UnknownKey { name } => format!("没有叫“{name}”的按键"),
            ParseErrorKind::InvalidAddress => "没有给出网址".to_owned(),
            ParseErrorKind::TrailingWords { words } => format!("多出了“{words}”"),
        }
    }

    pub(super) fn cannot_take_over(self) -> &'static str {
        match self.0 {
            Language::English => {
                "it cannot continue a goal that another backend has started, because the completed steps are unknown"
            }
            Language::Chinese => "其他后端已开始执行该目标，无法得知哪些已完成，因此不能接手",
        }
    }
}

/// Returns the Chinese words after the neighbour of a target.
fn relation_suffix(relation: Relation) -> &'static str {
    match relation {
        Relation::NextTo => "旁边的",
        Relation::LeftOf => "左侧的",
        Relation::RightOf => "右侧的",
        Relation::Above => "上方的",
        Relation::Below => "下方的",
        Relation::RowOf => "所在行的",
        Relation::Inside => "中的",
    }
}

/// Returns the Chinese name of a kind, as the phrasebook reads it.
fn chinese_kind(kind: ElementKind) -> &'static str {
    match kind {
        ElementKind::Button => "按钮",
        ElementKind::Link => "链接",
        ElementKind::TextField => "输入框",
        ElementKind::Checkbox => "复选框",
        ElementKind::Radio => "单选框",
        ElementKind::Switch => "开关",
        ElementKind::DropDown => "下拉框",
        ElementKind::Slider => "滑块",
        ElementKind::SpinBox => "数字框",
        ElementKind::Tab => "标签页",
        ElementKind::MenuItem => "菜单",
        ElementKind::ListItem => "列表项",
        ElementKind::TableRow => "行",
        ElementKind::Icon => "图标",
        ElementKind::Image => "图片",
        ElementKind::Dialog => "对话框",
        _ => "元素",
    }
}

/// Shortens a long text in the middle: the action is at its start, the target at its end.
fn shortened(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= MAX_ECHO_CHARS {
        return text.to_owned();
    }
    let (beginning, end) = (MAX_ECHO_CHARS * 2 / 3, MAX_ECHO_CHARS / 3);
    let part = |characters: &[char]| characters.iter().collect::<String>();
    format!(
        "{} … {}",
        part(&characters[..beginning]).trim_end(),
        part(&characters[characters.len() - end..]).trim_start()
    )
}

/// Returns the ninth of the frame that contains a point.
fn place_of(point: CapturePoint, frame: CaptureSize) -> Place {
    let third = |value: i32, extent: i32| {
        usize::try_from(value * 3 / extent.max(1))
            .unwrap_or(0)
            .min(2)
    };
    Place::ALL[third(point.y, frame.height) * 3 + third(point.x, frame.width)]
}

/// Meaning of a reply to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    /// The user has done it.
    Done,
    /// The clause is to be left out.
    GoOn,
    /// The clause is to be performed again.
    Retry,
    Other,
}

/// Returns the meaning of a reply. A bare agreement (`ok`) is none: it answers no question that has more than one answer.
pub(super) fn meaning(reply: &str) -> Reply {
    match plain(reply).as_str() {
        "done" | "i have done it" | "ive done it" | "it is done" | "its done" | "已完成"
        | "完成" | "好了" | "我已完成" | "做完了" | "我已经操作" => Reply::Done,
        "continue" | "go on" | "skip" | "skip it" | "go on without it" | "继续" | "跳过"
        | "跳过这一步" => Reply::GoOn,
        "retry" | "again" | "try again" | "no" | "not done" | "重试" | "再试" | "再试一次"
        | "没有" | "未完成" => Reply::Retry,
        _ => Reply::Other,
    }
}

fn plain(reply: &str) -> String {
    reply
        .trim()
        .to_lowercase()
        .chars()
        .filter(|c| !matches!(c, '.' | '!' | '。' | '！' | '\'' | '’'))
        .collect()
}
