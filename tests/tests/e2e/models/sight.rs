//! Sight of a model: the texts of a request, and the membership form on its last screenshot, identified by colours.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{Rgb, RgbImage};
use serde_json::Value;

/// Colours of `membership.html`.
const EMPTY: Rgb<u8> = Rgb([0x00, 0xe5, 0xff]);
const FOCUSED: Rgb<u8> = Rgb([0xff, 0x91, 0x00]);
const FILLED: Rgb<u8> = Rgb([0xff, 0xd6, 0x00]);
const BUTTON: Rgb<u8> = Rgb([0xff, 0x00, 0xaa]);
const SAVED: Rgb<u8> = Rgb([0x00, 0xc8, 0x53]);

/// Maximum difference of a channel from its colour. Scaling and lossy formats blur edges, not faces.
const TOLERANCE: u8 = 24;
/// Minimum number of pixels of a part of the form. Marks of elements are drawn in other colours and are smaller.
const MIN_PIXELS: usize = 1500;
/// Difference of a channel that is seen, and the number of such pixels in a row.
const DIFFERENCE: u8 = 80;
const MIN_ROW_PIXELS: usize = 3;

/// State of the form.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Form {
    /// The field is empty, with its centre.
    Empty((f64, f64)),
    Focused,
    /// The field has a text, with the centre of the button.
    Filled((f64, f64)),
    Saved,
    NotThere,
}

impl Form {
    /// Returns the state in one word.
    pub(super) fn state(self) -> &'static str {
        match self {
            Self::Empty(_) => "empty",
            Self::Focused => "focused",
            Self::Filled(_) => "filled",
            Self::Saved => "saved",
            Self::NotThere => "absent",
        }
    }
}

/// A request as its model sees it.
#[derive(Debug, Clone)]
pub(super) struct Sight {
    /// All texts of the conversation, in order.
    pub(super) text: String,
    /// The last screenshot.
    pub(super) screen: RgbImage,
    /// Colour of the attached image, which follows its name.
    pub(super) attached: Option<Rgb<u8>>,
}

impl Sight {
    /// Reads a request; `earlier` is what the provider remembers of a conversation that the request continues.
    pub(super) fn of(request: &Value, earlier: Option<&Self>) -> Self {
        let mut parts = Vec::new();
        read(request, &mut parts);
        let texts = parts.iter().filter_map(Part::text);
        let new_text: String = texts.map(|text| format!("{text}\n")).collect();
        let screen = parts.iter().rev().find_map(Part::image);
        let screen = screen.map(|screen| decoded(screen));
        let attached = parts.windows(2).find_map(|pair| match pair {
            [Part::Text(label), Part::Image(image)] if label.contains(super::IMAGE) => Some(image),
            _ => None,
        });
        let centre = |image: RgbImage| *image.get_pixel(image.width() / 2, image.height() / 2);
        let attached = attached.map(|image| centre(decoded(image)));
        let Some(earlier) = earlier else {
            return Self {
                text: new_text,
                screen: screen.expect("a conversation begins with a screenshot"),
                attached,
            };
        };
        assert_eq!(attached, None, "an image is sent once");
        Self {
            text: format!("{}{new_text}", earlier.text),
            screen: screen.unwrap_or_else(|| earlier.screen.clone()),
            attached: earlier.attached,
        }
    }

    /// Returns the centre of the screenshot, in whole pixels.
    pub(super) fn centre(&self) -> (u32, u32) {
        (self.screen.width() / 2, self.screen.height() / 2)
    }

    /// Returns the first and the last row in which the screenshot differs from an earlier one; `None` if it does not.
    pub(super) fn rows_unlike(&self, earlier: &RgbImage) -> Option<(u32, u32)> {
        assert_eq!(self.screen.dimensions(), earlier.dimensions());
        let is_other = |(one, other): &(&Rgb<u8>, &Rgb<u8>)| {
            let mut channels = one.0.iter().zip(other.0);
            channels.any(|(one, other)| one.abs_diff(other) > DIFFERENCE)
        };
        let rows = self.screen.rows().zip(earlier.rows()).zip(0..);
        let differing = rows.filter_map(|((row, other), number)| {
            let pixels = row.zip(other).filter(is_other).count();
            (pixels >= MIN_ROW_PIXELS).then_some(number)
        });
        let differing: Vec<u32> = differing.collect();
        differing.first().copied().zip(differing.last().copied())
    }

    pub(super) fn form(&self) -> Form {
        if self.centre_of(SAVED).is_some() {
            return Form::Saved;
        }
        if self.centre_of(FOCUSED).is_some() {
            return Form::Focused;
        }
        if self.centre_of(FILLED).is_some() {
            return self.centre_of(BUTTON).map_or(Form::NotThere, Form::Filled);
        }
        self.centre_of(EMPTY).map_or(Form::NotThere, Form::Empty)
    }

    /// Returns the centre of everything in a colour, in pixels of the screenshot.
    fn centre_of(&self, colour: Rgb<u8>) -> Option<(f64, f64)> {
        let is_of_it = |pixel: &Rgb<u8>| {
            let mut channels = pixel.0.iter().zip(colour.0);
            channels.all(|(channel, wanted)| channel.abs_diff(wanted) <= TOLERANCE)
        };
        let pixels = self.screen.enumerate_pixels();
        let found: Vec<(u32, u32)> = pixels
            .filter(|(.., pixel)| is_of_it(pixel))
            .map(|(x, y, _)| (x, y))
            .collect();
        let mean = |of: fn(&(u32, u32)) -> u32| {
            found.iter().map(|at| f64::from(of(at))).sum::<f64>() / found.len() as f64
        };
        (found.len() >= MIN_PIXELS).then(|| (mean(|at| at.0), mean(|at| at.1)))
    }
}

/// A text or an encoded image of a request.
#[derive(Debug)]
enum Part {
    Text(String),
    Image(Vec<u8>),
}

impl Part {
    fn text(&self) -> Option<&str> {
        match self {
            Part::Text(text) => Some(text),
            Part::Image(_) => None,
        }
    }

    fn image(&self) -> Option<&Vec<u8>> {
        match self {
            Part::Text(_) => None,
            Part::Image(image) => Some(image),
        }
    }
}

fn decoded(encoded: &[u8]) -> RgbImage {
    let image = image::load_from_memory(encoded).expect("it is a picture");
    image.into_rgb8()
}

/// Reads all texts and images of a request in their order, whatever its protocol.
fn read(value: &Value, parts: &mut Vec<Part>) {
    let image = |data: &str| Part::Image(STANDARD.decode(data).expect("it is base64"));
    match value {
        Value::String(content) => parts.push(match content.strip_prefix("data:image/") {
            Some(url) => image(url.split_once("base64,").expect("a data URL").1),
            None => Part::Text(content.clone()),
        }),
        Value::Array(items) => items.iter().for_each(|item| read(item, parts)),
        Value::Object(fields) if fields.get("type") == Some(&"base64".into()) => {
            parts.push(image(fields["data"].as_str().expect("an image has data")));
        }
        // The kind of a part is no text of it.
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| !matches!(key.as_str(), "type" | "detail"))
            .for_each(|(_, field)| read(field, parts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
