//! Remote parsing: by another Perception service, and by a server with OmniParser's protocol.

use std::sync::{Arc, Mutex};

use axum::http::HeaderMap;
use axum::routing::post;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use motorium_imaging::codec;
use motorium_kit::config::Secret;
use motorium_perception::service::PerceptionService;
use motorium_perception::{Config, Settings};
use motorium_proto::domain::element::{ElementKind, ElementSource, Scene};
use motorium_proto::domain::frame::{Image, ImageContent};
use motorium_proto::service::{
    ImageFormat, ObserveRequest, ParseOptions, ParseRequest, ParsedImage, Perception, Redaction,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::service::{over_the_wire, service};
use crate::support::{Client, Desktop, NewWindow};
use crate::text_reading::data_folder;

async fn looking_at(parser: String, displays: Vec<String>) -> PerceptionService {
    let settings = Settings {
        parser,
        displays,
        ..Settings::default()
    };
    let config = Config::resolve(settings, &data_folder(), []).unwrap();
    config.start().await.unwrap()
}

/// A blank image; the results come from the server.
fn form() -> Image {
    let form = image::RgbaImage::from_pixel(400, 200, image::Rgba([255; 4]));
    codec::encode(&form, ImageFormat::Png).unwrap()
}

async fn parse(service: &dyn Perception, image: Image) -> ParsedImage {
    let request = ParseRequest {
        image,
        max_elements: None,
        annotated_image: None,
        parsing: ParseOptions::default(),
        include_prompt_lines: false,
    };
    service.parse(request).await.unwrap()
}

#[tokio::test]
async fn remote_perception_parser_gives_the_same_elements() {
    let mut desktop = Desktop::start();
    let note = desktop.path("note.txt");
    std::fs::write(&note, "Quarterly budget\n季度预算\n").unwrap();
    desktop.run("mousepad", &["--disable-server", note.to_str().unwrap()]);
    let (_, pool) = over_the_wire(service(&[]).await).await;
    let url = format!("http://{}", pool.local_address());
    let far = looking_at(format!("perception:{url}"), vec![desktop.display.clone()]).await;
    let near = service(&[&desktop.display]).await;

    let budget = |scene: &Scene| {
        let mut elements = scene.elements.iter();
        let found = elements.find(|element| element.content.contains("budget"));
        found.cloned()
    };
    let deadline = tokio::time::Instant::now() + crate::support::TEST_TIMEOUT;
    let (seen, found) = loop {
        let seen = far.observe(ObserveRequest::default()).await.unwrap();
        if let Some(found) = budget(&seen.scene) {
            break (seen, found);
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "{:?}",
            seen.scene.elements
        );
    };
    let there = near.observe(ObserveRequest::default()).await.unwrap();
    let same = budget(&there.scene).unwrap();
    assert_eq!((found.kind, &found.content), (same.kind, &same.content));
    assert!(
        (found.centre - same.centre)
            .abs()
            .lower_than(euclid::vec2(4, 4))
            .all()
    );
    // Ids are assigned locally.
    let again = far.observe(ObserveRequest::default()).await.unwrap();
    assert_eq!(budget(&again.scene).unwrap().id, found.id);
    let mut hiding = ObserveRequest::default();
    hiding.capture.redactions = vec![Redaction::TextPattern("budget".to_owned())];
    // Text redaction would require sending the image away.
    let error = far.observe(hiding).await.unwrap_err();
    assert!(error.message.contains("text redaction requires"), "{error}");
    assert!(!seen.timings.is_empty());

    // When the service is gone, parsing fails with a clear error and capturing still works.
    pool.stop().await.unwrap();
    Client::connect(&desktop.display).open(&NewWindow {
        bounds: (10, 10, 100, 100),
        ..NewWindow::default()
    });
    let error = far.observe(ObserveRequest::default()).await.unwrap_err();
    assert_eq!(error.reason, "PARSER_UNAVAILABLE", "{error}");
    assert!(error.message.contains(&url), "{error}");
    far.capture(Default::default()).await.unwrap();
}

/// Server that responds like OmniParser and records its requests.
async fn omniparser(answer: Value) -> (String, Arc<Mutex<Vec<Value>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let questions = asked.clone();
    let handler = move |Json(question): Json<Value>| async move {
        questions.lock().unwrap().push(question);
        Json(answer)
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().route("/parse/", post(handler));
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (format!("omniparser:http://{address}"), asked)
}

#[tokio::test]
async fn an_omniparser_server_is_understood() {
    let answer = json!({
        "som_image_base64": "", "latency": 0.1,
        "parsed_content_list": [
            {"type": "text", "bbox": [0.1, 0.1, 0.3, 0.2], "interactivity": false, "content": "Name", "source": "box_ocr_content_ocr"},
            {"type": "icon", "bbox": [0.5, 0.5, 0.7, 0.7], "interactivity": true, "content": "Save ", "source": "box_yolo_content_ocr"},
        ]
    });
    let (parser, asked) = omniparser(answer).await;
    let service = looking_at(parser, Vec::new()).await;
    let parsed = parse(&service, form()).await;
    let found: Vec<_> = parsed
        .scene
        .elements
        .iter()
        .map(|element| {
            (
                element.kind,
                element.content.as_str(),
                element.source,
                element.interactable,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (ElementKind::Label, "Name", ElementSource::Ocr, false),
            (ElementKind::Control, "Save", ElementSource::Both, true),
        ]
    );
    // It received exactly the same image.
    let question = asked.lock().unwrap()[0]["base64_image"]
        .as_str()
        .unwrap()
        .to_owned();
    let shown = codec::decode(&STANDARD.decode(question).unwrap()).unwrap();
    let ImageContent::Bytes(bytes) = form().content else {
        panic!("a reference")
    };
    assert_eq!(shown, codec::decode(&bytes).unwrap());
}

#[tokio::test]
async fn an_omniparser_server_gets_the_token() {
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let seen = tokens.clone();
    let handler = move |headers: HeaderMap| async move {
        let token = headers.get("authorization").cloned();
        seen.lock().unwrap().push(token);
        Json(json!({"parsed_content_list": []}))
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().route("/parse/", post(handler));
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    let settings = Settings {
        parser: format!("omniparser:http://{address}"),
        parser_token: Some(Secret::new("of-the-test")),
        ..Settings::default()
    };
    let config = Config::resolve(settings, &data_folder(), []).unwrap();
    parse(&config.start().await.unwrap(), form()).await;
    assert_eq!(
        tokens.lock().unwrap()[0].as_ref().unwrap(),
        "Bearer of-the-test"
    );
}

#[tokio::test]
async fn non_omniparser_server_is_reported() {
    let (parser, _) = omniparser(json!({"detail": "no such thing"})).await;
    let service = looking_at(parser, Vec::new()).await;
    let request = ParseRequest {
        image: form(),
        max_elements: None,
        annotated_image: None,
        parsing: ParseOptions::default(),
        include_prompt_lines: false,
    };
    let error = service.parse(request).await.unwrap_err();
    assert_eq!(error.reason, "PARSER_UNAVAILABLE");
    assert!(error.message.contains("parsed_content_list"), "{error}");
}
