//! Fields of a JSON object as models fill them: absent, null, a number in quotes, a word in capitals.

use serde_json::{Map, Value};

use crate::backends::dialect::Misread;

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

    /// The number; `None` if there is none, or the one that stands for none. `[7]` is one too, as elements are listed.
    ///
    /// # Errors
    /// If something else stands there: a target that cannot be read is not the same as none.
    pub(super) fn number(self, name: &str) -> Result<Option<f64>, Misread> {
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
            Some(NONE) => Ok(None),
            Some(number) => Ok(Some(number)),
            None => Err(Misread::invalid(format!(
                "`{name}` is {value}, which is no number"
            ))),
        }
    }

    /// The number, if it is whole and not negative.
    ///
    /// # Errors
    /// If it is not, or none at all.
    pub(super) fn whole(self, name: &str) -> Result<Option<u32>, Misread> {
        let Some(number) = self.number(name)? else {
            return Ok(None);
        };
        let is_whole = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
        if !is_whole {
            return Err(Misread::invalid(format!(
                "`{name}` is {number}, which is no whole number from 0 on"
            )));
        }
        Ok(Some(number as u32))
    }

    /// The first of these names under which anything stands.
    pub(super) fn first_of(self, names: &[&'static str]) -> Option<&'static str> {
        let is_given = |name: &&&str| !self.0.get(**name).unwrap_or(&Value::Null).is_null();
        names.iter().find(is_given).copied()
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
    ///
    /// # Errors
    /// If something else stands in the list: to leave it out would be to do something else than was decided.
    pub(super) fn objects(self, name: &str) -> Result<Vec<Fields<'a>>, Misread> {
        match self.0.get(name) {
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| {
                    item.as_object().map(Fields).ok_or_else(|| {
                        Misread::invalid(format!("`{name}` has {item}, which is no object"))
                    })
                })
                .collect(),
            Some(Value::Object(object)) => Ok(vec![Fields(object)]),
            _ => Ok(Vec::new()),
        }
    }
}

/// What stands for no number, so that the schema needs no unions.
const NONE: f64 = -1.0;
