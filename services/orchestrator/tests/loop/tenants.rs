//! Attacks between tenants: a principal of one tries every call of the service on what another has.

use futures::StreamExt as _;
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::error::{ErrorReport, reason};
use motorium_proto::v1::common;
use motorium_proto::v1::orchestrator as wire;
use prost::Message as _;
use prost_types::FileDescriptorSet;
use tonic::{Code, Status, Streaming};

use crate::approvals::shop_with;
use crate::desktops::{desktop_at, register};
use crate::support::cluster::{Cluster, DESKTOP};
use crate::support::in_time;
use crate::support::principals::{NamedClient, SPAWNED};
use crate::support::script::{act, click, done};

/// The victim and her colleague, an attacker with every role in a tenant of his own, and the one who sees all.
const ANN: &str = "ann/acme/author+approver+viewer";
const BOB: &str = "bob/acme/approver+viewer";
pub(crate) const MALLORY: &str = "mallory/globex/viewer+operator+approver+author+admin+service";
const ROOT: &str = "root/default/admin";
const ROOT_AUTHOR: &str = "root/default/admin+author";

/// Goal of the victim's task.
const GOAL: &str = "pay the canary-71c2 invoice";

/// Names of what the victim has.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    task: String,
    session: String,
    approval: String,
    artifact: String,
    upload: String,
}

impl Names {
    /// Returns names that nothing has.
    fn unknown() -> Self {
        let task = "tasks/unknown".to_owned();
        Self {
            session: "sessions/unknown".to_owned(),
            approval: format!("{task}/approvals/1-0-1"),
            artifact: format!("{task}/artifacts/{}", "a".repeat(64)),
            upload: format!("uploads/{}", "a".repeat(64)),
            task,
        }
    }

    /// Returns a text with these names replaced by placeholders.
    fn masked(&self, text: &str) -> String {
        let names = [&self.approval, &self.artifact, &self.task, &self.session];
        let names = names.into_iter().chain([&self.upload]);
        names.fold(text.to_owned(), |text, name| text.replace(name, "NAME"))
    }
}

/// A cluster in which the victim's task waits for an approval.
pub(crate) async fn victim() -> (Cluster, Names) {
    let script = vec![act([click(1)]), done("paid")];
    let cluster = shop_with(script, std::time::Duration::from_secs(600)).await;
    let mut ann = cluster.client_as(ANN);
    let session = wire::CreateSessionRequest {
        session_id: "canary-session".to_owned(),
        ..wire::CreateSessionRequest::default()
    };
    let session = ann.create_session(session).await.unwrap().into_inner();
    let session = session.session.unwrap();
    assert_eq!(
        (session.creator.as_str(), session.tenant.as_str()),
        ("ann", "acme")
    );
    let upload = upload(&mut ann, b"canary-content").await;
    let task = wire::Task {
        goal: GOAL.to_owned(),
        session: session.name.clone(),
        // A caller does not choose whose its task is.
        creator: "root".to_owned(),
        tenant: "default".to_owned(),
        creator_roles: vec!["admin".to_owned()],
        ..wire::Task::default()
    };
    let task = create(&mut ann, task).await.unwrap();
    assert_eq!(
        (task.creator.as_str(), task.tenant.as_str()),
        ("ann", "acme")
    );
    assert_eq!(task.creator_roles, ["viewer", "approver", "author"]);
    cluster.happened(&task.name, "user_asked").await;
    let approvals = wire::ListApprovalsRequest {
        parent: "tasks/-".to_owned(),
        ..wire::ListApprovalsRequest::default()
    };
    let approvals = ann.list_approvals(approvals).await.unwrap().into_inner();
    let approval = approvals.approvals[0].clone();
    let names = Names {
        task: task.name,
        session: session.name,
        artifact: approval.evidence.unwrap().name,
        approval: approval.name,
        upload,
    };
    (cluster, names)
}

async fn create(client: &mut NamedClient, task: wire::Task) -> Result<wire::Task, Status> {
    let request = wire::CreateTaskRequest {
        task: Some(task),
        ..wire::CreateTaskRequest::default()
    };
    let created = client.create_task(request).await?;
    Ok(created.into_inner().task.unwrap())
}

async fn upload(client: &mut NamedClient, content: &'static [u8]) -> String {
    let chunk = wire::UploadFileRequest {
        chunk: content.into(),
    };
    let stored = client.upload_file(futures::stream::iter([chunk])).await;
    stored.unwrap().into_inner().upload
}

