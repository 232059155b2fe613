//! Prints the lines of text on a display (`:99`) or on a picture (`desk.png`), with how long it took.
//!
//!     cargo run -p motorium-perception --example lines -- :99 [runs]

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use motorium_perception::capture::x11::X11Screen;
use motorium_perception::capture::{CaptureRequest, Screen as _};
use motorium_perception::parse::read::{ModelFiles, PaddleReader, ReadSettings, Reader as _};
use motorium_proto::domain::id::DisplayId;
use tokio_util::sync::CancellationToken;

type AnyError = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let mut arguments = std::env::args().skip(1);
    let source = arguments.next().ok_or("say which display or picture")?;
    let runs = arguments.next().map_or(Ok(1), |runs| runs.parse())?;
    let data = std::env::var("MOTORIUM_DATA")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.local/share/motorium")))?;
    let pixels = picture(&source).await?;

    let mut out = std::io::stdout().lock();
    for run in 0..runs {
        // A new reader each time, because one that has read a picture knows it.
        let reader = PaddleReader::new(
            ModelFiles::in_folder(data.as_ref()),
            ReadSettings::default(),
        );
        reader.warm_up()?;
        let reading = reader.read(&pixels, &CancellationToken::new())?;
        if run == 0 {
            for line in reading.lines.iter() {
                let (min, max) = (line.bounds.min, line.bounds.max);
                writeln!(
                    out,
                    "{:4},{:4} {:4},{:4} {:.2} {}",
                    min.x, min.y, max.x, max.y, line.confidence, line.text
                )?;
            }
        }
        let again = reader.read(&pixels, &CancellationToken::new())?;
        writeln!(
            out,
            "{} lines: {:?} to find them, {:?} to read them; again: {:?}",
            reading.lines.len(),
            reading.locating,
            reading.recognising,
            again.locating + again.recognising,
        )?;
    }
    Ok(())
}

async fn picture(source: &str) -> Result<Arc<image::RgbaImage>, AnyError> {
    if !source.starts_with(':') {
        return Ok(Arc::new(image::open(source)?.to_rgba8()));
    }
    let screen = X11Screen::new(DisplayId::new(source), Duration::from_secs(2), None)?;
    let shot = screen.capture(CaptureRequest::default()).await?;
    Ok(Arc::new(shot.pixels))
}
