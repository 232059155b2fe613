//! The functions of all tools of a task as offered to the planner, and validation of call arguments.
//!
//! Each function has a unique name that every provider accepts: `{tool}_{function}` for a configured tool, the
//! function's own name for an address that a task names. Two functions with the same name are an error, because a call
//! would be ambiguous. Pure.

use std::collections::BTreeMap;

use jsonschema::Validator;
use motorium_messages::{Language, Message, join_clauses, join_list};
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
    pub function_in_tool: String,
    /// True if the tool declares it destructive.
    pub destructive: bool,
    /// Index of its tool among the listed tools.
    pub tool: usize,
    validator: Validator,
}

/// The functions offered to the planner.
#[derive(Debug, Default)]
pub struct FunctionCatalog {
    /// Language of the messages about calls.
    language: Language,
    functions: Vec<OfferedFunction>,
}

impl FunctionCatalog {
    /// Builds the catalogue of these tools' functions, with messages in this language.
    ///
    /// # Errors
    /// A message for the user if there are too many functions, two have the same name, or a schema is invalid.
    pub fn from_tools(tools: &[ToolFunctions], language: Language) -> Result<Self, String> {
        let count: usize = tools.iter().map(|tool| tool.functions.len()).sum();
        if count > MAX_FUNCTIONS {
            let max = MAX_FUNCTIONS;
            return Err(Message::FunctionsTooMany { count, max }.text(language));
        }
        let mut functions = Vec::with_capacity(count);
        let mut taken: BTreeMap<String, String> = BTreeMap::new();
        for (tool, listed) in tools.iter().enumerate() {
            for declared in &listed.functions {
                let function = function(tool, listed, declared, language)?;
                let whose = Message::FunctionOfTool {
                    function: &function.function_in_tool,
                    tool: &listed.label,
                };
                let whose = whose.text(language);
                let name = &function.declaration.name;
                if let Some(first) = &taken.insert(name.clone(), whose.clone()) {
                    let second = &whose;
                    let twice = Message::FunctionNameTaken {
                        first,
                        second,
                        name,
                    };
                    return Err(twice.text(language));
                }
                functions.push(function);
            }
        }
        let size: usize = functions.iter().map(OfferedFunction::size).sum();
        if size > MAX_CATALOG_BYTES {
            let max = MAX_CATALOG_BYTES;
            return Err(Message::FunctionsTooLarge { size, max }.text(language));
        }
        Ok(Self {
            language,
            functions,
        })
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
            let (name, known) = (&call.name, &self.names());
            return Err(Message::FunctionUnknown { name, known }.text(self.language));
        };
        let arguments = function.arguments(&call.arguments_json, self.language)?;
        Ok((function, arguments))
    }

    fn names(&self) -> String {
        let names = self.functions.iter();
        let names: Vec<&str> = names
            .map(|function| function.declaration.name.as_str())
            .collect();
        match names.as_slice() {
            [] => Message::FunctionsNone.text(self.language),
            names => {
                let names = &join_list(names, self.language);
                Message::FunctionsKnown { names }.text(self.language)
            }
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

    fn arguments(&self, written: &str, language: Language) -> Result<Map<String, Value>, String> {
        let name = &self.declaration.name;
        let written = match written.trim() {
            "" => "{}",
            written => written,
        };
        let value: Value = serde_json::from_str(written).map_err(|error| {
            let problem = &error.to_string();
            Message::ArgumentsNotJson { name, problem }.text(language)
        })?;
        let faults: Vec<String> = self
            .validator
            .iter_errors(&value)
            .take(MAX_REPORTED_ERRORS)
            .map(|error| match error.instance_path().to_string().as_str() {
                "" => error.to_string(),
                // As the validator writes it: a JSON pointer and its own sentence.
                path => format!("{path}: {error}"),
            })
            .collect();
        if !faults.is_empty() {
            let faults = &join_clauses(&faults, language);
            return Err(Message::ArgumentsMismatch { name, faults }.text(language));
        }
        match value {
            Value::Object(arguments) => Ok(arguments),
            _ => Err(Message::ArgumentsNotObject { name }.text(language)),
        }
    }
}

fn function(
    tool: usize,
    listed: &ToolFunctions,
    declared: &DeclaredFunction,
    language: Language,
) -> Result<OfferedFunction, String> {
    let declaration = &declared.declaration;
    let function_in_tool = declaration.name.clone();
    let at_fault = |problem: Message<'_>| {
        let function = Message::FunctionOfTool {
            function: &function_in_tool,
            tool: &listed.label,
        };
        let (text, detail) = (&function.text(language), &problem.text(language));
        Message::WithDetail { text, detail }.text(language)
    };
    let schema = declaration.parameters_json_schema.as_str();
    if schema.len() > MAX_SCHEMA_BYTES {
        let (size, max) = (schema.len(), MAX_SCHEMA_BYTES);
        return Err(at_fault(Message::SchemaTooLarge { size, max }));
    }
    let schema = read_schema(schema).map_err(|fault| match fault {
        SchemaFault::NotJson(problem) => at_fault(Message::SchemaNotJson { problem: &problem }),
        SchemaFault::NotObject => at_fault(Message::SchemaNotObject),
        SchemaFault::OtherType => at_fault(Message::SchemaOtherType),
    })?;
    let validator = jsonschema::validator_for(&schema).map_err(|error| {
        let problem = &error.to_string();
        at_fault(Message::SchemaInvalid { problem })
    })?;
    let name = offered_name(listed.prefix.as_deref(), &function_in_tool);
    if name.is_empty() {
        return Err(at_fault(Message::FunctionWithoutName));
    }
    Ok(OfferedFunction {
        declaration: FunctionDeclaration {
            name,
            description: truncate_description(&declaration.description),
            parameters_json_schema: schema.to_string(),
        },
        function_in_tool,
        destructive: declared.destructive,
        tool,
        validator,
    })
}