fn task_of(goal: &str) -> wire::Task {
    wire::Task {
        goal: goal.to_owned(),
        ..wire::Task::default()
    }
}

fn attached(upload: &str) -> wire::Attachment {
    wire::Attachment {
        name: "a.txt".to_owned(),
        upload: upload.to_owned(),
        ..wire::Attachment::default()
    }
}

/// Returns the first message of a stream.
async fn first<T: std::fmt::Debug>(
    stream: Result<tonic::Response<Streaming<T>>, Status>,
) -> Result<String, Status> {
    let mut messages = stream?.into_inner();
    match in_time("a message", messages.next()).await {
        Some(message) => Ok(format!("{:?}", message?)),
        None => Ok(String::new()),
    }
}

/// Returns the names of all calls of the service.
pub(crate) fn methods() -> Vec<String> {
    let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
    let services = set.file.into_iter().flat_map(|file| file.service);
    let methods = services
        .filter(|service| service.name() == "OrchestratorService")
        .flat_map(|service| service.method);
    methods.map(|method| method.name().to_owned()).collect()
}

/// Makes a call about what has these names, and returns the response as a text.
pub(crate) async fn attack(
    method: &str,
    by: &mut NamedClient,
    on: &Names,
) -> Result<String, Status> {
    let name = on.task.clone();
    let request_id = String::new();
    let text = "hello".to_owned();
    match method {
        "CreateTask" => {
            let in_session = wire::Task {
                session: on.session.clone(),
                ..task_of("join")
            };
            let with_upload = wire::Task {
                attachments: vec![attached(&on.upload)],
                ..task_of("read it")
            };
            let joined = create(by, in_session).await;
            let read = create(by, with_upload).await.unwrap_err();
            assert_eq!(read.code(), Code::InvalidArgument, "{read:?}");
            assert!(read.message().contains("does not exist"), "{read:?}");
            joined.map(|task| format!("{task:?}"))
        }
        "GetTask" => shown(by.get_task(wire::GetTaskRequest { name }).await),
        "ListTasks" => {
            let all = wire::ListTasksRequest::default();
            let in_session = wire::ListTasksRequest {
                session: on.session.clone(),
                ..all.clone()
            };
            let tasks = by.list_tasks(in_session).await?.into_inner().tasks;
            assert_eq!(tasks, []);
            shown(by.list_tasks(all).await)
        }
        "WatchTask" => {
            let resume_token = String::new();
            first(
                by.watch_task(wire::WatchTaskRequest { name, resume_token })
                    .await,
            )
            .await
        }
        "WatchSession" => {
            let request = wire::WatchSessionRequest {
                name: on.session.clone(),
                resume_token: String::new(),
            };
            first(by.watch_session(request).await).await
        }
        "CancelTask" => {
            let request = wire::CancelTaskRequest {
                name,
                reason: text,
                request_id,
            };
            shown(by.cancel_task(request).await)
        }
        "PauseTask" => shown(
            by.pause_task(wire::PauseTaskRequest { name, request_id })
                .await,
        ),
        "ResumeTask" => shown(
            by.resume_task(wire::ResumeTaskRequest { name, request_id })
                .await,
        ),
        "DeleteTask" => {
            let allow_missing = false;
            shown(
                by.delete_task(wire::DeleteTaskRequest {
                    name,
                    allow_missing,
                })
                .await,
            )
        }
        "DeleteSession" => {
            let request = wire::DeleteSessionRequest {
                name: on.session.clone(),
                force: true,
                ..wire::DeleteSessionRequest::default()
            };
            shown(by.delete_session(request).await)
        }
        "SendMessage" => {
            let request = wire::SendMessageRequest {
                name,
                text,
                request_id,
                ..wire::SendMessageRequest::default()
            };
            shown(by.send_message(request).await)
        }
        // The same content has the same name, so that it tells nothing.
        "UploadFile" => {
            let chunk = wire::UploadFileRequest {
                chunk: (&b"mine"[..]).into(),
            };
            shown(by.upload_file(futures::stream::iter([chunk])).await)
        }
        "AcknowledgeUserAction" => {
            let request = wire::AcknowledgeUserActionRequest {
                name,
                message: text,
                request_id,
            };
            shown(by.acknowledge_user_action(request).await)
        }
        "TakeOver" => {
            let user = "ann".to_owned();
            let request = wire::TakeOverRequest {
                name,
                user,
                request_id,
            };
            shown(by.take_over(request).await)
        }
        "HandBack" => {
            let request = wire::HandBackRequest {
                name,
                message: text,
                request_id,
            };
            shown(by.hand_back(request).await)
        }
        "ListSteps" => {
            let request = wire::ListStepsRequest {
                parent: name,
                ..wire::ListStepsRequest::default()
            };
            shown(by.list_steps(request).await)
        }
        "GetArtifact" => {
            let name = on.artifact.clone();
            let read_offset = 0;
            first(
                by.get_artifact(wire::GetArtifactRequest { name, read_offset })
                    .await,
            )
            .await
        }
        "ExportTrajectory" => {
            first(
                by.export_trajectory(wire::ExportTrajectoryRequest { name })
                    .await,
            )
            .await
        }
        "OperateDesktop" => {
            let start = wire::OperateDesktopStart {
                name,
                user: "ann".to_owned(),
            };
            let request = wire::OperateDesktopRequest {
                part: Some(wire::operate_desktop_request::Part::Start(start)),
            };
            let requests = futures::stream::iter([request]);
            first(by.operate_desktop(requests).await).await
        }
        "ListApprovals" => {
            let of = |parent: &str| wire::ListApprovalsRequest {
                parent: parent.to_owned(),
                ..wire::ListApprovalsRequest::default()
            };
            let all = by.list_approvals(of("tasks/-")).await?.into_inner();
            assert_eq!(all.approvals, []);
            shown(by.list_approvals(of(&name)).await)
        }
        "ResolveApproval" => {
            let request = wire::ResolveApprovalRequest {
                name: on.approval.clone(),
                approve: true,
                user: "ann".to_owned(),
                ..wire::ResolveApprovalRequest::default()
            };
            shown(by.resolve_approval(request).await)
        }
        "WatchScreen" => {
            let request = wire::WatchScreenRequest {
                name,
                max_frames_per_second: 30,
            };
            first(by.watch_screen(request).await).await
        }
        "TestPolicy" => {
            let request = wire::TestPolicyRequest {
                sentence: "click \"Pay\"".to_owned(),
                ..wire::TestPolicyRequest::default()
            };
            shown(by.test_policy(request).await)
        }
        "GetCaller" => shown(by.get_caller(wire::GetCallerRequest {}).await),
        "GetPolicy" => shown(by.get_policy(wire::GetPolicyRequest {}).await),
        "CreateSession" => {
            let request = wire::CreateSessionRequest::default();
            shown(by.create_session(request).await)
        }
        "GetSession" => {
            let name = on.session.clone();
            shown(by.get_session(wire::GetSessionRequest { name }).await)
        }
        "ListSessions" => shown(by.list_sessions(wire::ListSessionsRequest::default()).await),
        "ExportSession" => {
            let request = wire::ExportSessionRequest {
                name: on.session.clone(),
                ..wire::ExportSessionRequest::default()
            };
            first(by.export_session(request).await).await
        }
        "RegisterDesktop" => {
            let desktop = common::Desktop {
                name: "desktops/mine".to_owned(),
                perception_endpoint: "http://127.0.0.1:1".to_owned(),
                executor_endpoint: "http://127.0.0.1:1".to_owned(),
                ..common::Desktop::default()
            };
            let request = wire::RegisterDesktopRequest {
                desktop: Some(desktop),
                request_id,
            };
            shown(by.register_desktop(request).await)
        }
        "UnregisterDesktop" => {
            let name = DESKTOP.to_owned();
            let request = wire::UnregisterDesktopRequest { name, request_id };
            shown(by.unregister_desktop(request).await)
        }
        "ListDesktops" => shown(by.list_desktops(wire::ListDesktopsRequest::default()).await),
        "DrainDesktop" => {
            let name = DESKTOP.to_owned();
            shown(
                by.drain_desktop(wire::DrainDesktopRequest { name, request_id })
                    .await,
            )
        }
        _ => panic!(
            "{method} is not attacked: check the tenant of what it names in edge/ownership.rs, and add it here"
        ),
    }
}

