//! How far the phrasebook has come with a goal: what it keeps between two calls, inside `conversation`.
//!
//! It holds no text of the screen but the evidence it will give, and nothing secret: a `secret:NAME` is a name.

use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use serde::{Deserialize, Serialize};

/// Grows when the form changes; an older cursor is not understood.
const VERSION: u32 = 1;

/// The cursor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cursor {
    version: u32,
    /// The clause at work, from 0.
    pub(super) clause: usize,
    /// What is known of that clause.
    pub(super) work: Work,
    /// Whether anything on the desktop was touched.
    pub(super) touched: bool,
    /// The last thing done opens something, which takes longer than a click.
    pub(super) opening: bool,
    /// The question that waits for an answer.
    pub(super) asked: Option<Asked>,
    /// What the user asked for later, in their words.
    pub(super) added: Vec<String>,
    /// Texts that were on the screen and show that the goal was reached.
    pub(super) evidence: Vec<String>,
}

/// The state of one clause.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Work {
    /// How many of its actions have been decided.
    pub(super) stage: u32,
    /// How often nothing was found and the screen was given time.
    pub(super) looks: u32,
    /// Points that were clicked without effect.
    pub(super) tried: Vec<Spot>,
    /// The box of the list that was opened: min x, min y, max x, max y.
    pub(super) opened: Option<(Spot, Spot)>,
    /// The windows there were before something was opened.
    pub(super) windows: Vec<String>,
    /// What the user answered when asked which thing is meant.
    pub(super) answer: Option<String>,
    /// So many clauses are done with this one, because their names were one.
    pub(super) covers: usize,
}

/// A pixel of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spot(pub(super) i32, pub(super) i32);

/// What the user was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Asked {
    /// Which of several things is meant.
    Which,
    /// Whether an action that was cut off has happened.
    WhetherDone,
}

/// What is wrong with a conversation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the conversation is not one that this phrasebook wrote: {0}")]
pub(super) struct NotACursor(String);

impl Default for Cursor {
    fn default() -> Self {
        Self {
            version: VERSION,
            clause: 0,
            work: Work::default(),
            touched: false,
            opening: false,
            asked: None,
            added: Vec::new(),
            evidence: Vec::new(),
        }
    }
}

impl Cursor {
    /// Reads a conversation; an empty one is the beginning.
    pub(super) fn decode(conversation: &[u8]) -> Result<Self, NotACursor> {
        if conversation.is_empty() {
            return Ok(Self::default());
        }
        let cursor: Self =
            serde_json::from_slice(conversation).map_err(|error| NotACursor(error.to_string()))?;
        if cursor.version == VERSION {
            Ok(cursor)
        } else {
            Err(NotACursor(format!("it has version {}", cursor.version)))
        }
    }

    /// What the next call gets.
    pub(super) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a cursor has nothing that JSON cannot hold")
    }

    /// Goes on to the clause behind the one at work.
    pub(super) fn advance(&mut self) {
        self.clause += self.work.covers.max(1);
        self.work = Work::default();
    }
}

impl From<CapturePoint> for Spot {
    fn from(point: CapturePoint) -> Self {
        Self(point.x, point.y)
    }
}

impl From<Spot> for CapturePoint {
    fn from(spot: Spot) -> Self {
        Self::new(spot.0, spot.1)
    }
}

impl Work {
    /// Remembers the box of the list that was opened.
    pub(super) fn set_opened(&mut self, bounds: CaptureRect) {
        self.opened = Some((bounds.min.into(), bounds.max.into()));
    }

    /// The box of the list that was opened.
    pub(super) fn opened_bounds(&self) -> Option<CaptureRect> {
        self.opened
            .map(|(min, max)| CaptureRect::new(min.into(), max.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_round_trips() {
        let mut cursor = Cursor {
            clause: 3,
            touched: true,
            asked: Some(Asked::Which),
            added: vec!["点击“好”".to_owned()],
            ..Cursor::default()
        };
        cursor.work.tried.push(Spot(-1, 7));
        cursor.work.set_opened(CaptureRect::new(
            CapturePoint::new(1, 2),
            CapturePoint::new(3, 4),
        ));
        assert_eq!(Cursor::decode(&cursor.encode()), Ok(cursor));
        assert_eq!(Cursor::decode(b""), Ok(Cursor::default()));
    }

    #[test]
    fn what_others_wrote_is_refused() {
        let newer = String::from_utf8(Cursor::default().encode())
            .unwrap()
            .replace("\"version\":1", "\"version\":2");
        for conversation in ["{}", "x", "null", &newer] {
            assert!(
                Cursor::decode(conversation.as_bytes()).is_err(),
                "{conversation}"
            );
        }
    }
}
