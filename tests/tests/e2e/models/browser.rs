//! Models with their own computer tool at work in a browser whose DevTools are open: they go to an address, are told the address
//! of the page, and read text of it that is not on the screen.

use std::net::TcpListener;

use motorium_tests::desktop::{CHROMIUM, TestDesktop};
use motorium_tests::page_server::PageServer;
use motorium_tests::services::{AllInOne, TestSetup};
use serde_json::Value;

use super::dialect::Dialect;
use super::provider::Provider;
use super::{run, settings};

/// Beginning of the goal, before the address.
pub(super) const GOAL: &str = "Find the reference number on ";
/// Text at the end of `article.html`.
pub(super) const REFERENCE: &str = "4711-AB";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_goes_to_an_address_and_reads_the_page() {
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    let port = free_port();
    open_browser(&mut desktop, port, &site.url("membership.html?first"));
    site.wait_until_loaded().await;
    let mut models = Vec::new();
    for dialect in [Dialect::ClaudeComputer, Dialect::OpenAiComputer] {
        models.push((dialect, Provider::start(dialect).await));
    }
    let mut settings: Vec<String> = models.iter().flat_map(settings).collect();
    let kinds: Vec<&str> = models.iter().map(|(dialect, _)| dialect.kind()).collect();
    settings.push(format!("--set=planner.backends={kinds:?}"));
    settings.push(format!("--set=executor.devtools=http://127.0.0.1:{port}"));
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let up = AllInOne::start(TestSetup::on(&desktop), &settings).await;

    for (dialect, provider) in &models {
        let url = site.url(&format!("article.html?{}", dialect.kind()));
        let ended = run(*dialect, &up, &["--json", &format!("{GOAL}{url}")]).await;
        assert_eq!(ended.code, Some(0), "{dialect:?}: {ended:?}");
        let events = ended
            .stdout
            .lines()
            .map(|line| -> Value { serde_json::from_str(line).unwrap() });
        let addresses: Vec<String> = events
            .filter_map(|event| Some(event.get("observed")?["currentUrl"].as_str()?.to_owned()))
            .collect();
        assert_eq!(addresses.last(), Some(&url), "{dialect:?}: {addresses:?}");
        let mut requests = provider.requests().into_iter();
        assert!(
            requests.any(|request| request.to_string().contains(REFERENCE)),
            "{dialect:?}: the text of the page is not told to the model"
        );
    }
}

fn open_browser(desktop: &mut TestDesktop, port: u16, url: &str) {
    let profile = format!("--user-data-dir={}", desktop.path("browser").display());
    let port = format!("--remote-debugging-port={port}");
    let own = [&profile, &port, "--window-position=0,0", url];
    let arguments: Vec<&str> = CHROMIUM.into_iter().chain(own).collect();
    desktop.open("chromium", &arguments);
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
