//! Tries the display on a window of its own: one capture, one click and one typed word.
//!
//! Everything goes through the same Perception and Executor as a task, and nothing but the probe's window is clicked: a
//! word is typed only once that window has the keyboard. A desktop that a task holds is left alone.

use std::time::Duration;

use motorium_kit::config::LayeredConfig;
use motorium_messages::Message;
use motorium_proto::domain::action::{Action, Button, ControlCharacters, Text};
use motorium_proto::domain::effect::ActionResult;
use motorium_proto::domain::frame::ImageContent;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::DisplayId;
use motorium_proto::service::{CaptureArea, CaptureRequest, ImageOptions, Perception};
use motorium_x11::{Address, Connection, Watchdog, Xcb};
use tokio::time::Instant;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    AtomEnum, ConnectionExt as _, CreateWindowAux, EventMask, InputFocus, PropMode, Window,
    WindowClass,
};
use x11rb::wrapper::ConnectionExt as _;

use super::act::{ExecutorHandle, perform};
use super::diagnosis::Diagnosis;
use crate::show::text;

const TITLE: &str = "Motorium doctor";
/// Width and height of the window, in pixels.
const SIZE: (u16, u16) = (320, 160);
/// Colour of the window, as red, green and blue. No usual theme has it.
const COLOUR: [u8; 3] = [0x2f, 0x9e, 0x44];
/// Difference of a colour channel that a capture may have, for example on a display with 16 bits per pixel.
const COLOUR_TOLERANCE: u8 = 8;
/// Word that is typed into the window.
const WORD: &str = "motorium";
/// Time for the window to appear, or for an input to arrive.
// A loaded machine maps a window and delivers input within a few hundred milliseconds.
const EVENT_TIMEOUT: Duration = Duration::from_secs(3);
/// Interval at which the window looks for events. Short against the time in which an input arrives.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Timeout of each call to the display, after which a stopped server is reported.
const DISPLAY_TIMEOUT: Duration = Duration::from_secs(3);

/// Checks the window manager and tries a capture, a click and a word.
pub(super) async fn probe(
    loaded: &LayeredConfig,
    perception: &dyn Perception,
    display: &DisplayId,
) -> Vec<Diagnosis> {
    let window = match ProbeWindow::open(display.as_str()).await {
        Ok(window) => window,
        Err(problem) => return vec![unavailable(display, &problem)],
    };
    let mut findings = vec![window.manager(display)];
    match window.centre() {
        Ok(centre) => {
            findings.push(captured(perception, display, centre).await);
            findings.extend(acted(loaded, &window, display, centre).await);
        }
        Err(problem) => findings.push(unavailable(display, &problem)),
    }
    findings
}

fn unavailable(display: &DisplayId, problem: &str) -> Diagnosis {
    Diagnosis::Missing {
        what: text(Message::CheckNoWindow {
            display: display.as_str(),
            problem,
        }),
        remedy: text(Message::RemedyDisplayAccess),
    }
}

/// Captures the middle of the window and compares its colour.
async fn captured(
    perception: &dyn Perception,
    display: &DisplayId,
    centre: CapturePoint,
) -> Diagnosis {
    let around = |distance: i32| CapturePoint::new(centre.x + distance, centre.y + distance);
    let request = CaptureRequest {
        display: Some(display.clone()),
        // A small area in the middle: the frame and the shadow of the window are not part of it.
        area: CaptureArea::Region(CaptureRect::new(around(-8), around(8))),
        omit_cursor: true,
        image: Some(ImageOptions::default()),
        ..CaptureRequest::default()
    };
    let problem = match perception.capture(request).await {
        Ok(captured) => match captured.image.map(|image| image.content) {
            Some(ImageContent::Bytes(bytes)) if shows_window(&bytes) => {
                return Diagnosis::Ok(text(Message::CheckCaptured));
            }
            _ => text(Message::ProbeNotCaptured),
        },
        Err(report) => report.message,
    };
    Diagnosis::Missing {
        what: text(Message::CheckCaptureFails {
            display: display.as_str(),
            problem: &problem,
        }),
        remedy: text(Message::RemedyCoveredScreen),
    }
}

fn shows_window(image: &[u8]) -> bool {
    let Ok(image) = image::load_from_memory(image) else {
        return false;
    };
    let image = image.to_rgb8();
    let middle = image.get_pixel(image.width() / 2, image.height() / 2).0;
    let channels = middle.iter().zip(COLOUR);
    channels
        .into_iter()
        .all(|(seen, drawn)| seen.abs_diff(drawn) <= COLOUR_TOLERANCE)
}

