//! The story of a task in the chat protocol: from the events of the Orchestrator to what a chat shows.
//!
//! A pure fold over the events of one task, without clock and I/O. Texts are in the language of the task; those that no event
//! has come from the catalogue.

use motorium_messages::{Language, Message};
use motorium_proto::v1::common::{PixelPoint, PixelSize};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::task::State;
use motorium_proto::v1::orchestrator::user_request::Kind as RequestKind;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use crate::time::rfc3339_of;

/// Kind of a chat event: the `event` field of server-sent events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChatEventKind {
    /// A task was created; show its card.
    Started,
    /// The screen as the task sees it now.
    Screen,
    /// A line of progress with its screenshot.
    Progress,
    /// An earlier line of progress was corrected, or its outcome is known.
    ProgressUpdate,
    /// The task waits for the user.
    AwaitingUser,
    /// The task ended with success.
    Completed,
    /// The task ended with a failure.
    Failed,
    /// The user stopped the task.
    Stopped,
}

impl ChatEventKind {
    /// Returns the name in the protocol.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Started => "task.started",
            Self::Screen => "screen.live",
            Self::Progress => "progress.append",
            Self::ProgressUpdate => "progress.update",
            Self::AwaitingUser => "task.awaiting_user",
            Self::Completed => "task.completed",
            Self::Failed => "task.failed",
            Self::Stopped => "task.stopped",
        }
    }
}

impl Serialize for ChatEventKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// State of a task in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChatStatus {
    #[default]
    Queued,
    Running,
    /// Paused until it is resumed. Beyond the original protocol.
    Paused,
    AwaitingUser,
    Completed,
    Failed,
    Stopped,
}

impl From<State> for ChatStatus {
    fn from(state: State) -> Self {
        match state {
            State::Unspecified | State::Pending => Self::Queued,
            State::Running => Self::Running,
            State::Paused => Self::Paused,
            State::AwaitingUser => Self::AwaitingUser,
            State::Succeeded => Self::Completed,
            State::Failed => Self::Failed,
            State::Cancelled => Self::Stopped,
        }
    }
}

/// Request of a task to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChatRequest {
    /// A question: answer with `/api/chat/send`.
    Question,
    /// Something to do on the desktop: acknowledge it.
    ManualAction,
    /// An approval: resolve it with `/api/v1/{approval}/approve` or `/deny`.
    Approval,
    /// A person has taken over: acknowledge to hand the desktop back.
    TakeOver,
}

/// Data of a chat event. Fields that do not belong to its kind are absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, ToSchema)]
pub(crate) struct ChatData {
    /// Identifier of what the event is about; that of a line of progress also in its updates.
    pub(crate) id: String,
    pub(crate) task_id: String,
    pub(crate) session_id: String,
    pub(crate) status: ChatStatus,
    /// Number of the line of progress, beginning with 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) index: Option<usize>,
    /// Number of the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// Outcome of the step, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<String>,
    #[serde(flatten)]
    pub(crate) screenshot: Option<Screenshot>,
    /// True for the screen as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) is_live: Option<bool>,
    /// Path of the WebSocket with the live screen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) live_url: Option<String>,
    /// True if the user can acknowledge by a button.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) show_ack_button: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<ChatRequest>,
    /// Name of the pending approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) approval: Option<String>,
    /// Stable reason of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// Progress of a task that ended without success, and what remains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<String>,
    /// Time of the event, RFC 3339.
    pub(crate) created_at: String,
}

/// A stored screenshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Screenshot {
    screenshot_id: String,
    /// Path of the image.
    screenshot_url: String,
    width: i32,
    height: i32,
    cursor_x: Option<i32>,
    cursor_y: Option<i32>,
}

impl Screenshot {
    fn of(observed: &wire::Observed) -> Option<Self> {
        let artifact = observed.image.as_ref()?;
        let frame = observed.frame.as_ref()?;
        let size: PixelSize = frame.size?;
        let cursor: Option<PixelPoint> = frame.cursor.as_ref().and_then(|cursor| cursor.position);
        Some(Self {
            screenshot_id: segment(&artifact.name),
            screenshot_url: format!("/api/artifacts/{}", artifact.name),
            width: size.width,
            height: size.height,
            cursor_x: cursor.map(|at| at.x),
            cursor_y: cursor.map(|at| at.y),
        })
    }
}

