//! Operations on an open connection: layout, captures, and change reports.
//!
//! It does not reconnect: [`super::server_thread`] opens a new connection.

use std::sync::Arc;
use std::time::SystemTime;

use image::RgbaImage;
use motorium_imaging::codec::{self, CodecError};
use motorium_proto::domain::frame::{Display, Window};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::DisplayId;
use motorium_x11::windows::WindowDetail;
use motorium_x11::{WatchedStream, Xcb};
use tokio::sync::mpsc;
use tokio::time::Instant;
use x11rb::connection::Connection as _;
use x11rb::cookie::Cookie;
use x11rb::protocol::shm::{self, ConnectionExt as _};
use x11rb::protocol::xfixes::{ConnectionExt as _, GetCursorImageReply};
use x11rb::protocol::xproto::{ConnectionExt as _, ImageFormat, QueryPointerReply};
use x11rb::protocol::{ErrorKind, Event};

use super::connection::{ScreenConnection, X11Fault};
use super::damage::DamageWatch;
use super::mirror::{ScreenMirror, Stale};
use super::shared_memory::SharedMemory;
use super::{layout, windows};
use crate::capture::cursor::CursorImage;
use crate::capture::{Area, CaptureOptions, RawCapture, ScreenChange, area};
use crate::error::Error;

/// Mask that selects all planes of a pixel.
const ALL_PLANES: u32 = !0;

/// Bytes per pixel in the server's image format.
const BYTES_PER_PIXEL: usize = 4;

/// Open connection with the server-side resources created on it.
#[derive(Debug)]
pub(super) struct X11Session {
    connection: ScreenConnection,
    id: DisplayId,
    scale: Option<f64>,
    /// Cached layout; read on first use and after every layout change.
    layout: Option<Display>,
    segment: Option<Segment>,
    watch: Option<DamageWatch>,
    /// Exists once the whole display was captured, if the server supports DAMAGE.
    mirror: Option<ScreenMirror>,
}

/// Source of change notifications.
#[derive(Debug)]
pub(super) enum WatchMode {
    /// The server reports changes through DAMAGE.
    Damage,
    /// The display has to be polled.
    Polling(Display),
}

/// Shared memory that the server copies images into.
#[derive(Debug)]
struct Segment {
    id: shm::Seg,
    memory: SharedMemory,
}

impl X11Session {
    pub(super) fn new(connection: ScreenConnection, id: DisplayId, scale: Option<f64>) -> Self {
        Self {
            connection,
            id,
            scale,
            layout: None,
            segment: None,
            watch: None,
            mirror: None,
        }
    }

    pub(super) fn stream(&self) -> &WatchedStream {
        self.connection.server.x.stream()
    }

    /// Tells every subscriber that the connection has ended.
    pub(super) fn close(self, why: &Error) {
        if let Some(watch) = self.watch {
            watch.close(why);
        }
    }

    pub(super) fn describe(&mut self) -> Result<Display, X11Fault> {
        let layout = layout::read(&self.connection, &self.id, self.scale)?;
        self.set_layout(layout.clone())?;
        Ok(layout)
    }

    pub(super) fn windows(&self) -> Result<Vec<Window>, X11Fault> {
        let seen = windows::list(&self.connection, WindowDetail::Basic)?;
        Ok(seen.into_iter().map(|seen| seen.window).collect())
    }

    pub(super) fn cursor(&self) -> Result<CapturePoint, X11Fault> {
        let (x, y) = self.connection.server.pointer()?;
        Ok(CapturePoint::new(x.into(), y.into()))
    }

    /// Captures pixels and metadata. If the layout changes in between, the capture is retried with the new layout.
    pub(super) fn capture(&mut self, wanted: &CaptureOptions) -> Result<RawCapture, X11Fault> {
        self.process_events()?;
        match self.try_capture(wanted) {
            Err(X11Fault::Call(motorium_x11::Error::Rejected {
                kind: ErrorKind::Match | ErrorKind::Value | ErrorKind::Access,
                ..
            })) => {
                self.describe()?;
                self.try_capture(wanted)
            }
            other => other,
        }
    }

    fn try_capture(&mut self, wanted: &CaptureOptions) -> Result<RawCapture, X11Fault> {
        let display = match &self.layout {
            Some(layout) => layout.clone(),
            None => self.describe()?,
        };
        if !wanted.precise_window_list {
            return self.capture_on(wanted, display, WindowDetail::Basic);
        }
        // The server is grabbed so that no window opens, moves or closes between listing and capturing.
        self.connection.server.x.grab_server()?;
        let taken = self.capture_on(wanted, display, WindowDetail::Exact);
        self.connection.server.x.ungrab_server()?;
        self.connection.server.x.flush()?;
        taken
    }

