//! Policy engine: Cedar policies over [action contexts](super::ActionContext).
//!
//! An action is denied if `perform` is denied, and requires approval if `performUnattended` is denied. A click whose `performUnverified` is denied has its pointer verified. An error during evaluation denies
//! the action. Policies are validated against the schema when they are loaded, so that misspelt attributes are reported
//! then.
//!
//! It does not ask for approvals: its caller does.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::str::FromStr as _;

use cedar_policy::{
    Authorizer, Context, Decision, Entities, Entity, EntityId, EntityTypeName, EntityUid, PolicyId,
    PolicySet, Request, RestrictedExpression, Schema, ValidationMode, Validator,
};
use motorium_messages::{Language, Message};
use sha2::{Digest as _, Sha256};

use super::context::ActionContext;
use motorium_text::lexicon::{self, Lexicon};

/// The default policy.
pub const CAREFUL: &str = include_str!("default.cedar");
/// The policy that allows everything unattended.
pub const FREE: &str = include_str!("free.cedar");
/// The Cedar schema of policies.
pub const SCHEMA: &str = include_str!("schema.cedarschema");

/// Labels of a task that name its user and client.
const USER: &str = "user";
const CLIENT: &str = "client";

/// An error in a policy or its lexicon.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the policy cannot be parsed: {0}")]
    Unreadable(String),
    #[error("the policy does not match the schema: {0}")]
    Invalid(String),
    #[error("the lexicon cannot be parsed: {0}")]
    Words(#[from] lexicon::Error),
}

/// A policy rule that applies to an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRule {
    /// Its `@id` annotation.
    pub id: String,
    /// Reason in English: its `@because` annotation.
    pub because: String,
    /// Reason in Chinese: its `@because_zh` annotation.
    pub because_zh: String,
}

/// Decision of the policy about an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyDecision {
    Allow,
    RequireApproval(Vec<PolicyRule>),
    Deny(Vec<PolicyRule>),
}

/// A validated policy and its lexicon.
#[derive(Debug)]
pub struct Policy {
    policies: PolicySet,
    schema: Schema,
    words: Lexicon,
    authorizer: Authorizer,
    version: [u8; 32],
}

impl Default for Policy {
    fn default() -> Self {
        Self::read(CAREFUL, lexicon::DEFAULT).expect("the rules of the crate are read by its tests")
    }
}

impl Policy {
    /// Parses and validates a policy and its lexicon.
    ///
    /// # Errors
    /// If the policy is not valid Cedar, does not match the schema, or the lexicon is invalid.
    pub fn read(policies: &str, words: &str) -> Result<Self, Error> {
        let read = PolicySet::from_str(policies);
        let read = read.map_err(|error| Error::Unreadable(with_causes(&error)))?;
        let (schema, _) = Schema::from_cedarschema_str(SCHEMA)
            .expect("the schema of the crate is read by its tests");
        let validator = Validator::new(schema.clone());
        let validated = validator.validate(&read, ValidationMode::default());
        let problems: Vec<String> = validated
            .validation_errors()
            .map(ToString::to_string)
            .collect();
        if !problems.is_empty() {
            return Err(Error::Invalid(problems.join("; ")));
        }
        let hash = Sha256::new().chain_update(policies).chain_update([0]);
        Ok(Self {
            policies: read,
            schema,
            version: hash.chain_update(words).finalize().into(),
            words: Lexicon::read(words)?,
            authorizer: Authorizer::new(),
        })
    }

    /// Returns the hash of policy and lexicon. An approval is valid for one version.
    #[must_use]
    pub fn version(&self) -> [u8; 32] {
        self.version
    }

    /// Returns the lexicon.
    #[must_use]
    pub fn lexicon(&self) -> &Lexicon {
        &self.words
    }

