//! Configured screens, opened on first use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use motorium_proto::domain::frame::Display;
use motorium_proto::domain::id::DisplayId;

use crate::capture::Screen;
use crate::error::Error;

/// Capture driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    #[cfg(target_os = "linux")]
    X11,
    #[cfg(feature = "driver-xcap")]
    Xcap,
}

impl Driver {
    /// Drivers of this build by configuration name, the default one first.
    pub const KNOWN: &'static [(&'static str, Driver)] = &[
        #[cfg(target_os = "linux")]
        ("x11", Driver::X11),
        #[cfg(feature = "driver-xcap")]
        ("xcap", Driver::Xcap),
    ];

    fn open(
        self,
        id: &DisplayId,
        limit: Duration,
        scale: Option<f64>,
    ) -> Result<Arc<dyn Screen>, Error> {
        match self {
            #[cfg(target_os = "linux")]
            Self::X11 => Ok(Arc::new(crate::capture::x11::X11Screen::new(
                id.clone(),
                limit,
                scale,
            )?)),
            #[cfg(feature = "driver-xcap")]
            Self::Xcap => Ok(Arc::new(crate::capture::portable::PortableScreen::new(
                id.clone(),
                limit,
                scale,
            )?)),
        }
    }
}

/// Configured displays and their open screens.
#[derive(Debug)]
pub struct Screens {
    driver: Driver,
    /// Configured displays, the default one first. No other display is opened.
    displays: Vec<DisplayId>,
    timeout: Duration,
    scale: Option<f64>,
    open: Mutex<HashMap<DisplayId, Arc<dyn Screen>>>,
}

impl Screens {
    /// Creates the screens. `limit` is the timeout of one call; `scale` overrides the scale that desktops report.
    #[must_use]
    pub fn new(
        driver: Driver,
        displays: Vec<DisplayId>,
        timeout: Duration,
        scale: Option<f64>,
    ) -> Self {
        Self {
            driver,
            displays,
            timeout,
            scale,
            open: Mutex::default(),
        }
    }

    /// Returns the requested display, or the default one.
    ///
    /// # Errors
    /// [`Error::NoDisplay`] if no display is configured; [`Error::DisplayNotFound`] if the requested one is not
    /// configured.
    pub fn get(&self, asked_for: Option<&DisplayId>) -> Result<Arc<dyn Screen>, Error> {
        let default = self.displays.first().ok_or(Error::NoDisplay)?;
        let id = asked_for.unwrap_or(default);
        if !self.displays.contains(id) {
            let known: Vec<_> = self
                .displays
                .iter()
                .map(|display| format!("`{display}`"))
                .collect();
            let detail = format!("this service is configured for {}", known.join(", "));
            return Err(Error::DisplayNotFound {
                display: id.clone(),
                detail,
            });
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(screen) = open.get(id).filter(|screen| !screen.is_terminated()) {
            return Ok(Arc::clone(screen));
        }
        let screen = self.driver.open(id, self.timeout, self.scale)?;
        open.insert(id.clone(), Arc::clone(&screen));
        Ok(screen)
    }

    /// Describes every reachable display, the default one first.
    ///
    /// # Errors
    /// [`Error::NoDisplay`] if none is configured; the error of the default one if none is reachable.
    pub async fn describe_all(&self) -> Result<Vec<Display>, Error> {
        let described = self
            .displays
            .iter()
            .map(|id| async move { self.get(Some(id))?.describe().await });
        let described = futures::future::join_all(described).await;
        if let Some(Err(error)) = described.first()
            && described.iter().all(Result::is_err)
        {
            return Err(error.clone());
        }
        let answering: Vec<Display> = described.into_iter().filter_map(Result::ok).collect();
        if answering.is_empty() {
            Err(Error::NoDisplay)
        } else {
            Ok(answering)
        }
    }
}
