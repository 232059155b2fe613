//! Conversion of the requests and responses of the Executor, and of the files that it transfers.
//!
//! It does not enforce limits of the desktop or of the policy: the Executor does.

use bytes::Bytes;

use super::action::{button, key_names, keys};
use super::{display_name, non_empty, require, required_enum, sha256, time, wire_time};
use crate::domain::action::ActionKind;
use crate::domain::desktop::Lease;
use crate::domain::effect::ActionOutcome;
use crate::domain::geometry::CapturePoint;
use crate::domain::id::{ActionId, DesktopEpoch, DisplayId};
use crate::error::FieldError;
use crate::service::{
    AcquireRequest, ActionProgress, Capabilities, Chunked, ClipboardText, DeleteFilesRequest,
    DownloadedFile, FenceRequest, FileInfo, FileRequest, HumanInput, HumanInputKind, LookUpRequest,
    PageText, Part, PerformRequest, PutFile, ReadClipboardRequest, ReadPageRequest, ReleaseRequest,
    RenewRequest,
};
use crate::v1::common as common_wire;
use crate::v1::executor as wire;

/// Default of `max_characters`, as documented in the contract.
const DEFAULT_PAGE_CHARACTERS: usize = 100_000;

/// Implements both conversions of requests that only name a display.
macro_rules! display_requests {
    ($($message:ident),+) => { $(
        impl TryFrom<wire::$message> for Option<DisplayId> {
            type Error = FieldError;

            fn try_from(request: wire::$message) -> Result<Self, FieldError> {
                Ok(non_empty(request.display).map(DisplayId::new))
            }
        }

        impl From<Option<DisplayId>> for wire::$message {
            fn from(display: Option<DisplayId>) -> Self {
                Self {
                    display: display_name(display),
                }
            }
        }
    )+ };
}

display_requests!(
    ReleaseAllRequest,
    GetPointerRequest,
    GetCapabilitiesRequest,
    WatchHumanInputRequest
);

one_field_messages! {
    required RenewLeaseResponse.lease: Lease;
    required PerformResponse.outcome: ActionOutcome;
    required GetPointerResponse.pointer: CapturePoint;
    required PutFileResponse.file: FileInfo;
    optional StatFileResponse.file: Option<FileInfo>;
}

impl TryFrom<wire::AcquireDesktopResponse> for Lease {
    type Error = FieldError;

    fn try_from(response: wire::AcquireDesktopResponse) -> Result<Self, FieldError> {
        let lease: Lease = require("lease", response.lease)?;
        Ok(Self {
            journal_checkpoint: non_empty(response.journal_checkpoint),
            ..lease
        })
    }
}

impl From<Lease> for wire::AcquireDesktopResponse {
    fn from(lease: Lease) -> Self {
        Self {
            journal_checkpoint: lease.journal_checkpoint.clone().unwrap_or_default(),
            lease: Some(lease.into()),
        }
    }
}

impl TryFrom<wire::ReleaseDesktopResponse> for () {
    type Error = FieldError;

    fn try_from(_: wire::ReleaseDesktopResponse) -> Result<Self, FieldError> {
        Ok(())
    }
}

impl From<()> for wire::ReleaseDesktopResponse {
    fn from((): ()) -> Self {
        Self {}
    }
}

impl TryFrom<wire::DeleteFilesResponse> for () {
    type Error = FieldError;

    fn try_from(_: wire::DeleteFilesResponse) -> Result<Self, FieldError> {
        Ok(())
    }
}

impl From<()> for wire::DeleteFilesResponse {
    fn from((): ()) -> Self {
        Self {}
    }
}

impl TryFrom<wire::ReleaseAllResponse> for Vec<String> {
    type Error = FieldError;

    fn try_from(response: wire::ReleaseAllResponse) -> Result<Self, FieldError> {
        Ok(response.released)
    }
}

impl From<Vec<String>> for wire::ReleaseAllResponse {
    fn from(released: Vec<String>) -> Self {
        Self { released }
    }
}

conversions! {
    wire::AcquireDesktopRequest => AcquireRequest {
        display: optional_id(DisplayId),
        holder: required_text,
        ttl: duration_or(AcquireRequest::DEFAULT_TTL),
        take_over: same,
        tenant: text,
    }

    wire::RenewLeaseRequest => RenewRequest {
        display: required_id(DisplayId),
        epoch: number(DesktopEpoch),
        ttl: duration_or(AcquireRequest::DEFAULT_TTL),
    }

    wire::ReleaseDesktopRequest => ReleaseRequest {
        display: required_id(DisplayId),
        epoch: number(DesktopEpoch),
    }

    wire::PerformRequest => PerformRequest {
        display: required_id(DisplayId),
        epoch: number(DesktopEpoch),
        action_id: required_id(ActionId),
        retry_of: optional_id(ActionId),
        action: required,
        named_hosts: same,
        creator: text,
        tenant: text,
        addresses: same,
    }

    wire::LookUpActionRequest => LookUpRequest {
        display: optional_id(DisplayId),
        action_id: required_id(ActionId),
    }

    wire::FenceActionRequest => FenceRequest {
        display: required_id(DisplayId),
        epoch: number(DesktopEpoch),
        action_id: required_id(ActionId),
        journal_checkpoint: text,
        last_action_id: optional_id(ActionId),
    }

    wire::ReadPageResponse => PageText {
        url: same,
        title: same,
        text: same,
        truncated: same,
    }

    wire::ReadClipboardRequest => ReadClipboardRequest {
        display: required_id(DisplayId),
        epoch: number(DesktopEpoch),
        only_if_copied: same,
    }

    wire::ReadClipboardResponse => ClipboardText {
        text: same,
        withheld: same,
        not_copied: same,
    }

    wire::GetFileRequest => FileRequest {
        display: optional_id(DisplayId),
        name: same,
        epoch: optional_number(DesktopEpoch),
    }

    wire::DeleteFilesRequest => DeleteFilesRequest {
        display: optional_id(DisplayId),
        holder: required_text,
        tenant: text,
    }

    wire::StatFileRequest => FileRequest {
        display: optional_id(DisplayId),
        name: same,
        epoch: optional_number(DesktopEpoch),
    }
}

