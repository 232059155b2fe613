//! Live screens over WebSockets.

use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use motorium_imaging::codec;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::support::{SCREEN, TOKEN, TestGateway, until};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

async fn open(
    gateway: &TestGateway,
    path: &str,
    headers: &[(&'static str, &str)],
) -> Result<Socket, Error> {
    let url = format!("ws://{}{path}", gateway.address);
    let mut request = url.into_client_request().unwrap();
    let host = format!("{}:{}", gateway.host, gateway.address.port());
    request.headers_mut().insert("host", host.parse().unwrap());
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    connect_async(request).await.map(|(socket, _)| socket)
}

async fn watch(gateway: &TestGateway, query: &str) -> Socket {
    let token = format!("Bearer {TOKEN}");
    let path = format!("/api/desktops/local/live{query}");
    open(gateway, &path, &[("authorization", &token)])
        .await
        .unwrap()
}

/// A received frame.
struct Frame {
    header: Value,
    colour: [u8; 3],
    size: (u32, u32),
}

async fn next(socket: &mut Socket) -> Option<Message> {
    let next = tokio::time::timeout(Duration::from_secs(10), socket.next()).await;
    next.expect("a message arrives").map(Result::unwrap)
}

async fn next_frame(socket: &mut Socket) -> Frame {
    loop {
        let Some(Message::Binary(message)) = next(socket).await else {
            continue;
        };
        let length = u32::from_be_bytes(message[..4].try_into().unwrap()) as usize;
        let header = serde_json::from_slice(&message[4..4 + length]).unwrap();
        let pixels = codec::decode(&message[4 + length..]).unwrap();
        let [red, green, blue, _] = pixels.get_pixel(5, 5).0;
        return Frame {
            header,
            colour: [red, green, blue],
            size: pixels.dimensions(),
        };
    }
}

async fn acknowledge(socket: &mut Socket, frame: &Frame) {
    let ack = json!({"ack": frame.header["index"]}).to_string();
    socket.send(Message::text(ack)).await.unwrap();
}

fn streams(gateway: &TestGateway) -> usize {
    let methods = gateway.services.methods.lock().unwrap();
    methods
        .iter()
        .filter(|method| *method == "StreamFrames")
        .count()
}

#[tokio::test]
async fn a_viewer_sees_changes_in_its_size() {
    let gateway = TestGateway::start().await;
    let mut socket = watch(&gateway, "?width=80&height=40").await;
    let Some(Message::Text(state)) = next(&mut socket).await else {
        panic!("the first message is the state");
    };
    assert_eq!(
        serde_json::from_str::<Value>(&state).unwrap()["state"],
        "streaming"
    );
    let first = next_frame(&mut socket).await;
    assert!(first.colour[0] > 150 && first.colour[2] < 50);
    assert_eq!(first.size, (80, 40));
    assert_eq!(first.header["screen_width"], SCREEN.0);
    assert_eq!(first.header["format"], "jpeg");
    acknowledge(&mut socket, &first).await;

    gateway.services.screen.send_replace([0, 0, 200]);
    let second = next_frame(&mut socket).await;
    assert!(second.colour[2] > 150 && second.colour[0] < 50);
    assert!(second.header["index"].as_u64() > first.header["index"].as_u64());

    let resized = json!({"width": 320, "height": 160}).to_string();
    socket.send(Message::text(resized)).await.unwrap();
    assert_eq!(next_frame(&mut socket).await.size, SCREEN);
}

#[tokio::test]
async fn a_viewer_of_a_still_screen_hears_that_the_connection_stands() {
    let gateway = TestGateway::start().await;
    let mut socket = watch(&gateway, "").await;
    loop {
        let Some(Message::Text(text)) = next(&mut socket).await else {
            continue;
        };
        let message: Value = serde_json::from_str(&text).unwrap();
        if message["heartbeat"] == true {
            return;
        }
    }
}

#[tokio::test]
async fn viewers_share_one_stream_and_a_slow_one_holds_nobody_up() {
    let gateway = TestGateway::start().await;
    let mut quick = watch(&gateway, "").await;
    let mut slow = watch(&gateway, "").await;
    for step in 0..20_u8 {
        let frame = next_frame(&mut quick).await;
        acknowledge(&mut quick, &frame).await;
        gateway
            .services
            .screen
            .send_replace([200 - step * 10, step * 10, 0]);
    }
    assert_eq!(streams(&gateway), 1);
    // The slow viewer has two frames; the next one comes only after its answer, and is the latest.
    let first = next_frame(&mut slow).await;
    let second = next_frame(&mut slow).await;
    let silent = tokio::time::timeout(Duration::from_millis(300), slow.next()).await;
    assert!(silent.is_err(), "no frame without an answer");
    acknowledge(&mut slow, &first).await;
    acknowledge(&mut slow, &second).await;
    let third = next_frame(&mut slow).await;
    assert!(
        third.colour[0] < 60 && third.colour[1] > 150,
        "{:?}",
        third.colour
    );
}

#[tokio::test]
async fn the_stream_ends_with_its_last_viewer_and_begins_again() {
    let gateway = TestGateway::start().await;
    let mut socket = watch(&gateway, "").await;
    next_frame(&mut socket).await;
    socket.close(None).await.unwrap();
    drop(socket);
    until("the stream has ended", || {
        gateway.services.screen.receiver_count() == 0
    })
    .await;
    let mut socket = watch(&gateway, "").await;
    next_frame(&mut socket).await;
    assert_eq!(streams(&gateway), 2);
}

#[tokio::test]
async fn an_unknown_desktop_is_told_in_words() {
    let gateway = TestGateway::start().await;
    let token = format!("Bearer {TOKEN}");
    let headers = [("authorization", token.as_str())];
    let mut socket = open(&gateway, "/api/desktops/other/live", &headers)
        .await
        .unwrap();
    let Some(Message::Text(error)) = next(&mut socket).await else {
        panic!("it says what is wrong");
    };
    assert!(error.contains("there is no desktop"), "{error}");
    let Some(Message::Close(Some(close))) = next(&mut socket).await else {
        panic!("it is closed with a reason");
    };
    assert_eq!(u16::from(close.code), 1011);
    assert_eq!(close.reason, "DESKTOP_NOT_FOUND");
}

#[tokio::test]
async fn other_pages_cannot_watch() {
    let gateway = TestGateway::start().await;
    let cookie = gateway.log_in().await;
    let path = "/api/desktops/local/live";
    let own = gateway.url("");
    let accepted = open(&gateway, path, &[("cookie", &cookie), ("origin", &own)]).await;
    assert!(accepted.is_ok());
    for headers in [
        vec![
            ("cookie", cookie.as_str()),
            ("origin", "https://evil.example"),
        ],
        vec![("cookie", cookie.as_str()), ("origin", "null")],
        vec![("cookie", cookie.as_str()), ("host", "evil.example")],
        vec![("origin", own.as_str())],
    ] {
        let refused = open(&gateway, path, &headers).await;
        assert!(matches!(refused, Err(Error::Http(_))), "{headers:?}");
    }
}

#[tokio::test]
async fn a_session_that_is_watched_arrives_as_messages() {
    let gateway = TestGateway::start().await;
    let token = format!("Bearer {TOKEN}");
    let headers = [("authorization", token.as_str())];
    let mut socket = open(&gateway, "/api/watch/sessions/s1", &headers)
        .await
        .unwrap();
    for sequence in 1..=3 {
        let Some(Message::Binary(message)) = next(&mut socket).await else {
            panic!("an event arrives");
        };
        let response: motorium_proto::v1::orchestrator::WatchSessionResponse =
            prost::Message::decode(message).unwrap();
        assert_eq!(response.resume_token, format!("token-{sequence}"));
    }
}

#[tokio::test]
async fn streams_end_with_their_session_at_once() {
    let gateway = TestGateway::start().await;
    let (cookie, other) = (gateway.log_in().await, gateway.log_in().await);
    let mut ended = Vec::new();
    for path in [
        "/api/watch/sessions/s1",
        "/api/watch/tasks/t1",
        "/api/desktops/local/live",
        "/api/operate/tasks/t1",
    ] {
        ended.push(open(&gateway, path, &[("cookie", &cookie)]).await.unwrap());
    }
    let mut kept = open(&gateway, "/api/watch/sessions/s1", &[("cookie", &other)]).await;
    let kept = kept.as_mut().unwrap();
    let mut events = gateway
        .get("/api/chat/stream?session_id=s1")
        .header("cookie", &cookie)
        .send()
        .await
        .unwrap();
    let call = gateway.post("/motorium.orchestrator.v1.OrchestratorService/WatchTask");
    let call = call
        .header("cookie", &cookie)
        .header("content-type", "application/grpc-web+proto")
        .body(crate::support::frame(
            &motorium_proto::v1::orchestrator::WatchTaskRequest::default(),
        ));
    let mut call = call.send().await.unwrap();

    let logout = gateway.post("/api/logout").header("cookie", &cookie);
    assert_eq!(logout.send().await.unwrap().status(), 204);
    let at_once = Duration::from_secs(2);
    for socket in &mut ended {
        let last = tokio::time::timeout(at_once, async {
            let mut last = None;
            while let Some(Ok(message)) = socket.next().await {
                last = Some(message);
            }
            last
        });
        let Some(Message::Close(Some(close))) = last.await.expect("it ends at once") else {
            panic!("it is closed with words");
        };
        assert!(close.reason.contains("LOGIN_REQUIRED"), "{}", close.reason);
    }
    let rest = tokio::time::timeout(at_once, async {
        while let Ok(Some(_)) = events.chunk().await {}
    });
    assert!(rest.await.is_ok(), "the events end at once");
    let rest = tokio::time::timeout(at_once, async {
        let mut text = String::new();
        while let Ok(Some(chunk)) = call.chunk().await {
            text += &String::from_utf8_lossy(&chunk);
        }
        text
    });
    let rest = rest.await.expect("the call ends at once");
    assert!(rest.contains("grpc-status:16"), "{rest}");
    // Another session of the same caller goes on.
    for _ in 0..3 {
        assert!(matches!(next(kept).await, Some(Message::Binary(_))));
    }
    let silent = tokio::time::timeout(Duration::from_millis(200), kept.next()).await;
    assert!(silent.is_err());
}

#[tokio::test]
async fn a_browser_is_told_why_a_watch_is_refused() {
    let gateway = TestGateway::start().await;
    gateway
        .services
        .refuses_watches
        .store(true, std::sync::atomic::Ordering::Relaxed);
    let token = format!("Bearer {TOKEN}");
    let headers = [("authorization", token.as_str())];
    let mut socket = open(&gateway, "/api/watch/tasks/none", &headers)
        .await
        .unwrap();
    let Some(Message::Text(text)) = next(&mut socket).await else {
        panic!("the error arrives");
    };
    let error: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(error["error"]["code"], 5);
    assert_eq!(error["error"]["message"], "there is no such task");
    assert!(matches!(next(&mut socket).await, Some(Message::Close(_))));
}

#[tokio::test]
async fn input_passes_on_to_the_task_and_outcomes_come_back() {
    use motorium_proto::v1::orchestrator as wire;
    use prost::Message as _;
    use wire::operate_desktop_response::Part;

    let gateway = TestGateway::start().await;
    let cookie = gateway.log_in().await;
    let headers = [("cookie", cookie.as_str())];
    let mut socket = open(&gateway, "/api/operate/tasks/t1", &headers)
        .await
        .unwrap();
    let part = async |socket: &mut Socket| {
        let Some(Message::Binary(message)) = next(socket).await else {
            panic!("a response arrives");
        };
        wire::OperateDesktopResponse::decode(message)
            .unwrap()
            .part
            .unwrap()
    };
    assert!(matches!(part(&mut socket).await, Part::Task(task) if task.name == "tasks/t1"));
    for sequence in 1..=3 {
        let input = wire::OperatorInput {
            sequence,
            ..wire::OperatorInput::default()
        };
        let message = Message::binary(input.encode_to_vec());
        socket.send(message).await.unwrap();
        assert!(matches!(part(&mut socket).await, Part::Outcome(it) if it.sequence == sequence));
    }
    let expected = Some(format!("Bearer {TOKEN}"));
    let authorizations = gateway.services.authorizations.lock().unwrap().clone();
    assert_eq!(
        authorizations.last(),
        Some(&expected),
        "the caller is passed on"
    );

    socket.send(Message::binary(vec![0xff; 8])).await.unwrap();
    let Some(Message::Text(text)) = next(&mut socket).await else {
        panic!("a malformed input is refused with words");
    };
    assert!(text.contains("INVALID_FIELD"), "{text}");
    let other = [
        ("cookie", cookie.as_str()),
        ("origin", "https://evil.example"),
    ];
    assert!(
        open(&gateway, "/api/operate/tasks/t1", &other)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn the_screen_of_a_task_comes_by_the_rights_of_the_task() {
    let gateway = TestGateway::start().await;
    let token = format!("Bearer {TOKEN}");
    let headers = [("authorization", token.as_str())];
    let opened = open(&gateway, "/api/live/tasks/t1?width=80&height=40", &headers);
    let frame = next_frame(&mut opened.await.unwrap()).await;
    assert!(frame.colour[0] > 150);
    assert_eq!(frame.size, (80, 40));
    // Perception knows no tenants, and is not asked.
    assert_eq!(streams(&gateway), 0);

    let opened = open(&gateway, "/api/live/tasks/of-another", &headers);
    let Some(Message::Text(refusal)) = next(&mut opened.await.unwrap()).await else {
        panic!("the refusal is told");
    };
    assert!(refusal.contains("there is no such task"), "{refusal}");
}
