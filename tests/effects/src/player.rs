//! Plays recordings on a real display: one window into which changed regions are drawn.

use std::sync::Arc;
use std::time::Duration;

use image::RgbaImage;
use motorium_imaging::exact_diff::changed_boxes;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use tokio::time::{Instant, sleep_until};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{
    AtomEnum, ConnectionExt as _, CreateGCAux, CreateWindowAux, Gcontext, ImageFormat, PropMode,
    Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

use crate::recording::TimedImage;

x11rb::atom_manager! {
    Atoms: AtomsCookie {
        _NET_ACTIVE_WINDOW,
        _NET_CLIENT_LIST,
        _NET_CLIENT_LIST_STACKING,
        _NET_WM_NAME,
        UTF8_STRING,
    }
}

/// A window for playback.
#[derive(Debug)]
pub(crate) struct Player {
    connection: RustConnection,
    window: Window,
    pen: Gcontext,
    atoms: Atoms,
    shown: Option<Arc<RgbaImage>>,
}

impl Player {
    /// Opens the window in the upper left corner of a display.
    ///
    /// # Panics
    /// If the display cannot be reached.
    pub(crate) fn start(display: &str) -> Self {
        let (connection, number) = x11rb::connect(Some(display)).expect("the display is reachable");
        let screen = &connection.setup().roots[number];
        let (root, depth) = (screen.root, screen.root_depth);
        assert_eq!(depth, 24, "images are drawn with 32 bits per pixel");
        let atoms = Atoms::new(&connection).expect("the display replies");
        let atoms = atoms.reply().expect("the display replies");
        let window = connection.generate_id().expect("there are ids");
        let pen = connection.generate_id().expect("there are ids");
        let look = CreateWindowAux::new().override_redirect(1);
        let (width, height) = (screen.width_in_pixels, screen.height_in_pixels);
        connection
            .create_window(
                depth,
                window,
                root,
                0,
                0,
                width,
                height,
                0,
                WindowClass::INPUT_OUTPUT,
                0,
                &look,
            )
            .expect("the request is sent");
        connection
            .create_gc(pen, window, &CreateGCAux::new())
            .expect("the request is sent");
        connection.map_window(window).expect("the request is sent");
        // Without a window manager, its window properties are set here.
        for list in [
            atoms._NET_CLIENT_LIST,
            atoms._NET_CLIENT_LIST_STACKING,
            atoms._NET_ACTIVE_WINDOW,
        ] {
            connection
                .change_property32(PropMode::REPLACE, root, list, AtomEnum::WINDOW, &[window])
                .expect("the request is sent");
        }
        connection.sync().expect("the display replies");
        Self {
            connection,
            window,
            pen,
            atoms,
            shown: None,
        }
    }

    /// Sets the title of the active window.
    pub(crate) fn name(&self, title: &str) {
        let Atoms {
            _NET_WM_NAME,
            UTF8_STRING,
            ..
        } = self.atoms;
        self.connection
            .change_property8(
                PropMode::REPLACE,
                self.window,
                _NET_WM_NAME,
                UTF8_STRING,
                title.as_bytes(),
            )
            .expect("the request is sent");
        self.connection.sync().expect("the display replies");
    }

    /// Draws the regions of an image that differ from the current one.
    pub(crate) fn show(&mut self, image: &Arc<RgbaImage>) {
        let everything = || {
            let size = (image.width().cast_signed(), image.height().cast_signed());
            vec![CaptureRect::new(CapturePoint::zero(), size.into())]
        };
        let changed = match &self.shown {
            Some(shown) => changed_boxes(shown, image).unwrap_or_else(everything),
            None => everything(),
        };
        for place in changed {
            self.draw(image, place);
        }
        self.connection.sync().expect("the display replies");
        self.shown = Some(Arc::clone(image));
    }

    fn draw(&self, image: &RgbaImage, place: CaptureRect) {
        let (width, height) = (place.width(), place.height());
        let mut bytes = Vec::with_capacity(4 * (width * height).unsigned_abs() as usize);
        for y in place.min.y..place.max.y {
            for x in place.min.x..place.max.x {
                let [red, green, blue, _] = image.get_pixel(x.unsigned_abs(), y.unsigned_abs()).0;
                bytes.extend([blue, green, red, 0]);
            }
        }
        let length = |length: i32| u16::try_from(length).expect("screens are small");
        let corner = |at: i32| i16::try_from(at).expect("screens are small");
        self.connection
            .put_image(
                ImageFormat::Z_PIXMAP,
                self.window,
                self.pen,
                length(width),
                length(height),
                corner(place.min.x),
                corner(place.min.y),
                0,
                24,
                &bytes,
            )
            .expect("the request is sent");
    }

    /// Plays a part of a recording to its end, starting at `skip`.
    pub(crate) async fn play(&mut self, part: &[TimedImage], skip: Duration) {
        let began = Instant::now();
        let current = part.iter().rposition(|(at, _)| *at <= skip).unwrap_or(0);
        for (at, image) in &part[current..] {
            sleep_until(began + at.saturating_sub(skip)).await;
            self.show(image);
        }
    }
}
