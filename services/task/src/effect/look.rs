//! Looks that a control takes on under a pointer, such as a highlight or a focus ring.
//!
//! Such a look shows that the pointer has arrived, not that the control did anything. It looks the same as the lasting change of
//! a toggle, so pixels alone do not tell them apart: the Orchestrator moves the pointer away and sees which of them goes.

use motorium_proto::domain::effect::{Effect, Verdict};
use motorium_proto::domain::element::{Element, ElementKind, Scene};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

use super::background_motion::{BOX_ERROR, is_small};
use super::near_area;
use crate::screen::bounds_on_display;

/// Width of the band around a control that belongs to its look, in pixels. The focus rings of Chromium, GTK and Qt reach at most
/// 5 px beyond the control; a detected box may be up to 5 px too small.
const RING_MARGIN: i32 = 10;
/// Maximum width of the band inside the edge of a control in which a focus ring is drawn, in pixels. Rings of Chromium and GTK begin
/// 2 px outside to 3 px inside the edge, and a detected box may be up to 5 px too large.
const MAX_RING_INSET: i32 = 8;
/// Fraction of the shorter side of a control that the band takes at most: 1 in this many.
// Leaves the middle half, where a control shows its mark or text.
const RING_INSET_FRACTION: i32 = 4;
/// Distance from known motion within which another part of the same thing may move, in pixels: the size of a spinner.
const MOTION_REACH: i32 = 48;
/// Minimum distance of a free spot from every element, in pixels. More than the error of a detected box.
const SPOT_CLEARANCE: i32 = 6;
/// Distances of candidate spots from the edge of the control, in pixels, nearest first. Near spots stay in the same window; the
/// farthest one leaves a dense toolbar.
const SPOT_DISTANCES: [i32; 4] = [24, 48, 96, 192];

/// Changes after a click that need not be its effect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DoubtfulChange {
    /// Changes that may be the look of controls: of the one that was clicked, or of the one that the pointer has left.
    pub looks: Vec<CaptureRect>,
    /// Small changes of elements that were there before, or beside known motion, which may move by themselves: a spinner that was
    /// not yet seen moving, or another part of one.
    pub motions: Vec<CaptureRect>,
}

/// Returns the change of an effect if all of it is doubtful, or `None` if some of it can only be the effect.
#[must_use]
pub fn doubtful_change(
    effect: &Effect,
    controls: &[CaptureRect],
    scene: &Scene,
    frame: &Frame,
    moving: &[CaptureRect],
) -> Option<DoubtfulChange> {
    let is_seen = matches!(
        effect.verdict,
        Verdict::Confirmed | Verdict::ChangedElsewhere
    );
    // Without a change, the effect was told by other means than pixels.
    let has_changed = !effect.change.regions.is_empty();
    if !is_seen || !has_changed || effect.window_changed || effect.change.size_differs {
        return None;
    }
    let is_look = |changed: &CaptureRect| {
        controls.iter().any(|control| {
            let own = control.inflate(RING_MARGIN, RING_MARGIN);
            own.contains_box(changed)
        })
    };
    let regions = effect.change.regions.iter().map(|region| region.bounds);
    let (looks, motions): (Vec<_>, Vec<_>) = regions.partition(is_look);
    let was_there = |changed: &CaptureRect| {
        let mut elements = scene.elements.iter();
        elements.any(|element| {
            let bounds = bounds_on_display(element, frame);
            is_small(*changed) && bounds.inflate(BOX_ERROR, BOX_ERROR).contains_box(changed)
        })
    };
    let is_beside_motion = |changed: &CaptureRect| {
        let mut moving = moving
            .iter()
            .map(|area| area.inflate(MOTION_REACH, MOTION_REACH));
        is_small(*changed) && moving.any(|area| area.contains_box(changed))
    };
    let may_move = |changed: &CaptureRect| was_there(changed) || is_beside_motion(changed);
    let is_doubtful = motions.iter().all(may_move);
    is_doubtful.then_some(DoubtfulChange { looks, motions })
}

/// Returns whether a click has changed nothing near its target but what may be its look, and something elsewhere: the sign of the
/// effect is then elsewhere.
#[must_use]
pub fn is_beside_own_look(effect: &Effect, target: CaptureRect) -> bool {
    if effect.verdict != Verdict::Confirmed || effect.window_changed || effect.change.size_differs {
        return false;
    }
    let own = target.inflate(RING_MARGIN, RING_MARGIN);
    let near = near_area(target);
    let regions = effect.change.regions.iter().map(|region| region.bounds);
    let (near, elsewhere): (Vec<_>, Vec<_>) =
        regions.partition(|changed| changed.intersects(&near));
    !elsewhere.is_empty()
        && !near.is_empty()
        && near.iter().all(|changed| own.contains_box(changed))
}

