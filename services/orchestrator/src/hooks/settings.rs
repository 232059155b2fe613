//! Configuration of the hook chain: `[[orchestrator.hooks]]`.
//!
//! It does not call hooks.

use std::sync::Arc;

use motorium_proto::error::FieldError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::activity_log::{self, ActivityLogHook};
use super::budget::{self, BudgetHook};
use super::image_retention::{self, ImageRetentionHook};
use super::redaction::{self, RedactionHook};
use super::service::{self, RemoteHook};
use super::trajectory::{self, TrajectoryHook};
use super::{Hook, HookChain};

/// Settings of one hook. The error for an unknown kind lists the known ones.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HookSettings {
    /// Limits how many images of earlier steps a model is sent.
    ImageRetention(image_retention::Settings),
    /// Redacts content in every screenshot.
    Redaction(redaction::Settings),
    /// Tells the planner when most of a budget is used.
    Ledger(budget::Settings),
    /// Writes runs and actions into a file.
    #[serde(alias = "audit")]
    ActivityLog(activity_log::Settings),
    /// Writes the trajectory of each ended task into a folder.
    Trajectory(trajectory::Settings),
    /// Calls a hook in another process over gRPC.
    Service(service::Settings),
}

/// Builds the chain from its settings. If no hook limits images, a default [`ImageRetentionHook`] comes first.
///
/// # Errors
/// If a hook's settings are invalid, or two hooks have the same name.
pub fn chain(written: Vec<HookSettings>) -> Result<HookChain, FieldError> {
    let mut hooks: Vec<Arc<dyn Hook>> = Vec::new();
    let retains = |hook: &HookSettings| matches!(hook, HookSettings::ImageRetention(_));
    if !written.iter().any(retains) {
        hooks.push(Arc::new(ImageRetentionHook::default()));
    }
    for (index, settings) in written.into_iter().enumerate() {
        let field = format!("orchestrator.hooks[{index}]");
        let hook = build_hook(settings).map_err(|error| error.within(&field))?;
        if hooks.iter().any(|other| other.name() == hook.name()) {
            let problem = format!(
                "the name `{}` is used by another hook; give each hook its own name",
                hook.name()
            );
            return Err(FieldError::new(format!("{field}.name"), problem));
        }
        hooks.push(hook);
    }
    Ok(HookChain::new(hooks))
}

fn build_hook(settings: HookSettings) -> Result<Arc<dyn Hook>, FieldError> {
    Ok(match settings {
        HookSettings::ImageRetention(settings) => Arc::new(ImageRetentionHook::new(settings)?),
        HookSettings::Redaction(settings) => Arc::new(RedactionHook::new(settings)?),
        HookSettings::Ledger(settings) => Arc::new(BudgetHook::new(settings)?),
        HookSettings::ActivityLog(settings) => Arc::new(ActivityLogHook::new(settings)?),
        HookSettings::Trajectory(settings) => Arc::new(TrajectoryHook::new(settings)?),
        HookSettings::Service(settings) => Arc::new(RemoteHook::new(settings)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Section {
        hooks: Vec<HookSettings>,
    }

    fn names(written: &str) -> Result<Vec<String>, String> {
        let section: Section = toml::from_str(written).map_err(|error| error.to_string())?;
        let chain = chain(section.hooks).map_err(|error| error.to_string())?;
        Ok(chain.names().map(str::to_owned).collect())
    }

    fn check_error(written: &str, words: &str) {
        let error = names(written).unwrap_err();
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn hooks_are_asked_in_the_order_of_the_file_after_the_usual_retention() {
        let written = r#"
            [[hooks]]
            kind = "audit"
            path = "/tmp/audit.jsonl"
            required = true

            [[hooks]]
            kind = "service"
            name = "guard"
            address = "http://127.0.0.1:7801"
            timeout = "2s"
            on_error = "continue"
            token = "abc"

            [[hooks]]
            kind = "ledger"

            [[hooks]]
            kind = "redaction"
            redact = ["card_numbers"]
        "#;
        assert_eq!(
            names(written).unwrap(),
            [
                "image_retention",
                "activity_log",
                "guard",
                "ledger",
                "redaction"
            ]
        );
        let own = "[[hooks]]\nkind = \"image_retention\"\nname = \"few\"\nmax_images = 1";
        assert_eq!(names(own).unwrap(), ["few"]);
    }

    #[test]
    fn invalid_hook_settings_are_refused() {
        check_error(
            "[[hooks]]\nkind = \"budget\"",
            "expected one of `image_retention`, `redaction`, `ledger`, `activity_log`, `audit`, `trajectory`, `service`",
        );
        check_error(
            "[[hooks]]\nkind = \"ledger\"\npath = \"x\"",
            "unknown field `path`",
        );
        check_error(
            "[[hooks]]\nkind = \"audit\"",
            "orchestrator.hooks[0].path: is missing",
        );
        check_error(
            "[[hooks]]\nkind = \"trajectory\"",
            "orchestrator.hooks[0].folder: is missing",
        );
        check_error(
            "[[hooks]]\nkind = \"service\"\naddress = \"here\"",
            "`here` is not an address",
        );
        check_error(
            "[[hooks]]\nkind = \"ledger\"\n[[hooks]]\nkind = \"ledger\"",
            "orchestrator.hooks[1].name: the name `ledger` is used by another hook",
        );
    }
}
