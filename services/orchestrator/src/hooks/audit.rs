//! Who did what, and when: a file that is only ever appended to, one JSON object a line.
//!
//! There are no pictures in it, nothing that was typed and no secret: of texts only how long they are. It is opened for each
//! line, so that whoever rotates it (logrotate) need tell nobody. States, results, effects and points have the names of
//! the contract's enums, actions those of its fields. Not here: what the task's own log has.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use jiff::Timestamp;
use motorium_proto::domain::action::{Action, Text};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::TaskName;
use motorium_proto::error::FieldError;
use motorium_proto::v1::common;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::happening::{Act, Happening, Point, Points};
use super::{Context, Error, Hook, Intervention, OnError, Verdict};
use crate::task::{Approval, ApprovalState, Task};

/// Labels of a task that say whose it is.
const WHO: [&str; 2] = ["user", "client"];

/// As written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub name: String,
    /// The file. Its folder has to be there.
    pub path: PathBuf,
    /// Nothing is done that cannot be written down.
    pub required: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "audit".to_owned(),
            path: PathBuf::new(),
            required: false,
        }
    }
}

/// Writes everything down.
#[derive(Debug)]
pub struct Audit {
    settings: Settings,
    /// The approvals that are written down already, and how they stood.
    written: Mutex<HashMap<TaskName, HashMap<String, ApprovalState>>>,
}

impl Audit {
    /// # Errors
    /// If no file is named.
    pub fn new(settings: Settings) -> Result<Self, FieldError> {
        if settings.path.as_os_str().is_empty() {
            let problem = "is missing; name the file, such as /var/log/motorium/audit.jsonl";
            return Err(FieldError::new("path", problem));
        }
        Ok(Self {
            settings,
            written: Mutex::default(),
        })
    }

    async fn write(&self, lines: Vec<Value>) -> Result<(), Error> {
        let mut text = String::new();
        for line in &lines {
            text += &line.to_string();
            text.push('\n');
        }
        let path = self.settings.path.clone();
        let appending = tokio::task::spawn_blocking(move || append(&path, &text));
        let appended = appending.await.unwrap_or_else(|error| Err(error.into()));
        appended.map_err(|error| {
            let path = self.settings.path.display();
            Error::Failed(format!("the audit file {path} cannot be written: {error}"))
        })
    }

    /// The approvals that are not written down yet as they stand now.
    fn new_approvals<'a>(&self, task: &'a Task) -> Vec<&'a Approval> {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let written = written.get(&task.spec.name);
        let is_new = |approval: &&Approval| {
            written.and_then(|written| written.get(&approval.id)) != Some(&approval.state)
        };
        task.approvals.iter().filter(is_new).collect()
    }

    fn remember(&self, task: &Task, ends: bool) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
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
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}

#[async_trait]
impl Hook for Audit {
    fn name(&self) -> &str {
        &self.settings.name
    }

    async fn points(&self) -> Result<Points, Error> {
        Ok([
            Point::BeforeRun,
            Point::AfterRun,
            Point::BeforeAction,
            Point::AfterAction,
            Point::BeforeFunction,
            Point::AfterFunction,
        ]
        .into())
    }

    async fn call(
        &self,
        context: &Context<'_>,
        happening: &Happening<'_>,
    ) -> Result<Verdict, Error> {
        let Some((what, details)) = described(happening, context.task) else {
            return Ok(Verdict::Continue);
        };
        let now = SystemTime::now();
        let approvals = self.new_approvals(context.task).into_iter();
        let approvals = approvals.map(|approval| line(context, now, "approval", said(approval)));
        let lines = approvals
            .chain([line(context, now, what, details)])
            .collect();
        self.write(lines).await?;
        self.remember(context.task, matches!(happening, Happening::AfterRun(_)));
        Ok(Verdict::Continue)
    }

    async fn noticed(&self, context: &Context<'_>, intervention: &Intervention) {
        if !intervention.denied {
            return;
        }
        let details = json!({
            "by": intervention.hook,
            "point": format!("POINT_{}", intervention.point.as_str()),
            "reason_characters": characters(&intervention.message),
        });
        let line = line(context, SystemTime::now(), "denial", details);
        if let Err(error) = self.write(vec![line]).await {
            tracing::warn!(%error, "a denial could not be written down");
        }
    }

    fn on_error(&self) -> OnError {
        if self.settings.required {
            OnError::Deny
        } else {
            OnError::Continue
        }
    }
}

fn line(context: &Context<'_>, at: SystemTime, what: &str, details: Value) -> Value {
    let labels = &context.task.spec.labels;
    let mut line = Map::new();
    let at = Timestamp::try_from(at).unwrap_or_default();
    line.insert("at".to_owned(), json!(format!("{at:.3}")));
    line.insert("task".to_owned(), json!(context.task.spec.name.to_string()));
    for who in WHO {
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

fn described(happening: &Happening<'_>, task: &Task) -> Option<(&'static str, Value)> {
    Some(match happening {
        Happening::BeforeRun => {
            let details = json!({ "goal_characters": characters(&task.spec.goal) });
            ("run", details)
        }
        Happening::AfterRun(ended) => {
            let details = json!({
                "state": format!("STATE_{}", ended.state),
                "message_characters": characters(ended.message),
            });
            ("end", details)
        }
        Happening::BeforeAction(act) => ("action", action(act)),
        Happening::AfterAction(done) => {
            let details = json!({
                "action_id": done.act.action_id.as_str(),
                "result": common::ActionResult::from(done.outcome.result).as_str_name(),
                "effect": done.effect.map(|effect| {
                    common::EffectVerdict::from(effect.verdict).as_str_name()
                }),
            });
            ("outcome", details)
        }
        Happening::BeforeFunction(call) => {
            let details = json!({
                "call_id": call.call_id,
                "name": call.name,
                "arguments_characters": characters(&call.arguments_json),
            });
            ("function", details)
        }
        Happening::AfterFunction(call, result) => {
            let details = json!({ "call_id": call.call_id, "succeeded": result.outcome.is_ok() });
            ("function_result", details)
        }
        _ => return None,
    })
}

fn action(act: &Act<'_>) -> Value {
    let mut details = Map::new();
    details.insert("action_id".to_owned(), json!(act.action_id.as_str()));
    details.insert("action".to_owned(), json!(act.action.kind().as_str()));
    if let Some(point) = act.action.targets().last() {
        details.insert("at_pixel".to_owned(), json!([point.x, point.y]));
    }
    match text(act.action) {
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

fn text(action: &Action<CapturePoint>) -> Option<&Text> {
    match action {
        Action::TypeText { text, .. }
        | Action::SetClipboard { text }
        | Action::Paste { text: Some(text) } => Some(text),
        _ => None,
    }
}

fn said(approval: &Approval) -> Value {
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