/// Returns whether a click has changed nothing but what may be the look of its target.
#[must_use]
pub fn is_within_own_look(effect: &Effect, target: CaptureRect) -> bool {
    if effect.verdict != Verdict::Confirmed || effect.window_changed || effect.change.size_differs {
        return false;
    }
    let own = target.inflate(RING_MARGIN, RING_MARGIN);
    let mut regions = effect.change.regions.iter();
    !effect.change.regions.is_empty() && regions.all(|region| own.contains_box(&region.bounds))
}

/// Returns true for kinds that may look otherwise while they have the focus, and that need not show what a click has done.
#[must_use]
pub fn looks_otherwise_with_focus(kind: ElementKind) -> bool {
    matches!(
        kind,
        ElementKind::Button | ElementKind::Link | ElementKind::Icon | ElementKind::Control
    )
}

/// Returns true for kinds that show within their own box what a click has done: their change is an effect.
#[must_use]
pub fn shows_state_in_itself(kind: ElementKind) -> bool {
    matches!(
        kind,
        ElementKind::TextField
            | ElementKind::Checkbox
            | ElementKind::Radio
            | ElementKind::Switch
            | ElementKind::DropDown
            | ElementKind::Slider
            | ElementKind::SpinBox
            | ElementKind::Tab
            | ElementKind::ScrollBar
    )
}

/// Returns true for kinds that show their state in themselves, but whose real effect is seen elsewhere as well: a page or a list
/// opens. A change of theirs may therefore be their look, as that of a button.
#[must_use]
pub fn opens_something(kind: ElementKind) -> bool {
    matches!(kind, ElementKind::Tab | ElementKind::DropDown)
}

/// Returns the part of a control that tells a look from an effect once the pointer is away, or `None` if the control is empty. It is
/// what no focus ring touches; of a tab it is all, because the line below the chosen one is at its edge.
#[must_use]
pub fn compared_part(target: CaptureRect, kind: ElementKind) -> Option<CaptureRect> {
    let inset = match kind {
        ElementKind::Tab => 0,
        _ => target.width().min(target.height()) / RING_INSET_FRACTION,
    };
    let inset = inset.min(MAX_RING_INSET);
    let part = target.inflate(-inset, -inset);
    (!part.is_empty()).then_some(part)
}

/// Returns the smallest element at a point, with its box on the display.
#[must_use]
pub fn element_at<'a>(
    scene: &'a Scene,
    frame: &Frame,
    point: CapturePoint,
) -> Option<(&'a Element, CaptureRect)> {
    scene
        .elements
        .iter()
        .map(|element| (element, bounds_on_display(element, frame)))
        .filter(|(_, bounds)| bounds.contains(point))
        // Boxes are nested; the smallest one is the control and not the pane around it.
        .min_by_key(|(_, bounds)| i64::from(bounds.width()) * i64::from(bounds.height()))
}

/// Returns the nearest point beside the target that lies on no element, or `None` if there is none.
#[must_use]
pub fn free_spot(scene: &Scene, frame: &Frame, target: CaptureRect) -> Option<CapturePoint> {
    let boxes: Vec<CaptureRect> = scene
        .elements
        .iter()
        .map(|element| bounds_on_display(element, frame))
        // The pane or dialog around the target is no obstacle.
        .filter(|bounds| !bounds.contains_box(&target) || *bounds == target)
        .map(|bounds| bounds.inflate(SPOT_CLEARANCE, SPOT_CLEARANCE))
        .collect();
    let screen = frame.bounds();
    let is_free = |spot: &CapturePoint| {
        screen.contains(*spot) && !boxes.iter().any(|bounds| bounds.contains(*spot))
    };
    SPOT_DISTANCES
        .iter()
        .flat_map(|&distance| beside(target, distance))
        .find(is_free)
}

