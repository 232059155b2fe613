//! Placement of the numbers of marks.
//!
//! A number is placed outside its box, touching it, where it covers no other box, no other number and no content. Where
//! lines are too close for that, it is smaller and placed where it hides least: beside its line, on the blank border of
//! a neighbour, or in a blank part of its own box.
//!
//! Boxes that contain a box do not count as other boxes: numbers may be inside a dialog.

use euclid::Size2D;
use motorium_proto::domain::geometry::ModelPx;

use super::brightness_map::BrightnessMap;
use super::outline::Outline;
use super::primitives::{Pixel, PixelRect};

/// Box of a mark with the sizes of its number.
pub(super) struct LabelledBox {
    pub(super) frame: Outline,
    pub(super) normal: Size2D<i32, ModelPx>,
    pub(super) small: Size2D<i32, ModelPx>,
}

/// Placement of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LabelPlacement {
    pub(super) area: PixelRect,
    /// True if the smaller number is used.
    pub(super) small: bool,
}

/// Places the numbers of all marks, in the order of `subjects`.
pub(super) fn place_labels(
    ground: &BrightnessMap,
    subjects: &[LabelledBox],
) -> Vec<LabelPlacement> {
    let surroundings: Vec<LabelSurroundings<'_>> = (0..subjects.len())
        .map(|index| LabelSurroundings::new(ground, subjects, index))
        .collect();
    // Marks with the fewest free positions come first, because the others can move.
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    order.sort_by_cached_key(|index| (surroundings[*index].free_positions(), *index));
    let mut spots: Vec<Option<LabelPlacement>> = vec![None; subjects.len()];
    for index in order {
        let reach = surroundings[index].reach();
        let taken: Vec<PixelRect> = spots
            .iter()
            .flatten()
            .map(|spot| spot.area)
            .filter(|area| area.intersects(&reach))
            .collect();
        spots[index] = Some(surroundings[index].best(&taken));
    }
    spots.into_iter().flatten().collect()
}

/// A mark and the obstacles of its number.
struct LabelSurroundings<'a> {
    ground: &'a BrightnessMap,
    subject: &'a LabelledBox,
    /// Boxes in the neighbourhood, except containers of its own box.
    others: Vec<PixelRect>,
}

