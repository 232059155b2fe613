//! Recorded settings of a run: configuration on which its decisions depend.
//!
//! Other settings are not recorded.

use std::time::Duration;

use motorium_proto::domain::desktop::{Desktop, Platform};
use motorium_proto::domain::id::{DesktopName, DisplayId};
use motorium_proto::v1::common as wire;
use serde::{Deserialize, Serialize};

use crate::hooks::HookChain;
use crate::run::{EffectWindows, LoopFeatures, PointerChecks, RunConfig};
use motorium_policy::{PolicyDocument, PolicySource};
use motorium_task::completion::ClaimRules;
use motorium_task::effect::EffectCriterion;
use motorium_task::retry::RetryRules;

/// Recorded form of the settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunSettings {
    desktop: String,
    display: Option<String>,
    /// Number of the proto enum.
    platform: i32,
    effect_share: Option<f64>,
    scroll_back: bool,
    /// Absent in recordings of earlier versions, as are the next three: they ran with the defaults.
    #[serde(default)]
    max_retries: Option<u32>,
    #[serde(default)]
    retry_offset_px: Option<u32>,
    #[serde(default)]
    effect_windows: EffectWindows,
    #[serde(default)]
    pointer_checks: PointerChecks,
    check_evidence: bool,
    /// Recordings of earlier versions do not have it, and no second looks.
    #[serde(default)]
    second_look: bool,
    approval_seconds: f64,
    /// Recordings of earlier versions do not have it, and no approvals that need a second person.
    #[serde(default)]
    second_person: bool,
    #[serde(default)]
    release_desktop_seconds: Option<f64>,
    rules: PolicyDocument,
    /// Recordings of earlier versions do not have it, and no further attempts to see the screen.
    #[serde(default)]
    max_screen_failures: u32,
    /// Recordings of earlier versions do not have it, and repeat every click without effect by each strategy.
    #[serde(default)]
    spare_commands: bool,
    /// Absent in recordings of earlier versions, which trust the recognised kinds of targets.
    #[serde(default)]
    trust_kinds: Option<bool>,
    /// Recordings of earlier versions do not have it, and take texts from before an action without effect for evidence.
    #[serde(default)]
    wants_new_texts: bool,
    /// Recordings of earlier versions do not have it, and lenient rules for claims of success.
    #[serde(default)]
    strict_claims: bool,
    /// Recordings of earlier versions do not have it, and take a browser's own words for texts of the page.
    #[serde(default)]
    exclude_browser_words: bool,
    /// Recordings of earlier versions do not have it, and count a call of unknown usage as nothing, and so all before it.
    #[serde(default)]
    estimate_usage: bool,
    /// Recordings of earlier versions do not have it, and no answers of tasks that end without one.
    #[serde(default)]
    summary_seconds: Option<f64>,
    #[serde(flatten)]
    features: LoopFeatures,
}

