//! The wait of a task that has not started: what keeps it from starting.

use motorium_messages::{Language, Message, join_clauses};
use motorium_proto::domain::id::{DesktopName, TaskName};
use motorium_proto::error::FieldError;
use motorium_proto::v1::orchestrator as wire;

/// The wait for a desktop, for the start time, or for an earlier task of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DesktopWait {
    /// None of the desktops that match the task's selector is available.
    Queued {
        /// Place in the queue, beginning with 1.
        position: u32,
        holds: Vec<DesktopHold>,
    },
    /// The start time lies in the future.
    StartTime,
    /// Another task of the same session has to end first.
    Session { task: TaskName },
}

/// A desktop that is not available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesktopHold {
    pub desktop: DesktopName,
    /// Name of the task or of the other client that holds the desktop. `None` if it is unreachable or draining.
    pub holder: Option<String>,
}

impl DesktopWait {
    /// Returns true if the same desktops are held by the same holders. The place in the queue does not count.
    #[must_use]
    pub fn has_same_holds(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Queued { holds: one, .. }, Self::Queued { holds: two, .. }) => one == two,
            (one, two) => one == two,
        }
    }

    /// Describes the wait for people.
    #[must_use]
    pub fn description(&self, language: Language) -> String {
        let (position, holds) = match self {
            Self::Queued { position, holds } => (position, holds),
            Self::StartTime => return Message::StartTimeAwaited.text(language),
            Self::Session { task } => {
                let task = &task.to_string();
                return Message::SessionAwaited { task }.text(language);
            }
        };
        let described: Vec<String> = holds
            .iter()
            .map(|hold| hold.description(language))
            .collect();
        let holds = if described.is_empty() {
            Message::DesktopNotRegistered.text(language)
        } else {
            join_clauses(&described, language)
        };
        let message = Message::DesktopsAwaited {
            holds: &holds,
            position: (*position).into(),
        };
        message.text(language)
    }

    /// Returns the API message with this explanation.
    #[must_use]
    pub fn to_wire(&self, message: String) -> wire::DesktopWait {
        let (queue_position, holds) = match self {
            Self::Queued { position, holds } => (*position, holds.as_slice()),
            Self::StartTime | Self::Session { .. } => (0, &[][..]),
        };
        let session_task = match self {
            Self::Session { task } => task.to_string(),
            _ => String::new(),
        };
        wire::DesktopWait {
            queue_position,
            holds: holds.iter().map(DesktopHold::to_wire).collect(),
            message,
            session_task,
        }
    }
}

impl TryFrom<wire::DesktopWait> for DesktopWait {
    type Error = FieldError;

    fn try_from(wait: wire::DesktopWait) -> Result<Self, FieldError> {
        if !wait.session_task.is_empty() {
            let task = TaskName::parse("session_task", &wait.session_task)?;
            return Ok(Self::Session { task });
        }
        if wait.queue_position == 0 {
            return Ok(Self::StartTime);
        }
        let holds = wait.holds.into_iter().map(DesktopHold::from_wire);
        Ok(Self::Queued {
            position: wait.queue_position,
            holds: holds.collect::<Result<_, _>>()?,
        })
    }
}

impl DesktopHold {
    /// Holder that is a task of another tenant, whose name is not told.
    pub const HIDDEN_TASK: &str = "tasks/-";

    fn description(&self, language: Language) -> String {
        let desktop = &self.desktop.to_string();
        let message = match self.holder.as_deref() {
            Some(Self::HIDDEN_TASK) => Message::DesktopHeldByOther { desktop },
            Some(holder) => Message::DesktopHeld { desktop, holder },
            None => Message::DesktopUnavailable { desktop },
        };
        message.text(language)
    }

    fn to_wire(&self) -> wire::DesktopHold {
        wire::DesktopHold {
            desktop: self.desktop.to_string(),
            holder: self.holder.clone().unwrap_or_default(),
        }
    }

    fn from_wire(hold: wire::DesktopHold) -> Result<Self, FieldError> {
        Ok(Self {
            desktop: DesktopName::parse("desktop", &hold.desktop)?,
            holder: Some(hold.holder).filter(|holder| !holder.is_empty()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(desktop: &str, holder: Option<&str>) -> DesktopHold {
        DesktopHold {
            desktop: DesktopName::from_segment(desktop).unwrap(),
            holder: holder.map(str::to_owned),
        }
    }

    #[test]
    fn a_wait_names_the_holders_and_the_place() {
        let check = |holds: Vec<DesktopHold>, expected: &str| {
            let wait = DesktopWait::Queued { position: 2, holds };
            assert_eq!(wait.description(Language::English), expected);
            assert_eq!(DesktopWait::try_from(wait.to_wire(String::new())), Ok(wait));
        };
        check(
            vec![hold("a", Some("tasks/x")), hold("b", None)],
            "waiting for a desktop: desktops/a is held by tasks/x; desktops/b is unreachable or draining; place 2 in the queue",
        );
        check(
            vec![hold("a", Some(DesktopHold::HIDDEN_TASK))],
            "waiting for a desktop: desktops/a is held by a task of another tenant; place 2 in the queue",
        );
        check(
            vec![],
            "waiting for a desktop: no registered desktop matches; place 2 in the queue",
        );
        let wait = DesktopWait::Session {
            task: TaskName::from_segment("a").unwrap(),
        };
        let description = wait.description(Language::English);
        assert_eq!(
            description,
            "waiting for the end of tasks/a, which belongs to the same session"
        );
        assert_eq!(DesktopWait::try_from(wait.to_wire(description)), Ok(wait));
        let wait = DesktopWait::StartTime;
        let description = wait.description(Language::English);
        assert_eq!(description, "waiting for its start time");
        assert_eq!(DesktopWait::try_from(wait.to_wire(description)), Ok(wait));
    }
}
