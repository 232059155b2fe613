//! The MCP server: how many sessions a caller has, and files of tasks as resources.

use std::time::Duration;

use futures::future::join_all;
use reqwest::Response;
use serde_json::{Value, json};

use crate::support::{TOKEN, TestGateway};

const WITH_SESSIONS: &str = "2025-11-25";
const WITHOUT_SESSIONS: &str = "2026-07-28";
/// Maximum number of sessions of a caller, as docs/mcp.md says.
const MAX_SESSIONS: usize = 20;

async fn send(gateway: &TestGateway, version: &str, message: &Value) -> Response {
    let mut request = gateway
        .post("/mcp")
        .bearer_auth(TOKEN)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", version)
        .json(message);
    if version == WITHOUT_SESSIONS {
        request = request.header("mcp-method", message["method"].as_str().unwrap());
        for name in ["name", "uri"] {
            if let Some(name) = message["params"][name].as_str() {
                request = request.header("mcp-name", name);
            }
        }
    }
    request.send().await.unwrap()
}

async fn initialize(gateway: &TestGateway) -> Response {
    let client = json!({"name": "test", "version": "1"});
    let params =
        json!({"protocolVersion": WITH_SESSIONS, "capabilities": {}, "clientInfo": client});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    send(gateway, WITH_SESSIONS, &message).await
}

/// Sends a request of the protocol without sessions.
async fn call(gateway: &TestGateway, method: &str, mut params: Value) -> Response {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": WITHOUT_SESSIONS,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    });
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    send(gateway, WITHOUT_SESSIONS, &message).await
}

async fn answer(response: Response) -> Value {
    let text = response.text().await.unwrap();
    let mut data = text
        .lines()
        .rev()
        .filter_map(|line| line.strip_prefix("data: "));
    let json = data.find(|data| data.contains("\"id\":7"));
    serde_json::from_str(json.unwrap_or(&text)).unwrap_or_else(|_| panic!("{text}"))
}

fn get_task(wait_seconds: u32) -> Value {
    let arguments = json!({"task": "tasks/t1", "wait_seconds": wait_seconds});
    json!({"name": "get_task", "arguments": arguments})
}

#[tokio::test]
async fn calls_without_a_session_leave_room_for_sessions() {
    let gateway = TestGateway::start().await;
    let waiting = (0..MAX_SESSIONS + 5).map(|_| call(&gateway, "tools/call", get_task(60)));
    let test = async {
        let watched = || {
            let methods = gateway.services.methods.lock().unwrap();
            let watches = methods.iter().filter(|method| *method == "WatchTask");
            watches.count()
        };
        while watched() < MAX_SESSIONS + 5 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for _ in 0..MAX_SESSIONS {
            assert_eq!(initialize(&gateway).await.status(), 200);
        }
        assert_eq!(initialize(&gateway).await.status(), 429, "sessions count");
    };
    let waiting = async {
        let responses = join_all(waiting).await;
        let refused = responses.iter().filter(|one| one.status() != 200).count();
        assert_eq!(refused, 0, "a call that waits is no session");
        // Responses may have begun; none of them ends.
        std::future::pending::<()>().await;
    };
    tokio::time::timeout(Duration::from_secs(20), async {
        tokio::select! {
            () = test => {}
            () = waiting => {}
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn files_of_a_task_are_linked_and_read() {
    let gateway = TestGateway::start().await;
    let result = answer(call(&gateway, "tools/call", get_task(0)).await).await;
    let files = &result["result"]["structuredContent"]["files"];
    assert_eq!(files[0]["name"], "report.html");
    let links: Vec<&Value> = result["result"]["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|part| part["type"] == "resource_link")
        .collect();
    let [link] = links[..] else {
        panic!("one file has content: {result}");
    };
    assert_eq!((&link["uri"], &link["size"]), (&files[0]["uri"], &json!(8)));
    assert_eq!(files[1]["error"], "there is no such file");

    let read =
        async |uri: &str| answer(call(&gateway, "resources/read", json!({"uri": uri})).await).await;
    let page = read(link["uri"].as_str().unwrap()).await;
    let contents = &page["result"]["contents"][0];
    assert_eq!(contents["text"], "<script>", "{page}");
    assert_eq!(contents["mimeType"], "text/html");
    let image = read("motorium://tasks/t1/artifacts/image").await;
    let contents = &image["result"]["contents"][0];
    assert_eq!(contents["blob"], "PHNjcmlwdD4=", "{image}");
    for uri in ["motorium://tasks/t1/artifacts/none", "file:///etc/passwd"] {
        let refused = read(uri).await;
        assert!(refused["error"]["message"].is_string(), "{refused}");
    }
}