/// Clicks the window and types a word into it.
async fn acted(
    loaded: &LayeredConfig,
    window: &ProbeWindow,
    display: &DisplayId,
    centre: CapturePoint,
) -> Vec<Diagnosis> {
    let executor = match ExecutorHandle::connect(loaded, None, false).await {
        Ok(executor) => executor,
        Err(error) => return vec![refused(Message::ProbeInput, &error.to_string())],
    };
    let click = Action::Click {
        at: Some(centre),
        button: Button::Left,
        count: 1,
        modifiers: Vec::new(),
    };
    let mut findings = vec![
        tried(
            &executor,
            display,
            Message::ProbeClick,
            click,
            window.is_clicked(),
        )
        .await,
    ];
    // Without the keyboard focus the word would be typed into another window.
    if window.has_keyboard().await {
        let word = Action::TypeText {
            text: Text::Literal(WORD.to_owned()),
            control_characters: ControlCharacters::AsKeys,
        };
        let typing = tried(
            &executor,
            display,
            Message::ProbeWord,
            word,
            window.is_typed(),
        );
        findings.push(typing.await);
    } else {
        findings.push(Diagnosis::Missing {
            what: text(Message::CheckNoKeyboard),
            remedy: text(Message::RemedyStartManager),
        });
    }
    executor.close().await;
    findings
}

/// Performs an action and waits until it has arrived.
async fn tried(
    executor: &ExecutorHandle,
    display: &DisplayId,
    what: Message<'_>,
    action: Action<CapturePoint>,
    arrived: impl Future<Output = bool>,
) -> Diagnosis {
    let performed = perform(
        executor.executor.as_ref(),
        Some(display.clone()),
        action,
        |_| {},
    )
    .await;
    match performed {
        Ok(outcome) if outcome.result != ActionResult::Performed => refused(what, &outcome.detail),
        Ok(_) if arrived.await => Diagnosis::Ok(text(Message::CheckArrives { what: &text(what) })),
        Ok(_) => Diagnosis::Missing {
            what: text(Message::CheckDoesNotArrive { what: &text(what) }),
            remedy: text(Message::RemedyCoveredScreen),
        },
        Err(error) => refused(what, &error.to_string()),
    }
}

fn refused(what: Message<'_>, problem: &str) -> Diagnosis {
    Diagnosis::Degraded {
        what: text(Message::CheckNotTried {
            what: &text(what),
            problem,
        }),
        remedy: text(Message::RemedyTryLater),
    }
}

/// A window that notices what arrives at it.
struct ProbeWindow {
    connection: Connection,
    window: Window,
}

impl ProbeWindow {
    /// Opens the window in the middle of the screen and waits until it is shown.
    async fn open(display: &str) -> Result<Self, String> {
        let connection = Address::parse(display)
            .and_then(|address| Connection::open(&address, &Watchdog::new(DISPLAY_TIMEOUT)))
            .map_err(|error| error.to_string())?;
        let (root, screen) = (connection.root, connection.screen());
        let visual = screen.root_visual;
        let place = |length: u16, own: u16| i16::try_from(length.saturating_sub(own) / 2);
        let at = (
            place(screen.width_in_pixels, SIZE.0).unwrap_or(0),
            place(screen.height_in_pixels, SIZE.1).unwrap_or(0),
        );
        let [red, green, blue] = COLOUR.map(u32::from);
        let settings = CreateWindowAux::new()
            .background_pixel(red << 16 | green << 8 | blue)
            .event_mask(EventMask::EXPOSURE | EventMask::BUTTON_PRESS | EventMask::KEY_PRESS);
        let (class, depth) = (WindowClass::INPUT_OUTPUT, x11rb::COPY_DEPTH_FROM_PARENT);
        let generated = connection.x.generate_id();
        let window = generated.map_err(|error| connection.error(error).to_string())?;
        let opened = Self { connection, window };
        opened
            .show(|x| {
                x.create_window(
                    depth, window, root, at.0, at.1, SIZE.0, SIZE.1, 0, class, visual, &settings,
                )?;
                let (name, text) = (AtomEnum::WM_NAME, AtomEnum::STRING);
                x.change_property8(PropMode::REPLACE, window, name, text, TITLE.as_bytes())?;
                x.map_window(window)?;
                x.flush()
            })
            .await?;
        Ok(opened)
    }

