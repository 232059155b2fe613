//! Reference of the settings: every key with its type, default, unit and description, derived from the settings types.
//!
//! The JSON schema of a settings type provides types and doc comments, its serialised default the values. Two extensions
//! of a field's schema are used: `format` (`path`, `duration`, `address`, `secret`) names a textual type, and `x-unit` a
//! unit that the name of the key does not state.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Map, Value};

use super::common::CommonSettings;
use super::{Section, environment};

/// Placeholder for the name of an entry that users choose.
pub const NAME_PLACEHOLDER: &str = "NAME";

/// Units by the suffix of a key.
const UNITS: [(&str, &str); 7] = [
    ("_px", "pixels"),
    ("_pixels", "pixels"),
    ("_mib", "MiB"),
    ("_bytes", "bytes"),
    ("_tokens", "tokens"),
    ("_percent", "%"),
    ("_per_second", "1/s"),
];

/// An example of a table, as it is written in a configuration file.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// Path of the table without the section, such as `applications.NAME`.
    pub table: &'static str,
    /// The example in TOML.
    pub toml: &'static str,
}

/// A table of the configuration file with its keys.
#[derive(Debug, Clone, PartialEq)]
pub struct TableReference {
    /// Path: `executor`, or `executor.applications.NAME` if users choose the name. Empty for the top level.
    pub path: String,
    /// Array of tables: `[[planner.models]]`.
    pub is_array: bool,
    /// The array, or a table within one.
    pub is_in_array: bool,
    /// The table is absent by default.
    pub is_optional: bool,
    /// Value of `kind`, for one of several kinds of tables with the same path.
    pub variant: Option<String>,
    /// Description from the doc comment.
    pub description: String,
    /// Keys in the order of their declaration.
    pub keys: Vec<KeyReference>,
    /// Example in TOML.
    pub example: Option<&'static str>,
}

impl TableReference {
    /// Returns the header as it is written in a file.
    #[must_use]
    pub fn header(&self) -> String {
        if self.is_array {
            format!("[[{}]]", self.path)
        } else {
            format!("[{}]", self.path)
        }
    }

    /// Returns true if the table exists only after a user has written it, under a name of their own or as one of many.
    #[must_use]
    pub fn is_entry(&self) -> bool {
        self.is_in_array || self.path.split('.').any(|part| part == NAME_PLACEHOLDER)
    }
}

/// A key of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyReference {
    /// Full dotted path.
    pub path: String,
    /// Type, for people.
    pub kind: String,
    /// Default as TOML. `None` if the key is not set by default.
    pub default: Option<String>,
    /// The table is invalid without the key.
    pub is_required: bool,
    /// Unit of a number.
    pub unit: Option<String>,
    /// Environment variable. `None` in arrays, whose elements have no names.
    pub variable: Option<String>,
    /// Description from the doc comment.
    pub description: String,
    /// Example value as TOML.
    pub example: Option<String>,
}

/// Returns the tables of a section.
#[must_use]
pub fn section_reference<S: Section>() -> Vec<TableReference> {
    tables::<S>(S::NAME, S::EXAMPLES)
}

/// Returns the tables of the settings common to all servers.
#[must_use]
pub fn common_reference() -> Vec<TableReference> {
    tables::<CommonSettings>("", &[])
}

/// Returns a value as it is written in TOML, or `None` for null.
#[must_use]
pub(super) fn as_toml(value: &Value) -> Option<String> {
    let value = toml::Value::try_from(value).ok()?;
    Some(plain(&value))
}

/// Writes a TOML value. A number that was a 32-bit float is written as such: 0.22 and not 0.2199999988079071.
pub(super) fn plain(value: &toml::Value) -> String {
    let toml::Value::Float(number) = value else {
        return value.to_string();
    };
    let narrow = *number as f32;
    if f64::from(narrow).to_bits() == number.to_bits() {
        format!("{narrow:?}")
    } else {
        value.to_string()
    }
}

fn tables<T: JsonSchema + Default + Serialize>(
    path: &str,
    examples: &'static [Example],
) -> Vec<TableReference> {
    let schema = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>();
    let defaults =
        serde_json::to_value(T::default()).expect("settings have text keys and plain values");
    let mut collector = Collector {
        definitions: schema.get("$defs").cloned().unwrap_or_default(),
        section: path,
        examples,
        tables: Vec::new(),
    };
    collector.add_table(&TableLocation::table(path), &object(&schema), &defaults);
    collector.tables
}

fn object(schema: &Schema) -> Map<String, Value> {
    schema.as_object().cloned().unwrap_or_default()
}

