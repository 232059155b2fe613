//! Redaction hook: redacts fixed content in every screenshot of a task.
//!
//! Perception applies the redactions before anything is parsed, encoded or stored. The syntax is that of
//! `perception.redact`, which applies to all callers of Perception; this hook applies to the Orchestrator's tasks. Not
//! here: fields into which secrets were entered ([`motorium_task::secret_fields`]), which are always redacted.

use async_trait::async_trait;
use motorium_proto::domain::geometry::parse_region;
use motorium_proto::error::FieldError;
use motorium_proto::service::{Redaction as Hidden, SensitiveText};
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{Amendment, HookEvent, HookPoint, HookPoints};
use super::{Error, Hook, HookContext, HookVerdict};

/// Settings of the hook.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Name of the hook in events and errors. Unique among the hooks.
    pub name: String,
    /// Content to redact: `card_numbers`, `email_addresses`, `window:NAME` (an application or a window id),
    /// `text:PATTERN` (a regular expression) or `region:X,Y,WIDTH,HEIGHT` (in pixels of the display).
    pub redact: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "redaction".to_owned(),
            redact: Vec::new(),
        }
    }
}

/// Applies the same redactions to every screenshot.
#[derive(Debug)]
pub struct RedactionHook {
    name: String,
    hidden: Vec<Hidden>,
}

impl RedactionHook {
    /// # Errors
    /// If a redaction is invalid.
    pub fn new(settings: Settings) -> Result<Self, FieldError> {
        let hidden = settings.redact.iter().map(|written| {
            parse_redaction(written).map_err(|problem| FieldError::new("redact", problem))
        });
        Ok(Self {
            hidden: hidden.collect::<Result<_, _>>()?,
            name: settings.name,
        })
    }
}

#[async_trait]
impl Hook for RedactionHook {
    fn name(&self) -> &str {
        &self.name
    }

    async fn points(&self) -> Result<HookPoints, Error> {
        Ok([HookPoint::BeforeScreenshot].into())
    }

    async fn call(
        &self,
        _: &HookContext<'_>,
        hook_event: &HookEvent<'_>,
    ) -> Result<HookVerdict, Error> {
        Ok(match hook_event {
            HookEvent::BeforeScreenshot(_) => {
                HookVerdict::Amend(Amendment::Screenshot(self.hidden.clone()))
            }
            _ => HookVerdict::Continue,
        })
    }

    fn records_amendments(&self) -> bool {
        false
    }
}

fn parse_redaction(written: &str) -> Result<Hidden, String> {
    match (written, written.split_once(':')) {
        ("card_numbers", _) => Ok(Hidden::SensitiveText(SensitiveText::CardNumber)),
        ("email_addresses", _) => Ok(Hidden::SensitiveText(SensitiveText::EmailAddress)),
        (_, Some(("window", name))) if !name.is_empty() => Ok(Hidden::Window(name.to_owned())),
        (_, Some(("text", pattern))) => text_pattern(pattern),
        (_, Some(("region", region))) => parse_region(region).map(Hidden::Region).ok_or_else(|| {
            format!(
                "`region:{region}` is not a region; write region:X,Y,WIDTH,HEIGHT, as in region:0,0,400,80"
            )
        }),
        _ => Err(format!(
            "`{written}` is not one of card_numbers, email_addresses, window:NAME, text:PATTERN, \
             region:X,Y,WIDTH,HEIGHT"
        )),
    }
}

/// Parses a redaction of text that matches a regular expression.
pub(super) fn text_pattern(pattern: &str) -> Result<Hidden, String> {
    match Regex::new(pattern) {
        Ok(regex) if !regex.is_match("") => Ok(Hidden::TextPattern(pattern.to_owned())),
        Ok(_) => Err(format!(
            "`{pattern}` matches the empty string, and so every text"
        )),
        Err(error) => Err(format!("`{pattern}` is not a regular expression: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

    use super::*;

    #[test]
    fn every_kind_of_redaction_can_be_configured() {
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
            assert_eq!(parse_redaction(written), Ok(meant), "{written}");
        }
    }

    #[test]
    fn invalid_redaction_rules_are_reported() {
        for (written, words) in [
            ("faces", "is not one of card_numbers"),
            ("window:", "is not one of card_numbers"),
            ("text:(", "is not a regular expression"),
            ("text:.*", "matches the empty string, and so every text"),
            ("region:1,2,0,4", "is not a region"),
        ] {
            let error = parse_redaction(written).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
