use super::action::{button, key_names, keys};
use super::{non_empty, require, required_enum, sha256, time, wire_time};
use crate::domain::action::ActionKind;
use crate::domain::id::{ActionId, DesktopEpoch, DisplayId};
use crate::error::FieldError;
use crate::service::{
    ActionProgress, Capabilities, FileInfo, HumanInput, HumanInputKind, PageText, PerformRequest,
};
use crate::v1::common as common_wire;
use crate::v1::executor as wire;

impl TryFrom<wire::PerformRequest> for PerformRequest {
    type Error = FieldError;

    fn try_from(request: wire::PerformRequest) -> Result<Self, FieldError> {
        let display = non_empty(request.display).ok_or_else(|| FieldError::missing("display"))?;
        let action_id =
            non_empty(request.action_id).ok_or_else(|| FieldError::missing("action_id"))?;
        Ok(Self {
            display: DisplayId::new(display),
            epoch: DesktopEpoch(request.epoch),
            action_id: ActionId::new(action_id),
            retry_of: non_empty(request.retry_of).map(ActionId::new),
            action: require("action", request.action)?,
        })
    }
}

impl From<PerformRequest> for wire::PerformRequest {
    fn from(request: PerformRequest) -> Self {
        Self {
            display: request.display.as_str().to_owned(),
            epoch: request.epoch.0,
            action_id: request.action_id.as_str().to_owned(),
            retry_of: request
                .retry_of
                .map(|id| id.as_str().to_owned())
                .unwrap_or_default(),
            action: Some(request.action.into()),
        }
    }
}

impl TryFrom<wire::ReadPageResponse> for PageText {
    type Error = FieldError;

    fn try_from(page: wire::ReadPageResponse) -> Result<Self, FieldError> {
        Ok(Self {
            url: page.url,
            title: page.title,
            text: page.text,
            truncated: page.truncated,
        })
    }
}

impl From<PageText> for wire::ReadPageResponse {
    fn from(page: PageText) -> Self {
        Self {
            url: page.url,
            title: page.title,
            text: page.text,
            truncated: page.truncated,
        }
    }
}

impl TryFrom<wire::FileInfo> for FileInfo {
    type Error = FieldError;

    fn try_from(file: wire::FileInfo) -> Result<Self, FieldError> {
        Ok(Self {
            name: file.name,
            size_bytes: file.size_bytes,
            modified_at: time("modify_time", file.modify_time)?,
            sha256: sha256("sha256", &file.sha256)?,
            path: file.path,
        })
    }
}

impl From<FileInfo> for wire::FileInfo {
    fn from(file: FileInfo) -> Self {
        Self {
            name: file.name,
            size_bytes: file.size_bytes,
            modify_time: Some(wire_time(file.modified_at)),
            sha256: file.sha256.to_vec().into(),
            path: file.path,
        }
    }
}

impl TryFrom<wire::GetCapabilitiesResponse> for Capabilities {
    type Error = FieldError;

    fn try_from(response: wire::GetCapabilitiesResponse) -> Result<Self, FieldError> {
        // Skips kinds that only a newer Executor knows: this side cannot request them.
        let action_kinds = response
            .action_kinds
            .iter()
            .filter_map(|name| ActionKind::from_name(name))
            .collect();
        Ok(Self {
            driver: response.driver,
            action_kinds,
            applications: response.applications,
            url_patterns: response.url_patterns,
            forbidden_chords: response.forbidden_chords,
            max_actions_per_second: (response.max_actions_per_second > 0.0)
                .then_some(response.max_actions_per_second),
            secrets: response.secrets,
            limitations: response.limitations,
        })
    }
}

impl From<Capabilities> for wire::GetCapabilitiesResponse {
    fn from(capabilities: Capabilities) -> Self {
        Self {
            driver: capabilities.driver,
            action_kinds: capabilities
                .action_kinds
                .iter()
                .map(ToString::to_string)
                .collect(),
            applications: capabilities.applications,
            url_patterns: capabilities.url_patterns,
            forbidden_chords: capabilities.forbidden_chords,
            max_actions_per_second: capabilities.max_actions_per_second.unwrap_or_default(),
            secrets: capabilities.secrets,
            limitations: capabilities.limitations,
        }
    }
}

impl TryFrom<wire::WatchHumanInputResponse> for HumanInput {
    type Error = FieldError;

    fn try_from(response: wire::WatchHumanInputResponse) -> Result<Self, FieldError> {
        use wire::watch_human_input_response::Input;

        let kind = match response.input {
            Some(Input::Click(click)) => HumanInputKind::Click {
                at: require("click.at", click.at)?,
                button: button(click.button)?,
            },
            Some(Input::Typing(typing)) => HumanInputKind::Typing {
                characters: typing.characters,
            },
            Some(Input::Chord(chord)) => HumanInputKind::Chord {
                keys: keys("chord.keys", &chord.keys)?,
            },
            Some(Input::Scroll(scroll)) => HumanInputKind::Scroll {
                at: require("scroll.at", scroll.at)?,
                x: scroll.x,
                y: scroll.y,
            },
            Some(Input::Move(moved)) => HumanInputKind::Move {
                to: require("move.to", moved.to)?,
            },
            None => return Err(FieldError::missing("input")),
        };
        Ok(Self {
            at: time("time", response.time)?,
            kind,
        })
    }
}

impl From<HumanInput> for wire::WatchHumanInputResponse {
    fn from(input: HumanInput) -> Self {
        use wire::watch_human_input_response::Input;

        let kind = match input.kind {
            HumanInputKind::Click { at, button } => Input::Click(wire::HumanClick {
                at: Some(at.into()),
                button: common_wire::Button::from(button).into(),
            }),
            HumanInputKind::Typing { characters } => {
                Input::Typing(wire::HumanTyping { characters })
            }
            HumanInputKind::Chord { keys } => Input::Chord(wire::HumanChord {
                keys: key_names(&keys),
            }),
            HumanInputKind::Scroll { at, x, y } => Input::Scroll(wire::HumanScroll {
                at: Some(at.into()),
                x,
                y,
            }),
            HumanInputKind::Move { to } => Input::Move(wire::HumanMove {
                to: Some(to.into()),
            }),
        };
        Self {
            time: Some(wire_time(input.at)),
            input: Some(kind),
        }
    }
}

impl TryFrom<wire::LookUpActionResponse> for ActionProgress {
    type Error = FieldError;

    fn try_from(response: wire::LookUpActionResponse) -> Result<Self, FieldError> {
        use wire::look_up_action_response::Progress;

        let progress = required_enum("progress", response.progress, |progress| match progress {
            Progress::Unspecified => None,
            other => Some(other),
        })?;
        Ok(match progress {
            Progress::NotStarted => Self::NotStarted,
            Progress::Running => Self::Running,
            Progress::Finished => Self::Finished(require("outcome", response.outcome)?),
            Progress::Unknown | Progress::Unspecified => Self::Unknown,
        })
    }
}

impl From<ActionProgress> for wire::LookUpActionResponse {
    fn from(progress: ActionProgress) -> Self {
        use wire::look_up_action_response::Progress;

        let (progress, outcome) = match progress {
            ActionProgress::NotStarted => (Progress::NotStarted, None),
            ActionProgress::Running => (Progress::Running, None),
            ActionProgress::Finished(outcome) => (Progress::Finished, Some(outcome.into())),
            ActionProgress::Unknown => (Progress::Unknown, None),
        };
        Self {
            progress: progress.into(),
            outcome,
        }
    }
}
