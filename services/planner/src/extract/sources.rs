//! Finds the element that each value was read from: the one that the model names, if valid, or else the only element with
//! exactly that text.
//!
//! Nothing is guessed: an unknown element number, an invalid path or a text that occurs twice gives no source.

use motorium_imaging::space::denormalise;
use motorium_proto::domain::decision::ValueSource;
use motorium_proto::domain::element::{Element, Scene};
use motorium_proto::domain::geometry::CaptureSize;
use motorium_proto::domain::id::ElementId;
use serde_json::{Map, Value};

/// Returns the sources of all values in `data`, in their order.
pub(super) fn of(
    data: &Value,
    reported_sources: &Map<String, Value>,
    scene: &Scene,
    frame: CaptureSize,
) -> Vec<ValueSource> {
    let mut search = Search {
        reported_sources,
        scene,
        frame,
        found: Vec::new(),
    };
    search.visit(data, String::new());
    search.found
}

struct Search<'a> {
    reported_sources: &'a Map<String, Value>,
    scene: &'a Scene,
    frame: CaptureSize,
    found: Vec<ValueSource>,
}

impl Search<'_> {
    fn visit(&mut self, value: &Value, pointer: String) {
        if let Some(element) = self.element(value, &pointer) {
            self.found.push(ValueSource {
                json_pointer: pointer.clone(),
                element: element.id,
                bounds: Some(denormalise(&element.bounds, self.frame)),
                content: element.content.clone(),
            });
        }
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.visit(item, format!("{pointer}/{index}"));
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields {
                    self.visit(field, format!("{pointer}/{}", escaped(name)));
                }
            }
            _ => {}
        }
    }

    fn element(&self, value: &Value, pointer: &str) -> Option<&Element> {
        if is_nothing(value) {
            return None;
        }
        match self.reported_sources.get(pointer) {
            Some(reported) => self.scene.element(element_id(reported)?),
            None => self.only_one_that_says(&text(value)?),
        }
    }

    fn only_one_that_says(&self, wanted: &str) -> Option<&Element> {
        let mut all = self.scene.elements.iter();
        let says_it = |element: &&Element| is_same_text(&element.content, wanted);
        let first = all.find(says_it)?;
        all.find(says_it).is_none().then_some(first)
    }
}

/// Returns whether a value is empty, so that it was read from no element.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Parses an element number as models write it: `3`, `"3"`, `"[3]"`.
fn element_id(value: &Value) -> Option<ElementId> {
    let number = match value {
        Value::Number(number) => u32::try_from(number.as_u64()?).ok()?,
        Value::String(text) => text.trim().trim_matches(['[', ']']).parse().ok()?,
        _ => return None,
    };
    Some(ElementId(number))
}

/// Returns the text of a value on the screen; booleans never appear as such.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn is_same_text(content: &str, wanted: &str) -> bool {
    content.split_whitespace().eq(wanted.split_whitespace())
}

/// Escapes a name for a JSON Pointer (RFC 6901).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
