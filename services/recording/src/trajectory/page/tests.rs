//! The page of an exported trajectory, for tasks that ended in different ways.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use motorium_imaging::codec;
use motorium_messages::Language;
use motorium_proto::domain::action::{Action, Button, Target};
use motorium_proto::domain::decision::{
    Decision, FunctionCall, FunctionResult, Next, PlannedAction, Usage,
};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, Effect, Verdict};
use motorium_proto::domain::frame::{Frame, ImageContent};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::domain::id::{ActionId, ElementId, EventSeq, TaskName};
use motorium_proto::service::{ImageFormat, StageTiming};
use motorium_proto::v1::orchestrator as wire;

use super::*;
use crate::trajectory::check_page;
use motorium_task::event::{
    ActionIntended, Artifact, Event, Failure, Observed, PointerChecked, RecordedEvent, ResultFile,
    StoredExchange, UserRequest, UserRequestKind,
};
use motorium_task::owner::Owner;
use motorium_task::screen::Fingerprint;
use motorium_task::spec::{LimitRules, TaskSpec};
use motorium_task::{Approval, ApprovalState, ApprovalSubject};

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

fn decided(progress: &str, thought: &str, next: Next) -> Event {
    Event::Decided {
        decision: Box::new(Decision {
            thought: thought.into(),
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
        exchange: StoredExchange::default(),
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

fn acted(
    id: &str,
    intent: &str,
    target: CaptureRect,
    verdict: Verdict,
    explanation: &str,
) -> Vec<Event> {
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
        explanation: explanation.into(),
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
            screenshot: None,
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

fn approval(state: ApprovalState, intent: &str) -> Approval {
    Approval {
        id: "1-0-1".into(),
        state,
        subject: ApprovalSubject::Call {
            intent: intent.into(),
        },
        rules: vec![],
        reason: String::new(),
        safety_checks: vec![],
        evidence: None,
        fingerprint: [0; 32],
        context: None,
        created_at: SystemTime::UNIX_EPOCH,
        expires_at: SystemTime::UNIX_EPOCH,
        resolved_by: "users/123".into(),
        message: String::new(),
        stated_user: String::new(),
        written_by_model: false,
        second_person: false,
    }
}

/// Events beside the steps, with texts of users and services in the language of the task.
fn beside(say: impl Fn(&str, &str) -> String) -> Vec<Event> {
    let word = || say("because", "因为");
    let call = |id: &str| FunctionCall {
        call_id: id.into(),
        name: "1".into(),
        arguments_json: "{}".into(),
    };
    let missing = vec![say("the text is missing", "没有文字"), word()];
    let checked = |passed, second_look| Event::CompletionChecked {
        passed,
        second_look,
        missing: missing.clone(),
    };
    let asked = |kind| Event::UserAsked(UserRequest::new(kind, word()));
    let resolved = |state| Event::ApprovalResolved(Box::new(approval(state, &word())));
    let put = |error: String| Event::AttachmentPut {
        name: "1".into(),
        size_bytes: 1,
        path: "/1".into(),
        error,
        image: None,
        image_error: String::new(),
    };
    let fetched = |artifact, error| {
        Event::ResultFetched(ResultFile {
            name: "1".into(),
            path: "/1".into(),
            artifact,
            error,
        })
    };
    let file = Artifact {
        sha256: [0; 32],
        media_type: "text/plain".into(),
        size_bytes: 1,
        file_name: "1".into(),
    };
    let pointer = PointerChecked {
        action_id: ActionId::new("t/1/0/0"),
        target: CapturePoint::new(1, 2),
        pointer: CapturePoint::new(1, 2),
        on_target: true,
        corrections: 1,
        image: None,
        usage: Usage::default(),
        exchange: StoredExchange::default(),
    };
    let off_target = PointerChecked {
        on_target: false,
        ..pointer.clone()
    };
    vec![
        Event::Recovered {
            orchestrator: "1".into(),
            unknown_actions: vec![],
        },
        put(String::new()),
        put(word()),
        Event::PointerChecked(Box::new(pointer)),
        Event::PointerChecked(Box::new(off_target)),
        asked(UserRequestKind::ManualAction),
        Event::UserAcknowledged {
            message: String::new(),
            attachments: vec![],
            written_by_model: false,
        },
        asked(UserRequestKind::Approval),
        resolved(ApprovalState::Approved),
        resolved(ApprovalState::Denied),
        resolved(ApprovalState::Expired),
        resolved(ApprovalState::Invalidated),
        asked(UserRequestKind::TakeOver),
        Event::TakenOver { user: word() },
        Event::HandedBack { message: word() },
        Event::Paused { reason: word() },
        Event::Resumed,
        checked(true, false),
        checked(false, true),
        checked(false, false),
        fetched(Some(file), String::new()),
        fetched(None, word()),
        Event::TransientFailure {
            reason: "1".into(),
            message: word(),
        },
        Event::HookIntervened {
            hook: "1".into(),
            point: "1".into(),
            message: word(),
            denied: true,
        },
        Event::FunctionCalled(call("1")),
        Event::FunctionReturned {
            result: FunctionResult {
                call_id: "1".into(),
                outcome: Ok("1".into()),
            },
            elapsed: Duration::ZERO,
        },
        Event::Extracted {
            json: "1".into(),
            usage: Usage::default(),
            sources: vec![],
            exchange: StoredExchange::default(),
        },
    ]
}

/// The page of a sample task with this screenshot, whose user and planner write this language.
async fn page(image: Vec<u8>, size: CaptureSize, language: Language) -> String {
    let say = |english: &str, chinese: &str| match language {
        Language::English => english.to_owned(),
        Language::Chinese => chinese.to_owned(),
    };
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
    let goal = say(
        "Fill in the form with Alice's address, then save it as a PDF",
        "在表单中填写张三的地址，然后保存文件",
    );
    let spec = TaskSpec::from_wire(
        TaskName::from_segment("t").unwrap(),
        "u".into(),
        Owner::default(),
        wire::Task {
            goal,
            ..Default::default()
        },
        LimitRules::default(),
    );
    let name = say("click \"Name\"", "点击“姓名”");
    let save = say("click \"Save\"", "点击“保存”");
    let thought = say(
        "The form asks for a name first; the field is empty and has no focus.",
        "表单首先要求填写姓名；输入框为空，也没有焦点。",
    );
    let changed = say(
        "310 pixels changed at the target",
        "目标处有 310 个像素发生变化",
    );
    let unchanged = say("nothing changed", "没有变化");
    let two = Next::Act(vec![planned(&name), planned(&save)]);
    let progress = say("Clicking into the name field", "点击姓名输入框");
    let first = place(300, 210, 320, 34);
    let second = place(760, 500, 120, 40);
    let events = |step: u32, events: Vec<Event>| events.into_iter().map(move |e| (step, e));
    let started = Event::Started {
        orchestrator: "o".into(),
    };
    let log = events(0, vec![Event::Created(Box::new(spec.unwrap())), started])
        .chain(events(
            1,
            vec![
                observed(artifact(), size),
                decided(&progress, &thought, two),
            ],
        ))
        .chain(events(
            1,
            acted("t/1/0/0", &name, first, Verdict::Confirmed, &changed),
        ))
        .chain(events(
            1,
            acted("t/1/1/0", &save, second, Verdict::NoEffect, &unchanged),
        ))
        .chain(events(
            1,
            vec![
                Event::TargetNotResolved {
                    message: say("\"Save\" cannot be found any more", "再也找不到“保存”"),
                },
                finished(),
            ],
        ))
        .chain(events(
            0,
            vec![
                Event::UserAsked(UserRequest::new(
                    UserRequestKind::Question,
                    say("Which printer shall I use?", "使用哪台打印机？"),
                )),
                Event::UserAcknowledged {
                    message: HOSTILE.into(),
                    attachments: vec![],
                    written_by_model: false,
                },
            ],
        ))
        .chain(events(1, beside(say)))
        .chain(events(
            2,
            vec![
                observed(artifact(), size),
                decided(
                    &say("Reading the result", "读取结果"),
                    &thought,
                    Next::Done {
                        answer: HOSTILE.into(),
                        evidence: vec![],
                    },
                ),
                finished(),
                Event::Failed(Failure::new(
                    "STEP_LIMIT",
                    say("the limit of 2 steps is used up", "已达到 2 步的步数上限"),
                )),
            ],
        ));
    let log: Vec<RecordedEvent> = (1..)
        .zip(log)
        .map(|(seq, (step, event))| RecordedEvent {
            seq: EventSeq(seq),
            at: SystemTime::UNIX_EPOCH
                + Duration::from_millis(1_700_000_000_000 + 850 * seq.unsigned_abs()),
            step,
            event,
        })
        .collect();
    let task = Task::from_events(log.clone()).unwrap();
    let steps = Steps::of(&log, task.spec.message_language());
    let mut file = write(&task, &steps, &blobs).await.unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut file, &mut text).unwrap();
    text
}

/// Returns what a reader of the page sees or hears: texts, and labels of images and links.
fn shown(page: &str) -> String {
    let mut shown = String::new();
    for (tag, closing) in [("<style>", "</style>"), ("<script>", "</script>")] {
        assert!(page.contains(tag) && page.contains(closing));
    }
    let without = |page: &str, start: &str, end: &str| {
        let (before, rest) = page.split_once(start).unwrap();
        let (_, after) = rest.split_once(end).unwrap();
        format!("{before}{after}")
    };
    let page = without(page, "<style>", "</style>");
    let page = without(&page, "<script>", "</script>");
    for piece in page.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap();
        for attribute in ["alt=\"", "aria-label=\""] {
            let value = tag
                .split_once(attribute)
                .and_then(|(_, rest)| rest.split_once('"'));
            shown.extend(value.map(|(value, _)| format!("{value}\n")));
        }
        shown.push_str(text);
    }
    shown
}

#[tokio::test]
async fn screen_text_is_escaped_in_the_page() {
    let size = CaptureSize::new(1000, 600);
    let page = page(b"not an image".to_vec(), size, Language::English).await;
    assert!(page.contains("No screenshot of this step."));
    assert!(!page.contains("<script>alert"), "{page}");
    assert_eq!(page.matches("<script").count(), 1, "{page}");
    assert!(page.contains("default-src &#x27;none&#x27;") || page.contains("default-src 'none'"));
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
async fn a_page_is_recognised_as_that_of_its_task() {
    let size = CaptureSize::new(1000, 600);
    let page = page(b"not an image".to_vec(), size, Language::English).await;
    let home = tempfile::tempdir().unwrap();
    let stored = home.path().join("t.html");
    std::fs::write(&stored, page).unwrap();
    assert!(check_page(&stored, "tasks/t").is_ok());
    assert!(check_page(&stored, "tasks/users").is_err());
}

#[tokio::test]
async fn the_page_of_a_chinese_task_is_chinese() {
    let size = CaptureSize::new(64, 48);
    let pixels = encode_png(image_of(64, 48), 64, 48);
    let page = page(pixels, size, Language::Chinese).await;
    assert!(page.contains("<html lang=\"zh\">"), "{page}");
    let shown = shown(&page);
    for text in [
        "任务记录",
        "第 1 步开始时的屏幕",
        "失败。",
        "已达到 2 步的步数上限（STEP_LIMIT）",
        "已生效",
        "没有效果",
        "等待稳定",
        "我已经操作",
        "决定：完成",
        "模型调用次数",
    ] {
        assert!(shown.contains(text), "{text} is missing:\n{shown}");
    }
    // Names of models, backends and tasks, and what the hostile user wrote, are the same in both languages.
    let names = ["claude", "som", "tasks", "users", "STEP", "LIMIT"];
    let hostile: Vec<&str> = words(HOSTILE).collect();
    let escapes = ["lt", "gt", "amp", "quot", "x"];
    let english: Vec<&str> = words(&shown)
        .filter(|word| word.len() > 1)
        .filter(|word| !names.contains(word) && !hostile.contains(word) && !escapes.contains(word))
        .collect();
    assert!(english.is_empty(), "{english:?}:\n{shown}");
}

/// Returns the words of a text in Latin letters.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphabetic())
        .filter(|word| !word.is_empty())
}

#[tokio::test]
async fn targets_are_drawn_over_the_screenshot() {
    let mut pixels = image_of(64, 48);
    pixels[0] = 7;
    let pixels = encode_png(pixels, 64, 48);
    let page = page(pixels, CaptureSize::new(1000, 600), Language::English).await;
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
        for language in Language::ALL {
            let page = super::tests::page(shown.clone(), size, language).await;
            std::fs::write(format!("{path}.{}.html", language.tag()), page).unwrap();
        }
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