impl RunSettings {
    pub(crate) fn of(desktop: &Desktop, config: &RunConfig) -> Self {
        Self {
            desktop: desktop.name.to_string(),
            display: desktop
                .display
                .as_ref()
                .map(|display| display.as_str().to_owned()),
            platform: wire::Platform::from(desktop.platform).into(),
            effect_share: match config.effect_rule {
                EffectCriterion::ChangedRegions => None,
                EffectCriterion::ChangedShare(share) => Some(share),
            },
            scroll_back: config.retry.reverse_scroll_at_end,
            max_retries: Some(config.retry.max_retries),
            retry_offset_px: Some(config.retry.offset_px),
            effect_windows: config.effect_windows,
            pointer_checks: config.pointer_checks,
            check_evidence: config.verify_evidence,
            second_look: config.second_look,
            approval_seconds: config.approval_timeout.as_secs_f64(),
            second_person: config.second_person,
            release_desktop_seconds: config
                .release_desktop_after
                .map(|after| after.as_secs_f64()),
            rules: config.policy.document(),
            max_screen_failures: config.max_screen_failures,
            spare_commands: config.retry.spare_commands,
            trust_kinds: Some(config.retry.trust_kinds),
            wants_new_texts: config.claim_rules == ClaimRules::Strict,
            estimate_usage: true,
            strict_claims: config.claim_rules != ClaimRules::Lenient,
            exclude_browser_words: config.claim_rules.excludes_browser_words(),
            features: config.features,
            summary_seconds: config.summary_timeout.map(|timeout| timeout.as_secs_f64()),
        }
    }

    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).expect("settings can be written into memory")
    }

    /// # Errors
    /// If the recorded settings are invalid, or this build cannot use their policy.
    pub(crate) fn read(json: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(json).map_err(|error| error.to_string())
    }

    /// # Errors
    /// If the recorded settings are invalid, or this build cannot use their policy.
    pub(crate) fn desktop(&self) -> Result<Desktop, String> {
        let name = DesktopName::parse("desktop", &self.desktop);
        Ok(Desktop {
            name: name.map_err(|error| error.to_string())?,
            perception_endpoint: None,
            executor_endpoint: None,
            display: self.display.clone().map(DisplayId::new),
            platform: self.platform(),
            labels: Default::default(),
            tenants: Default::default(),
        })
    }

    fn retry_rules(&self) -> RetryRules {
        let default = RetryRules::default();
        RetryRules {
            max_retries: self.max_retries.unwrap_or(default.max_retries),
            offset_px: self.retry_offset_px.unwrap_or(default.offset_px),
            reverse_scroll_at_end: self.scroll_back,
            spare_commands: self.spare_commands,
            trust_kinds: self.trust_kinds.unwrap_or(true),
        }
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

    /// Returns whether the run's limits counted calls of unknown usage by an estimate.
    pub(crate) fn estimates_usage(&self) -> bool {
        self.estimate_usage
    }

    /// # Errors
    /// If the recorded settings are invalid, or this build cannot use their policy.
    pub(crate) fn run_config(&self) -> Result<RunConfig, String> {
        Ok(RunConfig {
            effect_rule: self.effect_share.map_or(
                EffectCriterion::ChangedRegions,
                EffectCriterion::ChangedShare,
            ),
            retry: self.retry_rules(),
            effect_windows: self.effect_windows,
            pointer_checks: self.pointer_checks,
            verify_evidence: self.check_evidence,
            second_look: self.second_look,
            approval_timeout: Duration::from_secs_f64(self.approval_seconds.max(0.0)),
            second_person: self.second_person,
            release_desktop_after: self
                .release_desktop_seconds
                .map(|seconds| Duration::from_secs_f64(seconds.max(0.0))),
            policy: PolicySource::from_document(&self.rules).map_err(|error| error.to_string())?,
            pause_on_human_input: false,
            recording: false,
            max_screen_failures: self.max_screen_failures,
            claim_rules: match (
                self.strict_claims,
                self.exclude_browser_words,
                self.wants_new_texts,
            ) {
                (true, true, true) => ClaimRules::Strict,
                (true, true, false) => ClaimRules::WithEarlierTexts,
                (true, false, _) => ClaimRules::WithBrowserWords,
                (false, _, _) => ClaimRules::Lenient,
            },
            summary_timeout: self
                .summary_seconds
                .map(|seconds| Duration::from_secs_f64(seconds.max(0.0))),
            features: self.features,
            // Their verdicts are in the recording.
            hooks: HookChain::new(Vec::new()),
            ..RunConfig::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::desktop::Platform;

    use super::*;

    #[test]
    fn a_recording_of_an_earlier_version_has_none_of_what_came_later() {
        let desktop = Desktop {
            name: DesktopName::from_segment("d").unwrap(),
            perception_endpoint: None,
            executor_endpoint: None,
            display: None,
            platform: Platform::Linux,
            labels: Default::default(),
            tenants: Default::default(),
        };
        let settings = RunSettings::of(&desktop, &RunConfig::default());
        let mut json: serde_json::Value = serde_json::from_str(&settings.json()).unwrap();
        let read = |json: &serde_json::Value| {
            let settings = RunSettings::read(json.to_string().as_bytes()).unwrap();
            let config = settings.run_config().unwrap();
            (
                config.features.correct_progress,
                config.summary_timeout.is_some(),
                config.features.fence_actions,
                config.features.last_look,
                config.features.paste_known_text,
                config.features.names_hosts,
                settings.estimates_usage(),
                (
                    config.claim_rules,
                    config.features.authenticated_creator,
                    config.features.lease_files,
                    config.features.compare_highlights,
                    config.features.notice_lost_focus,
                    config.features.tenant_files,
                    config.features.names_ports,
                    config.retry.spare_commands,
                    config.features.fences_name_actions,
                ),
                (
                    config.features.recheck_elsewhere,
                    config.features.compare_former_text,
                    config.features.sends_addresses,
                    !config.retry.trust_kinds,
                    config.features.tell_authors,
                    config.features.recheck_beside_look,
                    config.features.doubt_more_looks,
                    config.features.read_cells_back,
                    config.features.name_own_look,
                    config.features.read_empty_fields,
                    config.features.read_each_text,
                    config.features.read_left_fields,
                ),
                config.features.rest_before_approval,
                (
                    config.features.compare_toggles,
                    config.features.doubt_hidden_effects,
                    config.features.leave_covered_targets,
                    config.features.outwait_notices,
                    config.features.heed_failures,
                ),
            )
        };
        let now = (
            true,
            true,
            true,
            true,
            true,
            true,
            true,
            (
                ClaimRules::Strict,
                true,
                true,
                true,
                true,
                true,
                true,
                true,
                true,
            ),
            (
                true, true, true, true, true, true, true, true, true, true, true, true,
            ),
            true,
            (true, true, true, true, true),
        );
        assert_eq!(read(&json), now);
        json.as_object_mut().unwrap().remove("wants_new_texts");
        assert_eq!(read(&json).7.0, ClaimRules::WithEarlierTexts);
        json.as_object_mut()
            .unwrap()
            .remove("exclude_browser_words");
        assert_eq!(read(&json).7.0, ClaimRules::WithBrowserWords);
        let members = json.as_object_mut().unwrap();
        members.remove("correct_progress");
        members.remove("summary_seconds");
        members.remove("fence_actions");
        members.remove("fences_name_actions");
        members.remove("last_look");
        members.remove("paste_known_text");
        members.remove("lease_files");
        members.remove("tenant_files");
        members.remove("compare_highlights");
        members.remove("notice_lost_focus");
        members.remove("names_hosts");
        members.remove("names_ports");
        members.remove("sends_addresses");
        members.remove("spare_commands");
        members.remove("trust_kinds");
        members.remove("recheck_elsewhere");
        members.remove("compare_former_text");
        members.remove("tell_authors");
        members.remove("recheck_beside_look");
        members.remove("doubt_more_looks");
        members.remove("read_cells_back");
        members.remove("name_own_look");
        members.remove("read_empty_fields");
        members.remove("read_left_fields");
        members.remove("rest_before_approval");
        members.remove("leave_covered_targets");
        members.remove("outwait_notices");
        members.remove("heed_failures");
        members.remove("compare_toggles");
        members.remove("doubt_hidden_effects");
        members.remove("read_each_text");
        members.remove("strict_claims");
        members.remove("authenticated_creator");
        members.remove("estimate_usage");
        let before = (
            false,
            false,
            false,
            false,
            false,
            false,
            false,
            (
                ClaimRules::Lenient,
                false,
                false,
                false,
                false,
                false,
                false,
                false,
                false,
            ),
            (
                false, false, false, false, false, false, false, false, false, false, false, false,
            ),
            false,
            (false, false, false, false, false),
        );
        assert_eq!(read(&json), before);
    }
}
