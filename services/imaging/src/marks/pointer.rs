//! Pointer overlay for models: a ring around the mouse pointer, an arrow to it, and a label.
//!
//! The inside of the ring stays free, so that the pointer and its target are visible.

use euclid::{Size2D, Vector2D};
use image::RgbaImage;
use imageproc::drawing::draw_polygon_mut;
use imageproc::point::Point;
use motorium_proto::domain::geometry::{ModelPoint, ModelPx};

use super::colour::POINTER;
use super::primitives::{self, GlyphRun, Pixel, PixelRect, fill, stroke};

/// Outer radius of the ring in pixels. Ring, arrow and colour are known to work for pointer checks by models.
pub const RING_RADIUS: f32 = 12.0;
/// Thickness of the ring in pixels, measured inwards.
pub const RING_THICKNESS: f32 = 4.0;
/// Offset of the arrow's tail from the pointer on both axes, in pixels.
pub const ARROW_OFFSET: i32 = 80;
/// Label at the arrow's tail.
pub const LABEL: &str = "mouse pointer";

// These sizes were used when pointer checks by models were tried. Smaller parts get lost when a model scales its image
// down, and larger ones hide more of the screen.
/// Thickness of the arrow's shaft, in pixels.
const SHAFT_THICKNESS: f32 = 4.0;
/// Length of the arrow's head, in pixels.
const HEAD_LENGTH: f32 = 14.0;
/// Half of the width of the arrow's head, in pixels.
const HEAD_HALF_WIDTH: f32 = 8.0;
/// Size of the font of the label, in pixels.
const TEXT_SIZE: f32 = 18.0;
/// Space around the text of the label, in pixels.
const TEXT_PADDING: i32 = 4;

type Vector = Vector2D<f32, ModelPx>;

/// Draws the ring around the pointer at `at`, the arrow from the upper left, and the label. Near an edge the arrow
/// comes from the other side, so that the label stays inside the image.
pub fn draw_pointer(image: &mut RgbaImage, at: ModelPoint) {
    let words = GlyphRun::new(LABEL, TEXT_SIZE);
    let plan = PointerLayout::new(
        image,
        at,
        words.size() + Size2D::new(TEXT_PADDING, TEXT_PADDING) * 2,
    );
    draw_arrow(image, plan.tail.to_f32(), plan.pointer.to_f32());
    draw_ring(image, plan.pointer);
    fill(image, plan.label, POINTER.fill);
    words.draw(
        image,
        plan.label.min + Vector2D::new(TEXT_PADDING, TEXT_PADDING),
        POINTER.text,
    );
}

/// Positions of the parts of the overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PointerLayout {
    pointer: Pixel,
    tail: Pixel,
    label: PixelRect,
}

impl PointerLayout {
    fn new(image: &RgbaImage, at: ModelPoint, words: Size2D<i32, ModelPx>) -> Self {
        let frame = primitives::image_bounds(image);
        let pointer =
            Pixel::new(at.x.round() as i32, at.y.round() as i32).clamp(frame.min, frame.max);
        // Up and left, unless the label fits only on the other side.
        let flip = |room_before: i32, room_after: i32, needed: i32| {
            room_before < needed && room_after > room_before
        };
        let from_right = flip(
            pointer.x,
            frame.max.x - pointer.x,
            ARROW_OFFSET + words.width / 2,
        );
        let from_below = flip(
            pointer.y,
            frame.max.y - pointer.y,
            ARROW_OFFSET + words.height,
        );
        let reach = |flipped: bool| if flipped { ARROW_OFFSET } else { -ARROW_OFFSET };
        let tail = pointer + Vector2D::new(reach(from_right), reach(from_below));
        let top = if from_below {
            tail.y
        } else {
            tail.y - words.height
        };
        let corner = Pixel::new(tail.x - words.width / 2, top);
        let corner = corner.clamp(frame.min, (frame.max - words.to_vector()).max(frame.min));
        Self {
            pointer,
            tail,
            label: PixelRect::from_origin_and_size(corner, words),
        }
    }
}

/// Draws a ring with outer radius [`RING_RADIUS`].
fn draw_ring(image: &mut RgbaImage, centre: Pixel) {
    let (middle, half) = (RING_RADIUS - RING_THICKNESS / 2.0, RING_THICKNESS / 2.0);
    let area = PixelRect::new(centre, centre + Vector2D::new(1, 1))
        .inflate(RING_RADIUS as i32 + 1, RING_RADIUS as i32 + 1);
    let centre = centre.to_f32() + Vector2D::new(0.5, 0.5);
    stroke(image, area, half, POINTER.fill, |x, y| {
        ((x - centre.x).hypot(y - centre.y) - middle).abs()
    });
}

