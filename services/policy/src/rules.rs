//! The rules of a policy, described for people: their effects, their reasons, and the entities that they name.
//!
//! It does not evaluate them: `engine` does.

use std::collections::BTreeSet;

use cedar_policy::{ActionConstraint, Effect, EntityUid};
use serde_json::Value;

use super::engine::{Policy, PolicyRule};

/// Effect of a rule on the actions that it applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleEffect {
    /// Permits them, unless another rule forbids it.
    Permit,
    /// Requires approval.
    RequireApproval,
    /// Requires that an approval comes from another principal than the creator of the task.
    SecondPerson,
    /// Requires that the pointer is verified before a click.
    VerifyPointer,
    /// Denies them.
    Deny,
}

/// An entity that a rule names: a `Tenant`, a `User`, a `Role`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedEntity {
    pub kind: String,
    pub name: String,
}

/// A rule of a policy, described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleDescription {
    pub rule: PolicyRule,
    /// At least one. A rule that denies has no other.
    pub effects: BTreeSet<RuleEffect>,
    /// Cedar text.
    pub text: String,
    /// `None` if they cannot be read from the rule.
    pub entities: Option<BTreeSet<NamedEntity>>,
}

impl Policy {
    /// Returns the rules in the order of the text.
    #[must_use]
    pub fn descriptions(&self) -> Vec<RuleDescription> {
        let mut rules: Vec<_> = self.policies().policies().collect();
        // Cedar numbers the rules of a text and returns them in no fixed order.
        rules.sort_by_key(|rule| number(rule.id().as_ref()));
        rules
            .into_iter()
            .map(|rule| self.description(rule))
            .collect()
    }

    fn description(&self, rule: &cedar_policy::Policy) -> RuleDescription {
        let entities = rule.to_json().ok().map(|written| {
            let mut entities = BTreeSet::new();
            collect_entities(&written, &mut entities);
            entities
        });
        RuleDescription {
            rule: self.rule(rule.id()),
            effects: effects(rule),
            text: rule.to_string().trim().to_owned(),
            entities,
        }
    }
}

/// Returns the number of a rule that Cedar has named `policy12`.
fn number(id: &str) -> Option<u32> {
    id.trim_start_matches("policy").parse().ok()
}

fn effects(rule: &cedar_policy::Policy) -> BTreeSet<RuleEffect> {
    if rule.effect() == Effect::Permit {
        return BTreeSet::from([RuleEffect::Permit]);
    }
    let forbidden: Vec<RuleEffect> = match rule.action_constraint() {
        ActionConstraint::Any => vec![RuleEffect::Deny],
        ActionConstraint::Eq(action) => vec![effect_of_forbidding(&action)],
        ActionConstraint::In(actions) => actions.iter().map(effect_of_forbidding).collect(),
    };
    match forbidden.contains(&RuleEffect::Deny) {
        true => BTreeSet::from([RuleEffect::Deny]),
        false => forbidden.into_iter().collect(),
    }
}

fn effect_of_forbidding(action: &EntityUid) -> RuleEffect {
    match action.id().unescaped() {
        "performUnattended" => RuleEffect::RequireApproval,
        "performOnOwnApproval" => RuleEffect::SecondPerson,
        "performUnverified" => RuleEffect::VerifyPointer,
        _ => RuleEffect::Deny,
    }
}

/// Collects the entities in a part of a rule in Cedar's JSON form, which names each as `{"type": "User", "id": "ann"}`.
fn collect_entities(part: &Value, found: &mut BTreeSet<NamedEntity>) {
    match part {
        Value::Object(members) => {
            let text = |key: &str| members.get(key).and_then(Value::as_str);
            if let (Some(kind), Some(name)) = (text("type"), text("id")) {
                found.insert(NamedEntity {
                    kind: kind.to_owned(),
                    name: name.to_owned(),
                });
            }
            for member in members.values() {
                collect_entities(member, found);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect_entities(item, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use motorium_text::lexicon;

    use super::*;

    fn described(policies: &str) -> Vec<RuleDescription> {
        let policy = Policy::read(policies, lexicon::DEFAULT).unwrap();
        policy.descriptions()
    }

    #[test]
    fn rules_come_in_the_order_of_the_text_with_their_words() {
        let rules = Policy::default().descriptions();
        let names: Vec<&str> = rules.iter().map(|one| one.rule.id.as_str()).collect();
        assert_eq!(names[..3], ["everything", "pay", "delete"]);
        // More than ten: `policy10` does not come before `policy2`.
        let written = super::super::engine::CAREFUL.matches("@id(").count();
        assert!(rules.len() > 10 && rules.len() == written, "{names:?}");
        assert_eq!(rules[1].rule.because_zh, "这会付款、购买或下单");
        assert!(
            rules[1].text.starts_with("@id(\"pay\")"),
            "{}",
            rules[1].text
        );
        assert!(
            rules[1]
                .text
                .contains("resource.meanings.contains(\"pay\")")
        );
    }

    #[test]
    fn effects_are_those_of_the_actions_that_a_rule_forbids() {
        let check = |head: &str, expected: &[RuleEffect]| {
            let [rule] = &described(&format!("{head};"))[..] else {
                panic!("{head} is one rule");
            };
            let effects: Vec<RuleEffect> = rule.effects.iter().copied().collect();
            assert_eq!(effects, expected, "{head}");
        };
        let only =
            |action: &str| format!("forbid (principal, action == Action::\"{action}\", resource)");
        check(
            "permit (principal, action, resource)",
            &[RuleEffect::Permit],
        );
        check("forbid (principal, action, resource)", &[RuleEffect::Deny]);
        check(&only("perform"), &[RuleEffect::Deny]);
        check(&only("performUnattended"), &[RuleEffect::RequireApproval]);
        check(&only("performUnverified"), &[RuleEffect::VerifyPointer]);
        check(&only("performOnOwnApproval"), &[RuleEffect::SecondPerson]);
        let both = "forbid (principal, action in [Action::\"performOnOwnApproval\", Action::\"performUnattended\"], resource)";
        check(
            both,
            &[RuleEffect::RequireApproval, RuleEffect::SecondPerson],
        );
    }

    #[test]
    fn entities_are_found_in_the_head_and_in_conditions() {
        let names = |text: &str| {
            let rules = described(text);
            let named = rules[0].entities.as_ref().unwrap().iter();
            named
                .filter(|one| one.kind != "Action")
                .map(|one| format!("{}::{}", one.kind, one.name))
                .collect::<Vec<_>>()
        };
        let head = "forbid (principal in Tenant::\"acme\", action, resource);";
        assert_eq!(names(head), ["Tenant::acme"]);
        let condition = "forbid (principal, action, resource) when { principal in User::\"ann\" || principal in Role::\"author\" };";
        assert_eq!(names(condition), ["Role::author", "User::ann"]);
        assert_eq!(names("forbid (principal, action, resource);"), [""; 0]);
    }
}
