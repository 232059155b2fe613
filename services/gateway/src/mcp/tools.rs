//! The tools: names, descriptions and arguments, as models read them.
//!
//! Descriptions and results are English: models read them, and words for people come from the catalogue of messages.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Seconds for which a call waits unless it says otherwise.
// Clients give up after 60 s unless they are told otherwise (the default of the TypeScript SDK).
const DEFAULT_WAIT_SECONDS: u32 = 50;
/// Maximum number of seconds for which a call waits: the longest lease of a desktop.
const MAX_WAIT_SECONDS: u32 = 3600;

/// A call of a tool, with its arguments.
#[derive(Debug)]
pub(super) enum ToolCall {
    RunTask(RunTask),
    GetTask(GetTask),
    Answer(Answer),
    Approve(TaskOnly),
    Deny(Deny),
    Cancel(Cancel),
    Look(Look),
    Extract(Extract),
    Act(Act),
}

/// Time for which a call waits.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct WaitSeconds(#[schemars(range(max = 3600))] u32);

impl Default for WaitSeconds {
    fn default() -> Self {
        Self(DEFAULT_WAIT_SECONDS)
    }
}

impl WaitSeconds {
    /// Time to read the events of a task that has ended, which takes milliseconds.
    pub(super) const TO_READ: Self = Self(10);

    pub(super) fn duration(self) -> std::time::Duration {
        std::time::Duration::from_secs(self.0.min(MAX_WAIT_SECONDS).into())
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunTask {
    /// Goal to carry out on the desktop, in natural language. Without a model, sentences of the phrasebook: `open editor, then type
    /// "Hello", then press ctrl+s`.
    pub(super) goal: String,
    /// Instructions beside the goal.
    #[serde(default)]
    pub(super) instructions: String,
    /// Desktop to use, such as `desktops/local`. Any by default.
    #[serde(default)]
    pub(super) desktop: String,
    /// Conversation that the task continues, such as `sessions/reports`. None by default.
    #[serde(default)]
    pub(super) session: String,
    /// Maximum number of steps. 0 is the default of the server.
    #[serde(default)]
    pub(super) max_steps: u32,
    /// Names of files to fetch from the desktop after the task has ended. The result links them.
    #[serde(default)]
    pub(super) files: Vec<String>,
    /// Seconds to wait for the end of the task. 0 starts it and returns at once. Cancelling a call that waits stops the task.
    #[serde(default)]
    pub(super) wait_seconds: WaitSeconds,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetTask {
    /// Name of the task, such as `tasks/1a2b`.
    pub(super) task: String,
    /// Seconds to wait until the task ends or needs a person. 0 returns at once.
    #[serde(default)]
    pub(super) wait_seconds: WaitSeconds,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskOnly {
    /// Name of the task, such as `tasks/1a2b`.
    pub(super) task: String,
    /// Seconds to wait for the task afterwards.
    #[serde(default)]
    pub(super) wait_seconds: WaitSeconds,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    /// Name of the task that asks.
    pub(super) task: String,
    /// Answer to its question. Empty says that the action which it requested is done.
    #[serde(default)]
    pub(super) text: String,
    /// Seconds to wait for the task afterwards.
    #[serde(default)]
    pub(super) wait_seconds: WaitSeconds,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Deny {
    /// Name of the task that waits for approval.
    pub(super) task: String,
    /// Reason, which the task is told.
    #[serde(default)]
    pub(super) reason: String,
    /// Seconds to wait for the task afterwards.
    #[serde(default)]
    pub(super) wait_seconds: WaitSeconds,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Cancel {
    /// Name of the task to stop.
    pub(super) task: String,
    /// Reason, for people.
    #[serde(default)]
    pub(super) reason: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Look {
    /// Desktop to look at, such as `desktops/local`. May be left out if there is only one.
    #[serde(default)]
    pub(super) desktop: String,
    /// Maximum number of elements in the list. 0 is no limit.
    #[serde(default)]
    pub(super) max_elements: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Extract {
    /// Data to read from the screen, in natural language.
    pub(super) instruction: String,
    /// JSON Schema of the result.
    pub(super) json_schema: Map<String, Value>,
    /// Desktop to read from, such as `desktops/local`. Any by default.
    #[serde(default)]
    pub(super) desktop: String,
    /// Seconds to wait for the result.
    #[serde(default)]
    pub(super) wait_seconds: WaitSeconds,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Act {
    /// The action.
    pub(super) action: Action,
    /// Desktop to act on, such as `desktops/local`. May be left out if there is only one.
    #[serde(default)]
    pub(super) desktop: String,
}

/// An input action. Positions are pixels of the screen, as `look` returns them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Action {
    Move {
        x: i32,
        y: i32,
    },
    Click {
        x: i32,
        y: i32,
        #[serde(default)]
        button: Button,
        /// 1, 2 or 3. Defaults to 1.
        #[serde(default = "once")]
        count: u32,
        /// Keys held during the click.
        #[serde(default)]
        modifiers: Vec<String>,
    },
    Drag {
        from_x: i32,
        from_y: i32,
        to_x: i32,
        to_y: i32,
    },
    /// Scrolls in notches of a wheel, right and down.
    Scroll {
        x: i32,
        y: i32,
        #[serde(default)]
        right: i32,
        #[serde(default)]
        down: i32,
    },
    /// Enters a text where the keyboard focus is.
    Type {
        text: String,
    },
    /// Presses keys together, such as `ctrl+s`.
    Key {
        chord: String,
    },
    Wait {
        seconds: u32,
    },
    OpenApplication {
        name: String,
    },
    OpenUrl {
        url: String,
    },
    /// Brings the window with this title to the front.
    FocusWindow {
        title: String,
    },
}

fn once() -> u32 {
    1
}

/// A mouse button.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Button {
    #[default]
    Left,
    Right,
    Middle,
}

/// A task, as the tools return it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TaskReport {
    /// Name of the task, for other tools.
    pub(super) task: String,
    /// `pending`, `running`, `paused`, `awaiting_user`, `succeeded`, `failed` or `cancelled`.
    pub(super) state: String,
    /// Answer, once the task has ended.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) answer: String,
    /// Failure, once the task has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<Failure>,
    /// Request that the task waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) waits_for: Option<WaitsFor>,
    /// Data that was extracted last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extracted: Option<Value>,
    /// Files that were fetched from the desktop, or saved on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) files: Vec<FileReport>,
    /// Number of steps so far.
    pub(super) steps: u32,
    /// The next thing to do, if anything.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) next: String,
}

/// A file of a task.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FileReport {
    pub(super) name: String,
    /// Address of the content, for `resources/read`. Left out if the content was not fetched.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) uri: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) media_type: String,
    /// Size of the content, in bytes.
    pub(super) size_bytes: u64,
    /// Path on the desktop, for actions there.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) path: String,
    /// Reason why the content was not fetched.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) error: String,
}

/// Failure of a task.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Failure {
    pub(super) reason: String,
    pub(super) message: String,
}

/// Request of a task.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WaitsFor {
    /// `question`, `manual_action`, `approval` or `take_over`.
    pub(super) kind: String,
    pub(super) message: String,
    /// Name of the pending approval.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) approval: String,
}

/// The screen of a desktop, as `look` returns it beside the image.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ScreenReport {
    pub(super) desktop: String,
    /// Size of the screen, in pixels.
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) elements: Vec<ElementReport>,
}

/// An element of the screen.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ElementReport {
    /// Number in the image.
    pub(super) id: u32,
    pub(super) kind: String,
    pub(super) text: String,
    /// Position to click, in pixels of the screen.
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) interactable: bool,
}

