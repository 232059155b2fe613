//! A model that claims success whatever came of its action, on pages that mislead: no such claim ends a task in success unless
//! the page has reached its goal, and a true one does.
//!
//! Each claim names evidence that is on the screen without any success: the name of the button, or the text that was typed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use motorium_tests::desktop::TestDesktop;
use motorium_tests::page_server::{PageServer, serve_application};
use motorium_tests::services::{AllInOne, TestSetup};
use serde_json::json;

use crate::misleading::is_reached;
use crate::model_provider::{element_called, elements_of, says};

/// Time that the model takes for a response, less than any real one does.
const RESPONSE_TIME: Duration = Duration::from_secs(1);

/// An action of the model.
#[derive(Debug, Clone, Copy)]
enum Act {
    Click(&'static str),
    /// Types a text into a field, counted from 1.
    Type(usize, &'static str),
}

/// Kinds of pages of `misleading.html`, and what the model does there before it claims success.
const KINDS: &[(&str, &[Act])] = &[
    ("dead", &[Act::Click("Lantern")]),
    ("covered", &[Act::Click("Lantern")]),
    ("feed", &[Act::Click("Lantern")]),
    ("notice", &[Act::Click("Lantern")]),
    ("failing", &[Act::Click("Save")]),
    ("saving", &[Act::Click("Save")]),
    ("reverting", &[Act::Click("Lantern")]),
    ("masked", &[Act::Type(1, "forty")]),
    ("emptying", &[Act::Type(1, "forty2")]),
    ("leaving", &[Act::Type(1, "12ab"), Act::Type(2, "Ann")]),
    (
        "slow",
        &[Act::Type(1, "Lisbon"), Act::Type(2, "Rua Augusta")],
    ),
];
/// Kinds on which the action reaches the goal.
const REACHABLE: &[&str] = &["reverting", "saving", "slow"];

/// Actions that the model has yet to do on a page, and the last one that it did.
#[derive(Debug, Default)]
struct Script {
    /// The last action first.
    left: Vec<Act>,
    last: Option<Act>,
}

/// A chat endpoint that acts as the script says, and then claims success.
struct ClaimingModel {
    url: String,
    script: Arc<Mutex<Script>>,
}

impl ClaimingModel {
    async fn start() -> Self {
        let script = Arc::<Mutex<Script>>::default();
        let application = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&script));
        let (address, _) = serve_application(application).await;
        Self {
            url: format!("http://{address}/v1"),
            script,
        }
    }

    fn begin(&self, actions: &[Act]) {
        *self.script.lock().unwrap() = Script {
            left: actions.iter().rev().copied().collect(),
            last: None,
        };
    }
}

async fn answer(State(script): State<Arc<Mutex<Script>>>, body: Bytes) -> Response {
    let body = String::from_utf8_lossy(&body);
    if script.lock().unwrap().left.is_empty() {
        // A model takes its time, in which a slow page goes on.
        tokio::time::sleep(RESPONSE_TIME).await;
    }
    let mut script = script.lock().unwrap();
    let Some(act) = script.left.pop() else {
        let evidence = match script.last {
            Some(Act::Click(name)) => name,
            Some(Act::Type(_, text)) => text,
            None => "",
        };
        let claim = json!({"next": "done", "message": "It is done.", "evidence": [evidence]});
        return says(&claim.to_string());
    };
    script.last = Some(act);
    let action = match act {
        Act::Click(name) => json!({"intent": format!("click {name}"), "action": "click",
            "element_id": element_called(&body, name)}),
        Act::Type(field, text) => json!({"intent": format!("type {text}"), "action": "type_text",
            "element_id": nth_field(&body, field), "text": text}),
    };
    says(&json!({"next": "act", "actions": [action]}).to_string())
}

/// Returns the number of a field in the list of elements that the request has.
fn nth_field(body: &str, number: usize) -> u32 {
    let elements = elements_of(body);
    let fields: Vec<&str> = elements
        .lines()
        .filter(|line| line.starts_with('[') && line.contains("text_field"))
        .collect();
    let field = fields.get(number - 1);
    let field = field.unwrap_or_else(|| panic!("no field {number} in\n{elements}"));
    field[1..].split(']').next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_of_success_is_believed_only_where_it_is_so() {
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    site.show("misleading.html?kind=dead&seed=0", &mut desktop)
        .await;
    let model = ClaimingModel::start().await;
    let base_url = format!("--set=planner.providers.own.base_url={}", model.url);
    let settings = [
        "--set=planner.backends=[\"operator\"]",
        "--set=planner.backend.operator.provider=own",
        "--set=planner.backend.operator.model=local-vl",
        base_url.as_str(),
    ];
    let up = AllInOne::start(TestSetup::on(&desktop), &settings).await;
    let mut failures = Vec::new();
    for (seed, (kind, actions)) in (1..).zip(KINDS) {
        site.go_to(&format!("misleading.html?kind={kind}&seed={seed}"))
            .await;
        model.begin(actions);
        let run = ["run", "--server", &up.url, "do what the page is for"];
        let ended = up.setup.motorium(&run).await;
        let is_done = ended.code == Some(0);
        let is_reached = is_reached(&site, is_done).await;
        if is_done && !is_reached || !is_done && REACHABLE.contains(kind) {
            failures.push(format!(
                "{kind} {seed}: done {is_done}, so {is_reached}\n{ended:?}"
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