/// Draws a straight arrow whose tip touches the ring.
fn draw_arrow(
    image: &mut RgbaImage,
    tail: euclid::Point2D<f32, ModelPx>,
    pointer: euclid::Point2D<f32, ModelPx>,
) {
    let along: Vector = (pointer - tail).normalize();
    let tip = pointer - along * RING_RADIUS;
    let neck = tip - along * HEAD_LENGTH;
    let half_width = SHAFT_THICKNESS / 2.0;
    let area = PixelRect::from_points([tail.round().to_i32(), neck.round().to_i32()]).inflate(4, 4);
    stroke(image, area, half_width, POINTER.fill, |x, y| {
        distance_to_segment(x, y, tail, neck)
    });
    let across = Vector::new(-along.y, along.x) * HEAD_HALF_WIDTH;
    let corner = |corner: euclid::Point2D<f32, ModelPx>| {
        Point::new(corner.x.round() as i32, corner.y.round() as i32)
    };
    draw_polygon_mut(
        image,
        &[corner(tip), corner(neck + across), corner(neck - across)],
        POINTER.fill,
    );
}

fn distance_to_segment(
    x: f32,
    y: f32,
    start: euclid::Point2D<f32, ModelPx>,
    end: euclid::Point2D<f32, ModelPx>,
) -> f32 {
    let (line, point) = (end - start, Vector::new(x - start.x, y - start.y));
    let along = (point.dot(line) / line.square_length().max(f32::EPSILON)).clamp(0.0, 1.0);
    (point - line * along).length()
}

#[cfg(test)]
mod tests {
    use image::Rgba;
    use proptest::prelude::*;

    use super::*;

    const WHITE: Rgba<u8> = Rgba([255, 255, 255, 255]);

    fn plan(width: u32, height: u32, x: f64, y: f64) -> PointerLayout {
        PointerLayout::new(
            &RgbaImage::new(width, height),
            ModelPoint::new(x, y),
            Size2D::new(120, 24),
        )
    }

    fn check_tail(x: f64, y: f64, expected: (i32, i32)) {
        let plan = plan(800, 600, x, y);
        assert_eq!(
            (plan.tail.x - plan.pointer.x, plan.tail.y - plan.pointer.y),
            expected,
            "pointer at {x},{y}"
        );
    }

    #[test]
    fn arrow_tail_is_placed_where_there_is_room() {
        check_tail(400.0, 300.0, (-80, -80));
        check_tail(10.0, 300.0, (80, -80));
        check_tail(400.0, 10.0, (-80, 80));
        check_tail(0.0, 0.0, (80, 80));
        check_tail(799.0, 599.0, (-80, -80));
    }

    #[test]
    fn the_pointer_itself_stays_visible() {
        let mut image = RgbaImage::from_pixel(400, 300, WHITE);
        draw_pointer(&mut image, ModelPoint::new(200.0, 150.0));
        assert_eq!(*image.get_pixel(200, 150), WHITE);
        assert_eq!(*image.get_pixel(205, 153), WHITE);
        for (x, y) in [(190, 150), (210, 150), (200, 140), (200, 160)] {
            assert_eq!(*image.get_pixel(x, y), POINTER.fill, "the ring at {x},{y}");
        }
        assert_eq!(*image.get_pixel(160, 110), POINTER.fill, "the arrow");
    }

    proptest! {
        #[test]
        fn pointer_label_is_inside_the_image_beside_the_pointer(
            width in 300u32..3000, height in 250u32..2000, x in 0.0..1.0, y in 0.0..1.0
        ) {
            let plan = plan(width, height, x * f64::from(width), y * f64::from(height));
            prop_assert!(PixelRect::from_size(Size2D::new(width as i32, height as i32)).contains_box(&plan.label));
            let ring = PixelRect::new(plan.pointer, plan.pointer).inflate(RING_RADIUS as i32, RING_RADIUS as i32);
            prop_assert!(!ring.intersects(&plan.label));
        }

        #[test]
        fn arbitrary_pointers_draw_without_panic(width in 1u32..300, height in 1u32..200, x in any::<f64>(), y in any::<f64>()) {
            draw_pointer(&mut RgbaImage::new(width, height), ModelPoint::new(x, y));
        }
    }
}
