//! Checks that what a model names exists: elements, points, functions, applications. Nothing is corrected; problems
//! become messages for the model.
//!
//! It does not parse responses: each dialect does.

use std::fmt::Write as _;

use motorium_proto::domain::action::{Target, WindowSelector};
use motorium_proto::domain::decision::{FunctionCall, SuspectedInjection};
use motorium_proto::domain::desktop::Platform;
use motorium_proto::domain::element::Element;
use motorium_proto::domain::frame::{is_browser, is_same_application};
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::id::ElementId;
use motorium_proto::service::PlanRequest;
use serde_json::Value;

use crate::response::ResponseError;
use crate::screenshot::{ReportedPoint, SentImage};

/// Margin around an element within which a point counts as a place on it, in pixels.
// Half the height of a small button: the boxes of the list are as inaccurate as that.
const POINT_MARGIN_PX: i32 = 8;

/// The screen and request that a response is validated against.
#[derive(Debug, Clone, Copy)]
pub struct ValidationContext<'a> {
    pub request: &'a PlanRequest,
    /// Image that points refer to; `None` if none was sent, so that points are invalid.
    pub view: Option<SentImage>,
}

impl ValidationContext<'_> {
    /// Returns an element as a target.
    ///
    /// # Errors
    /// Fails if the scene has no element with this number.
    pub fn element(&self, id: u32) -> Result<Target, ResponseError> {
        let id = ElementId(id);
        if self.request.scene.element(id).is_some() {
            return Ok(Target::Element(id));
        }
        Err(ResponseError::invalid(format!(
            "there is no element {id} on this screen; take a number from the list of elements"
        )))
    }

    /// Returns the element with this number.
    #[must_use]
    pub fn scene_element(&self, id: u32) -> Option<&Element> {
        self.request.scene.element(ElementId(id))
    }

    /// Checks that a point given beside an element is a place on it. The origin is a placeholder.
    ///
    /// # Errors
    /// Fails if it is another place: it is not known which of the two is meant.
    pub fn check_point_in_element(&self, id: u32, x: f64, y: f64) -> Result<(), ResponseError> {
        if (x, y) == (0.0, 0.0) || self.view.is_none() {
            return Ok(());
        }
        let Some(element) = self.scene_element(id) else {
            return Ok(());
        };
        let Target::Point(point) = self.point(x, y)? else {
            return Ok(());
        };
        let bounds = motorium_imaging::space::denormalise(&element.bounds, self.request.frame.size);
        // A model that reads the numbers of the list names its centre, give or take a few pixels.
        if bounds
            .inflate(POINT_MARGIN_PX, POINT_MARGIN_PX)
            .contains(point)
        {
            return Ok(());
        }
        Err(ResponseError::invalid(format!(
            "element {id} and the point ({x}, {y}) are different places; give one of them"
        )))
    }

    /// Returns a point of the image as a target.
    ///
    /// # Errors
    /// Fails if no image was sent, or the point lies outside it.
    pub fn point(&self, x: f64, y: f64) -> Result<Target, ResponseError> {
        let view = self.view.ok_or_else(|| {
            ResponseError::invalid(
                "no screenshot was sent, so that no point can be named; name an element",
            )
        })?;
        let point = view
            .to_capture(ReportedPoint::new(x, y))
            .map_err(|off| ResponseError::invalid(off.to_string()))?;
        Ok(Target::Point(point))
    }

    /// Returns an application that may be opened.
    ///
    /// # Errors
    /// Fails if it is not on the allow list.
    pub fn application(&self, name: &str) -> Result<String, ResponseError> {
        let known = &self.request.applications;
        let wanted = name.to_lowercase();
        let found = known.iter().find(|known| known.to_lowercase() == wanted);
        found.cloned().ok_or_else(|| {
            ResponseError::invalid(if known.is_empty() {
                "no application can be opened by name here".to_owned()
            } else {
                format!(
                    "`{name}` cannot be opened by name; these can: {}",
                    known.join(", ")
                )
            })
        })
    }

    /// Returns the window that a model names, by its id, its application or a part of its title.
    ///
    /// # Errors
    /// Fails if no window of the frame matches.
    pub fn window(&self, words: &str) -> Result<WindowSelector, ResponseError> {
        let windows = &self.request.frame.windows;
        let wanted = words.to_lowercase();
        if windows.iter().any(|window| window.id == words) {
            return Ok(WindowSelector::Id(words.to_owned()));
        }
        if windows
            .iter()
            .any(|window| window.title.to_lowercase().contains(&wanted))
        {
            return Ok(WindowSelector::Title(words.to_owned()));
        }
        if windows
            .iter()
            .any(|window| is_same_application(&window.application, words))
        {
            return Ok(WindowSelector::Application(words.to_owned()));
        }
        let mut message = format!("there is no window `{words}`");
        let titles: Vec<&str> = windows.iter().map(|window| window.title.as_str()).collect();
        if !titles.is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(message, "; there are: {}", titles.join(", "));
        }
        Err(ResponseError::invalid(message))
    }

    /// Returns the chord that closes the active item: the tab of a browser, or else the active window.
    #[must_use]
    pub fn closing_chord(&self) -> &'static str {
        let mut windows = self.request.frame.windows.iter();
        let active = windows.find(|window| window.active);
        let in_browser = active.is_some_and(|window| is_browser(&window.application));
        match self.request.platform {
            Platform::Macos => "cmd+w",
            Platform::Browser => "ctrl+w",
            _ if in_browser => "ctrl+w",
            _ => "alt+f4",
        }
    }

    /// Returns a call of one of the task's functions.
    ///
    /// # Errors
    /// Fails if there is no such function, or its arguments do not match its schema.
    pub fn function_call(
        &self,
        name: &str,
        arguments: &str,
    ) -> Result<FunctionCall, ResponseError> {
        let functions = &self.request.functions;
        let Some(function) = functions.iter().find(|function| function.name == name) else {
            let names: Vec<&str> = functions
                .iter()
                .map(|function| function.name.as_str())
                .collect();
            let known = if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            };
            return Err(ResponseError::invalid(format!(
                "there is no function `{name}`; there are: {known}"
            )));
        };
        let arguments = if arguments.trim().is_empty() {
            "{}"
        } else {
            arguments
        };
        let value: Value = serde_json::from_str(arguments).map_err(|error| {
            ResponseError::invalid(format!("the arguments of `{name}` are no JSON: {error}"))
        })?;
        check_schema(&function.parameters_json_schema, &value).map_err(|problem| {
            ResponseError::invalid(format!("the arguments of `{name}`: {problem}"))
        })?;
        Ok(FunctionCall {
            call_id: format!("call-{}", self.request.history.len() + 1),
            name: name.to_owned(),
            arguments_json: value.to_string(),
        })
    }

    /// Returns a suspected prompt injection with its bounding box, if the quoted text is found on the screen.
    #[must_use]
    pub fn suspected_injection(&self, quote: &str) -> SuspectedInjection {
        let wanted = quote.to_lowercase();
        let says_it = |element: &&Element| {
            let content = element.content.to_lowercase();
            // Only contents above 12 characters count as a part of the quote: short labels such as "OK" occur by chance.
            content.contains(&wanted) || content.chars().count() > 12 && wanted.contains(&content)
        };
        let found = self.request.scene.elements.iter().find(says_it);
        SuspectedInjection {
            quote: quote.to_owned(),
            bounds: found.map(|element| self.bounds(element)),
        }
    }

    fn bounds(&self, element: &Element) -> CaptureRect {
        motorium_imaging::space::denormalise(&element.bounds, self.request.frame.size)
    }
}

/// Returns whether a text is a JSON Schema object.
#[must_use]
pub fn is_schema(text: &str) -> bool {
    serde_json::from_str::<Value>(text)
        .is_ok_and(|schema| schema.is_object() && jsonschema::validator_for(&schema).is_ok())
}

/// Validates a value against a schema. An invalid schema accepts everything, because the model did not cause it.
fn check_schema(schema: &str, value: &Value) -> Result<(), String> {
    let Ok(schema) = serde_json::from_str::<Value>(schema) else {
        return Ok(());
    };
    let Ok(validator) = jsonschema::validator_for(&schema) else {
        return Ok(());
    };
    validator.validate(value).map_err(|error| error.to_string())
}
