//! The specification of a task: the goal, limits and options that the user gave when creating it.
//!
//! The limits are not enforced here but in `limits`.

mod limit_rules;
mod size_limits;

use std::collections::BTreeMap;
use std::time::SystemTime;

use bytes::Bytes;
use motorium_messages::Language;
use motorium_proto::convert;
use motorium_proto::domain::id::{DesktopName, SessionName, TaskName};
use motorium_proto::domain::session::EarlierMessage;
use motorium_proto::error::FieldError;
use motorium_proto::limits::{MAX_ATTACHMENT_BYTES, MAX_GOAL_CHARS};
use motorium_proto::v1::common;
use motorium_proto::v1::orchestrator as wire;

use super::owner::Owner;
use super::shortened::shortened;
use super::shown_text::is_telling;
use limit_rules::limits;
use motorium_text::hex;

pub use limit_rules::{DEFAULT_MAX_DURATION, DEFAULT_MAX_STEPS, LimitCeilings, LimitRules, Limits};
pub use size_limits::check_message;

/// Maximum number of messages of a conversation that a task continues. A longer history does not fit into a prompt
/// anyway, and is part of every read of the task.
const MAX_EARLIER_MESSAGES: usize = 100;
/// Maximum number of characters of these messages together.
// Four times as many as a prompt gets. A higher limit makes every read of the task larger, a lower one refuses
// histories of which only the end would be used.
const MAX_EARLIER_MESSAGE_CHARS: usize = 32_768;
/// Maximum number of their characters in a prompt: as much as of the earlier tasks of a session.
const MAX_PROMPT_MESSAGE_CHARS: usize = 8_000;

/// A file that the task puts on the desktop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub name: String,
    pub content: AttachmentContent,
}

/// Content of an attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttachmentContent {
    Inline(Bytes),
    /// An uploaded file, by its SHA-256.
    Upload([u8; 32]),
}

/// First segment of the names of uploads.
const UPLOADS: &str = "uploads/";

/// Returns the name of an upload.
#[must_use]
pub fn upload_name(sha256: &[u8; 32]) -> String {
    format!("{UPLOADS}{}", hex::encode(sha256))
}

impl Attachment {
    /// Returns the API message. `brief` omits the content.
    #[must_use]
    pub fn to_wire(&self, brief: bool) -> wire::Attachment {
        let name = self.name.clone();
        match &self.content {
            AttachmentContent::Inline(_) if brief => wire::Attachment {
                name,
                ..wire::Attachment::default()
            },
            AttachmentContent::Inline(data) => wire::Attachment {
                name,
                data: data.clone(),
                ..wire::Attachment::default()
            },
            AttachmentContent::Upload(sha256) => wire::Attachment {
                name,
                upload: upload_name(sha256),
                ..wire::Attachment::default()
            },
        }
    }
}

/// A condition that must hold before the task succeeds.
#[derive(Debug, Clone, PartialEq)]
pub enum Expectation {
    TextOnScreen(String),
    WindowTitle(String),
    FileExists(String),
    /// The extracted data contains this JSON.
    ExtractedJson(serde_json::Value),
}

/// Selects the desktops that may run a task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DesktopSelector {
    /// Only this desktop.
    pub desktop: Option<DesktopName>,
    /// Labels that the desktop must have.
    pub labels: BTreeMap<String, String>,
}

/// The specification of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSpec {
    pub name: TaskName,
    pub uid: String,
    pub owner: Owner,
    pub session: Option<SessionName>,
    pub goal: String,
    pub instructions: String,
    pub limits: Limits,
    /// Planner backends in order of preference; if empty, the configured order.
    pub backends: Vec<String>,
    pub selector: DesktopSelector,
    pub attachments: Vec<Attachment>,
    /// Names of files to fetch from the desktop when the task has ended.
    pub results: Vec<String>,
    pub expectations: Vec<Expectation>,
    /// Tools whose functions it may call: configured names or addresses.
    pub tool_endpoints: Vec<String>,
    pub labels: BTreeMap<String, String>,
    pub display_name: String,
    pub priority: i32,
    pub run_after: Option<SystemTime>,
    pub language: Option<String>,
    /// Messages of a conversation that the task continues.
    pub earlier_messages: Vec<EarlierMessage>,
    /// True to verify the pointer before every click.
    pub verify_clicks: bool,
    /// A model wrote the goal, the instructions and the earlier messages, and not a person.
    pub written_by_model: bool,
}

