//! The chain as it is written, `[[orchestrator.hooks]]`, and as it is meant.

use std::sync::Arc;

use motorium_proto::error::FieldError;
use serde::{Deserialize, Serialize};

use super::audit::{self, Audit};
use super::image_retention::{self, ImageRetention};
use super::ledger::{self, Ledger};
use super::redaction::{self, Redaction};
use super::service::{self, Service};
use super::trajectory::{self, Writer};
use super::{Chain, Hook};

/// One hook. A kind that there is not is refused with those that there are.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HookSettings {
    /// How many pictures of earlier steps a model is shown again.
    ImageRetention(image_retention::Settings),
    /// What is painted over in every picture.
    Redaction(redaction::Settings),
    /// The planner is told when most of a budget is used.
    Ledger(ledger::Settings),
    /// Who did what, in a file.
    Audit(audit::Settings),
    /// Everything about a task that has ended, in a folder.
    Trajectory(trajectory::Settings),
    /// A hook in another process.
    Service(service::Settings),
}

/// The chain that is meant. Where nothing is said of pictures, what is usual is the first of it.
///
/// # Errors
/// If a hook cannot be made of its settings, or two have one name.
pub fn chain(written: Vec<HookSettings>) -> Result<Chain, FieldError> {
    let mut hooks: Vec<Arc<dyn Hook>> = Vec::new();
    let retains = |hook: &HookSettings| matches!(hook, HookSettings::ImageRetention(_));
    if !written.iter().any(retains) {
        hooks.push(Arc::new(ImageRetention::default()));
    }
    for (index, settings) in written.into_iter().enumerate() {
        let field = format!("orchestrator.hooks[{index}]");
        let hook = made(settings).map_err(|error| error.within(&field))?;
        if hooks.iter().any(|other| other.name() == hook.name()) {
            let problem = format!(
                "there is a hook `{}` already; give each a name of its own",
                hook.name()
            );
            return Err(FieldError::new(format!("{field}.name"), problem));
        }
        hooks.push(hook);
    }
    Ok(Chain::new(hooks))
}

fn made(settings: HookSettings) -> Result<Arc<dyn Hook>, FieldError> {
    Ok(match settings {
        HookSettings::ImageRetention(settings) => Arc::new(ImageRetention::new(settings)?),
        HookSettings::Redaction(settings) => Arc::new(Redaction::new(settings)?),
        HookSettings::Ledger(settings) => Arc::new(Ledger::new(settings)?),
        HookSettings::Audit(settings) => Arc::new(Audit::new(settings)?),
        HookSettings::Trajectory(settings) => Arc::new(Writer::new(settings)?),
        HookSettings::Service(settings) => Arc::new(Service::new(settings)?),
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
            hide = ["card_numbers"]
        "#;
        assert_eq!(
            names(written).unwrap(),
            ["image_retention", "audit", "guard", "ledger", "redaction"]
        );
        let own = "[[hooks]]\nkind = \"image_retention\"\nname = \"few\"\nimages = 1";
        assert_eq!(names(own).unwrap(), ["few"]);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        check_error(
            "[[hooks]]\nkind = \"budget\"",
            "expected one of `image_retention`, `redaction`, `ledger`, `audit`, `trajectory`, `service`",
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
            "orchestrator.hooks[1].name: there is a hook `ledger` already",
        );
    }
}
