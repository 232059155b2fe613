//! The functions of all tools of a task, as the planner is offered them, and whether arguments are as they are declared.
//!
//! Each has a name of its own that every provider takes: of a configured tool, `{tool}_{function}`; of an address that a
//! task names, the function's own. Two of the same name are an error, since nobody could say which one is meant. Pure.

use std::collections::BTreeMap;

use jsonschema::Validator;
use motorium_proto::domain::decision::{FunctionCall, FunctionDeclaration};
use serde_json::{Map, Value, json};

/// What every provider takes.
pub const LONGEST_NAME: usize = 64;
/// Providers take 128 tools, and some of them are Motorium's own.
pub const MOST_FUNCTIONS: usize = 100;
/// Of a function, in bytes.
pub const LARGEST_SCHEMA: usize = 32 * 1024;
/// Of all functions, in bytes: they go into every request to a model.
pub const LARGEST_OFFER: usize = 256 * 1024;
/// Longer descriptions are cut, in characters.
pub const LONGEST_DESCRIPTION: usize = 2_000;
/// So many things that are wrong with arguments are told at once.
const MOST_FAULTS: usize = 3;

/// A function as its tool declares it.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    pub declaration: FunctionDeclaration,
    /// Its tool says that it may destroy something. Nobody vouches for a tool: that it says so counts, that it does not say
    /// so does not.
    pub may_destroy: bool,
}

/// The functions of one tool, as it has listed them.
#[derive(Debug, Clone)]
pub struct Listed {
    /// For people.
    pub label: String,
    pub prefix: Option<String>,
    pub functions: Vec<Declared>,
}

/// A function that the planner may have called.
#[derive(Debug)]
pub struct Function {
    /// As it is offered.
    pub declaration: FunctionDeclaration,
    /// What its tool calls it.
    pub own_name: String,
    /// Its tool says that it may destroy something.
    pub may_destroy: bool,
    /// Place of its tool among those that were listed.
    pub tool: usize,
    validator: Validator,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Offer {
    functions: Vec<Function>,
}

impl Offer {
    /// The offer of these tools.
    ///
    /// # Errors
    /// In words for people: if there are too many functions, two have the same name, or a schema is none.
    pub fn of(tools: &[Listed]) -> Result<Self, String> {
        let count: usize = tools.iter().map(|tool| tool.functions.len()).sum();
        if count > MOST_FUNCTIONS {
            return Err(format!(
                "the task has {count} functions; at most {MOST_FUNCTIONS} can be offered to a model"
            ));
        }
        let mut functions = Vec::with_capacity(count);
        let mut taken: BTreeMap<String, String> = BTreeMap::new();
        for (tool, listed) in tools.iter().enumerate() {
            for declared in &listed.functions {
                let function = function(tool, listed, declared)?;
                let whose = format!("`{}` of {}", function.own_name, listed.label);
                let name = function.declaration.name.clone();
                if let Some(other) = taken.insert(name.clone(), whose.clone()) {
                    return Err(format!(
                        "{other} and {whose} would both be offered as `{name}`; rename one of them, or configure its \
                         tool under orchestrator.tools, whose name its functions then begin with"
                    ));
                }
                functions.push(function);
            }
        }
        let size: usize = functions.iter().map(Function::size).sum();
        if size > LARGEST_OFFER {
            return Err(format!(
                "the task's functions are declared in {size} bytes; at most {LARGEST_OFFER} can be offered to a model"
            ));
        }
        Ok(Self { functions })
    }

    /// As the planner is told.
    #[must_use]
    pub fn declarations(&self) -> Vec<FunctionDeclaration> {
        let functions = self.functions.iter();
        functions
            .map(|function| function.declaration.clone())
            .collect()
    }

    /// The function of a call, and the arguments as it wants them.
    ///
    /// # Errors
    /// In words for the planner: if there is no such function, or its arguments do not fit.
    pub fn read(&self, call: &FunctionCall) -> Result<(&Function, Map<String, Value>), String> {
        let mut functions = self.functions.iter();
        let found = functions.find(|function| function.declaration.name == call.name);
        let Some(function) = found else {
            return Err(format!(
                "there is no function `{}`; {}",
                call.name,
                self.names()
            ));
        };
        Ok((function, function.arguments(&call.arguments_json)?))
    }

