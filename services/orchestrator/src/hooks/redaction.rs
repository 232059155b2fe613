//! What is painted over in every picture that a task has taken, whoever looks at the screen.
//!
//! It is told to Perception, which paints before anything is read, encoded or stored. The same words as in
//! `perception.hide`; that one holds for everybody who asks Perception, this one for what the Orchestrator asks. Not here:
//! where secrets were entered ([`crate::task::secret_fields`]), which is hidden always.

use async_trait::async_trait;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::error::FieldError;
use motorium_proto::service::{Redaction as Hidden, SensitiveText};
use regex::Regex;
use serde::{Deserialize, Serialize};

use super::happening::{Amendment, Happening, Point, Points};
use super::{Context, Error, Hook, Verdict};

/// As written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub name: String,
    /// `card_numbers`, `email_addresses`, `window:NAME` (an application, or the identifier of a window), `text:PATTERN` (a
    /// regular expression), `region:X,Y,WIDTH,HEIGHT` (of the display, in its pixels).
    pub hide: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "redaction".to_owned(),
            hide: Vec::new(),
        }
    }
}

/// Has the same things painted over always.
#[derive(Debug)]
pub struct Redaction {
    name: String,
    hidden: Vec<Hidden>,
}

impl Redaction {
    /// # Errors
    /// If something of it is not understood.
    pub fn new(settings: Settings) -> Result<Self, FieldError> {
        let hidden = settings
            .hide
            .iter()
            .map(|written| what(written).map_err(|problem| FieldError::new("hide", problem)));
        Ok(Self {
            hidden: hidden.collect::<Result<_, _>>()?,
            name: settings.name,
        })
    }
}

#[async_trait]
impl Hook for Redaction {
    fn name(&self) -> &str {
        &self.name
    }

    async fn points(&self) -> Result<Points, Error> {
        Ok([Point::BeforeScreenshot].into())
    }

    async fn call(&self, _: &Context<'_>, happening: &Happening<'_>) -> Result<Verdict, Error> {
        Ok(match happening {
            Happening::BeforeScreenshot(_) => {
                Verdict::Amend(Amendment::Screenshot(self.hidden.clone()))
            }
            _ => Verdict::Continue,
        })
    }

    fn is_noted(&self) -> bool {
        false
    }
}

fn what(written: &str) -> Result<Hidden, String> {
    match (written, written.split_once(':')) {
        ("card_numbers", _) => Ok(Hidden::SensitiveText(SensitiveText::CardNumber)),
        ("email_addresses", _) => Ok(Hidden::SensitiveText(SensitiveText::EmailAddress)),
        (_, Some(("window", name))) if !name.is_empty() => Ok(Hidden::Window(name.to_owned())),
        (_, Some(("text", pattern))) => text(pattern),
        (_, Some(("region", region))) => region_of(region),
        _ => Err(format!(
            "`{written}` is none of card_numbers, email_addresses, window:NAME, text:PATTERN, \
             region:X,Y,WIDTH,HEIGHT"
        )),
    }
}

/// Text that matches a regular expression.
pub(super) fn text(pattern: &str) -> Result<Hidden, String> {
    match Regex::new(pattern) {
        Ok(regex) if !regex.is_match("") => Ok(Hidden::TextPattern(pattern.to_owned())),
        Ok(_) => Err(format!("`{pattern}` matches a text without letters")),
        Err(error) => Err(format!("`{pattern}` is no regular expression: {error}")),
    }
}

fn region_of(written: &str) -> Result<Hidden, String> {
    let numbers: Option<Vec<i32>> = written
        .split(',')
        .map(|number| number.trim().parse().ok())
        .collect();
    match numbers.as_deref() {
        Some(&[x, y, width, height]) if width > 0 && height > 0 => {
            Ok(Hidden::Region(CaptureRect::from_origin_and_size(
                CapturePoint::new(x, y),
                CaptureSize::new(width, height),
            )))
        }
        _ => Err(format!(
            "`region:{written}` is no region; write region:X,Y,WIDTH,HEIGHT, as in region:0,0,400,80"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_perception_hides_can_be_named() {
        let rect = CaptureRect::new(CapturePoint::new(1, 2), CapturePoint::new(4, 6));
        for (written, meant) in [
            (
                "card_numbers",
                Hidden::SensitiveText(SensitiveText::CardNumber),
            ),
            (
                "email_addresses",
                Hidden::SensitiveText(SensitiveText::EmailAddress),
            ),
            ("window:mail", Hidden::Window("mail".to_owned())),
            ("text:a:b+", Hidden::TextPattern("a:b+".to_owned())),
            ("region:1,2,3,4", Hidden::Region(rect)),
        ] {
            assert_eq!(what(written), Ok(meant), "{written}");
        }
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for (written, words) in [
            ("faces", "is none of card_numbers"),
            ("window:", "is none of card_numbers"),
            ("text:(", "is no regular expression"),
            ("text:.*", "matches a text without letters"),
            ("region:1,2,0,4", "is no region"),
        ] {
            let error = what(written).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