fn shown<T: std::fmt::Debug>(
    response: Result<tonic::Response<T>, Status>,
) -> Result<String, Status> {
    response.map(|response| format!("{:?}", response.into_inner()))
}

#[tokio::test]
async fn no_call_reaches_what_another_tenant_has() {
    let (cluster, names) = victim().await;
    let mut mallory = cluster.client_as(MALLORY);
    let before = cluster.get(&names.task).await;
    for method in methods() {
        let (real, unknown) = (
            attack(&method, &mut mallory, &names).await,
            attack(&method, &mut mallory, &Names::unknown()).await,
        );
        match (real, unknown) {
            (Ok(response), _) => {
                for part in [&names.task, &names.session, &names.upload, GOAL, "canary"] {
                    assert!(
                        !response.contains(part),
                        "{method} tells {part}: {response}"
                    );
                }
            }
            (Err(real), Err(unknown)) => {
                let report = |status: &Status, names: &Names| {
                    let report = ErrorReport::from_status(status);
                    (report.code, report.reason, names.masked(&report.message))
                };
                let real = report(&real, &names);
                assert_eq!(real, report(&unknown, &Names::unknown()), "{method}");
                let expected = [Code::NotFound, Code::PermissionDenied];
                assert!(expected.contains(&real.0), "{method}: {real:?}");
            }
            (Err(real), Ok(_)) => panic!("{method} tells a name from an unknown one: {real:?}"),
        }
    }
    let after = cluster.get(&names.task).await;
    assert_eq!(
        after.last_sequence, before.last_sequence,
        "nothing was done to it"
    );
    assert_eq!(after.state, before.state);
    assert_eq!(cluster.world.done(), []);
}

