//! The phrasebook's position in a goal: its state between two calls, stored in `conversation`.
//!
//! It contains no screen text except the evidence to report, and no secrets: a `secret:NAME` is only a name.

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
    /// The question that awaits an answer.
    pub(super) asked: Option<OpenQuestion>,
    /// Goals that the user added later, in their words.
    pub(super) added: Vec<String>,
    /// Visible texts that show that the goal was reached.
    pub(super) evidence: Vec<String>,
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
    /// Boxes of the fields that text was entered into, as minimum and maximum corner.
    pub(super) fields: Vec<(FramePixel, FramePixel)>,
    /// A date field was emptied and the date is not typed yet.
    pub(super) emptied: bool,
    /// The field showed another text, which was replaced once by pasting.
    #[serde(default)]
    pub(super) corrected: bool,
    /// Ids of the windows before an application was opened; or id and title of the dialog that a key has to close.
    pub(super) windows: Vec<String>,
    /// Name of the file that was entered into a dialog that chooses a file, which a key is to accept.
    #[serde(default)]
    pub(super) chosen_file: Option<String>,
    /// Number of looks at a field that shows nothing of its text.
    #[serde(default)]
    pub(super) field_looks: u32,
    /// The user's answer to a disambiguation question.
    pub(super) answer: Option<String>,
    /// Number of clauses that this one covers, because together they are one name.
    pub(super) covers: usize,
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
            asked: None,
            added: Vec::new(),
            evidence: Vec::new(),
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
