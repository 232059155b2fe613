//! Benchmark of perception on a typical 1920×1080 desktop: medians, printed as a table.
//!
//!     cargo bench --workspace --bench desktop [--features motorium-perception/driver-xcap]
//!
//! Starts its own display with a browser, an editor and a terminal. Absolute values depend on the machine and its load;
//! compare only values of one run.

#[path = "../tests/display/session.rs"]
mod session;
#[path = "../tests/display/support.rs"]
#[expect(dead_code, reason = "shared with the tests, which use all of it")]
mod support;

use std::future::Future;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use image::RgbaImage;
use motorium_perception::capture::{Area, CaptureOptions, Screen};
use motorium_perception::config::DEFAULT_CONFIDENCE_THRESHOLD;
use motorium_perception::parse::Parser as _;
use motorium_perception::parse::detect::{
    DetectSettings, Detector as _, DetectorModel, NoDetector, YoloDetector,
};
use motorium_perception::parse::embedded::EmbeddedParser;
use motorium_perception::parse::read::{ModelFiles, PaddleReader, ReadSettings};
use motorium_perception::settle::wait_for_idle;
use motorium_perception::{Config, Settings};
use motorium_proto::service::{
    CompareRequest, ImageOptions, ObserveRequest, Perception, WaitForIdleRequest,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use session::{CHANGES, Session, agreement};
use support::{Client, Desktop, NewWindow, at, pattern};

const NOTE: &str = "Meeting notes, 21 November\n1. Review the quarterly budget\n2. 下周一上午十点开会\n\
                    3. Send the invoice to accounting@example.com\n请在周五之前完成报告。\n";

const PAGE: &str = r##"<!DOCTYPE html><meta charset="utf-8"><title>Orders</title>
<body style="font: 16px sans-serif; margin: 20px"><h2>Invoice form 发票表格</h2>
<p>Customer name: <input value="Alice Wonderland"> City 城市: <input value="上海"></p>
<p><button>Save changes</button> <button>保存</button> <button>Cancel</button> <a href="#">Privacy policy</a></p>
<table border="1" id="t"><tr><th>No.</th><th>Product</th><th>Quantity</th><th>Price</th></tr></table>
<script>for (let i = 1; i < 20; i++) document.getElementById("t").insertAdjacentHTML("beforeend",
  `<tr><td>${1000 + i}</td><td>Widget type ${i * 7} model X${i}</td><td>${i * 3}</td><td>${(i * 9.99).toFixed(2)}</td></tr>`)
</script><p>The quick brown fox jumps over the lazy dog. 敏捷的棕色狐狸跳过了懒狗。</p></body>"##;

#[tokio::main]
async fn main() {
    let mut desktop = Desktop::start_large().await;
    furnish(&mut desktop).await;
    let screen = desktop.screen();
    capture(&screen, "X11").await;
    #[cfg(feature = "driver-xcap")]
    portable(&desktop).await;
    let pixels = screen
        .capture(CaptureOptions::default())
        .await
        .unwrap()
        .pixels;
    reading(&pixels);
    detecting(&pixels);
    quiet(&desktop, &screen).await;
    service(&desktop).await;
    changes().await;
}

async fn furnish(desktop: &mut Desktop) {
    let (note, page) = (desktop.path("note.txt"), desktop.path("page.html"));
    std::fs::write(&note, NOTE).unwrap();
    std::fs::write(&page, PAGE).unwrap();
    desktop.run("mousepad", &["--disable-server", note.to_str().unwrap()]);
    desktop.run(
        "xterm",
        &[
            "-geometry",
            "80x20+1200+620",
            "-e",
            "sh",
            "-c",
            "ls -l /usr/lib | head -18; exec cat",
        ],
    );
    desktop.open_browser(&page, [40, 40, 1000, 850]);
    let screen = desktop.screen();
    let opened = |applications: &[String]| {
        ["Mousepad", "XTerm", "Chromium"]
            .iter()
            .all(|name| applications.iter().any(|open| open == name))
    };
    loop {
        let windows = screen.windows().await.unwrap();
        let applications: Vec<_> = windows
            .into_iter()
            .map(|window| window.application)
            .collect();
        if opened(&applications) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let patient = WaitForIdleRequest {
        idle_duration: Duration::from_secs(3),
        timeout: Duration::from_secs(60),
        first_change_timeout: Duration::ZERO,
        ..WaitForIdleRequest::default()
    };
    wait_for_idle(&screen, None, &patient).await.unwrap();
}

async fn capture(screen: &dyn Screen, name: &str) {
    let whole = CaptureOptions::default;
    let part = || CaptureOptions {
        area: Area::Region(at(100, 100, 200, 200)),
        list_windows: false,
        precise_window_list: false,
    };
    report(&format!("{name}: frame as RGBA"), 200, || async {
        drop(screen.capture(whole()).await.unwrap())
    })
    .await;
    report(&format!("{name}: 200×200 of it"), 200, || async {
        drop(screen.capture(part()).await.unwrap())
    })
    .await;
    report(&format!("{name}: windows"), 100, || async {
        drop(screen.windows().await.unwrap())
    })
    .await;
    report(&format!("{name}: cursor position"), 200, || async {
        screen.cursor_position().await.unwrap();
    })
    .await;
}

#[cfg(feature = "driver-xcap")]
async fn portable(desktop: &Desktop) {
    use motorium_perception::capture::portable::PortableScreen;

    // The library reads its display from the environment.
    if std::env::var("DISPLAY").as_deref() != Ok(desktop.display.as_str()) {
        line(
            "xcap: not measured; run it on a separate display with DISPLAY set",
            Duration::ZERO,
            0,
        );
        return;
    }
    let screen = PortableScreen::new(desktop.id(), support::CALL_TIMEOUT, None).unwrap();
    capture(&screen, "xcap").await;
}

fn data_folder() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let data_home =
        || folder("XDG_DATA_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/share")));
    folder("MOTORIUM_DATA")
        .or_else(|| data_home().map(|home| home.join("motorium")))
        .expect("there is no home folder")
}