#[tokio::test]
async fn a_call_that_has_left_its_task_has_no_rights() {
    let (cluster, names) = victim().await;
    let mut spawned = cluster.client_as(SPAWNED);
    for method in methods() {
        let refused = match method.as_str() {
            // It is attacked by several calls, the first of which succeeds for others.
            "CreateTask" => create(&mut spawned, task_of("run")).await.map(drop),
            method => attack(method, &mut spawned, &names).await.map(drop),
        };
        let report = ErrorReport::from_status(&refused.unwrap_err());
        let expected = (Code::Unauthenticated, reason::UNAUTHENTICATED);
        assert_eq!((report.code, report.reason.as_str()), expected, "{method}");
    }
}

#[tokio::test]
async fn a_colleague_and_the_administrator_reach_it() {
    let (cluster, names) = victim().await;
    for caller in [BOB, ROOT] {
        let mut client = cluster.client_as(caller);
        for method in [
            "GetTask",
            "WatchTask",
            "WatchSession",
            "ListSteps",
            "GetArtifact",
            "ExportTrajectory",
            "GetSession",
            "ExportSession",
        ] {
            let response = attack(method, &mut client, &names).await;
            assert!(response.is_ok(), "{caller} {method}: {response:?}");
        }
        let tasks = client.list_tasks(wire::ListTasksRequest::default()).await;
        let tasks = tasks.unwrap().into_inner().tasks;
        assert_eq!(tasks.len(), 1, "{caller}");
        assert_eq!(
            (tasks[0].name.as_str(), tasks[0].tenant.as_str()),
            (names.task.as_str(), "acme")
        );
    }
    // What the administrator adds to a session belongs to its tenant, and to its own otherwise.
    let mut root = cluster.client_as(ROOT);
    let joined = wire::Task {
        session: names.session.clone(),
        ..task_of("help")
    };
    let joined = create(&mut root, joined).await.unwrap();
    assert_eq!(
        (joined.creator.as_str(), joined.tenant.as_str()),
        ("root", "acme")
    );
    let own = create(&mut root, task_of("other")).await.unwrap();
    assert_eq!(own.tenant, "default");
    let mut ann = cluster.client_as(ANN);
    let mine = ann.list_tasks(wire::ListTasksRequest::default()).await;
    let mine = mine.unwrap().into_inner().tasks;
    assert!(mine.iter().any(|task| task.name == joined.name));
    assert!(!mine.iter().any(|task| task.name == own.name));
}

#[tokio::test]
async fn a_task_that_waits_does_not_name_the_one_that_holds_the_desktop() {
    let (cluster, names) = victim().await;
    let mut mallory = cluster.client_as(MALLORY);
    let waiting = create(&mut mallory, task_of("wait")).await.unwrap();
    let story = cluster.happened(&waiting.name, "desktop_awaited").await;
    let seen = format!("{:?}", story.0);
    assert!(!seen.contains(&names.task), "{seen}");
    let now = mallory.get_task(wire::GetTaskRequest { name: waiting.name });
    let now = now.await.unwrap().into_inner().task.unwrap();
    let wait = now.desktop_wait.unwrap();
    assert_eq!(wait.holds[0].holder, "tasks/-");
    assert!(!wait.message.contains(&names.task), "{}", wait.message);
    let desktops = attack("ListDesktops", &mut mallory, &names).await.unwrap();
    assert!(!desktops.contains(&names.task), "{desktops}");
    let mut ann = cluster.client_as(ANN);
    let desktops = attack("ListDesktops", &mut ann, &names).await.unwrap();
    assert!(desktops.contains(&names.task), "{desktops}");
}

