//! Captures, observations and comparisons of the screen, with the redactions that the task and the hooks ask for.
//!
//! Nothing is remembered here; [`super::screen`] keeps the latest observation.
//!
//! It does not decide when the screen is captured.

use motorium_messages::Message;
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{
    CaptureArea, CaptureRequest, CapturedFrame, CompareRequest, Comparison, IdleReport,
    ImageFormat, ImageOptions, Observation, ObserveRequest, ParseOptions, Redaction, Result,
    WaitForIdleRequest,
};

use super::context::RunContext;
use super::failed_looks::{self, FailedLooks};
use super::{RunResult, halt, hooks};

/// Format of stored screenshots, which are shown to people and sent to models.
// Lossless, so that small text stays readable, and small enough to store one or two per step.
pub(super) const SCREENSHOT_OPTIONS: ImageOptions = ImageOptions {
    format: ImageFormat::WebpLossless,
    fit: None,
};

/// Captures and parses the whole screen, with an image if it is to be stored. A screen that can be captured but not parsed has no
/// elements.
pub(super) async fn observe_screen(run: &mut RunContext, image: bool) -> RunResult<Observation> {
    hooks::before_screenshot(run).await?;
    let request = whole_screen(run, image, run.redactions_in(&CaptureArea::Display));
    observe_as(run, request).await
}

/// Captures and parses the whole screen without an image, to look for texts in it. A screen that cannot be parsed ends
/// the task.
pub(super) async fn read_screen(run: &mut RunContext) -> RunResult<Observation> {
    hooks::before_screenshot(run).await?;
    let request = whole_screen(run, false, run.redactions_in(&CaptureArea::Display));
    let observation = observe(run, request).await?;
    hooks::after_screenshot(run, &observation.frame, observation.image.as_ref()).await;
    Ok(observation)
}

/// Observes as requested, and shows the screenshot to the hooks.
pub(super) async fn observe_as(
    run: &mut RunContext,
    request: ObserveRequest,
) -> RunResult<Observation> {
    let observation = observe_or_capture(run, request).await?;
    hooks::after_screenshot(run, &observation.frame, observation.image.as_ref()).await;
    Ok(observation)
}

/// Returns the request for an observation of the whole screen.
pub(super) fn whole_screen(
    run: &RunContext,
    image: bool,
    redactions: Vec<Redaction>,
) -> ObserveRequest {
    ObserveRequest {
        capture: CaptureRequest {
            display: run.display(),
            image: image.then_some(SCREENSHOT_OPTIONS),
            redactions,
            ..CaptureRequest::default()
        },
        ..ObserveRequest::default()
    }
}

/// Captures and parses a part of the screen once more. The error is for the caller to judge: what such a look would add is not worth a
/// task.
pub(super) async fn try_observe_area(
    run: &mut RunContext,
    area: CaptureArea,
    parsing: ParseOptions,
) -> RunResult<Result<Observation>> {
    // Redactions are in pixels of the captured part.
    let redactions = run.redactions_in(&area);
    let request = ObserveRequest {
        capture: CaptureRequest {
            display: run.display(),
            area,
            redactions,
            ..CaptureRequest::default()
        },
        parsing,
        ..ObserveRequest::default()
    };
    let seen = try_observe(run, &request).await?;
    or_end(run, Message::OperationObserve, seen)
}

/// Observes as requested. After failures that persist, the screen is only captured, and the scene is empty, if the planner can go
/// on with a screenshot alone.
async fn observe_or_capture(
    run: &mut RunContext,
    request: ObserveRequest,
) -> RunResult<Observation> {
    let mut failed = FailedLooks::of(run, Message::OperationObserve);
    loop {
        let report = match try_observe_again(run, &request).await? {
            Ok(observation) => {
                run.sight.is_unparsed = false;
                return Ok(observation);
            }
            Err(report) => report,
        };
        let is_persistent = run.sight.is_unparsed || failed.is_persistent(&report);
        if is_persistent
            && run.config.max_screen_failures > 0
            && run.sight.suffices(run.task())
            && let Some(unparsed) = capture_unparsed(run, &request, &report).await?
        {
            return Ok(unparsed);
        }
        failed.add(run, report).await?;
    }
}

/// Observes with retries while Perception is away, or just once if the last screen could not be parsed either: each step would wait
/// for the same answer.
async fn try_observe_again(
    run: &mut RunContext,
    request: &ObserveRequest,
) -> RunResult<Result<Observation>> {
    if !run.sight.is_unparsed {
        return try_observe(run, request).await;
    }
    let observing = run.ports.perception.observe(request.clone());
    run.guard(observing).await
}

/// Captures a screen that cannot be parsed, and tells the planner that it has no elements. `None` if it cannot be captured either.
async fn capture_unparsed(
    run: &mut RunContext,
    request: &ObserveRequest,
    report: &ErrorReport,
) -> RunResult<Option<Observation>> {
    let capturing = run.ports.perception.capture(request.capture.clone());
    let Ok(captured) = run.guard(capturing).await? else {
        return Ok(None);
    };
    run.sight.is_unparsed = true;
    let problem = &report.message;
    failed_looks::tell(run, report, Message::ScreenNotParsed { problem }).await?;
    Ok(Some(Observation {
        scene: Scene {
            frame: captured.frame.id.clone(),
            elements: Vec::new(),
            relations: Vec::new(),
        },
        frame: captured.frame,
        image: captured.image,
        annotated_image: None,
        prompt_lines: Vec::new(),
        delta: None,
        timings: Vec::new(),
    }))
}

