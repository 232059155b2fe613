//! Raw mouse and keyboard input of the display server, before any application: listening, and displacing the pointer.
//!
//! Raw events (XInput 2) are delivered to every listener, independent of focus and of busy applications.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio::time::Instant;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xinput::{self, ConnectionExt as _, XIEventMask};
use x11rb::protocol::xproto::{
    ClientMessageEvent, ConnectionExt as _, CreateWindowAux, EventMask, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;

use crate::until;

/// Returns a connection that receives these raw events, and the root window.
fn listening(display: &str, to: XIEventMask) -> (RustConnection, Window) {
    let (x, screen) = x11rb::connect(Some(display)).expect("the display is reachable");
    let root = x.setup().roots[screen].root;
    x.xinput_xi_query_version(2, 2)
        .expect("the display is reachable")
        .reply()
        .expect("the display supports XInput 2");
    let mask = xinput::EventMask {
        deviceid: u16::from(xinput::Device::ALL_MASTER),
        mask: vec![to],
    };
    x.xinput_xi_select_events(root, &[mask])
        .expect("the display is reachable")
        .check()
        .expect("raw events can be selected");
    (x, root)
}

/// Listener for key presses.
#[derive(Debug)]
pub struct KeyListener {
    x: RustConnection,
}

impl KeyListener {
    pub(crate) fn on(display: &str) -> Self {
        let (x, _) = listening(display, XIEventMask::RAW_KEY_PRESS);
        Self { x }
    }

    /// Returns the number of key presses since the last call.
    ///
    /// # Panics
    /// If the display is not reachable.
    #[must_use]
    pub fn keys_pressed(&self) -> usize {
        let events =
            std::iter::from_fn(|| self.x.poll_for_event().expect("the display is reachable"));
        events
            .filter(|event| matches!(event, Event::XinputRawKeyPress(_)))
            .count()
    }

    /// Waits for a key press.
    ///
    /// # Panics
    /// If there is none within [`crate::WAIT_TIMEOUT`].
    pub async fn first_key(&self) {
        until("a key", || async {
            (self.keys_pressed() > 0).then_some(())
        })
        .await;
    }
}

/// Summary of the input so far.
#[derive(Debug, Clone, Copy)]
pub struct InputSummary {
    /// Number of key and button events and mouse moves.
    pub events: usize,
    /// Time of the last event.
    pub last: Instant,
}

/// Listener for all mouse and keyboard input.
#[derive(Debug)]
pub struct InputListener {
    summary: Arc<Mutex<InputSummary>>,
}

impl InputListener {
    pub(crate) fn on(display: &str) -> Self {
        let everything = XIEventMask::RAW_KEY_PRESS
            | XIEventMask::RAW_KEY_RELEASE
            | XIEventMask::RAW_BUTTON_PRESS
            | XIEventMask::RAW_BUTTON_RELEASE
            | XIEventMask::RAW_MOTION;
        let (x, _) = listening(display, everything);
        let summary = Arc::new(Mutex::new(InputSummary {
            events: 0,
            last: Instant::now(),
        }));
        let noted = Arc::clone(&summary);
        // Ends with the display.
        std::thread::spawn(move || {
            while x.wait_for_event().is_ok() {
                let mut summary = noted.lock().unwrap_or_else(PoisonError::into_inner);
                summary.events += 1;
                summary.last = Instant::now();
            }
        });
        Self { summary }
    }

    /// Returns a summary of the input so far.
    #[must_use]
    pub fn summary(&self) -> InputSummary {
        *self.summary.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Displaces the pointer each time it is moved, until dropped.
#[derive(Debug)]
pub struct PointerDisturbance {
    x: RustConnection,
    root: Window,
    /// Receives our messages.
    message_window: Window,
    seen: watch::Receiver<u32>,
    sent: Mutex<u32>,
}

/// Message that ends the thread.
const STOP: u32 = 0;

impl PointerDisturbance {
    /// Displaces the pointer after each move by the offset that `push` returns for its number, from 0. `None`: it stays where
    /// it is.
    ///
    /// # Panics
    /// If the display is not reachable.
    pub(crate) fn on(
        display: &str,
        push: impl Fn(usize) -> Option<(i16, i16)> + Send + 'static,
    ) -> Self {
        let (listener, root) = listening(display, XIEventMask::RAW_MOTION);
        let message_window = listener.generate_id().expect("an id is available");
        listener
            .create_window(
                0,
                message_window,
                root,
                0,
                0,
                1,
                1,
                0,
                WindowClass::INPUT_ONLY,
                x11rb::COPY_FROM_PARENT,
                &CreateWindowAux::new(),
            )
            .expect("the display is reachable")
            .check()
            .expect("a window can be created");
        let (seen_by_thread, seen) = watch::channel(0);
        std::thread::spawn(move || keep_pushing(&listener, &push, &seen_by_thread));
        let (x, _) = x11rb::connect(Some(display)).expect("the display is reachable");
        Self {
            x,
            root,
            message_window,
            seen,
            sent: Mutex::new(STOP),
        }
    }

    fn send(&self, number: u32) {
        let message = ClientMessageEvent::new(
            32,
            self.message_window,
            u32::from(x11rb::protocol::xproto::AtomEnum::INTEGER),
            [number, 0, 0, 0, 0],
        );
        self.x
            .send_event(false, self.message_window, EventMask::NO_EVENT, message)
            .expect("the display is reachable");
        self.x.flush().expect("the display is reachable");
    }

    /// Returns the pointer's position once every move so far has been processed.
    ///
    /// # Panics
    /// If the display is not reachable.
    pub async fn pointer(&self) -> (i32, i32) {
        let number = {
            let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
            *sent += 1;
            *sent
        };
        self.send(number);
        let mut seen = self.seen.clone();
        seen.wait_for(|seen| *seen >= number)
            .await
            .expect("the thread runs until this is dropped");
        let pointer = self.x.query_pointer(self.root);
        let pointer = pointer.expect("the display is reachable").reply();
        let pointer = pointer.expect("the display replies");
        (i32::from(pointer.root_x), i32::from(pointer.root_y))
    }
}

impl Drop for PointerDisturbance {
    fn drop(&mut self) {
        self.send(STOP);
    }
}

/// Displaces the pointer after each move until the stop message. X delivers messages after the moves made before them, so a message acknowledges those.
fn keep_pushing(
    x: &RustConnection,
    push: &dyn Fn(usize) -> Option<(i16, i16)>,
    seen: &watch::Sender<u32>,
) {
    let mut moves = 0;
    while let Ok(event) = x.wait_for_event() {
        match event {
            Event::XinputRawMotion(_) => {
                if let Some((right, down)) = push(moves) {
                    // A warp generates no raw event, so there is no feedback loop.
                    let warped = x.warp_pointer(x11rb::NONE, x11rb::NONE, 0, 0, 0, 0, right, down);
                    warped
                        .expect("the display is reachable")
                        .check()
                        .expect("the pointer can be warped");
                }
                moves += 1;
            }
            Event::ClientMessage(message) => match message.data.as_data32()[0] {
                STOP => return,
                number => {
                    seen.send_replace(number);
                }
            },
            _ => {}
        }
    }
}
