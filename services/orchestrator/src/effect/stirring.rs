//! What moves on a screen without anybody doing anything: clocks, carets, spinners, videos.
//!
//! Learnt from looks between which nothing was done. Something large that changed once may just have been late, a page
//! that went on loading; only what changes again is taken for noise. Small things are at once: that is what clocks and
//! carets look like, and being wrong about them costs a second look, never a wrong click ([`super::is_obscured`]).

use motorium_proto::domain::effect::ChangeMap;
use motorium_proto::domain::geometry::CaptureRect;

/// Up to this wide and high it counts as small, in pixels: a line of a clock, a spinner.
const SMALL: (i32, i32) = (160, 64);
/// What changes so near to a place belongs to it, in pixels.
const BESIDE: (i32, i32) = (8, 4);
/// A place is expected to go on by so many pixels at most.
const FURTHEST: i32 = 48;
/// So many places at most; the oldest are forgotten.
const MOST: usize = 16;
/// What has not moved for so many looks is forgotten.
const FORGET_AFTER: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    bounds: CaptureRect,
    times: u32,
    /// Looks since it moved last.
    calm: u32,
    /// Width and height of what moved there first.
    first: (i32, i32),
    /// How far it is expected to go beyond where it has been: a bar that advances goes on.
    reach: (i32, i32),
}

impl Place {
    fn is_beside(&self, bounds: CaptureRect) -> bool {
        self.bounds.inflate(BESIDE.0, BESIDE.1).intersects(&bounds)
    }

    fn grow(&mut self, bounds: CaptureRect) {
        self.bounds = self.bounds.union(&bounds);
        // An action is waited for about as long as was looked before it, or a little longer.
        let further = |grown: i32, first: i32| (2 * (grown - first)).clamp(0, FURTHEST);
        self.reach = (
            further(self.bounds.width(), self.first.0),
            further(self.bounds.height(), self.first.1),
        );
        self.times += 1;
        self.calm = 0;
    }
}

/// What has been learnt.
#[derive(Debug, Clone, Default)]
pub struct Stirring {
    places: Vec<Place>,
}

impl Stirring {
    /// Takes in what changed between two looks without anybody doing anything.
    pub fn note(&mut self, change: &ChangeMap) {
        for place in &mut self.places {
            place.calm += 1;
        }
        if change.size_differs {
            self.places.clear();
            return;
        }
        let changed: Vec<CaptureRect> = change.regions.iter().map(|region| region.bounds).collect();
        self.add(&changed);
        self.places.retain(|place| place.calm < FORGET_AFTER);
    }

    /// Takes in where something changed within a while in which nobody did anything.
    pub fn add(&mut self, changed: &[CaptureRect]) {
        for &bounds in changed {
            let mut known = self.places.iter_mut();
            match known.find(|place| place.is_beside(bounds)) {
                Some(place) => place.grow(bounds),
                None => self.places.push(Place {
                    bounds,
                    times: 1,
                    calm: 0,
                    first: (bounds.width(), bounds.height()),
                    reach: (0, 0),
                }),
            }
        }
        let surplus = self.places.len().saturating_sub(MOST);
        self.places.drain(..surplus);
    }

    /// The places that are not to be taken for an effect.
    #[must_use]
    pub fn noise(&self) -> Vec<CaptureRect> {
        let is_noise = |place: &&Place| is_small(place.bounds) || place.times > 1;
        self.places
            .iter()
            .filter(is_noise)
            .map(|place| place.bounds.inflate(place.reach.0, place.reach.1))
            .collect()
    }
}

/// Whether a place is as small as a clock or a spinner.
#[must_use]
pub fn is_small(bounds: CaptureRect) -> bool {
    bounds.width() <= SMALL.0 && bounds.height() <= SMALL.1
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::effect::ChangedRegion;
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
    fn a_clock_is_noise_at_once_and_a_page_only_when_it_goes_on() {
        let (clock, page) = (rect(900, 60, 16), rect(0, 600, 400));
        let mut stirring = Stirring::default();
        stirring.note(&changed(&[clock, page]));
        assert_eq!(stirring.noise(), [clock]);
        stirring.note(&changed(&[page]));
        assert_eq!(stirring.noise(), [clock, page], "it is a video");
    }

    #[test]
    fn what_has_come_to_rest_is_forgotten() {
        let mut stirring = Stirring::default();
        stirring.note(&changed(&[rect(900, 60, 16)]));
        for _ in 0..FORGET_AFTER {
            assert_eq!(stirring.noise().len(), 1);
            stirring.note(&changed(&[]));
        }
        assert_eq!(stirring.noise(), []);
    }

    #[test]
    fn only_so_much_is_kept() {
        let mut stirring = Stirring::default();
        for x in 0..100 {
            stirring.note(&changed(&[rect(x * 100, 20, 20)]));
        }
        assert!(stirring.noise().len() <= MOST);
    }

    #[test]
    fn what_advances_is_expected_to_go_on() {
        let mut stirring = Stirring::default();
        for step in 0..3 {
            stirring.note(&changed(&[rect(100 + 13 * step, 13, 14)]));
        }
        let next = rect(100 + 13 * 3, 13, 14);
        let noise = stirring.noise();
        assert!(noise[0].contains_box(&next), "{noise:?}");
        let elsewhere = rect(400, 13, 14);
        assert!(!noise[0].intersects(&elsewhere), "{noise:?}");
    }
}