impl TryFrom<wire::ReadPageRequest> for ReadPageRequest {
    type Error = FieldError;

    fn try_from(request: wire::ReadPageRequest) -> Result<Self, FieldError> {
        let max_characters = match request.max_characters {
            0 => DEFAULT_PAGE_CHARACTERS,
            some => some as usize,
        };
        Ok(Self {
            display: non_empty(request.display).map(DisplayId::new),
            max_characters,
        })
    }
}

impl From<ReadPageRequest> for wire::ReadPageRequest {
    fn from(request: ReadPageRequest) -> Self {
        Self {
            display: display_name(request.display),
            max_characters: u32::try_from(request.max_characters).unwrap_or(u32::MAX),
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

impl Chunked for PutFile {
    type Message = wire::PutFileRequest;
    type Header = wire::PutFileHeader;
    const HEADER_FIELD: &'static str = "header";

    fn split(self) -> (wire::PutFileHeader, Bytes) {
        let header = wire::PutFileHeader {
            display: display_name(self.display),
            epoch: self.epoch.0,
            name: self.name,
            overwrite: self.overwrite,
        };
        (header, self.content)
    }

    fn join(header: wire::PutFileHeader, content: Bytes) -> Result<Self, FieldError> {
        Ok(Self {
            display: non_empty(header.display).map(DisplayId::new),
            epoch: DesktopEpoch(header.epoch),
            name: header.name,
            overwrite: header.overwrite,
            content,
        })
    }

    fn message(part: Part<wire::PutFileHeader>) -> wire::PutFileRequest {
        use wire::put_file_request::Part as Wire;

        let part = match part {
            Part::Header(header) => Wire::Header(header),
            Part::Chunk(chunk) => Wire::Chunk(chunk),
        };
        wire::PutFileRequest { part: Some(part) }
    }

    fn part(message: wire::PutFileRequest) -> Option<Part<wire::PutFileHeader>> {
        use wire::put_file_request::Part as Wire;

        message.part.map(|part| match part {
            Wire::Header(header) => Part::Header(header),
            Wire::Chunk(chunk) => Part::Chunk(chunk),
        })
    }
}

impl Chunked for DownloadedFile {
    type Message = wire::GetFileResponse;
    type Header = wire::FileInfo;
    const HEADER_FIELD: &'static str = "file";

    fn split(self) -> (wire::FileInfo, Bytes) {
        (self.info.into(), self.content)
    }

    fn join(header: wire::FileInfo, content: Bytes) -> Result<Self, FieldError> {
        Ok(Self {
            info: header.try_into()?,
            content,
        })
    }

    fn message(part: Part<wire::FileInfo>) -> wire::GetFileResponse {
        use wire::get_file_response::Part as Wire;

        let part = match part {
            Part::Header(info) => Wire::File(info),
            Part::Chunk(chunk) => Wire::Chunk(chunk),
        };
        wire::GetFileResponse { part: Some(part) }
    }

    fn part(message: wire::GetFileResponse) -> Option<Part<wire::FileInfo>> {
        use wire::get_file_response::Part as Wire;

        Some(match message.part {
            Some(Wire::File(info)) => Part::Header(info),
            Some(Wire::Chunk(chunk)) => Part::Chunk(chunk),
            // Skips parts that only a newer Executor knows.
            None => Part::Chunk(Bytes::new()),
        })
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
            // Zero stands for no limit. An invalid negative value is treated alike.
            max_actions_per_second: (response.max_actions_per_second > 0.0)
                .then_some(response.max_actions_per_second),
            secrets: response.secrets,
            limitations: response.limitations,
            files_folder: response.files_folder,
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
            files_folder: capabilities.files_folder,
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

/// Converts the progress in a response to [`ActionProgress`] and back. The responses differ in the name of an action that has not
/// started.
macro_rules! progress_conversions {
    ($response:ident, $module:ident, $not_started:ident) => {
        impl TryFrom<wire::$response> for ActionProgress {
            type Error = FieldError;

            fn try_from(response: wire::$response) -> Result<Self, FieldError> {
                use wire::$module::Progress;

                let progress =
                    required_enum("progress", response.progress, |progress| match progress {
                        Progress::Unspecified => None,
                        other => Some(other),
                    })?;
                Ok(match progress {
                    Progress::$not_started => Self::NotStarted,
                    Progress::Running => Self::Running,
                    Progress::Finished => Self::Finished(require("outcome", response.outcome)?),
                    Progress::Unknown | Progress::Unspecified => Self::Unknown,
                })
            }
        }

        impl From<ActionProgress> for wire::$response {
            fn from(progress: ActionProgress) -> Self {
                use wire::$module::Progress;

                let (progress, outcome) = match progress {
                    ActionProgress::NotStarted => (Progress::$not_started, None),
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
    };
}

progress_conversions!(LookUpActionResponse, look_up_action_response, NotStarted);
progress_conversions!(FenceActionResponse, fence_action_response, Fenced);