impl<'a> LabelSurroundings<'a> {
    fn new(ground: &'a BrightnessMap, subjects: &'a [LabelledBox], index: usize) -> Self {
        let mut surroundings = Self {
            ground,
            subject: &subjects[index],
            others: Vec::new(),
        };
        let (own, reach) = (subjects[index].frame.bounds, surroundings.reach());
        surroundings.others = subjects
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != index)
            .map(|(_, other)| other.frame.bounds)
            .filter(|other| other.intersects(&reach) && !other.contains_box(&own))
            .collect();
        surroundings
    }

    /// Area in which the number may be placed.
    fn reach(&self) -> PixelRect {
        let LabelledBox { frame, normal, .. } = self.subject;
        let grown = frame.bounds.inflate(
            normal.width + frame.thickness,
            normal.height + frame.thickness,
        );
        // A number that would leave the image is moved into it.
        grown.union(&keep_within(grown, self.ground.frame))
    }

    fn best(&self, taken: &[PixelRect]) -> LabelPlacement {
        let LabelledBox {
            frame,
            normal,
            small,
        } = *self.subject;
        // Beside one of several close lines, a number must not be taller than the line, or it seems to belong to
        // another one.
        let large = self
            .outside(normal)
            .into_iter()
            .filter(|area| !frame.is_stacked && self.is_free(*area, taken))
            .map(|area| LabelPlacement { area, small: false });
        let small = self
            .outside(small)
            .into_iter()
            .chain(self.inside(small))
            .map(|area| LabelPlacement {
                area: keep_within(area, self.ground.frame),
                small: true,
            });
        let best = large
            .chain(small)
            .min_by_key(|spot| self.cost(*spot, taken));
        best.unwrap_or(LabelPlacement {
            area: self.subject.frame.bounds,
            small: true,
        })
    }

    /// Counts the positions at which the full-size number would hide nothing.
    fn free_positions(&self) -> usize {
        let places = self.outside(self.subject.normal);
        places
            .into_iter()
            .filter(|area| self.is_free(*area, &[]) && self.ground.edge_pixels(*area) == 0)
            .count()
    }

    /// Positions that touch the box from outside, best first: above and below, left and right, corners, then along its
    /// edges.
    fn outside(&self, size: Size2D<i32, ModelPx>) -> Vec<PixelRect> {
        let gap = self.subject.frame.thickness;
        let bounds = self.subject.frame.bounds.inflate(gap, gap);
        let (left, right) = (bounds.min.x, bounds.max.x - size.width);
        let (top, bottom) = (bounds.min.y, bounds.max.y - size.height);
        let middle = (top + bottom) / 2;
        let (above, below) = (bounds.min.y - size.height, bounds.max.y);
        let (before, after) = (bounds.min.x - size.width, bounds.max.x);
        let mut places = vec![
            (left, above),
            (right, above),
            (left, below),
            (right, below),
            (before, middle),
            (after, middle),
            (before, top),
            (before, bottom),
            (after, top),
            (after, bottom),
            (before, above),
            (after, above),
            (before, below),
            (after, below),
        ];
        if self.subject.frame.is_stacked {
            // Above and below are other lines.
            places.rotate_left(4);
        }
        let along = positions_between(left, right).flat_map(|x| [(x, above), (x, below)]);
        places
            .into_iter()
            .chain(along)
            .map(|(x, y)| PixelRect::from_origin_and_size(Pixel::new(x, y), size))
            .collect()
    }

    /// Positions inside the box: its corners, then along its edges and its centre.
    fn inside(&self, size: Size2D<i32, ModelPx>) -> Vec<PixelRect> {
        let bounds = self.subject.frame.bounds;
        let (left, right) = (bounds.min.x, bounds.max.x - size.width);
        let (top, bottom) = (bounds.min.y, bounds.max.y - size.height);
        let corners = [(right, top), (left, top), (right, bottom), (left, bottom)];
        let rows = [top, (top + bottom) / 2, bottom];
        let along = positions_between(left, right).flat_map(|x| rows.map(|y| (x, y)));
        corners
            .into_iter()
            .chain(along)
            .map(|(x, y)| PixelRect::from_origin_and_size(Pixel::new(x, y), size))
            .collect()
    }

    fn is_free(&self, area: PixelRect, taken: &[PixelRect]) -> bool {
        self.ground.frame.contains_box(&area)
            && !taken.iter().any(|other| other.intersects(&area))
            && !self.others.iter().any(|other| other.intersects(&area))
    }

    /// Cost of a position. Hiding another number is worst, then hiding content, then overlapping another box, to which
    /// the number would seem to belong, then overlapping its own box. A small number costs as much as one or two edge
    /// pixels.
    fn cost(&self, LabelPlacement { area, small }: LabelPlacement, taken: &[PixelRect]) -> i64 {
        let shared = |other: &PixelRect| {
            other
                .intersection(&area)
                .map_or(0, |both| i64::from(both.area()))
        };
        let numbers: i64 = taken.iter().map(shared).sum();
        let boxes: i64 = self.others.iter().map(shared).sum();
        let own = shared(&self.subject.frame.bounds);
        let small = if small { 24 } else { 0 };
        numbers * 128 + self.ground.edge_pixels(area) * 16 + boxes * 2 + own + small
    }
}

/// Returns sample positions between `low` and `high`, exclusive.
fn positions_between(low: i32, high: i32) -> impl Iterator<Item = i32> {
    /// Maximum number of positions.
    // Bounds the work of a long box; more positions differ too little to matter.
    const MAX_POSITIONS: i32 = 12;
    let step = ((high - low) / MAX_POSITIONS).max(3);
    (low + step..high).step_by(step as usize)
}