    fn names(&self) -> String {
        let names = self.functions.iter();
        let names: Vec<&str> = names
            .map(|function| function.declaration.name.as_str())
            .collect();
        match names.as_slice() {
            [] => "this task has no functions".to_owned(),
            names => format!("there are: {}", names.join(", ")),
        }
    }
}

impl Function {
    fn size(&self) -> usize {
        let declaration = &self.declaration;
        declaration.name.len()
            + declaration.description.len()
            + declaration.parameters_json_schema.len()
    }

    fn arguments(&self, written: &str) -> Result<Map<String, Value>, String> {
        let name = &self.declaration.name;
        let written = match written.trim() {
            "" => "{}",
            written => written,
        };
        let value: Value = serde_json::from_str(written)
            .map_err(|error| format!("the arguments of `{name}` are no JSON: {error}"))?;
        let faults: Vec<String> = self
            .validator
            .iter_errors(&value)
            .take(MOST_FAULTS)
            .map(|error| match error.instance_path().to_string().as_str() {
                "" => error.to_string(),
                path => format!("{path}: {error}"),
            })
            .collect();
        if !faults.is_empty() {
            return Err(format!(
                "the arguments of `{name}` do not fit its schema: {}",
                faults.join("; ")
            ));
        }
        match value {
            Value::Object(arguments) => Ok(arguments),
            _ => Err(format!("the arguments of `{name}` are no JSON object")),
        }
    }
}

fn function(tool: usize, listed: &Listed, declared: &Declared) -> Result<Function, String> {
    let declaration = &declared.declaration;
    let own_name = declaration.name.clone();
    let at_fault = |problem: String| format!("`{own_name}` of {}: {problem}", listed.label);
    let schema = declaration.parameters_json_schema.as_str();
    if schema.len() > LARGEST_SCHEMA {
        let problem = format!(
            "its schema has {} bytes; at most {LARGEST_SCHEMA} can be offered to a model",
            schema.len()
        );
        return Err(at_fault(problem));
    }
    let schema = read_schema(schema).map_err(&at_fault)?;
    let validator = jsonschema::validator_for(&schema)
        .map_err(|error| at_fault(format!("its schema is no JSON Schema: {error}")))?;
    let name = offered_name(listed.prefix.as_deref(), &own_name);
    if name.is_empty() {
        return Err(at_fault("it has no name".to_owned()));
    }
    Ok(Function {
        declaration: FunctionDeclaration {
            name,
            description: cut(&declaration.description),
            parameters_json_schema: schema.to_string(),
        },
        own_name,
        may_destroy: declared.may_destroy,
        tool,
        validator,
    })
}

/// One that is left out allows any object.
fn read_schema(schema: &str) -> Result<Value, String> {
    if schema.trim().is_empty() {
        return Ok(json!({"type": "object", "properties": {}}));
    }
    let schema: Value =
        serde_json::from_str(schema).map_err(|error| format!("its schema is no JSON: {error}"))?;
    let Value::Object(mut schema) = schema else {
        return Err("its schema is no JSON object".to_owned());
    };
    let kind = schema.entry("type").or_insert_with(|| json!("object"));
    if kind != "object" {
        return Err("its schema is of no object; arguments have names".to_owned());
    }
    Ok(Value::Object(schema))
}

fn offered_name(prefix: Option<&str>, own: &str) -> String {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    let plain = own
        .chars()
        .map(|letter| if allowed(letter) { letter } else { '_' });
    let prefix = prefix.map(|prefix| format!("{prefix}_"));
    let prefix = prefix.unwrap_or_default();
    prefix.chars().chain(plain).take(LONGEST_NAME).collect()
}

fn cut(description: &str) -> String {
    if description.chars().count() <= LONGEST_DESCRIPTION {
        return description.to_owned();
    }
    let kept: String = description.chars().take(LONGEST_DESCRIPTION).collect();
    kept + " …"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(name: &str, schema: &str) -> Declared {
        Declared {
            declaration: FunctionDeclaration {
                name: name.to_owned(),
                description: String::new(),
                parameters_json_schema: schema.to_owned(),
            },
            may_destroy: false,
        }
    }

    fn listed(prefix: Option<&str>, functions: Vec<Declared>) -> Listed {
        Listed {
            label: prefix.unwrap_or("http://127.0.0.1:7800").to_owned(),
            prefix: prefix.map(str::to_owned),
            functions,
        }
    }

    fn check_name(prefix: Option<&str>, own: &str, expected: &str) {
        let offer = Offer::of(&[listed(prefix, vec![declared(own, "")])]).unwrap();
        assert_eq!(offer.declarations()[0].name, expected);
    }

    #[test]
    fn names_are_such_as_providers_take() {
        check_name(Some("notes"), "search", "notes_search");
        check_name(None, "search", "search");
        check_name(Some("files"), "list.files/all", "files_list_files_all");
        check_name(None, "搜索", "__");
        check_name(Some("a"), &"b".repeat(80), &format!("a_{}", "b".repeat(62)));
    }

    fn check_refused(tools: &[Listed], part: &str) {
        let problem = Offer::of(tools).unwrap_err();
        assert!(problem.contains(part), "{problem}");
    }

    #[test]
    fn what_cannot_be_offered_is_named() {
        let search = || vec![declared("search", "")];
        check_refused(
            &[listed(None, search()), listed(None, search())],
            "both be offered as `search`",
        );
        Offer::of(&[listed(Some("a"), search()), listed(Some("b"), search())]).unwrap();
        let twins = vec![declared("a.b", ""), declared("a/b", "")];
        check_refused(&[listed(None, twins)], "`a.b` of");
        let check = |schema: &str, part: &str| {
            check_refused(&[listed(None, vec![declared("f", schema)])], part);
        };
        check("nothing", "no JSON");
        check("[]", "no JSON object");
        check(r#"{"type": "string"}"#, "of no object");
        check(r#"{"type": "object", "properties": 3}"#, "no JSON Schema");
        check(
            r#"{"properties": {"a": {"$ref": "http://evil.example/x"}}}"#,
            "no JSON Schema",
        );
        check(&format!("{:40000}", "{}"), "40000 bytes");
        let many = (0..=MOST_FUNCTIONS).map(|number| declared(&format!("f{number}"), ""));
        check_refused(&[listed(None, many.collect())], "at most 100");
        let large = format!(r#"{{"description": "{}"}}"#, "x".repeat(30_000));
        let many = (0..10).map(|number| declared(&format!("f{number}"), &large));
        check_refused(&[listed(None, many.collect())], "262144");
    }

    #[test]
    fn arguments_are_held_against_the_schema() {
        let schema = r#"{"type": "object", "required": ["amount"],
            "properties": {"amount": {"type": "integer"}, "to": {"type": "object", "properties": {"name": {"type": "string"}}}},
            "additionalProperties": false}"#;
        let offer = Offer::of(&[listed(Some("bank"), vec![declared("look", schema)])]).unwrap();
        let read = |name: &str, arguments: &str| {
            let call = FunctionCall {
                call_id: "1".to_owned(),
                name: name.to_owned(),
                arguments_json: arguments.to_owned(),
            };
            offer
                .read(&call)
                .map(|(function, _)| function.own_name.clone())
        };
        assert_eq!(read("bank_look", r#"{"amount": 3}"#), Ok("look".to_owned()));
        let check = |name: &str, arguments: &str, part: &str| {
            let problem = read(name, arguments).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        };
        check("look", "{}", "there are: bank_look");
        check("bank_look", "", "amount");
        check("bank_look", "{", "no JSON");
        check("bank_look", "[]", "do not fit");
        check("bank_look", r#"{"amount": "3"}"#, "/amount: ");
        check(
            "bank_look",
            r#"{"amount": 3, "to": {"name": 4}}"#,
            "/to/name: ",
        );
        check("bank_look", r#"{"amount": 3, "x": 4}"#, "'x'");
    }
}
