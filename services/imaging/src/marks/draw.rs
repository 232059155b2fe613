//! Numbered boxes over a screenshot.

use image::RgbaImage;
use motorium_proto::domain::element::Element;
use motorium_proto::domain::geometry::CaptureSize;
use motorium_proto::domain::id::ElementId;

use super::colour::{self, Scheme};
use super::frame::{Frame, Frames};
use super::ground::Ground;
use super::ink::{Area, Line, Place, fill};
use super::layout::{Spot, Subject, place};
use crate::space::{ModelRect, ModelSpace};

/// One box with its number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// The number that is drawn.
    pub id: ElementId,
    /// Where, in the picture that is drawn on.
    pub bounds: ModelRect,
}

/// The marks of the elements that show in a picture, where `frame` is the extent of the frame that they are on.
#[must_use]
pub fn marks(elements: &[Element], frame: CaptureSize, space: &ModelSpace) -> Vec<Mark> {
    let picture = ModelRect::from_size(space.model_size());
    elements
        .iter()
        .map(|element| Mark {
            id: element.id,
            bounds: space.normalised_to_model(&element.bounds, frame),
        })
        .filter(|mark| mark.bounds.intersects(&picture))
        .collect()
}

/// Draws numbered boxes over a picture so that what they number can still be read. A box is drawn around its element,
/// not on it, and behind the letters of elements that stand close; its number stands beside it as long as there is
/// room. What does not show in the picture is left out.
pub fn draw(picture: &mut RgbaImage, marks: &[Mark]) {
    if marks.is_empty() {
        return;
    }
    // Everything is decided on the untouched picture, and numbers are drawn after all boxes: no outline crosses one.
    let ground = Ground::of(picture);
    let style = Style::of(picture);
    let drawings: Vec<Drawing> = marks
        .iter()
        .filter_map(|mark| Drawing::new(mark, &ground, &style))
        .collect();
    let boxes: Vec<Area> = drawings.iter().map(|drawing| drawing.bounds).collect();
    let frames = Frames::around(&boxes, style.outline);
    let subjects: Vec<Subject> = drawings
        .iter()
        .zip(frames.list())
        .map(|(drawing, frame)| drawing.subject(*frame, &style))
        .collect();
    let spots = place(&ground, &subjects);
    for (index, drawing) in drawings.iter().enumerate() {
        frames.draw(index, picture, &ground, drawing.scheme.fill);
    }
    for (drawing, spot) in drawings.iter().zip(spots) {
        drawing.draw_number(picture, spot);
    }
}

/// Extents that grow with the picture.
struct Style {
    /// Thickness of a box's line in pixels.
    outline: i32,
    /// Height of the numbers' font in pixels.
    text: f32,
    small_text: f32,
    /// Left free around a number, in pixels.
    padding: i32,
}

impl Style {
    /// Sizes that can be read at 1920 pixels, in proportion to the longer side; never smaller than a model can read.
    fn of(picture: &RgbaImage) -> Self {
        let side = picture.width().max(picture.height()) as f32;
        let text = (side * 15.0 / 1920.0).clamp(13.0, 60.0);
        Self {
            outline: (side / 960.0).round().max(1.0) as i32,
            text,
            small_text: (text * 0.8).max(11.0),
            padding: (side / 960.0).round().max(1.0) as i32,
        }
    }
}

/// A mark that shows in the picture, ready to be drawn.
struct Drawing {
    bounds: Area,
    scheme: Scheme,
    number: Line,
    small_number: Line,
}

impl Drawing {
    fn new(mark: &Mark, ground: &Ground, style: &Style) -> Option<Self> {
        let bounds = mark
            .bounds
            .round_out()
            .try_cast::<i32>()?
            .intersection(&ground.frame)?;
        let number = mark.id.to_string();
        Some(Self {
            bounds,
            scheme: colour::of(mark.id.0, brightness_around(ground, bounds)),
            number: Line::new(&number, style.text),
            small_number: Line::new(&number, style.small_text),
        })
    }

    fn subject(&self, frame: Frame, style: &Style) -> Subject {
        let around =
            |line: &Line, padding: i32| line.size() + euclid::Size2D::new(padding * 2, padding * 2);
        Subject {
            frame,
            normal: around(&self.number, style.padding),
            small: around(&self.small_number, 1),
        }
    }

