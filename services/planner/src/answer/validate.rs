//! Whether what a model names is there: elements, points, functions, applications. Nothing is moved to where it would
//! be; what is wrong is said in words for the model.

use std::fmt::Write as _;

use motorium_proto::domain::action::{Target, WindowSelector};
use motorium_proto::domain::decision::{FunctionCall, SuspectedInjection};
use motorium_proto::domain::desktop::Platform;
use motorium_proto::domain::element::Element;
use motorium_proto::domain::frame::is_browser;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::id::ElementId;
use motorium_proto::service::PlanRequest;
use serde_json::Value;

use crate::backends::dialect::Misread;
use crate::picture::{SaidPoint, SentPicture};

/// What an answer is held against.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    pub request: &'a PlanRequest,
    /// The picture that points are given in; `None` where none was sent, so that there are no points.
    pub view: Option<SentPicture>,
}

impl Ground<'_> {
    /// An element as a target.
    ///
    /// # Errors
    /// If the scene has none of that number.
    pub fn element(&self, id: u32) -> Result<Target, Misread> {
        let id = ElementId(id);
        if self.request.scene.element(id).is_some() {
            return Ok(Target::Element(id));
        }
        Err(Misread::invalid(format!(
            "there is no element {id} on this screen; take a number from the list of elements"
        )))
    }

    /// A point of the picture as a target.
    ///
    /// # Errors
    /// If no picture was sent, or the point lies outside.
    pub fn point(&self, x: f64, y: f64) -> Result<Target, Misread> {
        let view = self.view.ok_or_else(|| {
            Misread::invalid(
                "no screenshot was sent, so that no point can be named; name an element",
            )
        })?;
        let point = view
            .to_capture(SaidPoint::new(x, y))
            .map_err(|off| Misread::invalid(off.to_string()))?;
        Ok(Target::Point(point))
    }

    /// An application that may be opened.
    ///
    /// # Errors
    /// If it is not on the list.
    pub fn application(&self, name: &str) -> Result<String, Misread> {
        let known = &self.request.applications;
        let wanted = name.to_lowercase();
        let found = known.iter().find(|known| known.to_lowercase() == wanted);
        found.cloned().ok_or_else(|| {
            Misread::invalid(if known.is_empty() {
                "no application can be opened by name here".to_owned()
            } else {
                format!(
                    "`{name}` cannot be opened by name; these can: {}",
                    known.join(", ")
                )
            })
        })
    }

    /// The window that a model means: by its id, its application or a part of its title.
    ///
    /// # Errors
    /// If no window of the frame is meant.
    pub fn window(&self, words: &str) -> Result<WindowSelector, Misread> {
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
            .any(|window| window.application.to_lowercase() == wanted)
        {
            return Ok(WindowSelector::Application(words.to_owned()));
        }
        let mut message = format!("there is no window `{words}`");
        let titles: Vec<&str> = windows.iter().map(|window| window.title.as_str()).collect();
        if !titles.is_empty() {
            // Writing to a string succeeds.
            let _ = write!(message, "; there are: {}", titles.join(", "));
        }
        Err(Misread::invalid(message))
    }

    /// The chord that closes what is in use: the page that a browser shows, or else the active window.
    #[must_use]
    pub fn chord_that_closes(&self) -> &'static str {
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

    /// A call of one of the task's functions.
    ///
    /// # Errors
    /// If there is no such function, or its arguments do not fit.
    pub fn function_call(&self, name: &str, arguments: &str) -> Result<FunctionCall, Misread> {
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
            return Err(Misread::invalid(format!(
                "there is no function `{name}`; there are: {known}"
            )));
        };
        let arguments = if arguments.trim().is_empty() {
            "{}"
        } else {
            arguments
        };
        let value: Value = serde_json::from_str(arguments).map_err(|error| {
            Misread::invalid(format!("the arguments of `{name}` are no JSON: {error}"))
        })?;
        check_schema(&function.parameters_json_schema, &value)
            .map_err(|problem| Misread::invalid(format!("the arguments of `{name}`: {problem}")))?;
        Ok(FunctionCall {
            call_id: format!("call-{}", self.request.history.len() + 1),
            name: name.to_owned(),
            arguments_json: value.to_string(),
        })
    }

    /// Words on the screen that seem to give orders, with the place where they are, if it is found.
    #[must_use]
    pub fn suspected_injection(&self, quote: &str) -> SuspectedInjection {
        let wanted = quote.to_lowercase();
        let says_it = |element: &&Element| {
            let content = element.content.to_lowercase();
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

/// Whether a text is a JSON Schema, as an object.
#[must_use]
pub fn is_schema(text: &str) -> bool {
    serde_json::from_str::<Value>(text)
        .is_ok_and(|schema| schema.is_object() && jsonschema::validator_for(&schema).is_ok())
}

/// Whether a value is as a schema wants it; a schema that is none holds nothing back, as it is not the model's fault.
fn check_schema(schema: &str, value: &Value) -> Result<(), String> {
    let Ok(schema) = serde_json::from_str::<Value>(schema) else {
        return Ok(());
    };
    let Ok(validator) = jsonschema::validator_for(&schema) else {
        return Ok(());
    };
    validator.validate(value).map_err(|error| error.to_string())
}