    async fn show(
        &self,
        requests: impl FnOnce(&Xcb) -> Result<(), x11rb::errors::ConnectionError>,
    ) -> Result<(), String> {
        requests(&self.connection.x).map_err(|error| self.connection.error(error).to_string())?;
        match self
            .wait_for(|event| matches!(event, Event::Expose(_)))
            .await
        {
            true => Ok(()),
            false => Err(text(Message::ProbeNotShown)),
        }
    }

    /// Waits for an event. Drops the events before it.
    async fn wait_for(&self, mut is_wanted: impl FnMut(&Event) -> bool) -> bool {
        let began = Instant::now();
        while began.elapsed() < EVENT_TIMEOUT {
            match self.connection.x.poll_for_event() {
                Ok(Some(event)) if is_wanted(&event) => return true,
                Ok(Some(_)) => {}
                Ok(None) => tokio::time::sleep(POLL_INTERVAL).await,
                Err(_) => return false,
            }
        }
        false
    }

    /// Reports whether a window manager runs.
    fn manager(&self, display: &DisplayId) -> Diagnosis {
        if self.has_manager() {
            return Diagnosis::Ok(text(Message::CheckWindowManager {
                display: display.as_str(),
            }));
        }
        Diagnosis::Degraded {
            what: text(Message::CheckNoWindowManager {
                display: display.as_str(),
            }),
            remedy: text(Message::RemedyStartManagerThere),
        }
    }

    fn has_manager(&self) -> bool {
        let read = || {
            let Connection { x, root, atoms, .. } = &self.connection;
            let (atom, kind) = (atoms._NET_SUPPORTING_WM_CHECK, AtomEnum::WINDOW);
            let property = x.get_property(false, *root, atom, kind, 0, 1).ok()?;
            Some(property.reply().ok()?.value_len > 0)
        };
        read().unwrap_or(false)
    }

    /// Returns the middle of the window, in pixels of the display.
    fn centre(&self) -> Result<CapturePoint, String> {
        let half = |length: u16| i16::try_from(length / 2).unwrap_or(0);
        let (x, y) = (half(SIZE.0), half(SIZE.1));
        let Connection {
            x: display, root, ..
        } = &self.connection;
        let place = display
            .translate_coordinates(self.window, *root, x, y)
            .map_err(|error| self.connection.error(error).to_string())?
            .reply()
            .map_err(|error| self.connection.error(error).to_string())?;
        Ok(CapturePoint::new(place.dst_x.into(), place.dst_y.into()))
    }

    async fn is_clicked(&self) -> bool {
        self.wait_for(|event| matches!(event, Event::ButtonPress(_)))
            .await
    }

    /// Returns whether the window has the keyboard. Without a window manager it takes the focus itself.
    async fn has_keyboard(&self) -> bool {
        if !self.has_manager() {
            let parent = InputFocus::PARENT;
            let _ = self
                .connection
                .x
                .set_input_focus(parent, self.window, x11rb::CURRENT_TIME);
            let _ = self.connection.x.flush();
        }
        let began = Instant::now();
        while began.elapsed() < EVENT_TIMEOUT {
            let focus = self
                .connection
                .x
                .get_input_focus()
                .ok()
                .and_then(|asked| asked.reply().ok());
            if focus.is_some_and(|focus| focus.focus == self.window) {
                return true;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        false
    }

    /// Returns whether the word arrives, letter by letter.
    async fn is_typed(&self) -> bool {
        let mut typed = String::new();
        self.wait_for(|event| {
            if let Event::KeyPress(key) = event {
                typed.extend(self.letter(key.detail));
            }
            typed == WORD
        })
        .await
    }

    /// Returns the letter of a key without modifiers. The symbols of Latin letters are their characters.
    fn letter(&self, keycode: u8) -> Option<char> {
        let mapping = self
            .connection
            .x
            .get_keyboard_mapping(keycode, 1)
            .ok()?
            .reply()
            .ok()?;
        char::from_u32(*mapping.keysyms.first()?).filter(char::is_ascii_lowercase)
    }
}

impl Drop for ProbeWindow {
    fn drop(&mut self) {
        let _ = self.connection.x.destroy_window(self.window);
        let _ = self.connection.x.flush();
    }
}
