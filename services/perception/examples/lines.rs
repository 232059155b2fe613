//! Prints the recognised lines of a display (`:99`) or an image (`desk.png`) with timings.
//!
//!     cargo run -p motorium-perception --example lines -- :99 [runs]

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use motorium_perception::capture::x11::X11Screen;
use motorium_perception::capture::{CaptureOptions, Screen as _};
use motorium_perception::parse::Parser as _;
use motorium_perception::parse::detect::NoDetector;
use motorium_perception::parse::embedded::EmbeddedParser;
use motorium_perception::parse::read::{ModelFiles, PaddleReader, ReadSettings};
use motorium_proto::domain::id::DisplayId;
use tokio_util::sync::CancellationToken;

type AnyError = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let mut arguments = std::env::args().skip(1);
    let source = arguments
        .next()
        .ok_or("usage: lines DISPLAY|IMAGE [runs]")?;
    let runs = arguments.next().map_or(Ok(1), |runs| runs.parse())?;
    let data = std::env::var("MOTORIUM_DATA")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.local/share/motorium")))?;
    let pixels = load_image(&source).await?;

    let mut out = std::io::stdout().lock();
    for run in 0..runs {
        // A new parser each time, because a used one has the image in its cache.
        let reader = PaddleReader::new(
            ModelFiles::in_folder(data.as_ref()),
            ReadSettings::default(),
        );
        let parser = EmbeddedParser::new(Arc::new(NoDetector), Arc::new(reader));
        parser.warm_up()?;
        let parse = parser.parse(&pixels, &CancellationToken::new())?;
        if run == 0 {
            for line in parse.lines.iter() {
                let (min, max) = (line.bounds.min, line.bounds.max);
                writeln!(
                    out,
                    "{:4},{:4} {:4},{:4} {:.2} {}",
                    min.x, min.y, max.x, max.y, line.confidence, line.text
                )?;
            }
        }
        writeln!(
            out,
            "{} lines: {:?} detection, {:?} recognition",
            parse.lines.len(),
            parse.effort.text_detection,
            parse.effort.text_recognition,
        )?;
    }
    Ok(())
}

async fn load_image(source: &str) -> Result<Arc<image::RgbaImage>, AnyError> {
    if !source.starts_with(':') {
        return Ok(Arc::new(image::open(source)?.to_rgba8()));
    }
    let screen = X11Screen::new(DisplayId::new(source), Duration::from_secs(2), None)?;
    let shot = screen.capture(CaptureOptions::default()).await?;
    Ok(shot.pixels)
}