fn parser() -> EmbeddedParser {
    let reader = PaddleReader::new(
        ModelFiles::in_folder(&data_folder()),
        ReadSettings::default(),
    );
    EmbeddedParser::new(Arc::new(NoDetector), Arc::new(reader))
}

fn reading(pixels: &Arc<RgbaImage>) {
    let never = CancellationToken::new();
    let (mut cold, mut locating, mut recognising, mut lines) =
        (Vec::new(), Vec::new(), Vec::new(), 0);
    for _ in 0..5 {
        // A new parser each time, because a used one has the image in its cache.
        let parser = parser();
        parser.warm_up().unwrap();
        let parse = parser.parse(pixels, &never).unwrap();
        cold.push(parse.effort.text_detection + parse.effort.text_recognition);
        locating.push(parse.effort.text_detection);
        recognising.push(parse.effort.text_recognition);
        lines = parse.lines.len();
    }
    line(
        &format!("text of {lines} lines, empty cache"),
        median(&mut cold),
        5,
    );
    line("  detection", median(&mut locating), 5);
    line("  recognition", median(&mut recognising), 5);

    let parser = parser();
    parser.parse(pixels, &never).unwrap();
    let mut unchanged: Vec<_> = (0..50)
        .map(|_| {
            // A new, equal capture.
            let pixels = Arc::new((**pixels).clone());
            timed(|| drop(parser.parse(&pixels, &never).unwrap()))
        })
        .collect();
    line("text of the same image again", median(&mut unchanged), 50);
    let mut dotted: Vec<_> = (0..5)
        .map(|shade| {
            let mut dotted = (**pixels).clone();
            dotted.put_pixel(1900, 1000, image::Rgba([shade * 40, 0, 0, 255]));
            let dotted = Arc::new(dotted);
            timed(|| drop(parser.parse(&dotted, &never).unwrap()))
        })
        .collect();
    line(
        "text of an image with one other pixel",
        median(&mut dotted),
        5,
    );
}

/// Detection alone, and a complete parse without cache.
fn detecting(pixels: &Arc<RgbaImage>) {
    let never = CancellationToken::new();
    let whole = at(0, 0, pixels.width() as i32, pixels.height() as i32);
    for threads in [1, 2] {
        let detector = detector(threads);
        detector.warm_up().unwrap();
        let mut times: Vec<_> = (0..15)
            .map(|_| timed(|| drop(detector.detect(pixels, whole, &never).unwrap())))
            .collect();
        let found = detector.detect(pixels, whole, &never).unwrap().len();
        line(
            &format!("{found} controls, {threads} threads"),
            median(&mut times),
            15,
        );
    }
    let mut times: Vec<_> = (0..5)
        .map(|_| {
            let reader = PaddleReader::new(
                ModelFiles::in_folder(&data_folder()),
                ReadSettings::default(),
            );
            let parser = EmbeddedParser::new(Arc::new(detector(1)), Arc::new(reader));
            parser.warm_up().unwrap();
            timed(|| drop(parser.parse(pixels, &never).unwrap()))
        })
        .collect();
    line("text and controls, empty cache", median(&mut times), 5);
}

fn detector(threads: usize) -> YoloDetector {
    YoloDetector::new(DetectSettings {
        model: DetectorModel::BuiltIn,
        runtime: ModelFiles::in_folder(&data_folder()).runtime,
        threads,
        confidence_threshold: DEFAULT_CONFIDENCE_THRESHOLD,
    })
}

/// Number of rounds per change.
const ROUNDS: usize = 7;

