//! Background motion: regions that change without any action, such as clocks, carets, spinners and videos.
//!
//! Learnt from observations between which no action was performed. A large region that changed once may be a late effect, for
//! example a page that was still loading, so it counts as background motion only when it changes again. A small region counts
//! at once, because clocks and carets look like that. A wrong guess costs another observation, never a wrong click
//! ([`super::is_obscured`]).

use motorium_proto::domain::effect::{ChangeMap, ChangedRegion};
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::CaptureRect;

use crate::screen::bounds_on_display;

/// Maximum width and height of a small region, in pixels: one line of a clock, or a spinner.
const MAX_SMALL_SIZE: (i32, i32) = (160, 64);
/// Margin within which a change belongs to a known region, in pixels. Wider than high, because digits and carets move sideways.
const NEIGHBOUR_MARGIN: (i32, i32) = (8, 4);
/// Maximum expected growth of a region, in pixels. Keeps a fast progress bar from covering its neighbours.
const MAX_REACH: i32 = 48;
/// Maximum width of a line, in pixels: the widest caret.
const MAX_LINE_WIDTH: i32 = 4;
/// Maximum side of a spinner, in pixels. Larger images are not one moving thing.
const MAX_SPINNER_SIDE: i32 = 64;
/// Maximum error of a detected box, in pixels.
// The detector places a small box to within a few pixels, so motion at its edge may lie just outside it.
pub(super) const BOX_ERROR: i32 = 5;
/// Maximum number of changed pixels of a trace: the edge that motion leaves beside the area in which it was seen. The arc of a
/// spinner of 40 pixels has three times as many, and so has a short word.
const MAX_TRACE_PIXELS: u64 = 48;
/// Maximum number of regions; the oldest are dropped. Bounds the comparison of each effect.
const MAX_REGIONS: usize = 16;
/// Number of observations without a change after which a region is dropped, so that it can show effects again.
const FORGET_AFTER: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MotionRegion {
    bounds: CaptureRect,
    change_count: u32,
    /// Observations since the last change.
    idle_observations: u32,
    /// Width and height of its first change.
    initial_size: (i32, i32),
    /// Expected growth beyond its bounds, because an advancing bar continues to advance.
    reach: (i32, i32),
}

impl MotionRegion {
    fn is_near(&self, bounds: CaptureRect) -> bool {
        self.bounds
            .inflate(NEIGHBOUR_MARGIN.0, NEIGHBOUR_MARGIN.1)
            .intersects(&bounds)
    }

    fn grow(&mut self, bounds: CaptureRect) {
        self.bounds = self.bounds.union(&bounds);
        // Twice the observed growth: waiting for an effect takes about as long as the observation before it, or a little longer.
        let further = |grown: i32, first: i32| (2 * (grown - first)).clamp(0, MAX_REACH);
        self.reach = (
            further(self.bounds.width(), self.initial_size.0),
            further(self.bounds.height(), self.initial_size.1),
        );
        self.change_count += 1;
        self.idle_observations = 0;
    }
}

/// Regions with background motion that were learnt so far.
#[derive(Debug, Clone, Default)]
pub struct BackgroundMotion {
    regions: Vec<MotionRegion>,
}

impl BackgroundMotion {
    /// Records the changes between two observations without an action between them.
    pub fn observe(&mut self, change: &ChangeMap) {
        for place in &mut self.regions {
            place.idle_observations += 1;
        }
        if change.size_differs {
            // Another size means another layout, in which the old places say nothing.
            self.regions.clear();
            return;
        }
        let changed: Vec<CaptureRect> = change.regions.iter().map(|region| region.bounds).collect();
        self.add(&changed);
        self.regions
            .retain(|place| place.idle_observations < FORGET_AFTER);
    }

    /// Records regions that changed during a period without an action.
    pub fn add(&mut self, changed: &[CaptureRect]) {
        for &bounds in changed {
            let mut known = self.regions.iter_mut();
            // Parts that change in turn, such as the digits of a clock, belong to one region.
            match known.find(|place| place.is_near(bounds)) {
                Some(place) => place.grow(bounds),
                None => self.regions.push(MotionRegion {
                    bounds,
                    change_count: 1,
                    idle_observations: 0,
                    initial_size: (bounds.width(), bounds.height()),
                    reach: (0, 0),
                }),
            }
        }
        let surplus = self.regions.len().saturating_sub(MAX_REGIONS);
        // New regions are at the end, so the oldest are the first.
        self.regions.drain(..surplus);
    }

    /// Returns the regions that must not be taken for an effect.
    #[must_use]
    pub fn noise(&self) -> Vec<CaptureRect> {
        // A large region has to change twice: a single change may be the late effect of an action.
        let is_noise = |place: &&MotionRegion| is_small(place.bounds) || place.change_count > 1;
        self.regions
            .iter()
            .filter(is_noise)
            .map(|place| place.bounds.inflate(place.reach.0, place.reach.1))
            .collect()
    }
}

/// Returns areas of motion, each grown to the small element without a text that it is a part of: a spinner turns through a square
/// of which one change shows a part.
#[must_use]
pub fn grown_to_elements(
    areas: Vec<CaptureRect>,
    scene: &Scene,
    frame: &Frame,
) -> Vec<CaptureRect> {
    let textless = scene
        .elements
        .iter()
        .filter(|element| element.content.is_empty());
    let boxes: Vec<CaptureRect> = textless
        .map(|element| bounds_on_display(element, frame))
        .filter(|bounds| bounds.width().max(bounds.height()) <= MAX_SPINNER_SIDE)
        .collect();
    let grown = |area: CaptureRect| {
        let whole =
            |bounds: &&CaptureRect| bounds.inflate(BOX_ERROR, BOX_ERROR).contains_box(&area);
        boxes
            .iter()
            .find(whole)
            .map_or(area, |bounds| bounds.union(&area))
    };
    areas.into_iter().map(grown).collect()
}

