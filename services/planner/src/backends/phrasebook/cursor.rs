//! The phrasebook's position in a goal: its state between two calls, stored in `conversation`.
//!
//! It contains no screen text except the evidence to report and the lines with awaited texts, and no secrets: a `secret:NAME` is
//! only a name.

use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use serde::{Deserialize, Serialize};

/// Format version. Increased with every change of the format; cursors of other versions are rejected.
const VERSION: u32 = 2;

/// Position in a goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClauseCursor {
    version: u32,
    /// Index of the current clause, from 0.
    pub(super) clause: usize,
    /// Progress of the current clause.
    pub(super) work: ClauseProgress,
    /// The desktop has been changed.
    pub(super) touched: bool,
    /// The last action opens an application or page, which takes longer than a click.
    pub(super) opening: bool,
    /// The clause before was a click or a key, which may load something.
    #[serde(default)]
    pub(super) loading: bool,
    /// The question that awaits an answer.
    pub(super) asked: Option<OpenQuestion>,
    /// Goals that the user added later, in their words.
    pub(super) added: Vec<String>,
    /// Visible texts that show that the goal was reached.
    pub(super) evidence: Vec<String>,
    /// Lines with a text that the next clauses wait for, as they were before the last action.
    #[serde(default)]
    pub(super) shown_before: Vec<String>,
    /// Name of the file that was last clicked in a dialog that chooses one.
    #[serde(default)]
    pub(super) clicked_file: Option<String>,
    /// Indices of the clauses whose result was there before them.
    pub(super) already_so: Vec<usize>,
    /// Lines in which opened pages say that their servers did not have them.
    #[serde(default)]
    pub(super) page_errors: Vec<String>,
    /// Indices of the clauses that were left out, because they were refused and the user wanted the rest.
    pub(super) left_out: Vec<usize>,
}

/// Progress of one clause.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClauseProgress {
    /// Number of decisions made for it.
    pub(super) stage: u32,
    /// Number of actions of the last decision. Fewer outcomes mean that the rest was not performed.
    pub(super) decided: usize,
    /// Number of retries after its target was not found.
    pub(super) looks: u32,
    /// Points that were clicked without effect.
    pub(super) tried: Vec<FramePixel>,
    /// Box of the list that was opened, as minimum and maximum corner.
    pub(super) opened: Option<(FramePixel, FramePixel)>,
    /// Value that a list or a field showed before it was opened or cleared; `None` if that is not known.
    #[serde(default)]
    pub(super) former_value: Option<String>,
    /// Boxes of the fields that text was entered into, as minimum and maximum corner.
    pub(super) fields: Vec<(FramePixel, FramePixel)>,
    /// A date field was emptied and the date is not typed yet.
    pub(super) emptied: bool,
    /// The field showed another text, which was replaced once by pasting.
    #[serde(default)]
    pub(super) corrected: bool,
    /// Ids of the windows before an application was opened; or id and title of the dialog that a key has to close.
    pub(super) windows: Vec<String>,
    /// Name of the file that a key or a double click is to accept in a dialog that chooses one; empty if it is not known.
    #[serde(default)]
    pub(super) chosen_file: Option<String>,
    /// Number of looks for the chosen file after its dialog has closed.
    #[serde(default)]
    pub(super) file_looks: u32,
    /// The clicked target is text and no control, so that another match may be meant.
    #[serde(default)]
    pub(super) clicked_text: bool,
    /// Progress with a slider.
    #[serde(default)]
    pub(super) slider: SliderProgress,
    /// A scroll has moved something.
    #[serde(default)]
    pub(super) has_scrolled: bool,
    /// The place of the first scroll has no more to scroll, so that it goes on at another one.
    #[serde(default)]
    pub(super) scrolls_elsewhere: bool,
    /// Number of looks at a field that shows nothing of its text.
    #[serde(default)]
    pub(super) field_looks: u32,
    /// Number of characters that the fields showed at the last look.
    #[serde(default)]
    pub(super) shown_length: Option<usize>,
    /// Number of looks at which the fields showed another number of characters than before.
    #[serde(default)]
    pub(super) arriving_looks: u32,
    /// The fields showed nothing before text was entered into them.
    #[serde(default)]
    pub(super) was_empty: bool,
    /// The user's answer to a disambiguation question.
    pub(super) answer: Option<String>,
    /// Number of clauses that this one covers, because together they are one name.
    pub(super) covers: usize,
}

/// Progress of setting a slider by keys, with the numbers that it showed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SliderProgress {
    /// Number before the clause.
    pub(super) from: Option<i64>,
    pub(super) phase: SliderPhase,
    /// Number at the beginning of its track.
    pub(super) min: i64,
    /// Distance of one key press.
    pub(super) step: i64,
}

/// Last keys that were sent to a slider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SliderPhase {
    /// As many presses as the value from the beginning of the track.
    #[default]
    ByOne,
    /// To the beginning of the track, to read its number there.
    ToMin,
    /// One press from there, to read its step.
    OneStep,
    /// By its own steps.
    BySteps,
    /// Back to where it was.
    Back,
}

/// A point in capture pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FramePixel(pub(super) i32, pub(super) i32);

