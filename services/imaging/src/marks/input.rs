//! Overlay of input for people who watch: a halo around the pointer, ripples where a button was pressed, and the box of a
//! target.
//!
//! It is drawn onto copies of frames that viewers receive. It is never drawn onto a frame that is parsed or compared, nor
//! onto the desktop itself.

use euclid::{Box2D, Size2D, Vector2D};
use image::{Rgba, RgbaImage};
use motorium_proto::domain::geometry::{CapturePoint, CapturePx, CaptureRect};

use super::primitives::{PixelRect, blend, image_bounds};

/// Radius of the halo around the pointer, in pixels at scale 1.
// Half again the size of a usual pointer (24 px), so that it is seen around it.
pub const HALO_RADIUS: f32 = 20.0;
/// Radius that a ripple ends with, in pixels at scale 1.
pub const RIPPLE_RADIUS: f32 = 40.0;
/// Distance between a target and its box, in pixels at scale 1.
pub const TARGET_MARGIN: i32 = 3;

/// Thickness of the lines, in pixels at scale 1. Thinner ones vanish when a viewer scales the stream down by half.
const LINE: f32 = 3.0;
/// Opacity of the halo: what is below it stays legible.
const HALO_OPACITY: f32 = 0.45;
/// Colour of the halo. This yellow is rare on desktops.
const HALO_COLOUR: Rgba<u8> = Rgba([255, 214, 10, 255]);
/// Colour of ripples and target boxes. This red is rare on desktops.
const INPUT_COLOUR: Rgba<u8> = Rgba([229, 24, 82, 255]);
/// Colour of the edge around them. With it they can be seen on red backgrounds as well.
const EDGE_COLOUR: Rgba<u8> = Rgba([255, 255, 255, 255]);

/// Draws the halo around the pointer. Draw the pointer over it.
pub fn draw_halo(image: &mut RgbaImage, pointer: CapturePoint, scale: f32) {
    let radius = HALO_RADIUS * scale;
    paint(image, around(pointer, radius), HALO_COLOUR, |x, y| {
        covered(radius, distance(pointer, x, y)) * HALO_OPACITY
    });
}

/// Draws a ripple of this age (0 at the press, 1 at its end): a ring that widens and fades.
pub fn draw_ripple(image: &mut RgbaImage, press: CapturePoint, age: f32, scale: f32) {
    let age = age.clamp(0.0, 1.0);
    let strength = fading(age);
    // It begins at a visible size: the first frame after a press is often the only one that a slow viewer gets.
    let radius = RIPPLE_RADIUS * scale * (0.35 + 0.65 * age);
    let half_line = LINE * scale / 2.0;
    let area = around(press, radius + 2.0 * half_line);
    let ring = |width: f32| {
        move |x: f32, y: f32| covered(width, (distance(press, x, y) - radius).abs()) * strength
    };
    paint(image, area, EDGE_COLOUR, ring(2.0 * half_line));
    paint(image, area, INPUT_COLOUR, ring(half_line));
}

/// Draws the box of a target of this age (0 to 1), a little outside of it: what it frames stays as it is.
pub fn draw_target(image: &mut RgbaImage, target: CaptureRect, age: f32, scale: f32) {
    let strength = fading(age.clamp(0.0, 1.0));
    let margin = (TARGET_MARGIN as f32 * scale).round();
    let half_line = LINE * scale / 2.0;
    let centre = target.to_f32().center();
    let half: Size2D<f32, CapturePx> = target.to_f32().size() / 2.0;
    let reach = (2.0 * half_line + margin).ceil() as i32 + 1;
    let area = target.inflate(reach, reach);
    let frame = |width: f32| {
        move |x: f32, y: f32| {
            let beyond_x = (x - centre.x).abs() - half.width - margin - half_line;
            let beyond_y = (y - centre.y).abs() - half.height - margin - half_line;
            covered(width, beyond_x.max(beyond_y).abs()) * strength
        }
    };
    paint(image, area, EDGE_COLOUR, frame(2.0 * half_line));
    paint(image, area, INPUT_COLOUR, frame(half_line));
}

/// Returns the opacity at an age: full for the first half, then falling to none.
fn fading(age: f32) -> f32 {
    (2.0 - 2.0 * age).min(1.0)
}

