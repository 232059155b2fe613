//! The service as callers see it: in-process and over gRPC.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use motorium_imaging::codec;
use motorium_kit::client::{self, Channel};
use motorium_kit::config::HumanDuration;
use motorium_kit::server;
use motorium_kit::shutdown::Shutdown;
use motorium_perception::{Config, PerceptionService, Settings};
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::domain::element::{Element, ElementKind, ElementSource, Scene};
use motorium_proto::domain::frame::{Image, ImageContent};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::domain::id::{DisplayId, FrameId};
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{
    CaptureArea, CaptureRequest, CapturedFrame, CompareRequest, FrameRequest, FrameUpdate,
    ImageFormat, ImageOptions, MarkInputRequest, ObserveRequest, ParseOptions, ParseRequest,
    Perception, PerceptionClient, PerceptionServer, Redaction, ResultStream, SensitiveText,
    StreamRequest, WaitForIdleRequest,
};
use tokio::time::{Instant, timeout};

use crate::support::{Client, Desktop, NewWindow, TEST_TIMEOUT, at, pattern};
use crate::text_reading::data_folder;

pub(crate) async fn service(displays: &[&str]) -> PerceptionService {
    let settings = Settings {
        displays: displays.iter().map(|&display| display.to_owned()).collect(),
        display_timeout: HumanDuration(Duration::from_secs(2)),
        ..Settings::default()
    };
    Config::resolve(settings, &data_folder(), [])
        .unwrap()
        .start()
        .await
        .unwrap()
}

fn frame_request(frame: FrameId, image: ImageOptions) -> FrameRequest {
    FrameRequest { frame, image }
}

/// Serves the service on a free port and returns a client.
pub(crate) async fn over_the_wire(
    service: PerceptionService,
) -> (PerceptionClient<Channel>, server::RunningServer) {
    let server = server::Builder::new(server::Config::loopback())
        .service(
            PerceptionServer::tonic(Arc::new(service)),
            FILE_DESCRIPTOR_SET,
        )
        .start(&Shutdown::new())
        .await
        .unwrap();
    let address = format!("http://{}", server.local_address());
    let config = client::Config::new(address);
    let channel = Channel::connect_lazy(&config).unwrap();
    (PerceptionClient::new(channel), server)
}

fn pixels(image: &Image) -> image::RgbaImage {
    let ImageContent::Bytes(bytes) = &image.content else {
        panic!("a reference")
    };
    let decoded = codec::decode(bytes).unwrap();
    assert_eq!((image.width, image.height), decoded.dimensions());
    assert_eq!(image.sha256, codec::sha256(bytes));
    decoded
}

fn png() -> Option<ImageOptions> {
    Some(ImageOptions::default())
}

fn capture(area: CaptureArea) -> CaptureRequest {
    CaptureRequest {
        area,
        image: png(),
        ..CaptureRequest::default()
    }
}

/// A stream of the default display with the given frame rate.
fn watching(max_frames_per_second: u32) -> StreamRequest {
    StreamRequest {
        display: None,
        max_frames_per_second,
        image: ImageOptions::default(),
        redactions: Vec::new(),
        omit_input_marks: false,
    }
}

fn check_error(error: &ErrorReport, reason: &str, part: &str) {
    assert_eq!(error.reason, reason, "{error}");
    assert!(error.message.contains(part), "{error}");
}

#[tokio::test]
async fn missing_display_error_suggests_a_fix() {
    let service = service(&[]).await;
    check_error(
        &service.list_displays().await.unwrap_err(),
        "NO_DISPLAY",
        "motorium up",
    );
    check_error(
        &service
            .capture(CaptureRequest::default())
            .await
            .unwrap_err(),
        "NO_DISPLAY",
        "DISPLAY",
    );
    check_error(
        &service
            .wait_for_idle(WaitForIdleRequest::default())
            .await
            .unwrap_err(),
        "NO_DISPLAY",
        "DISPLAY",
    );
}

#[tokio::test]
async fn only_configured_displays_are_seen() {
    let desktop = Desktop::start();
    let service = service(&[":54321", &desktop.display]).await;
    let displays = service.list_displays().await.unwrap();
    assert_eq!(
        displays
            .iter()
            .map(|display| display.id.as_str())
            .collect::<Vec<_>>(),
        [desktop.display.as_str()]
    );
    let error = service
        .capture(CaptureRequest::default())
        .await
        .unwrap_err();
    check_error(&error, "NO_DISPLAY", ":54321");
    let other = CaptureRequest {
        display: Some(DisplayId::new(":54322")),
        ..CaptureRequest::default()
    };
    check_error(
        &service.capture(other).await.unwrap_err(),
        "DISPLAY_NOT_FOUND",
        "is configured for",
    );
}

