//! Describes setting types that are written as text, for the generated reference of the configuration.

/// Implements [`schemars::JsonSchema`] for a value that is written as text in a format of its own.
macro_rules! text_format {
    ($name:ty, $format:literal) => {
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "format": $format })
            }
        }
    };
}

pub(crate) use text_format;
