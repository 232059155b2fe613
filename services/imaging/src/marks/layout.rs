//! Where the number of each mark goes.
//!
//! A number stands outside its box, touching it, where it covers no other box and no other number, and of such
//! places where the picture is emptiest. If there is none, a smaller number is tried. Only if there is none for that
//! either does it go where it hides least, which may be a corner inside the box.
//!
//! Boxes that contain a box do not count as "other": a dialog is no reason to keep numbers out of the dialog.

use euclid::Size2D;
use image::RgbaImage;
use motorium_proto::domain::geometry::ModelPx;

use super::ink::{Area, Place, whole};

/// A mark to be placed: its box, and the extents that its number would have.
pub(super) struct Subject {
    pub(super) bounds: Area,
    pub(super) normal: Size2D<i32, ModelPx>,
    pub(super) small: Size2D<i32, ModelPx>,
}

/// Where a number goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) area: Area,
    /// Whether there was only room for the smaller number.
    pub(super) small: bool,
}

/// Places the numbers of all marks; the answer is in the order of `subjects`. `gap` is left free around each box, for
/// its outline.
pub(super) fn place(picture: &RgbaImage, subjects: &[Subject], gap: i32) -> Vec<Spot> {
    let layout = Layout {
        picture,
        frame: whole(picture),
        subjects,
        gap,
    };
    let mut spots: Vec<Option<Spot>> = vec![None; subjects.len()];
    // Those with the least choice come first: the others can give way.
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    order.sort_by_cached_key(|index| (layout.free(*index, &[]).len(), *index));
    for index in order {
        let taken: Vec<Area> = spots.iter().flatten().map(|spot| spot.area).collect();
        spots[index] = Some(layout.best(index, &taken));
    }
    spots.into_iter().flatten().collect()
}

struct Layout<'a> {
    picture: &'a RgbaImage,
    frame: Area,
    subjects: &'a [Subject],
    gap: i32,
}