/// Outcome of an action.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ActionReport {
    /// `performed`, `refused`, `failed`, `unknown` or `cancelled`.
    pub(super) result: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) detail: String,
}

/// Problem of a call that does not name a tool, or has the wrong arguments.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error("there is no tool `{0}`; tools/list lists them")]
    UnknownTool(String),
    #[error(
        "`act` is not served: it goes around the policy and its approvals. Use run_task, or set gateway.direct_actions"
    )]
    ActDisabled,
    #[error("the arguments of {tool}: {problem}")]
    Arguments { tool: String, problem: String },
}

impl ToolCall {
    /// Parses a call.
    pub(super) fn parse(name: &str, arguments: JsonObject, acts: bool) -> Result<Self, CallError> {
        let arguments = Value::Object(arguments);
        let parsed = match name {
            "run_task" => serde_json::from_value(arguments).map(Self::RunTask),
            "get_task" => serde_json::from_value(arguments).map(Self::GetTask),
            "answer" => serde_json::from_value(arguments).map(Self::Answer),
            "approve" => serde_json::from_value(arguments).map(Self::Approve),
            "deny" => serde_json::from_value(arguments).map(Self::Deny),
            "cancel" => serde_json::from_value(arguments).map(Self::Cancel),
            "look" => serde_json::from_value(arguments).map(Self::Look),
            "extract" => serde_json::from_value(arguments).map(Self::Extract),
            "act" if acts => serde_json::from_value(arguments).map(Self::Act),
            "act" => return Err(CallError::ActDisabled),
            _ => return Err(CallError::UnknownTool(name.to_owned())),
        };
        parsed.map_err(|error| CallError::Arguments {
            tool: name.to_owned(),
            problem: error.to_string(),
        })
    }
}