/// An event of the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ChatEvent {
    pub(crate) kind: ChatEventKind,
    pub(crate) data: ChatData,
}

/// The story of one task so far.
#[derive(Debug, Default)]
pub(crate) struct Narration {
    session_id: String,
    language: Language,
    /// The latest observed screen.
    screenshot: Option<Screenshot>,
    lines: Vec<Line>,
    summary: Option<String>,
}

/// A line of progress.
#[derive(Debug)]
struct Line {
    sequence: i64,
    step: u32,
    text: String,
}

impl Narration {
    /// Adds the next event of the task, and returns what a chat shows of it.
    pub(crate) fn add(&mut self, event: &wire::Event) -> Option<ChatEvent> {
        let data = ChatData {
            id: format!("{}/{}", segment(&event.task), event.sequence),
            task_id: segment(&event.task),
            status: event.state().into(),
            created_at: rfc3339_of(event.time.as_ref()),
            ..ChatData::default()
        };
        let (kind, data) = self.tell(event, data)?;
        let session_id = self.session_id.clone();
        let data = ChatData { session_id, ..data };
        Some(ChatEvent { kind, data })
    }

    fn tell(&mut self, event: &wire::Event, data: ChatData) -> Option<(ChatEventKind, ChatData)> {
        let chat_event = match event.kind.as_ref()? {
            Kind::Created(created) => {
                let task = created.task.clone().unwrap_or_default();
                self.session_id = segment(&task.session);
                self.language = Language::of(Some(&task.language), &task.goal);
                (ChatEventKind::Started, with_text(data, task.goal))
            }
            Kind::LiveFrame(_) => {
                let data = ChatData {
                    is_live: Some(true),
                    live_url: Some(format!("/api/live/{}", event.task)),
                    screenshot: self.screenshot.clone(),
                    ..data
                };
                (ChatEventKind::Screen, data)
            }
            Kind::Observed(observed) => {
                self.screenshot = Screenshot::of(observed);
                let data = ChatData {
                    is_live: Some(true),
                    step: Some(event.step),
                    screenshot: Some(self.screenshot.clone()?),
                    ..data
                };
                (ChatEventKind::Screen, data)
            }
            Kind::ProgressAdded(line) => {
                self.lines.push(Line {
                    sequence: event.sequence,
                    step: event.step,
                    text: line.text.clone(),
                });
                let data = ChatData {
                    index: Some(self.lines.len()),
                    step: Some(event.step),
                    screenshot: self.screenshot.clone(),
                    ..with_text(data, line.text.clone())
                };
                (ChatEventKind::Progress, data)
            }
            Kind::ProgressCorrected(line) => {
                let place = self
                    .lines
                    .iter()
                    .position(|one| one.sequence == line.sequence)?;
                self.lines[place].text.clone_from(&line.text);
                (ChatEventKind::ProgressUpdate, self.updated(place, data))
            }
            Kind::StepFinished(finished) => {
                let outcome = Some(finished.outcome.clone()).filter(|text| !text.is_empty());
                let place = self
                    .lines
                    .iter()
                    .rposition(|line| line.step == event.step)?;
                let data = ChatData {
                    outcome: Some(outcome?),
                    ..self.updated(place, data)
                };
                (ChatEventKind::ProgressUpdate, data)
            }
            _ => return self.tell_turn(event, data),
        };
        Some(chat_event)
    }