impl Layout<'_> {
    fn best(&self, index: usize, taken: &[Area]) -> Spot {
        let subject = &self.subjects[index];
        for small in [false, true] {
            let size = if small { subject.small } else { subject.normal };
            let free = self
                .outside(index, size)
                .into_iter()
                .filter(|area| self.is_free(index, *area, taken));
            if let Some(area) = least(free.map(|area| (self.strokes(area), area))) {
                return Spot { area, small };
            }
        }
        let places = self
            .outside(index, subject.small)
            .into_iter()
            .chain(self.inside(index));
        let within = places.map(|area| keep_within(area, self.frame));
        let area = least(within.map(|area| (self.harm(index, area, taken), area)));
        Spot {
            area: area.unwrap_or(subject.bounds),
            small: true,
        }
    }

    /// The places in which the full-sized number would hide nothing.
    fn free(&self, index: usize, taken: &[Area]) -> Vec<Area> {
        let places = self.outside(index, self.subjects[index].normal);
        places
            .into_iter()
            .filter(|area| self.is_free(index, *area, taken))
            .collect()
    }

    /// The places that touch a box from outside, the best first: above and below, left and right, corner to corner.
    fn outside(&self, index: usize, size: Size2D<i32, ModelPx>) -> Vec<Area> {
        let bounds = self.subjects[index].bounds.inflate(self.gap, self.gap);
        let (left, right) = (bounds.min.x, bounds.max.x - size.width);
        let (top, bottom) = (bounds.min.y, bounds.max.y - size.height);
        let middle = (top + bottom) / 2;
        let (above, below) = (bounds.min.y - size.height, bounds.max.y);
        let (before, after) = (bounds.min.x - size.width, bounds.max.x);
        [
            (left, above),
            (right, above),
            (left, below),
            (right, below),
            (before, middle),
            (before, top),
            (before, bottom),
            (after, middle),
            (after, top),
            (after, bottom),
            (before, above),
            (after, above),
            (before, below),
            (after, below),
        ]
        .into_iter()
        .map(|(x, y)| Area::from_origin_and_size(Place::new(x, y), size))
        .collect()
    }

    /// The corners inside a box.
    fn inside(&self, index: usize) -> [Area; 4] {
        let Subject { bounds, small, .. } = self.subjects[index];
        let (right, bottom) = (bounds.max.x - small.width, bounds.max.y - small.height);
        [
            (right, bounds.min.y),
            (bounds.min.x, bounds.min.y),
            (right, bottom),
            (bounds.min.x, bottom),
        ]
        .map(|(x, y)| Area::from_origin_and_size(Place::new(x, y), small))
    }

    fn is_free(&self, index: usize, area: Area, taken: &[Area]) -> bool {
        self.frame.contains_box(&area)
            && !taken.iter().any(|other| other.intersects(&area))
            && !self.others(index).any(|other| other.intersects(&area))
    }

    /// The boxes that the number of one mark should keep clear of, besides its own.
    fn others(&self, index: usize) -> impl Iterator<Item = Area> {
        let own = self.subjects[index].bounds;
        let others = self
            .subjects
            .iter()
            .enumerate()
            .filter(move |(other, _)| *other != index);
        others
            .map(|(_, subject)| subject.bounds)
            .filter(move |other| !other.contains_box(&own))
    }

    /// How much of the picture an area hides: the pixels at which the brightness changes.
    fn strokes(&self, area: Area) -> i64 {
        let Some(area) = area.intersection(&self.frame) else {
            return 0;
        };
        let brightness = |x: i32, y: i32| {
            let [red, green, blue, _] = self.picture.get_pixel(x as u32, y as u32).0;
            (i32::from(red) * 2 + i32::from(green) * 5 + i32::from(blue)) / 8
        };
        let is_edge = |x: i32, y: i32| {
            let here = brightness(x, y);
            let right = x + 1 < area.max.x && (brightness(x + 1, y) - here).abs() > EDGE;
            right || (y + 1 < area.max.y && (brightness(x, y + 1) - here).abs() > EDGE)
        };
        area.y_range()
            .map(|y| area.x_range().filter(|x| is_edge(*x, y)).count() as i64)
            .sum()
    }

    /// How bad a place is that is not free. Hiding another number is worst, then hiding what can be read, then
    /// standing in another box, where it seems to belong to that, then in the own one.
    fn harm(&self, index: usize, area: Area, taken: &[Area]) -> i64 {
        let shared = |other: &Area| {
            other
                .intersection(&area)
                .map_or(0, |both| i64::from(both.area()))
        };
        let numbers: i64 = taken.iter().map(shared).sum();
        let boxes: i64 = self.others(index).map(|other| shared(&other)).sum();
        let own = shared(&self.subjects[index].bounds);
        numbers * 32 + self.strokes(area) * 4 + boxes * 2 + own
    }
}

/// Least difference in brightness that counts as an edge: text in grey on white has it, a gradient has not.
const EDGE: i32 = 20;

/// The place with the least cost, the first of several.
fn least(places: impl Iterator<Item = (i64, Area)>) -> Option<Area> {
    places.min_by_key(|(cost, _)| *cost).map(|(_, area)| area)
}

/// The same area, moved into the frame as far as it fits.
fn keep_within(area: Area, frame: Area) -> Area {
    let into = |low: i32, high: i32, from: i32, to: i32| {
        if low < from {
            from - low
        } else {
            (to - high).min(0)
        }
    };
    let x = into(area.min.x, area.max.x, frame.min.x, frame.max.x);
    let y = into(area.min.y, area.max.y, frame.min.y, frame.max.y);
    area.translate(euclid::Vector2D::new(x, y))
}

#[cfg(test)]
mod tests {
    use image::Rgba;
    use proptest::prelude::*;

    use super::*;

    const GAP: i32 = 2;

    fn area(x: i32, y: i32, width: i32, height: i32) -> Area {
        Area::from_origin_and_size(Place::new(x, y), Size2D::new(width, height))
    }

    fn subjects(boxes: &[Area]) -> Vec<Subject> {
        let subject = |bounds: &Area| Subject {
            bounds: *bounds,
            normal: Size2D::new(18, 12),
            small: Size2D::new(13, 9),
        };
        boxes.iter().map(subject).collect()
    }

    fn white(width: u32, height: u32) -> RgbaImage {
        RgbaImage::from_pixel(width, height, Rgba([255, 255, 255, 255]))
    }

    fn hides_nothing(spot: Spot, boxes: &[Area]) -> bool {
        !boxes.iter().any(|other| other.intersects(&spot.area))
    }