impl TaskSpec {
    /// Returns the language of messages for people: the requested one, or else that of the goal.
    #[must_use]
    pub fn message_language(&self) -> Language {
        Language::of(self.language.as_deref(), &self.goal)
    }

    /// Returns the newest of the earlier messages that fit into a prompt. The oldest of them may be shortened.
    #[must_use]
    pub fn latest_messages(&self) -> Vec<EarlierMessage> {
        let mut left = MAX_PROMPT_MESSAGE_CHARS;
        let messages = self.earlier_messages.iter().rev();
        let mut latest: Vec<EarlierMessage> = messages
            .map_while(|message| {
                let text = shortened(&message.text, left);
                let fits = left > 0;
                left = left.saturating_sub(text.chars().count());
                fits.then_some(EarlierMessage {
                    role: message.role,
                    text,
                })
            })
            .collect();
        latest.reverse();
        latest
    }

    /// Validates the caller's task, which does not say whose it is: `owner` does. The defaults of `rules` fill the limits
    /// that the caller leaves unset.
    ///
    /// # Errors
    /// If a field is missing or invalid, or a limit is above its ceiling.
    pub fn from_wire(
        name: TaskName,
        uid: String,
        owner: Owner,
        task: wire::Task,
        rules: LimitRules,
    ) -> Result<Self, FieldError> {
        size_limits::check(&task)?;
        let spec = Self::read(name, uid, owner, task, rules)?;
        check_telling(&spec.expectations)?;
        Ok(spec)
    }

    /// Reads a stored task. It may ask for what a new one may not, because an earlier version accepted it.
    ///
    /// # Errors
    /// If a field is missing or invalid.
    pub fn from_record(name: TaskName, uid: String, task: wire::Task) -> Result<Self, FieldError> {
        let owner = Owner::of_record(&task);
        Self::read(name, uid, owner, task, LimitRules::default())
    }

    fn read(
        name: TaskName,
        uid: String,
        owner: Owner,
        task: wire::Task,
        rules: LimitRules,
    ) -> Result<Self, FieldError> {
        let backends = task.backends;
        Ok(Self {
            name,
            uid,
            owner,
            session: session(&task.session)?,
            goal: goal(task.goal)?,
            instructions: task.instructions,
            limits: limits(task.limits.unwrap_or_default(), rules)?,
            backends,
            selector: selector(task.desktop_selector.unwrap_or_default())?,
            attachments: attachments("task.attachments", task.attachments)?,
            results: file_names("results", task.results)?,
            expectations: expectations(task.expectations)?,
            tool_endpoints: task.tool_endpoints,
            labels: task.labels.into_iter().collect(),
            display_name: task.display_name,
            priority: task.priority,
            run_after: run_after(task.run_after_time)?,
            language: Some(task.language).filter(|language| !language.is_empty()),
            earlier_messages: earlier_messages(task.earlier_messages)?,
            verify_clicks: task.verify_clicks,
            written_by_model: task.written_by_model,
        })
    }

