//! Encodes the functions of a task for its recording, and decodes them for replay.

use std::sync::Arc;

use bytes::Bytes;
use motorium_messages::Language;
use motorium_proto::domain::decision::FunctionDeclaration;
use serde::{Deserialize, Serialize};

use crate::functions::ToolConnection;
use crate::functions::catalog::{DeclaredFunction, ToolFunctions};

/// Method name of a call in a recording, for every kind of tool.
pub(super) const INVOKE: &str = "/motorium.tool.v1.ToolService/Invoke";

#[derive(Serialize, Deserialize)]
struct ToolRecord {
    label: String,
    prefix: Option<String>,
    may_ask_again: bool,
    functions: Vec<FunctionRecord>,
}

#[derive(Serialize, Deserialize)]
struct FunctionRecord {
    name: String,
    description: String,
    parameters_json_schema: String,
    #[serde(default)]
    may_destroy: bool,
}

/// Encodes the tools and their functions.
pub(super) fn encode(links: &[Arc<ToolConnection>], listed: &[ToolFunctions]) -> Bytes {
    let tools = links.iter().zip(listed).map(|(link, listed)| ToolRecord {
        label: listed.label.clone(),
        prefix: listed.prefix.clone(),
        may_ask_again: link.is_retryable(),
        functions: listed.functions.iter().map(FunctionRecord::of).collect(),
    });
    let tools: Vec<ToolRecord> = tools.collect();
    serde_json::to_vec(&tools).unwrap_or_default().into()
}

/// Decodes the recorded tools. A record that cannot be read yields no tools; the replay then reports that the first
/// planner request differs.
pub(super) fn decode(
    note: &Bytes,
    language: Language,
) -> (Vec<Arc<ToolConnection>>, Vec<ToolFunctions>) {
    let tools: Vec<ToolRecord> = serde_json::from_slice(note).unwrap_or_default();
    let pairs = tools.into_iter().map(|tool| {
        let (label, prefix) = (tool.label.clone(), tool.prefix.clone());
        let link = ToolConnection::recorded(label, prefix, tool.may_ask_again, language);
        let functions = tool.functions.into_iter().map(FunctionRecord::declared);
        let listed = ToolFunctions {
            label: tool.label,
            prefix: tool.prefix,
            functions: functions.collect(),
        };
        (Arc::new(link), listed)
    });
    pairs.unzip()
}

impl FunctionRecord {
    fn of(declared: &DeclaredFunction) -> Self {
        let declaration = &declared.declaration;
        Self {
            name: declaration.name.clone(),
            description: declaration.description.clone(),
            parameters_json_schema: declaration.parameters_json_schema.clone(),
            may_destroy: declared.destructive,
        }
    }

    fn declared(self) -> DeclaredFunction {
        DeclaredFunction {
            declaration: FunctionDeclaration {
                name: self.name,
                description: self.description,
                parameters_json_schema: self.parameters_json_schema,
            },
            destructive: self.may_destroy,
        }
    }
}
