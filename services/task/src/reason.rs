//! Error reasons of the Orchestrator, for rejected calls and failed tasks. Each has a page in `docs/errors/`.

pub use motorium_proto::error::reason::APPROVAL_ENDED;

pub const TASK_ENDED: &str = "TASK_ENDED";
pub const WRONG_STATE: &str = "WRONG_STATE";
pub const DESKTOP_NOT_FOUND: &str = "DESKTOP_NOT_FOUND";
pub const SESSION_NOT_FOUND: &str = "SESSION_NOT_FOUND";
pub const ARTIFACT_NOT_FOUND: &str = "ARTIFACT_NOT_FOUND";
pub const APPROVAL_NOT_FOUND: &str = "APPROVAL_NOT_FOUND";
pub const EVENT_LOG_CORRUPT: &str = "EVENT_LOG_CORRUPT";
pub const EXPORT_FAILED: &str = "EXPORT_FAILED";
pub const RECORDING_UNREADABLE: &str = "RECORDING_UNREADABLE";

pub const TIME_LIMIT: &str = "TIME_LIMIT";
pub const STEP_LIMIT: &str = "STEP_LIMIT";
pub const TOKEN_LIMIT: &str = "TOKEN_LIMIT";
pub const COST_LIMIT: &str = "COST_LIMIT";
pub const RISK_LIMIT: &str = "RISK_LIMIT";
pub const PLANNER_GAVE_UP: &str = "PLANNER_GAVE_UP";
pub const EXPECTATION_NOT_MET: &str = "EXPECTATION_NOT_MET";
pub const BACKEND_NOT_FOUND: &str = "BACKEND_NOT_FOUND";
pub const TOOL_NOT_FOUND: &str = "TOOL_NOT_FOUND";
pub const TOOL_UNREACHABLE: &str = "TOOL_UNREACHABLE";
pub const TOOL_UNUSABLE: &str = "TOOL_UNUSABLE";
pub const HOOK_DENIED: &str = "HOOK_DENIED";
pub const HOOK_FAILED: &str = "HOOK_FAILED";

/// All reasons of this module.
pub const ALL: &[&str] = &[
    TASK_ENDED,
    WRONG_STATE,
    DESKTOP_NOT_FOUND,
    SESSION_NOT_FOUND,
    ARTIFACT_NOT_FOUND,
    APPROVAL_NOT_FOUND,
    APPROVAL_ENDED,
    EVENT_LOG_CORRUPT,
    EXPORT_FAILED,
    RECORDING_UNREADABLE,
    TIME_LIMIT,
    STEP_LIMIT,
    TOKEN_LIMIT,
    COST_LIMIT,
    RISK_LIMIT,
    PLANNER_GAVE_UP,
    EXPECTATION_NOT_MET,
    BACKEND_NOT_FOUND,
    TOOL_NOT_FOUND,
    TOOL_UNREACHABLE,
    TOOL_UNUSABLE,
    HOOK_DENIED,
    HOOK_FAILED,
];