    /// Returns the API message of the specification. `brief` omits the content of attachments.
    #[must_use]
    pub fn to_wire(&self, brief: bool) -> wire::Task {
        wire::Task {
            name: self.name.to_string(),
            uid: self.uid.clone(),
            session: self
                .session
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            goal: self.goal.clone(),
            instructions: self.instructions.clone(),
            limits: Some(wire::Limits {
                max_steps: self.limits.max_steps,
                max_duration: Some(convert::wire_duration(self.limits.max_duration)),
                max_tokens: self.limits.max_tokens.unwrap_or_default(),
                max_cost_micros_usd: self.limits.max_cost_micros_usd.unwrap_or_default(),
                max_risky_actions: self.limits.max_risky_actions.unwrap_or_default(),
            }),
            backends: self.backends.clone(),
            desktop_selector: Some(wire::DesktopSelector {
                desktop: self
                    .selector
                    .desktop
                    .as_ref()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
                labels: self.selector.labels.clone().into_iter().collect(),
            }),
            attachments: self
                .attachments
                .iter()
                .map(|attachment| attachment.to_wire(brief))
                .collect(),
            results: self.results.clone(),
            expectations: self.expectations.iter().map(wire_expectation).collect(),
            tool_endpoints: self.tool_endpoints.clone(),
            labels: self.labels.clone().into_iter().collect(),
            display_name: self.display_name.clone(),
            priority: self.priority,
            run_after_time: self.run_after.map(convert::wire_time),
            language: self.language.clone().unwrap_or_default(),
            earlier_messages: convert::into_messages(self.earlier_messages.clone()),
            verify_clicks: self.verify_clicks,
            written_by_model: self.written_by_model,
            creator: self.owner.creator.clone(),
            tenant: self.owner.tenant.clone(),
            creator_roles: self.owner.roles.clone(),
            ..wire::Task::default()
        }
    }
}

fn goal(goal: String) -> Result<String, FieldError> {
    if goal.trim().is_empty() {
        return Err(FieldError::new(
            "task.goal",
            "is empty; say what is to be done, for example: click \"Save\"",
        ));
    }
    let length = goal.chars().count();
    if length > MAX_GOAL_CHARS {
        let description = format!("has {length} characters; at most {MAX_GOAL_CHARS} are accepted");
        return Err(FieldError::new("task.goal", description));
    }
    Ok(goal)
}

fn earlier_messages(
    messages: Vec<common::EarlierMessage>,
) -> Result<Vec<EarlierMessage>, FieldError> {
    const FIELD: &str = "task.earlier_messages";
    let count = messages.len();
    if count > MAX_EARLIER_MESSAGES {
        let problem = format!("has {count} messages; at most {MAX_EARLIER_MESSAGES} are accepted");
        return Err(FieldError::new(FIELD, problem));
    }
    let messages: Vec<EarlierMessage> = convert::try_from_messages(FIELD, messages)?;
    let length = messages.iter().map(|it| it.text.chars().count());
    let length: usize = length.sum();
    if length > MAX_EARLIER_MESSAGE_CHARS {
        let problem =
            format!("has {length} characters; at most {MAX_EARLIER_MESSAGE_CHARS} are accepted");
        return Err(FieldError::new(FIELD, problem));
    }
    Ok(messages)
}

fn session(name: &str) -> Result<Option<SessionName>, FieldError> {
    if name.is_empty() {
        return Ok(None);
    }
    SessionName::parse("task.session", name).map(Some)
}

/// Validates a desktop selector.
///
/// # Errors
/// If the desktop's name is invalid.
pub fn selector(selector: wire::DesktopSelector) -> Result<DesktopSelector, FieldError> {
    let desktop = match selector.desktop.as_str() {
        "" => None,
        name => Some(DesktopName::parse("task.desktop_selector.desktop", name)?),
    };
    Ok(DesktopSelector {
        desktop,
        labels: selector.labels.into_iter().collect(),
    })
}

/// Validates a plain file name: no path, not hidden, and no character that a shell or a file dialog would interpret.
fn file_name(field: &str, name: String) -> Result<String, FieldError> {
    let plain = !name.is_empty()
        && name.len() <= 255
        && !name.starts_with('.')
        && !name.contains(['/', '\\', '\0'])
        && !name.chars().any(char::is_control);
    if plain {
        return Ok(name);
    }
    Err(FieldError::new(
        field,
        format!("`{name}` is not a plain file name"),
    ))
}

