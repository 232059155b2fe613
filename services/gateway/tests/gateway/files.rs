//! Artifacts and uploads.

use http::header;
use motorium_proto::limits::MAX_FILE_BYTES;
use serde_json::Value;

use crate::support::{TOKEN, TestGateway};

#[tokio::test]
async fn images_are_shown_and_everything_else_is_saved() {
    let gateway = TestGateway::start().await;
    let get = |name: &str| gateway.get(&format!("/api/artifacts/tasks/t1/artifacts/{name}"));
    let image = get("image").bearer_auth(TOKEN).send().await.unwrap();
    assert_eq!(image.status(), 200);
    assert_eq!(image.headers()[header::CONTENT_TYPE], "image/png");
    let disposition = image.headers()[header::CONTENT_DISPOSITION]
        .to_str()
        .unwrap();
    assert!(disposition.starts_with("inline"));
    let cache = image.headers()[header::CACHE_CONTROL].to_str().unwrap();
    assert!(cache.contains("private") && cache.contains("immutable"));
    let tag = image.headers()[header::ETAG].clone();
    let again = get("image")
        .bearer_auth(TOKEN)
        .header(header::IF_NONE_MATCH, tag);
    assert_eq!(again.send().await.unwrap().status(), 304);

    let page = get("page").bearer_auth(TOKEN).send().await.unwrap();
    assert_eq!(
        page.headers()[header::CONTENT_TYPE],
        "application/octet-stream"
    );
    let disposition = page.headers()[header::CONTENT_DISPOSITION]
        .to_str()
        .unwrap();
    assert!(disposition.starts_with("attachment") && disposition.contains("page.html"));
    let policy = page.headers()[header::CONTENT_SECURITY_POLICY]
        .to_str()
        .unwrap();
    assert!(policy.starts_with("sandbox"), "{policy}");
}

#[tokio::test]
async fn names_of_artifacts_cannot_be_paths() {
    let gateway = TestGateway::start().await;
    for path in [
        "/api/artifacts/tasks/t1/artifacts/..%2f..%2fsessions.json",
        "/api/artifacts/tasks/..%2ft1/artifacts/image",
        "/api/artifacts/tasks/t1/artifacts/%00",
        "/api/artifacts/tasks/t1/artifacts/.hidden",
        "/api/artifacts/etc/passwd",
        "/api/artifacts//etc/passwd",
        "/api/artifacts/tasks/t1/artifacts/nothing",
    ] {
        let response = gateway.get(path).bearer_auth(TOKEN).send().await.unwrap();
        let status = response.status().as_u16();
        assert!(status == 400 || status == 404, "{path}: {status}");
    }
    let called = gateway.services.methods.lock().unwrap().clone();
    let reads = called
        .iter()
        .filter(|method| *method == "GetArtifact")
        .count();
    assert_eq!(reads, 1, "only the plain name reaches the Orchestrator");
}

#[tokio::test]
async fn uploads_are_limited() {
    let gateway = TestGateway::start().await;
    let size = 700_000;
    let uploaded = gateway
        .post("/api/uploads")
        .bearer_auth(TOKEN)
        .body(vec![7; size]);
    let uploaded: Value = uploaded.send().await.unwrap().json().await.unwrap();
    assert_eq!(uploaded["upload"], "uploads/u1");
    assert_eq!(uploaded["size_bytes"], size);
    *gateway.services.uploaded.lock().unwrap() = None;

    let declared = gateway
        .post("/api/uploads")
        .bearer_auth(TOKEN)
        .body(vec![7; MAX_FILE_BYTES + 1]);
    // The server may close the connection before it has read everything.
    if let Ok(response) = declared.send().await {
        assert_eq!(response.status(), 413);
        let error: Value = response.json().await.unwrap();
        assert_eq!(error["error"]["reason"], "BODY_TOO_LARGE");
    }
    assert_eq!(*gateway.services.uploaded.lock().unwrap(), None);

    let json = format!("{{\"instruction\": \"{}\"}}", "a".repeat(7 * 1024 * 1024));
    let request = gateway.post("/task").bearer_auth(TOKEN);
    let request = request
        .header("content-type", "application/json")
        .body(json);
    if let Ok(response) = request.send().await {
        assert_eq!(response.status(), 413);
    }
    assert!(gateway.services.goal.lock().unwrap().is_empty());
}