    /// Decides about an action of a task.
    #[must_use]
    pub fn evaluate(
        &self,
        task: &str,
        labels: &BTreeMap<String, String>,
        what: &ActionContext,
    ) -> PolicyDecision {
        let asked = match CedarRequest::new(task, labels, what, &self.schema) {
            Ok(asked) => asked,
            Err(error) => {
                return PolicyDecision::Deny(vec![PolicyRule::evaluation_error(&with_causes(
                    &*error,
                ))]);
            }
        };
        let refused = self.denying_rules(&asked, "perform");
        if let Some(rules) = refused {
            // Denial comes first: a person cannot approve what the policy forbids.
            return PolicyDecision::Deny(rules);
        }
        match self.denying_rules(&asked, "performUnattended") {
            Some(rules) => PolicyDecision::RequireApproval(rules),
            None => PolicyDecision::Allow,
        }
    }

    /// Returns whether a rule demands that the pointer is verified before a click. A policy that permits nothing of the kind
    /// demands nothing, because policies from before there was this action name the others only.
    #[must_use]
    pub fn demands_pointer_check(
        &self,
        task: &str,
        labels: &BTreeMap<String, String>,
        what: &ActionContext,
    ) -> bool {
        let request = CedarRequest::new(task, labels, what, &self.schema);
        let Ok(response) = request
            .map_err(|error| with_causes(&*error))
            .and_then(|request| self.authorize(&request, "performUnverified"))
        else {
            // A check that is not needed costs a moment; a missing one could click elsewhere.
            return true;
        };
        let has_failed = response.diagnostics().errors().next().is_some();
        let is_forbidden = response.decision() == Decision::Deny
            && response.diagnostics().reason().next().is_some();
        has_failed || is_forbidden
    }

    /// Returns the rules that deny a Cedar action, or `None` if it is allowed.
    fn denying_rules(&self, asked: &CedarRequest, action: &str) -> Option<Vec<PolicyRule>> {
        let weighed = self.authorize(asked, action);
        let response = match weighed {
            Ok(response) => response,
            Err(problem) => return Some(vec![PolicyRule::evaluation_error(&problem)]),
        };
        let problems = response.diagnostics().errors().map(ToString::to_string);
        let problems: Vec<PolicyRule> = problems
            .map(|problem| PolicyRule::evaluation_error(&problem))
            .collect();
        if response.decision() == Decision::Allow && problems.is_empty() {
            return None;
        }
        let denying = response.decision() == Decision::Deny;
        let rules = response.diagnostics().reason().filter(|_| denying);
        let mut rules: Vec<PolicyRule> = rules.map(|id| self.rule(id)).collect();
        // Cedar returns them in no fixed order. Approvals and logs of equal decisions have to be equal.
        rules.sort_by(|one, other| one.id.cmp(&other.id));
        rules.extend(problems);
        if rules.is_empty() {
            rules.push(PolicyRule::no_permit());
        }
        Some(rules)
    }

    fn authorize(
        &self,
        asked: &CedarRequest,
        action: &str,
    ) -> Result<cedar_policy::Response, String> {
        let request = Request::new(
            asked.task.clone(),
            uid("Action", action),
            asked.resource.clone(),
            Context::empty(),
            Some(&self.schema),
        );
        let request = request.map_err(|error| with_causes(&error))?;
        Ok(self
            .authorizer
            .is_authorized(&request, &self.policies, &asked.entities))
    }

    fn rule(&self, id: &PolicyId) -> PolicyRule {
        let annotation = |key: &str| self.policies.annotation(id, key).unwrap_or_default();
        let named = annotation("id");
        let name = if named.is_empty() {
            id.to_string()
        } else {
            named.to_owned()
        };
        let applies = Message::RuleApplies { rule: &name };
        let (because, because_zh) = match (annotation("because"), annotation("because_zh")) {
            ("", "") => (
                applies.text(Language::English),
                applies.text(Language::Chinese),
            ),
            ("", chinese) => (applies.text(Language::English), chinese.to_owned()),
            (english, "") => (english.to_owned(), english.to_owned()),
            (english, chinese) => (english.to_owned(), chinese.to_owned()),
        };
        PolicyRule {
            because,
            because_zh,
            id: name,
        }
    }
}

