//! Callers with names at the door of a desktop: who comes in, what is recorded of them, and whose files they read.
//!
//! They attack over real connections to a server with a callers file, as a deployment of several tenants has it.

use std::path::PathBuf;
use std::sync::Arc;

use motorium_executor::desktop::Desktop;
use motorium_executor::drivers::recording::{self, RecordingDriver};
use motorium_executor::error::reason;
use motorium_executor::{ExecutorService, InProcessExecutor};
use motorium_kit::authorisation::MOTORIUM;
use motorium_kit::callers::CallersFile;
use motorium_kit::client::{self, Channel};
use motorium_kit::config::Secret;
use motorium_kit::principal::Principal;
use motorium_kit::server::{Builder, Config, RunningServer};
use motorium_kit::shutdown::Shutdown;
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::domain::geometry::CaptureSize;
use motorium_proto::domain::id::{DesktopEpoch, DisplayId};
use motorium_proto::error::{ErrorReport, reason as common};
use motorium_proto::service::{
    AcquireRequest, DeleteFilesRequest, Executor, ExecutorClient, ExecutorServer, FileRequest,
    PerformRequest, PutFile, ReleaseRequest,
};
use motorium_store::Durability;
use motorium_store::audit::{self, AuditLog};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

use crate::{TTL, check_reason, parts, request, type_text};

/// Services that know no tenants.
const SHARED: [&str; 3] = [
    "motorium.perception.v1.PerceptionService",
    "motorium.planner.v1.PlannerService",
    "motorium.executor.v1.ExecutorService",
];
/// Name, tenant and role of each caller.
const CALLERS: [(&str, &str, &str); 8] = [
    ("viewer", "acme", "viewer"),
    ("author", "acme", "author"),
    ("approver", "acme", "approver"),
    ("operator", "acme", "operator"),
    ("operator-of-all", "default", "operator"),
    ("tenant-admin", "acme", "admin"),
    ("deployment-admin", "default", "admin"),
    ("orchestrator", "default", "service"),
];

/// A desktop that is served to callers with names.
struct Served {
    server: RunningServer,
    driver: Arc<RecordingDriver>,
    home: tempfile::TempDir,
}

impl Served {
    async fn start() -> Self {
        use std::os::unix::fs::PermissionsExt as _;

        let home = tempfile::tempdir().unwrap();
        let callers = home.path().join("callers.toml");
        let entries = CALLERS.map(|(name, tenant, role)| {
            let token = token(name);
            format!(
                "[[caller]]\nname = '{name}'\ntenant = '{tenant}'\nroles = ['{role}']\ntoken = '{token}'\n"
            )
        });
        std::fs::write(&callers, entries.concat()).unwrap();
        std::fs::set_permissions(&callers, std::fs::Permissions::from_mode(0o600)).unwrap();
        let options = recording::Options::of_size(CaptureSize::new(1000, 1000));
        let driver = Arc::new(RecordingDriver::start(options).unwrap());
        let desktop = Desktop::start(parts(home.path(), driver.clone())).await;
        let log = AuditLog::open(&home.path().join("audit"), Durability::Normal).unwrap();
        let service = ExecutorService::new(vec![desktop.unwrap()]).audited(log);
        let config = Config {
            callers: Some(CallersFile::load(&callers).unwrap()),
            ..Config::loopback()
        };
        let server = Builder::new(config)
            .service(
                ExecutorServer::tonic(Arc::new(service)),
                FILE_DESCRIPTOR_SET,
            )
            .start(&Shutdown::new())
            .await;
        Self {
            server: server.unwrap(),
            driver,
            home,
        }
    }

    fn channel(&self, caller: &str) -> Channel {
        let config = client::Config {
            token: Some(Secret::new(token(caller).as_str())),
            ..client::Config::new(format!("http://{}", self.server.local_address()))
        };
        Channel::connect_lazy(&config).unwrap()
    }

    fn executor(&self, caller: &str) -> impl Executor + use<> {
        ExecutorClient::new(self.channel(caller))
    }

    fn audit_folder(&self) -> PathBuf {
        self.home.path().join("audit")
    }