/// A question to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OpenQuestion {
    /// Disambiguation of several matching elements.
    Which,
    /// Outcome of an interrupted action.
    WhetherDone,
    /// Outcome of an action whose effect is not seen.
    Unconfirmed,
}

impl OpenQuestion {
    /// Returns whether it is answered with what became of an action.
    pub(super) fn is_about_outcome(self) -> bool {
        matches!(self, Self::WhetherDone | Self::Unconfirmed)
    }
}

/// Error for a `conversation` that cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot decode the conversation of the phrasebook: {0}")]
pub(super) struct CursorError(String);

impl Default for ClauseCursor {
    fn default() -> Self {
        Self {
            version: VERSION,
            clause: 0,
            work: ClauseProgress::default(),
            touched: false,
            opening: false,
            loading: false,
            asked: None,
            added: Vec::new(),
            evidence: Vec::new(),
            shown_before: Vec::new(),
            clicked_file: None,
            already_so: Vec::new(),
            page_errors: Vec::new(),
            left_out: Vec::new(),
        }
    }
}

impl ClauseCursor {
    /// Decodes a conversation; an empty one is the start of a goal.
    pub(super) fn decode(conversation: &[u8]) -> Result<Self, CursorError> {
        if conversation.is_empty() {
            return Ok(Self::default());
        }
        let cursor: Self =
            serde_json::from_slice(conversation).map_err(|error| CursorError(error.to_string()))?;
        if cursor.version == VERSION {
            Ok(cursor)
        } else {
            Err(CursorError(format!(
                "unsupported version {}",
                cursor.version
            )))
        }
    }

    /// Advances to the next clause, because the result of this one is there already.
    pub(super) fn advance_already_so(&mut self) {
        self.already_so.push(self.clause);
        self.advance();
    }

    /// Advances to the next clause without this one.
    pub(super) fn leave_out(&mut self) {
        self.left_out.push(self.clause);
        self.advance();
    }

    /// Returns whether one of these lines was not there before the last action.
    pub(super) fn is_any_new(&self, lines: &[&str]) -> bool {
        lines.iter().any(|line| {
            let before = self.shown_before.iter().map(String::as_str);
            occurrences(line, lines.iter().copied()) > occurrences(line, before)
        })
    }

    /// Encodes the cursor as the conversation for the next call.
    pub(super) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a cursor serialises to JSON")
    }

    /// Advances to the next clause.
    pub(super) fn advance(&mut self) {
        self.clause += self.work.covers.max(1);
        self.work = ClauseProgress::default();
    }
}

fn occurrences<'a>(line: &str, among: impl Iterator<Item = &'a str>) -> usize {
    let key = letters_of(line);
    among.filter(|other| letters_of(other) == key).count()
}

/// Returns a line without what recognition reads now so and now otherwise: spaces, punctuation and case.
fn letters_of(line: &str) -> String {
    line.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

impl From<CapturePoint> for FramePixel {
    fn from(point: CapturePoint) -> Self {
        Self(point.x, point.y)
    }
}

impl From<FramePixel> for CapturePoint {
    fn from(spot: FramePixel) -> Self {
        Self::new(spot.0, spot.1)
    }
}

impl ClauseProgress {
    /// Stores the box of the opened list.
    pub(super) fn set_list_bounds(&mut self, bounds: CaptureRect) {
        self.opened = Some((bounds.min.into(), bounds.max.into()));
    }

    /// Stores the box of a field that text is entered into.
    pub(super) fn add_field(&mut self, bounds: CaptureRect) {
        self.fields.push((bounds.min.into(), bounds.max.into()));
    }

    /// Returns the boxes of the fields that text was entered into.
    pub(super) fn field_bounds(&self) -> impl Iterator<Item = CaptureRect> {
        self.fields
            .iter()
            .map(|(min, max)| CaptureRect::new((*min).into(), (*max).into()))
    }

    /// Returns the box of the opened list.
    pub(super) fn list_bounds(&self) -> Option<CaptureRect> {
        self.opened
            .map(|(min, max)| CaptureRect::new(min.into(), max.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_round_trips() {
        let mut cursor = ClauseCursor {
            clause: 3,
            touched: true,
            asked: Some(OpenQuestion::Which),
            added: vec!["点击“好”".to_owned()],
            ..ClauseCursor::default()
        };
        cursor.work.tried.push(FramePixel(-1, 7));
        cursor.work.set_list_bounds(CaptureRect::new(
            CapturePoint::new(1, 2),
            CapturePoint::new(3, 4),
        ));
        assert_eq!(ClauseCursor::decode(&cursor.encode()), Ok(cursor));
        assert_eq!(ClauseCursor::decode(b""), Ok(ClauseCursor::default()));
    }

    #[test]
    fn foreign_conversations_are_rejected() {
        let newer = String::from_utf8(ClauseCursor::default().encode())
            .unwrap()
            .replace("\"version\":2", "\"version\":3");
        for conversation in ["{}", "x", "null", &newer] {
            assert!(
                ClauseCursor::decode(conversation.as_bytes()).is_err(),
                "{conversation}"
            );
        }
    }
}