/// Returns the points at this distance below, above, left and right of a box.
fn beside(target: CaptureRect, distance: i32) -> [CapturePoint; 4] {
    let centre = target.center();
    let across = target.width() / 2 + distance;
    let along = target.height() / 2 + distance;
    [(0, along), (0, -along), (-across, 0), (across, 0)]
        .map(|(x, y)| CapturePoint::new(centre.x + x, centre.y + y))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use motorium_proto::domain::effect::ChangedRegion;
    use motorium_proto::domain::element::{ElementSource, ElementState};
    use motorium_proto::domain::geometry::{CaptureSize, NormalisedPoint, NormalisedRect};
    use motorium_proto::domain::id::{DisplayId, ElementId, FrameId};

    use super::*;
    use crate::effect::grown_to_elements;

    fn rect(x: i32, y: i32, width: i32, height: i32) -> CaptureRect {
        CaptureRect::new(
            CapturePoint::new(x, y),
            CapturePoint::new(x + width, y + height),
        )
    }

    fn changed(bounds: CaptureRect) -> Effect {
        let mut effect = super::super::unknown(String::new());
        effect.verdict = Verdict::Confirmed;
        effect.change.regions.push(ChangedRegion {
            bounds,
            changed_pixels: 100,
        });
        effect
    }

    fn frame() -> Frame {
        Frame {
            id: FrameId::new("f"),
            display: DisplayId::new(":1"),
            origin: CapturePoint::zero(),
            size: CaptureSize::new(1000, 800),
            scale: 1.0,
            captured_at: SystemTime::UNIX_EPOCH,
            cursor: None,
            monitors: vec![],
            windows: vec![],
        }
    }

    fn scene(boxes: &[CaptureRect]) -> Scene {
        let share = |point: CapturePoint| {
            NormalisedPoint::new(f64::from(point.x) / 1000.0, f64::from(point.y) / 800.0)
        };
        let element = |(id, bounds): (u32, &CaptureRect)| Element {
            id: ElementId(id),
            kind: ElementKind::Button,
            content: String::new(),
            bounds: NormalisedRect::new(share(bounds.min), share(bounds.max)),
            interactable: true,
            confidence: 0.9,
            centre: bounds.center(),
            source: ElementSource::Both,
            state: ElementState::default(),
        };
        Scene {
            frame: FrameId::new("f"),
            elements: (1..).zip(boxes).map(element).collect(),
            relations: vec![],
        }
    }

    #[test]
    fn highlights_and_focus_rings_are_doubtful_changes() {
        let (target, left) = (rect(100, 100, 80, 30), rect(300, 100, 80, 30));
        let spinner = rect(500, 100, 46, 46);
        let known = rect(800, 100, 20, 12);
        let scene = scene(&[target, spinner]);
        let doubtful =
            |effect: &Effect| doubtful_change(effect, &[target, left], &scene, &frame(), &[known]);
        let is_look = |bounds| {
            let change = doubtful(&changed(bounds));
            change.is_some_and(|change| change.looks == [bounds] && change.motions.is_empty())
        };
        assert!(is_look(target), "highlight");
        assert!(is_look(rect(95, 95, 90, 40)), "ring");
        assert!(is_look(left), "the highlight that goes");
        assert!(!is_look(rect(150, 100, 80, 30)));
        let mut retitled = changed(target);
        retitled.window_changed = true;
        assert_eq!(doubtful(&retitled), None);
        let arc = rect(510, 100, 20, 12);
        let moving = doubtful(&changed(arc)).unwrap();
        assert_eq!((moving.looks, moving.motions), (vec![], vec![arc]));
        let other_part = rect(806, 130, 12, 20);
        assert!(doubtful(&changed(other_part)).is_some());
        let appeared = rect(700, 100, 46, 46);
        assert_eq!(doubtful(&changed(appeared)), None, "it was not there");
        let part = |target| compared_part(target, ElementKind::Button);
        assert_eq!(part(target), Some(rect(107, 107, 66, 16)));
        assert_eq!(part(rect(0, 0, 200, 60)), Some(rect(8, 8, 184, 44)));
        assert_eq!(part(rect(0, 0, 0, 30)), None);
        assert_eq!(compared_part(target, ElementKind::Tab), Some(target));
    }

    #[test]
    fn motion_in_a_small_element_covers_the_element() {
        let (spinner, photo) = (rect(480, 0, 46, 46), rect(600, 0, 200, 150));
        let scene = scene(&[spinner, photo]);
        let grown = |area| grown_to_elements(vec![area], &scene, &frame());
        assert_eq!(grown(rect(500, 2, 20, 12)), [spinner]);
        for alone in [rect(620, 10, 20, 12), rect(900, 0, 20, 12)] {
            assert_eq!(grown(alone), [alone]);
        }
    }

    #[test]
    fn free_spot_is_beside_the_target_and_unobstructed() {
        let target = rect(400, 300, 80, 30);
        let spot = |boxes: &[CaptureRect]| free_spot(&scene(boxes), &frame(), target);
        assert_eq!(spot(&[target]), Some(CapturePoint::new(440, 354)));
        let below = rect(380, 330, 120, 60);
        assert_eq!(
            spot(&[target, below]),
            Some(CapturePoint::new(440, 276)),
            "above instead"
        );
        let pane = rect(0, 0, 1000, 800);
        assert_eq!(
            spot(&[target, pane]),
            Some(CapturePoint::new(440, 354)),
            "the pane around the target is no obstacle"
        );
        let (before, after) = (rect(0, 0, 1000, 300), rect(0, 330, 1000, 470));
        let beside = (rect(0, 300, 400, 30), rect(480, 300, 520, 30));
        assert_eq!(spot(&[target, before, after, beside.0, beside.1]), None);
    }
}
