//! The HTML page of an export: one self-contained file that works without network and without scripts.
//!
//! - `view`: the data of the templates
//! - `images`: downscaled images as data URIs
//!
//! The page is written step by step, so that only one image at a time is in memory. Everything from the log is escaped by the
//! template engine. The `Content-Security-Policy` allows only the page's own script, by its hash, and loads nothing. Targets
//! are drawn over the screenshot as SVG; the image itself is not changed.

mod images;
mod view;

use std::fs::File as Disk;
use std::io::{BufWriter, Write as _};
use std::sync::LazyLock;

use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use motorium_store::BlobStore;
use serde::Serialize;

use self::images::data_uri;
use self::view::{PageFooter, PageHeader, StepView};
use super::steps::Steps;
use super::{Error, rewound};
use motorium_task::Task;
use motorium_task::event::Artifact;

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    templates.set_auto_escape_callback(|_| AutoEscape::Html);
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    let parts = [
        ("header", include_str!("page/header.html.jinja")),
        ("step", include_str!("page/step.html.jinja")),
        ("footer", include_str!("page/footer.html.jinja")),
    ];
    for (name, text) in parts {
        templates
            .add_template(name, text)
            .expect("the templates of the page are sound");
    }
    templates
});

/// Writes the page into an unnamed temporary file.
pub(super) async fn write(task: &Task, steps: &Steps, blobs: &BlobStore) -> Result<Disk, Error> {
    let file = tempfile::tempfile().map_err(Error::file(&std::env::temp_dir()))?;
    let mut page = BufWriter::new(file);
    put(&mut page, "header", &PageHeader::of(task, steps))?;
    for step in &steps.steps {
        let shown = shown(blobs, step.image.as_ref()).await;
        let shown_after = self::shown(blobs, step.image_after.as_ref()).await;
        put(&mut page, "step", &StepView::of(step, shown, shown_after))?;
    }
    put(&mut page, "footer", &PageFooter::of(task))?;
    let file = page
        .into_inner()
        .map_err(|error| Error::Page(error.to_string()))?;
    rewound(file).map_err(|error| Error::Page(error.to_string()))
}

/// Returns an image as the page shows it; `None` if there is none, or it is gone.
async fn shown(blobs: &BlobStore, image: Option<&Artifact>) -> Option<String> {
    let stored = blobs.get(image?.sha256).await.ok()?;
    data_uri(stored).await
}

