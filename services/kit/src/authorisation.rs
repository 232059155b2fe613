//! The roles that may call each method of Motorium's services: the one place that says who may do what.
//!
//! A method without a line is not served, whatever the caller's roles are. Health checks and reflection are not listed: the
//! former need no caller, the latter any. What belongs to a tenant, and what the policy allows, is decided by the services.
//! Services that know no tenants are only for other services and for administrators of the deployment.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use motorium_proto::error::{ErrorReport, reason};
use tonic::Code;

use crate::principal::{Principal, Role};

/// A service with its methods, and the roles of which callers need one.
pub type ServiceRoles = (&'static str, &'static [(&'static str, &'static [Role])]);

/// Reads what belongs to the caller's tenant.
const READ: &[Role] = &[
    Role::Viewer,
    Role::Operator,
    Role::Approver,
    Role::Author,
    Role::Admin,
];
/// Creates tasks and what they need.
const CREATE: &[Role] = &[Role::Author];
/// Steers tasks.
const STEER: &[Role] = &[Role::Author, Role::Operator];
/// Ends tasks, which must be possible for all who can see that one goes wrong.
const STOP: &[Role] = &[Role::Author, Role::Operator, Role::Admin];
/// Deletes what was stored. Not for operators: what they have done stays on record.
const DELETE: &[Role] = &[Role::Author, Role::Admin];
/// Uses the mouse and the keyboard of a desktop as a person.
const ACT: &[Role] = &[Role::Operator];
/// Hands a desktop back. Administrators do so for a person who has gone.
const HAND_BACK: &[Role] = &[Role::Operator, Role::Admin];
/// Approves actions. Not for authors: their tasks ask for it.
const APPROVE: &[Role] = &[Role::Approver];
/// Changes the installation.
const ADMINISTER: &[Role] = &[Role::Admin];
/// Calls of services while they run tasks.
const SERVE: &[Role] = &[Role::Service];
/// Calls of services, and of administrators of the deployment without a task. Not for operators: their tenant may have no task
/// on the desktop, and another tenant's may run there.
const USE_DESKTOP: &[Role] = &[Role::Service, Role::Admin];
/// Services that know no tenants. The administrator of one tenant has no right to call them.
const WITHOUT_TENANTS: [&str; 3] = [
    "/motorium.perception.v1.PerceptionService/",
    "/motorium.planner.v1.PlannerService/",
    "/motorium.executor.v1.ExecutorService/",
];

