//! Addresses that are typed into the address bar of a browser without DevTools: the rules of the Executor hold there as they do for
//! `open_url`, also under a policy that asks nothing.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request;
use axum::http::header::HOST;
use motorium_tests::desktop::TestDesktop;
use motorium_tests::page_server::serve_application;
use motorium_tests::services::{AllInOne, TestSetup};

const NAMES: &str = "--host-resolver-rules=MAP *.test 127.0.0.1, MAP *.com:80 127.0.0.1:PORT, MAP *.com:443 127.0.0.1:PORT";
const DENIED: &str = "--set=executor.rules.denied_url_hosts=[\"pay.test\", \"www.pay.com\"]";

/// Ways to open an address, of which `PORT` is the port, and the host that is denied: in one text, in two, and a name that the browser
/// completes.
const ATTEMPTS: [(&str, &str); 3] = [
    ("type \"pay.test:PORT/typed\", press Enter", "pay.test"),
    (
        "type \"pay.te\", type \"st:PORT/pieces\", press Enter",
        "pay.test",
    ),
    ("type \"pay\", press ctrl+Enter", "www.pay.com"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denied_host_is_not_opened_by_typing_its_address() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let application = Router::new().fallback(async move |request: Request| {
        let host = request.headers()[HOST].to_str().unwrap().to_owned();
        seen.lock().unwrap().push(host + request.uri().path());
        "a page"
    });
    let (address, _serving) = serve_application(application).await;
    let port = address.rsplit(':').next().unwrap();
    let mut desktop = TestDesktop::start().await;
    desktop.open_browser(&[&NAMES.replace("PORT", port)], "about:blank");
    let up = AllInOne::start(TestSetup::on(&desktop), &[DENIED]).await;
    let run = async |attempt: &str| {
        let attempt = attempt.replace("PORT", port);
        let goal = format!("switch to chromium, press ctrl+l, {attempt}");
        up.setup
            .motorium(&["run", "--server", &up.url, &goal])
            .await
    };
    // What is not denied is opened, so that the attempts below would be.
    let opened = run("type \"shop.test:PORT/shown\", press Enter").await;
    assert_eq!(opened.code, Some(0), "{opened:?}");
    motorium_tests::until("the allowed page", async || {
        let is_shown = |one: &String| one.starts_with("shop.test") && one.ends_with("/shown");
        asked.lock().unwrap().iter().any(is_shown).then_some(())
    })
    .await;
    let completed = run("type \"shop\", press ctrl+Enter").await;
    assert_eq!(completed.code, Some(0), "{completed:?}");
    motorium_tests::until("the completed name", async || {
        let is_shown = |one: &String| one.starts_with("www.shop.com");
        asked.lock().unwrap().iter().any(is_shown).then_some(())
    })
    .await;
    for (attempt, denied) in ATTEMPTS {
        let refused = run(attempt).await;
        assert_ne!(refused.code, Some(0), "{attempt}: {refused:?}");
        let output = format!("{}{}", refused.stdout, refused.stderr);
        assert!(output.contains(&format!("{denied} is denied")), "{output}");
    }
    let asked = asked.lock().unwrap();
    let reached: Vec<_> = asked
        .iter()
        .filter(|one| one.starts_with("pay.") || one.starts_with("www.pay."))
        .collect();
    assert!(reached.is_empty(), "{reached:?}");
}