/// Returns how much of a pixel a shape covers that extends to `radius`, at a distance from its middle.
fn covered(radius: f32, distance: f32) -> f32 {
    (radius + 0.5 - distance).clamp(0.0, 1.0)
}

fn distance(from: CapturePoint, x: f32, y: f32) -> f32 {
    let centre = from.to_f32() + Vector2D::new(0.5, 0.5);
    (x - centre.x).hypot(y - centre.y)
}

fn around(point: CapturePoint, radius: f32) -> CaptureRect {
    let reach = radius.ceil() as i32 + 1;
    Box2D::new(point, point + Vector2D::new(1, 1)).inflate(reach, reach)
}

/// Blends a colour onto the pixels of an area, as far as each is covered.
fn paint(
    image: &mut RgbaImage,
    area: CaptureRect,
    colour: Rgba<u8>,
    coverage: impl Fn(f32, f32) -> f32,
) {
    let area: PixelRect = area.cast_unit();
    let Some(area) = area.intersection(&image_bounds(image)) else {
        return;
    };
    for y in area.y_range() {
        for x in area.x_range() {
            let covered = coverage(x as f32 + 0.5, y as f32 + 0.5);
            blend(image, x, y, colour, covered);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GREY: Rgba<u8> = Rgba([128, 128, 128, 255]);

    fn image() -> RgbaImage {
        RgbaImage::from_pixel(400, 300, GREY)
    }

    fn is_red(pixel: &Rgba<u8>) -> bool {
        let [red, green, blue, _] = pixel.0;
        red > green.saturating_add(60) && red > blue.saturating_add(60)
    }

    #[test]
    fn a_halo_surrounds_the_pointer_and_leaves_the_rest() {
        let mut image = image();
        draw_halo(&mut image, CapturePoint::new(200, 150), 1.0);
        let [red, _, blue, _] = image.get_pixel(210, 150).0;
        assert!(red > 150 && blue < 110, "yellow: {red} {blue}");
        assert_eq!(*image.get_pixel(222, 150), GREY);
        assert_eq!(*image.get_pixel(200, 172), GREY);
    }

    #[test]
    fn a_ripple_widens_and_fades() {
        let press = CapturePoint::new(200, 150);
        let ring_at = |age: f32| {
            let mut image = image();
            draw_ripple(&mut image, press, age, 1.0);
            (200..399).find(|&x| is_red(image.get_pixel(x, 150)))
        };
        let (young, older) = (ring_at(0.0).unwrap(), ring_at(0.5).unwrap());
        assert!((210..216).contains(&young), "{young}");
        assert!(older > young + 8, "{young} {older}");
        assert_eq!(ring_at(1.0), None, "it is gone");
    }

    #[test]
    fn a_target_is_framed_and_not_covered() {
        let mut image = image();
        let target = CaptureRect::new(CapturePoint::new(100, 80), CapturePoint::new(180, 110));
        draw_target(&mut image, target, 0.0, 1.0);
        for y in target.y_range() {
            for x in target.x_range() {
                assert_eq!(*image.get_pixel(x as u32, y as u32), GREY, "({x}, {y})");
            }
        }
        for (x, y) in [(95, 95), (184, 95), (140, 75), (140, 114)] {
            assert!(is_red(image.get_pixel(x, y)), "({x}, {y})");
        }
        assert_eq!(*image.get_pixel(85, 95), GREY);
    }

    #[test]
    fn lines_are_as_thick_as_the_scale() {
        let thickness = |scale: f32| {
            let mut image = image();
            let target = CaptureRect::new(CapturePoint::new(100, 80), CapturePoint::new(180, 110));
            draw_target(&mut image, target, 0.0, scale);
            (0..100).filter(|&x| is_red(image.get_pixel(x, 95))).count()
        };
        assert!(thickness(2.0) > thickness(1.0) + 1);
    }

    proptest! {
        #[test]
        fn input_marks_draw_anywhere_without_panic(
            x in -5_000..5_000, y in -5_000..5_000, width in 0..3_000, height in 0..3_000, age in -1.0f32..2.0, scale in 0.5f32..3.0
        ) {
            let mut image = RgbaImage::new(60, 40);
            let at = CapturePoint::new(x, y);
            draw_halo(&mut image, at, scale);
            draw_ripple(&mut image, at, age, scale);
            let target = CaptureRect::new(at, at + Vector2D::new(width, height));
            draw_target(&mut image, target, age, scale);
        }
    }
}
