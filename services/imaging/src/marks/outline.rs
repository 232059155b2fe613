//! Outlines around elements.
//!
//! An outline is outside its box. Where elements are closer than the outlines are thick, outlines are thin, boxes that
//! overlap slightly (lines of text with boxes that are too tall) are separated halfway, and an outline skips the ink of
//! every element that it crosses.
//!
//! The numbers are not placed here but in `label_placement`.

use image::{Rgba, RgbaImage};

use super::brightness_map::BrightnessMap;
use super::primitives::{Pixel, PixelRect, fill};

/// Maximum vertical gap, in pixels, of boxes that count as lines of close text.
const STACKED_GAP_PX: i32 = 4;

/// Outline of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outline {
    pub(super) bounds: PixelRect,
    /// Thickness in pixels.
    pub(super) thickness: i32,
    /// True if another box is close above or below.
    pub(super) is_stacked: bool,
}

/// Outlines of all elements of an image.
pub(super) struct Outlines<'a> {
    boxes: &'a [PixelRect],
    frames: Vec<Outline>,
}

impl<'a> Outlines<'a> {
    /// Creates the outlines of `boxes` with at most the given thickness.
    pub(super) fn around(boxes: &'a [PixelRect], thickness: i32) -> Self {
        let mut frames: Vec<Outline> = boxes
            .iter()
            .map(|&bounds| Outline {
                bounds,
                thickness,
                is_stacked: false,
            })
            .collect();
        for (index, one) in boxes.iter().enumerate() {
            let near = one.inflate(STACKED_GAP_PX, STACKED_GAP_PX);
            for (other_index, other) in boxes.iter().enumerate().skip(index + 1) {
                let is_neighbour =
                    near.intersects(other) && !one.contains_box(other) && !other.contains_box(one);
                if is_neighbour {
                    separate_neighbours(&mut frames, index, other_index);
                }
            }
        }
        Self { boxes, frames }
    }

    /// Outlines in the order of the boxes.
    pub(super) fn list(&self) -> &[Outline] {
        &self.frames
    }

    /// Draws the outline of the box with this index. `ground` describes the unmodified image.
    pub(super) fn draw(
        &self,
        index: usize,
        image: &mut RgbaImage,
        ground: &BrightnessMap,
        colour: Rgba<u8>,
    ) {
        let Outline {
            bounds, thickness, ..
        } = self.frames[index];
        let outer = bounds.inflate(thickness, thickness);
        let own = self.boxes[index];
        let crossed: Vec<(PixelRect, u8)> = self
            .boxes
            .iter()
            .filter(|other| {
                other.intersects(&outer) && (**other == own || !other.contains_box(&own))
            })
            .map(|other| (*other, ground.background(*other)))
            .collect();
        for side in sides(bounds, outer) {
            draw_side(image, side, &crossed, ground, colour);
        }
    }
}

/// Fills one side, except for the ink of crossed elements.
fn draw_side(
    image: &mut RgbaImage,
    side: PixelRect,
    crossed: &[(PixelRect, u8)],
    ground: &BrightnessMap,
    colour: Rgba<u8>,
) {
    let crossed: Vec<&(PixelRect, u8)> = crossed
        .iter()
        .filter(|(other, _)| other.intersects(&side))
        .collect();
    if crossed.is_empty() {
        fill(image, side, colour);
        return;
    }
    let Some(side) = side.intersection(&ground.frame) else {
        return;
    };
    for place in side
        .y_range()
        .flat_map(|y| side.x_range().map(move |x| Pixel::new(x, y)))
    {
        let is_ink = crossed
            .iter()
            .any(|(other, background)| other.contains(place) && ground.is_ink(place, *background));
        if !is_ink {
            image.put_pixel(place.x as u32, place.y as u32, colour);
        }
    }
}

/// Returns the four sides of an outline: the area between the inner and the outer box.
fn sides(inner: PixelRect, outer: PixelRect) -> [PixelRect; 4] {
    let side = |x1, y1, x2, y2| PixelRect::new(Pixel::new(x1, y1), Pixel::new(x2, y2));
    [
        side(outer.min.x, outer.min.y, outer.max.x, inner.min.y),
        side(outer.min.x, inner.max.y, outer.max.x, outer.max.y),
        side(outer.min.x, inner.min.y, inner.min.x, inner.max.y),
        side(inner.max.x, inner.min.y, outer.max.x, inner.max.y),
    ]
}

