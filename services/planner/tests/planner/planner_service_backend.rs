//! Another Planner as a backend, over gRPC.

use std::sync::Arc;

use motorium_kit::server::{self, RunningServer};
use motorium_kit::shutdown::Shutdown;
use motorium_planner::PlannerService;
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::domain::decision::Next;
use motorium_proto::service::{Planner as _, PlannerServer};

use crate::fake_provider::Provider;
use crate::fixtures::fixture;
use crate::task::{Task, service};

async fn served(planner: PlannerService) -> RunningServer {
    server::Builder::new(server::Config::loopback())
        .service(PlannerServer::tonic(Arc::new(planner)), FILE_DESCRIPTOR_SET)
        .start(&Shutdown::new())
        .await
        .unwrap()
}

fn behind(server: &RunningServer, more: &str) -> String {
    format!(
        r#"
        backends = ["mine"{more}]
        retry = {{ max_retries = 1, initial_backoff = "1ms" }}
        [backend.mine]
        kind = "planner_service"
        options = {{ address = "http://{}" }}
        "#,
        server.local_address()
    )
}

#[tokio::test]
async fn another_planner_decides_and_gets_its_own_conversation_back() {
    let claude = Provider::start().await;
    for number in 1..=2 {
        let mut answer = fixture("anthropic/click.json");
        answer["content"][2]["id"] = serde_json::json!(format!("toolu_{number}"));
        claude.will_answer(200, answer);
    }
    let theirs = service(&format!(
        "backends = [\"claude_computer\"]\n[providers.anthropic]\nbase_url = \"{}\"",
        claude.url
    ));
    let server = served(theirs).await;
    let mut task = Task::new(&behind(&server, ""), "save the file");
    for _ in 0..2 {
        let planned = task.step().await;
        assert_eq!(planned.decision.backend, "mine");
        assert_eq!(planned.decision.model, "claude-opus-4-6");
        assert_eq!(planned.decision.usage.calls, 1, "counted once");
        assert_eq!(planned.responses.len(), 1, "the provider's own words");
        assert!(planned.requests[0].contains("save the file"));
    }
    let second = &claude.received()[1].body["messages"];
    assert_eq!(second.as_array().unwrap().len(), 3, "it goes on: {second}");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn the_next_backend_decides_where_another_planner_is_away() {
    let server = served(service("backends = [\"phrasebook\"]")).await;
    let settings = behind(&server, ", \"phrasebook\"");
    server.stop().await.unwrap();
    let task = Task::new(&settings, "click \"Save\"");
    let planned = task.service.plan(task.request.clone()).await.unwrap();
    assert!(matches!(planned.decision.next, Next::Act(_)));
    assert_eq!(planned.decision.backend, "phrasebook");
    assert_eq!(planned.attempts[0].reason, "TRANSIENT");
}

#[test]
fn a_planner_without_an_address_is_named() {
    let settings: motorium_planner::Settings = toml::from_str(
        "backends = [\"mine\"]\n[backend.mine]\nkind = \"planner_service\"\nmodel = \"m\"",
    )
    .unwrap();
    let error = settings.resolve().unwrap_err().to_string();
    assert!(
        error.contains("planner.backend.mine") && error.contains("`model`"),
        "{error}"
    );
    let settings: motorium_planner::Settings =
        toml::from_str("backends = [\"mine\"]\n[backend.mine]\nkind = \"planner_service\"")
            .unwrap();
    let error = settings.resolve().unwrap_err().to_string();
    assert!(error.contains("missing field `address`"), "{error}");
}
