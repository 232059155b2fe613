//! What is done on an open connection: layout, pictures, and the report of changes.

use std::sync::Arc;
use std::time::SystemTime;

use image::RgbaImage;
use motorium_imaging::picture::{self, PictureError};
use motorium_proto::domain::frame::{Display, Window};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::DisplayId;
use tokio::sync::mpsc;
use tokio::time::Instant;
use x11rb::connection::Connection as _;
use x11rb::cookie::Cookie;
use x11rb::protocol::shm::{self, ConnectionExt as _};
use x11rb::protocol::xfixes::{ConnectionExt as _, GetCursorImageReply};
use x11rb::protocol::xproto::{ConnectionExt as _, ImageFormat, QueryPointerReply};
use x11rb::protocol::{ErrorKind, Event};
use x11rb::rust_connection::RustConnection;

use super::connection::{Connection, Fault};
use super::damage::DamageWatch;
use super::mirror::{Mirror, Stale};
use super::shared_memory::SharedMemory;
use super::stream::WatchedStream;
use super::windows::Care;
use super::{layout, windows};
use crate::capture::cursor::CursorImage;
use crate::capture::{Area, CaptureRequest, Change, Shot, area};
use crate::error::Error;

/// All planes of a pixel.
const ALL_PLANES: u32 = !0;

/// Bytes of a pixel as the server hands it out.
const BYTES_PER_PIXEL: usize = 4;

/// An open connection with what has been built on it.
#[derive(Debug)]
pub(super) struct Live {
    connection: Connection,
    id: DisplayId,
    scale: Option<f64>,
    /// Read on first use and again after every change of the layout.
    layout: Option<Display>,
    segment: Option<Segment>,
    watch: Option<DamageWatch>,
    /// Once the whole display was captured, if the server tells what is drawn.
    mirror: Option<Mirror>,
}

/// How changes become known.
#[derive(Debug)]
pub(super) enum Watching {
    /// The server tells of them.
    Reported,
    /// The display has to be looked at.
    OnlyByLooking(Display),
}

/// Memory that the server copies pictures into.
#[derive(Debug)]
struct Segment {
    id: shm::Seg,
    memory: SharedMemory,
}

impl Live {
    pub(super) fn new(connection: Connection, id: DisplayId, scale: Option<f64>) -> Self {
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
        self.connection.x.stream()
    }

    /// Tells whoever watches that there is nothing left to watch.
    pub(super) fn end(self, why: &Error) {
        if let Some(watch) = self.watch {
            watch.end(why);
        }
    }

    pub(super) fn describe(&mut self) -> Result<Display, Fault> {
        let layout = layout::read(&self.connection, &self.id, self.scale)?;
        self.layout_is(layout.clone())?;
        Ok(layout)
    }

    pub(super) fn windows(&self) -> Result<Vec<Window>, Fault> {
        let seen = windows::list(&self.connection, Care::Usual)?;
        Ok(seen.into_iter().map(|seen| seen.window).collect())
    }

    pub(super) fn cursor(&self) -> Result<CapturePoint, Fault> {
        let pointer = self
            .connection
            .x
            .query_pointer(self.connection.root)?
            .reply()?;
        Ok(CapturePoint::new(
            pointer.root_x.into(),
            pointer.root_y.into(),
        ))
    }

    /// Takes a picture. If the layout changes in the middle of it, it is taken again on the new layout.
    pub(super) fn capture(&mut self, wanted: &CaptureRequest) -> Result<Shot, Fault> {
        self.take_in_events()?;
        match self.try_capture(wanted) {
            Err(Fault::Refused(ErrorKind::Match | ErrorKind::Value | ErrorKind::Access, _)) => {
                self.describe()?;
                self.try_capture(wanted)
            }
            other => other,
        }
    }

    fn try_capture(&mut self, wanted: &CaptureRequest) -> Result<Shot, Fault> {
        let display = match &self.layout {
            Some(layout) => layout.clone(),
            None => self.describe()?,
        };
        if !wanted.exactly {
            return self.take(wanted, display, Care::Usual);
        }
        // No window is opened, moved or closed between its place in the list and its pixels.
        self.connection.x.grab_server()?;
        let taken = self.take(wanted, display, Care::Utmost);
        self.connection.x.ungrab_server()?;
        self.connection.x.flush()?;
        taken
    }

