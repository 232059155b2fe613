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

/// A request as its model sees it.
#[derive(Debug)]
pub(super) struct Sight {
    /// All texts, in order.
    pub(super) text: String,
    /// The last screenshot.
    pub(super) screen: RgbImage,
}

impl Sight {
    pub(super) fn of(request: &Value) -> Self {
        let (mut text, mut image) = (String::new(), None);
        read(request, &mut text, &mut image);
        let image = image.expect("every request has a screenshot");
        let screen = image::load_from_memory(&image).expect("it is a picture");
        Self {
            text,
            screen: screen.into_rgb8(),
        }
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

/// Reads all texts and the last image of a request, whatever its protocol.
fn read(value: &Value, text: &mut String, image: &mut Option<Vec<u8>>) {
    match value {
        Value::String(content) => match content.strip_prefix("data:image/") {
            Some(url) => {
                let data = url.split_once("base64,").expect("a data URL").1;
                *image = Some(STANDARD.decode(data).expect("it is base64"));
            }
            None => {
                text.push_str(content);
                text.push('\n');
            }
        },
        Value::Array(items) => items.iter().for_each(|item| read(item, text, image)),
        Value::Object(fields) if fields.get("type") == Some(&"base64".into()) => {
            let data = fields["data"].as_str().expect("an image has data");
            *image = Some(STANDARD.decode(data).expect("it is base64"));
        }
        Value::Object(fields) => fields.values().for_each(|field| read(field, text, image)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
