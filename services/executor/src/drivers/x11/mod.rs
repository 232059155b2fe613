//! The driver for X11: XTest through `x11rb`, one injector thread per display.
//!
//! Layers, lowest first: `link` (a connection that cannot hang), `hands` (presses and moves), `pointer` and
//! `keyboard` (gestures), `text` (the plan of a text), `session` (what an action means), `injector` (the thread).
//! Beside them: `human` (what a person does).
//! Not here: whether an action is allowed.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use motorium_proto::domain::action::{Action, ActionKind};
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use tokio_util::sync::CancellationToken;

use super::launch::Launcher;
use super::{
    BROWSER_BY_KEYBOARD, Capabilities, Driver, Error, Failure, HumanWatch, Performed, Work,
};

mod browser;
mod clipboard;
mod hands;
mod human;
mod injector;
mod input_method;
mod keyboard;
mod keymap;
mod keysym;
mod link;
mod loans;
mod pointer;
mod session;
mod text;
mod windows;

/// The driver's name in configuration.
pub const NAME: &str = "x11";

/// How the driver is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// The display (`:99`).
    pub display: String,
    /// How long a call may wait for the server before it counts as stopped.
    pub patience: Duration,
    /// What may be started.
    pub launcher: Launcher,
}

/// The hands on one X11 display.
#[derive(Debug)]
pub struct X11Driver {
    injector: injector::Handle,
    launcher: Launcher,
    display: String,
    patience: Duration,
    own: Arc<human::OwnInput>,
}

impl X11Driver {
    /// Starts the driver. The display is connected to with the first call, and again after it was lost.
    ///
    /// # Errors
    /// If the system does not give us a thread.
    pub fn start(options: Options) -> std::io::Result<Self> {
        let own = Arc::default();
        let injector =
            injector::Handle::start(options.display.clone(), options.patience, Arc::clone(&own))?;
        Ok(Self {
            injector,
            launcher: options.launcher,
            display: options.display,
            patience: options.patience,
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
                "scrolling goes in whole notches of the wheel; 120 pixels count as one".to_owned(),
                BROWSER_BY_KEYBOARD.to_owned(),
                "on a layout without Latin letters chords with them are struck with lent keys, and in a browser by their place"
                    .to_owned(),
                "browsers take F13 to F24 for keys without a name where the layout lacks them".to_owned(),
                "text with many characters that the layout lacks is pasted, and all text but secrets where an input method \
                 runs; where pasting is forbidden it is an error"
                    .to_owned(),
            ],
        }
    }

    async fn size(&self) -> Result<CaptureSize, Error> {
        self.injector
            .call(|injector| injector.with_session(|session| session.size()))
            .await?
    }

    async fn perform(&self, work: Work, stop: &CancellationToken) -> Result<Performed, Failure> {
        // These need no hands; they must neither keep the injector busy nor need it.
        match &work.action {
            Action::Wait { duration } => return self.wait(*duration, stop).await,
            Action::OpenApplication { name } => {
                self.launcher.open_application(name, &self.display)?;
                return Ok(Performed::default());
            }
            Action::OpenUrl { url } => {
                self.launcher.open_url(url, &self.display)?;
                return Ok(Performed::default());
            }
            _ => {}
        }
        let stop = stop.child_token();
        // Whoever drops this future no longer wants the action.
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

    async fn watch_human(&self) -> Result<Option<HumanWatch>, Error> {
        human::watch(self.display.clone(), self.patience, &self.own).await
    }

    async fn close(&self) {
        if let Err(error) = self.injector.call(|injector| injector.close()).await {
            tracing::debug!(%error, "the driver had ended before");
        }
    }
}

impl X11Driver {
    /// Waits without keeping the injector from others.
    async fn wait(
        &self,
        duration: Duration,
        stop: &CancellationToken,
    ) -> Result<Performed, Failure> {
        tokio::select! {
            () = stop.cancelled() => Err(Error::Stopped.into()),
            () = tokio::time::sleep(duration) => Ok(Performed { pointer: Some(self.pointer().await?), note: None }),
        }
    }
}
