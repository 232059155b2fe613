//! Conversions in both directions, expanded from tables of fields.
//!
//! A conversion with rules of its own does not fit into a table: it is written out in the module of its type.

/// Implements both conversions between messages and the domain types that have the same fields. Each field has a kind:
///
/// - `same`: equal on both sides; `checked(check)`: so too, once `check` has accepted it
/// - `required`, `optional`, `repeated`: a message; `default`: an optional message with a default
/// - `bounded(check)`: `repeated`, once `check` has accepted all of them
/// - `text`: an `Option`, absent if empty; `required_text`: must not be empty
/// - `id(Type)`, `optional_id(Type)`, `required_id(Type)`: an identifier; `number(Type)`: a newtype of a number
/// - `limit`: an `Option`, absent if 0; `optional_number(Type)`: so too, of a newtype
/// - `duration`: an `Option`; `duration_or(default)`, `default_duration`: a duration with a default
/// - `enumeration(read, Type)`: an enumeration that `read` converts
macro_rules! conversions {
    ($(
        $message:ty => $domain:ty {
            $($field:ident: $kind:ident $(($($argument:tt)+))?),+ $(,)?
        }
    )+) => { $(
        impl TryFrom<$message> for $domain {
            type Error = FieldError;

            fn try_from(message: $message) -> Result<Self, FieldError> {
                Ok(Self {
                    $($field: conversions!(
                        @read $kind $(($($argument)+))? stringify!($field), message.$field
                    )),+
                })
            }
        }

        impl From<$domain> for $message {
            fn from(value: $domain) -> Self {
                Self {
                    $($field: conversions!(@write $kind $(($($argument)+))? value.$field)),+
                }
            }
        }
    )+ };

    (@read same $name:expr, $field:expr) => { $field };
    (@read checked($check:path) $name:expr, $field:expr) => { $check($field)? };
    (@read required $name:expr, $field:expr) => { $crate::convert::require($name, $field)? };
    (@read optional $name:expr, $field:expr) => { $crate::convert::optional($name, $field)? };
    (@read repeated $name:expr, $field:expr) => { $crate::convert::try_from_messages($name, $field)? };
    (@read bounded($check:path) $name:expr, $field:expr) => {
        $check($crate::convert::try_from_messages($name, $field)?)?
    };
    (@read default $name:expr, $field:expr) => {
        $crate::convert::optional($name, $field)?.unwrap_or_default()
    };
    (@read text $name:expr, $field:expr) => { $crate::convert::non_empty($field) };
    (@read required_text $name:expr, $field:expr) => {
        $crate::convert::non_empty($field).ok_or_else(|| FieldError::missing($name))?
    };
    (@read id($id:ty) $name:expr, $field:expr) => { <$id>::new($field) };
    (@read optional_id($id:ty) $name:expr, $field:expr) => {
        $crate::convert::non_empty($field).map(<$id>::new)
    };
    (@read required_id($id:ty) $name:expr, $field:expr) => {
        <$id>::new(conversions!(@read required_text $name, $field))
    };
    (@read number($newtype:path) $name:expr, $field:expr) => { $newtype($field) };
    (@read optional_number($newtype:path) $name:expr, $field:expr) => {
        ($field != 0).then(|| $newtype($field))
    };
    (@read limit $name:expr, $field:expr) => { ($field != 0).then_some($field) };
    (@read duration $name:expr, $field:expr) => { $crate::convert::duration($name, $field)? };
    (@read duration_or($default:expr) $name:expr, $field:expr) => {
        $crate::convert::duration($name, $field)?.unwrap_or($default)
    };
    (@read default_duration $name:expr, $field:expr) => {
        $crate::convert::duration($name, $field)?.unwrap_or_default()
    };
    (@read enumeration($read:path, $wire:ty) $name:expr, $field:expr) => { $read($field)? };

    (@write same $value:expr) => { $value };
    (@write checked($check:path) $value:expr) => { $value };
    (@write required $value:expr) => { Some($value.into()) };
    (@write optional $value:expr) => { $value.map(Into::into) };
    (@write bounded($check:path) $value:expr) => { $crate::convert::into_messages($value) };
    (@write repeated $value:expr) => { $crate::convert::into_messages($value) };
    (@write default $value:expr) => { Some($value.into()) };
    (@write text $value:expr) => { $value.unwrap_or_default() };
    (@write required_text $value:expr) => { $value };
    (@write id($id:ty) $value:expr) => { $value.as_str().to_owned() };
    (@write optional_id($id:ty) $value:expr) => {
        $value.map(|id| id.as_str().to_owned()).unwrap_or_default()
    };
    (@write required_id($id:ty) $value:expr) => { $value.as_str().to_owned() };
    (@write number($newtype:path) $value:expr) => { $value.0 };
    (@write optional_number($newtype:path) $value:expr) => { $value.map_or(0, |number| number.0) };
    (@write limit $value:expr) => { $value.unwrap_or_default() };
    (@write duration $value:expr) => { $value.map($crate::convert::wire_duration) };
    (@write duration_or($default:expr) $value:expr) => { Some($crate::convert::wire_duration($value)) };
    (@write default_duration $value:expr) => { Some($crate::convert::wire_duration($value)) };
    (@write enumeration($read:path, $wire:ty) $value:expr) => { <$wire>::from($value).into() };
}
/// Implements both conversions of messages with one field, which the domain value replaces. The kinds are those of `conversions`.
macro_rules! one_field_messages {
    ($($kind:ident $message:ident.$field:ident: $domain:ty;)+) => { $(
        impl TryFrom<wire::$message> for $domain {
            type Error = FieldError;

            fn try_from(message: wire::$message) -> Result<Self, FieldError> {
                Ok(conversions!(@read $kind stringify!($field), message.$field))
            }
        }

        impl From<$domain> for wire::$message {
            fn from(value: $domain) -> Self {
                Self {
                    $field: conversions!(@write $kind value),
                }
            }
        }
    )+ };
}

/// Implements both conversions of enumerations with the same variants. The function reads a number, with the name of the
/// field for errors. An unspecified value is an error (`required`), absent (`optional`) or a variant (`default(Variant)`).
macro_rules! enumerations {
    ($(
        $kind:ident $(($default:ident))? $read:ident($field:literal): $wire:ty => $domain:ty {
            $($variant:ident),+ $(,)?
        }
    )+) => { $(
        pub(super) fn $read(
            number: i32,
        ) -> Result<enumerations!(@type $kind $domain), FieldError> {
            type Wire = $wire;
            type Domain = $domain;

            let value = Wire::try_from(number).map_err(|_| {
                FieldError::new($field, format!("has the unknown value {number}"))
            })?;
            let known = match value {
                Wire::Unspecified => None,
                $(Wire::$variant => Some(Domain::$variant)),+
            };
            enumerations!(@value $kind $((Domain::$default))? $field, known)
        }

        impl From<$domain> for $wire {
            fn from(value: $domain) -> Self {
                type Domain = $domain;

                match value {
                    $(Domain::$variant => Self::$variant),+
                }
            }
        }
    )+ };

    (@type optional $domain:ty) => { Option<$domain> };
    (@type $kind:ident $domain:ty) => { $domain };

    (@value required $field:literal, $known:ident) => {
        $known.ok_or_else(|| FieldError::missing($field))
    };
    (@value optional $field:literal, $known:ident) => { Ok($known) };
    (@value default($default:expr) $field:literal, $known:ident) => {
        Ok($known.unwrap_or($default))
    };
}
