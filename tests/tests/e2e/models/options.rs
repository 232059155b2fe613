//! Options of `motorium run` on their way to the task and to its model, what models are asked besides decisions, and what is kept of
//! their responses.

use std::collections::BTreeMap;
use std::path::Path;

use motorium_tests::desktop::TestDesktop;
use motorium_tests::page_server::PageServer;
use motorium_tests::services::{AllInOne, TestSetup};
use serde_json::{Value, json};

use super::dialect::Dialect;
use super::provider::Provider;
use super::{GOAL, NAME, events, run, saved, settings};

/// Summary that the model writes.
pub(super) const SUMMARY: &str = "The form is open, and its field is still empty.";
/// Correction of the pointer by the model, in pixels. It stays within every control of the form.
const CORRECTION: i32 = 7;
/// Key of the provider, which repeats it in its responses.
const KEY: &str = "sk-of-this-test-0123456789";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn options_of_a_run_reach_the_task_and_its_model() {
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    site.show("membership.html?first", &mut desktop).await;
    let model = (Dialect::Operator, Provider::start(Dialect::Operator).await);
    let mut settings = settings(&model);
    settings.push("--set=planner.backends=[\"operator\"]".to_owned());
    settings.push("--set=planner.providers.of_operator.key_env=MODEL_KEY".to_owned());
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let mut setup = TestSetup::on(&desktop);
    let key = "MODEL_KEY".to_owned();
    setup.environment.insert(key, KEY.to_owned());
    let up = AllInOne::start(setup, &settings).await;

    let (dialect, provider) = model;
    let task = check_options(dialect, &provider, &up, &site).await;
    check_export(&up, &task).await;
    site.go_to("membership.html?second").await;
    let ended = run(dialect, &up, &["--max-steps", "1", GOAL]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stdout.contains(SUMMARY),
        "the model tells how far it came: {ended:?}"
    );
}

/// Returns the name of the task.
async fn check_options(
    dialect: Dialect,
    provider: &Provider,
    up: &AllInOne,
    site: &PageServer,
) -> String {
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

    let events = events(&ended);
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
    for text in [
        "Use the full name",
        "My card is blue",
        "A blue card, then",
        "现在的屏幕",
    ] {
        assert!(provider.was_told(text), "{text} is not told to the model");
    }
    task["name"].as_str().unwrap().to_owned()
}

/// Exports the task: the requests of each step and of other calls are among its files, and the responses as the provider sent
/// them, without its key.
async fn check_export(up: &AllInOne, task: &str) {
    let folder = up.setup.data().join("exported");
    let to = folder.to_string_lossy();
    let export = ["tasks", "export", task, "--server", &up.url, "--to", &to];
    let exported = up.setup.motorium(&export).await;
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let responses = texts(&folder.join("responses"));
    let first = &responses["step-001.json"];
    for part in ["chat.completion", "Filling the form", "Bearer <secret>"] {
        assert!(first.contains(part), "{part} is not in {first}");
    }
    let of_pointer = responses.keys().filter(|name| name.contains("pointer"));
    assert!(of_pointer.count() >= 2, "{responses:?}");
    let requests = texts(&folder.join("requests"));
    assert_eq!(requests.len(), responses.len());
    let first = &requests["step-001.json"];
    for part in ["\"messages\"", "Use the full name", "<image artifacts/"] {
        assert!(first.contains(part), "{part} is not in {first}");
    }
    let exchanges = requests.into_iter().chain(responses);
    let all = texts(&folder).into_iter().chain(exchanges);
    for (name, text) in all {
        assert!(!text.contains(KEY), "{name} has the key: {text}");
    }
}

/// Returns the texts of the files in a folder, with their names.
fn texts(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| path.is_file());
    files
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let content = std::fs::read(&path).unwrap();
            (name, String::from_utf8_lossy(&content).into_owned())
        })
        .collect()
}
