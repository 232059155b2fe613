//! The chat protocol: REST and server-sent events.

use serde_json::{Value, json};

use crate::support::{TOKEN, TestGateway};

/// A received event: its id, its kind and its data.
#[derive(Debug)]
struct SentEvent {
    id: String,
    kind: String,
    data: Value,
}

/// Opens a stream and reads this many events.
async fn read(gateway: &TestGateway, last: Option<&str>, count: usize) -> Vec<SentEvent> {
    let request = gateway
        .get("/api/chat/stream?session_id=s1")
        .bearer_auth(TOKEN);
    let request = last
        .into_iter()
        .fold(request, |request, id| request.header("last-event-id", id));
    let mut response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    // A proxy must not collect it.
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    let mut text = String::new();
    loop {
        let events: Vec<SentEvent> = text
            .split_inclusive("\n\n")
            .filter(|part| part.ends_with("\n\n"))
            .filter_map(parse)
            .collect();
        if events.len() >= count {
            return events;
        }
        let chunk =
            tokio::time::timeout(std::time::Duration::from_secs(10), response.chunk()).await;
        text += std::str::from_utf8(&chunk.unwrap().unwrap().unwrap()).unwrap();
    }
}

fn parse(text: &str) -> Option<SentEvent> {
    let field = |name: &str| {
        let mut lines = text.lines();
        lines
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            .map(str::to_owned)
    };
    Some(SentEvent {
        id: field("id")?,
        kind: field("event")?,
        data: serde_json::from_str(&field("data")?).unwrap(),
    })
}

#[tokio::test]
async fn a_message_becomes_a_task_and_its_events_arrive() {
    let gateway = TestGateway::start().await;
    let message = json!({"session_id": "s1", "text": "click \"Save\"", "attachments": []});
    let sent = gateway
        .post("/api/chat/send")
        .bearer_auth(TOKEN)
        .json(&message);
    let sent: Value = sent.send().await.unwrap().json().await.unwrap();
    assert_eq!(sent, json!({"task_id": "t1"}));
    assert_eq!(*gateway.services.goal.lock().unwrap(), "click \"Save\"");
    assert!(gateway.services.results.lock().unwrap().is_empty());

    let events = read(&gateway, None, 3).await;
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(
        kinds,
        ["task.started", "progress.append", "progress.append"]
    );
    assert_eq!(events[0].data["task_id"], "t1");
    assert_eq!(events[2].data["index"], 2);
    assert_eq!(events[2].data["text"], "second");
}

#[tokio::test]
async fn a_broken_stream_continues_without_loss_or_repetition() {
    let gateway = TestGateway::start().await;
    let events = read(&gateway, None, 3).await;
    let rest = read(&gateway, Some(&events[1].id), 1).await;
    assert_eq!(rest[0].data["text"], "second");
    assert_eq!(
        rest[0].data["index"], 2,
        "the number counts the lines before the break"
    );
    assert_eq!(rest[0].id, events[2].id);
}

#[tokio::test]
async fn tasks_are_stopped_and_acknowledged() {
    let gateway = TestGateway::start().await;
    for path in ["/api/chat/stop", "/api/chat/ack-user-action"] {
        let request = gateway
            .post(path)
            .bearer_auth(TOKEN)
            .json(&json!({"task_id": "t1"}));
        assert_eq!(request.send().await.unwrap().status(), 200, "{path}");
    }
    let called = gateway.services.methods.lock().unwrap().clone();
    for method in ["CancelTask", "AcknowledgeUserAction"] {
        assert!(called.iter().any(|one| one == method), "{method}");
    }
}

/// Sends a message with a key and returns the task that it went to.
async fn send(gateway: &TestGateway, key: &str, text: &str) -> Value {
    let request = gateway.post("/api/chat/send").bearer_auth(TOKEN);
    let request = request.header("idempotency-key", key);
    let request = request.json(&json!({"session_id": "s1", "text": text}));
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200, "{key}");
    response.json().await.unwrap()
}

