//! The Executor service: its definition and its types.
//!
//! It contains no implementation of the service.

use std::fmt;
use std::time::{Duration, SystemTime};

use bytes::Bytes;

use super::ResultStream;
use crate::domain::action::{Action, ActionKind, Button};
use crate::domain::desktop::Lease;
use crate::domain::effect::ActionOutcome;
use crate::domain::geometry::CapturePoint;
use crate::domain::id::{ActionId, DesktopEpoch, DisplayId};
use crate::domain::key::Key;
use crate::limits::MAX_MESSAGE_BYTES;
use crate::v1::executor::executor_service_client::ExecutorServiceClient;
use crate::v1::executor::executor_service_server::{ExecutorService, ExecutorServiceServer};

/// Passes the definition of the Executor service to a macro.
#[macro_export]
macro_rules! executor_service {
    ($expand:ident) => {
        $expand! {
            /// Performs input actions. `None` for a display means the default one.
            service Executor in executor {
                proto "motorium.executor.v1.ExecutorService";
                transport {
                    server ExecutorServer(ExecutorService, ExecutorServiceServer, MAX_MESSAGE_BYTES);
                    client ExecutorClient(ExecutorServiceClient, MAX_MESSAGE_BYTES);
                };

                /// Leases a display and issues a new fencing epoch.
                unary recorded fn acquire_desktop(request: AcquireRequest) -> Lease
                    = rpc AcquireDesktop(AcquireDesktopRequest) returns AcquireDesktopResponse;
                /// Renews a lease for another `ttl`.
                unary unrecorded fn renew_lease(request: RenewRequest) -> Lease
                    = rpc RenewLease(RenewLeaseRequest) returns RenewLeaseResponse;
                /// Releases a lease and all pressed keys and buttons.
                unary unrecorded fn release_desktop(request: ReleaseRequest) -> ()
                    = rpc ReleaseDesktop(ReleaseDesktopRequest) returns ReleaseDesktopResponse;
                /// Performs one action at most once. Dropping the future cancels the action; nothing stays pressed.
                unary recorded fn perform(request: PerformRequest) -> ActionOutcome
                    = rpc Perform(PerformRequest) returns PerformResponse;
                /// Looks up the progress of an action, without performing it.
                unary recorded fn look_up_action(request: LookUpRequest) -> ActionProgress
                    = rpc LookUpAction(LookUpActionRequest) returns LookUpActionResponse;
                /// Prevents an action that has not started from ever starting, and returns its progress.
                unary recorded fn fence_action(request: FenceRequest) -> ActionProgress
                    = rpc FenceAction(FenceActionRequest) returns FenceActionResponse;
                /// Cancels the running action and releases all keys and buttons, whose names it returns. `None` for all
                /// displays.
                unary recorded fn release_all(display: Option<DisplayId>) -> Vec<String>
                    = rpc ReleaseAll(ReleaseAllRequest) returns ReleaseAllResponse;
                /// Gets the pointer position.
                unary recorded fn get_pointer(display: Option<DisplayId>) -> CapturePoint
                    = rpc GetPointer(GetPointerRequest) returns GetPointerResponse;
                /// Reads the address and text of the page in front of the browser.
                unary recorded fn read_page(request: ReadPageRequest) -> PageText
                    = rpc ReadPage(ReadPageRequest) returns ReadPageResponse;
                /// Reads the text of the clipboard.
                unary unrecorded fn read_clipboard(request: ReadClipboardRequest) -> ClipboardText
                    = rpc ReadClipboard(ReadClipboardRequest) returns ReadClipboardResponse;
                /// Writes a file into the desktop's folder.
                upload recorded fn put_file(file: PutFile) -> FileInfo
                    = rpc PutFile(PutFileRequest) returns PutFileResponse;
                /// Reads a file from the desktop's folder.
                download recorded fn get_file(request: FileRequest) -> DownloadedFile
                    = rpc GetFile(GetFileRequest) returns GetFileResponse as GetFileStream;
                /// Gets the metadata of a file in the desktop's folder; `None` if there is none.
                unary recorded fn stat_file(request: FileRequest) -> Option<FileInfo>
                    = rpc StatFile(StatFileRequest) returns StatFileResponse;
                /// Deletes what a former holder of leases has left in the desktop's folder.
                unary unrecorded fn delete_files(request: DeleteFilesRequest) -> ()
                    = rpc DeleteFiles(DeleteFilesRequest) returns DeleteFilesResponse;
                /// Gets the supported and allowed actions.
                unary recorded fn get_capabilities(display: Option<DisplayId>) -> Capabilities
                    = rpc GetCapabilities(GetCapabilitiesRequest) returns GetCapabilitiesResponse;
                /// Streams the mouse and keyboard input of a person.
                stream unrecorded fn watch_human_input(display: Option<DisplayId>) -> ResultStream<HumanInput>
                    = rpc WatchHumanInput(WatchHumanInputRequest) returns WatchHumanInputResponse
                        as WatchHumanInputStream;
            }
        }
    };
}

executor_service!(service_trait);
executor_service!(service_server);
executor_service!(service_client);

/// Request of [`Executor::acquire_desktop`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcquireRequest {
    pub display: Option<DisplayId>,
    /// Name of the lease holder. The same holder may acquire the display again.
    pub holder: String,
    pub ttl: Duration,
    /// True to take the display from its current holder.
    pub take_over: bool,
    /// Tenant whose files the desktop's folder has from now on; `None` to leave them as they are.
    pub tenant: Option<String>,
}