/// Compares incremental parsing with a full parse of the same image without cache.
async fn changes() {
    let session = Session::start().await;
    let never = CancellationToken::new();
    let remembering = parser();
    remembering.parse(&session.look().await, &never).unwrap();
    for (change, what) in CHANGES.into_iter().enumerate() {
        let (mut again, mut anew) = (Vec::new(), Vec::new());
        let (mut looked_at, mut read, mut signs) = (Vec::new(), Vec::new(), Vec::new());
        let (mut locating, mut recognising) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let pixels = session.change(change).await;
            let started = Instant::now();
            let parse = remembering.parse(&pixels, &never).unwrap();
            again.push(started.elapsed());
            locating.push(parse.effort.text_detection);
            recognising.push(parse.effort.text_recognition);
            looked_at.push(parse.effort.scanned_fraction);
            read.push(parse.effort.recognised_lines);
            // A full parse takes a second; two rounds are enough for a stable median.
            if round < 2 {
                let forgetful = parser();
                forgetful.warm_up().unwrap();
                let started = Instant::now();
                let whole = forgetful.parse(&pixels, &never).unwrap();
                anew.push(started.elapsed());
                signs.push(agreement(&parse.lines, &whole.lines).signs);
            }
        }
        looked_at.sort_by(f64::total_cmp);
        read.sort_unstable();
        signs.sort_by(f64::total_cmp);
        let milliseconds = |times: &mut [Duration]| median(times).as_secs_f64() * 1000.0;
        let [again, anew, locating, recognising] =
            [&mut again, &mut anew, &mut locating, &mut recognising]
                .map(|times| milliseconds(times));
        let _ = writeln!(
            std::io::stdout(),
            "{what:<32} {again:>6.1} ms ({locating:>5.1} detection, {recognising:>5.1} recognition), full parse {anew:>7.1} ms ({:>5.1}×), scanned {:>5.1} %, {:>2} lines recognised, equal characters {:.2} %",
            anew / again,
            looked_at[ROUNDS / 2] * 100.0,
            read[ROUNDS / 2],
            signs[0] * 100.0,
        );
    }
}

async fn quiet(desktop: &Desktop, screen: &dyn Screen) {
    let client = Client::connect(&desktop.display);
    let bounds = (1500, 300, 200, 80);
    let window = client.open(&NewWindow {
        bounds,
        popup: true,
        ..NewWindow::default()
    });
    let mut beyond = Vec::new();
    for seed in 0..20 {
        let request = WaitForIdleRequest::default();
        let draw = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            client.draw(window, &pattern(200, 80, seed), 0, 0);
        };
        let (quiet, ()) = tokio::join!(wait_for_idle(screen, None, &request), draw);
        let quiet = quiet.unwrap();
        assert!(quiet.changed && quiet.settled, "{quiet:?}");
        beyond.push(quiet.elapsed - quiet.first_change_after.unwrap() - request.idle_duration);
    }
    line("delay of the idle report", median(&mut beyond), 20);
    client.close(window);
}

async fn service(desktop: &Desktop) {
    let settings = Settings {
        displays: vec![desktop.display.clone()],
        ..Settings::default()
    };
    let service: Arc<dyn Perception> = Arc::new(
        Config::resolve(settings, &data_folder(), [])
            .unwrap()
            .start()
            .await
            .unwrap(),
    );
    let with_images = ObserveRequest {
        capture: motorium_proto::service::CaptureRequest {
            image: Some(ImageOptions::default()),
            ..Default::default()
        },
        annotated_image: Some(ImageOptions::default()),
        max_elements: Some(40),
        ..ObserveRequest::default()
    };
    let first = service.observe(with_images.clone()).await.unwrap();
    for timing in &first.timings {
        line(
            &format!("first observation: {}", timing.stage),
            timing.elapsed,
            1,
        );
    }
    report(
        "observation of an unchanged screen, no images",
        30,
        || async {
            drop(service.observe(ObserveRequest::default()).await.unwrap());
        },
    )
    .await;
    report(
        "observation of an unchanged screen, two images",
        30,
        || async {
            drop(service.observe(with_images.clone()).await.unwrap());
        },
    )
    .await;
    let frame = async || {
        service
            .capture(motorium_proto::service::CaptureRequest::default())
            .await
            .unwrap()
            .frame
            .id
    };
    report("capture by the service, no image", 50, || async {
        drop(frame().await)
    })
    .await;
    let mut compared = Vec::new();
    for _ in 0..20 {
        let request = CompareRequest::new(frame().await, frame().await);
        let started = Instant::now();
        service.compare(request).await.unwrap();
        compared.push(started.elapsed());
    }
    line("comparison of two new frames", median(&mut compared), 20);
}

async fn report<F: Future<Output = ()>>(what: &str, runs: usize, mut work: impl FnMut() -> F) {
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let started = Instant::now();
        work().await;
        times.push(started.elapsed());
    }
    line(what, median(&mut times), runs);
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn line(what: &str, time: Duration, runs: usize) {
    let milliseconds = time.as_secs_f64() * 1000.0;
    let _ = writeln!(
        std::io::stdout(),
        "{what:<52} {milliseconds:>10.2} ms   ({runs} runs)"
    );
}
