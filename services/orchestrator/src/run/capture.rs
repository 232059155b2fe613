//! Captures, observations and comparisons of the screen, with the redactions that the task and the hooks ask for.
//!
//! Nothing is remembered here; [`super::screen`] keeps the latest observation.

use motorium_messages::Message;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::service::{
    CaptureArea, CaptureRequest, CapturedFrame, CompareRequest, Comparison, IdleReport,
    ImageFormat, ImageOptions, Observation, ObserveRequest, ParseOptions, Redaction, Result,
    WaitForIdleRequest,
};

use super::context::RunContext;
use super::{RunResult, hooks};

/// Format of stored screenshots, which are shown to people and sent to models.
// Lossless, so that small text stays readable, and small enough to store one or two per step.
const SCREENSHOT_OPTIONS: ImageOptions = ImageOptions {
    format: ImageFormat::WebpLossless,
    fit: None,
};

/// Captures and parses the whole screen, with an image if it is to be stored.
pub(super) async fn observe_screen(run: &mut RunContext, image: bool) -> RunResult<Observation> {
    hooks::before_screenshot(run).await?;
    let request = whole_screen(run, image, run.redactions_in(&CaptureArea::Display));
    observe_as(run, request).await
}

/// Observes as requested, and shows the screenshot to the hooks.
pub(super) async fn observe_as(
    run: &mut RunContext,
    request: ObserveRequest,
) -> RunResult<Observation> {
    let observation = observe(run, request).await?;
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

/// Captures and parses a part of the screen.
pub(super) async fn observe_area(
    run: &mut RunContext,
    area: CaptureArea,
    parsing: ParseOptions,
) -> RunResult<Observation> {
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
    observe(run, request).await
}

async fn observe(run: &mut RunContext, request: ObserveRequest) -> RunResult<Observation> {
    run.call(Message::OperationObserve, move |ports| {
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
    let request = CaptureRequest {
        display: run.display(),
        omit_cursor: true,
        redactions: run.redactions(redacted),
        ..CaptureRequest::default()
    };
    let captured = capture(run, Message::OperationCapture, request).await?;
    Ok(captured.frame)
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
    run.call(operation, move |ports| {
        let request = request.clone();
        async move { ports.perception.capture(request).await }
    })
    .await
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