/// Collects the tables of one section.
struct Collector<'a> {
    definitions: Value,
    section: &'a str,
    examples: &'static [Example],
    tables: Vec<TableReference>,
}

/// Position of a table in the file.
struct TableLocation {
    path: String,
    is_array: bool,
    is_in_array: bool,
    variant: Option<String>,
    /// Description from the field, which is more specific than the type's.
    description: Option<String>,
}

impl TableLocation {
    fn table(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            is_array: false,
            is_in_array: false,
            variant: None,
            description: None,
        }
    }

    fn key(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }
}

impl Collector<'_> {
    fn add_table(&mut self, place: &TableLocation, schema: &Map<String, Value>, defaults: &Value) {
        let position = self.tables.len();
        let own = description(schema);
        self.tables.push(TableReference {
            path: place.path.clone(),
            is_array: place.is_array,
            is_in_array: place.is_in_array,
            is_optional: defaults.is_null(),
            variant: place.variant.clone(),
            description: place.description.clone().unwrap_or(own),
            keys: Vec::new(),
            example: self.example(place),
        });
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
        for (name, property) in properties(schema) {
            let default = defaults.get(name).or_else(|| property.get("default"));
            let default = default.cloned().unwrap_or_default();
            if !self.add_nested_tables(place, name, property, &default) {
                let key = self.key(place, name, property, &default, is_required(name));
                self.tables[position].keys.push(key);
            }
        }
        // The kind decides about all other keys.
        let is_tag = |key: &KeyReference| place.variant.is_some() && key.path == place.key("kind");
        self.tables[position].keys.sort_by_key(|key| !is_tag(key));
    }

    /// Adds the tables that a property consists of. Returns false if it is a plain value.
    fn add_nested_tables(
        &mut self,
        place: &TableLocation,
        name: &str,
        property: &Value,
        default: &Value,
    ) -> bool {
        let schema = self.resolve(property);
        let mut below = TableLocation {
            path: place.key(name),
            is_array: false,
            is_in_array: place.is_in_array,
            variant: None,
            description: Some(description(&schema)).filter(|text| !text.is_empty()),
        };
        if has_properties(&schema) {
            self.add_table(&below, &schema, default);
            return true;
        }
        if let Some(entry) = schema.get("additionalProperties") {
            let entry = self.resolve(entry);
            below.path = format!("{}.{NAME_PLACEHOLDER}", below.path);
            if has_properties(&entry) {
                self.add_table(&below, &entry, &Value::Null);
                return true;
            }
        }
        let Some(items) = schema.get("items") else {
            return false;
        };
        below.is_array = true;
        below.is_in_array = true;
        let items = self.resolve(items);
        if has_properties(&items) {
            self.add_table(&below, &items, &Value::Null);
            return true;
        }
        let variants: Vec<_> = alternatives(&items)
            .iter()
            .map(|variant| self.resolve(variant))
            .collect();
        for variant in &variants {
            below.variant = constant(variant, "kind");
            below.description = Some(description(variant));
            self.add_table(&below, variant, &Value::Null);
        }
        !variants.is_empty()
    }

    fn key(
        &self,
        place: &TableLocation,
        name: &str,
        property: &Value,
        default: &Value,
        is_required: bool,
    ) -> KeyReference {
        let schema = self.resolve(property);
        let path = place.key(name);
        let constant = schema.get("const");
        let example = schema.get("examples").and_then(|examples| examples.get(0));
        let described = match description(&schema) {
            // The tag of an enum has no doc comment.
            text if text.is_empty() && constant.is_some() => "Selects this kind.".to_owned(),
            text => text,
        };
        // An empty table is written by leaving it out.
        let is_value = |default: &String| constant.is_none() && default != "{}";
        KeyReference {
            kind: self.kind(&schema),
            default: as_toml(default).filter(is_value),
            is_required,
            unit: unit(name, &schema),
            variable: (!place.is_in_array).then(|| environment::variable(&path)),
            description: described,
            example: constant.or(example).and_then(as_toml),
            path,
        }
    }

    fn example(&self, place: &TableLocation) -> Option<&'static str> {
        let inner = place.path.strip_prefix(self.section)?;
        let inner = inner.trim_start_matches('.');
        let inner = match &place.variant {
            Some(variant) => format!("{inner}.{variant}"),
            None => inner.to_owned(),
        };
        let example = self.examples.iter().find(|example| example.table == inner);
        example.map(|example| example.toml)
    }

    /// Returns the schema with references followed and without the null of an `Option`. Descriptions of a field replace
    /// those of its type.
    fn resolve(&self, schema: &Value) -> Map<String, Value> {
        let mut own = schema.as_object().cloned().unwrap_or_default();
        let inner = match (own.remove("$ref"), own.get("anyOf")) {
            (Some(reference), _) => reference
                .as_str()
                .and_then(|path| path.strip_prefix("#/$defs/"))
                .and_then(|name| self.definitions.get(name))
                .cloned(),
            (None, Some(Value::Array(choices))) => {
                let mut some = choices.iter().filter(|choice| !is_null(choice));
                let only = some.next().cloned().filter(|_| some.next().is_none());
                if only.is_some() {
                    own.remove("anyOf");
                }
                only
            }
            _ => None,
        };
        let Some(inner) = inner else {
            return own;
        };
        let mut merged = self.resolve(&inner);
        for (key, value) in own {
            match (merged.get_mut(&key), value) {
                // The tag of an enum is a property beside those of the variant.
                (Some(Value::Object(into)), Value::Object(more)) => into.extend(more),
                (_, value) => drop(merged.insert(key, value)),
            }
        }
        merged
    }

    /// Returns the name of a type as the reference shows it, such as `text`, `list of text` or
    /// `true or "auto"`.
    fn kind(&self, schema: &Map<String, Value>) -> String {
        if let Some(value) = schema.get("const") {
            return as_toml(value).unwrap_or_default();
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            let values: Vec<_> = values.iter().filter_map(as_toml).collect();
            return values.join(" or ");
        }
        let alternatives = alternatives(schema);
        if !alternatives.is_empty() {
            let kinds = alternatives.iter().filter(|choice| !is_null(choice));
            let kinds: Vec<_> = kinds
                .map(|choice| self.kind(&self.resolve(choice)))
                .collect();
            return kinds.join(" or ");
        }
        let format = schema.get("format").and_then(Value::as_str);
        if let Some(format @ ("path" | "duration" | "address" | "secret")) = format {
            return format.to_owned();
        }
        match type_name(schema) {
            "string" => "text".to_owned(),
            "array" => {
                let items = schema.get("items").map(|items| self.resolve(items));
                format!("list of {}", self.kind(&items.unwrap_or_default()))
            }
            "object" if has_properties(schema) => {
                let fields = properties(schema)
                    .map(|(name, field)| format!("{name} = {}", self.kind(&self.resolve(field))));
                format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
            }
            "object" => {
                let values = schema.get("additionalProperties");
                let values = values.map(|values| self.resolve(values));
                format!("table of {}", self.kind(&values.unwrap_or_default()))
            }
            "" => "any value".to_owned(),
            other => other.to_owned(),
        }
    }
}

