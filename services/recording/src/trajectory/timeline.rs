//! The timeline of a task: a line for each event that is not part of a step itself.
//!
//! Titles have stable English names for programs; texts and shown titles are in the task's language.

use std::time::SystemTime;

use motorium_messages::{Language, Message, choice_key, join_clauses, join_list};
use serde_json::{Value, json};

use motorium_task::event::{Event, PointerChecked, RecordedEvent, UserRequestKind};
use motorium_task::{Approval, ApprovalState};
use motorium_text::rfc3339;

/// One line of the timeline.
#[derive(Debug, Clone)]
pub(super) struct TimelineEntry {
    pub(super) at: SystemTime,
    pub(super) title: TimelineTitle,
    pub(super) text: String,
}

/// Declares the titles with their names in `steps.jsonl`, which never change, and their styles on the page.
macro_rules! timeline_titles {
    ($($variant:ident = $name:literal, $tone:literal;)+) => {
        /// The title of a line.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum TimelineTitle {
            $($variant,)+
        }

        impl TimelineTitle {
            #[cfg(test)]
            const ALL: &'static [TimelineTitle] = &[$(TimelineTitle::$variant,)+];

            /// Returns the name for programs.
            fn as_str(self) -> &'static str {
                match self {
                    $(TimelineTitle::$variant => $name,)+
                }
            }

            /// Returns the style of the line: `person`, `warning` or `note`.
            pub(super) fn tone(self) -> &'static str {
                match self {
                    $(TimelineTitle::$variant => $tone,)+
                }
            }
        }
    };
}

timeline_titles! {
    Recovered = "Recovered", "warning";
    DesktopReleased = "Desktop released", "note";
    Queued = "Queued", "note";
    FollowsEarlierTasks = "Follows earlier tasks", "note";
    FileNotPut = "File not put on the desktop", "warning";
    ImageNotShown = "Image not shown to the model", "warning";
    FilePut = "File put on the desktop", "note";
    BackendSkipped = "Backend skipped", "warning";
    Retried = "Retried", "note";
    PointerChecked = "Pointer checked", "note";
    NotPerformed = "Not performed", "warning";
    Asks = "Asks the user", "person";
    NeedsManualAction = "Needs a manual action", "person";
    AsksForApproval = "Asks for approval", "person";
    TakenOverByUser = "Taken over by the user", "person";
    User = "The user", "person";
    Approved = "Approved", "person";
    Denied = "Denied", "person";
    NotApprovedInTime = "Not approved in time", "person";
    ApprovalInvalidated = "Approval invalidated", "person";
    TakenOver = "Taken over", "person";
    HandedBack = "Handed back", "person";
    Paused = "Paused", "person";
    Resumed = "Resumed", "person";
    CancellationRequested = "Cancellation requested", "person";
    LoopDetected = "Loop detected", "warning";
    InjectionSuspected = "Prompt injection suspected", "warning";
    Verified = "Verified", "note";
    SecondLookRequested = "Second look requested", "note";
    ClaimRejected = "Success claim rejected", "warning";
    FileFetched = "File fetched", "note";
    FileNotFetched = "File not fetched", "warning";
    TransientFailure = "Transient failure", "warning";
    Summary = "Summary", "note";
    HookIntervened = "A hook intervened", "warning";
}

impl TimelineTitle {
    /// Returns the title for people.
    pub(super) fn text(self, language: Language) -> String {
        let title = &choice_key(self.as_str());
        Message::TimelineTitle { title }.text(language)
    }
}

impl TimelineEntry {
    /// Returns its element of `happened` in `steps.jsonl`.
    pub(super) fn json(&self) -> Value {
        json!({"time": rfc3339::format(self.at), "what": self.title.as_str(), "text": self.text})
    }
}

/// Returns the timeline line of an event, or `None` if the event is part of the step itself.
pub(super) fn timeline_entry(
    recorded: &RecordedEvent,
    language: Language,
) -> Option<TimelineEntry> {
    let (title, text) = title_and_text(&recorded.event, language)?;
    Some(TimelineEntry {
        at: recorded.at,
        title,
        text,
    })
}

