//! Serialises a request with the properties of every schema in the order of `required`. Models write constrained output
//! in the order of the schema's properties, and a model that states its reasoning after the action has not reasoned.
//! Everything else keeps its order, which is the same in every step, so that prompt caches hit.

use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::{Map, Value};

/// A value that is serialised in this order.
pub(super) struct SchemaOrdered<'a>(pub(super) &'a Value);

impl Serialize for SchemaOrdered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(&SchemaOrdered(item))?;
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
                        _ => map.serialize_entry(name, &SchemaOrdered(value))?,
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

/// Properties of a schema: the required ones first, in the order of `required`.
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
            map.serialize_entry(name, &SchemaOrdered(schema))?;
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
            serde_json::to_string(&SchemaOrdered(&json!({"schema": schema, "model": "m"})))
                .unwrap(),
            r#"{"schema":{"type":"object","required":["thought","actions"],"properties":{"thought":{"type":"string"},"actions":{"items":{"required":["y","x"],"properties":{"y":2,"x":1}}},"extra":{"type":"string"}}},"model":"m"}"#
        );
    }

    #[test]
    fn nothing_is_lost() {
        let value = json!({"properties": [1, "a", null, 2.5], "required": "no", "a": {"properties": {"b": true}}});
        let written = serde_json::to_string(&SchemaOrdered(&value)).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value);
    }
}
