//! Backends that are another Planner, hang or are overloaded: what the router does about them, from the command line to the screen.

use std::time::Duration;

use axum::Router;
use motorium_kit::private_file;
use motorium_tests::desktop::TestDesktop;
use motorium_tests::page_server::{PageServer, serve_application};
use motorium_tests::programs::ProgramResult;
use motorium_tests::services::{AllInOne, Server, TestSetup};
use tokio::time::Instant;

use super::dialect::Dialect;
use super::provider::{Fault, Provider};
use super::{GOAL, NAME, events, saved};

/// Time for which a backend is not asked after [`FAILURES`] failed decisions.
const OPEN: Duration = Duration::from_secs(3);
const FAILURES: usize = 2;
/// Time for one decision of all backends together: the first one that hangs takes half of it, and the next half of the rest.
const DECISION: Duration = Duration::from_secs(6);

/// Returns the settings of a backend that speaks with this provider. The retries are left to the task.
fn backend(name: &str, url: &str) -> Vec<String> {
    let model = Dialect::ClaudeSom.model();
    vec![
        format!("--set=planner.providers.of_{name}.base_url={url}"),
        format!("--set=planner.backend.{name}.kind=claude_som"),
        format!("--set=planner.backend.{name}.provider=of_{name}"),
        format!("--set=planner.backend.{name}.model={model}"),
    ]
}

/// Starts a provider that takes requests and never answers. Returns its address.
async fn hanging() -> String {
    let application = Router::new().fallback(std::future::pending::<()>);
    let (address, _) = serve_application(application).await;
    format!("http://{address}/v1")
}

async fn carry_out(up: &AllInOne, backends: &[&str], more: &[&str]) -> ProgramResult {
    let mut words = vec!["run", "--server", &up.url, "--max-time", "90s"];
    words.extend(backends.iter().flat_map(|name| ["--planner", name]));
    words.extend(more);
    words.push(GOAL);
    up.setup.motorium(&words).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_are_carried_out_by_another_planner_and_in_spite_of_hanging_and_overloaded_models() {
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    site.show("membership.html?first", &mut desktop).await;
    let provider = Provider::start(Dialect::ClaudeSom).await;
    let setup = TestSetup::on(&desktop);
    let token = setup.data().join("token-of-the-planner");
    private_file::create(&token, b"a-token-of-the-other-planner").unwrap();
    let mut own: Vec<String> = backend("inner", &provider.url)
        .iter()
        .map(|word| word.trim_start_matches("--set=").to_owned())
        .collect();
    own.push("planner.backends=[\"inner\"]".to_owned());
    own.push(format!("server.token_file={}", token.display()));
    let planner = Server::start(&setup, "planner", &own).await;
    let address = planner.url();
    let mut settings = vec![
        "--set=planner.backend.mine.kind=planner_service".to_owned(),
        format!("--set=planner.backend.mine.options.address={address}"),
        format!(
            "--set=planner.backend.mine.options.token_file={}",
            token.display()
        ),
        "--set=planner.backend.stranger.kind=planner_service".to_owned(),
        format!("--set=planner.backend.stranger.options.address={address}"),
        "--set=planner.backends=[\"mine\", \"stranger\", \"hangs\", \"hangs_too\", \"last\"]"
            .to_owned(),
        format!("--set=planner.decision_timeout={}s", DECISION.as_secs()),
        "--set=planner.retry.max_retries=0".to_owned(),
        format!("--set=planner.circuit_breaker.failure_threshold={FAILURES}"),
        format!(
            "--set=planner.circuit_breaker.open_duration={}s",
            OPEN.as_secs()
        ),
    ];
    let (one, two) = (hanging().await, hanging().await);
    settings.extend(backend("hangs", &one));
    settings.extend(backend("hangs_too", &two));
    settings.extend(backend("last", &provider.url));
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let up = AllInOne::start(setup, &settings).await;

    let ended = carry_out(&up, &["mine"], &[]).await;
    assert_eq!(ended.code, Some(0), "another Planner: {ended:?}");
    assert_eq!(saved(&site), [NAME], "another Planner: {ended:?}");

    let refused = carry_out(&up, &["stranger"], &[]).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let advice = "`token_file` or `token_env` of planner.backend.stranger.options";
    assert!(refused.stdout.contains(advice), "{refused:?}");

    site.go_to("membership.html?hangs").await;
    let ended = carry_out(&up, &["hangs", "hangs_too", "last"], &["--json"]).await;
    assert_eq!(ended.code, Some(0), "two hang: {ended:?}");
    assert_eq!(saved(&site), [NAME], "two hang: {ended:?}");
    let decided = events(&ended).into_iter().find_map(|event| {
        let backend = event.pointer("/decided/decision/backend")?;
        Some(backend.as_str()?.to_owned())
    });
    assert_eq!(decided.as_deref(), Some("last"), "{ended:?}");

    site.go_to("membership.html?overloaded").await;
    let before = provider.requests().len();
    provider.inject([Fault::Overloaded; FAILURES]);
    let began = Instant::now();
    let ended = carry_out(&up, &["last"], &[]).await;
    assert_eq!(ended.code, Some(0), "the circuit opens: {ended:?}");
    assert_eq!(saved(&site), [NAME], "the circuit opens: {ended:?}");
    assert!(began.elapsed() >= OPEN, "{:?}", began.elapsed());
    let asked = provider.requests().len() - before;
    assert!(asked <= FAILURES + 6, "it is not asked meanwhile: {asked}");
}
