//! Policy engine: Cedar policies over [action contexts](super::ActionContext).
//!
//! An action is denied if `perform` is denied, and requires approval if `performUnattended` is denied, by a second person
//! if `performOnOwnApproval` is. A click whose `performUnverified` is denied has its pointer verified. An error during
//! evaluation denies the action. Policies are validated against the schema when they are loaded, so that misspelt actions
//! and attributes are reported then, with their lines.
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

/// Labels of a task that name its user and client in recordings of earlier versions.
const USER: &str = "user";
const CLIENT: &str = "client";
/// Entity type of clients, in rules.
const CLIENT_ENTITY: &str = "Client";

/// The task that an action belongs to, with its creator.
#[derive(Debug, Clone, Copy)]
pub struct Requester<'a> {
    /// Name of the task.
    pub task: &'a str,
    pub creator: Creator<'a>,
}

/// The creator of a task, as policies see it.
#[derive(Debug, Clone, Copy)]
pub enum Creator<'a> {
    /// The principal that a server authenticated.
    Principal {
        name: &'a str,
        tenant: &'a str,
        roles: &'a [String],
    },
    /// The labels `user` and `client` of the task, which its caller chose. Only in a replay of a recording from before
    /// callers were authenticated.
    Labels(&'a BTreeMap<String, String>),
}

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
    #[error(
        "the rules {0} use `Client`, which nothing belongs to: a task's label `client` is not authenticated; use \
         `User::\"…\"` with the name of a principal, or `resource.labels.contains(\"client=…\")`"
    )]
    ClientUnknown(String),
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

/// Judgement of the policy about an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub decision: PolicyDecision,
    /// True if a rule demands that the pointer is verified before the click.
    pub verify_pointer: bool,
    /// True if a rule demands that an approval comes from another principal than the creator of the task.
    pub second_person: bool,
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
        let unclear = self.rules_that(|rule| !says_what_holds_on_unknown_pages(rule));
        unclear.map_or(Ok(()), |names| Err(Error::PageUnknown(names)))
    }

    /// Checks that no rule uses an entity that has no members any more. Not part of [`Self::read`], so that recordings of
    /// older policies can be replayed.
    ///
    /// # Errors
    /// If a rule uses `Client`. A rule that forbids by it would forbid nothing.
    pub fn check_entities(&self) -> Result<(), Error> {
        let unknown = self.rules_that(|rule| rule.to_json().is_ok_and(|it| names_client(&it)));
        unknown.map_or(Ok(()), |names| Err(Error::ClientUnknown(names)))
    }

    /// Returns the names of the rules that fulfil a condition, for display; `None` if none does.
    fn rules_that(&self, condition: impl Fn(&cedar_policy::Policy) -> bool) -> Option<String> {
        let rules = self.policies.policies().filter(|rule| condition(rule));
        let mut names: Vec<String> = rules
            .map(|rule| format!("`{}`", self.rule(rule.id()).id))
            .collect();
        names.sort();
        (!names.is_empty()).then(|| names.join(", "))
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

    /// Returns the policies as Cedar has them.
    pub(super) fn policies(&self) -> &PolicySet {
        &self.policies
    }

    /// Judges an action of a task.
    #[must_use]
    pub fn judge(&self, requester: Requester<'_>, what: &ActionContext) -> Judgement {
        match CedarRequest::new(requester, what, &self.schema) {
            Ok(asked) => Judgement {
                decision: self.decision(&asked),
                verify_pointer: self.forbids(&asked, "performUnverified"),
                second_person: self.forbids(&asked, "performOnOwnApproval"),
            },
            Err(error) => {
                let rule = PolicyRule::evaluation_error(&with_causes(&*error));
                Judgement {
                    decision: PolicyDecision::Deny(vec![rule]),
                    verify_pointer: true,
                    second_person: true,
                }
            }
        }
    }

    fn decision(&self, asked: &CedarRequest) -> PolicyDecision {
        if let Some(rules) = self.denying_rules(asked, "perform") {
            // Denial comes first: a person cannot approve what the policy forbids.
            return PolicyDecision::Deny(rules);
        }
        match self.denying_rules(asked, "performUnattended") {
            Some(rules) => PolicyDecision::RequireApproval(rules),
            None => PolicyDecision::Allow,
        }
    }

    /// Returns whether a rule forbids a Cedar action, or fails to be evaluated. A policy that permits nothing of the kind forbids
    /// nothing, because policies from before there was this action name the others only.
    fn forbids(&self, asked: &CedarRequest, action: &str) -> bool {
        let Ok(response) = self.authorize(asked, action) else {
            // Care that is not needed costs a moment; missing care could do harm.
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

    /// Returns a rule with its name and reasons.
    pub(super) fn rule(&self, id: &PolicyId) -> PolicyRule {
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
        requester: Requester<'_>,
        what: &ActionContext,
        schema: &Schema,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let (task, action) = (uid("Task", requester.task), uid("RequestedAction", "this"));
        let (parents, people) = requester.creator.entities();
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

impl Creator<'_> {
    /// Returns the parents of the task's entity, and all entities above it.
    fn entities(self) -> (HashSet<EntityUid>, Vec<Entity>) {
        match self {
            Self::Principal {
                name,
                tenant,
                roles,
            } => {
                let roles = roles.iter().map(|role| uid("Role", role));
                let groups: HashSet<_> = roles.chain([uid("Tenant", tenant)]).collect();
                let user = uid("User", name);
                let mut entities: Vec<_> = groups.iter().map(member_of_none).collect();
                entities.push(Entity::new_no_attrs(user.clone(), groups));
                (HashSet::from([user]), entities)
            }
            Self::Labels(labels) => {
                let parent =
                    |label: &str, kind: &str| labels.get(label).map(|name| uid(kind, name));
                let parents = parent(USER, "User").into_iter();
                let parents: HashSet<_> = parents.chain(parent(CLIENT, "Client")).collect();
                let entities = parents.iter().map(member_of_none).collect();
                (parents, entities)
            }
        }
    }
}

fn member_of_none(entity: &EntityUid) -> Entity {
    Entity::new_no_attrs(entity.clone(), HashSet::new())
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

/// Returns whether a part of a rule in Cedar's JSON form names a `Client`, as `{"type": "Client", "id": "…"}` or
/// `"entity_type": "Client"`.
fn names_client(part: &Value) -> bool {
    match part {
        Value::Object(members) => members.iter().any(|(key, member)| {
            let is_type = key == "type" || key == "entity_type";
            (is_type && member == CLIENT_ENTITY) || names_client(member)
        }),
        Value::Array(items) => items.iter().any(names_client),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
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