    /// Returns the caller, the call, the phase, the resource, the kind and the outcome of each record.
    fn records(&self) -> Vec<String> {
        audit::verify(&self.audit_folder(), None).unwrap();
        let mut text = Vec::new();
        audit::export(&self.audit_folder(), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let record = |line: &str| {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            let fields = ["principal", "what", "phase", "resource", "kind", "outcome"];
            let fields = fields.map(|field| record[field].as_str().unwrap_or_default().to_owned());
            fields.join(" ").trim_end().to_owned()
        };
        text.lines().map(record).collect()
    }
}

fn token(caller: &str) -> String {
    format!("{caller}-0123456789-0123456789")
}

async fn acquire(executor: &dyn Executor, holder: &str) -> Result<DesktopEpoch, ErrorReport> {
    acquire_for(executor, holder, None).await
}

async fn acquire_for(
    executor: &dyn Executor,
    holder: &str,
    tenant: Option<&str>,
) -> Result<DesktopEpoch, ErrorReport> {
    let request = AcquireRequest {
        display: None,
        holder: holder.to_owned(),
        ttl: TTL,
        take_over: true,
        tenant: tenant.map(str::to_owned),
    };
    Ok(executor.acquire_desktop(request).await?.epoch)
}

/// Calls a method with an empty message.
async fn call(channel: Channel, path: String) -> Result<(), Status> {
    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await.unwrap();
    let path = path.parse().unwrap();
    let codec = ProstCodec::<(), ()>::default();
    grpc.unary(Request::new(()), path, codec).await.map(drop)
}

#[tokio::test]
async fn only_services_and_the_deployments_admin_reach_a_desktop() {
    let served = Served::start().await;
    for (caller, tenant, role) in CALLERS {
        let is_admitted = role == "service" || (role == "admin" && tenant == "default");
        for (service, methods) in MOTORIUM {
            if !SHARED.contains(service) {
                continue;
            }
            for (method, roles) in *methods {
                let called = call(served.channel(caller), format!("/{service}/{method}")).await;
                let report = called.err().map(|status| ErrorReport::from_status(&status));
                let reason = report.map_or_else(String::new, |report| report.reason);
                let is_for_services = role == "admin" && roles.len() == 1;
                let is_refused = !is_admitted || is_for_services;
                assert_eq!(
                    reason == common::ROLE_MISSING,
                    is_refused,
                    "{caller} {service}/{method}: {reason}"
                );
            }
        }
    }
    assert_eq!(served.driver.actions(), []);
    // The emergency stop, and nothing else, is what the calls with empty messages could do.
    let refused = acquire(&served.executor("operator"), "me")
        .await
        .unwrap_err();
    assert_eq!(refused.code, Code::PermissionDenied);
    assert!(
        refused.message.contains("admin of the tenant `default`"),
        "{refused}"
    );
}

#[tokio::test]
async fn an_action_without_a_task_is_on_record() {
    let served = Served::start().await;
    let admin = served.executor("deployment-admin");
    let epoch = acquire(&admin, "by hand").await.unwrap();
    let secret = type_text("my password");
    admin
        .perform(request(epoch.0, "a1", secret.clone()))
        .await
        .unwrap();
    // An administrator cannot hide behind the name of another principal.
    let as_other = PerformRequest {
        creator: Some("ann".to_owned()),
        ..request(epoch.0, "a2", secret.clone())
    };
    admin.perform(as_other).await.unwrap();
    let file = PutFile {
        display: None,
        epoch,
        name: "note.txt".to_owned(),
        overwrite: false,
        content: "my password".into(),
    };
    admin.put_file(file).await.unwrap();
    let stale = request(epoch.0 + 1, "a3", secret.clone());
    check_reason(admin.perform(stale).await, reason::LEASE_UNKNOWN);
    // A task of the Orchestrator is recorded there; what its identity does without a task is recorded here.
    let service = served.executor("orchestrator");
    let epoch = acquire(&service, "tasks/t").await.unwrap();
    let of_task = PerformRequest {
        creator: Some("ann".to_owned()),
        ..request(epoch.0, "b1", secret.clone())
    };
    service.perform(of_task).await.unwrap();
    service
        .perform(request(epoch.0, "b2", secret))
        .await
        .unwrap();

    let records = served.records();
    let expected = [
        "deployment-admin AcquireDesktop begun displays/:1",
        "deployment-admin AcquireDesktop ended displays/:1  OK",
        "deployment-admin Perform begun displays/:1/actions/a1 type_text",
        "deployment-admin Perform ended displays/:1/actions/a1 type_text ACTION_RESULT_PERFORMED",
        "deployment-admin Perform begun displays/:1/actions/a2 type_text",
        "deployment-admin Perform ended displays/:1/actions/a2 type_text ACTION_RESULT_PERFORMED",
        "deployment-admin PutFile begun displays/:1/files/note.txt",
        "deployment-admin PutFile ended displays/:1/files/note.txt  OK",
        "deployment-admin Perform begun displays/:1/actions/a3 type_text",
        "deployment-admin Perform ended displays/:1/actions/a3 type_text LEASE_UNKNOWN",
        "orchestrator Perform begun displays/:1/actions/b2 type_text",
        "orchestrator Perform ended displays/:1/actions/b2 type_text ACTION_RESULT_PERFORMED",
    ];
    assert_eq!(records, expected);
    assert_eq!(served.driver.actions().len(), 4);
}

#[tokio::test]
async fn an_action_that_cannot_be_recorded_is_not_performed() {
    let served = Served::start().await;
    let admin = served.executor("deployment-admin");
    let epoch = acquire(&admin, "by hand").await.unwrap();
    let folder = served.audit_folder();
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "in the way").unwrap();
    let refused = admin
        .perform(request(epoch.0, "a", type_text("x")))
        .await
        .unwrap_err();
    assert_eq!(refused.reason, reason::AUDIT_UNWRITABLE);
    assert!(
        !refused.message.contains(folder.to_str().unwrap()),
        "{refused}"
    );
    assert_eq!(served.driver.actions(), []);
    // The emergency stop needs no disk.
    admin.release_all(None).await.unwrap();
}

