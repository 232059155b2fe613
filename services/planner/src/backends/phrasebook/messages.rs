//! Messages of the phrasebook for users, put together from the message catalogue.
//!
//! It does not decide when a message is given: the clause planner does.

use std::time::Duration;

use motorium_imaging::marks::prompt;
use motorium_messages::{Message, join_clauses, join_list};
use motorium_proto::domain::action::{FramePart, Ordinal};
use motorium_proto::domain::geometry::CaptureSize;

use motorium_phrasebook::grammar::{Language, ParseError, TargetPhrase};
use motorium_phrasebook::matcher::{ElementMatch, Relation, ScreenIndex, is_same_text};
use motorium_phrasebook::target::{kind_name, part_name};

use super::candidates;

/// Maximum number of characters when the user's own words are repeated. Keeps answers to one line.
const MAX_ECHO_CHARS: usize = 100;

/// Maximum number of matches that a question lists.
// More do not fit into a message that is read at a glance; the count says that there are more.
const MAX_CANDIDATES: usize = 9;

/// Messages in one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Messages(pub(super) Language);

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
        Message::PhrasebookWaiting { words }.text(self.0)
    }

    /// Returns that all of `asked` is done; for long goals the number of clauses and the last one.
    pub(super) fn done(self, asked: &[&str], clauses: usize, last: &str) -> String {
        let without_stop = |words: &&str| words.trim_end_matches(['.', '。']).to_owned();
        let asked: Vec<String> = asked.iter().map(without_stop).collect();
        let joined = join_clauses(&asked, self.0);
        if clauses > 1 && joined.chars().count() > MAX_ECHO_CHARS {
            let last = shortened(&without_stop(&last));
            return Message::PhrasebookDoneLong {
                clauses,
                last: &last,
            }
            .text(self.0);
        }
        let joined = shortened(&joined);
        Message::PhrasebookDone { joined: &joined }.text(self.0)
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
            return Message::PhrasebookOnlyText {
                words,
                thing: &thing,
                text: &text,
            }
            .text(self.0);
        }
        self.not_found_named(words, &thing, nearest)
    }

    /// Returns that a named thing other than an element is not on the screen, with the texts closest to its name.
    pub(super) fn not_found_named(self, words: &str, thing: &str, nearest: &[String]) -> String {
        let listed = self.listed(nearest.iter().map(String::as_str));
        match nearest.is_empty() {
            true => Message::PhrasebookNotFound { words, thing }.text(self.0),
            false => Message::PhrasebookNotFoundNearest {
                words,
                thing,
                listed: &listed,
            }
            .text(self.0),
        }
    }

    /// Adds to a problem what is in front of the screen, and may be in the way.
    pub(super) fn in_the_way(self, problem: &str, obstacle: &str) -> String {
        let obstacle = self.quoted(obstacle);
        Message::PhrasebookInTheWay {
            problem,
            obstacle: &obstacle,
        }
        .text(self.0)
    }

    /// Names a target: its kind, text, ordinal, place and neighbour.
    fn target(self, aim: &TargetPhrase) -> String {
        if self.0 == Language::English {
            return aim.to_string();
        }
        let mut words = String::new();
        if let Some(place) = aim.place {
            words += &part_name(place, self.0);
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
            (Some(kind), _) => words += &kind_name(kind, self.0),
            (None, None) => words += "元素",
            (None, Some(_)) => {}
        }
        words
    }

    fn listed<'a>(self, texts: impl IntoIterator<Item = &'a str>) -> String {
        let quoted: Vec<String> = texts.into_iter().map(|text| self.quoted(text)).collect();
        join_list(&quoted, self.0)
    }

    pub(super) fn quoted(self, text: &str) -> String {
        Message::QuotedLabel { text }.text(self.0)
    }

    /// Asks which of several matches is meant. Each is named so that it can be told from the others.
    pub(super) fn ask_which(
        self,
        words: &str,
        hits: &[ElementMatch],
        screen: &ScreenIndex<'_>,
        frame: CaptureSize,
    ) -> String {
        let hits_count = hits.len();
        let hits = &hits[..hits_count.min(MAX_CANDIDATES)];
        let rows = candidates::own_row_texts(hits, screen);
        let places: Vec<FramePart> = hits
            .iter()
            .map(|hit| prompt::part_at(hit.point, frame))
            .collect();
        let unlisted = hits_count - hits.len();
        let more = Message::PhrasebookMoreCandidates { count: unlisted };
        let more = (unlisted > 0).then(|| more.text(self.0));
        let listed: Vec<String> = (0..hits.len())
            .map(|index| self.candidate(index, hits, &rows, &places))
            .chain(more)
            .collect();
        let listed = listed.join(&Message::PhrasebookCandidateSeparator.text(self.0));
        Message::PhrasebookAskWhich {
            words,
            count: hits_count,
            listed: &listed,
        }
        .text(self.0)
    }

    /// Returns that an answer names none of the matches, with the question again.
    pub(super) fn answer_unknown(self, answer: &str, count: usize, question: &str) -> String {
        let answer = &shortened(answer.trim());
        Message::PhrasebookAnswerUnknown {
            answer,
            count: count.min(MAX_CANDIDATES),
            question,
        }
        .text(self.0)
    }

    /// Names a match: by a text of its row that the others do not have, or else by its place, and if several are at that
    /// place, by its rank among these.
    fn candidate(
        self,
        index: usize,
        hits: &[ElementMatch],
        rows: &[Vec<&str>],
        places: &[FramePart],
    ) -> String {
        let (hit, number) = (&hits[index], index + 1);
        let kind = &kind_name(hit.kind, self.0);
        let content = &hit.content;
        if let Some(neighbour) = rows[index].first() {
            let neighbour = &shortened(neighbour);
            return Message::PhrasebookCandidateBeside {
                number,
                kind,
                content,
                neighbour,
            }
            .text(self.0);
        }
        let place = &part_name(places[index], self.0);
        let is_like = |other: &usize| {
            let like = &hits[*other];
            rows[*other].is_empty()
                && places[*other] == places[index]
                && like.kind == hit.kind
                && is_same_text(&like.content, content)
        };
        let alike: Vec<usize> = (0..hits.len()).filter(is_like).collect();
        if alike.len() < 2 {
            return Message::PhrasebookCandidate {
                number,
                kind,
                content,
                place,
            }
            .text(self.0);
        }
        let before = alike.iter().filter(|other| **other < index).count();
        Message::PhrasebookCandidateNth {
            number,
            kind,
            content,
            place,
            rank: before + 1,
        }
        .text(self.0)
    }

    /// Returns what the page that came says of itself, if it is not the page that was asked for.
    pub(super) fn page_says(self, text: &str) -> String {
        let quoted = self.quoted(text);
        Message::PhrasebookPageSays { quoted: &quoted }.text(self.0)
    }

    /// Returns that a reply does not say whether an action took effect, with the question again.
    pub(super) fn reply_unclear(self, answer: &str, question: &str) -> String {
        let answer = &shortened(answer.trim());
        Message::PhrasebookReplyUnclear { answer, question }.text(self.0)
    }

    /// Returns that the browser shows an error page in place of the page that was opened.
    pub(super) fn page_failed(self, words: &str, error: &str) -> String {
        Message::PhrasebookPageFailed { words, error }.text(self.0)
    }

    pub(super) fn nothing_changed(self, words: &str) -> String {
        Message::PhrasebookNothingChanged { words }.text(self.0)
    }

    /// Returns that a field shows another text than was entered; an empty one if it shows none.
    pub(super) fn not_taken(self, words: &str, shown: &str) -> String {
        let quoted = self.quoted(shown);
        match shown.is_empty() {
            true => Message::PhrasebookNotTaken { words }.text(self.0),
            false => Message::PhrasebookNotTakenShows {
                words,
                quoted: &quoted,
            }
            .text(self.0),
        }
    }

    /// Returns that a field still shows a text.
    pub(super) fn not_cleared(self, words: &str, shown: &str) -> String {
        let shown = self.quoted(shown);
        Message::PhrasebookNotCleared {
            words,
            shown: &shown,
        }
        .text(self.0)
    }

    /// Returns that a checkbox still has the other state after the click.
    pub(super) fn not_toggled(self, words: &str, on: bool) -> String {
        match on {
            true => Message::PhrasebookNotChecked { words }.text(self.0),
            false => Message::PhrasebookNotUnchecked { words }.text(self.0),
        }
    }

    /// Returns that a slider does not have the wanted value.
    pub(super) fn slider_shows(self, words: &str, shown: i64) -> String {
        Message::PhrasebookSliderShows { words, shown }.text(self.0)
    }

    /// Returns that a slider cannot take the wanted value and was put back.
    pub(super) fn slider_put_back(self, words: &str, shown: i64) -> String {
        Message::PhrasebookSliderPutBack { words, shown }.text(self.0)
    }

    /// Returns that a scroll has moved nothing.
    pub(super) fn at_end(self, words: &str) -> String {
        Message::PhrasebookAtEnd { words }.text(self.0)
    }

    /// Returns that a dialog has closed without the file that was to be chosen.
    pub(super) fn not_chosen(self, words: &str, file: &str, shown: &str) -> String {
        let (file, shown) = (self.quoted(file), self.quoted(shown));
        Message::PhrasebookNotChosen {
            words,
            file: &file,
            shown: &shown,
        }
        .text(self.0)
    }

    /// Returns that a slider cannot be set to a value.
    pub(super) fn no_slider_value(self, words: &str, value: &str) -> String {
        let value = self.quoted(value);
        Message::PhrasebookNoSliderValue {
            words,
            value: &value,
        }
        .text(self.0)
    }

    /// Returns that a dialog is still open after the key that accepts it.
    pub(super) fn dialog_stands(self, words: &str, title: &str) -> String {
        let title = self.quoted(title);
        Message::PhrasebookDialogStands {
            words,
            title: &title,
        }
        .text(self.0)
    }

    /// Returns that an action of a clause was not performed and no reason is known.
    pub(super) fn not_performed(self, words: &str) -> String {
        Message::PhrasebookNotPerformed { words }.text(self.0)
    }

    /// Returns which clauses had nothing to change.
    pub(super) fn already_so(self, clauses: &[&str]) -> String {
        let listed = self.listed(clauses.iter().map(|words| words.trim()));
        Message::PhrasebookAlreadySo { listed: &listed }.text(self.0)
    }

    /// Returns which clauses were left out on the user's wish.
    pub(super) fn left_out(self, clauses: &[&str]) -> String {
        let listed = self.listed(clauses.iter().map(|words| words.trim()));
        Message::PhrasebookLeftOut { listed: &listed }.text(self.0)
    }

    pub(super) fn refused(self, words: &str, detail: &str) -> String {
        Message::PhrasebookRefused { words, detail }.text(self.0)
    }

    pub(super) fn failed(self, words: &str, detail: &str) -> String {
        Message::PhrasebookFailed { words, detail }.text(self.0)
    }

    pub(super) fn ask_whether_performed(self, words: &str) -> String {
        Message::PhrasebookWasPerformed { words }.text(self.0)
    }

    pub(super) fn ask_whether_effective(self, words: &str) -> String {
        Message::PhrasebookWasEffective { words }.text(self.0)
    }

    /// Asks about the file of a dialog that has closed; its name is empty if it is not known.
    pub(super) fn ask_whether_chosen(self, words: &str, file: &str) -> String {
        let quoted = self.quoted(file);
        match file.is_empty() {
            true => Message::PhrasebookWasAnyChosen { words }.text(self.0),
            false => Message::PhrasebookWasChosen {
                words,
                file: &quoted,
            }
            .text(self.0),
        }
    }

    /// Asks the user to answer the browser's question whether a page may be left.
    pub(super) fn ask_to_leave(self, words: &str, question: &str) -> String {
        let question = &self.quoted(question);
        Message::PhrasebookAsksToLeave { words, question }.text(self.0)
    }

    pub(super) fn ask_whether_hit(self, words: &str) -> String {
        Message::PhrasebookWasHit { words }.text(self.0)
    }

    pub(super) fn end_reached(self, words: &str, text: &str) -> String {
        let text = self.quoted(text);
        Message::PhrasebookEndReached { words, text: &text }.text(self.0)
    }

    pub(super) fn no_scroll_end(self, words: &str) -> String {
        Message::PhrasebookNoScrollEnd { words }.text(self.0)
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
            true => Message::PhrasebookNotAppeared {
                words,
                text: &text,
                seconds,
            }
            .text(self.0),
            false => Message::PhrasebookStillThere {
                words,
                text: &text,
                seconds,
            }
            .text(self.0),
        }
    }

    pub(super) fn check_failed(self, words: &str, text: &str, shown: bool) -> String {
        let text = self.quoted(text);
        match shown {
            true => Message::PhrasebookNotShown { words, text: &text }.text(self.0),
            false => Message::PhrasebookShown { words, text: &text }.text(self.0),
        }
    }

    pub(super) fn unknown_application(self, words: &str, known: &[String]) -> String {
        let listed = self.listed(known.iter().map(String::as_str));
        Message::PhrasebookUnknownApplication {
            words,
            listed: &listed,
        }
        .text(self.0)
    }

    pub(super) fn no_new_window(self, words: &str, waited: Duration) -> String {
        let seconds = waited.as_secs();
        Message::PhrasebookNoNewWindow { words, seconds }.text(self.0)
    }

    /// Reports that a user's message is not an instruction and is ignored.
    pub(super) fn message_ignored(self, message: &str) -> String {
        Message::PhrasebookMessageIgnored { message }.text(self.0)
    }

    /// Returns why a clause cannot be parsed, with examples of sentences that can.
    pub(super) fn not_understood(self, error: &ParseError) -> String {
        let why = error.kind.text(self.0);
        let example = Message::PhrasebookExample.text(self.0);
        Message::PhrasebookNotUnderstood {
            why: &why,
            example: &example,
        }
        .text(self.0)
    }

    pub(super) fn cannot_take_over(self) -> String {
        Message::PhrasebookCannotTakeOver.text(self.0)
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
