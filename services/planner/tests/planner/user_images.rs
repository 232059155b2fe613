//! Images that the user gave are shown to every model that sees, each after its name, and told to the others.

use image::{Rgba, RgbaImage};
use motorium_imaging::codec;
use motorium_planner::backends::chat_som::ChatSom;
use motorium_planner::backends::claude_computer::ClaudeComputer;
use motorium_planner::backends::claude_som::ClaudeSom;
use motorium_planner::backends::degraded_features::DegradedFeatures;
use motorium_planner::backends::dialect::{Dialect, RequestError, StepContext};
use motorium_planner::backends::openai_computer::OpenAiComputer;
use motorium_planner::backends::opencua::OpenCua;
use motorium_planner::backends::qwen_vl::QwenVl;
use motorium_planner::backends::som_prompt::Options;
use motorium_planner::models::ModelTable;
use motorium_planner::prompt::Prompts;
use motorium_planner::screenshot::RequestImages;
use motorium_proto::domain::decision::PastStep;
use motorium_proto::domain::frame::{Image, ImageContent};
use motorium_proto::domain::session::{FileOrigin, TaskContext, TaskFile, UserImage};
use motorium_proto::service::{ImageFormat, PlanRequest};
use serde_json::Value;

use crate::kinds::check_listed;
use crate::request::{request, solid_screenshot};
use crate::request_dump::leave;

/// An image of the user, which its width identifies.
pub(crate) fn user_image(name: &str, width: u32, step: u32) -> UserImage {
    let pixels = RgbaImage::from_pixel(width, 100, Rgba([240, 240, 90, 255]));
    UserImage {
        name: name.to_owned(),
        image: Some(codec::encode(&pixels, ImageFormat::Png).unwrap()),
        step,
    }
}

/// Returns the pixels of an image as they are in a request.
pub(crate) fn base64(image: &UserImage) -> String {
    use base64::Engine as _;

    match &image.image.as_ref().unwrap().content {
        ImageContent::Bytes(bytes) => base64::engine::general_purpose::STANDARD.encode(bytes),
        ImageContent::BlobUri(uri) => panic!("{uri}"),
    }
}

fn with_images(images: Vec<UserImage>) -> PlanRequest {
    let file = |image: &UserImage| TaskFile {
        name: image.name.clone(),
        path: format!("/files/{}", image.name),
        origin: FileOrigin::Attached,
    };
    PlanRequest {
        image: Some(solid_screenshot(40)),
        context: TaskContext {
            files: images.iter().map(file).collect(),
            images,
            ..TaskContext::default()
        },
        ..request("draw it like this", r#"button 20,40 80x30 "Save""#)
    }
}

fn asked(dialect: &dyn Dialect, model: &str, request: &PlanRequest) -> Result<Value, RequestError> {
    let model = ModelTable::default().get(model, dialect.api());
    let (images, prompts) = (RequestImages::of(request), Prompts::built_in().unwrap());
    let step = StepContext {
        request,
        model: &model,
        images: &images,
        prompts: &prompts,
        degraded: DegradedFeatures::default(),
    };
    Ok(dialect.build_request(&step)?.body)
}

/// Returns the images of a request as their widths, in order, and the lines that tell of files and images.
fn outline(body: &Value) -> String {
    let mut lines = Vec::new();
    collect(body, &mut lines);
    lines.join("\n")
}

fn collect(value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let data = text.split_once(";base64,").map_or(text.as_str(), |it| it.1);
            match width(data) {
                Some(width) => lines.push(format!("<image {width} wide>")),
                None => {
                    let outlined = |line: &&str| {
                        [".png", "numbered:", "已编号"]
                            .iter()
                            .any(|word| line.contains(word))
                    };
                    lines.extend(text.lines().filter(outlined).map(str::to_owned));
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, lines)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, lines)),
        _ => {}
    }
}

fn width(data: &str) -> Option<u32> {
    use base64::Engine as _;

    let bytes = base64::engine::general_purpose::STANDARD
        .decode(data)
        .ok()?;
    codec::dimensions(&bytes).ok().map(|(width, _)| width)
}

const SOM_WITHOUT_IMAGES: Options = Options {
    max_elements: 40,
    history_images: 3,
    images: false,
};

#[test]
fn every_model_that_sees_is_shown_the_images_with_their_names() {
    let request = with_images(vec![
        user_image("plan.png", 301, 1),
        user_image("photo.png", 302, 3),
    ]);
    let dialects: [(&dyn Dialect, &str, &str); 6] = [
        (&ClaudeSom::default(), "claude-opus-4-6", "anthropic"),
        (&ChatSom::default(), "local-vl", "openai-chat"),
        (&OpenCua::default(), "opencua-7b", "openai-chat"),
        (&QwenVl, "qwen3-vl-plus", "openai-chat"),
        (&ClaudeComputer, "claude-opus-5-5", "anthropic"),
        (
            &OpenAiComputer::default(),
            "gpt-5.6-sol",
            "openai-responses",
        ),
    ];
    check_listed(&dialects.map(|(dialect, ..)| dialect.name()), |_| true);
    for (dialect, model, kind) in dialects {
        let body = asked(dialect, model, &request).unwrap();
        let name = format!("user_images_{}", dialect.name());
        leave(kind, &name, &body);
        insta::assert_snapshot!(name, outline(&body));
    }
    let chinese = PlanRequest {
        goal: "照着这张图画".to_owned(),
        ..request
    };
    let body = asked(&ClaudeSom::default(), "claude-opus-4-6", &chinese).unwrap();
    insta::assert_snapshot!("user_images_chinese", outline(&body));
}

