//! The functions of all tools of a task as offered to the planner, and validation of call arguments.
//!
//! Each function has a unique name that every provider accepts: `{tool}_{function}` for a configured tool, the
//! function's own name for an address that a task names. Two functions with the same name are an error, because a call
//! would be ambiguous. Pure.

use std::collections::BTreeMap;

use jsonschema::Validator;
use motorium_proto::domain::decision::{FunctionCall, FunctionDeclaration};
use serde_json::{Map, Value, json};

/// Maximum length of a function name.
// The limit of the strictest supported provider.
pub const MAX_NAME_CHARS: usize = 64;
/// Maximum number of functions of a task.
// Providers accept 128 tools, and some of those are Motorium's own.
pub const MAX_FUNCTIONS: usize = 100;
/// Maximum size of one function's schema in bytes.
// An eighth of the whole catalogue, so that one tool cannot use it up.
pub const MAX_SCHEMA_BYTES: usize = 32 * 1024;
/// Maximum size of all declarations in bytes.
// They are part of every request to a model.
pub const MAX_CATALOG_BYTES: usize = 256 * 1024;
/// Maximum length of a description in characters; longer ones are truncated.
// Models need little more than a paragraph, and it is sent with every request.
pub const MAX_DESCRIPTION_CHARS: usize = 2_000;
/// Maximum number of argument errors reported at once.
// Later errors often follow from the first ones.
const MAX_REPORTED_ERRORS: usize = 3;

/// A function as its tool declares it.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredFunction {
    pub declaration: FunctionDeclaration,
    /// True if the tool declares it destructive. Tools are not trusted: declaring it makes a call riskier, omitting it
    /// does not make a call safer.
    pub destructive: bool,
}

/// The functions that one tool has listed.
#[derive(Debug, Clone)]
pub struct ToolFunctions {
    /// Name of the tool for messages.
    pub label: String,
    pub prefix: Option<String>,
    pub functions: Vec<DeclaredFunction>,
}

/// A function offered to the planner.
#[derive(Debug)]
pub struct OfferedFunction {
    /// Declaration as offered to the planner.
    pub declaration: FunctionDeclaration,
    /// Name of the function as its tool knows it.
    pub tool_function_name: String,
    /// True if the tool declares it destructive.
    pub destructive: bool,
    /// Index of its tool among the listed tools.
    pub tool: usize,
    validator: Validator,
}

/// The functions offered to the planner.
#[derive(Debug, Default)]
pub struct FunctionCatalog {
    functions: Vec<OfferedFunction>,
}