fn put(page: &mut BufWriter<Disk>, template: &str, values: &impl Serialize) -> Result<(), Error> {
    let failed = |error: minijinja::Error| Error::Page(error.to_string());
    let template = TEMPLATES.get_template(template).map_err(failed)?;
    let values = minijinja::value::Serde(values);
    let text = template.render(values).map_err(failed)?;
    page.write_all(text.as_bytes())
        .map_err(|error| Error::Page(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use bytes::Bytes;
    use motorium_imaging::codec;
    use motorium_proto::domain::action::{Action, Button, Target};
    use motorium_proto::domain::decision::{Decision, Next, PlannedAction, Usage};
    use motorium_proto::domain::effect::{ActionOutcome, ActionResult, Effect, Verdict};
    use motorium_proto::domain::frame::{Frame, ImageContent};
    use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
    use motorium_proto::domain::id::{ActionId, ElementId, EventSeq, TaskName};
    use motorium_proto::service::{ImageFormat, StageTiming};
    use motorium_proto::v1::orchestrator as wire;

    use super::*;
    use motorium_task::event::{
        ActionIntended, Artifact, Event, Failure, Observed, RecordedEvent, UserRequest,
        UserRequestKind,
    };
    use motorium_task::screen::Fingerprint;
    use motorium_task::spec::{Limits, TaskSpec};

    const HOSTILE: &str = "Untitled <script>alert('x')</script> & \"more\"";

    fn observed(artifact: Artifact, size: CaptureSize) -> Event {
        let frame = motorium_proto::v1::common::Frame {
            id: "f".into(),
            display: ":1".into(),
            origin: Some(CapturePoint::zero().into()),
            size: Some(size.into()),
            scale: 1.0,
            capture_time: Some(Default::default()),
            windows: vec![motorium_proto::v1::common::Window {
                id: "1".into(),
                title: HOSTILE.into(),
                active: true,
                bounds: Some(CaptureRect::from_size(size).into()),
                ..Default::default()
            }],
            ..Default::default()
        };
        let frame: Frame = frame.try_into().expect("it keeps the contract");
        Event::Observed(Box::new(Observed {
            frame,
            image: Some(artifact),
            element_count: 12,
            elapsed: Duration::from_millis(180),
            fingerprint: Fingerprint::default(),
            scene: None,
            current_url: Some("https://shop.example/form".into()),
        }))
    }

    fn decided(progress: &str, next: Next) -> Event {
        Event::Decided {
            decision: Box::new(Decision {
                thought: "The form asks for a name first; the field is empty and has no focus."
                    .into(),
                progress: progress.into(),
                next,
                safety_checks: vec![],
                conversation: Bytes::new(),
                backend: "claude_som".into(),
                model: "claude".into(),
                usage: Usage {
                    input_tokens: Some(4120),
                    output_tokens: Some(96),
                    calls: 1,
                    ..Usage::default()
                },
                suspected_injections: vec![],
                conversation_images: vec![],
            }),
            elapsed: Duration::from_millis(2300),
            annotated_image: None,
            responses: None,
        }
    }

    fn planned(intent: &str) -> PlannedAction {
        PlannedAction {
            action: Action::Click {
                at: Some(Target::Element(ElementId(3))),
                button: Button::Left,
                count: 1,
                modifiers: vec![],
            },
            intent: intent.into(),
            verify_pointer: false,
            repeatable: true,
        }
    }

    fn acted(id: &str, intent: &str, target: CaptureRect, verdict: Verdict) -> Vec<Event> {
        let action_id = ActionId::new(id);
        let at = Some(target.center());
        let intended = ActionIntended {
            action_id: action_id.clone(),
            retry_of: None,
            planned: planned(intent),
            action: Action::Click {
                at,
                button: Button::Left,
                count: 1,
                modifiers: vec![],
            },
            target: Some(target),
            target_label: None,
        };
        let effect = Effect {
            verdict,
            explanation: "2.1 % of the place changed".into(),
            ..motorium_task::effect::unknown(String::new())
        };
        vec![
            Event::ActionIntended(Box::new(intended)),
            Event::ActionPerformed {
                action_id: action_id.clone(),
                outcome: ActionOutcome::new(ActionResult::Performed, ""),
            },
            Event::EffectJudged {
                action_id,
                effect: Box::new(effect),
            },
        ]
    }

    fn finished() -> Event {
        let stage = |stage: &str, milliseconds| StageTiming {
            stage: stage.into(),
            elapsed: Duration::from_millis(milliseconds),
        };
        Event::StepFinished {
            timings: vec![
                stage("observe", 180),
                stage("decide", 2300),
                stage("act", 41),
                stage("settle", 512),
            ],
            outcome: String::new(),
        }
    }

    /// The page of a sample task with this screenshot.
    async fn page(image: Vec<u8>, size: CaptureSize) -> String {
        let blobs = BlobStore::memory();
        let stored = blobs.put(image.into()).await.unwrap();
        let artifact = || Artifact {
            sha256: stored.sha256(),
            media_type: "image/png".into(),
            size_bytes: 1,
            file_name: "step.png".into(),
        };
        let place = |x, y, w, h| {
            CaptureRect::from_origin_and_size(CapturePoint::new(x, y), CaptureSize::new(w, h))
        };
        let spec = TaskSpec::from_wire(
            TaskName::from_segment("t").unwrap(),
            "u".into(),
            wire::Task {
                goal: "Fill in the form with Alice's address, then save it as a PDF".into(),
                ..Default::default()
            },
            Limits::default(),
        );
        let two = vec![planned("click \"Name\""), planned("click \"Save\"")];
        let mut events = vec![
            (0, Event::Created(Box::new(spec.unwrap()))),
            (
                0,
                Event::Started {
                    orchestrator: "o".into(),
                },
            ),
            (1, observed(artifact(), size)),
            (1, decided("Clicking into the name field", Next::Act(two))),
        ];
        events.extend(
            acted(
                "t/1/0/0",
                "click \"Name\"",
                place(300, 210, 320, 34),
                Verdict::Confirmed,
            )
            .into_iter()
            .map(|e| (1, e)),
        );
        events.extend(
            acted(
                "t/1/1/0",
                "click \"Save\"",
                place(760, 500, 120, 40),
                Verdict::NoEffect,
            )
            .into_iter()
            .map(|e| (1, e)),
        );
        events.extend([
            (
                1,
                Event::TargetNotResolved {
                    message: "\"Save\" cannot be found any more".into(),
                },
            ),
            (1, finished()),
            (
                0,
                Event::UserAsked(UserRequest::new(
                    UserRequestKind::Question,
                    "Which printer shall I use?",
                )),
            ),
            (
                0,
                Event::UserAcknowledged {
                    message: HOSTILE.into(),
                    attachments: vec![],
                },
            ),
            (2, observed(artifact(), size)),
            (
                2,
                decided(
                    "Reading the result",
                    Next::Done {
                        answer: HOSTILE.into(),
                        evidence: vec![],
                    },
                ),
            ),
            (2, finished()),
            (
                0,
                Event::Failed(Failure::new(
                    "STEP_LIMIT",
                    "the limit of 2 steps is used up",
                )),
            ),
        ]);
        let log: Vec<RecordedEvent> = (1..)
            .zip(events)
            .map(|(seq, (step, event))| RecordedEvent {
                seq: EventSeq(seq),
                at: SystemTime::UNIX_EPOCH
                    + Duration::from_millis(1_700_000_000_000 + 850 * seq.unsigned_abs()),
                step,
                event,
            })
            .collect();
        let task = Task::from_events(log.clone()).unwrap();
        let mut file = write(&task, &Steps::of(&log), &blobs).await.unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut file, &mut text).unwrap();
        text
    }

    #[tokio::test]
    async fn what_is_on_the_screen_is_shown_and_never_run() {
        let page = page(b"not an image".to_vec(), CaptureSize::new(1000, 600)).await;
        assert!(page.contains("No screenshot of this step."));
        assert!(!page.contains("<script>alert"), "{page}");
        assert_eq!(page.matches("<script").count(), 1, "{page}");
        assert!(
            page.contains("default-src &#x27;none&#x27;") || page.contains("default-src 'none'")
        );
        assert!(
            !page.contains("http://") && !page.contains("https://"),
            "{page}"
        );
        assert!(
            page.contains("Untitled &lt;script&gt;alert(&#x27;x&#x27;)&lt;"),
            "{page}"
        );
    }

    #[tokio::test]
    async fn targets_are_drawn_over_the_picture() {
        let mut pixels = image_of(64, 48);
        pixels[0] = 7;
        let pixels = encode_png(pixels, 64, 48);
        let page = page(pixels, CaptureSize::new(1000, 600)).await;
        assert!(page.contains("<img src=\"data:image/png;base64,"), "{page}");
        assert!(page.contains("viewBox=\"0 0 1000 600\""), "{page}");
        assert!(
            page.contains("x=\"300\" y=\"210\" width=\"320\" height=\"34\""),
            "{page}"
        );
        if let Ok(path) = std::env::var("PAGE_DEMO") {
            let shown = std::fs::read(&path).unwrap();
            let (width, height) = codec::dimensions(&shown).unwrap();
            let size = CaptureSize::new(width as i32, height as i32);
            std::fs::write(path + ".html", super::tests::page(shown, size).await).unwrap();
        }
    }

    fn image_of(width: usize, height: usize) -> Vec<u8> {
        vec![200; width * height * 4]
    }

    fn encode_png(pixels: Vec<u8>, width: u32, height: u32) -> Vec<u8> {
        let pixels =
            motorium_imaging::codec::from_bgrx(&pixels, width, height, width as usize * 4).unwrap();
        match codec::encode(&pixels, ImageFormat::Png).unwrap().content {
            ImageContent::Bytes(bytes) => bytes.to_vec(),
            ImageContent::BlobUri(_) => Vec::new(),
        }
    }
}