#[tokio::test]
async fn captured_images_match_the_request() {
    let desktop = Desktop::start();
    let client = Client::connect(&desktop.display);
    let expected = pattern(800, 600, 11);
    client.show(&expected, 0, 0);
    client.move_pointer(400, 300);
    let (service, _server) = over_the_wire(service(&[&desktop.display]).await).await;

    let plain = service
        .capture(CaptureRequest {
            omit_cursor: true,
            ..capture(CaptureArea::Display)
        })
        .await
        .unwrap();
    assert!(pixels(plain.image.as_ref().unwrap()) == expected);
    assert_eq!(plain.frame.size, CaptureSize::new(800, 600));
    assert_eq!(plain.frame.display.as_str(), desktop.display);
    assert!(!plain.frame.cursor.unwrap().drawn);

    // Only the cursor differs.
    let drawn = service
        .capture(capture(CaptureArea::Display))
        .await
        .unwrap();
    let cursor = drawn.frame.cursor.unwrap();
    assert_eq!(
        (cursor.position, cursor.drawn),
        (CapturePoint::new(400, 300), true)
    );
    let image = pixels(drawn.image.as_ref().unwrap());
    let different: Vec<_> = image
        .enumerate_pixels()
        .filter(|&(x, y, pixel)| pixel != expected.get_pixel(x, y))
        .map(|(x, y, _)| (x.abs_diff(400), y.abs_diff(300)))
        .collect();
    assert!(
        (20..2000).contains(&different.len()),
        "{} pixels differ",
        different.len()
    );
    assert!(
        different.iter().all(|&(x, y)| x < 48 && y < 48),
        "something else than the cursor was drawn"
    );

    // A region has its own origin, and its metadata is relative to that.
    let part = service
        .capture(capture(CaptureArea::Region(at(350, 250, 100, 90))))
        .await
        .unwrap();
    assert_eq!(part.frame.origin, CapturePoint::new(350, 250));
    assert_eq!(part.frame.size, CaptureSize::new(100, 90));
    assert_eq!(
        part.frame.cursor.unwrap().position,
        CapturePoint::new(50, 50)
    );
    assert_eq!(part.frame.monitors[0].bounds, at(0, 0, 100, 90));

    // A stored frame can be encoded again, smaller and in another format.
    for (format, media_type) in [
        (ImageFormat::Png, "image/png"),
        (ImageFormat::WebpLossless, "image/webp"),
        (ImageFormat::Jpeg { quality: 80 }, "image/jpeg"),
    ] {
        let options = ImageOptions {
            format,
            fit: Some(CaptureSize::new(400, 400)),
        };
        let image = service
            .get_frame(frame_request(plain.frame.id.clone(), options))
            .await
            .unwrap()
            .image
            .unwrap();
        assert_eq!(image.media_type, media_type);
        assert_eq!(pixels(&image).dimensions(), (400, 300));
    }
    let error = service
        .get_frame(frame_request(
            FrameId::new("no-such"),
            ImageOptions::default(),
        ))
        .await
        .unwrap_err();
    check_error(&error, "FRAME_EXPIRED", "capture again");
}

#[tokio::test]
async fn evicted_frame_is_reported_as_expired() {
    let desktop = Desktop::start();
    let settings = Settings {
        displays: vec![desktop.display.clone()],
        max_frames: 2,
        ..Settings::default()
    };
    let service = Config::resolve(settings, &data_folder(), [])
        .unwrap()
        .start()
        .await
        .unwrap();
    let first = service
        .capture(CaptureRequest::default())
        .await
        .unwrap()
        .frame
        .id;
    let second = service
        .capture(CaptureRequest::default())
        .await
        .unwrap()
        .frame
        .id;
    let third = service
        .capture(CaptureRequest::default())
        .await
        .unwrap()
        .frame
        .id;
    assert!(
        service
            .get_frame(frame_request(second.clone(), ImageOptions::default()))
            .await
            .is_ok()
    );
    let error = service
        .compare(CompareRequest::new(first, third))
        .await
        .unwrap_err();
    check_error(&error, "FRAME_EXPIRED", "capture again");
    assert!(
        service
            .compare(CompareRequest::new(second.clone(), second))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn comparison_reports_changed_regions_and_ignores_the_pointer() {
    let desktop = Desktop::start();
    let client = Client::connect(&desktop.display);
    client.show(
        &image::RgbaImage::from_pixel(800, 600, image::Rgba([255; 4])),
        0,
        0,
    );
    let service = service(&[&desktop.display]).await;
    let frame = async || {
        service
            .capture(CaptureRequest::default())
            .await
            .unwrap()
            .frame
            .id
    };
    client.move_pointer(100, 100);
    let before = frame().await;
    client.move_pointer(500, 300);
    let moved = frame().await;
    let nothing = service
        .compare(CompareRequest::new(before.clone(), moved))
        .await
        .unwrap()
        .change;
    assert_eq!(
        (nothing.changed_pixels, nothing.regions.len()),
        (0, 0),
        "a moved pointer is no change of the screen"
    );

    client.show(
        &image::RgbaImage::from_pixel(80, 60, image::Rgba([0, 0, 0, 255])),
        100,
        200,
    );
    let after = frame().await;
    let request = CompareRequest {
        measured_regions: vec![
            at(100, 200, 80, 60),
            at(60, 200, 80, 60),
            at(500, 500, 10, 10),
        ],
        ..CompareRequest::new(before.clone(), after.clone())
    };
    let compared = service.compare(request.clone()).await.unwrap();
    assert_eq!(compared.change.changed_pixels, 4800);
    assert!((compared.change.changed_share - 0.01).abs() < 1e-9);
    assert_eq!(compared.change.regions.len(), 1);
    assert_eq!(compared.change.regions[0].bounds, at(100, 200, 80, 60));
    assert_eq!(compared.measured_shares, [1.0, 0.5, 0.0]);
    let ignoring = CompareRequest {
        ignore: vec![at(0, 190, 800, 100)],
        ..request
    };
    assert_eq!(
        service
            .compare(ignoring)
            .await
            .unwrap()
            .change
            .changed_pixels,
        0
    );

    // Changed since a frame, but before the call.
    let quiet = service
        .wait_for_idle(WaitForIdleRequest {
            since_frame: Some(before),
            ..WaitForIdleRequest::default()
        })
        .await
        .unwrap();
    assert!(quiet.changed && quiet.settled, "{quiet:?}");
    assert_eq!(quiet.first_change_after, Some(Duration::ZERO));
    let quiet = service
        .wait_for_idle(WaitForIdleRequest {
            since_frame: Some(after),
            ..WaitForIdleRequest::default()
        })
        .await
        .unwrap();
    assert!(!quiet.changed && quiet.settled, "{quiet:?}");
}

const PAGE: &str = r#"<!DOCTYPE html><meta charset="utf-8"><title>Orders</title>
<body style="font: 18px sans-serif; margin: 24px">
<h2>Invoice form</h2><p>Card 4111 2222 3333 4444</p>
<p><button onclick="document.getElementById('state').textContent = 'Stored safely'">Save changes</button></p>
<p id="state">Nothing stored</p></body>"#;

fn element_of<'a>(scene: &'a Scene, content: &str) -> &'a Element {
    let mut elements = scene.elements.iter();
    let found = elements.find(|element| element.content == content);
    found.unwrap_or_else(|| panic!("no `{content}` in {scene:#?}"))
}

