//! Attacks on approvals by the author of a task: with the setting or a rule, another principal has to approve.

use std::io::Write as _;
use std::time::Duration;

use motorium_kit::config::HumanDuration;
use motorium_orchestrator::Settings;
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::approval::State;
use tonic::{Code, Status};

use crate::approvals::waiting;
use crate::support::cluster::Cluster;
use crate::support::script::{act, click, done};

const ANN: &str = "ann/acme/author+approver";
const BOB: &str = "bob/acme/approver";

async fn shop(change: impl FnOnce(&mut Settings)) -> (Cluster, wire::Approval) {
    let cluster = Cluster::start_with(vec![act([click(1)]), done("paid")], |settings| {
        settings.policy = "careful".to_owned();
        settings.approval_timeout = HumanDuration(Duration::from_secs(600));
        change(settings);
    })
    .await;
    cluster.world.label(1, "Pay now");
    let task = wire::Task {
        goal: "pay".to_owned(),
        ..wire::Task::default()
    };
    let request = wire::CreateTaskRequest {
        task: Some(task),
        ..wire::CreateTaskRequest::default()
    };
    let created = cluster.client_as(ANN).create_task(request).await.unwrap();
    let name = created.into_inner().task.unwrap().name;
    cluster.happened(&name, "user_asked").await;
    let [approval] = waiting(&cluster, &name).await.try_into().unwrap();
    (cluster, approval)
}

async fn resolve(
    cluster: &Cluster,
    caller: &str,
    approval: &wire::Approval,
    approve: bool,
) -> Result<wire::Approval, Status> {
    let request = wire::ResolveApprovalRequest {
        name: approval.name.clone(),
        approve,
        // Every caller says that it is Bob.
        user: "bob".to_owned(),
        ..wire::ResolveApprovalRequest::default()
    };
    let resolved = cluster.client_as(caller).resolve_approval(request).await?;
    Ok(resolved.into_inner().approval.unwrap())
}

/// Checks that the author cannot approve, and another one can.
async fn check_second_person(cluster: &Cluster, approval: &wire::Approval) {
    assert!(approval.second_person);
    let refused = resolve(cluster, ANN, approval, true).await.unwrap_err();
    let report = ErrorReport::from_status(&refused);
    assert_eq!(
        (report.code, report.reason.as_str()),
        (Code::PermissionDenied, "SECOND_PERSON_REQUIRED")
    );
    assert_eq!(cluster.world.done(), []);
    let given = resolve(cluster, BOB, approval, true).await.unwrap();
    assert_eq!(
        (given.state(), given.resolved_by.as_str()),
        (State::Approved, "bob")
    );
    let task = approval.name.split("/approvals/").next().unwrap();
    assert_eq!(cluster.follow(task).await.answer(), "paid");
}

#[tokio::test]
async fn an_author_does_not_approve_where_the_setting_asks_for_a_second_person() {
    let (cluster, approval) = shop(|settings| settings.second_person = true).await;
    check_second_person(&cluster, &approval).await;
}

#[tokio::test]
async fn an_author_does_not_approve_where_a_rule_asks_for_a_second_person() {
    let mut file = tempfile::NamedTempFile::with_suffix(".cedar").unwrap();
    let rules = r#"
        @id("everything") permit (principal, action, resource);
        @id("pay") forbid (principal, action == Action::"performUnattended", resource)
        when { resource.meanings.contains("pay") };
        @id("two") forbid (principal in Tenant::"acme", action == Action::"performOnOwnApproval", resource);
    "#;
    file.write_all(rules.as_bytes()).unwrap();
    let path = file.path().display().to_string();
    let (cluster, approval) = shop(|settings| settings.policy = path).await;
    check_second_person(&cluster, &approval).await;
}

#[tokio::test]
async fn an_author_may_deny_its_own_action() {
    let (cluster, approval) = shop(|settings| settings.second_person = true).await;
    let denied = resolve(&cluster, ANN, &approval, false).await.unwrap();
    assert_eq!(
        (denied.state(), denied.resolved_by.as_str()),
        (State::Denied, "ann")
    );
    assert_eq!(denied.stated_user, "bob");
}

#[tokio::test]
async fn without_such_a_rule_an_author_approves_under_its_own_name() {
    let (cluster, approval) = shop(|_| {}).await;
    assert!(!approval.second_person);
    let given = resolve(&cluster, ANN, &approval, true).await.unwrap();
    assert_eq!(
        (given.resolved_by.as_str(), given.stated_user.as_str()),
        ("ann", "bob")
    );
}