/// Moves an area into the frame as far as it fits.
fn keep_within(area: PixelRect, frame: PixelRect) -> PixelRect {
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
    use image::{Rgba, RgbaImage};
    use proptest::prelude::*;

    use super::*;

    const GAP: i32 = 2;

    fn area(x: i32, y: i32, width: i32, height: i32) -> PixelRect {
        PixelRect::from_origin_and_size(Pixel::new(x, y), Size2D::new(width, height))
    }

    fn subjects(boxes: &[PixelRect]) -> Vec<LabelledBox> {
        let subject = |bounds: &PixelRect| LabelledBox {
            frame: Outline {
                bounds: *bounds,
                thickness: GAP,
                is_stacked: false,
            },
            normal: Size2D::new(18, 12),
            small: Size2D::new(13, 9),
        };
        boxes.iter().map(subject).collect()
    }

    fn white(width: u32, height: u32) -> RgbaImage {
        RgbaImage::from_pixel(width, height, Rgba([255, 255, 255, 255]))
    }

    fn place(image: &RgbaImage, boxes: &[PixelRect]) -> Vec<LabelPlacement> {
        super::place_labels(&BrightnessMap::from_image(image), &subjects(boxes))
    }

    fn hides_nothing(spot: LabelPlacement, boxes: &[PixelRect]) -> bool {
        !boxes.iter().any(|other| other.intersects(&spot.area))
    }

    #[test]
    fn a_lone_box_has_its_number_above() {
        let spots = place(&white(200, 100), &[area(50, 40, 60, 20)]);
        assert_eq!(
            spots,
            [LabelPlacement {
                area: area(48, 26, 18, 12),
                small: false
            }]
        );
    }

    #[test]
    fn label_of_an_edge_box_stays_inside_the_image() {
        for corner in [
            area(0, 0, 60, 20),
            area(140, 0, 60, 20),
            area(0, 80, 60, 20),
            area(140, 80, 60, 20),
        ] {
            let [spot] = place(&white(200, 100), &[corner])[..] else {
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
        let icons: Vec<PixelRect> = (0..10).map(|i| area(10 + i * 26, 20, 24, 24)).collect();
        let spots = place(&white(300, 80), &icons);
        assert!(
            spots.iter().all(|spot| hides_nothing(*spot, &icons)),
            "{spots:?}"
        );
        assert_apart(&spots);
    }

    #[test]
    fn button_labels_are_placed_inside_their_dialog() {
        let boxes = [
            area(0, 0, 300, 200),
            area(40, 150, 80, 30),
            area(160, 150, 80, 30),
        ];
        let spots = place(&white(300, 200), &boxes);
        assert!(
            spots[1..]
                .iter()
                .all(|spot| hides_nothing(*spot, &boxes[1..]) && !spot.small),
            "{spots:?}"
        );
    }

    #[test]
    fn label_avoids_text_outside_elements() {
        let mut image = white(200, 100);
        for x in (40..120).step_by(2) {
            (25..39).for_each(|y| image.put_pixel(x, y, Rgba([0, 0, 0, 255])));
        }
        let [spot] = place(&image, &[area(50, 40, 60, 20)])[..] else {
            panic!("one number")
        };
        assert!(
            spot.area.min.y >= 60 || spot.area.max.x <= 50 || spot.area.min.x >= 110,
            "{spot:?}"
        );
    }

    #[test]
    fn dense_grid_labels_are_small_and_inside_their_box() {
        // A grid of boxes without gaps.
        let grid: Vec<PixelRect> = (0..9)
            .map(|i| area(i % 3 * 60, i / 3 * 30, 60, 30))
            .collect();
        let spots = place(&white(180, 90), &grid);
        for (spot, bounds) in spots.iter().zip(&grid) {
            assert!(
                spot.small && bounds.contains_box(&spot.area),
                "{spot:?} of {bounds:?}"
            );
        }
        assert_apart(&spots);
    }

    fn assert_apart(spots: &[LabelPlacement]) {
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
        fn every_mark_gets_a_label_inside_the_image(
            boxes in proptest::collection::vec((0i32..300, 0i32..200, 1i32..120, 1i32..60), 0..40)
        ) {
            let boxes: Vec<PixelRect> = boxes.into_iter().map(|(x, y, width, height)| area(x, y, width, height)).collect();
            let spots = place(&white(320, 240), &boxes);
            prop_assert_eq!(spots.len(), boxes.len());
            for spot in &spots {
                prop_assert!(area(0, 0, 320, 240).contains_box(&spot.area), "{:?}", spot);
            }
            // A full-size number covers no box (except containers of its own) and no other full-size number.
            let full: Vec<LabelPlacement> = spots.iter().filter(|spot| !spot.small).copied().collect();
            for (index, spot) in full.iter().enumerate() {
                prop_assert!(!full[..index].iter().any(|other| other.area.intersects(&spot.area)));
            }
            for (spot, own) in spots.iter().zip(&boxes).filter(|(spot, _)| !spot.small) {
                prop_assert!(boxes.iter().all(|other| other.contains_box(own) && other != own || !other.intersects(&spot.area)));
            }
        }
    }
}