/// Thins the outlines of two neighbours, and separates stacked boxes.
fn separate_neighbours(frames: &mut [Outline], one: usize, other: usize) {
    let (upper, lower) = if frames[one].bounds.min.y <= frames[other].bounds.min.y {
        (one, other)
    } else {
        (other, one)
    };
    let (above, below) = (frames[upper].bounds, frames[lower].bounds);
    let overlap = above.max.y - below.min.y;
    let is_stacked = overlap * 2 < above.height().min(below.height())
        && above.min.x < below.max.x
        && below.min.x < above.max.x;
    for index in [upper, lower] {
        frames[index].thickness = 1;
        frames[index].is_stacked |= is_stacked;
    }
    if is_stacked && overlap > 0 {
        frames[upper].bounds.max.y -= overlap - overlap / 2;
        frames[lower].bounds.min.y += overlap / 2;
    }
}

#[cfg(test)]
mod tests {
    use euclid::Size2D;

    use super::*;

    const WHITE: Rgba<u8> = Rgba([255, 255, 255, 255]);
    const BLACK: Rgba<u8> = Rgba([0, 0, 0, 255]);
    const RED: Rgba<u8> = Rgba([255, 0, 0, 255]);

    fn area(x: i32, y: i32, width: i32, height: i32) -> PixelRect {
        PixelRect::from_origin_and_size(Pixel::new(x, y), Size2D::new(width, height))
    }

    fn check(boxes: &[PixelRect], expected: &[(PixelRect, i32)], are_stacked: bool) {
        let frames = Outlines::around(boxes, 2);
        let got: Vec<(PixelRect, i32)> = frames
            .list()
            .iter()
            .map(|frame| (frame.bounds, frame.thickness))
            .collect();
        assert_eq!(got, expected);
        let stacked = frames.list().iter().all(|frame| frame.is_stacked);
        assert_eq!(stacked, are_stacked, "{boxes:?}");
    }

    #[test]
    fn adjacent_outlines_are_thin_and_separated() {
        let apart = [area(10, 10, 80, 14), area(10, 40, 80, 14)];
        check(&apart, &[(apart[0], 2), (apart[1], 2)], false);
        let close = [area(10, 10, 80, 12), area(10, 24, 80, 12)];
        check(&close, &[(close[0], 1), (close[1], 1)], true);
        let overlapping = [area(10, 10, 80, 16), area(10, 22, 60, 16)];
        check(
            &overlapping,
            &[(area(10, 10, 80, 14), 1), (area(10, 24, 60, 14), 1)],
            true,
        );
        // A container is not a neighbour of its content.
        let dialog = [area(0, 0, 200, 100), area(2, 2, 80, 16)];
        check(&dialog, &[(dialog[0], 2), (dialog[1], 2)], false);
        // Side by side, or mostly overlapping: nothing to separate.
        let beside = [area(10, 10, 80, 16), area(88, 12, 80, 16)];
        check(&beside, &[(beside[0], 1), (beside[1], 1)], false);
    }

    #[test]
    fn outline_does_not_cover_letters_of_a_neighbour() {
        // The neighbour's letters are in every fourth column and reach into the row of the outline.
        let boxes = [area(10, 10, 80, 12), area(10, 18, 80, 12)];
        let untouched = RgbaImage::from_fn(100, 40, |x, y| {
            let is_letter = x % 4 == 0 && (16..30).contains(&y) && (10..90).contains(&x);
            if is_letter { BLACK } else { WHITE }
        });
        let mut image = untouched.clone();
        let frames = Outlines::around(&boxes, 2);
        frames.draw(0, &mut image, &BrightnessMap::from_image(&untouched), RED);
        assert!(image.pixels().any(|pixel| *pixel == RED));
        for (x, y, pixel) in untouched.enumerate_pixels() {
            let in_neighbour = boxes[1].contains(Pixel::new(x as i32, y as i32));
            if in_neighbour && *pixel == BLACK {
                assert_eq!(*image.get_pixel(x, y), BLACK, "at {x},{y}");
            }
        }
    }
}
