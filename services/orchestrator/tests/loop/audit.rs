//! The audit log: what changes something is recorded, without texts, and what cannot be recorded does not happen.

use std::fs;

use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;
use motorium_store::audit;
use tonic::Code;

use crate::approvals::{resolve_saying, shop_with, waiting};
use crate::support::cluster::Cluster;
use crate::support::script::{act, click, done, typing, typing_secret};
use crate::tenants::{MALLORY, attack, methods, victim};

/// Returns the text of the log.
fn exported(cluster: &Cluster) -> String {
    let mut text = Vec::new();
    audit::export(&cluster.audit_folder(), &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Returns the records of the log.
fn records(cluster: &Cluster) -> Vec<serde_json::Value> {
    let records = exported(cluster);
    let records = records.lines();
    records
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn every_call_that_changes_something_is_recorded() {
    let (cluster, names) = victim().await;
    let mut mallory = cluster.client_as(MALLORY);
    for method in methods() {
        let is_reading = ["Get", "List", "Watch", "Export", "Test"];
        let is_reading = is_reading.iter().any(|verb| method.starts_with(verb));
        let answer = attack(&method, &mut mallory, &names).await;
        let records = records(&cluster);
        let own: Vec<_> = records
            .iter()
            .filter(|record| record["principal"] == "mallory" && record["what"] == *method)
            .collect();
        if is_reading {
            assert_eq!(own.len(), 0, "{method} changes nothing");
            continue;
        }
        let [.., begun, ended] = own.as_slice() else {
            panic!("{method} is not recorded: call it through Edge::change");
        };
        assert_eq!(
            (&begun["phase"], &ended["phase"]),
            (&"begun".into(), &"ended".into())
        );
        assert_eq!(ended["tenant"], "globex");
        if let Err(status) = answer
            && method != "CreateTask"
        {
            assert_eq!(ended["outcome"], format!("{:?}", status.code()), "{method}");
        }
    }
    audit::verify(&cluster.audit_folder(), None).unwrap();
}

#[tokio::test]
async fn actions_and_approvals_are_recorded_without_what_is_typed() {
    let script = vec![
        act([click(2)]),
        act([typing("canary-typed")]),
        act([typing_secret("canary")]),
        act([click(1)]),
        done("canary-answer"),
    ];
    let cluster = shop_with(script, std::time::Duration::from_secs(600)).await;
    let task = wire::Task {
        goal: "canary-goal".to_owned(),
        instructions: "canary-instructions".to_owned(),
        ..wire::Task::default()
    };
    let name = cluster.create_with(task).await;
    let message = wire::SendMessageRequest {
        name: name.clone(),
        text: "canary-message".to_owned(),
        ..wire::SendMessageRequest::default()
    };
    cluster.client().raw().send_message(message).await.unwrap();
    // A text in the place of a name is not a name.
    let misplaced = wire::CancelTaskRequest {
        name: "canary password".to_owned(),
        reason: "canary-reason".to_owned(),
        ..wire::CancelTaskRequest::default()
    };
    cluster
        .client()
        .raw()
        .cancel_task(misplaced)
        .await
        .unwrap_err();
    for asked in 1..=2 {
        cluster.happened_times(&name, "user_asked", asked).await;
        let [approval] = waiting(&cluster, &name).await.try_into().unwrap();
        let given = resolve_saying(&cluster, &approval.name, true, "canary-consent").await;
        given.unwrap();
    }
    cluster.follow(&name).await;
    let text = exported(&cluster);
    assert!(!text.contains("canary"), "{text}");
    let records = records(&cluster);
    let all = |what: &str, phase: &str, key: &str| -> Vec<String> {
        let records = records.iter();
        let found = records.filter(|it| it["what"] == what && it["phase"] == phase);
        found
            .map(|it| it[key].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    let mut kinds = all("action", "begun", "kind");
    kinds.dedup();
    assert_eq!(kinds, ["click", "type_text", "click"]);
    let results = all("action", "ended", "outcome");
    assert_eq!(results.len(), all("action", "begun", "kind").len());
    assert!(
        results
            .iter()
            .all(|result| result == "ACTION_RESULT_PERFORMED")
    );
    assert_eq!(all("approval", "begun", "outcome"), ["STATE_PENDING"; 2]);
    assert_eq!(all("approval", "ended", "outcome"), ["STATE_APPROVED"; 2]);
    let mut waits = false;
    for record in &records {
        match (record["what"].as_str(), record["phase"].as_str()) {
            (Some("approval"), phase) => waits = phase == Some("begun"),
            // The run sees an approval once it is stored, and its outcome is recorded before.
            (Some("action"), Some("begun")) => assert!(!waits, "{record}"),
            _ => {}
        }
    }
    assert!(
        all("action", "begun", "resource")
            .iter()
            .all(|it| it.starts_with(&name))
    );
    audit::verify(&cluster.audit_folder(), None).unwrap();
}

#[tokio::test]
async fn a_call_that_cannot_be_recorded_is_not_made() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    let folder = cluster.audit_folder();
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, "in the way").unwrap();
    let cancel = wire::CancelTaskRequest {
        name: name.clone(),
        ..wire::CancelTaskRequest::default()
    };
    let refused = cluster.client().raw().cancel_task(cancel).await;
    let report = ErrorReport::from_status(&refused.unwrap_err());
    assert_eq!(
        (report.code, report.reason.as_str()),
        (Code::Internal, "AUDIT_UNWRITABLE")
    );
    assert!(
        !report.message.contains(folder.to_str().unwrap()),
        "{report}"
    );
    // The task goes on, and stops at its first action, however often it is taken up again.
    cluster.world.release("plan");
    cluster.happened_times(&name, "recovered", 2).await;
    assert_eq!(cluster.world.done(), []);
    assert_eq!(cluster.get(&name).await.state(), wire::task::State::Running);
    fs::remove_file(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    assert_eq!(cluster.follow(&name).await.answer(), "it is done");
    assert_eq!(cluster.world.done().len(), 1);
}