    /// Tells of the events at which the user has to act, or at which the task ends.
    fn tell_turn(
        &mut self,
        event: &wire::Event,
        data: ChatData,
    ) -> Option<(ChatEventKind, ChatData)> {
        let chat_event = match event.kind.as_ref()? {
            Kind::UserAsked(asked) => {
                let request = asked.request.clone().unwrap_or_default();
                let kind = request_kind(request.kind())?;
                (
                    ChatEventKind::AwaitingUser,
                    awaiting(data, kind, request.message),
                )
            }
            Kind::ApprovalRequested(requested) => {
                let approval = requested.approval.clone().unwrap_or_default();
                let data = ChatData {
                    approval: Some(approval.name),
                    ..awaiting(data, ChatRequest::Approval, approval.reason)
                };
                (ChatEventKind::AwaitingUser, data)
            }
            Kind::TakenOver(taken) => {
                let text = match taken.user.as_str() {
                    "" => Message::TakenOver,
                    user => Message::TakenOverBy { user },
                };
                let text = text.text(self.language);
                (
                    ChatEventKind::AwaitingUser,
                    awaiting(data, ChatRequest::TakeOver, text),
                )
            }
            Kind::Summarized(summary) => {
                self.summary = Some(summary.text.clone());
                return None;
            }
            Kind::Succeeded(done) => (
                ChatEventKind::Completed,
                with_text(data, done.answer.clone()),
            ),
            Kind::Failed(failed) => {
                let failure = failed.failure.clone().unwrap_or_default();
                let data = ChatData {
                    reason: Some(failure.reason),
                    summary: self.summary.clone(),
                    ..with_text(data, failure.message)
                };
                (ChatEventKind::Failed, data)
            }
            Kind::Cancelled(cancelled) => {
                let text = match cancelled.reason.as_str() {
                    "" => Message::TaskCancelled,
                    reason => Message::TaskCancelledBecause { reason },
                };
                let data = ChatData {
                    summary: self.summary.clone(),
                    ..with_text(data, text.text(self.language))
                };
                (ChatEventKind::Stopped, data)
            }
            _ => return None,
        };
        Some(chat_event)
    }

    /// Returns the data of an update of a line.
    fn updated(&self, place: usize, data: ChatData) -> ChatData {
        let line = &self.lines[place];
        ChatData {
            id: format!("{}/{}", data.task_id, line.sequence),
            index: Some(place + 1),
            step: Some(line.step),
            ..with_text(data, line.text.clone())
        }
    }
}

fn with_text(data: ChatData, text: String) -> ChatData {
    ChatData {
        text: Some(text),
        ..data
    }
}

fn awaiting(data: ChatData, request: ChatRequest, text: String) -> ChatData {
    // An approval is given or denied; everything else may be answered by "done".
    let can_acknowledge = !matches!(request, ChatRequest::Approval);
    ChatData {
        request: Some(request),
        show_ack_button: Some(can_acknowledge),
        ..with_text(data, text)
    }
}

/// Returns the kind of a request. Approvals and take-overs have events of their own.
fn request_kind(kind: RequestKind) -> Option<ChatRequest> {
    match kind {
        RequestKind::Question | RequestKind::Unspecified => Some(ChatRequest::Question),
        RequestKind::ManualAction => Some(ChatRequest::ManualAction),
        RequestKind::Approval | RequestKind::TakeOver => None,
    }
}