impl PolicyRule {
    /// Returns the reason in this language.
    #[must_use]
    pub fn reason(&self, language: Language) -> &str {
        match language {
            Language::English => &self.because,
            Language::Chinese => &self.because_zh,
        }
    }

    fn evaluation_error(problem: &str) -> Self {
        Self::built_in("unable", Message::RuleNotEvaluated { problem })
    }

    fn no_permit() -> Self {
        Self::built_in("nothing-permits-it", Message::NoRulePermits)
    }

    fn built_in(id: &str, reason: Message<'_>) -> Self {
        Self {
            id: id.to_owned(),
            because: reason.text(Language::English),
            because_zh: reason.text(Language::Chinese),
        }
    }
}

/// An action context as Cedar entities.
struct CedarRequest {
    task: EntityUid,
    resource: EntityUid,
    entities: Entities,
}

impl CedarRequest {
    fn new(
        task: &str,
        labels: &BTreeMap<String, String>,
        what: &ActionContext,
        schema: &Schema,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let (task, action) = (uid("Task", task), uid("RequestedAction", "this"));
        let parent = |label: &str, kind: &str| labels.get(label).map(|name| uid(kind, name));
        let parents: HashSet<EntityUid> = parent(USER, "User")
            .into_iter()
            .chain(parent(CLIENT, "Client"))
            .collect();
        let people: Vec<Entity> = parents
            .iter()
            .map(|parent| Entity::new_no_attrs(parent.clone(), HashSet::new()))
            .collect();
        let task_attributes = HashMap::from([("labels".to_owned(), strings(&what.labels))]);
        let asking = Entity::new(task.clone(), task_attributes, parents)?;
        let asked = Entity::new(action.clone(), attributes(what), HashSet::new())?;
        let all = people.into_iter().chain([asking, asked]);
        let entities = Entities::from_entities(all, Some(schema))?;
        Ok(Self {
            task,
            resource: action,
            entities,
        })
    }
}

fn uid(kind: &str, name: &str) -> EntityUid {
    let kind = EntityTypeName::from_str(kind).expect("the names of the schema are names");
    EntityUid::from_type_name_and_id(kind, EntityId::new(name))
}

fn strings(all: &BTreeSet<String>) -> RestrictedExpression {
    let all = all.iter().cloned().map(RestrictedExpression::new_string);
    RestrictedExpression::new_set(all)
}

fn attributes(what: &ActionContext) -> HashMap<String, RestrictedExpression> {
    let texts = [
        ("kind", &what.kind),
        ("text", &what.text),
        ("element", &what.element),
        ("application", &what.application),
        ("window", &what.window),
        ("url", &what.url),
        ("host", &what.host),
        ("argument", &what.argument),
    ];
    let sets = [
        ("meanings", &what.meanings),
        ("sites", &what.sites),
        ("applications", &what.applications),
        ("labels", &what.labels),
    ];
    let flags = [
        ("changes", what.changes),
        ("enters", what.enters),
        ("navigates", what.navigates),
        ("unlabelled", what.unlabelled),
        ("destructive", what.destructive),
        ("secret", what.secret),
        ("tainted", what.tainted),
        ("suspected_injection", what.suspected_injection),
    ];
    let texts = texts.map(|(name, text)| (name, RestrictedExpression::new_string(text.clone())));
    let sets = sets.map(|(name, set)| (name, strings(set)));
    let flags = flags.map(|(name, flag)| (name, RestrictedExpression::new_bool(flag)));
    texts
        .into_iter()
        .chain(sets)
        .chain(flags)
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    std::iter::once(error.to_string())
        .chain(causes.map(ToString::to_string))
        .collect::<Vec<_>>()
        .join(": ")
}
