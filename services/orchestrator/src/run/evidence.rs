//! What a person's approval is held to: the action, its place as it looks, and what was read beside it.
//!
//! A click has a place. For keys and text it is where the keyboard is, as far as that is known, and the window in front. What
//! was read to judge them counts as well: a button that says `OK` looks the same under another question. A caret that blinks is
//! no change, so a place where text goes is looked at twice, with and without it; whatever else changes is one. Nothing is
//! asked here, and nothing judged.

use std::time::Duration;

use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::id::FrameId;
use motorium_proto::service::{Captured, CompareRequest};
use sha2::{Digest as _, Sha256};

use super::permission::with_surroundings;
use super::{Flow, Runner};
use crate::effect::is_caret;
use crate::policy::Rules;
use crate::task::Subject;

/// So often a place is looked at until two looks agree.
const MOST_LOOKS: u32 = 3;
/// Where text goes is looked at so often for a caret, with a pause that is shorter than one is shown or not: they blink every
/// 300 to 600 ms.
const LOOKS_FOR_A_CARET: u32 = 2;
const PAUSE_FOR_A_CARET: Duration = Duration::from_millis(400);
/// What shows that a field has the keyboard is drawn around it, so far, in pixels; also where its name was pointed at.
const FRAME_OF_A_FIELD: i32 = 16;

/// What an approval is asked for, or used for.
pub(super) struct Matter {
    pub(super) index: usize,
    pub(super) subject: Subject,
    /// Where it is done, if it is done at a place.
    pub(super) place: Option<CaptureRect>,
    /// Where keys and text go, as far as it is known.
    pub(super) keyboard_at: Option<CaptureRect>,
    /// What was read beside it to judge it.
    pub(super) beside: Vec<String>,
    /// All of it, for the fingerprint.
    pub(super) content: Vec<u8>,
    /// It was performed before, in vain.
    pub(super) is_repeated: bool,
}

/// What a person is shown, and what will be held against the screen.
pub(super) struct Evidence {
    pub(super) fingerprint: [u8; 32],
    pub(super) shown: Captured,
}

/// How everything looks that an approval is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look([u8; 16]);

impl Look {
    /// Two looks that are both the same place: with a caret and without.
    fn or(self, other: Self) -> [u8; 32] {
        let mut both = [0; 32];
        let (one, rest) = both.split_at_mut(self.0.len());
        one.copy_from_slice(&self.0);
        rest.copy_from_slice(&other.0);
        both
    }

    pub(super) fn agrees_with(self, fingerprint: &[u8; 32]) -> bool {
        let (one, other) = fingerprint.split_at(self.0.len());
        one == self.0 || other == self.0
    }
}

impl Matter {
    /// What of the screen is held to how it looks.
    fn area(&self, screen: CaptureRect) -> Option<CaptureRect> {
        let field = self
            .keyboard_at
            .map(|field| field.inflate(FRAME_OF_A_FIELD, FRAME_OF_A_FIELD));
        let area = self.place.or(field)?;
        Some(area.intersection(&screen).unwrap_or(area))
    }
}

impl Runner {
    /// The picture for the person who is asked, and the evidence that it shows: what is held against the screen later has
    /// to be what they saw. A place that moves all the time shows what it may; the approval will not hold then.
    pub(super) async fn evidence_for(&mut self, matter: &Matter, rules: &Rules) -> Flow<Evidence> {
        let around = matter.place.map(with_surroundings);
        let (mut look, _) = self.look_closely(matter, rules).await?;
        let mut looks = 0;
        loop {
            let shown = self.picture_of(around).await?;
            let (after, frame) = self.look_closely(matter, rules).await?;
            looks += 1;
            if after == look || looks == MOST_LOOKS {
                let other = self.without_caret(matter, rules, after, frame).await?;
                let fingerprint = after.or(other);
                return Ok(Evidence { fingerprint, shown });
            }
            look = after;
        }
    }

    /// How it looks now.
    pub(super) async fn look_at_place(&mut self, matter: &Matter, rules: &Rules) -> Flow<Look> {
        let (look, _) = self.look_closely(matter, rules).await?;
        Ok(look)
    }

    async fn look_closely(&mut self, matter: &Matter, rules: &Rules) -> Flow<(Look, FrameId)> {
        let screen = self.view.as_ref().map(|view| view.latest.bounds());
        let area = screen.map_or(matter.place, |screen| matter.area(screen));
        let captured = self.picture_of(area).await?;
        let mut hash = Sha256::new().chain_update(rules.version());
        hash.update(&matter.content);
        if let (Some(_), Some(image)) = (area, &captured.image) {
            hash.update(image.sha256);
        }
        let window = in_front(&captured.frame).filter(|_| matter.place.is_none());
        let texts = window.into_iter().flatten();
        for text in texts.chain(matter.beside.iter().map(String::as_str)) {
            hash.update(text);
            hash.update([0]);
        }
        let whole: [u8; 32] = hash.finalize().into();
        let mut half = [0; 16];
        half.copy_from_slice(&whole[..16]);
        Ok((Look(half), captured.frame.id))
    }

    /// How a place where text goes looks with the caret where it was seen without it, or the other way round; the same look
    /// where there is none.
    async fn without_caret(
        &mut self,
        matter: &Matter,
        rules: &Rules,
        look: Look,
        frame: FrameId,
    ) -> Flow<Look> {
        let looks = matter.keyboard_at.map_or(0, |_| LOOKS_FOR_A_CARET);
        for _ in 0..looks {
            self.guard(self.tape.pause(PAUSE_FOR_A_CARET)).await?;
            let (again, frame_again) = self.look_closely(matter, rules).await?;
            if again != look {
                let only_a_caret = self.only_a_caret(frame, frame_again).await?;
                return Ok(if only_a_caret { again } else { look });
            }
        }
        Ok(look)
    }

    async fn only_a_caret(&mut self, before: FrameId, after: FrameId) -> Flow<bool> {
        let compared = self.compare(CompareRequest::new(before, after)).await?;
        Ok(compared.is_ok_and(|comparison| {
            !comparison.change.size_differs && comparison.change.regions.iter().all(is_caret)
        }))
    }
}

/// The window that keys and text go to.
fn in_front(frame: &Frame) -> Option<[&str; 3]> {
    let window = frame.active_window()?;
    Some([&window.id, &window.application, &window.title])
}
