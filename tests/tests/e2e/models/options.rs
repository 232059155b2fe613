//! Options of `motorium run` on their way to the task and to its model, and what models are asked besides decisions.

use motorium_tests::desktop::TestDesktop;
use motorium_tests::page_server::PageServer;
use motorium_tests::services::{AllInOne, TestSetup};
use serde_json::{Value, json};

use super::dialect::Dialect;
use super::provider::Provider;
use super::{GOAL, NAME, run, saved, settings};

/// Summary that the model writes.
pub(super) const SUMMARY: &str = "The form is open, and its field is still empty.";
/// Correction of the pointer by the model, in pixels. It stays within every control of the form.
const CORRECTION: i32 = 7;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn options_of_a_run_reach_the_task_and_its_model() {
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    site.show("membership.html?first", &mut desktop).await;
    let model = (Dialect::Operator, Provider::start(Dialect::Operator).await);
    let mut settings = settings(&model);
    settings.push("--set=planner.backends=[\"operator\"]".to_owned());
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let up = AllInOne::start(TestSetup::on(&desktop), &settings).await;

    let (dialect, provider) = model;
    check_options(dialect, &provider, &up, &site).await;
    site.go_to("membership.html?second").await;
    let ended = run(dialect, &up, &["--max-steps", "1", GOAL]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stdout.contains(SUMMARY),
        "the model tells how far it came: {ended:?}"
    );
}

async fn check_options(dialect: Dialect, provider: &Provider, up: &AllInOne, site: &PageServer) {
    let history = up.setup.data().join("history.json");
    let messages = json!([
        {"role": "user", "content": "My card is blue"},
        {"role": "assistant", "content": "A blue card, then"},
    ]);
    std::fs::write(&history, messages.to_string()).unwrap();
    let history = history.to_string_lossy();
    provider.correct_pointer(CORRECTION);
    let options = [
        "--json",
        "--instructions=Use the full name",
        "--label=team=claims",
        "--language=zh",
        "--max-tokens=500000",
        "--max-cost=2.50",
        "--verify-clicks",
        "--history",
        &history,
        "--expect-text",
        "Saved",
        GOAL,
    ];
    let ended = run(dialect, up, &options).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(saved(site), [NAME]);

    let events: Vec<Value> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of_kind = |kind: &str| -> Vec<&Value> {
        let found = events.iter().filter_map(|event| event.get(kind));
        found.collect()
    };
    let task = &of_kind("created")[0]["task"];
    assert_eq!(task["labels"]["team"], "claims");
    assert_eq!(task["language"], "zh");
    assert_eq!(task["limits"]["maxTokens"], "500000");
    assert_eq!(task["limits"]["maxCostMicrosUsd"], "2500000");
    assert_eq!(task["verifyClicks"], true);

    let checks = of_kind("pointerChecked");
    assert!(
        checks.len() >= 2,
        "both clicks of the form are verified: {checks:?}"
    );
    assert_eq!(checks[0]["corrections"], 1);
    let decisions = provider.requests();
    let decisions: Vec<String> = decisions.iter().map(Value::to_string).collect();
    let has = |text: &str| decisions.iter().any(|request| request.contains(text));
    for text in [
        "Use the full name",
        "My card is blue",
        "A blue card, then",
        "现在的屏幕",
    ] {
        assert!(has(text), "{text} is not told to the model");
    }
}