fn properties(schema: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten()
}

fn has_properties(schema: &Map<String, Value>) -> bool {
    properties(schema).next().is_some()
}

fn alternatives(schema: &Map<String, Value>) -> &[Value] {
    let choices = schema.get("oneOf").or_else(|| schema.get("anyOf"));
    choices.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|name| name == "null")
}

/// Returns the name of the type, also of an optional one (`["string", "null"]`).
fn type_name(schema: &Map<String, Value>) -> &str {
    match schema.get("type") {
        Some(Value::String(name)) => name,
        Some(Value::Array(names)) => {
            let mut names = names.iter().filter_map(Value::as_str);
            names.find(|name| *name != "null").unwrap_or_default()
        }
        _ => "",
    }
}

/// Returns the fixed value of a property.
fn constant(schema: &Map<String, Value>, property: &str) -> Option<String> {
    let value = schema.get("properties")?.get(property)?.get("const")?;
    value.as_str().map(str::to_owned)
}

/// Returns the doc comment as one line.
fn description(schema: &Map<String, Value>) -> String {
    let text = schema.get("description").and_then(Value::as_str);
    let words: Vec<_> = text.unwrap_or_default().split_whitespace().collect();
    // Readers of the reference need not know that settings are resolved into a configuration.
    words.join(" ").replace(", as written", "")
}

fn unit(name: &str, schema: &Map<String, Value>) -> Option<String> {
    if let Some(unit) = schema.get("x-unit").and_then(Value::as_str) {
        return Some(unit.to_owned());
    }
    if schema
        .get("format")
        .is_some_and(|format| format == "duration")
    {
        return Some("ms, s, m, h, d".to_owned());
    }
    let by_name = UNITS.iter().find(|(suffix, _)| name.ends_with(suffix));
    by_name.map(|(_, unit)| (*unit).to_owned())
}
