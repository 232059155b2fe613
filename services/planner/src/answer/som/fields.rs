//! Fields of a JSON object as models fill them: absent, null, a number in quotes, a word in capitals.

use serde_json::{Map, Value};

/// An object, read leniently.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a Map<String, Value>);

impl<'a> Fields<'a> {
    /// The text; empty if there is none. Other values are written as JSON, as some put an object where its text is wanted.
    pub(super) fn text(self, name: &str) -> String {
        match self.0.get(name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }

    /// A word of a list, in lower case and with underscores.
    pub(super) fn word(self, name: &str) -> String {
        let folded = self.text(name).trim().to_lowercase();
        folded.replace([' ', '-'], "_")
    }

    /// The number; `None` if there is none, or the one that stands for none.
    pub(super) fn number(self, name: &str) -> Option<f64> {
        let number = match self.0.get(name)? {
            Value::Number(number) => number.as_f64()?,
            Value::String(text) => text.trim().parse().ok()?,
            _ => return None,
        };
        (number.is_finite() && number != NONE).then_some(number)
    }

    /// The number, if it is whole and not negative.
    pub(super) fn whole(self, name: &str) -> Option<u32> {
        let number = self.number(name)?;
        let is_whole = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
        is_whole.then_some(number as u32)
    }

    /// The truth value; no if there is none.
    pub(super) fn flag(self, name: &str) -> bool {
        match self.0.get(name) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(text)) => text.eq_ignore_ascii_case("true"),
            _ => false,
        }
    }

    /// The texts of a list; one text is a list of one.
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

    /// The objects of a list; one object is a list of one.
    pub(super) fn objects(self, name: &str) -> Vec<Fields<'a>> {
        match self.0.get(name) {
            Some(Value::Array(items)) => items
                .iter()
                .filter_map(Value::as_object)
                .map(Fields)
                .collect(),
            Some(Value::Object(object)) => vec![Fields(object)],
            _ => Vec::new(),
        }
    }
}

/// What stands for no number, so that the schema needs no unions.
const NONE: f64 = -1.0;