#[tokio::test]
async fn a_repeated_message_never_does_a_second_thing() {
    use std::sync::atomic::Ordering;

    let gateway = TestGateway::start().await;
    let services = &gateway.services;
    let created = send(&gateway, "key-1", "click").await;
    // The task asks before the message is repeated, which is not its answer.
    services.asks.store(true, Ordering::Relaxed);
    assert_eq!(send(&gateway, "key-1", "click").await, created);
    assert!(services.messages.lock().unwrap().is_empty());

    let answered = send(&gateway, "key-2", "yes").await;
    assert_eq!(answered, created);
    // The answer arrived, so no task waits; a repeated answer is no new task.
    assert_eq!(send(&gateway, "key-2", "yes").await, answered);
    let next = send(&gateway, "key-3", "next").await;
    assert_ne!(next, created);
    assert_eq!(send(&gateway, "key-2", "yes").await, answered);
    // Nor is it the answer to the next question.
    services.asks.store(true, Ordering::Relaxed);
    assert_eq!(send(&gateway, "key-2", "yes").await, answered);
    assert_eq!(*services.messages.lock().unwrap(), ["yes"]);
    assert_eq!(services.tasks.lock().unwrap().len(), 2);

    let other = gateway.post("/api/chat/send").bearer_auth(TOKEN);
    let other = other.header("idempotency-key", "key-2");
    let other = other.json(&json!({"session_id": "s1", "text": "something else"}));
    let refused: Value = other.send().await.unwrap().json().await.unwrap();
    assert_eq!(refused["error"]["reason"], "REQUEST_ID_REUSED");
    for _ in 0..2 {
        let done = gateway.post("/api/chat/ack-user-action").bearer_auth(TOKEN);
        let done = done.header("idempotency-key", "key-4");
        let done = done.json(&json!({"task_id": "t1"})).send().await.unwrap();
        assert_eq!(done.status(), 200);
    }
    assert_eq!(services.messages.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_malformed_message_is_refused_with_words() {
    let gateway = TestGateway::start().await;
    for body in [
        json!({"text": "click"}),
        json!({"session_id": "", "text": "click"}),
        json!({"session_id": "s1", "text": "a", "attachments": [{"name": "a", "data": "?"}]}),
        json!([]),
    ] {
        let request = gateway
            .post("/api/chat/send")
            .bearer_auth(TOKEN)
            .json(&body);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 400, "{body}");
        let error: Value = response.json().await.unwrap();
        assert_eq!(error["error"]["reason"], "INVALID_FIELD", "{body}");
    }
    assert!(gateway.services.goal.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_caller_cannot_open_streams_without_end() {
    let gateway = TestGateway::start().await;
    let mut open = Vec::new();
    let refused = loop {
        let request = gateway
            .get("/api/chat/stream?session_id=s1")
            .bearer_auth(TOKEN);
        let response = request.send().await.unwrap();
        if response.status() != 200 {
            break response;
        }
        open.push(response);
        assert!(open.len() <= 100, "the streams are not limited");
    };
    assert_eq!(refused.status(), 429);
    let error: Value = refused.json().await.unwrap();
    assert_eq!(error["error"]["reason"], "STREAM_LIMIT");
    drop(open);
    let mut tries = 0;
    while gateway
        .get("/api/chat/stream?session_id=s1")
        .bearer_auth(TOKEN)
        .send()
        .await
        .unwrap()
        .status()
        != 200
    {
        tries += 1;
        assert!(tries < 200, "closed streams count no more");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_task_without_a_session_can_be_looked_at() {
    let gateway = TestGateway::start().await;
    let task = gateway
        .get("/task/t1")
        .bearer_auth(TOKEN)
        .send()
        .await
        .unwrap();
    let task: Value = task.json().await.unwrap();
    assert_eq!(task["status"], "awaiting_user");
    assert_eq!(task["instruction"], "click");
    let description = gateway
        .get("/api/openapi.json")
        .bearer_auth(TOKEN)
        .send()
        .await
        .unwrap();
    let description: Value = description.json().await.unwrap();
    assert!(description["paths"]["/api/chat/send"]["post"].is_object());
}

#[tokio::test]
async fn a_new_task_is_told_which_files_to_hand_back() {
    let gateway = TestGateway::start().await;
    let results = json!(["report.pdf", "list.csv"]);
    let requests = [
        (
            "/api/chat/send",
            json!({"session_id": "s1", "text": "save it", "results": results}),
        ),
        (
            "/task",
            json!({"instruction": "save it", "results": results}),
        ),
    ];
    for (path, body) in requests {
        gateway.services.results.lock().unwrap().clear();
        let sent = gateway.post(path).bearer_auth(TOKEN).json(&body);
        assert!(sent.send().await.unwrap().status().is_success(), "{path}");
        let named = gateway.services.results.lock().unwrap().clone();
        assert_eq!(named, ["report.pdf", "list.csv"], "{path}");
    }
    let task = gateway.get("/task/t1").bearer_auth(TOKEN);
    let task: Value = task.send().await.unwrap().json().await.unwrap();
    let expected = json!([
        {"name": "report.html", "url": "/api/artifacts/tasks/t1/artifacts/page"},
        {"name": "none.txt", "error": "there is no such file"},
    ]);
    assert_eq!(task["files"], expected);
}
