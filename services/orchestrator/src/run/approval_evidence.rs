//! Fingerprints of what an approval covers: the action, its target area, and nearby text.
//!
//! A click has a target area. Keys and text are covered by the keyboard focus, if known, and the active window. Text
//! read to judge the action counts as well: an `OK` button looks the same under a different question. A blinking caret
//! is no change, so the focused field is captured both with and without it; any other difference is a change. Nothing
//! is requested or judged here.

use std::time::Duration;

use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::id::FrameId;
use motorium_proto::service::{CapturedFrame, CompareRequest};
use sha2::{Digest as _, Sha256};

use super::context::RunContext;
use super::screen::Screen;
use super::{RunResult, capture};
use motorium_policy::Policy;
use motorium_task::ApprovalSubject;
use motorium_task::effect::is_caret;

/// Maximum number of captures until two agree.
// An area that differs three times in a row is animated and cannot be approved reliably.
const MAX_CAPTURES: u32 = 3;
/// Number of captures in which a caret is searched for.
// Two show both states of a blinking caret.
const CARET_CAPTURES: u32 = 2;
/// Time between the captures in which a caret is searched for.
// Carets blink every 300 to 600 ms.
const CARET_CAPTURE_INTERVAL: Duration = Duration::from_millis(400);
/// Margin around a focused field in which its focus ring is drawn, in pixels. Also covers a field that was targeted by
/// its label.
const FOCUS_RING_MARGIN_PX: i32 = 16;
/// Margin around a target in the screenshot for the approver: horizontal and vertical, in pixels.
// Shows the row or dialog around the target, so that a person recognises the place.
const EVIDENCE_MARGIN_PX: (i32, i32) = (240, 120);

/// Everything that an approval is requested or used for.
pub(super) struct ApprovalScope {
    pub(super) index: usize,
    pub(super) subject: ApprovalSubject,
    /// Target area of the action, if it has one.
    pub(super) target_area: Option<CaptureRect>,
    /// Focused area that receives keys and text, if known.
    pub(super) keyboard_focus: Option<CaptureRect>,
    /// Nearby text that was read to judge it.
    pub(super) nearby_text: Vec<String>,
    /// Encoded action or call, for the fingerprint.
    pub(super) content: Vec<u8>,
    /// True if it was performed before without effect.
    pub(super) is_repeated: bool,
}

/// The screenshot for the approver and its fingerprint.
pub(super) struct ApprovalEvidence {
    pub(super) fingerprint: [u8; 32],
    pub(super) shown: CapturedFrame,
}

/// Fingerprint of everything that an approval covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AreaFingerprint([u8; 16]);

impl AreaFingerprint {
    /// Combines two fingerprints of the same area: with a caret and without.
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

impl ApprovalScope {
    /// Returns the screen area that is part of the fingerprint.
    fn fingerprint_area(&self, screen: CaptureRect) -> Option<CaptureRect> {
        let field = self
            .keyboard_focus
            .map(|field| field.inflate(FOCUS_RING_MARGIN_PX, FOCUS_RING_MARGIN_PX));
        let area = self.target_area.or(field)?;
        Some(area.intersection(&screen).unwrap_or(area))
    }
}

/// Returns the area with a margin that lets a person recognise the place.
pub(super) fn with_surroundings(area: CaptureRect) -> CaptureRect {
    area.inflate(EVIDENCE_MARGIN_PX.0, EVIDENCE_MARGIN_PX.1)
}

/// Captures the screenshot for the approver and its fingerprint. Both have to show the same: what the approver saw
/// is later compared. An area that never settles is shown as it is; its approval will not hold.
pub(super) async fn evidence_for(
    run: &mut RunContext,
    screen: &Screen,
    scope: &ApprovalScope,
    rules: &Policy,
) -> RunResult<ApprovalEvidence> {
    let around = scope.target_area.map(with_surroundings);
    let (mut look, _) = capture_fingerprint(run, screen, scope, rules).await?;
    let mut looks = 0;
    loop {
        let shown = capture::capture_area(run, around).await?;
        let (after, frame) = capture_fingerprint(run, screen, scope, rules).await?;
        looks += 1;
        if after == look || looks == MAX_CAPTURES {
            let other = fingerprint_without_caret(run, screen, scope, rules, after, frame).await?;
            let fingerprint = after.or(other);
            return Ok(ApprovalEvidence { fingerprint, shown });
        }
        look = after;
    }
}

/// Returns the current fingerprint.
pub(super) async fn area_fingerprint(
    run: &mut RunContext,
    screen: &Screen,
    scope: &ApprovalScope,
    rules: &Policy,
) -> RunResult<AreaFingerprint> {
    let (look, _) = capture_fingerprint(run, screen, scope, rules).await?;
    Ok(look)
}

async fn capture_fingerprint(
    run: &mut RunContext,
    screen: &Screen,
    scope: &ApprovalScope,
    rules: &Policy,
) -> RunResult<(AreaFingerprint, FrameId)> {
    let screen = screen.view().map(|view| view.latest_frame.bounds());
    let area = screen.map_or(scope.target_area, |screen| scope.fingerprint_area(screen));
    let captured = capture::capture_area(run, area).await?;
    let mut hash = Sha256::new().chain_update(rules.version());
    hash.update(&scope.content);
    if let (Some(_), Some(image)) = (area, &captured.image) {
        hash.update(image.sha256);
    }
    let window = active_window(&captured.frame).filter(|_| scope.target_area.is_none());
    let texts = window.into_iter().flatten();
    for text in texts.chain(scope.nearby_text.iter().map(String::as_str)) {
        hash.update(text);
        hash.update([0]);
    }
    let whole: [u8; 32] = hash.finalize().into();
    let mut half = [0; 16];
    half.copy_from_slice(&whole[..16]);
    Ok((AreaFingerprint(half), captured.frame.id))
}

/// Returns the fingerprint in the other state of the caret, or the same one if there is no caret.
async fn fingerprint_without_caret(
    run: &mut RunContext,
    screen: &Screen,
    scope: &ApprovalScope,
    rules: &Policy,
    look: AreaFingerprint,
    frame: FrameId,
) -> RunResult<AreaFingerprint> {
    let looks = scope.keyboard_focus.map_or(0, |_| CARET_CAPTURES);
    for _ in 0..looks {
        run.sleep(CARET_CAPTURE_INTERVAL).await?;
        let (again, frame_again) = capture_fingerprint(run, screen, scope, rules).await?;
        if again != look {
            let only_a_caret = only_a_caret(run, frame, frame_again).await?;
            return Ok(if only_a_caret { again } else { look });
        }
    }
    Ok(look)
}

async fn only_a_caret(run: &mut RunContext, before: FrameId, after: FrameId) -> RunResult<bool> {
    let compared = capture::compare(run, CompareRequest::new(before, after)).await?;
    Ok(compared.is_ok_and(|comparison| {
        !comparison.change.size_differs && comparison.change.regions.iter().all(is_caret)
    }))
}

/// Returns the active window, which receives keys and text.
fn active_window(frame: &Frame) -> Option<[&str; 3]> {
    let window = frame.active_window()?;
    Some([&window.id, &window.application, &window.title])
}