#[tokio::test]
async fn the_hash_of_a_file_opens_it_to_those_who_have_it() {
    let (cluster, names) = victim().await;
    let mut mallory = cluster.client_as(MALLORY);
    let task = create(&mut mallory, task_of("steal")).await.unwrap();
    let message = || wire::SendMessageRequest {
        name: task.name.clone(),
        attachments: vec![attached(&names.upload)],
        ..wire::SendMessageRequest::default()
    };
    let refused = mallory.send_message(message()).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    // With the content itself, it is his own upload under the same name.
    assert_eq!(upload(&mut mallory, b"canary-content").await, names.upload);
    mallory.send_message(message()).await.unwrap();
}

#[tokio::test]
async fn a_request_id_of_another_tenant_returns_nothing_of_it() {
    let (cluster, _) = victim().await;
    let request = wire::CreateTaskRequest {
        task: Some(task_of("the same")),
        request_id: "0192f0c1-0000-7000-8000-000000000001".to_owned(),
        ..wire::CreateTaskRequest::default()
    };
    let mut names = Vec::new();
    for caller in [ANN, MALLORY, ANN] {
        let created = cluster.client_as(caller).create_task(request.clone()).await;
        let created = created.unwrap().into_inner().task.unwrap();
        names.push(created.name);
    }
    assert_ne!(names[0], names[1]);
    assert_eq!(names[0], names[2], "her own request is still known");
}

#[tokio::test]
async fn a_desktop_of_one_tenant_is_neither_seen_nor_used_by_another() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    let annex = common::Desktop {
        tenants: vec!["acme".to_owned()],
        ..desktop_at(&cluster.services.url())
    };
    let registered = register(&cluster, annex.clone()).await.unwrap();
    assert_eq!(registered.tenants, ["acme"]);
    let unnamed_tenant = common::Desktop {
        tenants: vec![String::new()],
        ..annex.clone()
    };
    let refused = register(&cluster, unnamed_tenant).await.unwrap_err();
    assert!(refused.message.contains("desktop.tenants"), "{refused}");
    let (mut ann, mut mallory) = (cluster.client_as(ANN), cluster.client_as(MALLORY));
    let on_annex = |name: &str, label: Option<&str>| wire::Task {
        desktop_selector: Some(wire::DesktopSelector {
            desktop: name.to_owned(),
            labels: label
                .map(|place| ("place".to_owned(), place.to_owned()))
                .into_iter()
                .collect(),
        }),
        ..task_of("look around")
    };

    let listed = mallory.list_desktops(wire::ListDesktopsRequest::default());
    let listed = listed.await.unwrap().into_inner().desktops;
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0].name, DESKTOP);
    let by_name = create(&mut mallory, on_annex(&annex.name, None)).await;
    let by_name = ErrorReport::from_status(&by_name.unwrap_err());
    assert_eq!(by_name.reason, "DESKTOP_NOT_FOUND");
    let known = by_name.message.split("known").nth(1).unwrap_or_default();
    assert!(!known.contains("annex"), "{by_name}");
    let by_label = create(&mut mallory, on_annex("", Some("annex"))).await;
    let by_label = by_label.unwrap().name;

    let own = create(&mut ann, on_annex("", Some("annex"))).await.unwrap();
    let story = cluster.follow(&own.name).await;
    assert_eq!(story.answer(), "it is done");
    assert_eq!(cluster.get(&own.name).await.desktop, annex.name);
    // A round of the dispatcher with a free desktop that has the label.
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    let waiting = cluster.get(&by_label).await;
    assert_eq!(
        (waiting.state(), waiting.desktop.as_str()),
        (wire::task::State::Pending, "")
    );
    // An administrator sees it, and is told why tasks of its own tenant cannot use it.
    let root = create(
        &mut cluster.client_as(ROOT_AUTHOR),
        on_annex(&annex.name, None),
    )
    .await;
    let root = ErrorReport::from_status(&root.unwrap_err());
    assert!(
        root.message
            .contains("not for tasks of the tenant `default`"),
        "{root}"
    );
}
