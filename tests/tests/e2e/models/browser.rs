//! Models with their own computer tool at work in a browser whose DevTools are open: they lead it by functions, are told the address
//! of the page, and read what is not on the screen, without what is hidden from them.

use motorium_tests::desktop::TestDesktop;
use motorium_tests::free_port;
use motorium_tests::page_server::PageServer;
use motorium_tests::services::{AllInOne, TestSetup};
use serde_json::{Value, json};

use super::dialect::{Dialect, Move};
use super::provider::Provider;
use super::sight::{Form, Sight};
use super::{events, run, settings};

/// Beginning of the goal, before the address.
pub(super) const GOAL: &str = "Find the reference number on ";
/// Texts at the end of `article.html`: what is looked for, the value of a secret, and an address that a hook redacts.
const REFERENCE: &str = "4711-AB";
const CARD: &str = "5500-1234";
const EMAIL: &str = "ann@example.org";

const REDACTION: &str =
    "--set=orchestrator.hooks=[{ kind = \"redaction\", redact = [\"email_addresses\"] }]";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn models_lead_the_browser_by_functions_and_read_its_page() {
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    let port = free_port();
    let start = site.url("membership.html?first");
    desktop.open_browser(&[&format!("--remote-debugging-port={port}")], &start);
    site.wait_until_loaded().await;
    let mut models = Vec::new();
    for dialect in [Dialect::ClaudeComputer, Dialect::OpenAiComputer] {
        models.push((dialect, Provider::start(dialect).await));
    }
    let mut settings: Vec<String> = models.iter().flat_map(settings).collect();
    let kinds: Vec<&str> = models.iter().map(|(dialect, _)| dialect.kind()).collect();
    settings.push(format!("--set=planner.backends={kinds:?}"));
    settings.push(format!("--set=executor.devtools=http://127.0.0.1:{port}"));
    settings.push(REDACTION.to_owned());
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let mut setup = TestSetup::on(&desktop);
    let secret = "MOTORIUM_SECRET_CARD".to_owned();
    setup.environment.insert(secret, CARD.to_owned());
    let up = AllInOne::start(setup, &settings).await;

    for (dialect, provider) in &models {
        let url = site.url(&format!("article.html?{}", dialect.kind()));
        let ended = run(*dialect, &up, &["--json", &format!("{GOAL}{url}")]).await;
        assert_eq!(ended.code, Some(0), "{dialect:?}: {ended:?}");
        let events = events(&ended);
        check_navigation(*dialect, provider, &events);
        check_addresses(*dialect, provider, &events, [&start, &url]);
        check_page_text(*dialect, provider, &events);
        assert!(!ended.stdout.contains(CARD), "{dialect:?}: {ended:?}");
    }
}

/// Decides in a browser that shows the form: goes to the address of the goal and reads the page; goes back, forward and back again,
/// and loads the form anew, which takes the focus away; then opens an editor, and looks at the form again.
pub(super) fn decide(step: usize, sight: &Sight) -> Move {
    let goal = sight.text.split(GOAL).nth(1);
    let url = goal.and_then(|text| text.split_whitespace().next());
    let url = url.expect("the goal has an address").trim_matches('"');
    let call = |name, arguments| Move::Call(name, arguments);
    match (step, sight.form()) {
        (1, _) => call("go_to_url", json!({"url": url})),
        (2, _) => call("read_page", json!({})),
        (3, _) => call(
            "extract",
            json!({"instruction": "the number", "json_schema": schema()}),
        ),
        (4, _) => call("go_back", json!({})),
        (5, Form::Empty(centre)) => Move::Click("Your name", centre),
        (6, _) => call("refresh", json!({})),
        (7, _) => call("go_forward", json!({})),
        (8, _) => call("go_back", json!({})),
        (9, _) => call("open_application", json!({"name": "editor"})),
        (10, _) => call("focus_window", json!({"window": "Membership"})),
        _ => Move::Done("Your name"),
    }
}

fn schema() -> String {
    let properties = json!({"reference": {"type": "string"}});
    json!({"type": "object", "properties": properties, "required": ["reference"]}).to_string()
}

/// Returns the data that the model takes from the text of the page.
pub(super) fn extracted(request: &str) -> String {
    let after = request.split("Reference number ").nth(1);
    let is_of_it = |character: &char| character.is_alphanumeric() || *character == '-';
    let number = after.map(|text| text.chars().take_while(is_of_it).collect::<String>());
    json!({"data": {"reference": number}, "sources": {}}).to_string()
}

/// Checks by what the model sees that each function took effect, and by the windows that the editor was opened and left.
fn check_navigation(dialect: Dialect, provider: &Provider, events: &[Value]) {
    let seen = provider.browsed();
    let until_editor = [
        "empty", "absent", "absent", "absent", "empty", "focused", "empty", "absent", "empty",
    ];
    assert_eq!(seen[..9], until_editor, "{dialect:?}");
    assert_eq!(seen[10], "empty", "{dialect:?}: {seen:?}");
    let windows = events
        .iter()
        .filter_map(|event| event["observed"]["frame"]["windows"].as_array());
    let is_active = |window: &&Value| window["active"] == true;
    let active: Vec<String> = windows
        .filter_map(|windows| windows.iter().find(is_active)?["application"].as_str())
        .map(str::to_lowercase)
        .collect();
    assert!(
        active.contains(&"mousepad".to_owned()),
        "{dialect:?}: {active:?}"
    );
    assert!(
        active.last().is_some_and(|last| last.contains("chrom")),
        "{dialect:?}: {active:?}"
    );
}

/// Checks that the address of the page is part of the events, and known to the model also where the goal does not name it.
fn check_addresses(
    dialect: Dialect,
    provider: &Provider,
    events: &[Value],
    [start, url]: [&String; 2],
) {
    let addresses: Vec<&str> = events
        .iter()
        .filter_map(|event| event["observed"]["currentUrl"].as_str())
        .collect();
    assert!(
        addresses.contains(&url.as_str()),
        "{dialect:?}: {addresses:?}"
    );
    assert_eq!(
        addresses.last(),
        Some(&start.as_str()),
        "{dialect:?}: {addresses:?}"
    );
    assert!(
        provider.was_told(start),
        "{dialect:?}: the model is not told {start}"
    );
}

/// Checks what the model learns of the page: its text, and the data in it, without the value of a secret and the redacted address.
fn check_page_text(dialect: Dialect, provider: &Provider, events: &[Value]) {
    let data: Vec<Value> = events
        .iter()
        .filter_map(|event| event["extracted"]["json"].as_str())
        .map(|json| serde_json::from_str(json).unwrap())
        .collect();
    let [text, found] = &data[..] else {
        panic!("{dialect:?}: two extractions are expected: {data:?}");
    };
    assert_eq!(found, &json!({"reference": REFERENCE}), "{dialect:?}");
    let text = text.as_str().unwrap();
    for part in [
        "About tides",
        REFERENCE,
        "Paid with card [secret card]",
        "[redacted]",
    ] {
        assert!(text.contains(part), "{dialect:?}: {part} is not in {text}");
    }
    assert!(provider.was_told(REFERENCE), "{dialect:?}");
    for hidden in [CARD, EMAIL] {
        assert!(!provider.was_told(hidden), "{dialect:?}: {hidden}");
    }
}
