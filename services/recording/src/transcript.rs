//! Transcript of a session: the messages and steps of its tasks, as Markdown for people or as JSON for programs.
//!
//! Each transcript is built from the task's log alone. Tasks are read one at a time, while the transcript is streamed, so a
//! long session is never in memory as a whole. Images and files are named, not contained; `docs/sessions.md` describes the
//! JSON. Texts are in the language of their task; the names in the JSON are the same for every language.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt as _};
use motorium_messages::{Language, Message};
use motorium_proto::domain::id::{EventSeq, SessionName, TaskName};
use motorium_proto::v1::orchestrator::task::State;
use motorium_store::{ListTasks, TaskStore};
use motorium_task::approval::ApprovalState;
use motorium_task::event::{Event, RecordedEvent, UserRequestKind};
use motorium_task::{Task, view, words};
use motorium_text::rfc3339;
use serde::Serialize;

use crate::log;

/// Tasks per query. Bounds the memory of one.
const TASK_BATCH_SIZE: u32 = 200;

/// Format of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptFormat {
    Markdown,
    Json,
}

/// The author of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
    Assistant,
}

/// Kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum EntryKind {
    Goal,
    Message,
    Step,
    Question,
    Approval,
    File,
    Answer,
}

/// A message or step of one side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Entry {
    time: String,
    role: Role,
    kind: EntryKind,
    text: String,
    /// State of an approval, for programs. The text has it in the language of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<&'static str>,
}

/// The transcript of one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct TaskTranscript {
    #[serde(skip)]
    language: Language,
    task: String,
    #[serde(serialize_with = "state_name")]
    state: State,
    entries: Vec<Entry>,
}

/// Streams the transcript of a session in chunks, one for each task.
///
/// # Errors
/// If the tasks cannot be listed, or, in the stream, if a log cannot be read.
pub async fn transcript(
    store: Arc<dyn TaskStore>,
    session: &SessionName,
    format: TranscriptFormat,
) -> Result<impl Stream<Item = Result<Bytes, log::Error>> + Send + use<>, log::Error> {
    let tasks = tasks_of(store.as_ref(), session).await?;
    let (head, tail) = match format {
        TranscriptFormat::Markdown => (format!("# {session}\n"), ""),
        TranscriptFormat::Json => {
            let session = serde_json::Value::from(session.to_string());
            (format!("{{\"session\":{session},\"tasks\":["), "]}\n")
        }
    };
    let transcripts = stream::iter(tasks.into_iter().enumerate()).then(move |(index, name)| {
        let store = store.clone();
        async move {
            let log = log::read(store.as_ref(), &name, EventSeq(0)).await?;
            let transcript = task_transcript(&log).ok_or_else(|| log::Error::Corrupt {
                detail: format!("the log of {name} does not begin with its creation"),
            })?;
            Ok(Bytes::from(match format {
                TranscriptFormat::Markdown => markdown(&transcript, index + 1),
                TranscriptFormat::Json => {
                    let separator = if index == 0 { "" } else { "," };
                    format!("{separator}{}", json(&transcript))
                }
            }))
        }
    });
    let head = stream::iter([Ok(Bytes::from(head))]);
    let tail = stream::iter([Ok(Bytes::from_static(tail.as_bytes()))]);
    Ok(head.chain(transcripts).chain(tail))
}

/// Lists the tasks of a session, the oldest first.
async fn tasks_of(
    store: &dyn TaskStore,
    session: &SessionName,
) -> Result<Vec<TaskName>, log::Error> {
    let mut names = Vec::new();
    let mut page_token = None;
    loop {
        let list = ListTasks {
            page_size: TASK_BATCH_SIZE,
            page_token,
            session: Some(session.to_string()),
            ..ListTasks::default()
        };
        let page = store.list_tasks(list).await?;
        names.extend(page.items.into_iter().map(|row| row.name));
        page_token = page.next;
        if page_token.is_none() {
            names.reverse();
            return Ok(names);
        }
    }
}

/// Returns the transcript of a task from its log. `None` if the log does not begin with the creation.
fn task_transcript(log: &[RecordedEvent]) -> Option<TaskTranscript> {
    let mut task = Task::from_events(log.first().cloned())?;
    let goal = task.spec.goal.clone();
    let mut entries = vec![entry(task.created_at, Role::User, EntryKind::Goal, goal)];
    for recorded in log.iter().skip(1) {
        task.apply(recorded);
        let addition = addition_of(&task, &recorded.event);
        let addition = addition.map(|(role, kind, text)| entry(recorded.at, role, kind, text));
        entries.extend(addition.map(|addition| Entry {
            approval: approval_name(&recorded.event),
            ..addition
        }));
    }
    entries.retain(|entry| !entry.text.trim().is_empty());
    Some(TaskTranscript {
        language: task.spec.message_language(),
        task: task.spec.name.to_string(),
        state: view::state(&task.lifecycle),
        entries,
    })
}

