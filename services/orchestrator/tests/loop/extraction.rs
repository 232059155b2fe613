//! Extraction: what the page's text adds to the screen, and when it does not.

use std::time::Duration;

use motorium_orchestrator::hooks::redaction;
use motorium_orchestrator::hooks::settings::HookSettings;
use motorium_proto::domain::decision::Next;
use motorium_proto::error::ErrorReport;
use tokio::time::Instant;
use tonic::Code;

use crate::support::cluster::Cluster;
use crate::support::script::done;

const PAGE: &str = "7 items\nann@example.org\nTotal 12";

fn script() -> Vec<Next> {
    let extract = Next::Extract {
        json_schema: "{}".to_owned(),
        instruction: "all prices".to_owned(),
    };
    vec![extract, done("taken")]
}

/// Carries out an extraction, and returns the text of the page that it had.
async fn page_text(cluster: &Cluster) -> Option<String> {
    cluster.world.write_on_page(PAGE);
    cluster.world.extract(Ok(r#"{"prices": [3]}"#));
    let story = cluster.carry_out().await;
    assert_eq!(story.answer(), "taken", "{}", story.text());
    assert_eq!(story.count("extracted"), 1);
    cluster.world.extracted_from()[0].page_text.clone()
}

async fn redacting(what: &str) -> Cluster {
    let hook = HookSettings::Redaction(redaction::Settings {
        redact: vec![what.to_owned()],
        ..redaction::Settings::default()
    });
    let cluster = Cluster::start_with(script(), |settings| settings.hooks = vec![hook]).await;
    cluster.world.show_page("https://shop.example/cart");
    cluster
}

#[tokio::test]
async fn page_text_is_read_only_from_a_foreground_browser() {
    let cluster = Cluster::start(script()).await;
    assert_eq!(page_text(&cluster).await, None);
    assert_eq!(cluster.world.count("read_page"), 0, "it is not even asked");

    let cluster = Cluster::start(script()).await;
    cluster.world.show_page("https://shop.example/cart");
    assert_eq!(page_text(&cluster).await.as_deref(), Some(PAGE));
}

#[tokio::test]
async fn unreadable_browser_does_not_block_extraction() {
    let away = ErrorReport::new(Code::Unavailable, "BROWSER_UNREACHABLE", "no browser");
    let cluster = Cluster::start(script()).await;
    cluster.world.show_page("https://shop.example/cart");
    cluster.world.fail("read_page", 99, &away);
    assert_eq!(page_text(&cluster).await, None);
    let reads = cluster.world.count("read_page");
    assert!(reads <= 3, "asked once for each URL and the text: {reads}");

    let cluster = Cluster::start(script()).await;
    cluster.world.show_page("https://shop.example/cart");
    cluster.world.hold("read_page");
    let began = Instant::now();
    assert_eq!(page_text(&cluster).await, None);
    assert!(began.elapsed() < Duration::from_secs(15));
}

#[tokio::test]
async fn redaction_applies_to_page_text() {
    for (redaction, expected) in [
        ("email_addresses", Some("7 items\n[redacted]\nTotal 12")),
        ("text:^Total", Some("7 items\nann@example.org\n[redacted]")),
        ("region:0,0,10,10", None),
        ("window:chromium", None),
        ("window:mail", Some(PAGE)),
    ] {
        let cluster = redacting(redaction).await;
        let text = page_text(&cluster).await;
        assert_eq!(text.as_deref(), expected, "{redaction}");
    }
}
