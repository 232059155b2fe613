//! Identifiers, parsed once. A value of one of these types is known to be well formed.

use std::fmt;

use crate::error::FieldError;

/// Longest identifier segment that is accepted, in bytes.
const MAX_SEGMENT: usize = 63;

fn check_segment(field: &str, segment: &str) -> Result<(), FieldError> {
    let well_formed = !segment.is_empty()
        && segment.len() <= MAX_SEGMENT
        && segment
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !segment.starts_with('-')
        && !segment.ends_with('-');
    if well_formed {
        return Ok(());
    }
    Err(FieldError::new(
        field,
        format!(
            "`{segment}` is not an identifier: 1 to {MAX_SEGMENT} of a-z, 0-9 and -, neither first nor last a hyphen"
        ),
    ))
}

/// Declares an identifier type: a resource name `collection/segment` that keeps only the segment.
macro_rules! resource_name {
    ($(#[$doc:meta])* $name:ident, $collection:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// The collection that the resource belongs to.
            pub const COLLECTION: &'static str = $collection;

            /// Makes a name from its last segment.
            ///
            /// # Errors
            /// If the segment is not an identifier (lower-case letters, digits, hyphens, at most 63).
            pub fn from_segment(segment: &str) -> Result<Self, FieldError> {
                check_segment("name", segment)?;
                Ok(Self(segment.to_owned()))
            }

            /// Parses a full resource name out of the request field `field`.
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

            /// The last segment alone.
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
            /// Takes the text as it is.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The identifier's text.
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
    /// A captured frame, as Perception named it. Unique within one Perception process.
    FrameId
);
opaque_id!(
    /// A display of a desktop, as Perception and Executor both name it (`:99` on X11).
    DisplayId
);
opaque_id!(
    /// One attempt at one action; deterministic (`task/step/action/attempt`), never performed twice.
    ActionId
);

/// Number of an element, the one drawn beside it. It stays with the element from frame to frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ElementId(pub u32);

impl fmt::Display for ElementId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Minted by the Executor at `AcquireDesktop`; grows for ever. A lower one than the highest seen is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DesktopEpoch(pub u64);

/// Fences a task's row in the store; never leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskEpoch(pub i64);

/// Gapless number of an event within its task, from 1.
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
