//! Activity log: a hook that appends one JSON object per line to a file, for tools that collect such files.
//!
//! It is not the audit log ([`motorium_store::audit`]): it has no hash chain, calls are not in it, and the names of user and
//! client are labels, which the caller of a task chooses.
//!
//! It contains no images, no typed text and no secrets; of texts only the length is written. The file is opened for
//! each line, so log rotation (logrotate) needs no signal. States, results, effects and points have the names of the
//! API's enums, actions those of its fields. Not here: the task's own event log.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use motorium_kit::private_file;
use motorium_messages::{Language, Message};
use motorium_proto::domain::action::{ActionText, Text};
use motorium_proto::domain::id::TaskName;
use motorium_proto::error::FieldError;
use motorium_proto::v1::common;
use motorium_text::rfc3339;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::event::{HookAction, HookEvent, HookPoint, HookPoints};
use super::{Error, Hook, HookContext, HookErrorPolicy, HookIntervention, HookVerdict};
use motorium_task::{Approval, ApprovalState, Task};

/// Labels by which callers name the user and the client of a task.
const IDENTITY_LABELS: [&str; 2] = ["user", "client"];

/// Settings of the hook.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Name of the hook in events and errors. Unique among the hooks.
    pub name: String,
    /// File to which the log is appended. Its folder must exist. Required.
    #[schemars(extend("format" = "path"))]
    pub path: PathBuf,
    /// Deny every event that cannot be written to the file.
    pub required: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "activity_log".to_owned(),
            path: PathBuf::new(),
            required: false,
        }
    }
}

/// Writes the activity log.
#[derive(Debug)]
pub struct ActivityLogHook {
    settings: Settings,
    /// Last written state of each approval.
    written_approvals: Mutex<HashMap<TaskName, HashMap<String, ApprovalState>>>,
}

impl ActivityLogHook {
    /// # Errors
    /// If `path` is empty.
    pub fn new(settings: Settings) -> Result<Self, FieldError> {
        if settings.path.as_os_str().is_empty() {
            let problem = "is missing; give a file such as /var/log/motorium/activity.jsonl";
            return Err(FieldError::new("path", problem));
        }
        Ok(Self {
            settings,
            written_approvals: Mutex::default(),
        })
    }

    async fn write(&self, lines: Vec<Value>, language: Language) -> Result<(), Error> {
        let mut text = String::new();
        for line in &lines {
            text += &line.to_string();
            text.push('\n');
        }
        let path = self.settings.path.clone();
        let appending = tokio::task::spawn_blocking(move || append(&path, &text));
        let appended = appending.await.unwrap_or_else(|error| Err(error.into()));
        appended.map_err(|error| {
            let unwritable = Message::ActivityLogUnwritable {
                path: &self.settings.path.display().to_string(),
                problem: &error.to_string(),
            };
            Error::Failed(unwritable.text(language))
        })
    }

    /// Returns the approvals whose current state has not been written.
    fn new_approvals<'a>(&self, task: &'a Task) -> Vec<&'a Approval> {
        let written = self
            .written_approvals
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let written = written.get(&task.spec.name);
        let is_new = |approval: &&Approval| {
            written.and_then(|written| written.get(&approval.id)) != Some(&approval.state)
        };
        task.approvals.iter().filter(is_new).collect()
    }

    fn remember(&self, task: &Task, ends: bool) {
        let mut written = self
            .written_approvals
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if ends {
            written.remove(&task.spec.name);
        } else if !task.approvals.is_empty() {
            let states = task.approvals.iter();
            let states = states.map(|approval| (approval.id.clone(), approval.state));
            written.insert(task.spec.name.clone(), states.collect());
        }
    }
}

fn append(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = private_file::options();
    let opened = options.append(true).create(true).open(path);
    opened?.write_all(text.as_bytes())
}

#[async_trait]
impl Hook for ActivityLogHook {
    fn name(&self) -> &str {
        &self.settings.name
    }

    async fn points(&self) -> Result<HookPoints, Error> {
        Ok([
            HookPoint::BeforeRun,
            HookPoint::AfterRun,
            HookPoint::BeforeAction,
            HookPoint::AfterAction,
            HookPoint::BeforeFunction,
            HookPoint::AfterFunction,
        ]
        .into())
    }

