//! Bodies that browsers and other programs send to the gateway.

use futures::stream::{self, StreamExt as _};
use motorium_kit::http_client;
use motorium_tests::services::{Server, TestSetup};

use crate::orchestrator::CONCURRENCY;
use crate::{Filled, Measured, Measurement};

/// Size of a body, and of one that is larger than allowed.
const BODY: usize = (6 << 20) - 1024;
const TOO_LARGE: usize = 7 << 20;

/// Sends bodies of JSON, many at a time, and some that are too large.
pub(crate) async fn bodies() -> Measured {
    let setup = TestSetup::without_display();
    let planner = ["orchestrator.planner=http://127.0.0.1:9".to_owned()];
    let orchestrator = Server::start(&setup, "orchestrator", &planner).await;
    let settings = [format!("gateway.orchestrator={}", orchestrator.url())];
    let gateway = Server::start(&setup, "gateway", &settings).await;
    let client = http_client::plaintext().expect("a client without a certificate");
    let client = client.build().expect("its settings are complete");
    let token = setup.motorium(&["token"]).await.stdout;
    let measurement = Measurement::begin(gateway.process.id(), None);
    let calls = (0..256).map(|number| {
        let is_too_large = number % 8 == 0;
        let length = if is_too_large { TOO_LARGE } else { BODY };
        let request = client
            .post(format!("{}/api/chat/send", gateway.url()))
            .bearer_auth(token.trim())
            .header("content-type", "application/json")
            .body(format!("{{\"text\": \"{}\"}}", "t".repeat(length)));
        async move {
            // A goal of this length is refused as well, but not as a body.
            let is_refused = match request.send().await {
                Ok(response) => response.status().as_u16() == 413,
                Err(_) => is_too_large,
            };
            if is_refused { Err(()) } else { Ok(()) }
        }
    });
    let results: Vec<_> = stream::iter(calls)
        .buffer_unordered(CONCURRENCY)
        .collect()
        .await;
    measurement.end(Filled::of(&results))
}
