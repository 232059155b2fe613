//! One frame of a live screen over plain HTTP, for programs that look now and then.
//!
//! It shares the streams of the viewers. Clients that need every frame open a WebSocket instead.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Extension, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderName, header};
use motorium_proto::error::{ErrorReport, reason};
use serde::Deserialize;
use tokio::time::timeout;
use tonic::Code;
use utoipa::IntoParams;

use super::screen::{Screens, Source, Update};
use super::snapshot::{Snapshot, parts_of};
use super::viewer::ViewerSize;
use crate::caller::Caller;
use crate::error::Error;
use crate::files::segment;
use crate::path::Path;
use crate::query::Query;
use crate::socket::StreamContext;

/// Time in which the first frame of a screen comes. A stream that is opened sends it at once.
const FRAME_TIMEOUT: Duration = Duration::from_secs(10);
/// Header with what is known of the frame: the same JSON as before the frames of a WebSocket.
const FRAME_HEADER: HeaderName = HeaderName::from_static("motorium-frame");

/// Size of an image, in pixels.
#[derive(Debug, Clone, Copy, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct FrameQuery {
    /// Width of a box in which the screen is shown; the image is at least as large as it is there. Full size without width and height.
    width: Option<u32>,
    /// Height of that box.
    height: Option<u32>,
}

/// Returns the screen of a task as it is now, while the task has its desktop.
#[utoipa::path(get, path = "/api/v1/tasks/{task}/frame", tag = "resources",
    params(("task" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), FrameQuery),
    responses((status = 200, description = "The screen, as JPEG. The header `motorium-frame` has its time, its size and the position of the pointer, as JSON",
        body = ref("#/components/schemas/FileContent"), content_type = "image/jpeg"),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn frame_of_task(
    State(context): State<StreamContext>,
    State(screens): State<Arc<Screens>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    Query(query): Query<FrameQuery>,
) -> Result<Response, Error> {
    let source = Source::Task(segment("task", &task)?.to_owned());
    answer(&context, &screens, &caller, source, query).await
}

/// Returns the screen of a desktop as it is now, for administrators.
#[utoipa::path(get, path = "/api/v1/desktops/{desktop}/frame", tag = "resources",
    params(("desktop" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), FrameQuery),
    responses((status = 200, description = "The screen, as JPEG. The header `motorium-frame` has its time, its size and the position of the pointer, as JSON",
        body = ref("#/components/schemas/FileContent"), content_type = "image/jpeg"),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn frame_of_desktop(
    State(context): State<StreamContext>,
    State(screens): State<Arc<Screens>>,
    Extension(caller): Extension<Caller>,
    Path(desktop): Path<String>,
    Query(query): Query<FrameQuery>,
) -> Result<Response, Error> {
    let source = Source::Desktop(segment("desktop", &desktop)?.to_owned());
    answer(&context, &screens, &caller, source, query).await
}

async fn answer(
    context: &StreamContext,
    screens: &Screens,
    caller: &Caller,
    source: Source,
    query: FrameQuery,
) -> Result<Response, Error> {
    let _permit = context.quotas.open_stream(caller.identity())?;
    let snapshot = timeout(FRAME_TIMEOUT, latest(screens, caller, source));
    let snapshot = snapshot.await.map_err(|_| no_frame())??;
    let wanted = ViewerSize::new(query.width, query.height).size();
    let message = snapshot.message(wanted).await;
    let message = message.map_err(|error| tonic::Status::internal(error.to_string()))?;
    let (header, image) = parts_of(message);
    let headers = [
        (header::CONTENT_TYPE, "image/jpeg".to_owned()),
        (header::CACHE_CONTROL, "no-store".to_owned()),
        (FRAME_HEADER, header),
    ];
    Ok((headers, image).into_response())
}

/// Returns the latest frame of a screen, or why there is none.
async fn latest(
    screens: &Screens,
    caller: &Caller,
    source: Source,
) -> Result<Arc<Snapshot>, Error> {
    let screen = screens.follow(caller, source);
    let mut updates = screen.updates();
    loop {
        match updates.borrow_and_update().clone() {
            Update::Opening => {}
            Update::Frame(snapshot) => return Ok(snapshot),
            Update::Waiting(report) | Update::Ended(report) => {
                return Err(ErrorReport::clone(&report).into());
            }
        }
        updates.changed().await.map_err(|_| no_frame())?;
    }
}

fn no_frame() -> Error {
    let text =
        "the screen has sent no frame; look whether its desktop is reachable in ListDesktops";
    ErrorReport::new(Code::Unavailable, reason::TRANSPORT, text).into()
}