fn file_names(field: &str, names: Vec<String>) -> Result<Vec<String>, FieldError> {
    let checked = |(index, name)| file_name(&format!("task.{field}[{index}]"), name);
    names.into_iter().enumerate().map(checked).collect()
}

/// Validates attachments: of a task, or of a message.
///
/// # Errors
/// If a name is not a plain file name, or a content is too large, missing or named twice.
pub fn attachments(
    field: &str,
    attachments: Vec<wire::Attachment>,
) -> Result<Vec<Attachment>, FieldError> {
    let checked = |(index, attachment): (usize, wire::Attachment)| {
        let field = format!("{field}[{index}]");
        if attachment.data.len() > MAX_ATTACHMENT_BYTES {
            let description = format!(
                "has {} bytes; at most {MAX_ATTACHMENT_BYTES} are accepted in a request; upload larger files with UploadFile",
                attachment.data.len()
            );
            return Err(FieldError::new(format!("{field}.data"), description));
        }
        let content = match attachment.upload.as_str() {
            "" => AttachmentContent::Inline(attachment.data),
            _ if !attachment.data.is_empty() => {
                let problem = "must not be set together with `data`";
                return Err(FieldError::new(format!("{field}.upload"), problem));
            }
            upload => AttachmentContent::Upload(upload_hash(upload).ok_or_else(|| {
                let problem = format!("`{upload}` is not the name of an upload");
                FieldError::new(format!("{field}.upload"), problem)
            })?),
        };
        let name = file_name(&format!("{field}.name"), attachment.name)?;
        Ok(Attachment { name, content })
    };
    attachments.into_iter().enumerate().map(checked).collect()
}

fn upload_hash(upload: &str) -> Option<[u8; 32]> {
    let digits = upload.strip_prefix(UPLOADS)?;
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    let mut sha256 = [0; 32];
    for (byte, pair) in sha256.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(sha256)
}

/// Validates a required text.
fn required_text(field: &str, text: String) -> Result<String, FieldError> {
    if text.trim().is_empty() {
        return Err(FieldError::new(
            field,
            "is empty; an empty text matches every screen",
        ));
    }
    Ok(text)
}

fn expectations(expectations: Vec<wire::Expectation>) -> Result<Vec<Expectation>, FieldError> {
    use wire::expectation::Expectation as Wire;

    let checked = |(index, expectation): (usize, wire::Expectation)| match expectation.expectation {
        Some(Wire::TextOnScreen(text)) => {
            let field = format!("task.expectations[{index}].text_on_screen");
            required_text(&field, text).map(Expectation::TextOnScreen)
        }
        Some(Wire::WindowTitle(title)) => {
            let field = format!("task.expectations[{index}].window_title");
            required_text(&field, title).map(Expectation::WindowTitle)
        }
        Some(Wire::FileExists(name)) => {
            file_name(&format!("task.expectations[{index}].file_exists"), name)
                .map(Expectation::FileExists)
        }
        Some(Wire::ExtractedJson(json)) => serde_json::from_str(&json)
            .map(Expectation::ExtractedJson)
            .map_err(|error| {
                FieldError::new(
                    format!("task.expectations[{index}].extracted_json"),
                    format!("is not valid JSON: {error}"),
                )
            }),
        None => Err(FieldError::missing(&format!(
            "task.expectations[{index}].expectation"
        ))),
    };
    expectations.into_iter().enumerate().map(checked).collect()
}

/// Refuses expected texts that nearly every screen shows.
fn check_telling(expectations: &[Expectation]) -> Result<(), FieldError> {
    for (index, expectation) in expectations.iter().enumerate() {
        if let Expectation::TextOnScreen(text) = expectation
            && !is_telling(text)
        {
            let field = format!("task.expectations[{index}].text_on_screen");
            let problem = format!(
                "`{text}` has no more than one letter or digit, which nearly every screen shows; add the words around it"
            );
            return Err(FieldError::new(field, problem));
        }
    }
    Ok(())
}

