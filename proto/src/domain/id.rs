//! Identifiers, parsed once. A value of one of these types is always well formed.
//!
//! It does not check that the named resource exists.

use std::fmt;

use crate::field_error::FieldError;

/// Maximum length of an identifier segment, in bytes.
// The limit of a DNS label, as AIP-122 recommends.
const MAX_SEGMENT_BYTES: usize = 63;

fn check_segment(field: &str, segment: &str) -> Result<(), FieldError> {
    let well_formed = !segment.is_empty()
        && segment.len() <= MAX_SEGMENT_BYTES
        && segment
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        // A leading hyphen would be taken for an option on a command line.
        && !segment.starts_with('-')
        && !segment.ends_with('-');
    if well_formed {
        return Ok(());
    }
    Err(FieldError::new(
        field,
        format!(
            "`{segment}` is not an identifier: 1 to {MAX_SEGMENT_BYTES} of a-z, 0-9 and -, neither first nor last a hyphen"
        ),
    ))
}

/// Declares a type for resource names `collection/segment`, which stores only the segment.
macro_rules! resource_name {
    ($(#[$doc:meta])* $name:ident, $collection:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// The collection that the resource belongs to.
            pub const COLLECTION: &'static str = $collection;

            /// Creates a name from its last segment.
            ///
            /// # Errors
            /// If the segment is not an identifier (lower-case letters, digits, hyphens, at most 63).
            pub fn from_segment(segment: &str) -> Result<Self, FieldError> {
                check_segment("name", segment)?;
                Ok(Self(segment.to_owned()))
            }

            /// Parses the full resource name in the request field `field`.
            ///
            /// # Errors
            /// If the name is empty, of another collection, or malformed; the error names the field.
            pub fn parse(field: &str, name: &str) -> Result<Self, FieldError> {
                let Some(segment) = name.strip_prefix(concat!($collection, "/")) else {
                    return Err(FieldError::new(
                        field,
                        format!(concat!("`{}` is not of the form ", $collection, "/{{id}}"), name),
                    ));
                };
                check_segment(field, segment)?;
                Ok(Self(segment.to_owned()))
            }

            /// Returns the last segment.
            #[must_use]
            pub fn segment(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($collection, "/{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

resource_name!(
    /// `tasks/{task}`.
    TaskName,
    "tasks"
);
resource_name!(
    /// `desktops/{desktop}`.
    DesktopName,
    "desktops"
);
resource_name!(
    /// `sessions/{session}`.
    SessionName,
    "sessions"
);

/// Declares an opaque text identifier.
macro_rules! opaque_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Creates an identifier from its text, without validation.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// Returns the text of the identifier.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

opaque_id!(
    /// Identifier of a captured frame. Unique within one Perception process.
    FrameId
);
opaque_id!(
    /// Identifier of a display, the same for Perception and Executor (`:99` on X11).
    DisplayId
);
opaque_id!(
    /// Identifier of one attempt at one action. Deterministic (`task/step/action/attempt`), never performed twice.
    ActionId
);

/// Number of an element, drawn beside it in the annotated image. Stable from frame to frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ElementId(pub u32);

impl fmt::Display for ElementId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Fencing epoch of a desktop lease, issued by the Executor at `AcquireDesktop`. Always increases; an epoch lower than
/// the highest one is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DesktopEpoch(pub u64);

/// Fencing epoch of a task's row in the store. Never leaves the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskEpoch(pub i64);

/// Sequence number of an event within its task, starting at 1 without gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventSeq(pub i64);

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: Result<&str, &str>) {
        let got = TaskName::parse("name", name);
        match expected {
            Ok(segment) => assert_eq!(got.unwrap().segment(), segment),
            Err(part) => {
                let error = got.unwrap_err();
                assert!(error.description.contains(part), "{name}: {error}");
                assert_eq!(error.field, "name");
            }
        }
    }

    #[test]
    fn names() {
        check("tasks/a-1", Ok("a-1"));
        check("", Err("is not of the form tasks/{id}"));
        check("desktops/a", Err("is not of the form tasks/{id}"));
        check("tasks/", Err("is not an identifier"));
        check("tasks/A", Err("is not an identifier"));
        check("tasks/-a", Err("is not an identifier"));
        check("tasks/a/b", Err("is not an identifier"));
        check(
            &format!("tasks/{}", "a".repeat(64)),
            Err("is not an identifier"),
        );
    }
}
