//! Capture through `xcap`, for platforms without a native driver (feature `driver-xcap`).
//!
//! The library opens its own connections, reports neither cursor nor changes, and may block forever. It therefore runs
//! on its own thread, for which callers wait no longer than the timeout, and changes are found by polling.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use image::{RgbaImage, imageops};
use motorium_imaging::resize::crop;
use motorium_imaging::space::{DesktopSpace, LogicalRect, PlatformMonitor};
use motorium_proto::domain::frame::{Display, Monitor, Window};
use motorium_proto::domain::geometry::{
    CapturePoint, CaptureRect, CaptureSize, LogicalPoint, LogicalSize,
};
use motorium_proto::domain::id::DisplayId;
use tokio::sync::oneshot;
use xcap::{XCapError, XCapResult};

use super::polling::PollingChanges;
use super::{CaptureOptions, ChangeStream, RawCapture, Screen, area};
use crate::error::Error;

type Job = Box<dyn FnOnce() + Send>;

/// The display that the process belongs to.
#[derive(Debug)]
pub struct PortableScreen {
    id: DisplayId,
    timeout: Duration,
    scale: Option<f64>,
    jobs: mpsc::Sender<Job>,
    thread: JoinHandle<()>,
    /// True if a call ever succeeded. A later failure then means that the display was lost.
    was_available: Arc<AtomicBool>,
}

impl PortableScreen {
    /// Creates the screen with the id that requests use. Timeout and scale as for the X11 screen.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn new(id: DisplayId, limit: Duration, scale: Option<f64>) -> Result<Self, Error> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let thread = std::thread::Builder::new()
            .name(format!("xcap {id}"))
            .spawn(move || queue.into_iter().for_each(|job| job()))
            .map_err(|error| Error::Internal {
                detail: format!("cannot start a capture thread for {id}: {error}"),
            })?;
        Ok(Self {
            id,
            timeout: limit,
            scale,
            jobs,
            thread,
            was_available: Arc::default(),
        })
    }

    async fn call<T, W>(&self, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce() -> XCapResult<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move || {
            // The caller has timed out while this job was queued behind a hanging display.
            if !reply.is_closed() {
                let _ = reply.send(work());
            }
        });
        let gone = || Error::Internal {
            detail: format!("the thread of display {} has ended", self.id),
        };
        self.jobs.send(job).map_err(|_| gone())?;
        let Ok(answered) = tokio::time::timeout(self.timeout, answer).await else {
            return Err(Error::DisplayTimedOut {
                display: self.id.clone(),
                after: self.timeout,
            });
        };
        let result = answered
            .map_err(|_| gone())?
            .map_err(|error| self.error(&error));
        self.was_available
            .fetch_or(result.is_ok(), Ordering::Relaxed);
        result
    }

    fn error(&self, error: &XCapError) -> Error {
        let (display, detail) = (self.id.clone(), error.to_string());
        if self.was_available.load(Ordering::Relaxed) {
            return Error::DisplayLost { display, detail };
        }
        Error::DisplayUnavailable { display, detail }
    }
}

#[async_trait]
impl Screen for PortableScreen {
    fn id(&self) -> &DisplayId {
        &self.id
    }

    async fn describe(&self) -> Result<Display, Error> {
        let (id, scale) = (self.id.clone(), self.scale);
        self.call(move || Ok(Layout::read()?.describe(&id, scale)))
            .await
    }

    async fn capture(&self, wanted: CaptureOptions) -> Result<RawCapture, Error> {
        let (id, scale) = (self.id.clone(), self.scale);
        let request = wanted.clone();
        let (display, windows, pixels) = self
            .call(move || {
                let layout = Layout::read()?;
                let display = layout.describe(&id, scale);
                let needs_windows =
                    request.list_windows || matches!(request.area, super::Area::Window(_));
                let windows = if needs_windows {
                    layout.windows()?
                } else {
                    Vec::new()
                };
                Ok((display, windows, layout.capture()?))
            })
            .await?;
        let bounds = area::resolve(&wanted.area, &display, &windows)?;
        let pixels = crop(&pixels, bounds).map_err(|error| Error::CaptureRefused {
            display: self.id.clone(),
            detail: error.to_string(),
        })?;
        Ok(RawCapture {
            pixels: Arc::new(pixels),
            bounds,
            display,
            cursor: None,
            // The platform does not report opacity, so no window counts as covering another.
            non_opaque_windows: windows.iter().map(|window| window.id.clone()).collect(),
            windows,
            redacted: Vec::new(),
            captured_at: SystemTime::now(),
        })
    }

    async fn cursor_position(&self) -> Result<Option<CapturePoint>, Error> {
        // The cursor is unknown, but the call must still report whether the display is reachable.
        self.describe().await?;
        Ok(None)
    }