    fn capture_on(
        &mut self,
        wanted: &CaptureOptions,
        display: Display,
        care: WindowDetail,
    ) -> Result<RawCapture, X11Fault> {
        let needs_windows = wanted.list_windows || matches!(wanted.area, Area::Window(_));
        let seen = if needs_windows {
            windows::list(&self.connection, care)?
        } else {
            Vec::new()
        };
        let through = seen.iter().filter(|seen| !seen.is_opaque);
        let see_through = through.map(|seen| seen.window.id.clone()).collect();
        let windows: Vec<Window> = seen.into_iter().map(|seen| seen.window).collect();
        let bounds = area::resolve(&wanted.area, &display, &windows)?;
        let (pixels, cursor) = self.capture_pixels(bounds)?;
        Ok(RawCapture {
            pixels,
            bounds,
            display,
            cursor: Some(cursor),
            windows,
            non_opaque_windows: see_through,
            redacted: Vec::new(),
            captured_at: SystemTime::now(),
        })
    }

    /// Captures the pixels within `bounds` and the cursor at the same moment.
    fn capture_pixels(
        &mut self,
        bounds: CaptureRect,
    ) -> Result<(Arc<RgbaImage>, CursorImage), X11Fault> {
        self.ensure_segment()?;
        let is_mirrored = self.connection.extensions.damage
            && bounds == CaptureRect::from_size(self.connection.size);
        if is_mirrored {
            self.update_mirror()?;
        }
        let cursor = self.request_cursor()?;
        let pixels = match &self.mirror {
            Some(mirror) if is_mirrored => mirror.pixels(),
            _ => Arc::new(self.fetch(bounds)?),
        };
        Ok((pixels, cursor.take()?))
    }

    fn update_mirror(&mut self) -> Result<(), X11Fault> {
        let whole = CaptureRect::from_size(self.connection.size);
        let Some(mut mirror) = self.mirror.take() else {
            let fetch = || self.fetch(whole);
            self.mirror = Some(ScreenMirror::begin(&self.connection, fetch)?);
            return Ok(());
        };
        if let Err(fault) = self.update(&mut mirror, whole) {
            // The damage has been read but not fetched, and would not be reported again: the mirror is no longer valid.
            mirror.close(&self.connection)?;
            return Err(fault);
        }
        self.mirror = Some(mirror);
        Ok(())
    }

    fn update(&self, mirror: &mut ScreenMirror, whole: CaptureRect) -> Result<(), X11Fault> {
        match mirror.stale(&self.connection, Instant::now())? {
            Stale::Nothing => {}
            Stale::Everything => mirror.replace(self.fetch(whole)?),
            Stale::Regions(parts) => {
                for part in parts {
                    let pixels = mirror.pixels_mut();
                    self.with_fetched(part, |bgrx| codec::patch_from_bgrx(pixels, part, bgrx))?;
                }
            }
        }
        Ok(())
    }

    fn fetch(&self, bounds: CaptureRect) -> Result<RgbaImage, X11Fault> {
        let (width, height) = (to_u16(bounds.width()), to_u16(bounds.height()));
        let stride = usize::from(width) * BYTES_PER_PIXEL;
        self.with_fetched(bounds, |bgrx| {
            codec::from_bgrx(bgrx, width.into(), height.into(), stride)
        })
    }

    /// Fetches the pixels within `bounds` as rows of blue, green, red and an unused byte.
    fn with_fetched<T>(
        &self,
        bounds: CaptureRect,
        take: impl FnOnce(&[u8]) -> Result<T, CodecError>,
    ) -> Result<T, X11Fault> {
        let x = &self.connection.server.x;
        let root = self.connection.server.root;
        let (left, top) = (to_i16(bounds.min.x), to_i16(bounds.min.y));
        let (width, height) = (to_u16(bounds.width()), to_u16(bounds.height()));
        let format = ImageFormat::Z_PIXMAP;
        let taken = match &self.segment {
            Some(Segment { id, memory }) => {
                let planes = ALL_PLANES;
                x.shm_get_image(
                    root,
                    left,
                    top,
                    width,
                    height,
                    planes,
                    format.into(),
                    *id,
                    0,
                )?
                .reply()?;
                take(memory.bytes())
            }
            None => {
                let reply = x
                    .get_image(format, root, left, top, width, height, ALL_PLANES)?
                    .reply()?;
                take(&reply.data)
            }
        };
        taken.map_err(|error| {
            motorium_x11::Error::Lost {
                cause: error.to_string(),
            }
            .into()
        })
    }

    fn drop_mirror(&mut self) -> Result<(), X11Fault> {
        match self.mirror.take() {
            Some(mirror) => mirror.close(&self.connection),
            None => Ok(()),
        }
    }

