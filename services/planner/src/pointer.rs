//! Checks whether the pointer is on its target: by geometry, or by a model that sees the annotated screenshot.
//!
//! It does not move the pointer: the Executor does.

use std::sync::Arc;

use motorium_proto::domain::decision::Usage;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::service::{PointerCheck, PointerRequest};
use serde_json::{Value, json as value};

use crate::backends::question::Question;
use crate::prompt::{self, Language, Prompts};
use crate::response::json;
use crate::screenshot::SentImage;

/// Default of the distance within which the pointer counts as on its target, in frame pixels. Taken over from the original
/// implementation.
const DEFAULT_TOLERANCE_PX: u32 = 14;

/// Compares the pointer position with its target.
#[must_use]
pub fn check(request: &PointerRequest) -> PointerCheck {
    let off = request.target - request.pointer;
    let is_inside = request
        .target_bounds
        .is_some_and(|bounds| bounds.contains(request.pointer));
    let tolerance = i64::from(request.tolerance_px.unwrap_or(DEFAULT_TOLERANCE_PX));
    let is_near = off.to_i64().square_length() <= tolerance.saturating_mul(tolerance);
    PointerCheck {
        on_target: is_inside || is_near,
        dx: off.x,
        dy: off.y,
        usage: Usage::default(),
        requests: Vec::new(),
        responses: Vec::new(),
    }
}

/// Builds the question to a model; `None` without an image.
///
/// # Errors
/// Fails if a template cannot be rendered.
pub fn question(
    request: &PointerRequest,
    prompts: &Arc<Prompts>,
) -> Result<Option<Question>, prompt::Error> {
    let Some(image) = &request.annotated_image else {
        return Ok(None);
    };
    let language = Language::of(None, &request.intent);
    let (prompts, asked) = (Arc::clone(prompts), request.clone());
    Ok(Some(Question {
        system: prompts.render("pointer_system", language, minijinja::context! {})?,
        text: Arc::new(move |view| words(&asked, view, language, &prompts)),
        image: Some(image.clone()),
        marked: Vec::new(),
        check: Arc::new(checked),
        remaining: request.remaining,
    }))
}

/// Converts the validated answer of a model, without its usage.
#[must_use]
pub fn parse_check(value: &Value) -> Option<PointerCheck> {
    let pixels = |name: &str| i32::try_from(value[name].as_i64()?).ok();
    Some(PointerCheck {
        on_target: value["on_target"].as_bool()?,
        dx: pixels("dx")?,
        dy: pixels("dy")?,
        usage: Usage::default(),
        requests: Vec::new(),
        responses: Vec::new(),
    })
}

fn words(
    request: &PointerRequest,
    view: Option<&SentImage>,
    language: Language,
    prompts: &Prompts,
) -> Result<String, prompt::Error> {
    let scale = Scale::of(view);
    let (pointer_x, pointer_y) = scale.to_model(request.pointer);
    let (target_x, target_y) = scale.to_model(request.target);
    let values = minijinja::context! {
        intent => request.intent.as_str(),
        pointer_x, pointer_y, target_x, target_y,
        screenshot_size => format!("{}×{}", scale.width, scale.height),
    };
    prompts.render("pointer", language, values)
}

/// Validates a model's answer, and converts its distances into frame pixels.
fn checked(answer: &str, view: Option<&SentImage>) -> Result<Value, String> {
    let wanted =
        r#"one JSON object is wanted: {"on_target": true or false, "dx": number, "dy": number}"#;
    let mut objects = json::objects(answer).into_iter();
    let object = objects
        .rfind(|object| object.contains_key("on_target"))
        .ok_or(wanted)?;
    let on_target = object
        .get("on_target")
        .and_then(Value::as_bool)
        .ok_or(wanted)?;
    let number = |name: &str| object.get(name).and_then(Value::as_f64);
    let (dx, dy) = number("dx").zip(number("dy")).ok_or(wanted)?;
    let scale = Scale::of(view);
    if dx.abs() > scale.width || dy.abs() > scale.height {
        return Err("dx or dy leads out of the screenshot".to_owned());
    }
    let (dx, dy) = scale.to_capture(dx, dy);
    Ok(value!({"on_target": on_target, "dx": dx, "dy": dy}))
}

/// Conversion between frame pixels and the model's coordinates.
#[derive(Debug, Clone, Copy)]
struct Scale {
    /// Extent of the image in the model's coordinates.
    width: f64,
    height: f64,
    /// Frame pixels per unit of the model's coordinates.
    x: f64,
    y: f64,
}

impl Scale {
    fn of(view: Option<&SentImage>) -> Self {
        let Some(view) = view else {
            return Self {
                width: 1.0,
                height: 1.0,
                x: 1.0,
                y: 1.0,
            };
        };
        let (width, height) = view.extent();
        let region = view.region().size().to_f64();
        Self {
            width,
            height,
            x: region.width / width,
            y: region.height / height,
        }
    }

    fn to_model(self, point: CapturePoint) -> (f64, f64) {
        let tenths = |value: f64| (value * 10.0).round() / 10.0;
        (
            tenths(f64::from(point.x) / self.x),
            tenths(f64::from(point.y) / self.y),
        )
    }

    fn to_capture(self, dx: f64, dy: f64) -> (i64, i64) {
        ((dx * self.x).round() as i64, (dy * self.y).round() as i64)
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::decision::RemainingLimits;
    use motorium_proto::domain::geometry::CaptureRect;

    use super::*;

    #[track_caller]
    fn expect(pointer: (i32, i32), bounds: Option<CaptureRect>, expected: (bool, i32, i32)) {
        expect_within(None, pointer, bounds, expected);
    }

    #[track_caller]
    fn expect_within(
        tolerance_px: Option<u32>,
        pointer: (i32, i32),
        bounds: Option<CaptureRect>,
        expected: (bool, i32, i32),
    ) {
        let request = PointerRequest {
            intent: String::new(),
            target: CapturePoint::new(100, 100),
            target_bounds: bounds,
            pointer: CapturePoint::new(pointer.0, pointer.1),
            annotated_image: None,
            backends: Vec::new(),
            remaining: RemainingLimits::default(),
            tolerance_px,
        };
        let check = check(&request);
        assert_eq!(
            (check.on_target, check.dx, check.dy),
            expected,
            "{pointer:?}"
        );
    }

    #[test]
    fn near_or_inside_is_on_target() {
        let wide = CaptureRect::new(CapturePoint::new(0, 90), CapturePoint::new(400, 110));
        expect((100, 100), None, (true, 0, 0));
        expect((114, 100), None, (true, -14, 0));
        expect((110, 110), None, (false, -10, -10));
        expect((300, 95), Some(wide), (true, -200, 5));
        expect((300, 80), Some(wide), (false, -200, 20));
        expect((i32::MIN / 2, 0), None, (false, 100 - i32::MIN / 2, 100));
        expect_within(Some(13), (114, 100), None, (false, -14, 0));
        expect_within(Some(20), (120, 100), None, (true, -20, 0));
        expect_within(Some(u32::MAX), (120, 100), None, (true, -20, 0));
    }
}