#[tokio::test]
async fn the_files_of_a_task_are_read_under_its_lease_only() {
    let served = Served::start().await;
    let service = served.executor("orchestrator");
    let former = acquire(&service, "tasks/a").await.unwrap();
    let file = PutFile {
        display: None,
        epoch: former,
        name: "salary.csv".to_owned(),
        overwrite: false,
        content: "1000".into(),
    };
    service.put_file(file).await.unwrap();
    let under = |epoch: Option<u64>| FileRequest {
        display: None,
        name: "salary.csv".to_owned(),
        epoch: epoch.map(DesktopEpoch),
    };
    let lease = Some(former.0);
    assert_eq!(
        service.get_file(under(lease)).await.unwrap().content,
        "1000"
    );
    assert!(service.stat_file(under(lease)).await.unwrap().is_some());
    acquire(&service, "tasks/b").await.unwrap();
    for (epoch, refusal) in [
        (None, reason::LEASE_SUPERSEDED),
        (Some(0), reason::LEASE_SUPERSEDED),
        (lease, reason::LEASE_SUPERSEDED),
        (Some(former.0 + 99), reason::LEASE_UNKNOWN),
    ] {
        check_reason(service.get_file(under(epoch)).await, refusal);
        check_reason(service.stat_file(under(epoch)).await, refusal);
    }
    // The owner of the deployment needs none, and is refused a lease that has ended.
    let admin = served.executor("deployment-admin");
    assert_eq!(admin.get_file(under(None)).await.unwrap().content, "1000");
    check_reason(
        admin.stat_file(under(lease)).await,
        reason::LEASE_SUPERSEDED,
    );
}

#[tokio::test]
async fn a_task_finds_no_files_of_another_tenant() {
    let served = Served::start().await;
    let service = served.executor("orchestrator");
    let put = async |epoch, content: &'static str| {
        let file = PutFile {
            display: None,
            epoch,
            name: "salary.csv".to_owned(),
            overwrite: false,
            content: content.into(),
        };
        service.put_file(file).await.unwrap()
    };
    let under = |epoch| FileRequest {
        display: None,
        name: "salary.csv".to_owned(),
        epoch: Some(epoch),
    };
    let epoch = acquire_for(&service, "tasks/a", Some("acme"))
        .await
        .unwrap();
    let of_acme = put(epoch, "1000").await;
    let epoch = acquire_for(&service, "tasks/b", Some("globex"))
        .await
        .unwrap();
    assert_eq!(service.stat_file(under(epoch)).await.unwrap(), None);
    check_reason(service.get_file(under(epoch)).await, reason::FILE_NOT_FOUND);
    // Nor does an application that lists the folder.
    let folder = std::path::Path::new(&of_acme.path).parent().unwrap();
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    put(epoch, "2000").await;
    // The next task of the tenant goes on with its files.
    let epoch = acquire_for(&service, "tasks/c", Some("acme"))
        .await
        .unwrap();
    let found = service.get_file(under(epoch)).await.unwrap();
    assert_eq!(found.content, "1000");
    // A person who acts without a task changes nothing.
    let epoch = acquire(&service, "by hand").await.unwrap();
    let found = service.get_file(under(epoch)).await.unwrap();
    assert_eq!(found.content, "1000");
}