    fn request_cursor(&self) -> Result<CursorReply<'_>, X11Fault> {
        let server = &self.connection.server;
        if self.connection.extensions.xfixes {
            return Ok(CursorReply::Image(server.x.xfixes_get_cursor_image()?));
        }
        let position = server.x.query_pointer(server.root)?;
        Ok(CursorReply::PositionOnly(position))
    }

    /// Creates the shared memory for a whole frame, unless it exists or the server does not support it.
    fn ensure_segment(&mut self) -> Result<(), X11Fault> {
        if self.segment.is_some() || !self.connection.extensions.shared_memory {
            return Ok(());
        }
        let size = self.connection.size;
        let bytes = size.to_usize().area() * BYTES_PER_PIXEL;
        let made = SharedMemory::new(bytes)
            .map(|(memory, file)| (memory, file, self.connection.server.x.generate_id()));
        let (memory, file, id) = match made {
            Ok((memory, file, id)) => (memory, file, id?),
            Err(error) => {
                tracing::warn!(display = %self.id, %error, "shared memory is unavailable, captures use the socket");
                self.connection.extensions.shared_memory = false;
                return Ok(());
            }
        };
        let attached = self
            .connection
            .server
            .x
            .shm_attach_fd(id, file, false)?
            .check();
        match attached.map_err(motorium_x11::Error::from) {
            Ok(()) => self.segment = Some(Segment { id, memory }),
            Err(motorium_x11::Error::Rejected { cause, .. }) => {
                tracing::warn!(display = %self.id, cause, "shared memory is unavailable, captures use the socket");
                self.connection.extensions.shared_memory = false;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Stores a new layout. Shared memory and the mirror are dropped if the size changed.
    fn set_layout(&mut self, layout: Display) -> Result<(), X11Fault> {
        let resized = layout.size != self.connection.size;
        self.connection.size = layout.size;
        self.layout = Some(layout);
        if let Some(segment) = self.segment.take_if(|_| resized) {
            self.connection.server.x.shm_detach(segment.id)?;
        }
        if resized {
            self.drop_mirror()?;
        }
        Ok(())
    }

    /// Subscribes `watcher` to changes, if the server can report them.
    pub(super) fn watch(
        &mut self,
        watcher: mpsc::Sender<Result<ScreenChange, Error>>,
    ) -> Result<WatchMode, X11Fault> {
        if !self.connection.extensions.damage {
            return Ok(WatchMode::Polling(self.describe()?));
        }
        let watch = match &mut self.watch {
            Some(watch) => watch,
            None => self.watch.insert(DamageWatch::begin(&self.connection)?),
        };
        // Earlier damage belongs to the existing subscribers.
        watch.report(&self.connection, Instant::now())?;
        watch.add(watcher);
        Ok(WatchMode::Damage)
    }

    /// Processes events and forwards changes. Returns when the next report is due, if one is pending.
    pub(super) fn process_due(&mut self, now: Instant) -> Result<Option<Instant>, X11Fault> {
        self.process_events()?;
        let Some(watch) = &mut self.watch else {
            return Ok(None);
        };
        let due = watch.report_due(&self.connection, now)?;
        if watch.is_unwatched() {
            watch.stop(&self.connection)?;
            self.watch = None;
            return Ok(None);
        }
        self.connection.server.x.flush()?;
        Ok(due)
    }

    fn process_events(&mut self) -> Result<(), X11Fault> {
        let mut new_layout = false;
        while let Some(event) = self.connection.server.x.poll_for_event()? {
            match event {
                Event::DamageNotify(event) => {
                    if let Some(watch) = &mut self.watch {
                        watch.mark_dirty(event.damage);
                    }
                }
                Event::RandrScreenChangeNotify(_) => new_layout = true,
                Event::ConfigureNotify(event) => {
                    new_layout |= event.window == self.connection.server.root
                }
                Event::Error(error) => tracing::debug!(display = %self.id, ?error, "late X error"),
                _ => {}
            }
        }
        if new_layout {
            self.describe()?;
        }
        Ok(())
    }
}

/// Converts to a 16-bit X coordinate. Boxes are clipped to the display before, so nothing is lost.
fn to_i16(value: i32) -> i16 {
    i16::try_from(value).unwrap_or(i16::MAX)
}

fn to_u16(value: i32) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}

/// Pending reply about the cursor.
enum CursorReply<'c> {
    Image(Cookie<'c, Xcb, GetCursorImageReply>),
    /// The server does not provide the cursor image.
    PositionOnly(Cookie<'c, Xcb, QueryPointerReply>),
}

impl CursorReply<'_> {
    fn take(self) -> Result<CursorImage, X11Fault> {
        match self {
            Self::Image(cookie) => {
                let reply = cookie.reply()?;
                Ok(CursorImage {
                    position: CapturePoint::new(reply.x.into(), reply.y.into()),
                    hot_spot: (reply.xhot.into(), reply.yhot.into()),
                    width: reply.width.into(),
                    height: reply.height.into(),
                    argb: reply.cursor_image,
                })
            }
            Self::PositionOnly(cookie) => {
                let reply = cookie.reply()?;
                Ok(CursorImage::invisible(CapturePoint::new(
                    reply.root_x.into(),
                    reply.root_y.into(),
                )))
            }
        }
    }
}
