//! Messages of the phrasebook for users, in English and Chinese. Every text that a user can see is here.

use std::time::Duration;

use motorium_proto::domain::action::Place;
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};

use motorium_phrasebook::grammar::{Language, ParseError, ParseErrorKind};
use motorium_phrasebook::matcher::ElementMatch;

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

    pub(super) fn not_found(self, words: &str, thing: &str, nearest: &[String]) -> String {
        let listed = self.listed(nearest);
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

    fn listed(self, texts: &[String]) -> String {
        let quoted: Vec<String> = texts.iter().map(|text| self.quoted(text)).collect();
        quoted.join(if self.0 == Language::English {
            ", "
        } else {
            "、"
        })
    }

    fn quoted(self, text: &str) -> String {
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
        let listed = self.listed(known);
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

/// Returns whether a reply means that the action is done, or to continue.
pub(super) fn is_done_reply(reply: &str) -> bool {
    matches!(
        plain(reply).as_str(),
        "done"
            | "yes"
            | "ok"
            | "okay"
            | "go on"
            | "continue"
            | "skip"
            | "i have done it"
            | "ive done it"
            | "it is done"
            | "已完成"
            | "完成"
            | "好"
            | "好了"
            | "是"
            | "是的"
            | "继续"
            | "跳过"
            | "我已完成"
            | "做完了"
    )
}

fn plain(reply: &str) -> String {
    reply
        .trim()
        .to_lowercase()
        .chars()
        .filter(|c| !matches!(c, '.' | '!' | '。' | '！' | '\'' | '’'))
        .collect()
}
