//! Fingerprints of what an approval covers: the action, its target area, and nearby text.
//!
//! A click has a target area. Keys and text are covered by the keyboard focus, if known. A blinking caret is no change, so the
//! focused field is captured both with and without it. Any other difference is a change, unless it is too slight to be seen, or the
//! text and the shapes of the target are the same and the pointer, which came or went, has changed its colours. The surroundings are compared by their texts
//! ([`motorium_task::approval_context`]); approvals that an earlier version requested are covered by the active window and nearby
//! texts instead. Nothing is requested or judged here.

use std::time::Duration;

use image::RgbaImage;
use motorium_imaging::codec;
use motorium_imaging::exact_diff::largest_difference;
use motorium_imaging::highlight::is_same_or_highlighted;
use motorium_proto::domain::frame::{Frame, Image, ImageContent};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::FrameId;
use motorium_proto::service::{CapturedFrame, CompareRequest};
use sha2::{Digest as _, Sha256};

use super::context::RunContext;
use super::screen::Screen;
use super::{RunResult, capture};
use motorium_policy::Policy;
use motorium_task::approval_context::{JudgedTarget, evidence_area};
use motorium_task::effect::is_caret;
use motorium_task::{Approval, ApprovalContext, ApprovalSubject};

/// Maximum number of captures until two agree.
// An area that differs three times in a row is animated and cannot be approved reliably.
const MAX_CAPTURES: u32 = 3;
/// Number of times that what a tooltip hides of a target fits into it at least.
const MAX_HIDDEN_PART: i64 = 4;
/// Distance of the text of a tooltip from the edge of its shadow, in pixels.
const TOOLTIP_FRAME_PX: i32 = 8;
/// Maximum number of looks at an animated target until it is as the approver saw it.
// Twelve are a second: most animations that call for attention repeat themselves in less.
const MAX_ANIMATION_LOOKS: u32 = 12;
/// Time between two looks at an animated target, about five frames of a display. A target that is the same in both rests.
const ANIMATION_LOOK_INTERVAL: Duration = Duration::from_millis(80);
/// Number of captures in which a caret is searched for.
// Two show both states of a blinking caret.
const CARET_CAPTURES: u32 = 2;
/// Time between the captures in which a caret is searched for.
// Carets blink every 300 to 600 ms.
const CARET_CAPTURE_INTERVAL: Duration = Duration::from_millis(400);
/// Margin around a focused field in which its focus ring is drawn, in pixels. Also covers a field that was targeted by
/// its label.
const FOCUS_RING_MARGIN_PX: i32 = 16;
/// Maximum difference of a colour channel that is too slight to be seen: edges of letters that are drawn anew, or a faint tint.
// A label in pale grey differs from its background by more.
const MAX_SLIGHT_DIFFERENCE: u8 = 32;

