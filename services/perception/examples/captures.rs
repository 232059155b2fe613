//! Captures a display on request and prints the duration, for `tests/bench/capture_peers.py`.
//!
//!     cargo run -p motorium-perception --features driver-xcap --example captures -- x11 :99
//!
//! Each input line triggers one capture; the response is its duration in nanoseconds. If the line names a file, the
//! pixels are written there as red, green, blue, one byte each, row by row.

use std::io::{BufRead as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use motorium_perception::capture::x11::X11Screen;
use motorium_perception::capture::{CaptureOptions, Screen};
use motorium_proto::domain::id::DisplayId;
use tokio::time::Instant;

type AnyError = Box<dyn std::error::Error>;

const CALL_TIMEOUT: Duration = Duration::from_secs(2);

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let mut arguments = std::env::args().skip(1);
    let (driver, display) = arguments
        .next()
        .zip(arguments.next())
        .ok_or("usage: captures DRIVER DISPLAY")?;
    let screen = open(&driver, DisplayId::new(display))?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let started = Instant::now();
        let shot = screen.capture(CaptureOptions::default()).await?;
        let elapsed = started.elapsed();
        if !line.is_empty() {
            let rgb: Vec<u8> = shot
                .pixels
                .pixels()
                .flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
                .collect();
            std::fs::write(&line, rgb)?;
        }
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", elapsed.as_nanos())?;
        out.flush()?;
    }
    Ok(())
}

fn open(driver: &str, display: DisplayId) -> Result<Arc<dyn Screen>, AnyError> {
    match driver {
        "x11" => Ok(Arc::new(X11Screen::new(display, CALL_TIMEOUT, None)?)),
        #[cfg(feature = "driver-xcap")]
        "xcap" => {
            use motorium_perception::capture::portable::PortableScreen;
            Ok(Arc::new(PortableScreen::new(display, CALL_TIMEOUT, None)?))
        }
        other => Err(format!("unknown driver {other} in this build").into()),
    }
}