    fn draw_number(&self, picture: &mut RgbaImage, spot: Spot) {
        let line = if spot.small {
            &self.small_number
        } else {
            &self.number
        };
        fill(picture, spot.area, self.scheme.fill);
        let margin = (spot.area.size() - line.size()) / 2;
        line.draw(
            picture,
            Place::new(
                spot.area.min.x + margin.width,
                spot.area.min.y + margin.height,
            ),
            self.scheme.text,
        );
    }
}

/// Mean brightness of the picture along the outside of a box, 0 to 255, from a few pixels of each side.
fn brightness_around(ground: &Ground, bounds: Area) -> u8 {
    const SAMPLES: i32 = 8;
    let (mut sum, mut count) = (0u32, 0u32);
    let mut look_at = |x: i32, y: i32| {
        if let Some(brightness) = ground.brightness(Place::new(x, y)) {
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
    use crate::space::PictureSize;

    const WHITE: Rgba<u8> = Rgba([255, 255, 255, 255]);

    fn mark(id: u32, x: f64, y: f64, width: f64, height: f64) -> Mark {
        let corner = ModelPoint::new(x, y);
        Mark {
            id: ElementId(id),
            bounds: ModelRect::from_origin_and_size(corner, euclid::Size2D::new(width, height)),
        }
    }

    fn marked(width: u32, height: u32, marks: &[Mark]) -> RgbaImage {
        let mut picture = RgbaImage::from_pixel(width, height, WHITE);
        draw(&mut picture, marks);
        picture
    }

    #[test]
    fn what_a_box_holds_stays_as_it_was() {
        let picture = marked(
            400,
            300,
            &[
                mark(1, 50.0, 50.0, 100.0, 30.0),
                mark(12, 200.0, 120.0, 16.0, 16.0),
            ],
        );
        for (x1, y1, x2, y2) in [(50, 50, 150, 80), (200, 120, 216, 136)] {
            for (x, y) in (y1..y2).flat_map(|y| (x1..x2).map(move |x| (x, y))) {
                assert_eq!(*picture.get_pixel(x, y), WHITE, "at {x},{y}");
            }
            // The box itself is there.
            assert_ne!(*picture.get_pixel(x1 - 1, y1 + 3), WHITE);
            assert_ne!(*picture.get_pixel(x2, y2 - 3), WHITE);
        }
    }

    #[test]
    fn numbers_differ() {
        let bounds = (50.0, 50.0, 100.0, 30.0);
        let picture = |id| {
            marked(
                400,
                300,
                &[mark(id, bounds.0, bounds.1, bounds.2, bounds.3)],
            )
        };
        // 10 hues: 3 and 13 have the same colour and differ only in what is written.
        assert_ne!(picture(3), picture(13));
        assert_eq!(picture(3), picture(3));
    }

    #[test]
    fn boxes_are_seen_on_dark_screens_too() {
        let mut picture = RgbaImage::from_pixel(300, 200, Rgba([20, 20, 24, 255]));
        draw(&mut picture, &[mark(1, 50.0, 50.0, 100.0, 30.0)]);
        let [red, green, blue, _] = picture.get_pixel(49, 60).0;
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
    fn only_what_shows_is_marked() {
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
            ModelSpace::of_region(rect(500, 250, 1000, 500), PictureSize::new(1000, 500)).unwrap();
        let shown = marks(&elements, frame, &closer);
        assert_eq!(shown.iter().map(|mark| mark.id.0).collect::<Vec<_>>(), [2]);
        assert_eq!(
            shown[0].bounds,
            ModelRect::new(ModelPoint::new(200.0, 100.0), ModelPoint::new(400.0, 200.0))
        );
    }

    proptest! {
        #[test]
        fn any_marks_on_any_picture_can_be_drawn(
            width in 1u32..300, height in 1u32..200,
            boxes in proptest::collection::vec((-50.0..350.0f64, -50.0..250.0f64, 0.0..200.0f64, 0.0..100.0f64, any::<u32>()), 0..12)
        ) {
            let marks: Vec<Mark> = boxes.into_iter().map(|(x, y, w, h, id)| mark(id, x, y, w, h)).collect();
            marked(width, height, &marks);
        }
    }
}