fn title_and_text(event: &Event, language: Language) -> Option<(TimelineTitle, String)> {
    let with_detail =
        |text: &str, detail: &str| Message::WithDetail { text, detail }.text(language);
    Some(match event {
        Event::Recovered { orchestrator, .. } => {
            let text = Message::TimelineRecovered { orchestrator }.text(language);
            (TimelineTitle::Recovered, text)
        }
        Event::DesktopReleased { desktop } => (TimelineTitle::DesktopReleased, desktop.to_string()),
        Event::DesktopAwaited { message, .. } => (TimelineTitle::Queued, message.clone()),
        Event::SessionLoaded { tasks } => {
            let goals: Vec<&str> = tasks.iter().map(|task| task.goal.as_str()).collect();
            let text = join_clauses(&goals, language);
            (TimelineTitle::FollowsEarlierTasks, text)
        }
        Event::AttachmentPut { name, error, .. } if !error.is_empty() => {
            (TimelineTitle::FileNotPut, with_detail(name, error))
        }
        Event::AttachmentPut {
            name, image_error, ..
        } if !image_error.is_empty() => {
            (TimelineTitle::ImageNotShown, with_detail(name, image_error))
        }
        Event::AttachmentPut { name, path, .. } => {
            (TimelineTitle::FilePut, with_detail(name, path))
        }
        Event::BackendSkipped { attempt, .. } => {
            let (message, reason) = (&attempt.message, &attempt.reason);
            let problem = Message::FailureWithReason { message, reason }.text(language);
            let text = with_detail(&attempt.backend, &problem);
            (TimelineTitle::BackendSkipped, text)
        }
        Event::ActionRetried { reason, .. } => (TimelineTitle::Retried, reason.clone()),
        Event::PointerChecked(checked) => {
            (TimelineTitle::PointerChecked, pointer(checked, language))
        }
        Event::TargetNotResolved { message } => (TimelineTitle::NotPerformed, message.clone()),
        Event::UserAsked(request) => {
            let title = match request.kind {
                UserRequestKind::Question => TimelineTitle::Asks,
                UserRequestKind::ManualAction => TimelineTitle::NeedsManualAction,
                UserRequestKind::Approval => TimelineTitle::AsksForApproval,
                UserRequestKind::TakeOver => TimelineTitle::TakenOverByUser,
            };
            (title, request.message.clone())
        }
        Event::UserAcknowledged { message, .. } if message.is_empty() => {
            (TimelineTitle::User, Message::Acknowledged.text(language))
        }
        Event::UserAcknowledged { message, .. } => (TimelineTitle::User, message.clone()),
        Event::MessageReceived { text, .. } => (TimelineTitle::User, text.clone()),
        Event::ApprovalResolved(approval) => {
            (approval_title(approval.state), resolved(approval, language))
        }
        Event::TakenOver { user } => (TimelineTitle::TakenOver, user.clone()),
        Event::HumanActed { description, .. } => (TimelineTitle::User, description.clone()),
        Event::HandedBack { message } => (TimelineTitle::HandedBack, message.clone()),
        Event::Paused { reason } => (TimelineTitle::Paused, reason.clone()),
        Event::Resumed => (TimelineTitle::Resumed, String::new()),
        Event::CancelRequested { reason } => (TimelineTitle::CancellationRequested, reason.clone()),
        Event::LoopDetected(notice) => (TimelineTitle::LoopDetected, notice.message.clone()),
        Event::InjectionSuspected {
            suspected_injections,
            ..
        } => {
            let quotes = suspected_injections.iter();
            let quotes = quotes.map(|one| Message::QuotedLabel { text: &one.quote }.text(language));
            let text = join_list(&quotes.collect::<Vec<_>>(), language);
            (TimelineTitle::InjectionSuspected, text)
        }
        Event::CompletionChecked { passed: true, .. } => (
            TimelineTitle::Verified,
            Message::TimelineVerified.text(language),
        ),
        Event::CompletionChecked {
            second_look: true,
            missing,
            ..
        } => (
            TimelineTitle::SecondLookRequested,
            join_clauses(missing, language),
        ),
        Event::CompletionChecked { missing, .. } => (
            TimelineTitle::ClaimRejected,
            join_clauses(missing, language),
        ),
        Event::ResultFetched(file) => match &file.artifact {
            Some(artifact) => (TimelineTitle::FileFetched, artifact.file_name.clone()),
            None => (TimelineTitle::FileNotFetched, file.error.clone()),
        },
        Event::TransientFailure { message, .. } => {
            (TimelineTitle::TransientFailure, message.clone())
        }
        Event::Summarized { text, .. } => (TimelineTitle::Summary, text.clone()),
        Event::HookIntervened { hook, message, .. } => {
            (TimelineTitle::HookIntervened, with_detail(hook, message))
        }
        _ => return None,
    })
}

fn pointer(checked: &PointerChecked, language: Language) -> String {
    Message::TimelinePointer {
        x: checked.pointer.x,
        y: checked.pointer.y,
        place: if checked.on_target {
            "target"
        } else {
            "elsewhere"
        },
        corrections: checked.corrections,
    }
    .text(language)
}

fn approval_title(state: ApprovalState) -> TimelineTitle {
    match state {
        ApprovalState::Approved => TimelineTitle::Approved,
        ApprovalState::Denied => TimelineTitle::Denied,
        ApprovalState::Expired => TimelineTitle::NotApprovedInTime,
        ApprovalState::Pending | ApprovalState::Invalidated => TimelineTitle::ApprovalInvalidated,
    }
}

fn resolved(approval: &Approval, language: Language) -> String {
    let mut text = approval.subject.intent().to_owned();
    if !approval.resolved_by.is_empty() {
        let (done, by) = (text, &approval.resolved_by);
        let user = &match approval.stated_user.as_str() {
            "" => by.clone(),
            stated => format!("{by} ({stated})"),
        };
        text = Message::TimelineResolvedBy { text: &done, user }.text(language);
    }
    match approval.message.as_str() {
        "" => text,
        detail => Message::WithDetail {
            text: &text,
            detail,
        }
        .text(language),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_title_is_translated() {
        for title in TimelineTitle::ALL {
            assert_eq!(title.text(Language::English), title.as_str());
            let chinese = title.text(Language::Chinese);
            let is_english = chinese.contains(|letter: char| letter.is_ascii_alphabetic());
            assert!(!is_english && !chinese.is_empty(), "{title:?}: {chinese}");
        }
        // The last choice of the message also stands for a title that is missing there.
        let intervened = TimelineTitle::HookIntervened.text(Language::Chinese);
        let same = TimelineTitle::ALL
            .iter()
            .filter(|title| title.text(Language::Chinese) == intervened);
        assert_eq!(same.count(), 1);
    }
}