    async fn windows(&self) -> Result<Vec<Window>, Error> {
        self.call(|| Layout::read()?.windows()).await
    }

    fn is_terminated(&self) -> bool {
        self.thread.is_finished()
    }

    async fn watch(&self) -> Result<Box<dyn ChangeStream>, Error> {
        let display = self.describe().await?;
        Ok(Box::new(PollingChanges::new(CaptureRect::from_size(
            display.size,
        ))))
    }
}

/// Monitors, arranged in one plane of capture pixels that starts at (0, 0).
struct Layout {
    monitors: Vec<(xcap::Monitor, Monitor)>,
    /// Capture pixels per logical point, of the primary monitor.
    scale: f64,
    space: DesktopSpace,
}

impl Layout {
    fn read() -> XCapResult<Self> {
        let found = xcap::Monitor::all()?;
        let described = found.iter().map(platform_monitor);
        let described = described.collect::<XCapResult<Vec<_>>>()?;
        let space = DesktopSpace::of_monitors(&described)
            .map_err(|error| XCapError::new(format!("the monitors cannot be used: {error}")))?;
        let mut scale = 1.0;
        let mut monitors = Vec::new();
        for (monitor, bounds) in found.into_iter().zip(space.monitors()) {
            let described = Monitor {
                name: monitor.name()?,
                bounds,
                primary: monitor.is_primary()?,
            };
            if described.primary || monitors.is_empty() {
                scale = f64::from(monitor.scale_factor()?);
            }
            monitors.push((monitor, described));
        }
        if !monitors.iter().any(|(_, monitor)| monitor.primary) {
            monitors[0].1.primary = true;
        }
        Ok(Self {
            monitors,
            scale,
            space,
        })
    }

    fn size(&self) -> CaptureSize {
        self.space.size()
    }

    fn describe(&self, id: &DisplayId, scale: Option<f64>) -> Display {
        let size = self.size();
        let scale = scale.unwrap_or(self.scale);
        Display {
            id: id.clone(),
            size,
            logical_size: LogicalSize::new(
                f64::from(size.width) / scale,
                f64::from(size.height) / scale,
            ),
            scale,
            monitors: self
                .monitors
                .iter()
                .map(|(_, monitor)| monitor.clone())
                .collect(),
        }
    }

    fn capture(&self) -> XCapResult<RgbaImage> {
        if let [(only, _)] = &self.monitors[..] {
            return only.capture_image();
        }
        let size = self.size().to_u32();
        let mut plane =
            RgbaImage::from_pixel(size.width, size.height, image::Rgba([0, 0, 0, u8::MAX]));
        for (monitor, described) in &self.monitors {
            let corner = described.bounds.min;
            imageops::replace(
                &mut plane,
                &monitor.capture_image()?,
                corner.x.into(),
                corner.y.into(),
            );
        }
        Ok(plane)
    }

    fn windows(&self) -> XCapResult<Vec<Window>> {
        // A window that is closed while it is described fails the list. Another one is hardly closed in the next list as well.
        self.list_windows().or_else(|_| self.list_windows())
    }

    fn list_windows(&self) -> XCapResult<Vec<Window>> {
        let mut windows = Vec::new();
        for window in xcap::Window::all()? {
            let corner = LogicalPoint::new(window.x()?.into(), window.y()?.into());
            let size = LogicalSize::new(window.width()?.into(), window.height()?.into());
            let place = LogicalRect::from_origin_and_size(corner, size);
            let described = Window {
                id: format!("{:#x}", window.id()?),
                title: window.title()?,
                application: window.app_name()?,
                process: window.pid().ok(),
                bounds: self.space.to_capture_rect(&place),
                active: window.is_focused()?,
                minimised: window.is_minimized()?,
                modal: false,
            };
            windows.push((window.z()?, described));
        }
        windows.sort_by_key(|&(z, _)| std::cmp::Reverse(z));
        Ok(windows.into_iter().map(|(_, window)| window).collect())
    }
}

/// Returns a monitor in the platform's coordinates.
fn platform_monitor(monitor: &xcap::Monitor) -> XCapResult<PlatformMonitor> {
    let corner = LogicalPoint::new(monitor.x()?.into(), monitor.y()?.into());
    let size = LogicalSize::new(monitor.width()?.into(), monitor.height()?.into());
    Ok(PlatformMonitor {
        bounds: LogicalRect::from_origin_and_size(corner, size),
        // Windows describes its monitors and windows in pixels, whatever their scale.
        scale: if cfg!(target_os = "windows") {
            1.0
        } else {
            monitor.scale_factor()?.into()
        },
    })
}