#[test]
fn a_model_that_sees_nothing_is_told_that_there_are_images() {
    let mut request = with_images(vec![user_image("plan.png", 301, 1)]);
    let line =
        "- plan.png (attached by the user, /files/plan.png, an image, which you are not shown)";
    let dialects: [(&dyn Dialect, &str); 2] = [
        (
            &ClaudeSom {
                options: SOM_WITHOUT_IMAGES,
            },
            "claude-opus-4-6",
        ),
        (
            &ChatSom {
                options: SOM_WITHOUT_IMAGES,
            },
            "local",
        ),
    ];
    for (dialect, model) in dialects {
        assert_eq!(outline(&asked(dialect, model, &request).unwrap()), line);
    }
    // No backend needed images, so the Orchestrator has sent none.
    request.context.images[0].image = None;
    let outlined = outline(&asked(&ClaudeSom::default(), "claude-opus-4-6", &request).unwrap());
    assert!(outlined.starts_with(line), "{outlined}");
}

#[test]
fn a_model_with_room_for_few_images_is_shown_the_latest_and_its_own_screens() {
    let images = [301, 302, 303, 304].map(|width| user_image(&format!("{width}.png"), width, 1));
    let past = (1..=6).map(|number| PastStep {
        step: number,
        image: Some(solid_screenshot(number as u8)),
        ..PastStep::default()
    });
    let request = PlanRequest {
        history: past.collect(),
        ..with_images(images.to_vec())
    };
    let count = |dialect: &dyn Dialect, model: &str| {
        let outlined = outline(&asked(dialect, model, &request).unwrap());
        let widths = |of: fn(u32) -> bool| {
            let widths = outlined.lines().filter_map(|line| {
                let width = line.strip_prefix("<image ")?.strip_suffix(" wide>")?;
                width.parse().ok()
            });
            widths
                .filter(|width: &u32| of(*width))
                .collect::<Vec<u32>>()
        };
        (
            widths(|width| width < 400),
            widths(|width| width >= 400).len(),
        )
    };
    // Of each model's limit, half is for the user's images.
    assert_eq!(
        count(&ClaudeSom::default(), "claude-opus-4-6"),
        (vec![301, 302, 303, 304], 4)
    );
    assert_eq!(count(&ChatSom::default(), "local-vl"), (vec![303, 304], 2));
    assert_eq!(count(&QwenVl, "qwen3-vl-plus"), (vec![303, 304], 2));
    assert_eq!(count(&OpenCua::default(), "opencua-7b"), (vec![304], 2));
    let outlined = outline(&asked(&QwenVl, "qwen3-vl-plus", &request).unwrap());
    assert!(
        outlined.contains("/files/302.png, an image, which you are not shown)"),
        "{outlined}"
    );
    assert!(
        outlined.contains("/files/303.png, an image, which you are also shown)"),
        "{outlined}"
    );
}

#[test]
fn an_image_is_scaled_to_what_the_model_takes() {
    let pixels = RgbaImage::from_fn(2400, 1200, |x, y| Rgba([x as u8, y as u8, 90, 255]));
    let large = UserImage {
        image: Some(codec::encode(&pixels, ImageFormat::Jpeg { quality: 90 }).unwrap()),
        ..user_image("large.jpg", 1, 1)
    };
    let request = with_images(vec![large]);
    let shown = |model: &str| {
        let outlined = outline(&asked(&ClaudeSom::default(), model, &request).unwrap());
        let first = outlined.lines().find(|line| line.starts_with("<image"));
        first.unwrap().to_owned()
    };
    assert_eq!(shown("claude-opus-4-7"), "<image 2400 wide>");
    assert_eq!(shown("claude-opus-4-6"), "<image 1568 wide>");
}

#[test]
fn an_image_that_is_only_a_reference_is_said_to_be_missing() {
    let mut request = with_images(vec![user_image("plan.png", 301, 1)]);
    let image = request.context.images[0].image.take();
    request.context.images[0].image = image.map(|image| Image {
        content: ImageContent::BlobUri("sha256/ab/abcd".to_owned()),
        media_type: "image/webp".to_owned(),
        ..image
    });
    let error = asked(&QwenVl, "qwen3-vl-plus", &request).unwrap_err();
    assert!(error.to_string().contains("send its bytes"), "{error}");
}
