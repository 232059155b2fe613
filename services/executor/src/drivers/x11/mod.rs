//! The X11 driver: XTest through `x11rb`, with one injector thread per display.
//!
//! Layers, lowest first: `connection` (calls with timeouts), `xtest` (presses and moves), `pointer` and `keyboard`
//! (gestures), `text` (planning how to type a text), `session` (mapping of actions), `injector` (the thread). Beside
//! them: `human_input` (observing user input), and `release_guard` with `release_process` (what is held is released
//! when this process is killed). Whether an action is allowed is checked by the guard.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use motorium_proto::domain::action::{Action, ActionKind};
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use motorium_proto::service::ClipboardText;
use tokio_util::sync::CancellationToken;

use super::clipboard_content::ClipboardContent;
use super::launch::Launcher;
use super::{
    Capabilities, Driver, DriverFailure, DriverOutcome, Error, HumanInputReceiver,
    KEYBOARD_BROWSER_LIMITATION, PreparedAction,
};

mod browser;
mod buttons;
mod clipboard;
mod connection;
mod held_input;
mod human_input;
mod injector;
mod input_method;
mod key_remap;
mod keyboard;
mod keymap;
mod keysym;
mod last_press;
mod pointer;
mod pressed_chord;
mod release_guard;
mod release_process;
mod session;
mod synthetic_input;
mod text;
mod windows;
mod xtest;

pub use release_process::run_if_started_as_release_process;

/// Name of the driver in the configuration.
pub const NAME: &str = "x11";

/// Options of the driver.
#[derive(Debug, Clone)]
pub struct Options {
    /// The display (`:99`).
    pub display: String,
    /// Timeout of a call to the X server.
    pub display_timeout: Duration,
    /// Capture pixels per input coordinate. `None` stands for 1: X11 takes device pixels, which are what is captured,
    /// whatever scale its applications draw at.
    pub scale: Option<f64>,
    /// Launcher of the configured programs.
    pub launcher: Launcher,
}

/// The driver of one X11 display.
#[derive(Debug)]
pub struct X11Driver {
    injector: injector::Handle,
    launcher: Launcher,
    display: String,
    display_timeout: Duration,
    scale: Option<f64>,
    own: Arc<synthetic_input::SyntheticInput>,
}

impl X11Driver {
    /// Starts the driver. It connects with the first call, and reconnects after a lost connection.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(options: Options) -> std::io::Result<Self> {
        let own = Arc::default();
        let injector = injector::Handle::start(
            options.display.clone(),
            options.display_timeout,
            options.scale,
            Arc::clone(&own),
        )?;
        Ok(Self {
            injector,
            launcher: options.launcher,
            display: options.display,
            display_timeout: options.display_timeout,
            scale: options.scale,
            own,
        })
    }
}

#[async_trait]
impl Driver for X11Driver {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            driver: NAME,
            kinds: ActionKind::ALL.to_vec(),
            limitations: vec![
                "scrolling is done in whole wheel notches; 120 pixels count as one".to_owned(),
                KEYBOARD_BROWSER_LIMITATION.to_owned(),
                "on layouts without Latin letters, chords with them use remapped keycodes, and in browsers the physical key"
                    .to_owned(),
                "browsers do not recognise F13 to F24 if the layout lacks them".to_owned(),
                "text with many characters that the layout lacks is pasted, and with an input method all text except secrets; \
                 if pasting is forbidden this is an error"
                    .to_owned(),
            ],
        }
    }

    async fn size(&self) -> Result<CaptureSize, Error> {
        self.injector
            .call(|injector| injector.with_session(|session| session.size()))
            .await?
    }

    async fn perform(
        &self,
        work: PreparedAction,
        stop: &CancellationToken,
    ) -> Result<DriverOutcome, DriverFailure> {
        // These need no input. They run here, so that they neither block the injector nor wait for it.
        match &work.action {
            Action::Wait { duration } => return self.wait(*duration, stop).await,
            Action::OpenApplication { name } => {
                self.launcher.open_application(name, &self.display).await?;
                return Ok(DriverOutcome::default());
            }
            Action::OpenUrl { url } => {
                self.launcher.open_url(url, &self.display).await?;
                return Ok(DriverOutcome::default());
            }
            _ => {}
        }
        let stop = stop.child_token();
        // Dropping this future cancels the action.
        let _stop_when_dropped = stop.clone().drop_guard();
        self.injector
            .call(move |injector| injector.perform(&work, &stop))
            .await?
    }

    async fn pointer(&self) -> Result<CapturePoint, Error> {
        self.injector
            .call(|injector| injector.with_session(|session| session.pointer()))
            .await?
    }

    async fn release_all(&self) -> Result<Vec<String>, Error> {
        self.injector
            .call(|injector| injector.with_session(|session| session.release_all()))
            .await?
    }

    async fn watch_human(&self) -> Result<Option<HumanInputReceiver>, Error> {
        human_input::watch(
            self.display.clone(),
            self.display_timeout,
            self.scale,
            &self.own,
        )
        .await
    }

    async fn read_clipboard(&self) -> Result<Option<ClipboardText>, Error> {
        self.injector
            .call(|injector| injector.with_session(|session| session.clipboard_text()))
            .await?
            .map(Some)
    }

    async fn has_copied(&self) -> Result<Option<bool>, Error> {
        self.injector
            .call(|injector| injector.with_session(|session| session.has_copied()))
            .await?
    }

    async fn remaining_clipboard(&self) -> Result<ClipboardContent, Error> {
        self.injector
            .call(|injector| injector.remaining_clipboard())
            .await?
    }

    async fn close(&self) {
        if let Err(error) = self.injector.call(|injector| injector.close()).await {
            tracing::debug!(%error, "the driver has already terminated");
        }
    }
}

/// Offers a content of the clipboard on `display` until another program copies something. Calls `ready` once it is
/// offered, and blocks.
///
/// # Errors
/// If the display cannot be reached or is lost, or the clipboard cannot be acquired.
pub fn hold_clipboard(
    display: &str,
    display_timeout: Duration,
    content: ClipboardContent,
    ready: impl FnOnce(),
) -> Result<(), Error> {
    clipboard::holder::hold(display, display_timeout, content, ready)
}

impl X11Driver {
    /// Waits without blocking the injector.
    async fn wait(
        &self,
        duration: Duration,
        stop: &CancellationToken,
    ) -> Result<DriverOutcome, DriverFailure> {
        tokio::select! {
            () = stop.cancelled() => Err(Error::Stopped.into()),
            () = tokio::time::sleep(duration) => Ok(DriverOutcome { pointer: Some(self.pointer().await?), note: None }),
        }
    }
}
