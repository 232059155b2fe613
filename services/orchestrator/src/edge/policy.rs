//! Describes the active policy to callers.
//!
//! It judges nothing: the run loop does, and [`super::policy_trial`] for steps that are only described. A policy is the operator's, for all tenants, so that rules about others are left out
//! ([`ownership::sees_rule`]).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use motorium_kit::principal::Principal;
use motorium_policy::{Policy, PolicySource, RuleDescription, RuleEffect};
use motorium_proto::convert::wire_duration;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::policy_rule::Effect;
use motorium_text::hex;

use super::ownership;
use crate::run::RunConfig;

/// The policy for the actions of tasks, with the settings that hold beside its rules.
#[derive(Debug, Clone)]
pub struct PolicySettings {
    source: PolicySource,
    second_person: bool,
    approval_timeout: Duration,
}

impl PolicySettings {
    /// Returns those of the run loop.
    #[must_use]
    pub fn of(config: &RunConfig) -> Self {
        Self {
            source: config.policy.clone(),
            second_person: config.second_person,
            approval_timeout: config.approval_timeout,
        }
    }

    /// Returns the rules that judge now.
    pub(super) fn active(&self) -> Arc<Policy> {
        self.source.rules()
    }

    /// Returns true if every approval needs a second person, whatever the rules say.
    pub(super) fn needs_second_person(&self) -> bool {
        self.second_person
    }

    /// Returns the active policy, as far as a principal may see it.
    pub(super) fn describe(&self, principal: &Principal) -> wire::Policy {
        let (policy, written) = self.source.active();
        let rules = policy.descriptions().into_iter();
        let visible = rules.filter(|rule| ownership::sees_rule(principal, rule));
        wire::Policy {
            name: file_name(&written.name),
            built_in: written.policies.is_none(),
            version: hex::encode(&policy.version()),
            own_lexicon: written.words.is_some(),
            second_person: self.second_person,
            approval_timeout: Some(wire_duration(self.approval_timeout)),
            rules: visible.map(rule_message).collect(),
        }
    }
}

/// Returns the name of a policy without the folder of its file, which is the operator's affair.
fn file_name(name: &str) -> String {
    let file = Path::new(name).file_name();
    file.map_or_else(
        || name.to_owned(),
        |file| file.to_string_lossy().into_owned(),
    )
}

pub(super) fn rule_message(description: RuleDescription) -> wire::PolicyRule {
    let effects = description.effects.into_iter().map(effect_value);
    wire::PolicyRule {
        id: description.rule.id,
        effects: effects.map(Into::into).collect(),
        because: description.rule.because,
        because_zh: description.rule.because_zh,
        text: description.text,
    }
}

fn effect_value(effect: RuleEffect) -> Effect {
    match effect {
        RuleEffect::Permit => Effect::Permit,
        RuleEffect::RequireApproval => Effect::RequireApproval,
        RuleEffect::SecondPerson => Effect::SecondPerson,
        RuleEffect::VerifyPointer => Effect::VerifyPointer,
        RuleEffect::Deny => Effect::Deny,
    }
}