/// Everything that an approval is requested or used for.
#[derive(Debug, Clone)]
pub(super) struct ApprovalScope {
    pub(super) index: usize,
    pub(super) subject: ApprovalSubject,
    /// Target area of the action, if it has one.
    pub(super) target_area: Option<CaptureRect>,
    /// Focused area that receives keys and text, if known.
    pub(super) keyboard_focus: Option<CaptureRect>,
    /// Nearby text that was read to judge it. Not part of the fingerprint if there is a place.
    pub(super) nearby_text: Vec<String>,
    /// Place whose surroundings the approval covers by their texts. `None` for calls, and in a replay of a recording from before.
    pub(super) place: Option<JudgedTarget>,
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

/// Captures the screenshot for the approver and its fingerprint. Both have to show the same: what the approver saw
/// is later compared. An area that never settles is shown as it is; its approval will not hold.
pub(super) async fn evidence_for(
    run: &mut RunContext,
    screen: &Screen,
    scope: &ApprovalScope,
    rules: &Policy,
) -> RunResult<ApprovalEvidence> {
    let around = scope.target_area.map(evidence_area);
    let (mut look, _) = capture_fingerprint(run, screen, scope, rules).await?;
    let mut looks = 0;
    loop {
        let shown = capture::capture_area(run, around).await?;
        let (after, captured) = capture_fingerprint(run, screen, scope, rules).await?;
        looks += 1;
        if after == look || looks == MAX_CAPTURES {
            let frame = captured.frame.id;
            let other = fingerprint_without_caret(run, screen, scope, rules, after, frame).await?;
            let fingerprint = after.or(other);
            return Ok(ApprovalEvidence { fingerprint, shown });
        }
        look = after;
    }
}

/// Returns whether the target looks as it was shown to the approver.
pub(super) async fn looks_as_approved(
    run: &mut RunContext,
    screen: &Screen,
    scope: &ApprovalScope,
    rules: &Policy,
    given: &Approval,
    read: Option<&ApprovalContext>,
) -> RunResult<bool> {
    let (look, captured) = capture_fingerprint(run, screen, scope, rules).await?;
    if look.agrees_with(&given.fingerprint) {
        return Ok(true);
    }
    let (Some(shown), Some(read), Some(target)) = (&given.context, read, scope.target_area) else {
        return Ok(false);
    };
    let origin = captured.frame.origin.to_vector();
    let pointer = captured.frame.cursor.map(|cursor| cursor.position + origin);
    let is_on = pointer.is_some_and(|pointer| target.contains(pointer));
    // The pointer came or went, and with it a highlight.
    let may_be_highlighted = is_on != shown.pointer_on_target && shown.has_same_target_text(read);
    // Earlier versions did not look at the pixels, only at the words.
    if may_be_highlighted && !run.config.features.compare_highlights && shown.has_target_text() {
        return Ok(true);
    }
    let is_alike = async |run: &RunContext, captured: &CapturedFrame| {
        let pixels = compared_pixels(run, target, given, captured).await;
        pixels.is_some_and(|mut pixels| {
            for tooltip in tooltips(shown, read) {
                pixels.ignore(tooltip, target);
            }
            pixels.differ_slightly() || may_be_highlighted && pixels.differ_by_highlight()
        })
    };
    if is_alike(run, &captured).await {
        return Ok(true);
    }
    let mut last = look;
    for _ in 0..animation_looks(run) {
        run.sleep(ANIMATION_LOOK_INTERVAL).await?;
        let (look, captured) = capture_fingerprint(run, screen, scope, rules).await?;
        if look == last {
            return Ok(false);
        }
        if look.agrees_with(&given.fingerprint) || is_alike(run, &captured).await {
            return Ok(true);
        }
        last = look;
    }
    Ok(false)
}

/// Returns the number of further looks at a target that changes by itself. Earlier versions took none.
fn animation_looks(run: &RunContext) -> u32 {
    match run.config.features.rest_before_approval {
        true => MAX_ANIMATION_LOOKS,
        false => 0,
    }
}

/// Returns whether an area hides so little of a target that it is still recognised.
fn is_small_part(hidden: CaptureRect, target: CaptureRect) -> bool {
    MAX_HIDDEN_PART * i64::from(hidden.area()) <= i64::from(target.area())
}

/// Returns the areas of tooltips, with their frames: those of texts that come and go near the pointer.
fn tooltips<'a>(
    shown: &'a ApprovalContext,
    now: &'a ApprovalContext,
) -> impl Iterator<Item = CaptureRect> + 'a {
    let areas = shown.moving.iter().chain(&now.moving);
    areas.map(|area| area.inflate(TOOLTIP_FRAME_PX, TOOLTIP_FRAME_PX))
}

/// The screenshot for the approver, and the target in it and now.
struct ComparedPixels {
    shown: RgbaImage,
    /// Upper left corner of the target in it.
    corner: CapturePoint,
    now: RgbaImage,
}

