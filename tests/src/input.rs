//! Mouse and keyboard as the display server has them, before any application: heard, and pushed about.
//!
//! Raw events (XInput 2) come to whoever asks, whatever has the keyboard and however busy it is.

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

/// A connection that gets these raw events, and the root window.
fn listening(display: &str, to: XIEventMask) -> (RustConnection, Window) {
    let (x, screen) = x11rb::connect(Some(display)).expect("the display is there");
    let root = x.setup().roots[screen].root;
    x.xinput_xi_query_version(2, 2)
        .expect("the display is there")
        .reply()
        .expect("the display knows XInput 2");
    let mask = xinput::EventMask {
        deviceid: u16::from(xinput::Device::ALL_MASTER),
        mask: vec![to],
    };
    x.xinput_xi_select_events(root, &[mask])
        .expect("the display is there")
        .check()
        .expect("anybody may listen");
    (x, root)
}

/// Hears keys go down.
#[derive(Debug)]
pub struct KeyListener {
    x: RustConnection,
}

impl KeyListener {
    pub(crate) fn on(display: &str) -> Self {
        let (x, _) = listening(display, XIEventMask::RAW_KEY_PRESS);
        Self { x }
    }

    /// How many keys went down since the last time.
    ///
    /// # Panics
    /// If the display is gone.
    #[must_use]
    pub fn struck(&self) -> usize {
        let events = std::iter::from_fn(|| self.x.poll_for_event().expect("the display is there"));
        events
            .filter(|event| matches!(event, Event::XinputRawKeyPress(_)))
            .count()
    }

    /// Waits for a key.
    ///
    /// # Panics
    /// If there is none within [`crate::PATIENCE`].
    pub async fn first_key(&self) {
        until("a key", || async { (self.struck() > 0).then_some(()) }).await;
    }
}

/// What has been heard so far.
#[derive(Debug, Clone, Copy)]
pub struct Heard {
    /// Keys and buttons that went down or up, and moves of the mouse.
    pub events: usize,
    /// When the last of them came.
    pub last: Instant,
}

/// Hears everything that mouse and keyboard do, and when.
#[derive(Debug)]
pub struct InputListener {
    heard: Arc<Mutex<Heard>>,
}

impl InputListener {
    pub(crate) fn on(display: &str) -> Self {
        let everything = XIEventMask::RAW_KEY_PRESS
            | XIEventMask::RAW_KEY_RELEASE
            | XIEventMask::RAW_BUTTON_PRESS
            | XIEventMask::RAW_BUTTON_RELEASE
            | XIEventMask::RAW_MOTION;
        let (x, _) = listening(display, everything);
        let heard = Arc::new(Mutex::new(Heard {
            events: 0,
            last: Instant::now(),
        }));
        let noted = Arc::clone(&heard);
        // It ends with the display.
        std::thread::spawn(move || {
            while x.wait_for_event().is_ok() {
                let mut heard = noted.lock().unwrap_or_else(PoisonError::into_inner);
                heard.events += 1;
                heard.last = Instant::now();
            }
        });
        Self { heard }
    }

    /// What has been heard so far.
    #[must_use]
    pub fn heard(&self) -> Heard {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who pushes the mouse each time it was moved. Ends when it is dropped.
#[derive(Debug)]
pub struct Nudge {
    x: RustConnection,
    root: Window,
    /// Gets our messages.
    ear: Window,
    seen: watch::Receiver<u32>,
    sent: Mutex<u32>,
}

/// The message that nobody is to push any more.
const ENOUGH: u32 = 0;

impl Nudge {
    /// After the first move, the second and so on, the pointer is pushed by so much: what `push` says of the number,
    /// which counts from 0. `None`: it stays where it is.
    ///
    /// # Panics
    /// If the display is gone.
    pub(crate) fn on(
        display: &str,
        push: impl Fn(usize) -> Option<(i16, i16)> + Send + 'static,
    ) -> Self {
        let (listener, root) = listening(display, XIEventMask::RAW_MOTION);
        let ear = listener.generate_id().expect("there are enough numbers");
        listener
            .create_window(
                0,
                ear,
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
            .expect("the display is there")
            .check()
            .expect("there is room for a window");
        let (seen_by_thread, seen) = watch::channel(0);
        std::thread::spawn(move || keep_pushing(&listener, &push, &seen_by_thread));
        let (x, _) = x11rb::connect(Some(display)).expect("the display is there");
        Self {
            x,
            root,
            ear,
            seen,
            sent: Mutex::new(ENOUGH),
        }
    }

    fn send(&self, number: u32) {
        let message = ClientMessageEvent::new(
            32,
            self.ear,
            u32::from(x11rb::protocol::xproto::AtomEnum::INTEGER),
            [number, 0, 0, 0, 0],
        );
        self.x
            .send_event(false, self.ear, EventMask::NO_EVENT, message)
            .expect("the display is there");
        self.x.flush().expect("the display is there");
    }

    /// Where the pointer is once every move so far has been answered with a push.
    ///
    /// # Panics
    /// If the display is gone.
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
            .expect("somebody pushes until this is dropped");
        let pointer = self.x.query_pointer(self.root);
        let pointer = pointer.expect("the display is there").reply();
        let pointer = pointer.expect("the display answers");
        (i32::from(pointer.root_x), i32::from(pointer.root_y))
    }
}

impl Drop for Nudge {
    fn drop(&mut self) {
        self.send(ENOUGH);
    }
}

/// Messages come after the moves that were made before they were sent.
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
                    // A warp makes no raw event of its own.
                    let warped = x.warp_pointer(x11rb::NONE, x11rb::NONE, 0, 0, 0, 0, right, down);
                    warped
                        .expect("the display is there")
                        .check()
                        .expect("anybody may push");
                }
                moves += 1;
            }
            Event::ClientMessage(message) => match message.data.as_data32()[0] {
                ENOUGH => return,
                number => {
                    seen.send_replace(number);
                }
            },
            _ => {}
        }
    }
}