/// The table.
pub const MOTORIUM: &[ServiceRoles] = &[
    (
        "motorium.orchestrator.v1.OrchestratorService",
        &[
            ("CreateTask", CREATE),
            ("GetTask", READ),
            ("ListTasks", READ),
            ("WatchTask", READ),
            ("WatchSession", READ),
            ("CancelTask", STOP),
            ("PauseTask", STOP),
            ("ResumeTask", STEER),
            ("DeleteTask", DELETE),
            ("SendMessage", STEER),
            ("UploadFile", CREATE),
            ("AcknowledgeUserAction", ACT),
            ("TakeOver", ACT),
            ("HandBack", HAND_BACK),
            ("OperateDesktop", ACT),
            ("WatchScreen", READ),
            ("ListSteps", READ),
            ("GetArtifact", READ),
            ("ExportTrajectory", READ),
            ("ListApprovals", READ),
            ("ResolveApproval", APPROVE),
            ("GetPolicy", READ),
            ("TestPolicy", READ),
            ("GetCaller", READ),
            ("CreateSession", CREATE),
            ("GetSession", READ),
            ("ListSessions", READ),
            ("DeleteSession", DELETE),
            ("ExportSession", READ),
            ("RegisterDesktop", ADMINISTER),
            ("UnregisterDesktop", ADMINISTER),
            ("ListDesktops", READ),
            ("DrainDesktop", ADMINISTER),
        ],
    ),
    (
        // It knows no tenants, so viewers see screens through the Orchestrator: `WatchScreen`.
        "motorium.perception.v1.PerceptionService",
        &[
            ("ListDisplays", USE_DESKTOP),
            ("Capture", USE_DESKTOP),
            ("Observe", USE_DESKTOP),
            ("Parse", USE_DESKTOP),
            ("Compare", USE_DESKTOP),
            ("WaitForIdle", USE_DESKTOP),
            ("StreamFrames", USE_DESKTOP),
            ("MarkInput", USE_DESKTOP),
            ("GetFrame", USE_DESKTOP),
        ],
    ),
    (
        "motorium.planner.v1.PlannerService",
        &[
            ("Plan", SERVE),
            ("Summarize", SERVE),
            ("Extract", SERVE),
            ("LocatePointer", SERVE),
            ("ResolveTarget", SERVE),
            ("ListBackends", &[Role::Service, Role::Admin]),
        ],
    ),
    (
        "motorium.executor.v1.ExecutorService",
        &[
            ("AcquireDesktop", USE_DESKTOP),
            ("RenewLease", USE_DESKTOP),
            ("ReleaseDesktop", USE_DESKTOP),
            ("Perform", USE_DESKTOP),
            ("LookUpAction", USE_DESKTOP),
            ("FenceAction", USE_DESKTOP),
            ("ReleaseAll", USE_DESKTOP),
            ("GetPointer", USE_DESKTOP),
            ("ReadPage", USE_DESKTOP),
            ("ReadClipboard", USE_DESKTOP),
            ("PutFile", USE_DESKTOP),
            ("GetFile", USE_DESKTOP),
            ("StatFile", USE_DESKTOP),
            ("DeleteFiles", USE_DESKTOP),
            ("GetCapabilities", USE_DESKTOP),
            ("WatchHumanInput", USE_DESKTOP),
        ],
    ),
    (
        "motorium.hook.v1.HookService",
        &[("DescribeHook", SERVE), ("CallHook", SERVE)],
    ),
    (
        "motorium.tool.v1.ToolService",
        &[("ListFunctions", SERVE), ("Invoke", SERVE)],
    ),
];

/// Roles by the path of a method. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AuthorisationTable(Arc<HashMap<String, &'static [Role]>>);

impl AuthorisationTable {
    /// Returns the table of Motorium's services.
    #[must_use]
    pub fn motorium() -> Self {
        static TABLE: LazyLock<AuthorisationTable> =
            LazyLock::new(|| AuthorisationTable::of(MOTORIUM));

        TABLE.clone()
    }

    /// Creates a table.
    #[must_use]
    pub fn of(services: &[ServiceRoles]) -> Self {
        let lines = services.iter().flat_map(|(service, methods)| {
            let methods = methods.iter();
            methods.map(move |(method, roles)| (format!("/{service}/{method}"), *roles))
        });
        Self(Arc::new(lines.collect()))
    }

    /// Returns true if the method at this path has a line.
    pub(crate) fn lists(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// Refuses a call for which the caller has no role.
    ///
    /// # Errors
    /// `ROLE_MISSING`, or `NOT_SERVED` for a method without a line.
    pub(crate) fn check(&self, path: &str, caller: &Principal) -> Result<(), ErrorReport> {
        let Some(roles) = self.0.get(path) else {
            let text = format!(
                "{path} is not served here; list the services of this server with reflection"
            );
            let report = ErrorReport::new(Code::Unimplemented, reason::NOT_SERVED, text);
            return Err(report.with("method", path));
        };
        let knows_tenants = !WITHOUT_TENANTS
            .iter()
            .any(|service| path.starts_with(service));
        let counts = |role: &Role| match role {
            Role::Admin => knows_tenants || caller.is_deployment_admin(),
            _ => true,
        };
        if roles.iter().any(|role| caller.has(*role) && counts(role)) {
            return Ok(());
        }
        let name_of = |role: &Role| match role {
            Role::Admin if !knows_tenants => "admin of the tenant `default`",
            role => role.name(),
        };
        let needed: Vec<&str> = roles.iter().map(name_of).collect();
        let (needed, name) = (needed.join(" or "), caller.name());
        let text = format!(
            "`{name}` may not call {path}: it needs the role {needed}; an administrator can give it to `{name}`"
        );
        let report = ErrorReport::new(Code::PermissionDenied, reason::ROLE_MISSING, text);
        Err(report.with("method", path).with("roles", needed))
    }
}