#[tokio::test]
async fn files_of_a_deleted_task_leave_the_desktop() {
    let served = Served::start().await;
    let service = served.executor("orchestrator");
    let epoch = acquire_for(&service, "tasks/a", Some("acme"))
        .await
        .unwrap();
    let file = PutFile {
        display: None,
        epoch,
        name: "salary.csv".to_owned(),
        overwrite: false,
        content: "1000".into(),
    };
    let path = service.put_file(file).await.unwrap().path;
    let folder = std::path::Path::new(&path).parent().unwrap().to_owned();
    // A browser downloads a file while the task runs.
    std::fs::write(folder.join("download.pdf"), "x").unwrap();
    let release = ReleaseRequest {
        display: DisplayId::new(":1"),
        epoch,
    };
    service.release_desktop(release).await.unwrap();
    std::fs::write(folder.join("of-a-person.txt"), "x").unwrap();
    let delete = async |caller: &str, holder: &str, tenant: &str| {
        let request = DeleteFilesRequest {
            display: None,
            holder: holder.to_owned(),
            tenant: Some(tenant.to_owned()),
        };
        served.executor(caller).delete_files(request).await
    };
    let found = || {
        let names = std::fs::read_dir(&folder).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    // Neither an operator, nor the name of another task or tenant, deletes them.
    check_reason(
        delete("operator", "tasks/a", "acme").await,
        common::ROLE_MISSING,
    );
    delete("orchestrator", "tasks/b", "acme").await.unwrap();
    delete("orchestrator", "tasks/a", "globex").await.unwrap();
    assert_eq!(found(), ["download.pdf", "of-a-person.txt", "salary.csv"]);
    delete("orchestrator", "tasks/a", "acme").await.unwrap();
    assert_eq!(found(), ["of-a-person.txt"]);
    delete("orchestrator", "tasks/a", "acme").await.unwrap();
    delete("deployment-admin", "tasks/a", "acme").await.unwrap();
    let records = served.records();
    assert_eq!(
        records,
        [
            "deployment-admin DeleteFiles begun displays/:1",
            "deployment-admin DeleteFiles ended displays/:1  OK",
        ]
    );
}

#[tokio::test]
async fn a_call_that_has_left_its_task_has_no_rights() {
    let home = tempfile::tempdir().unwrap();
    let options = recording::Options::of_size(CaptureSize::new(1000, 1000));
    let driver = Arc::new(RecordingDriver::start(options).unwrap());
    let desktop = Desktop::start(parts(home.path(), driver.clone())).await;
    let service = Arc::new(ExecutorService::new(vec![desktop.unwrap()]));
    let own = InProcessExecutor::new(Arc::clone(&service));
    let epoch = acquire(&own, "own").await.unwrap();
    let named = || FileRequest {
        display: None,
        name: "a.txt".to_owned(),
        epoch: None,
    };
    let attacks = async move {
        let deleted = DeleteFilesRequest {
            display: None,
            holder: "own".to_owned(),
            tenant: None,
        };
        let put = PutFile {
            display: None,
            name: "a.txt".to_owned(),
            content: "x".into(),
            overwrite: true,
            epoch,
        };
        [
            acquire(service.as_ref(), "other").await.map(drop),
            service
                .perform(request(epoch.0, "a", type_text("x")))
                .await
                .map(drop),
            service.put_file(put).await.map(drop),
            service.get_file(named()).await.map(drop),
            service.stat_file(named()).await.map(drop),
            service.delete_files(deleted).await,
        ]
    };
    // The handler has every right, and what it spawns has none.
    let refused = Principal::local().scope(async { tokio::spawn(attacks).await });
    for (index, refused) in refused.await.unwrap().into_iter().enumerate() {
        let report = refused.unwrap_err();
        assert_eq!(report.reason, common::UNAUTHENTICATED, "attack {index}");
    }
    assert_eq!(driver.actions(), []);
}