async fn observe(run: &mut RunContext, request: ObserveRequest) -> RunResult<Observation> {
    let mut failed = FailedLooks::of(run, Message::OperationObserve);
    loop {
        match try_observe(run, &request).await? {
            Ok(observation) => return Ok(observation),
            Err(report) => failed.add(run, report).await?,
        }
    }
}

async fn try_observe(
    run: &mut RunContext,
    request: &ObserveRequest,
) -> RunResult<Result<Observation>> {
    run.try_call(Message::OperationObserve, |ports| {
        let request = request.clone();
        async move { ports.perception.observe(request).await }
    })
    .await
}

/// Captures the screen without the pointer, which follows every click and is no effect of it.
pub(super) async fn capture_frame(
    run: &mut RunContext,
    redacted: &[CaptureRect],
) -> RunResult<Frame> {
    let request = frame_request(run, redacted);
    let captured = capture(run, Message::OperationCapture, request).await?;
    Ok(captured.frame)
}

/// Captures the screen without the pointer, and returns errors to the caller unless they end the task.
pub(super) async fn try_capture_frame(
    run: &mut RunContext,
    redacted: &[CaptureRect],
) -> RunResult<Result<Frame>> {
    let request = frame_request(run, redacted);
    let captured = try_capture(run, Message::OperationCapture, &request).await?;
    let captured = or_end(run, Message::OperationCapture, captured)?;
    Ok(captured.map(|captured| captured.frame))
}

fn frame_request(run: &RunContext, redacted: &[CaptureRect]) -> CaptureRequest {
    CaptureRequest {
        display: run.display(),
        omit_cursor: true,
        redactions: run.redactions(redacted),
        ..CaptureRequest::default()
    }
}

/// Captures an area, or the whole screen, as it is shown to an approver.
pub(super) async fn capture_area(
    run: &mut RunContext,
    area: Option<CaptureRect>,
) -> RunResult<CapturedFrame> {
    let area = area.map_or(CaptureArea::Display, CaptureArea::Region);
    let request = CaptureRequest {
        display: run.display(),
        redactions: run.redactions_in(&area),
        area,
        omit_cursor: true,
        image: Some(ImageOptions {
            format: ImageFormat::Png,
            fit: None,
        }),
        ..CaptureRequest::default()
    };
    capture(run, Message::OperationCaptureApproval, request).await
}

/// Captures the screen with a mark at the pointer's position.
pub(super) async fn capture_with_pointer(run: &mut RunContext) -> RunResult<CapturedFrame> {
    let request = CaptureRequest {
        display: run.display(),
        // The frame is compared with one taken after the click, where the pointer may be elsewhere.
        omit_cursor: true,
        image: Some(SCREENSHOT_OPTIONS),
        redactions: run.redactions(&run.task().secret_fields.boxes()),
        mark_pointer: true,
        ..CaptureRequest::default()
    };
    capture(run, Message::OperationCapturePointer, request).await
}

async fn capture(
    run: &mut RunContext,
    operation: Message<'static>,
    request: CaptureRequest,
) -> RunResult<CapturedFrame> {
    let mut failed = FailedLooks::of(run, operation);
    loop {
        match try_capture(run, operation, &request).await? {
            Ok(captured) => return Ok(captured),
            Err(report) => failed.add(run, report).await?,
        }
    }
}

async fn try_capture(
    run: &mut RunContext,
    operation: Message<'static>,
    request: &CaptureRequest,
) -> RunResult<Result<CapturedFrame>> {
    run.try_call(operation, |ports| {
        let request = request.clone();
        async move { ports.perception.capture(request).await }
    })
    .await
}

/// Returns an answer that the caller judges, or ends the task where a recording of an earlier version did.
fn or_end<T>(
    run: &RunContext,
    operation: Message<'static>,
    answer: Result<T>,
) -> RunResult<Result<T>> {
    match answer {
        Err(report) if run.config.max_screen_failures == 0 => {
            Err(halt(run.task(), operation, report))
        }
        answer => Ok(answer),
    }
}

/// Compares two frames. The error is for the caller to judge: Perception may have dropped one of them.
pub(super) async fn compare(
    run: &mut RunContext,
    request: CompareRequest,
) -> RunResult<Result<Comparison>> {
    run.try_call(Message::OperationCompare, move |ports| {
        let request = request.clone();
        async move { ports.perception.compare(request).await }
    })
    .await
}

/// Waits until the screen is idle. The error is for the caller to judge, as in [`compare`].
pub(super) async fn wait_for_idle(
    run: &mut RunContext,
    operation: Message<'static>,
    request: WaitForIdleRequest,
) -> RunResult<Result<IdleReport>> {
    run.try_call(operation, move |ports| {
        let request = request.clone();
        async move { ports.perception.wait_for_idle(request).await }
    })
    .await
}