fn entry(at: SystemTime, role: Role, kind: EntryKind, text: String) -> Entry {
    Entry {
        time: rfc3339::format(at),
        role,
        kind,
        text,
        approval: None,
    }
}

/// Returns the name of an approval's state in the JSON, such as `DENIED`.
fn approval_name(event: &Event) -> Option<&'static str> {
    let Event::ApprovalResolved(approval) = event else {
        return None;
    };
    let state = approval.state.to_wire().as_str_name();
    Some(state.trim_start_matches("STATE_"))
}

/// Returns what an event, which was applied to the task, adds to the transcript.
fn addition_of(task: &Task, event: &Event) -> Option<(Role, EntryKind, String)> {
    Some(match event {
        Event::MessageReceived { text, .. } => (Role::User, EntryKind::Message, text.clone()),
        Event::UserAcknowledged { message, .. } if message.is_empty() => {
            let done = task.text(Message::Acknowledged);
            (Role::User, EntryKind::Message, done)
        }
        Event::UserAcknowledged { message, .. } | Event::HandedBack { message } => {
            (Role::User, EntryKind::Message, message.clone())
        }
        Event::UserAsked(request) if request.kind != UserRequestKind::TakeOver => (
            Role::Assistant,
            EntryKind::Question,
            request.message.clone(),
        ),
        Event::ApprovalResolved(approval) => {
            if matches!(
                approval.state,
                ApprovalState::Pending | ApprovalState::Invalidated
            ) {
                return None;
            }
            let language = task.spec.message_language();
            let (text, detail) = (
                approval.subject.intent(),
                &words::approval(approval.state.to_wire(), language),
            );
            let text = task.text(Message::WithDetail { text, detail });
            (Role::User, EntryKind::Approval, text)
        }
        Event::StepFinished { .. } => {
            let line = task.steps.last()?.progress.as_ref()?;
            (Role::Assistant, EntryKind::Step, line.1.clone())
        }
        Event::AttachmentPut { name, .. } => (Role::User, EntryKind::File, name.clone()),
        Event::ResultFetched(file) => {
            let artifact = file.artifact.as_ref()?;
            (Role::Assistant, EntryKind::File, artifact.file_name.clone())
        }
        Event::Summarized { text, .. } => (Role::Assistant, EntryKind::Answer, text.clone()),
        // The summary says it already.
        Event::Succeeded { .. } | Event::Failed(_) if task.summary.is_some() => return None,
        Event::Succeeded { answer } => (Role::Assistant, EntryKind::Answer, answer.clone()),
        Event::Failed(failure) => {
            let (message, reason) = (&failure.message, &failure.reason);
            let text = task.text(Message::FailureWithReason { message, reason });
            (Role::Assistant, EntryKind::Answer, text)
        }
        Event::Cancelled { reason } => (Role::User, EntryKind::Message, reason.clone()),
        _ => return None,
    })
}

/// Writes the name of a state in the JSON, such as `AWAITING_USER`.
fn state_name<S: serde::Serializer>(state: &State, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(state.as_str_name().trim_start_matches("STATE_"))
}

fn json(transcript: &TaskTranscript) -> String {
    serde_json::to_string(transcript).expect("texts can be written into memory")
}

/// Formats a task as a section. Steps, files and approvals become a list; all other entries are quoted, so that they cannot
/// be taken for the transcript's own headings.
fn markdown(transcript: &TaskTranscript, number: usize) -> String {
    let language = transcript.language;
    let heading = Message::TranscriptTask {
        number,
        task: &transcript.task,
        state: &words::state(transcript.state, language),
    };
    let mut text = format!("\n## {}\n", heading.text(language));
    let mut was_list_item = false;
    for entry in &transcript.entries {
        let item = match entry.kind {
            EntryKind::Step => Some(one_line(&entry.text)),
            EntryKind::File => {
                let name = &one_line(&entry.text);
                Some(Message::TranscriptFile { name }.text(language))
            }
            EntryKind::Approval => Some(one_line(&entry.text)),
            _ => None,
        };
        // Writing into a string does not fail.
        let _ = match item {
            Some(item) => {
                let gap = if was_list_item { "" } else { "\n" };
                writeln!(text, "{gap}- {item}")
            }
            None => {
                let role = match entry.role {
                    Role::User => "user",
                    Role::Assistant => "assistant",
                };
                let author = Message::TranscriptAuthor { role }.text(language);
                let quoted = entry.text.trim().replace('\n', "\n> ");
                writeln!(text, "\n**{author}** ({})\n\n> {quoted}", entry.time)
            }
        };
        was_list_item = item_follows(entry.kind);
    }
    text
}

