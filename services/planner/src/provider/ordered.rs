//! Writes a request with the properties of every schema in the order in which the schema requires them. Models that are
//! held to a schema write their answer in the order of its properties, and a model that may say what it thinks only after
//! what it does has not thought. Everything else is written as it was put together, which is the same in every step, as a
//! cache of prompts wants it.

use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::{Map, Value};

/// A value, to be written so.
pub(super) struct Ordered<'a>(pub(super) &'a Value);

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(&Ordered(item))?;
                }
                list.end()
            }
            Value::Object(fields) => {
                let required = required(fields);
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    match (name.as_str(), value) {
                        ("properties", Value::Object(properties)) => {
                            map.serialize_entry(
                                name,
                                &Properties {
                                    properties,
                                    required,
                                },
                            )?;
                        }
                        _ => map.serialize_entry(name, &Ordered(value))?,
                    }
                }
                map.end()
            }
            other => other.serialize(serializer),
        }
    }
}

fn required(schema: &Map<String, Value>) -> &[Value] {
    let required = schema.get("required").and_then(Value::as_array);
    required.map(Vec::as_slice).unwrap_or_default()
}

/// The properties of a schema: first those that it requires, in that order.
struct Properties<'a> {
    properties: &'a Map<String, Value>,
    required: &'a [Value],
}

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = self.required.iter().filter_map(Value::as_str);
        let first = names.filter_map(|name| self.properties.get_key_value(name));
        let is_rest =
            |(name, _): &(&String, &Value)| !self.required.iter().any(|known| known == *name);
        let rest = self.properties.iter().filter(is_rest);
        let mut map = serializer.serialize_map(Some(self.properties.len()))?;
        for (name, schema) in first.chain(rest) {
            map.serialize_entry(name, &Ordered(schema))?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn properties_come_in_the_order_in_which_they_are_required() {
        let schema = json!({"type": "object", "required": ["thought", "actions"], "properties": {
            "extra": {"type": "string"},
            "actions": {"items": {"required": ["y", "x"], "properties": {"x": 1, "y": 2}}},
            "thought": {"type": "string"}}});
        assert_eq!(
            serde_json::to_string(&Ordered(&json!({"schema": schema, "model": "m"}))).unwrap(),
            r#"{"schema":{"type":"object","required":["thought","actions"],"properties":{"thought":{"type":"string"},"actions":{"items":{"required":["y","x"],"properties":{"y":2,"x":1}}},"extra":{"type":"string"}}},"model":"m"}"#
        );
    }

    #[test]
    fn nothing_is_lost() {
        let value = json!({"properties": [1, "a", null, 2.5], "required": "no", "a": {"properties": {"b": true}}});
        let written = serde_json::to_string(&Ordered(&value)).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value);
    }
}
