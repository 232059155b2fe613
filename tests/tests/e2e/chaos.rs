//! The short form of `make chaos`: links between orchestrator and executors that lose a direction, deliver late, twice and out of
//! order, and executors that lose their journals.

use motorium_tests::programs::{self, binary};

/// Faults of the way from the intent of an action to its outcome. The others take seconds to be noticed.
const FAULTS: &str = "requests_late,requests_duplicated,requests_reordered,responses_lost,journal_lost,journal_older,\
                      link_cut,link_requests_dropped,link_responses_dropped,executor_killed";

#[tokio::test]
async fn faults_of_links_and_journals_repeat_and_lose_nothing() {
    let environment = [
        ("TASKS", "5"),
        ("DESKTOPS", "5"),
        ("STORES", "sqlite"),
        ("FAULT_INTERVAL", "300"),
        ("FAULTS", FAULTS),
    ];
    let programs = binary("motorium-chaos");
    let programs = programs.parent().expect("a program is in a folder");
    let mut environment: std::collections::BTreeMap<String, String> = environment
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    environment.insert(
        "MOTORIUM_PROGRAMS".to_owned(),
        programs.to_string_lossy().into_owned(),
    );
    let data = motorium_tests::services::installed_data();
    environment.insert(
        "MOTORIUM_DATA".to_owned(),
        data.to_string_lossy().into_owned(),
    );
    let ended = programs::run(programs::command(binary("motorium-chaos"), &environment)).await;
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let counts: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let run = &counts["runs"][0];
    assert_eq!(run["tasks"], 5, "{run}");
    let late = run["late_deliveries"].as_object().unwrap().values();
    assert!(
        late.filter_map(serde_json::Value::as_u64).sum::<u64>() > 0,
        "{run}"
    );
}