    fn take(
        &mut self,
        wanted: &CaptureRequest,
        display: Display,
        care: Care,
    ) -> Result<Shot, Fault> {
        let needs_windows = wanted.list_windows || matches!(wanted.area, Area::Window(_));
        let seen = if needs_windows {
            windows::list(&self.connection, care)?
        } else {
            Vec::new()
        };
        let through = seen.iter().filter(|seen| !seen.covers);
        let see_through = through.map(|seen| seen.window.id.clone()).collect();
        let windows: Vec<Window> = seen.into_iter().map(|seen| seen.window).collect();
        let bounds = area::resolve(&wanted.area, &display, &windows)?;
        let (pixels, cursor) = self.grab(bounds)?;
        Ok(Shot {
            pixels,
            bounds,
            display,
            cursor: Some(cursor),
            windows,
            see_through,
            hidden: Vec::new(),
            captured_at: SystemTime::now(),
        })
    }

    /// The pixels within `bounds`, and the cursor of the same moment.
    fn grab(&mut self, bounds: CaptureRect) -> Result<(Arc<RgbaImage>, CursorImage), Fault> {
        self.ensure_segment()?;
        let is_mirrored = self.connection.extensions.damage
            && bounds == CaptureRect::from_size(self.connection.size);
        if is_mirrored {
            self.bring_mirror_up_to_date()?;
        }
        let cursor = self.ask_for_cursor()?;
        let pixels = match &self.mirror {
            Some(mirror) if is_mirrored => mirror.pixels(),
            _ => Arc::new(self.fetch(bounds)?),
        };
        Ok((pixels, cursor.take()?))
    }

    fn bring_mirror_up_to_date(&mut self) -> Result<(), Fault> {
        let whole = CaptureRect::from_size(self.connection.size);
        let Some(mut mirror) = self.mirror.take() else {
            let fetch = || self.fetch(whole);
            self.mirror = Some(Mirror::begin(&self.connection, fetch)?);
            return Ok(());
        };
        if let Err(fault) = self.update(&mut mirror, whole) {
            // What was drawn has been asked for and not been fetched: nobody would tell of it again.
            mirror.end(&self.connection)?;
            return Err(fault);
        }
        self.mirror = Some(mirror);
        Ok(())
    }

    fn update(&self, mirror: &mut Mirror, whole: CaptureRect) -> Result<(), Fault> {
        match mirror.stale(&self.connection, Instant::now())? {
            Stale::Nothing => {}
            Stale::Everything => mirror.replace(self.fetch(whole)?),
            Stale::Parts(parts) => {
                for part in parts {
                    let pixels = mirror.pixels_mut();
                    self.with_fetched(part, |bgrx| picture::patch_from_bgrx(pixels, part, bgrx))?;
                }
            }
        }
        Ok(())
    }

    fn fetch(&self, bounds: CaptureRect) -> Result<RgbaImage, Fault> {
        let (width, height) = (unsigned(bounds.width()), unsigned(bounds.height()));
        let stride = usize::from(width) * BYTES_PER_PIXEL;
        self.with_fetched(bounds, |bgrx| {
            picture::from_bgrx(bgrx, width.into(), height.into(), stride)
        })
    }

    /// Has the server hand out what is within `bounds`, as rows of blue, green, red and nothing.
    fn with_fetched<T>(
        &self,
        bounds: CaptureRect,
        take: impl FnOnce(&[u8]) -> Result<T, PictureError>,
    ) -> Result<T, Fault> {
        let x = &self.connection.x;
        let root = self.connection.root;
        let (left, top) = (short(bounds.min.x), short(bounds.min.y));
        let (width, height) = (unsigned(bounds.width()), unsigned(bounds.height()));
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
        taken.map_err(|error| Fault::Lost(error.to_string()))
    }

    fn forget_mirror(&mut self) -> Result<(), Fault> {
        match self.mirror.take() {
            Some(mirror) => mirror.end(&self.connection),
            None => Ok(()),
        }
    }

