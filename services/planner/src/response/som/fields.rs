//! Fields of a JSON object as models fill them: absent, null, a quoted number, a word in capitals.

use serde_json::{Map, Value};

use crate::response::ResponseError;

/// A JSON object, read leniently.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a Map<String, Value>);

impl<'a> Fields<'a> {
    /// Returns the text; empty if absent. Other values are written as JSON, since some models put an object where its
    /// text is expected.
    pub(super) fn text(self, name: &str) -> String {
        match self.0.get(name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }

    /// Returns the keys: a chord (`ctrl+s`), or a list of its keys. Some models call the field `key`.
    pub(super) fn keys(self) -> String {
        let name = self.first_of(&["keys", "key"]).unwrap_or("keys");
        match self.0.get(name) {
            Some(Value::Array(_)) => self.texts(name).join("+"),
            _ => self.text(name),
        }
    }

    /// Returns the direction of a scroll; empty if there is none.
    pub(super) fn direction(self) -> String {
        let name = self.first_of(&["direction", "scroll_direction"]);
        name.map_or_else(String::new, |name| self.word(name))
    }

    /// Returns an enumerated word in snake case.
    pub(super) fn word(self, name: &str) -> String {
        let folded = self.text(name).trim().to_lowercase();
        folded.replace([' ', '-'], "_")
    }

    /// Returns the number; `None` if it is absent or the placeholder. `[7]` counts as a number, because elements are
    /// listed so.
    ///
    /// # Errors
    /// Fails if the value is something else: an unreadable target is not the same as no target.
    pub(super) fn number(self, name: &str) -> Result<Option<f64>, ResponseError> {
        let Some(value) = self.0.get(name) else {
            return Ok(None);
        };
        let value = match value {
            Value::Array(items) if items.len() == 1 => &items[0],
            value => value,
        };
        let number = match value {
            Value::Null => return Ok(None),
            Value::Number(number) => number.as_f64(),
            Value::String(text) => match text.trim().trim_matches(['[', ']']) {
                "" | "none" | "null" => return Ok(None),
                text => text.parse().ok(),
            },
            _ => None,
        };
        match number.filter(|number: &f64| number.is_finite()) {
            Some(NOT_GIVEN) => Ok(None),
            Some(number) => Ok(Some(number)),
            None => Err(ResponseError::invalid(format!(
                "`{name}` is {value}, which is no number"
            ))),
        }
    }

    /// Returns the number as a non-negative integer.
    ///
    /// # Errors
    /// Fails if it is not a non-negative integer.
    pub(super) fn whole(self, name: &str) -> Result<Option<u32>, ResponseError> {
        let Some(number) = self.number(name)? else {
            return Ok(None);
        };
        let is_whole = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
        if !is_whole {
            return Err(ResponseError::invalid(format!(
                "`{name}` is {number}, which is no whole number from 0 on"
            )));
        }
        Ok(Some(number as u32))
    }

    /// Returns the first of these names that has a value.
    pub(super) fn first_of(self, names: &[&'static str]) -> Option<&'static str> {
        let is_given = |name: &&&str| !self.0.get(**name).unwrap_or(&Value::Null).is_null();
        names.iter().find(is_given).copied()
    }

    /// Returns the boolean; false if absent.
    pub(super) fn flag(self, name: &str) -> bool {
        match self.0.get(name) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(text)) => text.eq_ignore_ascii_case("true"),
            _ => false,
        }
    }

    /// Returns the texts of a list; a single text counts as a list of one.
    pub(super) fn texts(self, name: &str) -> Vec<String> {
        let texts: Vec<&str> = match self.0.get(name) {
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(text)) => vec![text],
            _ => Vec::new(),
        };
        let texts = texts.into_iter().map(str::trim);
        texts
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// Returns the objects of a list; a single object counts as a list of one.
    ///
    /// # Errors
    /// Fails if the list has another value: skipping it would perform something other than what was decided.
    pub(super) fn objects(self, name: &str) -> Result<Vec<Fields<'a>>, ResponseError> {
        match self.0.get(name) {
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| {
                    item.as_object().map(Fields).ok_or_else(|| {
                        ResponseError::invalid(format!("`{name}` has {item}, which is no object"))
                    })
                })
                .collect(),
            Some(Value::Object(object)) => Ok(vec![Fields(object)]),
            _ => Ok(Vec::new()),
        }
    }
}

/// Placeholder for "no number", so that the schema needs no union types.
const NOT_GIVEN: f64 = -1.0;