/// Returns the tools. `acts` adds the one that performs single actions.
pub(super) fn declared(acts: bool) -> Vec<Tool> {
    let reads = || ToolAnnotations::new().read_only(true);
    let changes = |is_destructive| {
        ToolAnnotations::new()
            .read_only(false)
            .destructive(is_destructive)
    };
    let mut tools = vec![
        of_task::<RunTask>(
            "run_task",
            "Carries out a goal on a real desktop with mouse and keyboard, and returns how it ended: the answer, a failure, or what \
             the task waits for. Risky actions (paying, deleting, sending …) wait until a person approves them.",
            changes(true),
        ),
        of_task::<GetTask>(
            "get_task",
            "Returns a task: its state, its answer, or what it waits for. Waits for its end unless wait_seconds is 0.",
            reads(),
        ),
        of_task::<Answer>(
            "answer",
            "Answers the question of a task, or says that the action which it asked for is done.",
            changes(false),
        ),
        of_task::<TaskOnly>(
            "approve",
            "Asks the person at this client to approve or deny the action that a task waits with. It does not approve by itself: a \
             client that cannot ask a person gets the words for one.",
            changes(true),
        ),
        of_task::<Deny>(
            "deny",
            "Denies the action that a task waits with. The task goes on without it.",
            changes(false),
        ),
        of_task::<Cancel>("cancel", "Stops a task at once.", changes(false)),
        tool::<Look>(
            "look",
            "Returns the screen of a desktop: an image with numbered elements, and their list with texts and positions.",
            reads(),
        )
        .with_output_schema::<ScreenReport>(),
        of_task::<Extract>(
            "extract",
            "Reads data from the screen, in the form of a JSON Schema. Needs a planner with a model. Changes nothing.",
            reads(),
        ),
    ];
    if acts {
        let act = tool::<Act>(
            "act",
            "Performs one action on a desktop that no task holds, under the rules of the Executor but without the policy and its \
             approvals. Prefer run_task.",
            changes(true),
        );
        tools.push(act.with_output_schema::<ActionReport>());
    }
    tools
}

fn of_task<A: JsonSchema + 'static>(
    name: &'static str,
    description: &'static str,
    annotations: ToolAnnotations,
) -> Tool {
    tool::<A>(name, description, annotations).with_output_schema::<TaskReport>()
}

fn tool<A: JsonSchema + 'static>(
    name: &'static str,
    description: &'static str,
    annotations: ToolAnnotations,
) -> Tool {
    Tool::new(name, description, JsonObject::new())
        .with_input_schema::<A>()
        .annotate(annotations.open_world(true))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(name: &str, arguments: Value, acts: bool) -> Result<ToolCall, String> {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object");
        };
        ToolCall::parse(name, arguments, acts).map_err(|error| error.to_string())
    }

    #[test]
    fn every_tool_is_parsed_and_described() {
        let arguments = |name: &str| match name {
            "run_task" => json!({"goal": "click \"Save\""}),
            "extract" => json!({"instruction": "the prices", "json_schema": {"type": "array"}}),
            "look" => json!({}),
            "act" => json!({"action": {"type": "click", "x": 1, "y": 2}}),
            _ => json!({"task": "tasks/a"}),
        };
        for tool in declared(true) {
            assert!(tool.description.is_some(), "{}", tool.name);
            assert!(tool.output_schema.is_some(), "{}", tool.name);
            let called = parse(&tool.name, arguments(&tool.name), true);
            assert!(called.is_ok(), "{}: {called:?}", tool.name);
        }
    }

    #[test]
    fn wrong_calls_are_refused_with_what_is_wrong() {
        let check = |name: &str, arguments: Value, expected: &str| {
            let problem = parse(name, arguments, false).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        };
        check("run_task", json!({}), "missing field `goal`");
        check("run_task", json!({"goal": "x", "approve": true}), "approve");
        check(
            "approve",
            json!({"task": "tasks/a", "decision": "approve"}),
            "decision",
        );
        check("resolve_approval", json!({}), "there is no tool");
        let click = json!({"action": {"type": "click", "x": 1, "y": 2}});
        check("act", click.clone(), "gateway.direct_actions");
        assert!(parse("act", click, true).is_ok());
        let shell = json!({"action": {"type": "shell", "command": "id"}});
        assert!(
            parse("act", shell, true)
                .unwrap_err()
                .contains("unknown variant")
        );
        assert!(!declared(false).iter().any(|tool| tool.name == "act"));
    }
}