impl AcquireRequest {
    /// Default duration of a lease.
    // Holders renew about three times per lease; a longer lease would block a desktop longer after a crash.
    pub const DEFAULT_TTL: Duration = Duration::from_secs(30);
}

/// Request of [`Executor::renew_lease`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenewRequest {
    pub display: DisplayId,
    pub epoch: DesktopEpoch,
    pub ttl: Duration,
}

/// Request of [`Executor::release_desktop`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseRequest {
    pub display: DisplayId,
    pub epoch: DesktopEpoch,
}

/// Request of [`Executor::perform`].
#[derive(Debug, Clone, PartialEq)]
pub struct PerformRequest {
    pub display: DisplayId,
    pub epoch: DesktopEpoch,
    pub action_id: ActionId,
    pub retry_of: Option<ActionId>,
    pub action: Action<CapturePoint>,
    /// Hosts with private addresses that the user named.
    pub named_hosts: Vec<String>,
    /// Name of the principal that created the task; `None` if the caller acts for itself.
    pub creator: Option<String>,
    /// Tenant of the task.
    pub tenant: Option<String>,
    /// Addresses that its text or keys may open in an address bar, by scheme, host and port.
    pub addresses: Vec<String>,
}

/// Request of [`Executor::look_up_action`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookUpRequest {
    pub display: Option<DisplayId>,
    pub action_id: ActionId,
}

/// Request of [`Executor::fence_action`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FenceRequest {
    pub display: DisplayId,
    pub epoch: DesktopEpoch,
    pub action_id: ActionId,
    /// Checkpoint of the lease under which the action was sent; `None` to trust the journal as it is.
    pub journal_checkpoint: Option<String>,
    /// An action of the same lease that was performed before this one; the journal has it unless it is an older copy.
    pub last_action_id: Option<ActionId>,
}

/// Progress of an action.
#[derive(Debug, Clone, PartialEq)]
pub enum ActionProgress {
    /// This Executor never received the action. As the response of [`Executor::fence_action`], it also never starts
    /// later.
    NotStarted,
    /// The action is in progress.
    Running,
    Finished(ActionOutcome),
    /// The action was started and has no recorded end.
    Unknown,
}

/// Request of [`Executor::read_page`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadPageRequest {
    pub display: Option<DisplayId>,
    /// Maximum number of characters of text.
    pub max_characters: usize,
}

/// Address and text of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageText {
    pub url: String,
    pub title: String,
    pub text: String,
    pub truncated: bool,
}

/// Request of [`Executor::read_clipboard`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadClipboardRequest {
    pub display: DisplayId,
    pub epoch: DesktopEpoch,
    /// Read only what was copied since the last keys that may copy.
    pub only_if_copied: bool,
}

/// Text of the clipboard.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ClipboardText {
    /// Empty if there is none, or if it is withheld.
    pub text: String,
    /// True if it may be a secret, or is too long.
    pub withheld: bool,
    /// True if nothing has been copied since the last keys that may copy, and only that was to be read.
    pub not_copied: bool,
}

impl fmt::Debug for ClipboardText {
    // The text is the user's own and must not reach a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClipboardText")
            .field("bytes", &self.text.len())
            .field("withheld", &self.withheld)
            .field("not_copied", &self.not_copied)
            .finish()
    }
}

/// A file to write to a desktop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutFile {
    pub display: Option<DisplayId>,
    pub epoch: DesktopEpoch,
    /// File name without a path.
    pub name: String,
    pub overwrite: bool,
    pub content: Bytes,
}

/// Request of [`Executor::get_file`] and [`Executor::stat_file`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRequest {
    pub display: Option<DisplayId>,
    /// File name without a path.
    pub name: String,
    /// Epoch of the lease; `None` from an administrator of the deployment.
    pub epoch: Option<DesktopEpoch>,
}

/// Request of [`Executor::delete_files`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteFilesRequest {
    pub display: Option<DisplayId>,
    /// Name of the holder of the leases in which the files came.
    pub holder: String,
    /// Tenant of the files; `None` for the default one.
    pub tenant: Option<String>,
}

/// A file that was read from a desktop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadedFile {
    pub info: FileInfo,
    pub content: Bytes,
}

/// Metadata of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInfo {
    pub name: String,
    pub size_bytes: u64,
    pub modified_at: SystemTime,
    pub sha256: [u8; 32],
    /// Path of the file, as applications on the desktop see it.
    pub path: String,
}

/// Supported and allowed actions of an Executor.
#[derive(Debug, Clone, PartialEq)]
pub struct Capabilities {
    pub driver: String,
    pub action_kinds: Vec<ActionKind>,
    pub applications: Vec<String>,
    pub url_patterns: Vec<String>,
    pub forbidden_chords: Vec<String>,
    /// `None` for no limit.
    pub max_actions_per_second: Option<f64>,
    /// Names of secrets, never their values.
    pub secrets: Vec<String>,
    /// Known limitations of the driver.
    pub limitations: Vec<String>,
    /// Folder of the desktop's files, as applications see it; empty if it is not known.
    pub files_folder: String,
}

/// An input of a person.
#[derive(Debug, Clone, PartialEq)]
pub struct HumanInput {
    pub at: SystemTime,
    pub kind: HumanInputKind,
}

/// Kind of an input of a person. Typed text is counted, never reported.
#[derive(Debug, Clone, PartialEq)]
pub enum HumanInputKind {
    Click { at: CapturePoint, button: Button },
    Typing { characters: u32 },
    Chord { keys: Vec<Key> },
    Scroll { at: CapturePoint, x: i32, y: i32 },
    Move { to: CapturePoint },
}
