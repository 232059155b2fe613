//! What the phrasebook says to people, in English and Chinese. Every sentence a user may read stands here.

use std::time::Duration;

use motorium_proto::domain::action::Place;
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};

use super::grammar::{Language, NotUnderstood, Why};
use crate::matcher::Hit;

/// What is said back to people in their own words has no more characters than this.
const LONG: usize = 100;

/// Says things in one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Voice(pub(super) Language);

/// Picks the sentence of the language; both capture their parts by name.
macro_rules! say {
    ($voice:expr, $english:literal, $chinese:literal $(,)?) => {
        match $voice.0 {
            Language::English => format!($english),
            Language::Chinese => format!($chinese),
        }
    };
}

impl Voice {
    /// The clause at work, in the user's own words.
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

    /// That all of `asked` is done; if that is too long to be repeated, how many clauses it was and the last one.
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
        if clauses > 1 && joined.chars().count() > LONG {
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
                "`{words}`: {thing} is not on the screen. The nearest are {listed}.",
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

    /// Asks which of several things is meant; the answer may be a number.
    pub(super) fn which(self, words: &str, hits: &[Hit], frame: CaptureSize) -> String {
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
            "`{words}`: {count} things match: {listed}. Which one is meant?",
            "“{words}”：有 {count} 处符合：{listed}。指的是哪一个？"
        )
    }

    fn candidate(self, number: usize, hit: &Hit, frame: CaptureSize) -> String {
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
            "`{words}` was done, and nothing on the screen changed.",
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

    pub(super) fn whether_done(self, words: &str) -> String {
        say!(
            self,
            "It was cut off while doing `{words}`, and it cannot be told whether that happened. Please look, and answer `done` if it did or `again` if it did not.",
            "执行“{words}”时被中断，无法确定是否已完成。请查看：已完成请回答“已完成”，否则回答“重试”。",
        )
    }

    pub(super) fn end_reached(self, words: &str, text: &str) -> String {
        let text = self.quoted(text);
        say!(
            self,
            "`{words}`: the end was reached, and {text} did not appear.",
            "“{words}”：已滚动到尽头，没有出现{text}。"
        )
    }

    pub(super) fn never_ended(self, words: &str) -> String {
        say!(
            self,
            "`{words}`: it scrolls on and on; the end was not reached.",
            "“{words}”：一直可以滚动，没有到达尽头。"
        )
    }

    pub(super) fn waited_in_vain(
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

    pub(super) fn not_so(self, words: &str, text: &str, shown: bool) -> String {
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
            "`{words}`: that application may not be opened here. These may: {listed}.",
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

    /// A message of the user that is no instruction is not acted on, and that is said.
    pub(super) fn ignored(self, message: &str) -> String {
        say!(
            self,
            "`{message}` is not understood and changes nothing.",
            "无法理解“{message}”，不作改变。"
        )
    }

    /// What is understood.
    fn example(self) -> &'static str {
        match self.0 {
            Language::English => {
                "`click \"Save\"`, `type \"Alice\" into \"Name\" then press Enter`"
            }
            Language::Chinese => "点击“保存”，在“姓名”中输入“张三”然后按回车",
        }
    }

    /// Why a clause is not understood, with an example of what is.
    pub(super) fn not_understood(self, error: &NotUnderstood) -> String {
        let why = self.why(&error.why);
        let example = self.example();
        say!(
            self,
            "{why}; what is understood looks like {example}",
            "{why}；能理解的句子例如：{example}"
        )
    }

    fn why(self, why: &Why) -> String {
        if self.0 == Language::English {
            return why.to_string();
        }
        match why {
            Why::Empty => "目标为空".to_owned(),
            Why::TooLong => "目标太长".to_owned(),
            Why::UnclosedQuote => "引号没有闭合".to_owned(),
            Why::NoVerb {
                suggestion: Some(verb),
            } => format!("开头不是已知的动词，是否想说“{verb}”"),
            Why::NoVerb { suggestion: None } => "开头不是已知的动词".to_owned(),
            Why::NothingNamed => "没有说明对象".to_owned(),
            Why::NotAThing => "没有指明屏幕上的对象，请把它的文字放进引号".to_owned(),
            Why::NoText => "没有说明文字内容".to_owned(),
            Why::NotQuoted => "文字没有放进引号".to_owned(),
            Why::NoField => "没有说明每段文字输入到哪里".to_owned(),
            Why::NoDestination => "没有说明拖到哪里".to_owned(),
            Why::UnknownKey { name } => format!("没有叫“{name}”的按键"),
            Why::NotAnAddress => "没有给出网址".to_owned(),
            Why::TooMuch { words } => format!("多出了“{words}”"),
        }
    }

    pub(super) fn midway(self) -> &'static str {
        match self.0 {
            Language::English => {
                "it cannot take over a goal that another backend has begun, because it does not know what is done already"
            }
            Language::Chinese => "其他后端已开始执行该目标，无法得知哪些已完成，因此不能接手",
        }
    }
}

/// A text without its middle, if it is long: what is done stands at its beginning, where at its end.
fn shortened(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= LONG {
        return text.to_owned();
    }
    let (beginning, end) = (LONG * 2 / 3, LONG / 3);
    let part = |characters: &[char]| characters.iter().collect::<String>();
    format!(
        "{} … {}",
        part(&characters[..beginning]).trim_end(),
        part(&characters[characters.len() - end..]).trim_start()
    )
}

/// The ninth of the frame that a point lies in.
fn place_of(point: CapturePoint, frame: CaptureSize) -> Place {
    let third = |value: i32, extent: i32| {
        usize::try_from(value * 3 / extent.max(1))
            .unwrap_or(0)
            .min(2)
    };
    Place::ALL[third(point.y, frame.height) * 3 + third(point.x, frame.width)]
}

/// Whether a reply says that it is done, or that one should go on.
pub(super) fn says_done(reply: &str) -> bool {
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
