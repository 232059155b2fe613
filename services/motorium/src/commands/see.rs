//! `motorium see`: parses the screen and shows the elements as an annotated screenshot and a list.
//!
//! A running Perception is used if there is one, so that its desktop is seen without a display of this session.

use std::fs::{self, File};
use std::path::Path;
use std::process::ExitCode;

use bytes::Bytes;
use motorium_kit::config::LayeredConfig;
use motorium_messages::Message;
use motorium_perception::marks::json::{SceneJson, omniparser};
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::frame::{Image, ImageContent};
use motorium_proto::domain::geometry::CaptureSize;
use motorium_proto::domain::id::DisplayId;
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{
    ImageOptions, ObserveRequest, ParseOptions, ParseRequest, Perception, StageTiming,
};
use serde::Serialize;
use tonic::Code;

use super::running::PerceptionHandle;
use crate::cli::See;
use crate::error::Error;
use crate::output;
use crate::process;
use crate::show::text;

/// A parsed screen or image.
struct ParsedScreenshot {
    size: CaptureSize,
    scene: Scene,
    prompt_lines: Vec<String>,
    annotated: Option<Image>,
    timings: Vec<StageTiming>,
}

/// Parses the screen or an image, saves the annotated screenshot and prints the elements.
pub(crate) async fn see(loaded: &LayeredConfig, args: See) -> Result<ExitCode, Error> {
    check_writable(&args.output)?;
    let seen = match &args.image {
        // An image needs no desktop, and is not sent to a service that others use.
        Some(path) => {
            let perception = process::perception(loaded, None).await?;
            parse(perception.as_ref(), path, &args).await?
        }
        None => {
            let eyes = PerceptionHandle::connect(loaded, args.in_process).await?;
            let seen = observe(eyes.perception.as_ref(), &args).await?;
            if let Some(note) = eyes.note_on(&seen.display) {
                output::remark(&format!("{note}\n"));
            }
            seen.screenshot
        }
    };
    save(seen.annotated.as_ref(), &args.output)?;
    if args.json {
        let document = SceneJson::new(&seen.scene, seen.size, &seen.timings);
        output::line(&json(&document)?);
        return Ok(ExitCode::SUCCESS);
    }
    if args.omniparser {
        output::line(&json(&omniparser(&seen.scene))?);
        return Ok(ExitCode::SUCCESS);
    }
    for line in &seen.prompt_lines {
        output::line(line);
    }
    let stages: Vec<String> = seen
        .timings
        .iter()
        .map(|timing| format!("{} {} ms", timing.stage, timing.elapsed.as_millis()))
        .collect();
    let saved = Message::SceneSaved {
        elements: seen.scene.elements.len(),
        path: &args.output.to_string_lossy(),
        stages: &stages.join(", "),
    };
    output::remark(&format!("{}\n", text(saved)));
    Ok(ExitCode::SUCCESS)
}

/// A parsed screen with its display.
struct ParsedScreen {
    display: DisplayId,
    screenshot: ParsedScreenshot,
}

async fn observe(perception: &dyn Perception, args: &See) -> Result<ParsedScreen, Error> {
    let request = ObserveRequest {
        max_elements: args.max_elements,
        annotated_image: Some(ImageOptions::default()),
        parsing: parsing(args),
        include_prompt_lines: prints_lines(args),
        ..ObserveRequest::default()
    };
    let seen = perception.observe(request).await.map_err(Error::Service)?;
    Ok(ParsedScreen {
        display: seen.frame.display,
        screenshot: ParsedScreenshot {
            size: seen.frame.size,
            scene: seen.scene,
            prompt_lines: seen.prompt_lines,
            annotated: seen.annotated_image,
            timings: seen.timings,
        },
    })
}

async fn parse(
    perception: &dyn Perception,
    path: &Path,
    args: &See,
) -> Result<ParsedScreenshot, Error> {
    let content = fs::read(path).map_err(|source| {
        Error::Usage(text(Message::ImageUnreadable {
            path: &path.to_string_lossy(),
            problem: &source.to_string(),
        }))
    })?;
    let image = Image {
        content: ImageContent::Bytes(Bytes::from(content)),
        media_type: String::new(),
        width: 0,
        height: 0,
        sha256: [0; 32],
    };
    let request = ParseRequest {
        image,
        max_elements: args.max_elements,
        annotated_image: Some(ImageOptions::default()),
        parsing: parsing(args),
        include_prompt_lines: prints_lines(args),
    };
    let unreadable = |report: ErrorReport| match report.metadata.get("detail") {
        Some(problem) if report.code == Code::InvalidArgument => {
            let path = &path.to_string_lossy();
            Error::Usage(text(Message::ImageUnreadable { path, problem }))
        }
        _ => Error::Service(report),
    };
    let seen = perception.parse(request).await.map_err(unreadable)?;
    Ok(ParsedScreenshot {
        size: seen.size,
        scene: seen.scene,
        prompt_lines: seen.prompt_lines,
        annotated: seen.annotated_image,
        timings: seen.timings,
    })
}

/// Returns whether the output is one line per element.
fn prints_lines(args: &See) -> bool {
    !args.json && !args.omniparser
}

fn parsing(args: &See) -> ParseOptions {
    ParseOptions {
        join_paragraphs: args.paragraphs,
        ..ParseOptions::default()
    }
}

fn json(document: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(document).map_err(|error| Error::Start(error.to_string()))
}

fn save(image: Option<&Image>, path: &Path) -> Result<(), Error> {
    let Some(Image {
        content: ImageContent::Bytes(bytes),
        ..
    }) = image
    else {
        return Ok(());
    };
    fs::write(path, bytes).map_err(|source| Error::Unwritable {
        path: path.to_owned(),
        source,
    })
}

/// Checks that the image can be written, before the screen is parsed for it. Leaves a file that is there as it is.
fn check_writable(path: &Path) -> Result<(), Error> {
    let is_new = !path.exists();
    let opened = File::options().append(true).create(true).open(path);
    opened.map_err(|source| Error::Unwritable {
        path: path.to_owned(),
        source,
    })?;
    if is_new {
        // Nothing is lost if it stays: it is written afterwards.
        let _ = fs::remove_file(path);
    }
    Ok(())
}