    fn ask_for_cursor(&self) -> Result<CursorAnswer<'_>, Fault> {
        let Connection {
            x,
            root,
            extensions,
            ..
        } = &self.connection;
        if extensions.xfixes {
            return Ok(CursorAnswer::Image(x.xfixes_get_cursor_image()?));
        }
        Ok(CursorAnswer::PositionOnly(x.query_pointer(*root)?))
    }

    /// Makes the memory that holds a whole frame, unless it is there or the server cannot share any.
    fn ensure_segment(&mut self) -> Result<(), Fault> {
        if self.segment.is_some() || !self.connection.extensions.shared_memory {
            return Ok(());
        }
        let size = self.connection.size;
        let bytes = size.to_usize().area() * BYTES_PER_PIXEL;
        let made = SharedMemory::new(bytes)
            .map(|(memory, file)| (memory, file, self.connection.x.generate_id()));
        let (memory, file, id) = match made {
            Ok((memory, file, id)) => (memory, file, id?),
            Err(error) => {
                tracing::warn!(display = %self.id, %error, "no shared memory, pictures go over the socket");
                self.connection.extensions.shared_memory = false;
                return Ok(());
            }
        };
        match self
            .connection
            .x
            .shm_attach_fd(id, file, false)?
            .check()
            .map_err(Fault::from)
        {
            Ok(()) => self.segment = Some(Segment { id, memory }),
            Err(Fault::Refused(_, detail)) => {
                tracing::warn!(display = %self.id, detail, "no shared memory, pictures go over the socket");
                self.connection.extensions.shared_memory = false;
            }
            Err(fault) => return Err(fault),
        }
        Ok(())
    }

    /// The layout is now this one: memory of another size is given back.
    fn layout_is(&mut self, layout: Display) -> Result<(), Fault> {
        let resized = layout.size != self.connection.size;
        self.connection.size = layout.size;
        self.layout = Some(layout);
        if let Some(segment) = self.segment.take_if(|_| resized) {
            self.connection.x.shm_detach(segment.id)?;
        }
        if resized {
            self.forget_mirror()?;
        }
        Ok(())
    }

    /// Begins to report changes to `watcher`, if the server can tell of them.
    pub(super) fn watch(
        &mut self,
        watcher: mpsc::Sender<Result<Change, Error>>,
    ) -> Result<Watching, Fault> {
        if !self.connection.extensions.damage {
            return Ok(Watching::OnlyByLooking(self.describe()?));
        }
        let watch = match &mut self.watch {
            Some(watch) => watch,
            None => self.watch.insert(DamageWatch::begin(&self.connection)?),
        };
        // What was drawn before belongs to those who watch already.
        watch.report(&self.connection, Instant::now())?;
        watch.add(watcher);
        Ok(Watching::Reported)
    }

    /// Takes in events and passes changes on. Returns when the next report is due, if one is.
    pub(super) fn attend(&mut self, now: Instant) -> Result<Option<Instant>, Fault> {
        self.take_in_events()?;
        let Some(watch) = &mut self.watch else {
            return Ok(None);
        };
        let due = watch.attend(&self.connection, now)?;
        if watch.is_unwatched() {
            watch.stop(&self.connection)?;
            self.watch = None;
            return Ok(None);
        }
        self.connection.x.flush()?;
        Ok(due)
    }

    fn take_in_events(&mut self) -> Result<(), Fault> {
        let mut new_layout = false;
        while let Some(event) = self.connection.x.poll_for_event()? {
            match event {
                Event::DamageNotify(event) => {
                    if let Some(watch) = &mut self.watch {
                        watch.something_was_drawn(event.damage);
                    }
                }
                Event::RandrScreenChangeNotify(_) => new_layout = true,
                Event::ConfigureNotify(event) => new_layout |= event.window == self.connection.root,
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

/// X coordinates have 16 bits; boxes are cut to the display before, so nothing is lost.
fn short(value: i32) -> i16 {
    i16::try_from(value).unwrap_or(i16::MAX)
}

fn unsigned(value: i32) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}

/// An answer about the cursor that is on its way.
enum CursorAnswer<'c> {
    Image(Cookie<'c, RustConnection<WatchedStream>, GetCursorImageReply>),
    /// The server does not hand out the cursor's picture.
    PositionOnly(Cookie<'c, RustConnection<WatchedStream>, QueryPointerReply>),
}

impl CursorAnswer<'_> {
    fn take(self) -> Result<CursorImage, Fault> {
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
