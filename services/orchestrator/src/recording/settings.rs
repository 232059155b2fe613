//! How a run was configured: what its decisions depend on beside what it is told.

use std::time::Duration;

use motorium_proto::domain::desktop::{Desktop, Platform};
use motorium_proto::domain::id::{DesktopName, DisplayId};
use motorium_proto::v1::common as wire;
use serde::{Deserialize, Serialize};

use crate::effect::Rule;
use crate::hooks::Chain;
use crate::policy::{Source, Written};
use crate::run::Conduct;

/// As it is noted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunSettings {
    desktop: String,
    display: Option<String>,
    /// The contract's number.
    platform: i32,
    effect_share: Option<f64>,
    scroll_back: bool,
    check_evidence: bool,
    approval_seconds: f64,
    rules: Written,
}

impl RunSettings {
    pub(crate) fn of(desktop: &Desktop, conduct: &Conduct) -> Self {
        Self {
            desktop: desktop.name.to_string(),
            display: desktop
                .display
                .as_ref()
                .map(|display| display.as_str().to_owned()),
            platform: wire::Platform::from(desktop.platform).into(),
            effect_share: match conduct.effect {
                Rule::Places => None,
                Rule::Share(share) => Some(share),
            },
            scroll_back: conduct.scroll_back,
            check_evidence: conduct.check_evidence,
            approval_seconds: conduct.approval_timeout.as_secs_f64(),
            rules: conduct.rules.written(),
        }
    }

    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).expect("settings can be written into memory")
    }

    /// # Errors
    /// In words, if they are none, or their rules cannot be used by this build.
    pub(crate) fn read(json: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(json).map_err(|error| error.to_string())
    }

    /// # Errors
    /// In words, if the name is none.
    pub(crate) fn desktop(&self) -> Result<Desktop, String> {
        let name = DesktopName::parse("desktop", &self.desktop);
        Ok(Desktop {
            name: name.map_err(|error| error.to_string())?,
            perception_endpoint: None,
            executor_endpoint: None,
            display: self.display.clone().map(DisplayId::new),
            platform: self.platform(),
            labels: Default::default(),
        })
    }

    fn platform(&self) -> Platform {
        match wire::Platform::try_from(self.platform) {
            Ok(wire::Platform::Windows) => Platform::Windows,
            Ok(wire::Platform::Macos) => Platform::Macos,
            Ok(wire::Platform::Browser) => Platform::Browser,
            Ok(wire::Platform::Linux) => Platform::Linux,
            _ => Platform::Unknown,
        }
    }

    /// # Errors
    /// In words, if the rules cannot be used by this build.
    pub(crate) fn conduct(&self) -> Result<Conduct, String> {
        Ok(Conduct {
            effect: self.effect_share.map_or(Rule::Places, Rule::Share),
            scroll_back: self.scroll_back,
            check_evidence: self.check_evidence,
            approval_timeout: Duration::from_secs_f64(self.approval_seconds.max(0.0)),
            rules: Source::of(&self.rules).map_err(|error| error.to_string())?,
            pause_on_human_input: false,
            recording: false,
            // What they said is in the record.
            hooks: Chain::new(Vec::new()),
            ..Conduct::default()
        })
    }
}
