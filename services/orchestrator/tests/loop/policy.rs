//! The active policy as callers see it: its rules in words, and none that tells a tenant about another.

use std::path::Path;
use std::time::Duration;

use motorium_kit::config::HumanDuration;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::policy_rule::Effect;
use motorium_proto::v1::orchestrator::policy_trial::Decision;
use tonic::Code;

use crate::support::cluster::Cluster;

const ANN: &str = "ann/acme/viewer";
const MALLORY: &str = "mallory/globex/viewer+operator+approver+author+admin+service";
const ROOT: &str = "root/default/admin";

const RULES: &str = r#"
@id("everything") permit (principal, action, resource);

@id("pay")
@because("it pays something")
@because_zh("这会付款")
forbid (principal, action == Action::"performUnattended", resource)
when { resource.meanings.contains("pay") };

@id("acme-sends-nothing") forbid (principal in Tenant::"acme", action == Action::"perform", resource)
when { resource.meanings.contains("send") };

@id("canary-of-bob") forbid (principal, action == Action::"performOnOwnApproval", resource)
when { principal in User::"bob" };
"#;

async fn policy_for(cluster: &Cluster, caller: &str) -> wire::Policy {
    let mut client = cluster.client_as(caller);
    let response = client.get_policy(wire::GetPolicyRequest {}).await.unwrap();
    response.into_inner().policy.unwrap()
}

fn ids(policy: &wire::Policy) -> Vec<&str> {
    policy.rules.iter().map(|rule| rule.id.as_str()).collect()
}

async fn ruled_by(file: &Path) -> Cluster {
    std::fs::write(file, RULES).unwrap();
    let path = file.display().to_string();
    Cluster::start_with(Vec::new(), |settings| {
        settings.policy = path;
        settings.second_person = true;
        settings.approval_timeout = HumanDuration(Duration::from_secs(90));
    })
    .await
}

#[tokio::test]
async fn a_caller_reads_the_rules_that_decide_about_its_tasks() {
    let cluster = Cluster::start_with(Vec::new(), |settings| {
        settings.policy = "careful".to_owned();
    })
    .await;
    let policy = policy_for(&cluster, ANN).await;
    assert_eq!((policy.name.as_str(), policy.built_in), ("careful", true));
    assert_eq!(policy.version.len(), 64);
    assert!(!policy.second_person && !policy.own_lexicon);
    let pay = policy.rules.iter().find(|rule| rule.id == "pay").unwrap();
    assert_eq!(pay.effects().collect::<Vec<_>>(), [Effect::RequireApproval]);
    assert_eq!(pay.because, "it pays, buys or orders something");
    assert_eq!(pay.because_zh, "这会付款、购买或下单");
    assert!(pay.text.contains("resource.meanings.contains(\"pay\")"));
}

#[tokio::test]
async fn a_rule_about_another_tenant_or_person_is_not_told() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = ruled_by(&folder.path().join("own.cedar")).await;
    let all = ["everything", "pay", "acme-sends-nothing", "canary-of-bob"];
    let seen = policy_for(&cluster, ROOT).await;
    assert_eq!(ids(&seen), all);
    assert_eq!(seen.name, "own.cedar", "the folder is not told");
    assert!(!seen.built_in && seen.second_person);
    assert_eq!(seen.approval_timeout.unwrap().seconds, 90);
    assert_eq!(ids(&policy_for(&cluster, ANN).await), all[..3]);
    let seen = policy_for(&cluster, MALLORY).await;
    assert_eq!(ids(&seen), all[..2]);
    let message = format!("{seen:?}");
    assert!(
        !message.contains("acme") && !message.contains("bob"),
        "{message}"
    );
}

/// Judges a sentence for a caller: the decision of each step with the rules that the caller is told.
async fn judged(cluster: &Cluster, caller: &str, sentence: &str) -> Vec<(Decision, Vec<String>)> {
    let mut client = cluster.client_as(caller);
    let request = wire::TestPolicyRequest {
        sentence: sentence.to_owned(),
        application: "chromium".to_owned(),
        ..wire::TestPolicyRequest::default()
    };
    let response = client.test_policy(request).await.unwrap().into_inner();
    let rules =
        |trial: &wire::PolicyTrial| trial.rules.iter().map(|rule| rule.id.clone()).collect();
    let trials = response.trials.iter();
    trials
        .map(|trial| (trial.decision(), rules(trial)))
        .collect()
}

#[tokio::test]
async fn a_described_step_is_judged_as_one_of_the_callers_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = ruled_by(&folder.path().join("own.cedar")).await;
    let sentence = "click \"Next page\", then click \"Pay now\", then click \"Send message\"";
    let of_ann = judged(&cluster, ANN, sentence).await;
    let asks = (Decision::RequireApproval, vec!["pay".to_owned()]);
    assert_eq!(of_ann[0], (Decision::Allow, Vec::new()));
    assert_eq!(of_ann[1], asks);
    assert_eq!(
        of_ann[2],
        (Decision::Deny, vec!["acme-sends-nothing".to_owned()])
    );
    // The rule is about another tenant: it neither decides nor is told.
    let of_mallory = judged(&cluster, MALLORY, sentence).await;
    assert_eq!(of_mallory[2], (Decision::Allow, Vec::new()));
    let chinese = judged(&cluster, ANN, "点击“立即付款”").await;
    assert_eq!(chinese, [asks]);
}

#[tokio::test]
async fn a_sentence_that_is_not_understood_is_named() {
    let cluster = Cluster::start(Vec::new()).await;
    let mut client = cluster.client_as(ANN);
    let request = wire::TestPolicyRequest {
        sentence: "frobnicate the canary".to_owned(),
        ..wire::TestPolicyRequest::default()
    };
    let status = client.test_policy(request).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(
        status.message().contains("`frobnicate the canary`"),
        "{status:?}"
    );
    assert!(status.message().contains("click \"Pay now\""), "{status:?}");
}