/// Returns the last segment of a resource name.
pub(crate) fn segment(name: &str) -> String {
    name.rsplit('/').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use motorium_proto::v1::common::{Cursor, Frame};
    use prost_types::Timestamp;

    use super::*;

    /// Words of a task in one language.
    struct Words {
        goal: &'static str,
        line: &'static str,
        corrected: &'static str,
        outcome: &'static str,
        ask: &'static str,
        answer: &'static str,
        user: &'static str,
        cancelled: &'static str,
    }

    const ENGLISH: Words = Words {
        goal: "log in and save the report",
        line: "Click \"Save\"",
        corrected: "\"Save\" did not react",
        outcome: "no effect",
        ask: "Please log in.",
        answer: "The report is saved.",
        user: "Ada",
        cancelled: "not needed",
    };

    const CHINESE: Words = Words {
        goal: "登录并保存报告",
        line: "点击“保存”",
        corrected: "“保存”没有反应",
        outcome: "没有效果",
        ask: "请登录。",
        answer: "报告已保存。",
        user: "小林",
        cancelled: "不需要了",
    };

    fn artifact(name: &str) -> wire::Artifact {
        wire::Artifact {
            name: format!("tasks/t1/artifacts/{name}"),
            media_type: "image/png".to_owned(),
            ..wire::Artifact::default()
        }
    }

    fn whole_task(words: &Words) -> Vec<(u32, State, Kind)> {
        let task = wire::Task {
            name: "tasks/t1".to_owned(),
            session: "sessions/s1".to_owned(),
            goal: words.goal.to_owned(),
            ..wire::Task::default()
        };
        let frame = Frame {
            size: Some(PixelSize {
                width: 1920,
                height: 1080,
            }),
            cursor: Some(Cursor {
                position: Some(PixelPoint { x: 12, y: 34 }),
                drawn: true,
            }),
            ..Frame::default()
        };
        let observed = wire::Observed {
            frame: Some(frame),
            image: Some(artifact("frame-1")),
            ..wire::Observed::default()
        };
        let request = |kind: RequestKind, message: &str| wire::UserAsked {
            request: Some(wire::UserRequest {
                kind: kind.into(),
                message: message.to_owned(),
                approval: String::new(),
            }),
        };
        let approval = wire::Approval {
            name: "tasks/t1/approvals/a1".to_owned(),
            reason: words.outcome.to_owned(),
            ..wire::Approval::default()
        };
        let text = str::to_owned;
        let (waiting, running) = (State::AwaitingUser, State::Running);
        vec![
            (
                0,
                State::Pending,
                Kind::Created(wire::TaskCreated { task: Some(task) }),
            ),
            (0, running, Kind::Started(wire::TaskStarted::default())),
            (
                0,
                running,
                Kind::LiveFrame(wire::LiveFrame {
                    desktop: text("desktops/local"),
                }),
            ),
            (1, running, Kind::Observed(observed)),
            (
                1,
                running,
                Kind::ProgressAdded(wire::ProgressAdded {
                    text: text(words.line),
                }),
            ),
            (
                1,
                running,
                Kind::ProgressCorrected(wire::ProgressCorrected {
                    sequence: 5,
                    text: text(words.corrected),
                }),
            ),
            (
                1,
                running,
                Kind::StepFinished(wire::StepFinished {
                    outcome: text(words.outcome),
                    ..Default::default()
                }),
            ),
            (
                2,
                waiting,
                Kind::UserAsked(request(RequestKind::ManualAction, words.ask)),
            ),
            (
                2,
                running,
                Kind::UserAcknowledged(wire::UserAcknowledged::default()),
            ),
            (
                2,
                waiting,
                Kind::UserAsked(request(RequestKind::Question, words.ask)),
            ),
            (
                2,
                waiting,
                Kind::ApprovalRequested(wire::ApprovalRequested {
                    approval: Some(approval),
                }),
            ),
            (
                2,
                waiting,
                Kind::TakenOver(wire::TakenOver {
                    user: text(words.user),
                }),
            ),
            (2, waiting, Kind::TakenOver(wire::TakenOver::default())),
            (
                3,
                State::Succeeded,
                Kind::Succeeded(wire::TaskSucceeded {
                    answer: text(words.answer),
                }),
            ),
            // Other ends of the same task.
            (
                3,
                running,
                Kind::Summarized(wire::TaskSummarized {
                    text: text(words.answer),
                    ..Default::default()
                }),
            ),
            (
                3,
                State::Failed,
                Kind::Failed(wire::TaskFailed {
                    failure: Some(wire::Failure {
                        reason: text("STEP_LIMIT"),
                        message: text(words.corrected),
                    }),
                }),
            ),
            (
                3,
                State::Cancelled,
                Kind::Cancelled(wire::TaskCancelled {
                    reason: text(words.cancelled),
                }),
            ),
            (
                3,
                State::Cancelled,
                Kind::Cancelled(wire::TaskCancelled::default()),
            ),
        ]
    }

    fn narrated(words: &Words) -> String {
        let mut narration = Narration::default();
        let events = whole_task(words)
            .into_iter()
            .enumerate()
            .map(|(place, event)| {
                let (step, state, kind) = event;
                wire::Event {
                    task: "tasks/t1".to_owned(),
                    sequence: place as i64 + 1,
                    time: Some(Timestamp {
                        seconds: 1_780_000_000 + place as i64,
                        nanos: 0,
                    }),
                    step,
                    state: state.into(),
                    kind: Some(kind),
                }
            });
        let parts: Vec<String> = events
            .filter_map(|event| narration.add(&event))
            .map(|event| {
                let data = serde_json::to_string(&event.data).unwrap();
                format!("{}\n  {data}", event.kind.name())
            })
            .collect();
        parts.join("\n")
    }

    #[test]
    fn a_whole_task_in_english() {
        insta::assert_snapshot!(narrated(&ENGLISH));
    }

    #[test]
    fn a_whole_task_in_chinese() {
        insta::assert_snapshot!(narrated(&CHINESE));
    }

    #[test]
    fn events_of_later_versions_are_skipped() {
        let mut narration = Narration::default();
        assert_eq!(narration.add(&wire::Event::default()), None);
    }
}