impl FunctionCatalog {
    /// Builds the catalogue of these tools' functions.
    ///
    /// # Errors
    /// A message for the user if there are too many functions, two have the same name, or a schema is invalid.
    pub fn from_tools(tools: &[ToolFunctions]) -> Result<Self, String> {
        let count: usize = tools.iter().map(|tool| tool.functions.len()).sum();
        if count > MAX_FUNCTIONS {
            return Err(format!(
                "the task has {count} functions; at most {MAX_FUNCTIONS} can be offered to a model"
            ));
        }
        let mut functions = Vec::with_capacity(count);
        let mut taken: BTreeMap<String, String> = BTreeMap::new();
        for (tool, listed) in tools.iter().enumerate() {
            for declared in &listed.functions {
                let function = function(tool, listed, declared)?;
                let whose = format!("`{}` of {}", function.tool_function_name, listed.label);
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
        let size: usize = functions.iter().map(OfferedFunction::size).sum();
        if size > MAX_CATALOG_BYTES {
            return Err(format!(
                "the declarations of the task's functions take {size} bytes; at most {MAX_CATALOG_BYTES} can be offered to a model"
            ));
        }
        Ok(Self { functions })
    }

    /// Returns the declarations for the planner.
    #[must_use]
    pub fn declarations(&self) -> Vec<FunctionDeclaration> {
        let functions = self.functions.iter();
        functions
            .map(|function| function.declaration.clone())
            .collect()
    }

    /// Finds the function of a call and validates its arguments.
    ///
    /// # Errors
    /// A message for the planner if the function is unknown or the arguments do not match its schema.
    pub fn resolve(
        &self,
        call: &FunctionCall,
    ) -> Result<(&OfferedFunction, Map<String, Value>), String> {
        let mut functions = self.functions.iter();
        let found = functions.find(|function| function.declaration.name == call.name);
        let Some(function) = found else {
            return Err(format!(
                "unknown function `{}`; {}",
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
            names => format!("known functions: {}", names.join(", ")),
        }
    }
}

impl OfferedFunction {
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
            .map_err(|error| format!("the arguments of `{name}` are not JSON: {error}"))?;
        let faults: Vec<String> = self
            .validator
            .iter_errors(&value)
            .take(MAX_REPORTED_ERRORS)
            .map(|error| match error.instance_path().to_string().as_str() {
                "" => error.to_string(),
                path => format!("{path}: {error}"),
            })
            .collect();
        if !faults.is_empty() {
            return Err(format!(
                "the arguments of `{name}` do not match its schema: {}",
                faults.join("; ")
            ));
        }
        match value {
            Value::Object(arguments) => Ok(arguments),
            _ => Err(format!("the arguments of `{name}` are not a JSON object")),
        }
    }
}

fn function(
    tool: usize,
    listed: &ToolFunctions,
    declared: &DeclaredFunction,
) -> Result<OfferedFunction, String> {
    let declaration = &declared.declaration;
    let own_name = declaration.name.clone();
    let at_fault = |problem: String| format!("`{own_name}` of {}: {problem}", listed.label);
    let schema = declaration.parameters_json_schema.as_str();
    if schema.len() > MAX_SCHEMA_BYTES {
        let problem = format!(
            "its schema takes {} bytes; at most {MAX_SCHEMA_BYTES} can be offered to a model",
            schema.len()
        );
        return Err(at_fault(problem));
    }
    let schema = read_schema(schema).map_err(&at_fault)?;
    let validator = jsonschema::validator_for(&schema)
        .map_err(|error| at_fault(format!("its schema is not a JSON Schema: {error}")))?;
    let name = offered_name(listed.prefix.as_deref(), &own_name);
    if name.is_empty() {
        return Err(at_fault("the function has no name".to_owned()));
    }
    Ok(OfferedFunction {
        declaration: FunctionDeclaration {
            name,
            description: truncate_description(&declaration.description),
            parameters_json_schema: schema.to_string(),
        },
        tool_function_name: own_name,
        destructive: declared.destructive,
        tool,
        validator,
    })
}

/// Parses a schema. An empty one allows any object.
fn read_schema(schema: &str) -> Result<Value, String> {
    if schema.trim().is_empty() {
        return Ok(json!({"type": "object", "properties": {}}));
    }
    let schema: Value =
        serde_json::from_str(schema).map_err(|error| format!("its schema is not JSON: {error}"))?;
    let Value::Object(mut schema) = schema else {
        return Err("its schema is not a JSON object".to_owned());
    };
    let kind = schema.entry("type").or_insert_with(|| json!("object"));
    if kind != "object" {
        return Err("its schema must have the type `object`".to_owned());
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
    prefix.chars().chain(plain).take(MAX_NAME_CHARS).collect()
}

fn truncate_description(description: &str) -> String {
    if description.chars().count() <= MAX_DESCRIPTION_CHARS {
        return description.to_owned();
    }
    let kept: String = description.chars().take(MAX_DESCRIPTION_CHARS).collect();
    kept + " …"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(name: &str, schema: &str) -> DeclaredFunction {
        DeclaredFunction {
            declaration: FunctionDeclaration {
                name: name.to_owned(),
                description: String::new(),
                parameters_json_schema: schema.to_owned(),
            },
            destructive: false,
        }
    }

    fn listed(prefix: Option<&str>, functions: Vec<DeclaredFunction>) -> ToolFunctions {
        ToolFunctions {
            label: prefix.unwrap_or("http://127.0.0.1:7800").to_owned(),
            prefix: prefix.map(str::to_owned),
            functions,
        }
    }

    fn check_name(prefix: Option<&str>, own: &str, expected: &str) {
        let offer =
            FunctionCatalog::from_tools(&[listed(prefix, vec![declared(own, "")])]).unwrap();
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

    fn check_refused(tools: &[ToolFunctions], part: &str) {
        let problem = FunctionCatalog::from_tools(tools).unwrap_err();
        assert!(problem.contains(part), "{problem}");
    }

    #[test]
    fn what_cannot_be_offered_is_named() {
        let search = || vec![declared("search", "")];
        check_refused(
            &[listed(None, search()), listed(None, search())],
            "both be offered as `search`",
        );
        FunctionCatalog::from_tools(&[listed(Some("a"), search()), listed(Some("b"), search())])
            .unwrap();
        let twins = vec![declared("a.b", ""), declared("a/b", "")];
        check_refused(&[listed(None, twins)], "`a.b` of");
        let check = |schema: &str, part: &str| {
            check_refused(&[listed(None, vec![declared("f", schema)])], part);
        };
        check("nothing", "not JSON");
        check("[]", "not a JSON object");
        check(r#"{"type": "string"}"#, "the type `object`");
        check(
            r#"{"type": "object", "properties": 3}"#,
            "not a JSON Schema",
        );
        check(
            r#"{"properties": {"a": {"$ref": "http://evil.example/x"}}}"#,
            "not a JSON Schema",
        );
        check(&format!("{:40000}", "{}"), "40000 bytes");
        let many = (0..=MAX_FUNCTIONS).map(|number| declared(&format!("f{number}"), ""));
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
        let offer =
            FunctionCatalog::from_tools(&[listed(Some("bank"), vec![declared("look", schema)])])
                .unwrap();
        let read = |name: &str, arguments: &str| {
            let call = FunctionCall {
                call_id: "1".to_owned(),
                name: name.to_owned(),
                arguments_json: arguments.to_owned(),
            };
            offer
                .resolve(&call)
                .map(|(function, _)| function.tool_function_name.clone())
        };
        assert_eq!(read("bank_look", r#"{"amount": 3}"#), Ok("look".to_owned()));
        let check = |name: &str, arguments: &str, part: &str| {
            let problem = read(name, arguments).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        };
        check("look", "{}", "known functions: bank_look");
        check("bank_look", "", "amount");
        check("bank_look", "{", "not JSON");
        check("bank_look", "[]", "do not match");
        check("bank_look", r#"{"amount": "3"}"#, "/amount: ");
        check(
            "bank_look",
            r#"{"amount": 3, "to": {"name": 4}}"#,
            "/to/name: ",
        );
        check("bank_look", r#"{"amount": 3, "x": 4}"#, "'x'");
    }
}
