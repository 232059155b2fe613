//! Policy engine: Cedar policies over [action contexts](super::ActionContext).
//!
//! An action is denied if `perform` is denied, and requires approval if `performUnattended` is denied. A click whose
//! `performUnverified` is denied has its pointer verified. An error during evaluation denies the action. Policies are
//! validated against the schema when they are loaded, so that misspelt actions and attributes are reported then, with their
//! lines.
//!
//! It does not ask for approvals: its caller does.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::str::FromStr as _;

use cedar_policy::{
    Authorizer, Context, Decision, Entities, Entity, EntityId, EntityTypeName, EntityUid, PolicyId,
    PolicySet, Request, RestrictedExpression, Schema, ValidationMode, Validator,
};
use miette::Diagnostic;
use motorium_messages::{Language, Message};
use serde_json::Value;
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
    #[error(
        "the rules {0} use `url` or `host`, which are empty without a browser driver; add to each what holds then: \
         `!resource.host_known || …` to include unknown pages, `resource.host_known && …` to leave them out"
    )]
    PageUnknown(String),
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
        let read = PolicySet::from_str(policies).map_err(|errors| {
            let problems = errors.iter().map(|error| located(error, policies));
            Error::Unreadable(problems.collect::<Vec<_>>().join("; "))
        })?;
        let (schema, _) = Schema::from_cedarschema_str(SCHEMA)
            .expect("the schema of the crate is read by its tests");
        let validator = Validator::new(schema.clone());
        let validated = validator.validate(&read, ValidationMode::default());
        let problems: Vec<String> = validated
            .validation_errors()
            .map(|error| {
                // The line tells it better than the number that Cedar gives to each rule.
                let rule = format!("for policy `{}`, ", error.policy_id());
                located(error, policies).replace(&rule, "")
            })
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

    /// Checks that each rule that uses the page's address says what holds if it is unknown. Not part of [`Self::read`], so that
    /// recordings of older policies can be replayed.
    ///
    /// # Errors
    /// If a rule uses `url` or `host` without `host_known`. A rule that forbids by them would forbid nothing without a driver.
    pub fn check_unknown_pages(&self) -> Result<(), Error> {
        let unclear = self.policies.policies();
        let unclear = unclear.filter(|rule| !says_what_holds_on_unknown_pages(rule));
        let mut names: Vec<String> = unclear
            .map(|rule| format!("`{}`", self.rule(rule.id()).id))
            .collect();
        if names.is_empty() {
            return Ok(());
        }
        names.sort();
        Err(Error::PageUnknown(names.join(", ")))
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
        ("address_schemes", &what.address_schemes),
        ("address_hosts", &what.address_hosts),
    ];
    let flags = [
        ("host_known", !what.url.is_empty()),
        ("changes", what.changes),
        ("enters", what.enters),
        ("navigates", what.navigates),
        ("private_address", what.private_address),
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

fn says_what_holds_on_unknown_pages(rule: &cedar_policy::Policy) -> bool {
    let Ok(written) = rule.to_json() else {
        return false;
    };
    let mut used = BTreeSet::new();
    collect_attributes(&written["conditions"], &mut used);
    let uses_page = used.contains("url") || used.contains("host");
    !uses_page || used.contains("host_known")
}

/// Collects the attributes in a part of a rule in Cedar's JSON form, which names each as `"attr": "host"`.
fn collect_attributes(part: &Value, used: &mut BTreeSet<String>) {
    match part {
        Value::Object(members) => {
            let attribute = members.get("attr").and_then(Value::as_str);
            used.extend(attribute.map(str::to_owned));
            for member in members.values() {
                collect_attributes(member, used);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect_attributes(item, used);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Describes a problem of a policy with its line, what Cedar expects there, and Cedar's suggestion.
fn located(problem: &dyn Diagnostic, policies: &str) -> String {
    let place = problem.labels().and_then(|mut labels| labels.next());
    let mut text = problem.to_string();
    if let Some(place) = place {
        let before = policies.get(..place.offset()).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let expected = place.label().map(|label| format!(": {label}"));
        text = format!("line {line}: {text}{}", expected.unwrap_or_default());
    }
    match problem.help() {
        Some(help) => format!("{text}; {help}"),
        None => text,
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    std::iter::once(error.to_string())
        .chain(causes.map(ToString::to_string))
        .collect::<Vec<_>>()
        .join(": ")
}