/// Reason why a schema cannot be used.
enum SchemaFault {
    NotJson(String),
    NotObject,
    /// It describes something else than an object.
    OtherType,
}

/// Parses a schema. An empty one allows any object.
fn read_schema(schema: &str) -> Result<Value, SchemaFault> {
    if schema.trim().is_empty() {
        return Ok(json!({"type": "object", "properties": {}}));
    }
    let schema: Value =
        serde_json::from_str(schema).map_err(|error| SchemaFault::NotJson(error.to_string()))?;
    let Value::Object(mut schema) = schema else {
        return Err(SchemaFault::NotObject);
    };
    let kind = schema.entry("type").or_insert_with(|| json!("object"));
    if kind != "object" {
        return Err(SchemaFault::OtherType);
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

    fn catalog(tools: &[ToolFunctions]) -> Result<FunctionCatalog, String> {
        FunctionCatalog::from_tools(tools, Language::English)
    }

    fn check_name(prefix: Option<&str>, own: &str, expected: &str) {
        let offer = catalog(&[listed(prefix, vec![declared(own, "")])]).unwrap();
        assert_eq!(offer.declarations()[0].name, expected);
    }

    #[test]
    fn function_names_fit_provider_restrictions() {
        check_name(Some("notes"), "search", "notes_search");
        check_name(None, "search", "search");
        check_name(Some("files"), "list.files/all", "files_list_files_all");
        check_name(None, "搜索", "__");
        check_name(Some("a"), &"b".repeat(80), &format!("a_{}", "b".repeat(62)));
    }

    fn check_refused(tools: &[ToolFunctions], part: &str) {
        let problem = catalog(tools).unwrap_err();
        assert!(problem.contains(part), "{problem}");
    }

    #[test]
    fn unusable_function_declarations_are_refused() {
        let search = || vec![declared("search", "")];
        check_refused(
            &[listed(None, search()), listed(None, search())],
            "both be offered as `search`",
        );
        catalog(&[listed(Some("a"), search()), listed(Some("b"), search())]).unwrap();
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
        let offer = catalog(&[listed(Some("bank"), vec![declared("look", schema)])]).unwrap();
        let read = |name: &str, arguments: &str| {
            let call = FunctionCall {
                call_id: "1".to_owned(),
                name: name.to_owned(),
                arguments_json: arguments.to_owned(),
            };
            offer
                .resolve(&call)
                .map(|(function, _)| function.function_in_tool.clone())
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

    #[test]
    fn transcript_of_a_chinese_task_is_chinese() {
        let schema = r#"{"type": "object", "required": ["amount"]}"#;
        let tools = [listed(Some("bank"), vec![declared("look", schema)])];
        let offer = FunctionCatalog::from_tools(&tools, Language::Chinese).unwrap();
        let check = |name: &str, arguments: &str, expected: &str| {
            let call = FunctionCall {
                call_id: "1".to_owned(),
                name: name.to_owned(),
                arguments_json: arguments.to_owned(),
            };
            let problem = offer.resolve(&call).unwrap_err();
            assert!(problem.starts_with(expected), "{problem}");
        };
        check("look", "{}", "未知的函数 `look`；可用的函数：bank_look");
        check("bank_look", "{", "`bank_look` 的参数不是 JSON：");
        check("bank_look", "{}", "`bank_look` 的参数不符合其模式：");
        let twins = vec![declared("a.b", ""), declared("a/b", "")];
        let twice = FunctionCatalog::from_tools(&[listed(None, twins)], Language::Chinese);
        let problem = twice.unwrap_err();
        assert!(problem.contains("都会以 `a_b` 的名称提供"), "{problem}");
    }
}