/// Returns whether something changed beside motion: in its surroundings, and not in the areas that were seen moving.
#[must_use]
pub fn is_beside(change: &ChangeMap, moving: &[CaptureRect]) -> bool {
    let surroundings = with_surroundings(moving.to_vec());
    let contains = |areas: &[CaptureRect], changed: &CaptureRect| {
        let mut areas = areas.iter().map(|area| area.inflate(BOX_ERROR, BOX_ERROR));
        areas.any(|area| area.contains_box(changed))
    };
    let mut regions = change.regions.iter().map(|region| region.bounds);
    regions.any(|changed| !contains(moving, &changed) && contains(&surroundings, &changed))
}

/// Returns whether nothing changed but traces of motion in its surroundings.
#[must_use]
pub fn is_only_trace(change: &ChangeMap, moving: &[CaptureRect]) -> bool {
    let surroundings = with_surroundings(moving.to_vec());
    let is_trace = |region: &ChangedRegion| {
        let mut near = surroundings
            .iter()
            .map(|area| area.inflate(BOX_ERROR, BOX_ERROR));
        region.changed_pixels <= MAX_TRACE_PIXELS
            && near.any(|area| area.contains_box(&region.bounds))
    };
    !change.size_differs && !change.regions.is_empty() && change.regions.iter().all(is_trace)
}

/// Returns areas of motion with their surroundings, where other parts of the same thing may move.
#[must_use]
pub fn with_surroundings(areas: Vec<CaptureRect>) -> Vec<CaptureRect> {
    let widened = |area: CaptureRect| {
        let is_line = area.width().min(area.height()) <= MAX_LINE_WIDTH;
        let reach = if is_small(area) && !is_line {
            MAX_REACH
        } else {
            0
        };
        area.inflate(reach, reach)
    };
    areas.into_iter().map(widened).collect()
}

/// Returns true if a region is as small as a clock or a spinner.
#[must_use]
pub fn is_small(bounds: CaptureRect) -> bool {
    bounds.width() <= MAX_SMALL_SIZE.0 && bounds.height() <= MAX_SMALL_SIZE.1
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::geometry::CapturePoint;

    use super::*;

    fn rect(x: i32, width: i32, height: i32) -> CaptureRect {
        CaptureRect::new(
            CapturePoint::new(x, 0),
            CapturePoint::new(x + width, height),
        )
    }

    fn changed(bounds: &[CaptureRect]) -> ChangeMap {
        let region = |bounds: &CaptureRect| ChangedRegion {
            bounds: *bounds,
            changed_pixels: 9,
        };
        ChangeMap {
            regions: bounds.iter().map(region).collect(),
            ..ChangeMap::default()
        }
    }

    #[test]
    fn a_few_pixels_beside_motion_are_its_trace_and_a_word_is_not() {
        let change = |x: i32, changed_pixels: u64| ChangeMap {
            regions: vec![ChangedRegion {
                bounds: rect(x, 6, 8),
                changed_pixels,
            }],
            ..ChangeMap::default()
        };
        let spinner = [rect(100, 30, 10)];
        assert!(is_only_trace(&change(140, 13), &spinner));
        assert!(!is_only_trace(&change(140, 200), &spinner), "a word");
        assert!(!is_only_trace(&change(300, 13), &spinner), "far away");
        assert!(!is_only_trace(&change(140, 13), &[]), "nothing moves");
        assert!(!is_only_trace(&ChangeMap::default(), &spinner), "no change");
    }

    #[test]
    fn large_motion_is_noise_only_when_repeated() {
        let (caret, page) = (rect(900, 3, 16), rect(0, 600, 400));
        let mut motion = BackgroundMotion::default();
        motion.observe(&changed(&[caret, page]));
        assert_eq!(motion.noise(), [caret]);
        motion.observe(&changed(&[page]));
        assert_eq!(motion.noise(), [caret, page], "it is a video");
    }

    #[test]
    fn stopped_motion_is_forgotten() {
        let mut motion = BackgroundMotion::default();
        motion.observe(&changed(&[rect(900, 60, 16)]));
        for _ in 0..FORGET_AFTER {
            assert_eq!(motion.noise().len(), 1);
            motion.observe(&changed(&[]));
        }
        assert_eq!(motion.noise(), []);
    }

    #[test]
    fn motion_regions_are_limited() {
        let mut motion = BackgroundMotion::default();
        for x in 0..100 {
            motion.observe(&changed(&[rect(x * 100, 20, 20)]));
        }
        assert!(motion.noise().len() <= MAX_REGIONS);
    }

    #[test]
    fn advancing_motion_is_extrapolated() {
        let mut motion = BackgroundMotion::default();
        for step in 0..3 {
            motion.observe(&changed(&[rect(100 + 13 * step, 13, 14)]));
        }
        let next = rect(100 + 13 * 3, 13, 14);
        let noise = motion.noise();
        assert!(noise[0].contains_box(&next), "{noise:?}");
        let elsewhere = rect(400, 13, 14);
        assert!(!noise[0].intersects(&elsewhere), "{noise:?}");
    }
}
