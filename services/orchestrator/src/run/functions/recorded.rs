//! The functions of a task as they are noted in its record, and told from it again.

use std::sync::Arc;

use bytes::Bytes;
use motorium_proto::domain::decision::FunctionDeclaration;
use serde::{Deserialize, Serialize};

use crate::functions::Link;
use crate::functions::offer::{Declared, Listed};

/// How a call is named in a record, whatever kind of tool it goes to.
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

/// As it is noted.
pub(super) fn written(links: &[Arc<Link>], listed: &[Listed]) -> Bytes {
    let tools = links.iter().zip(listed).map(|(link, listed)| ToolRecord {
        label: listed.label.clone(),
        prefix: listed.prefix.clone(),
        may_ask_again: link.may_ask_again(),
        functions: listed.functions.iter().map(FunctionRecord::of).collect(),
    });
    let tools: Vec<ToolRecord> = tools.collect();
    serde_json::to_vec(&tools).unwrap_or_default().into()
}

/// The tools that were noted. A note that cannot be read has none: then the first question to the planner differs, and
/// says so.
pub(super) fn read(note: &Bytes) -> (Vec<Arc<Link>>, Vec<Listed>) {
    let tools: Vec<ToolRecord> = serde_json::from_slice(note).unwrap_or_default();
    let pairs = tools.into_iter().map(|tool| {
        let link = Link::recorded(tool.label.clone(), tool.prefix.clone(), tool.may_ask_again);
        let functions = tool.functions.into_iter().map(FunctionRecord::declared);
        let listed = Listed {
            label: tool.label,
            prefix: tool.prefix,
            functions: functions.collect(),
        };
        (Arc::new(link), listed)
    });
    pairs.unzip()
}

impl FunctionRecord {
    fn of(declared: &Declared) -> Self {
        let declaration = &declared.declaration;
        Self {
            name: declaration.name.clone(),
            description: declaration.description.clone(),
            parameters_json_schema: declaration.parameters_json_schema.clone(),
            may_destroy: declared.may_destroy,
        }
    }

    fn declared(self) -> Declared {
        Declared {
            declaration: FunctionDeclaration {
                name: self.name,
                description: self.description,
                parameters_json_schema: self.parameters_json_schema,
            },
            may_destroy: self.may_destroy,
        }
    }
}