fn item_follows(kind: EntryKind) -> bool {
    matches!(
        kind,
        EntryKind::Step | EntryKind::File | EntryKind::Approval
    )
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use motorium_proto::v1::orchestrator as wire;
    use motorium_task::owner::Owner;
    use motorium_task::spec::{LimitRules, TaskSpec};
    use motorium_task::{Approval, ApprovalSubject};

    use super::*;

    fn sample(language: Language) -> TaskTranscript {
        let entry = |role, kind, text: &str| Entry {
            time: "2026-01-01T00:00:00.000Z".to_owned(),
            role,
            kind,
            text: text.to_owned(),
            approval: None,
        };
        TaskTranscript {
            language,
            task: "tasks/a".to_owned(),
            state: State::AwaitingUser,
            entries: vec![
                entry(Role::User, EntryKind::Goal, "open it\n# not a heading"),
                entry(Role::Assistant, EntryKind::Step, "clicking\n\"Open\""),
                entry(Role::Assistant, EntryKind::File, "a.pdf"),
                entry(Role::Assistant, EntryKind::Question, "which one?"),
            ],
        }
    }

    #[test]
    fn transcript_quotes_messages_and_lists_actions() {
        let expected = r#"
## 2. tasks/a (awaiting user)

**User** (2026-01-01T00:00:00.000Z)

> open it
> # not a heading

- clicking "Open"
- file: a.pdf

**Motorium** (2026-01-01T00:00:00.000Z)

> which one?
"#;
        assert_eq!(markdown(&sample(Language::English), 2), expected);
    }

    #[test]
    fn transcript_of_a_chinese_task_is_chinese() {
        let text = markdown(&sample(Language::Chinese), 2);
        for part in [
            "## 2. tasks/a（等待用户）",
            "**用户** (2026",
            "- 文件：a.pdf",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("User") && !text.contains("file"), "{text}");
    }

    #[test]
    fn the_names_in_the_json_are_the_same_for_every_language() {
        for language in Language::ALL {
            let json: serde_json::Value = serde_json::from_str(&json(&sample(language))).unwrap();
            let kinds = json["entries"].as_array().unwrap().iter();
            let kinds: Vec<&str> = kinds.map(|entry| entry["kind"].as_str().unwrap()).collect();
            assert_eq!(kinds, ["goal", "step", "file", "question"]);
            assert_eq!(json["entries"][0]["role"], "user");
            assert_eq!(json["state"], "AWAITING_USER");
            assert_eq!(json.as_object().unwrap().len(), 3);
        }
    }

    /// The transcript of a task with this goal, one of whose actions was not approved.
    fn with_denial(goal: &str, intent: &str) -> TaskTranscript {
        let spec = TaskSpec::from_wire(
            TaskName::from_segment("t").unwrap(),
            "u".into(),
            Owner::default(),
            wire::Task {
                goal: goal.to_owned(),
                ..wire::Task::default()
            },
            LimitRules::default(),
        );
        let denied = Approval {
            id: "1-0-1".to_owned(),
            state: ApprovalState::Denied,
            subject: ApprovalSubject::Call {
                intent: intent.to_owned(),
            },
            rules: Vec::new(),
            reason: String::new(),
            safety_checks: Vec::new(),
            evidence: None,
            fingerprint: [0; 32],
            context: None,
            created_at: SystemTime::UNIX_EPOCH,
            expires_at: SystemTime::UNIX_EPOCH,
            resolved_by: String::new(),
            message: String::new(),
            stated_user: String::new(),
            written_by_model: false,
            second_person: false,
        };
        let events = [
            Event::Created(Box::new(spec.unwrap())),
            Event::ApprovalResolved(Box::new(denied)),
        ];
        let log: Vec<RecordedEvent> = (1..)
            .zip(events)
            .map(|(seq, event)| RecordedEvent {
                seq: EventSeq(seq),
                at: SystemTime::UNIX_EPOCH,
                step: 0,
                event,
            })
            .collect();
        task_transcript(&log).unwrap()
    }

    #[test]
    fn approval_is_translated_and_named_for_programs() {
        let check = |goal: &str, intent: &str, expected: &str| {
            let transcript = with_denial(goal, intent);
            assert!(markdown(&transcript, 1).contains(expected));
            let json: serde_json::Value = serde_json::from_str(&json(&transcript)).unwrap();
            assert_eq!(json["entries"][1]["approval"], "DENIED");
            assert!(json["entries"][0].get("approval").is_none());
        };
        check("pay", "click \"Pay\"", "- click \"Pay\": denied");
        check("付款", "点击“付款”", "- 点击“付款”：已拒绝");
    }
}