    #[test]
    fn a_lone_box_has_its_number_above() {
        let spots = place(&white(200, 100), &subjects(&[area(50, 40, 60, 20)]), GAP);
        assert_eq!(
            spots,
            [Spot {
                area: area(48, 26, 18, 12),
                small: false
            }]
        );
    }

    #[test]
    fn a_box_at_the_edge_has_its_number_in_the_picture() {
        for corner in [
            area(0, 0, 60, 20),
            area(140, 0, 60, 20),
            area(0, 80, 60, 20),
            area(140, 80, 60, 20),
        ] {
            let [spot] = place(&white(200, 100), &subjects(&[corner]), GAP)[..] else {
                panic!("one number")
            };
            assert!(
                area(0, 0, 200, 100).contains_box(&spot.area) && hides_nothing(spot, &[corner]),
                "{spot:?}"
            );
        }
    }

    #[test]
    fn a_toolbar_keeps_its_icons_visible() {
        let icons: Vec<Area> = (0..10).map(|i| area(10 + i * 26, 20, 24, 24)).collect();
        let spots = place(&white(300, 80), &subjects(&icons), GAP);
        assert!(
            spots.iter().all(|spot| hides_nothing(*spot, &icons)),
            "{spots:?}"
        );
        assert_apart(&spots);
    }

    #[test]
    fn numbers_stand_in_the_dialog_beside_its_buttons() {
        let boxes = [
            area(0, 0, 300, 200),
            area(40, 150, 80, 30),
            area(160, 150, 80, 30),
        ];
        let spots = place(&white(300, 200), &subjects(&boxes), GAP);
        assert!(
            spots[1..]
                .iter()
                .all(|spot| hides_nothing(*spot, &boxes[1..]) && !spot.small),
            "{spots:?}"
        );
    }

    #[test]
    fn a_number_keeps_off_text_that_is_no_element() {
        let mut picture = white(200, 100);
        for x in (40..120).step_by(2) {
            (25..39).for_each(|y| picture.put_pixel(x, y, Rgba([0, 0, 0, 255])));
        }
        let [spot] = place(&picture, &subjects(&[area(50, 40, 60, 20)]), GAP)[..] else {
            panic!("one number")
        };
        assert!(
            spot.area.min.y >= 60 || spot.area.max.x <= 50 || spot.area.min.x >= 110,
            "{spot:?}"
        );
    }

    #[test]
    fn where_all_is_full_the_number_is_small_and_in_a_corner() {
        // A grid of boxes without space between them.
        let grid: Vec<Area> = (0..9)
            .map(|i| area(i % 3 * 60, i / 3 * 30, 60, 30))
            .collect();
        let spots = place(&white(180, 90), &subjects(&grid), GAP);
        for (spot, bounds) in spots.iter().zip(&grid) {
            assert!(
                spot.small && bounds.contains_box(&spot.area),
                "{spot:?} of {bounds:?}"
            );
        }
        assert_apart(&spots);
    }

    fn assert_apart(spots: &[Spot]) {
        for (index, spot) in spots.iter().enumerate() {
            assert!(
                !spots[..index]
                    .iter()
                    .any(|other| other.area.intersects(&spot.area)),
                "{spots:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn every_mark_gets_a_number_in_the_picture(
            boxes in proptest::collection::vec((0i32..300, 0i32..200, 1i32..120, 1i32..60), 0..40)
        ) {
            let boxes: Vec<Area> = boxes.into_iter().map(|(x, y, width, height)| area(x, y, width, height)).collect();
            let spots = place(&white(320, 240), &subjects(&boxes), GAP);
            prop_assert_eq!(spots.len(), boxes.len());
            for spot in &spots {
                prop_assert!(area(0, 0, 320, 240).contains_box(&spot.area), "{:?}", spot);
            }
            // A number of full size hides nothing: no box (but those around its own) and no other such number.
            let full: Vec<Spot> = spots.iter().filter(|spot| !spot.small).copied().collect();
            for (index, spot) in full.iter().enumerate() {
                prop_assert!(!full[..index].iter().any(|other| other.area.intersects(&spot.area)));
            }
            for (spot, own) in spots.iter().zip(&boxes).filter(|(spot, _)| !spot.small) {
                prop_assert!(boxes.iter().all(|other| other.contains_box(own) && other != own || !other.intersects(&spot.area)));
            }
        }
    }
}