    async fn call(
        &self,
        context: &HookContext<'_>,
        hook_event: &HookEvent<'_>,
    ) -> Result<HookVerdict, Error> {
        let Some((what, details)) = record_of(hook_event, context.task) else {
            return Ok(HookVerdict::Continue);
        };
        let now = SystemTime::now();
        let approvals = self.new_approvals(context.task).into_iter();
        let approvals =
            approvals.map(|approval| line(context, now, "approval", approval_details(approval)));
        let lines = approvals
            .chain([line(context, now, what, details)])
            .collect();
        let language = context.task.spec.message_language();
        self.write(lines, language).await?;
        self.remember(context.task, matches!(hook_event, HookEvent::AfterRun(_)));
        Ok(HookVerdict::Continue)
    }

    async fn on_intervention(&self, context: &HookContext<'_>, intervention: &HookIntervention) {
        if !intervention.denied {
            return;
        }
        let details = json!({
            "by": intervention.hook,
            "point": format!("HOOK_POINT_{}", intervention.point.as_str()),
            "reason_characters": characters(&intervention.message),
        });
        let line = line(context, SystemTime::now(), "denial", details);
        // The error is only logged, and logs are English.
        if let Err(error) = self.write(vec![line], Language::English).await {
            tracing::warn!(%error, "a denial could not be written to the activity log");
        }
    }

    fn on_error(&self) -> HookErrorPolicy {
        if self.settings.required {
            HookErrorPolicy::Deny
        } else {
            HookErrorPolicy::Continue
        }
    }
}

fn line(context: &HookContext<'_>, at: SystemTime, what: &str, details: Value) -> Value {
    let labels = &context.task.spec.labels;
    let mut line = Map::new();
    line.insert("at".to_owned(), json!(rfc3339::format(at)));
    line.insert("task".to_owned(), json!(context.task.spec.name.to_string()));
    for who in IDENTITY_LABELS {
        if let Some(name) = labels.get(who) {
            line.insert(who.to_owned(), json!(name));
        }
    }
    if context.step > 0 {
        line.insert("step".to_owned(), json!(context.step));
    }
    line.insert("what".to_owned(), json!(what));
    if let Value::Object(details) = details {
        line.extend(details);
    }
    Value::Object(line)
}

fn record_of(hook_event: &HookEvent<'_>, task: &Task) -> Option<(&'static str, Value)> {
    Some(match hook_event {
        HookEvent::BeforeRun => {
            let details = json!({ "goal_characters": characters(&task.spec.goal) });
            ("run", details)
        }
        HookEvent::AfterRun(ended) => {
            let details = json!({
                "state": format!("STATE_{}", ended.state),
                "message_characters": characters(ended.message),
            });
            ("end", details)
        }
        HookEvent::BeforeAction(act) => ("action", action(act)),
        HookEvent::AfterAction(done) => {
            let details = json!({
                "action_id": done.act.action_id.as_str(),
                "result": common::ActionResult::from(done.outcome.result).as_str_name(),
                "effect": done.effect.map(|effect| {
                    common::EffectVerdict::from(effect.verdict).as_str_name()
                }),
            });
            ("outcome", details)
        }
        HookEvent::BeforeFunction(call) => {
            let details = json!({
                "call_id": call.call_id,
                "name": call.name,
                "arguments_characters": characters(&call.arguments_json),
            });
            ("function", details)
        }
        HookEvent::AfterFunction(call, result) => {
            let details = json!({ "call_id": call.call_id, "succeeded": result.outcome.is_ok() });
            ("function_result", details)
        }
        _ => return None,
    })
}

fn action(act: &HookAction<'_>) -> Value {
    let mut details = Map::new();
    details.insert("action_id".to_owned(), json!(act.action_id.as_str()));
    details.insert("action".to_owned(), json!(act.action.kind().as_str()));
    if let Some(point) = act.action.targets().last() {
        details.insert("at_pixel".to_owned(), json!([point.x, point.y]));
    }
    match act.action.text().map(ActionText::text) {
        Some(Text::Literal(text)) => {
            details.insert("characters".to_owned(), json!(characters(text)));
        }
        Some(Text::Secret(_)) => {
            details.insert("secret".to_owned(), json!(true));
        }
        None => {}
    }
    Value::Object(details)
}

fn approval_details(approval: &Approval) -> Value {
    json!({
        "approval": approval.id,
        "state": approval.state.to_wire().as_str_name(),
        "rules": approval.rules,
        "by": approval.resolved_by,
    })
}

fn characters(text: &str) -> usize {
    text.chars().count()
}