/// Returns the area near `y` that is white in one image and black in the other.
fn blackened(plain: &image::RgbaImage, hidden: &image::RgbaImage, y: i32) -> CaptureRect {
    let was_hidden = |&(x, row, now): &(u32, u32, &image::Rgba<u8>)| {
        let is_near = (row as i32 - y).abs() < 40;
        is_near && now.0 == [0, 0, 0, 255] && plain.get_pixel(x, row).0 == [255, 255, 255, 255]
    };
    let places = hidden.enumerate_pixels().filter(was_hidden);
    let dots = places.map(|(x, row, _)| at(x as i32, row as i32, 1, 1));
    dots.reduce(|all, one| all.union(&one))
        .expect("something was hidden")
}

/// Observes until the text appears.
async fn observe_until(
    service: &dyn Perception,
    text: &str,
    request: &ObserveRequest,
) -> motorium_proto::service::Observation {
    let look = async {
        loop {
            let seen = service.observe(request.clone()).await.unwrap();
            if seen
                .scene
                .elements
                .iter()
                .any(|element| element.content.contains(text))
            {
                return seen;
            }
        }
    };
    timeout(TEST_TIMEOUT, look)
        .await
        .unwrap_or_else(|_| panic!("never saw {text:?}"))
}

#[tokio::test]
async fn a_page_is_observed_acted_on_and_observed_again() {
    let mut desktop = Desktop::start_large().await;
    let page = desktop.path("page.html");
    std::fs::write(&page, PAGE).unwrap();
    desktop.open_browser(&page, [40, 40, 900, 700]);
    let (service, _server) = over_the_wire(service(&[&desktop.display]).await).await;

    let request = ObserveRequest {
        capture: CaptureRequest {
            image: png(),
            ..CaptureRequest::default()
        },
        annotated_image: png(),
        include_prompt_lines: true,
        ..ObserveRequest::default()
    };
    let seen = observe_until(&service, "Save changes", &request).await;
    assert_eq!(seen.scene.frame, seen.frame.id);
    assert_eq!(seen.prompt_lines.len(), seen.scene.elements.len());
    let button = element_of(&seen.scene, "Save changes");
    assert_eq!(
        (button.source, button.kind),
        (ElementSource::Both, ElementKind::Button)
    );
    let line = seen
        .prompt_lines
        .iter()
        .find(|line| line.contains("Save changes"))
        .unwrap();
    assert!(line.starts_with(&format!("[{}]", button.id)), "{line}");
    let browser = seen.frame.active_window().expect("the browser is active");
    assert!(
        browser.application.to_lowercase().contains("chromium"),
        "{browser:?}"
    );
    let centre = button.centre;
    assert!(browser.bounds.contains(centre));
    let (plain, marked) = (
        pixels(seen.image.as_ref().unwrap()),
        pixels(seen.annotated_image.as_ref().unwrap()),
    );
    assert!(plain.dimensions() == marked.dimensions() && plain != marked);
    let stages: Vec<_> = seen
        .timings
        .iter()
        .map(|timing| timing.stage.as_str())
        .collect();
    assert_eq!(
        stages,
        [
            "capture", "queue", "detect", "locate", "read", "merge", "encode"
        ]
    );

    let client = Client::connect(&desktop.display);
    client.move_pointer(centre.x.try_into().unwrap(), centre.y.try_into().unwrap());
    client.click();
    let since_frame = Some(seen.frame.id.clone());
    let quiet = service
        .wait_for_idle(WaitForIdleRequest {
            since_frame: since_frame.clone(),
            timeout: TEST_TIMEOUT,
            ..WaitForIdleRequest::default()
        })
        .await
        .unwrap();
    assert!(quiet.changed && quiet.settled, "{quiet:?}");
    let again = observe_until(
        &service,
        "Stored safely",
        &ObserveRequest {
            since_frame,
            ..request.clone()
        },
    )
    .await;
    let same = element_of(&again.scene, "Save changes");
    assert_eq!(same.id, button.id, "ids are stable");
    let delta = again.delta.unwrap();
    let state = element_of(&again.scene, "Stored safely");
    assert!(
        delta.added.contains(&state.id) || delta.changed.contains(&state.id),
        "{delta:?}"
    );
    // The hover and focus states may change; the element stays the same.
    assert!(
        !delta.added.contains(&button.id) && !delta.removed.contains(&button.id),
        "{button:?} became {same:?}"
    );
    let title = element_of(&again.scene, "Invoice form");
    assert!(!delta.changed.contains(&title.id), "{title:?}: {delta:?}");

    let few = ObserveRequest {
        max_elements: Some(3),
        ..request.clone()
    };
    let few = service.observe(few).await.unwrap();
    assert_eq!((few.scene.elements.len(), few.prompt_lines.len()), (3, 3));
    let bare = service.observe(ObserveRequest::default()).await.unwrap();
    assert_eq!(bare.prompt_lines, [""; 0], "none was requested");
    assert!(bare.image.is_none() && bare.annotated_image.is_none());

    // Redacted content is neither returned nor visible.
    let card = again
        .scene
        .elements
        .iter()
        .find(|element| element.content.contains("4111"))
        .unwrap();
    let hidden = ObserveRequest {
        capture: CaptureRequest {
            redactions: vec![Redaction::TextPattern(r"\d{4}( ?\d{4})*".to_owned())],
            ..request.capture.clone()
        },
        ..request
    };
    let hidden = service.observe(hidden).await.unwrap();
    assert!(
        hidden
            .scene
            .elements
            .iter()
            .all(|element| !element.content.contains("4111"))
    );
    // The position of the digits: if the line is detected as a table row, its centre is elsewhere.
    let shown = pixels(again.image.as_ref().unwrap());
    let digits = blackened(
        &shown,
        &pixels(hidden.image.as_ref().unwrap()),
        card.centre.y,
    );
    assert!(
        (digits.center().y - card.centre.y).abs() < 20,
        "{digits:?}, {card:?}"
    );
    let stored = service
        .get_frame(frame_request(hidden.frame.id, ImageOptions::default()))
        .await
        .unwrap()
        .image
        .unwrap();
    assert_eq!(blackened(&shown, &pixels(&stored), card.centre.y), digits);

    // Magnified parsing of a small region.
    let closer = ObserveRequest {
        capture: CaptureRequest {
            area: CaptureArea::Region(at(digits.center().x - 150, digits.center().y - 40, 300, 80)),
            ..CaptureRequest::default()
        },
        parsing: ParseOptions {
            magnification: Some(3),
            join_paragraphs: false,
        },
        ..ObserveRequest::default()
    };
    let closer = service.observe(closer).await.unwrap();
    assert_eq!(closer.frame.size, CaptureSize::new(300, 80));
    let found = closer
        .scene
        .elements
        .iter()
        .find(|element| element.content.contains("4111"))
        .unwrap();
    let there = found.centre + closer.frame.origin.to_vector();
    assert!(digits.contains(there), "{found:?} is not at {digits:?}");
    let too_large = ObserveRequest {
        parsing: ParseOptions {
            magnification: Some(2),
            join_paragraphs: false,
        },
        ..ObserveRequest::default()
    };
    let error = service.observe(too_large).await.unwrap_err();
    check_error(
        &error,
        "INVALID_FIELD",
        "choose a region of at most 960 pixels",
    );

    // An image passed by the caller gives the same result as the screen that it shows.
    let brought = ParseRequest {
        image: again.image.unwrap(),
        max_elements: None,
        annotated_image: png(),
        parsing: ParseOptions::default(),
        include_prompt_lines: true,
    };
    let parsed = service.parse(brought).await.unwrap();
    assert_eq!(parsed.prompt_lines.len(), parsed.scene.elements.len());
    element_of(&parsed.scene, "Invoice form");
    element_of(&parsed.scene, "Stored safely");
    assert_eq!(parsed.size, CaptureSize::new(1920, 1080));
}