fn wire_expectation(expectation: &Expectation) -> wire::Expectation {
    use wire::expectation::Expectation as Wire;

    let expectation = match expectation.clone() {
        Expectation::TextOnScreen(text) => Wire::TextOnScreen(text),
        Expectation::WindowTitle(title) => Wire::WindowTitle(title),
        Expectation::FileExists(name) => Wire::FileExists(name),
        Expectation::ExtractedJson(json) => Wire::ExtractedJson(json.to_string()),
    };
    wire::Expectation {
        expectation: Some(expectation),
    }
}

fn run_after(time: Option<prost_types::Timestamp>) -> Result<Option<SystemTime>, FieldError> {
    time.map(|time| convert::time("task.run_after_time", Some(time)))
        .transpose()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn read(task: wire::Task) -> Result<TaskSpec, FieldError> {
        let name = TaskName::from_segment("a").unwrap();
        TaskSpec::from_wire(
            name,
            "uid".into(),
            Owner::default(),
            task,
            LimitRules::default(),
        )
    }

    fn check_fault(task: wire::Task, field: &str, part: &str) {
        let error = read(task).unwrap_err();
        assert_eq!(error.field, field);
        assert!(error.description.contains(part), "{error}");
    }

    fn with_goal() -> wire::Task {
        wire::Task {
            goal: "click \"Save\"".into(),
            ..Default::default()
        }
    }

    #[test]
    fn only_the_goal_is_required() {
        let spec = read(with_goal()).unwrap();
        assert_eq!(spec.limits, Limits::default());
        assert_eq!(read(spec.to_wire(false)).unwrap(), spec);
    }

    #[test]
    fn operators_limits_are_ceilings_for_what_tasks_ask() {
        let ceilings = LimitCeilings {
            max_steps: Some(50),
            max_duration: Some(Duration::from_secs(600)),
            max_tokens: Some(1000),
            max_cost_micros_usd: Some(2000),
            max_risky_actions: Some(3),
        };
        let rules = LimitRules {
            defaults: Limits::default(),
            ceilings,
        };
        let read = |limits: wire::Limits| {
            let name = TaskName::from_segment("a").unwrap();
            let task = wire::Task {
                limits: Some(limits),
                ..with_goal()
            };
            TaskSpec::from_wire(name, "u".into(), Owner::default(), task, rules)
        };
        let unset = read(wire::Limits::default()).unwrap().limits;
        let expected = Limits {
            max_steps: 50,
            max_duration: DEFAULT_MAX_DURATION,
            max_tokens: Some(1000),
            max_cost_micros_usd: Some(2000),
            max_risky_actions: Some(3),
        };
        assert_eq!(unset, expected);
        let seconds = |seconds| Some(prost_types::Duration { seconds, nanos: 0 });
        let limits = |beyond: u64| wire::Limits {
            max_steps: 50,
            max_duration: seconds(600),
            max_tokens: 1000 + beyond,
            max_cost_micros_usd: 2000,
            max_risky_actions: 3,
        };
        let highest = read(limits(0)).unwrap().limits;
        assert_eq!(highest.max_tokens, Some(1000));
        assert_eq!(highest.max_duration, Duration::from_secs(600));
        for (asked, message) in [
            (
                limits(1),
                "task.limits.max_tokens: is 1001; this server accepts at most 1000",
            ),
            (
                wire::Limits {
                    max_steps: 51,
                    ..limits(0)
                },
                "task.limits.max_steps: is 51; this server accepts at most 50",
            ),
            (
                wire::Limits {
                    max_duration: seconds(601),
                    ..limits(0)
                },
                "task.limits.max_duration: is 601 s; this server accepts at most 600 s",
            ),
            (
                wire::Limits {
                    max_cost_micros_usd: 2001,
                    ..limits(0)
                },
                "task.limits.max_cost_micros_usd: is 2001; this server accepts at most 2000",
            ),
            (
                wire::Limits {
                    max_risky_actions: 4,
                    ..limits(0)
                },
                "task.limits.max_risky_actions: is 4; this server accepts at most 3",
            ),
        ] {
            assert_eq!(read(asked).unwrap_err().to_string(), message);
        }
    }

    fn expecting_text(text: &str) -> wire::Task {
        let text = wire::expectation::Expectation::TextOnScreen(text.into());
        wire::Task {
            expectations: vec![wire::Expectation {
                expectation: Some(text),
            }],
            ..with_goal()
        }
    }

    #[test]
    fn a_single_letter_is_no_expectation_of_a_new_task() {
        for text in ["x", " 7 ", "5.", "\"a\"", "Ａ", "成"] {
            let field = "task.expectations[0].text_on_screen";
            check_fault(expecting_text(text), field, "no more than one letter");
            let name = TaskName::from_segment("a").unwrap();
            let stored = TaskSpec::from_record(name, "u".into(), expecting_text(text));
            assert!(stored.is_ok(), "{text} was accepted by an earlier version");
        }
        for text in ["OK", "42", "5%", "完成", "a b"] {
            assert!(read(expecting_text(text)).is_ok(), "{text}");
        }
    }

    #[test]
    fn an_upload_is_known_by_its_hash() {
        let hash = [0xab; 32];
        assert_eq!(upload_hash(&upload_name(&hash)), Some(hash));
        let attached = wire::Task {
            attachments: vec![wire::Attachment {
                name: "a".into(),
                upload: upload_name(&hash),
                ..Default::default()
            }],
            ..with_goal()
        };
        let spec = read(attached).unwrap();
        assert_eq!(spec.attachments[0].content, AttachmentContent::Upload(hash));
        assert_eq!(read(spec.to_wire(true)).unwrap(), spec);
    }

    #[test]
    fn invalid_task_specs_are_refused_by_field() {
        check_fault(wire::Task::default(), "task.goal", "is empty");
        check_fault(
            wire::Task {
                session: "tasks/a".into(),
                ..with_goal()
            },
            "task.session",
            "sessions/{id}",
        );
        let selector = wire::DesktopSelector {
            desktop: "nowhere".into(),
            ..Default::default()
        };
        check_fault(
            wire::Task {
                desktop_selector: Some(selector),
                ..with_goal()
            },
            "task.desktop_selector.desktop",
            "desktops/{id}",
        );
        for name in ["", "../etc/passwd", "a/b", ".bashrc", "a\nb"] {
            check_fault(
                wire::Task {
                    results: vec![name.into()],
                    ..with_goal()
                },
                "task.results[0]",
                "plain file name",
            );
        }
        let data = Bytes::from(vec![0; MAX_ATTACHMENT_BYTES + 1]);
        check_fault(
            wire::Task {
                attachments: vec![wire::Attachment {
                    name: "a".into(),
                    data,
                    ..Default::default()
                }],
                ..with_goal()
            },
            "task.attachments[0].data",
            "at most",
        );
        for (data, upload, part) in [
            (&b"x"[..], "uploads/a", "together with `data`"),
            (&b""[..], "uploads/a", "is not the name of an upload"),
        ] {
            check_fault(
                wire::Task {
                    attachments: vec![wire::Attachment {
                        name: "a".into(),
                        data: Bytes::from_static(data),
                        upload: upload.into(),
                    }],
                    ..with_goal()
                },
                "task.attachments[0].upload",
                part,
            );
        }
        check_fault(
            wire::Task {
                expectations: vec![wire::Expectation::default()],
                ..with_goal()
            },
            "task.expectations[0].expectation",
            "is required",
        );
    }
}
