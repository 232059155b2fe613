//! Draws numbered boxes over a screenshot.
//!
//! It does not choose the elements: `select` does. Their list for a prompt is written in `prompt`.

use image::RgbaImage;
use motorium_proto::domain::element::Element;
use motorium_proto::domain::geometry::CaptureSize;
use motorium_proto::domain::id::ElementId;

use super::brightness_map::BrightnessMap;
use super::colour::{self, ColourScheme};
use super::label_placement::{LabelPlacement, LabelledBox, place_labels};
use super::outline::{Outline, Outlines};
use super::primitives::{GlyphRun, Pixel, PixelRect, fill};
use crate::space::{ModelRect, ModelSpace};

/// Box with its number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// Number to draw.
    pub id: ElementId,
    /// Box in pixels of the image.
    pub bounds: ModelRect,
}

/// Returns the marks of the elements visible in an image; `frame` is the size of their frame.
#[must_use]
pub fn marks(elements: &[Element], frame: CaptureSize, space: &ModelSpace) -> Vec<Mark> {
    let image_bounds = ModelRect::from_size(space.model_size());
    elements
        .iter()
        .map(|element| Mark {
            id: element.id,
            bounds: space.normalised_to_model(&element.bounds, frame),
        })
        .filter(|mark| mark.bounds.intersects(&image_bounds))
        .collect()
}

/// Draws numbered boxes over an image so that the marked content stays legible. A box is drawn around its element and
/// behind the letters of close neighbours; its number is placed beside it if there is room. Marks outside the image are
/// skipped.
pub fn draw(image: &mut RgbaImage, marks: &[Mark]) {
    if marks.is_empty() {
        return;
    }
    // All decisions use the unmodified image, and numbers are drawn after all boxes, so that no outline crosses a
    // number.
    let ground = BrightnessMap::from_image(image);
    let style = MarkStyle::for_image(image);
    let drawings: Vec<MarkDrawing> = marks
        .iter()
        .filter_map(|mark| MarkDrawing::new(mark, &ground, &style))
        .collect();
    let boxes: Vec<PixelRect> = drawings.iter().map(|drawing| drawing.bounds).collect();
    let frames = Outlines::around(&boxes, style.outline_thickness);
    let subjects: Vec<LabelledBox> = drawings
        .iter()
        .zip(frames.list())
        .map(|(drawing, frame)| drawing.subject(*frame, &style))
        .collect();
    let spots = place_labels(&ground, &subjects);
    for (index, drawing) in drawings.iter().enumerate() {
        frames.draw(index, image, &ground, drawing.scheme.fill);
    }
    for (drawing, spot) in drawings.iter().zip(spots) {
        drawing.draw_number(image, spot);
    }
}

/// Sizes that scale with the image.
struct MarkStyle {
    /// Thickness of an outline in pixels.
    outline_thickness: i32,
    /// Font size of the numbers in pixels.
    font_size: f32,
    small_font_size: f32,
    /// Padding around a number, in pixels.
    padding: i32,
}

impl MarkStyle {
    /// Chooses sizes in proportion to the longer side: legible at 1920 pixels, and never smaller than a model can read.
    fn for_image(image: &RgbaImage) -> Self {
        let side = image.width().max(image.height()) as f32;
        let font_size = (side * 15.0 / 1920.0).clamp(13.0, 60.0);
        Self {
            outline_thickness: (side / 960.0).round().max(1.0) as i32,
            font_size,
            small_font_size: (font_size * 0.8).max(11.0),
            padding: (side / 960.0).round().max(1.0) as i32,
        }
    }
}

/// Visible mark, ready to be drawn.
struct MarkDrawing {
    bounds: PixelRect,
    scheme: ColourScheme,
    number: GlyphRun,
    small_number: GlyphRun,
}

impl MarkDrawing {
    fn new(mark: &Mark, ground: &BrightnessMap, style: &MarkStyle) -> Option<Self> {
        let bounds = mark
            .bounds
            .round_out()
            .try_cast::<i32>()?
            .intersection(&ground.frame)?;
        let number = mark.id.to_string();
        Some(Self {
            bounds,
            scheme: colour::scheme_for(mark.id.0, brightness_around(ground, bounds)),
            number: GlyphRun::new(&number, style.font_size),
            small_number: GlyphRun::new(&number, style.small_font_size),
        })
    }

    fn subject(&self, frame: Outline, style: &MarkStyle) -> LabelledBox {
        let around = |line: &GlyphRun, padding: i32| {
            line.size() + euclid::Size2D::new(padding * 2, padding * 2)
        };
        LabelledBox {
            frame,
            normal: around(&self.number, style.padding),
            small: around(&self.small_number, 1),
        }
    }

    fn draw_number(&self, image: &mut RgbaImage, spot: LabelPlacement) {
        let line = if spot.small {
            &self.small_number
        } else {
            &self.number
        };
        fill(image, spot.area, self.scheme.fill);
        let margin = (spot.area.size() - line.size()) / 2;
        line.draw(
            image,
            Pixel::new(
                spot.area.min.x + margin.width,
                spot.area.min.y + margin.height,
            ),
            self.scheme.text,
        );
    }
}