/// Page with buttons and a modal dialog that blocks them.
const DIALOG_PAGE: &str = r#"<!DOCTYPE html><meta charset="utf-8"><title>Shelves</title>
<style>
  body { font: 18px sans-serif; margin: 24px }
  main { display: grid; grid-template-columns: repeat(4, 1fr); gap: 24px }
  button { font: inherit; padding: 8px 24px }
  dialog { width: 380px; padding: 24px; border: 1px solid #888; border-radius: 6px }
  dialog::backdrop { background: #0008 }
</style>
<main></main>
<dialog><h3>Remove this entry?</h3><p>Its books stay.</p><button onclick="this.closest('dialog').close()">Keep it</button></dialog>
<script>
  for (let entry = 1; entry <= 28; entry++) {
    const button = document.querySelector('main').appendChild(document.createElement('button'));
    button.textContent = `Shelf ${entry}`;
    button.onclick = () => document.querySelector('dialog').showModal();
  }
</script>"#;

#[tokio::test]
async fn elements_behind_a_modal_backdrop_are_text_until_closed() {
    let mut desktop = Desktop::start_large().await;
    let page = desktop.path("page.html");
    std::fs::write(&page, DIALOG_PAGE).unwrap();
    desktop.open_browser(&page, [40, 40, 1000, 800]);
    let service = service(&[&desktop.display]).await;
    let client = Client::connect(&desktop.display);
    let click = |element: &Element| {
        let CapturePoint { x, y, .. } = element.centre;
        client.move_pointer(x.try_into().unwrap(), y.try_into().unwrap());
        client.click();
    };
    let buttons = |scene: &Scene| {
        let shelves = scene
            .elements
            .iter()
            .filter(|element| element.interactable && element.content.starts_with("Shelf"));
        shelves.count()
    };

    let request = ObserveRequest::default();
    let open = observe_until(&service, "Shelf 28", &request).await.scene;
    assert!(buttons(&open) > 20, "{open:#?}");

    click(element_of(&open, "Shelf 2"));
    let asked = observe_until(&service, "Remove this entry?", &request).await;
    assert_eq!(buttons(&asked.scene), 0, "{:#?}", asked.scene);
    let behind = element_of(&asked.scene, "Shelf 28");
    assert_eq!(behind.kind, ElementKind::Label);
    let keep = element_of(&asked.scene, "Keep it");
    assert!(keep.interactable, "{keep:?}");

    click(keep);
    let end = Instant::now() + TEST_TIMEOUT;
    loop {
        let answered = service.observe(request.clone()).await.unwrap().scene;
        if buttons(&answered) > 20 {
            break;
        }
        assert!(Instant::now() < end, "{answered:#?}");
    }
}

#[tokio::test]
async fn unreadable_images_are_refused() {
    let service = service(&[]).await;
    let image = |content| Image {
        content,
        media_type: String::new(),
        width: 0,
        height: 0,
        sha256: [0; 32],
    };
    let request = |image| ParseRequest {
        image,
        max_elements: None,
        annotated_image: None,
        parsing: ParseOptions::default(),
        include_prompt_lines: false,
    };
    let garbage = image(ImageContent::Bytes(bytes::Bytes::from_static(
        b"no picture",
    )));
    check_error(
        &service.parse(request(garbage)).await.unwrap_err(),
        "IMAGE_UNREADABLE",
        "send PNG",
    );
    let reference = image(ImageContent::BlobUri("sha256/ab".to_owned()));
    check_error(
        &service.parse(request(reference)).await.unwrap_err(),
        "INVALID_FIELD",
        "image: must contain the bytes",
    );
}

#[tokio::test]
async fn live_stream_sends_a_full_frame_then_changes() {
    let desktop = Desktop::start();
    let client = Client::connect(&desktop.display);
    client.show(
        &image::RgbaImage::from_pixel(800, 600, image::Rgba([255; 4])),
        0,
        0,
    );
    client.move_pointer(700, 500);
    let (service, _server) = over_the_wire(service(&[&desktop.display]).await).await;
    let mut stream = service.stream_frames(watching(20)).await.unwrap();
    let mut next = async || {
        timeout(TEST_TIMEOUT, stream.next())
            .await
            .expect("no frame came")
            .unwrap()
            .unwrap()
    };

    let first = next().await;
    assert_eq!((first.sequence, first.tiles.len()), (0, 1));
    assert_eq!(first.tiles[0].bounds, at(0, 0, 800, 600));
    let mut seen = pixels(&first.tiles[0].image);

    let drawn = pattern(50, 40, 21);
    client.show(&drawn, 100, 80);
    client.move_pointer(300, 400);
    let mut whole = 0;
    // The change may be split into several updates; together they reproduce the screen.
    while image::imageops::crop_imm(&seen, 100, 80, 50, 40).to_image() != drawn
        || *seen.get_pixel(700, 500) != image::Rgba([255; 4])
    {
        let update = next().await;
        for tile in &update.tiles {
            whole += usize::from(tile.bounds == at(0, 0, 800, 600));
            let corner = tile.bounds.min;
            image::imageops::replace(
                &mut seen,
                &pixels(&tile.image),
                corner.x.into(),
                corner.y.into(),
            );
        }
    }
    assert_eq!(whole, 0, "only what changed is sent");

    // Scaled images keep their position.
    let fit = Some(CaptureSize::new(400, 400));
    let request = StreamRequest {
        display: None,
        max_frames_per_second: 20,
        image: ImageOptions {
            format: ImageFormat::Jpeg { quality: 70 },
            fit,
        },
        redactions: Vec::new(),
        omit_input_marks: false,
    };
    let small = service
        .stream_frames(request)
        .await
        .unwrap()
        .next()
        .await
        .unwrap()
        .unwrap();
    assert_eq!(small.frame.size, CaptureSize::new(800, 600));
    assert_eq!(pixels(&small.tiles[0].image).dimensions(), (400, 300));
}

/// The image that a viewer of a live stream has, assembled from its updates.
struct Viewer {
    updates: ResultStream<FrameUpdate>,
    seen: image::RgbaImage,
}

impl Viewer {
    async fn of(service: &dyn Perception, omit_input_marks: bool) -> Self {
        let request = StreamRequest {
            omit_input_marks,
            ..watching(20)
        };
        let updates = service.stream_frames(request).await.unwrap();
        let mut viewer = Self {
            updates,
            seen: image::RgbaImage::new(800, 600),
        };
        viewer.next().await;
        viewer
    }

    async fn next(&mut self) {
        let update = timeout(TEST_TIMEOUT, self.updates.next()).await;
        for tile in update.expect("no frame came").unwrap().unwrap().tiles {
            let corner = tile.bounds.min;
            let (x, y) = (corner.x.into(), corner.y.into());
            image::imageops::replace(&mut self.seen, &pixels(&tile.image), x, y);
        }
    }

    /// Follows the stream until the viewer sees this.
    async fn until(&mut self, sees: impl Fn(&image::RgbaImage) -> bool) {
        while !sees(&self.seen) {
            self.next().await;
        }
    }
}

#[tokio::test]
async fn viewers_see_the_pointer_clicks_and_targets_and_the_desktop_stays_as_it_is() {
    const GREY: image::Rgba<u8> = image::Rgba([128, 128, 128, 255]);
    let desktop = Desktop::start();
    let client = Client::connect(&desktop.display);
    client.show(&image::RgbaImage::from_pixel(800, 600, GREY), 0, 0);
    client.move_pointer(300, 200);
    let (service, _server) = over_the_wire(service(&[&desktop.display]).await).await;
    let is_yellow = |seen: &image::RgbaImage| {
        let [red, _, blue, _] = seen.get_pixel(286, 200).0;
        red > 150 && blue < 110
    };
    let is_red = |seen: &image::RgbaImage, x, y| {
        let [red, green, blue, _] = seen.get_pixel(x, y).0;
        red > green.saturating_add(60) && red > blue.saturating_add(60)
    };
    let has_ring = |seen: &image::RgbaImage| (310..345).any(|x| is_red(seen, x, 200));
    let has_box = |seen: &image::RgbaImage| is_red(seen, 245, 200) && is_red(seen, 354, 200);

    let mut viewer = Viewer::of(&service, false).await;
    viewer.until(is_yellow).await;
    assert!(!has_ring(&viewer.seen) && !has_box(&viewer.seen));

    let mark = MarkInputRequest {
        display: None,
        presses: vec![CapturePoint::new(300, 200)],
        target: Some(at(250, 180, 100, 40)),
    };
    // A mark passes quickly, so that a busy machine may need another one.
    let marking = async {
        loop {
            service.mark_input(mark.clone()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    tokio::select! {
        () = viewer.until(|seen| has_ring(seen) && has_box(seen)) => {}
        () = marking => unreachable!("it is repeated for ever"),
    }
    service.mark_input(mark.clone()).await.unwrap();
    if let Some(folder) = std::env::var_os("MOTORIUM_PICTURES") {
        let file = std::path::Path::new(&folder).join("input-marks.png");
        viewer.seen.save(file).unwrap();
    }
    // A viewer that wants the bare screen gets it, and so does everything that is captured.
    let bare = Viewer::of(&service, true).await;
    let captured = service
        .capture(capture(CaptureArea::Display))
        .await
        .unwrap();
    for plain in [bare.seen, pixels(captured.image.as_ref().unwrap())] {
        assert_eq!(*plain.get_pixel(286, 200), GREY);
        assert!(!has_ring(&plain) && !has_box(&plain));
    }
    // The marks go by themselves, and the halo follows the pointer.
    let is_over = |seen: &image::RgbaImage| !has_ring(seen) && !has_box(seen);
    viewer.until(is_over).await;
    client.move_pointer(700, 500);
    viewer.until(|seen| *seen.get_pixel(286, 200) == GREY).await;

    let elsewhere = MarkInputRequest {
        display: Some(DisplayId::new(":none")),
        presses: Vec::new(),
        target: None,
    };
    let error = service.mark_input(elsewhere).await.unwrap_err();
    check_error(&error, "DISPLAY_NOT_FOUND", ":none");
}

/// A change between equally bright colours is streamed.
#[tokio::test]
async fn the_live_stream_shows_a_change_of_colour_alone() {
    let desktop = Desktop::start();
    let client = Client::connect(&desktop.display);
    let coloured = |colour| image::RgbaImage::from_pixel(60, 40, image::Rgba(colour));
    let [red, green] = [[255, 0, 0, 255], [0, 130, 0, 255]];
    let window = client.show(&coloured(red), 100, 100);
    client.move_pointer(700, 500);
    let service = service(&[&desktop.display]).await;
    let mut stream = service.stream_frames(watching(20)).await.unwrap();
    let mut shown = image::Rgba([0; 4]);
    for expected in [red, green] {
        client.draw(window, &coloured(expected), 0, 0);
        while shown != image::Rgba(expected) {
            let update = timeout(TEST_TIMEOUT, stream.next()).await;
            let update = update.expect("the colour never came").unwrap().unwrap();
            for tile in &update.tiles {
                let inside = CapturePoint::new(120, 120) - tile.bounds.min.to_vector();
                let seen = pixels(&tile.image);
                if tile.bounds.contains(CapturePoint::new(120, 120)) {
                    shown = *seen.get_pixel(inside.x as u32, inside.y as u32);
                }
            }
        }
    }
}

#[tokio::test]
async fn live_streams_are_limited_in_number() {
    let desktop = Desktop::start();
    let service = service(&[&desktop.display]).await;
    let mut open = Vec::new();
    let error = loop {
        match service.stream_frames(watching(1)).await {
            Ok(stream) => open.push(stream),
            Err(error) => break error,
        }
        assert!(open.len() < 1_000, "any number may watch");
    };
    check_error(&error, "TOO_MANY_STREAMS", "live streams is open");
    // Closing a stream frees its slot.
    open.pop();
    assert!(service.stream_frames(watching(1)).await.is_ok());
}

#[tokio::test]
async fn each_monitor_is_seen_by_its_name() {
    let mut desktop = Desktop::start();
    let client = Client::connect(&desktop.display);
    let monitors = [
        ("left", "500/130x600/150+0+0", "screen"),
        ("right", "300/80x400/100+500+0", "none"),
    ];
    for (name, place, output) in monitors {
        desktop.run_to_end("xrandr", &["--setmonitor", name, place, output]);
    }
    let drawn = pattern(100, 80, 3);
    client.show(&drawn, 450, 20);
    let service = service(&[&desktop.display]).await;
    let seen = async |name: &str| {
        let request = capture(CaptureArea::Monitor(name.to_owned()));
        service.capture(request).await.unwrap()
    };
    let (left, right) = (seen("left").await, seen("right").await);
    assert_eq!(left.frame.bounds(), at(0, 0, 500, 600));
    assert_eq!(right.frame.bounds(), at(500, 0, 300, 400));
    let part = |captured: &CapturedFrame, x, y| {
        let pixels = pixels(captured.image.as_ref().unwrap());
        image::imageops::crop_imm(&pixels, x, y, 50, 80).to_image()
    };
    let half = |x| image::imageops::crop_imm(&drawn, x, 0, 50, 80).to_image();
    assert_eq!(part(&left, 450, 20), half(0));
    assert_eq!(part(&right, 0, 20), half(50));
    let all = service
        .capture(capture(CaptureArea::Display))
        .await
        .unwrap();
    let named: Vec<_> = all
        .frame
        .monitors
        .iter()
        .map(|monitor| (monitor.name.as_str(), monitor.bounds))
        .collect();
    assert_eq!(
        named,
        [
            ("left", at(0, 0, 500, 600)),
            ("right", at(500, 0, 300, 400))
        ]
    );
}

/// Text found only by magnified parsing is redacted too, and a number in four fields counts as one number.
#[tokio::test]
async fn text_found_only_by_magnification_is_redacted() {
    let mut desktop = Desktop::start_large().await;
    let page = desktop.path("page.html");
    std::fs::write(&page, SECRETS).unwrap();
    desktop.open_browser(&page, [40, 40, 900, 700]);
    let service = service(&[&desktop.display]).await;
    let request = |redactions: &[Redaction]| ObserveRequest {
        capture: CaptureRequest {
            area: CaptureArea::Region(at(60, 60, 400, 400)),
            image: png(),
            redactions: redactions.to_vec(),
            ..CaptureRequest::default()
        },
        annotated_image: png(),
        parsing: ParseOptions {
            magnification: Some(4),
            ..ParseOptions::default()
        },
        ..ObserveRequest::default()
    };
    let open = observe_until(&service, "example", &request(&[])).await;
    let contents: Vec<_> = open
        .scene
        .elements
        .iter()
        .map(|element| element.content.clone())
        .collect();
    let plain = ObserveRequest {
        parsing: ParseOptions::default(),
        ..request(&[])
    };
    let plain = service.observe(plain).await.unwrap();
    let mut small = plain.scene.elements.iter();
    assert!(
        !small.any(|element| element.content.contains("example")),
        "it is read without a closer look: {:?}",
        plain.scene.elements
    );
    let redactions = [
        Redaction::TextPattern("example".to_owned()),
        Redaction::SensitiveText(SensitiveText::CardNumber),
    ];
    let hidden = service.observe(request(&redactions)).await.unwrap();
    let stored = service
        .get_frame(frame_request(
            hidden.frame.id.clone(),
            ImageOptions::default(),
        ))
        .await
        .unwrap();
    let images = [&hidden.image, &hidden.annotated_image, &stored.image];
    let mut secrets = 0;
    for element in &open.scene.elements {
        let content = &element.content;
        if !["example", "4111", "1111"]
            .iter()
            .any(|part| content.contains(part))
        {
            continue;
        }
        secrets += 1;
        assert!(
            hidden
                .scene
                .elements
                .iter()
                .all(|other| other.content != *content),
            "{content} is returned"
        );
        for image in images {
            let pixels = pixels(image.as_ref().unwrap());
            let pixel = pixels.get_pixel(element.centre.x as u32, element.centre.y as u32);
            assert_eq!(*pixel, image::Rgba([0, 0, 0, 255]), "{content} is visible");
        }
    }
    assert!(secrets >= 2, "{contents:?}");
    assert!(
        hidden
            .scene
            .elements
            .iter()
            .any(|element| element.content.contains("Warehouse"))
    );
}

/// Page with an address too small to be recognised without magnification, and a number in four fields.
const SECRETS: &str = r#"<!doctype html><body style="margin:20px;font:16px Arial;background:white;color:black">
<p style="font:8px Arial">ann.lee@example.org</p><p>Warehouse</p>
<p style="font:20px monospace"><span>4111</span><span style="margin-left:24px">1111</span><span
 style="margin-left:24px">1111</span><span style="margin-left:24px">1111</span></p></body>"#;

#[tokio::test]
async fn deltas_require_the_same_capture_area() {
    let desktop = Desktop::start();
    let service = service(&[&desktop.display]).await;
    let observe = async |area: CaptureArea, since_frame: Option<FrameId>| {
        let request = ObserveRequest {
            capture: capture(area),
            since_frame,
            ..ObserveRequest::default()
        };
        service.observe(request).await
    };
    let whole = observe(CaptureArea::Display, None).await.unwrap().frame.id;
    let again = observe(CaptureArea::Display, Some(whole.clone()))
        .await
        .unwrap();
    assert!(again.delta.is_some());
    let part = observe(CaptureArea::Region(at(0, 0, 300, 300)), Some(whole)).await;
    check_error(
        &part.unwrap_err(),
        "INVALID_FIELD",
        "since_frame: shows another display",
    );
}

/// The service becomes ready once the models are available, however late.
#[tokio::test]
async fn it_is_ready_once_the_models_are_there() {
    let desktop = Desktop::start();
    let folder = desktop.path("data");
    let settings = Settings {
        displays: vec![desktop.display.clone()],
        ..Settings::default()
    };
    let service = Config::resolve(settings, &folder, [])
        .unwrap()
        .start()
        .await
        .unwrap();
    let ready = service.ready();
    tokio::pin!(ready);
    assert!(
        timeout(Duration::from_millis(200), &mut ready)
            .await
            .is_err()
    );
    for part in ["models", "onnxruntime"] {
        std::fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink(data_folder().join(part), folder.join(part)).unwrap();
    }
    assert!(
        timeout(TEST_TIMEOUT, ready)
            .await
            .expect("the service never became ready")
    );
    // A dropped service never becomes ready.
    let gone = Config::resolve(Settings::default(), &desktop.path("nothing"), []).unwrap();
    let ready = gone.start().await.unwrap().ready();
    assert!(
        !timeout(TEST_TIMEOUT, ready)
            .await
            .expect("readiness still pending after the drop")
    );
}

/// Content redacted by the configuration is black in frames, stored frames and the live stream, and has no title.
#[tokio::test]
async fn a_hidden_window_is_never_seen() {
    let desktop = Desktop::start();
    let client = Client::connect(&desktop.display);
    let vault = NewWindow {
        bounds: (100, 100, 200, 100),
        title: "my vault",
        class: "Vault",
        ..NewWindow::default()
    };
    client.open(&vault);
    client.show(
        &image::RgbaImage::from_pixel(80, 60, image::Rgba([255; 4])),
        0,
        490,
    );
    let over = NewWindow {
        bounds: (250, 150, 200, 100),
        title: "in front",
        class: "Notes",
        ..NewWindow::default()
    };
    client.open(&over);
    let settings = Settings {
        displays: vec![desktop.display.clone()],
        redact: vec!["window:vault".to_owned(), "region:0,500,60,40".to_owned()],
        ..Settings::default()
    };
    let config = Config::resolve(settings, &data_folder(), []).unwrap();
    let (service, _server) = over_the_wire(config.start().await.unwrap()).await;
    let check = |image: &Image| {
        let seen = pixels(image);
        let [hidden, front] = [(110, 110), (260, 160)].map(|(x, y)| *seen.get_pixel(x, y));
        assert_eq!(hidden, image::Rgba([0, 0, 0, 255]));
        assert_eq!(*seen.get_pixel(59, 539), image::Rgba([0, 0, 0, 255]));
        assert_eq!(front, image::Rgba([255; 4]));
    };
    let captured = service
        .capture(capture(CaptureArea::Display))
        .await
        .unwrap();
    check(captured.image.as_ref().unwrap());
    let titles: Vec<_> = captured
        .frame
        .windows
        .iter()
        .map(|window| &window.title)
        .collect();
    assert_eq!(titles, ["in front", "", ""]);
    let stored = service
        .get_frame(frame_request(captured.frame.id, ImageOptions::default()))
        .await;
    check(stored.unwrap().image.as_ref().unwrap());
    let mut stream = service.stream_frames(watching(10)).await.unwrap();
    let first = timeout(TEST_TIMEOUT, stream.next())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    check(&first.tiles[0].image);
}

#[tokio::test]
async fn a_stream_ends_with_the_display() {
    let mut desktop = Desktop::start();
    let service = service(&[&desktop.display]).await;
    let mut stream = service.stream_frames(watching(10)).await.unwrap();
    stream.next().await.unwrap().unwrap();
    desktop.kill();
    let error = timeout(TEST_TIMEOUT, stream.next())
        .await
        .unwrap()
        .unwrap()
        .unwrap_err();
    check_error(&error, "DISPLAY_LOST", &desktop.display);
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn without_its_display_the_service_is_not_healthy() {
    use motorium_kit::server::HealthCheck as _;

    let mut desktop = Desktop::start();
    let service = service(&[&desktop.display]).await;
    service.check().await.unwrap();
    desktop.kill();
    let problem = service.check().await.unwrap_err();
    assert!(problem.contains(&desktop.display), "{problem}");
    desktop.restart();
    service.check().await.unwrap();
}
