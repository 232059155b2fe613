//! Drawing primitives of marks: text, filled boxes, round strokes.
//!
//! Everything is clipped to the image. Curved and diagonal edges are antialiased.

use std::sync::LazyLock;

use ab_glyph::{Font, FontRef, Glyph, OutlinedGlyph, PxScale, ScaleFont, point};
use euclid::{Box2D, Point2D, Size2D};
use image::{Rgba, RgbaImage};
use imageproc::drawing::draw_filled_rect_mut;
use imageproc::rect::Rect;
use motorium_proto::domain::geometry::ModelPx;

/// Pixel of the image being drawn on.
pub(super) type Pixel = Point2D<i32, ModelPx>;
/// Box of pixels of the image being drawn on; `max` is exclusive.
pub(super) type PixelRect = Box2D<i32, ModelPx>;

/// Condensed bold font: the largest legible number in the least space.
static FONT: LazyLock<FontRef<'static>> = LazyLock::new(|| {
    FontRef::try_from_slice(dejavu::sans_condensed::bold())
        .expect("the font is part of the program")
});

/// Line of text, laid out but not positioned.
pub(super) struct GlyphRun {
    glyphs: Vec<OutlinedGlyph>,
    /// Ink box, relative to the start of the line.
    bounds: ab_glyph::Rect,
}

impl GlyphRun {
    /// Lays out `text` at a font size of `size` pixels.
    pub(super) fn new(text: &str, size: f32) -> Self {
        let font = FONT.as_scaled(PxScale::from(size));
        let mut caret = 0.0;
        let mut previous = None;
        let mut glyphs = Vec::new();
        for id in text.chars().map(|character| font.glyph_id(character)) {
            caret += previous.map_or(0.0, |previous| font.kern(previous, id));
            let glyph: Glyph = id.with_scale_and_position(font.scale(), point(caret, 0.0));
            caret += font.h_advance(id);
            previous = Some(id);
            glyphs.extend(FONT.outline_glyph(glyph));
        }
        let bounds = glyphs
            .iter()
            .map(OutlinedGlyph::px_bounds)
            .reduce(|all, next| ab_glyph::Rect {
                min: point(all.min.x.min(next.min.x), all.min.y.min(next.min.y)),
                max: point(all.max.x.max(next.max.x), all.max.y.max(next.max.y)),
            });
        Self {
            glyphs,
            bounds: bounds.unwrap_or_default(),
        }
    }

    /// Size of the ink in pixels.
    pub(super) fn size(&self) -> Size2D<i32, ModelPx> {
        Size2D::new(
            self.bounds.width().ceil() as i32,
            self.bounds.height().ceil() as i32,
        )
    }

    /// Draws the line with the top left corner of its ink at `corner`.
    pub(super) fn draw(&self, image: &mut RgbaImage, corner: Pixel, colour: Rgba<u8>) {
        for glyph in &self.glyphs {
            let bounds = glyph.px_bounds();
            let x = corner.x + (bounds.min.x - self.bounds.min.x) as i32;
            let y = corner.y + (bounds.min.y - self.bounds.min.y) as i32;
            glyph.draw(|dx, dy, coverage| {
                blend(image, x + dx as i32, y + dy as i32, colour, coverage)
            });
        }
    }
}

/// Fills a box.
pub(super) fn fill(image: &mut RgbaImage, area: PixelRect, colour: Rgba<u8>) {
    let Some(area) = area.intersection(&image_bounds(image)) else {
        return;
    };
    let rect = Rect::at(area.min.x, area.min.y).of_size(area.width() as u32, area.height() as u32);
    draw_filled_rect_mut(image, rect, colour);
}

/// Paints pixels near a shape: full colour where `distance` to a pixel's centre is at most `radius`, fading out over
/// one pixel.
pub(super) fn stroke(
    image: &mut RgbaImage,
    area: PixelRect,
    radius: f32,
    colour: Rgba<u8>,
    distance: impl Fn(f32, f32) -> f32,
) {
    for y in area.y_range() {
        for x in area.x_range() {
            let coverage = radius + 0.5 - distance(x as f32 + 0.5, y as f32 + 0.5);
            blend(image, x, y, colour, coverage);
        }
    }
}

/// Returns the bounds of the image.
pub(super) fn image_bounds(image: &RgbaImage) -> PixelRect {
    let side = |length: u32| i32::try_from(length).unwrap_or(i32::MAX);
    PixelRect::from_size(Size2D::new(side(image.width()), side(image.height())))
}

/// Blends `coverage` (0 to 1) of a colour onto a pixel, if it is inside the image.
pub(super) fn blend(image: &mut RgbaImage, x: i32, y: i32, colour: Rgba<u8>, coverage: f32) {
    let coverage = coverage.clamp(0.0, 1.0);
    let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else {
        return;
    };
    if coverage == 0.0 {
        return;
    }
    let Some(pixel) = image.get_pixel_mut_checked(x, y) else {
        return;
    };
    for (channel, ink) in pixel.0.iter_mut().zip(colour.0).take(3) {
        *channel =
            (f32::from(*channel) + (f32::from(ink) - f32::from(*channel)) * coverage).round() as u8;
    }
}