/// Returns the mean brightness along the outside of a box, 0 to 255, from a few samples per side.
fn brightness_around(ground: &BrightnessMap, bounds: PixelRect) -> u8 {
    // Only light and dark ground are distinguished, and each mark pays for it.
    const SAMPLES: i32 = 8;
    let (mut sum, mut count) = (0u32, 0u32);
    let mut look_at = |x: i32, y: i32| {
        if let Some(brightness) = ground.brightness(Pixel::new(x, y)) {
            sum += u32::from(brightness);
            count += 1;
        }
    };
    for sample in 0..SAMPLES {
        let x = bounds.min.x + bounds.width() * sample / SAMPLES;
        let y = bounds.min.y + bounds.height() * sample / SAMPLES;
        [bounds.min.y - 2, bounds.max.y + 1]
            .into_iter()
            .for_each(|row| look_at(x, row));
        [bounds.min.x - 2, bounds.max.x + 1]
            .into_iter()
            .for_each(|column| look_at(column, y));
    }
    u8::try_from(sum / count.max(1)).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use image::Rgba;
    use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, ModelPoint};
    use proptest::prelude::*;

    use super::*;
    use crate::space::ImageSize;

    const WHITE: Rgba<u8> = Rgba([255, 255, 255, 255]);

    fn mark(id: u32, x: f64, y: f64, width: f64, height: f64) -> Mark {
        let corner = ModelPoint::new(x, y);
        Mark {
            id: ElementId(id),
            bounds: ModelRect::from_origin_and_size(corner, euclid::Size2D::new(width, height)),
        }
    }

    fn marked(width: u32, height: u32, marks: &[Mark]) -> RgbaImage {
        let mut image = RgbaImage::from_pixel(width, height, WHITE);
        draw(&mut image, marks);
        image
    }

    #[test]
    fn box_interior_is_not_drawn_over() {
        let image = marked(
            400,
            300,
            &[
                mark(1, 50.0, 50.0, 100.0, 30.0),
                mark(12, 200.0, 120.0, 16.0, 16.0),
            ],
        );
        for (x1, y1, x2, y2) in [(50, 50, 150, 80), (200, 120, 216, 136)] {
            for (x, y) in (y1..y2).flat_map(|y| (x1..x2).map(move |x| (x, y))) {
                assert_eq!(*image.get_pixel(x, y), WHITE, "at {x},{y}");
            }
            // The outline is drawn.
            assert_ne!(*image.get_pixel(x1 - 1, y1 + 3), WHITE);
            assert_ne!(*image.get_pixel(x2, y2 - 3), WHITE);
        }
    }

    #[test]
    fn numbers_differ() {
        let bounds = (50.0, 50.0, 100.0, 30.0);
        let image = |id| {
            marked(
                400,
                300,
                &[mark(id, bounds.0, bounds.1, bounds.2, bounds.3)],
            )
        };
        // There are 10 hues: 3 and 13 have the same colour and differ only in the number.
        assert_ne!(image(3), image(13));
        assert_eq!(image(3), image(3));
    }

    #[test]
    fn boxes_are_seen_on_dark_screens_too() {
        let mut image = RgbaImage::from_pixel(300, 200, Rgba([20, 20, 24, 255]));
        draw(&mut image, &[mark(1, 50.0, 50.0, 100.0, 30.0)]);
        let [red, green, blue, _] = image.get_pixel(49, 60).0;
        assert!(u32::from(red) + u32::from(green) + u32::from(blue) > 400);
    }

    #[test]
    fn nothing_to_mark_changes_nothing() {
        assert!(marked(40, 30, &[]).pixels().all(|pixel| *pixel == WHITE));
        let outside = [
            mark(1, 500.0, 500.0, 10.0, 10.0),
            mark(2, -50.0, 0.0, 10.0, 10.0),
            mark(3, f64::NAN, 0.0, 1.0, 1.0),
        ];
        assert!(
            marked(40, 30, &outside)
                .pixels()
                .all(|pixel| *pixel == WHITE)
        );
    }

    #[test]
    fn only_visible_elements_are_marked() {
        use motorium_proto::domain::element::{ElementKind, ElementSource, ElementState};
        let frame = CaptureSize::new(1000, 500);
        let element = |id: u32, bounds: CaptureRect| Element {
            id: ElementId(id),
            kind: ElementKind::Button,
            content: String::new(),
            bounds: crate::space::normalise(bounds, frame),
            interactable: true,
            confidence: 1.0,
            centre: bounds.center(),
            source: ElementSource::Detector,
            state: ElementState::default(),
        };
        let rect =
            |x1, y1, x2, y2| CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2));
        let elements = [
            element(1, rect(100, 100, 200, 150)),
            element(2, rect(600, 300, 700, 350)),
        ];
        let closer =
            ModelSpace::for_region(rect(500, 250, 1000, 500), ImageSize::new(1000, 500)).unwrap();
        let shown = marks(&elements, frame, &closer);
        assert_eq!(shown.iter().map(|mark| mark.id.0).collect::<Vec<_>>(), [2]);
        assert_eq!(
            shown[0].bounds,
            ModelRect::new(ModelPoint::new(200.0, 100.0), ModelPoint::new(400.0, 200.0))
        );
    }

    proptest! {
        #[test]
        fn arbitrary_marks_draw_without_panic(
            width in 1u32..300, height in 1u32..200,
            boxes in proptest::collection::vec((-50.0..350.0f64, -50.0..250.0f64, 0.0..200.0f64, 0.0..100.0f64, any::<u32>()), 0..12)
        ) {
            let marks: Vec<Mark> = boxes.into_iter().map(|(x, y, w, h, id)| mark(id, x, y, w, h)).collect();
            marked(width, height, &marks);
        }
    }
}