impl ComparedPixels {
    /// Returns whether the target differs too slightly to be seen.
    fn differ_slightly(&self) -> bool {
        largest_difference(&self.shown, self.corner, &self.now)
            .is_some_and(|difference| difference <= MAX_SLIGHT_DIFFERENCE)
    }

    /// Takes an area of the target as it was shown to the approver.
    fn ignore(&mut self, area: CaptureRect, target: CaptureRect) {
        let hidden = area.intersection(&target);
        let Some(hidden) = hidden.filter(|hidden| is_small_part(*hidden, target)) else {
            return;
        };
        for (x, y) in hidden
            .y_range()
            .flat_map(|y| hidden.x_range().map(move |x| (x, y)))
        {
            let inner = CapturePoint::new(x, y) - target.min.to_vector();
            let outer = inner + self.corner.to_vector();
            let at = |point: CapturePoint| {
                Some((u32::try_from(point.x).ok()?, u32::try_from(point.y).ok()?))
            };
            let (Some(inner), Some(outer)) = (at(inner), at(outer)) else {
                continue;
            };
            if let Some(pixel) = self.shown.get_pixel_checked(outer.0, outer.1).copied()
                && let Some(now) = self.now.get_pixel_mut_checked(inner.0, inner.1)
            {
                *now = pixel;
            }
        }
    }

    fn differ_by_highlight(&self) -> bool {
        is_same_or_highlighted(&self.shown, self.corner, &self.now)
    }
}

/// Returns the pixels of the target, as shown to the approver and now; `None` if one of them is not there.
async fn compared_pixels(
    run: &RunContext,
    target: CaptureRect,
    given: &Approval,
    captured: &CapturedFrame,
) -> Option<ComparedPixels> {
    let Some(Image {
        content: ImageContent::Bytes(now),
        ..
    }) = &captured.image
    else {
        return None;
    };
    let evidence = given.evidence.as_ref()?;
    let shown = run.recorder.blobs().get(evidence.sha256).await.ok()?;
    let (shown, now) = (codec::decode(&shown).ok()?, codec::decode(now).ok()?);
    let around = evidence_area(target);
    let origin = match codec::size_of(&shown) == around.size() {
        true => around.min,
        // The margin was cut off at the edge of the display.
        false => around.min.max(CapturePoint::zero()),
    };
    Some(ComparedPixels {
        corner: target.min - origin.to_vector(),
        shown,
        now,
    })
}

async fn capture_fingerprint(
    run: &mut RunContext,
    screen: &Screen,
    scope: &ApprovalScope,
    rules: &Policy,
) -> RunResult<(AreaFingerprint, CapturedFrame)> {
    let screen = screen.view().map(|view| view.latest_frame.bounds());
    let area = screen.map_or(scope.target_area, |screen| scope.fingerprint_area(screen));
    let captured = capture::capture_area(run, area).await?;
    let mut hash = Sha256::new().chain_update(rules.version());
    hash.update(&scope.content);
    if let (Some(_), Some(image)) = (area, &captured.image) {
        hash.update(image.sha256);
    }
    let is_covered_by_texts = scope.place.is_some();
    let window = active_window(&captured.frame);
    let window = window.filter(|_| scope.target_area.is_none() && !is_covered_by_texts);
    let nearby = scope.nearby_text.iter().map(String::as_str);
    let nearby = nearby.filter(|_| !is_covered_by_texts);
    for text in window.into_iter().flatten().chain(nearby) {
        hash.update(text);
        hash.update([0]);
    }
    let whole: [u8; 32] = hash.finalize().into();
    let mut half = [0; 16];
    half.copy_from_slice(&whole[..16]);
    Ok((AreaFingerprint(half), captured))
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
        let (again, captured) = capture_fingerprint(run, screen, scope, rules).await?;
        if again != look {
            let only_a_caret = only_a_caret(run, frame, captured.frame.id).await?;
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
