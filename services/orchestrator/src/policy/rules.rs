//! The rules: Cedar policies over [situations](super::Situation).
//!
//! Two questions are asked of each action. What may not be done at all (`perform`) is refused; what may not be done
//! without a person (`performUnattended`) waits for one. Whatever goes wrong while a rule is weighed counts against the
//! action. Rules are held against the schema when they are read, so that a misspelt attribute is found then.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::str::FromStr as _;

use cedar_policy::{
    Authorizer, Context, Decision, Entities, Entity, EntityId, EntityTypeName, EntityUid, PolicyId,
    PolicySet, Request, RestrictedExpression, Schema, ValidationMode, Validator,
};
use sha2::{Digest as _, Sha256};

use super::situation::Situation;
use super::words::{self, Words};

/// The rules that come with Motorium.
pub const CAREFUL: &str = include_str!("default.cedar");
/// Rules that let everything be done unattended.
pub const FREE: &str = include_str!("free.cedar");
/// What rules may speak of.
pub const SCHEMA: &str = include_str!("schema.cedarschema");

/// Labels of a task that name its user and its client.
const USER: &str = "user";
const CLIENT: &str = "client";

/// What is wrong with rules.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the rules cannot be read: {0}")]
    Unreadable(String),
    #[error("the rules speak of what there is not: {0}")]
    Invalid(String),
    #[error("the words cannot be read: {0}")]
    Words(#[from] words::Error),
}

/// A rule that an action falls under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Its `@id`.
    pub id: String,
    /// Why, in English: its `@because`.
    pub because: String,
    /// Why, in Chinese: its `@because_zh`.
    pub because_zh: String,
}

/// What the rules say of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    Allowed,
    NeedsApproval(Vec<Rule>),
    Refused(Vec<Rule>),
}

/// Rules that were read and hold against the schema, and the words that they rely on.
#[derive(Debug)]
pub struct Rules {
    policies: PolicySet,
    schema: Schema,
    words: Words,
    authorizer: Authorizer,
    version: [u8; 32],
}

impl Default for Rules {
    fn default() -> Self {
        Self::read(CAREFUL, words::DEFAULT).expect("the rules of the crate are read by its tests")
    }
}

impl Rules {
    /// Reads rules, and the words that they rely on.
    ///
    /// # Errors
    /// If they are not written as Cedar, speak of what the schema does not have, or the words are no lists.
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
            words: Words::read(words)?,
            authorizer: Authorizer::new(),
        })
    }

    /// Hash of the rules and their words; an approval holds for one version.
    #[must_use]
    pub fn version(&self) -> [u8; 32] {
        self.version
    }

    /// The words that the rules rely on.
    #[must_use]
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// What the rules say of this action of this task.
    #[must_use]
    pub fn judge(&self, task: &str, labels: &BTreeMap<String, String>, what: &Situation) -> Ruling {
        let asked = match Asked::new(task, labels, what, &self.schema) {
            Ok(asked) => asked,
            Err(error) => return Ruling::Refused(vec![Rule::unable(&with_causes(&*error))]),
        };
        let refused = self.denied(&asked, "perform");
        if let Some(rules) = refused {
            return Ruling::Refused(rules);
        }
        match self.denied(&asked, "performUnattended") {
            Some(rules) => Ruling::NeedsApproval(rules),
            None => Ruling::Allowed,
        }
    }

    /// The rules that deny; `None` if it is allowed.
    fn denied(&self, asked: &Asked, action: &str) -> Option<Vec<Rule>> {
        let weighed = self.weigh(asked, action);
        let response = match weighed {
            Ok(response) => response,
            Err(problem) => return Some(vec![Rule::unable(&problem)]),
        };
        let problems = response.diagnostics().errors().map(ToString::to_string);
        let problems: Vec<Rule> = problems.map(|problem| Rule::unable(&problem)).collect();
        if response.decision() == Decision::Allow && problems.is_empty() {
            return None;
        }
        let denying = response.decision() == Decision::Deny;
        let rules = response.diagnostics().reason().filter(|_| denying);
        let mut rules: Vec<Rule> = rules.map(|id| self.rule(id)).collect();
        rules.sort_by(|one, other| one.id.cmp(&other.id));
        rules.extend(problems);
        if rules.is_empty() {
            rules.push(Rule::none_permits());
        }
        Some(rules)
    }

    fn weigh(&self, asked: &Asked, action: &str) -> Result<cedar_policy::Response, String> {
        let request = Request::new(
            asked.task.clone(),
            uid("Action", action),
            asked.deed.clone(),
            Context::empty(),
            Some(&self.schema),
        );
        let request = request.map_err(|error| with_causes(&error))?;
        Ok(self
            .authorizer
            .is_authorized(&request, &self.policies, &asked.entities))
    }

    fn rule(&self, id: &PolicyId) -> Rule {
        let annotation = |key: &str| self.policies.annotation(id, key).unwrap_or_default();
        let named = annotation("id");
        let name = if named.is_empty() {
            id.to_string()
        } else {
            named.to_owned()
        };
        let because = match annotation("because") {
            "" => format!("the rule `{name}` says so"),
            because => because.to_owned(),
        };
        Rule {
            because_zh: match annotation("because_zh") {
                "" => because.clone(),
                because => because.to_owned(),
            },
            because,
            id: name,
        }
    }
}

impl Rule {
    fn unable(problem: &str) -> Self {
        let because = format!("a rule could not be weighed: {problem}");
        Self {
            id: "unable".to_owned(),
            because_zh: because.clone(),
            because,
        }
    }

    fn none_permits() -> Self {
        Self {
            id: "nothing-permits-it".to_owned(),
            because: "no rule permits it".to_owned(),
            because_zh: "没有规则允许它".to_owned(),
        }
    }
}

/// A situation as Cedar has it.
struct Asked {
    task: EntityUid,
    deed: EntityUid,
    entities: Entities,
}

impl Asked {
    fn new(
        task: &str,
        labels: &BTreeMap<String, String>,
        what: &Situation,
        schema: &Schema,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let (task, deed) = (uid("Task", task), uid("Deed", "this"));
        let parent = |label: &str, kind: &str| labels.get(label).map(|name| uid(kind, name));
        let parents: HashSet<EntityUid> = parent(USER, "User")
            .into_iter()
            .chain(parent(CLIENT, "Client"))
            .collect();
        let people: Vec<Entity> = parents
            .iter()
            .map(|parent| Entity::new_no_attrs(parent.clone(), HashSet::new()))
            .collect();
        let told = HashMap::from([("labels".to_owned(), strings(&what.labels))]);
        let asking = Entity::new(task.clone(), told, parents)?;
        let asked = Entity::new(deed.clone(), attributes(what), HashSet::new())?;
        let all = people.into_iter().chain([asking, asked]);
        let entities = Entities::from_entities(all, Some(schema))?;
        Ok(Self {
            task,
            deed,
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

fn attributes(what: &Situation) -> HashMap<String, RestrictedExpression> {
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
