//! A successful task: its events, their order, and its results.

use std::time::Duration;

use bytes::Bytes;
use motorium_proto::domain::action::{Action, Button, Target};
use motorium_proto::domain::decision::{Next, PlannedAction, Usage};
use motorium_proto::domain::frame::ImageContent;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{BackendAttempt, CaptureRequest};
use motorium_proto::v1::common::{self, ActionResult, EffectVerdict};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::task::State;
use prost::Message as _;
use tonic::Code;

use crate::replay;
use crate::support::cluster::{Cluster, DESKTOP};
use crate::support::script::{act, click, click_text, done, typing, typing_secret};
use crate::support::simulated_desktop::box_of;

#[tokio::test]
async fn every_event_comes_in_its_order() {
    let cluster = Cluster::start(vec![act([click(1), typing("hello")]), done("saved")]).await;
    let story = cluster.carry_out().await;
    assert_eq!(
        story.kinds(),
        [
            "created",
            "desktop_acquired",
            "started",
            "live_frame",
            "observed",
            "decided",
            "progress_added",
            "action_intended",
            "action_performed",
            "effect_judged",
            "action_intended",
            "action_performed",
            "effect_judged",
            "step_finished",
            "observed",
            "decided",
            "progress_added",
            "step_finished",
            "succeeded",
        ]
    );
    assert_eq!(story.answer(), "saved");
    let steps: Vec<u32> = story.0.iter().map(|event| event.step).collect();
    assert_eq!(
        steps,
        [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]
    );
    assert!(story.0.iter().all(|event| event.time.is_some()));
    assert_eq!(story.verdicts(), [EffectVerdict::Confirmed; 2]);
}

#[tokio::test]
async fn planned_actions_are_performed_in_order() {
    let cluster = Cluster::start(vec![act([click(3)]), act([typing("hello"), click(5)])]).await;
    let story = cluster.carry_out().await;
    assert_eq!(story.answer(), "it is done");
    let done = cluster.world.done();
    let centre = |element| Some(box_of(element).center());
    assert!(matches!(&done[0].action, Action::Click { at, .. } if *at == centre(3)));
    assert!(matches!(&done[1].action, Action::TypeText { .. }));
    assert!(matches!(&done[2].action, Action::Click { at, .. } if *at == centre(5)));
    let ids: Vec<&str> = done
        .iter()
        .map(|done| done.id.as_str().split_once('/').unwrap().1)
        .collect();
    assert_eq!(ids, ["1/0/0", "2/0/0", "2/1/0"]);
    assert_eq!(story.results(), [ActionResult::Performed; 3]);
}

#[tokio::test]
async fn secret_field_is_redacted_after_entry() {
    let steps = vec![
        act([click(1), typing_secret("bank")]),
        act([click(2)]),
        done("in"),
    ];
    let cluster = Cluster::start(steps).await;
    assert_eq!(cluster.carry_out().await.answer(), "in");
    let hidden = |request: &CaptureRequest| request.redactions.len();
    let looks = cluster.world.looks();
    let looks: Vec<usize> = looks.iter().map(|(_, look)| hidden(look)).collect();
    // The second observation is for the policy: the secret goes to what the click opened.
    assert_eq!(looks, [0, 0, 1, 1]);
    // The screen is captured before and after each action, for its screenshot if another one follows, and to verify that the
    // secret was entered; once more where an effect is late.
    let captures: Vec<usize> = cluster.world.captures().iter().map(hidden).collect();
    let redacted = captures.iter().filter(|areas| **areas == 1).count();
    assert!(captures.is_sorted() && captures.len() >= 7, "{captures:?}");
    assert_eq!(redacted, 2, "{captures:?}");
}

#[tokio::test]
async fn the_task_shows_where_it_is() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    let running = cluster.get(&name).await;
    assert_eq!((running.state(), running.step_count), (State::Running, 1));
    assert_eq!(running.desktop, DESKTOP);
    assert!(running.start_time.is_some() && running.end_time.is_none());

    cluster.world.release("plan");
    let story = cluster.follow(&name).await;
    let ended = cluster.get(&name).await;
    assert_eq!(ended.state(), State::Succeeded);
    assert_eq!((ended.answer.as_str(), ended.step_count), ("it is done", 2));
    assert_eq!(ended.last_sequence, story.0.len() as i64);
    assert!(ended.end_time.is_some());
    assert_ne!(ended.etag, running.etag);
}

fn in_chinese() -> wire::Task {
    wire::Task {
        goal: "点击“保存”".to_owned(),
        ..wire::Task::default()
    }
}

#[tokio::test]
async fn missing_target_notice_uses_the_task_language() {
    let cluster = Cluster::start(vec![act([click(99)])]).await;
    cluster.carry_out_with(in_chinese()).await;
    let notices = &cluster.world.plans()[1].notices;
    assert!(
        notices
            .iter()
            .any(|notice| notice.contains("画面中没有元素 99")),
        "{notices:?}"
    );
}

#[tokio::test]
async fn failure_message_uses_the_task_language() {
    let mut cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.hold("observe");
    let name = cluster.create_with(in_chinese()).await;
    cluster.world.called("observe", 1).await;
    cluster.services.go_away().await;
    let story = cluster.follow(&name).await;
    story.check_failure("TRANSPORT", "观察屏幕失败");
}

#[tokio::test]
async fn planner_receives_goal_history_and_budget() {
    let cluster = Cluster::start(vec![act([click(1)]), act([click(2)])]).await;
    cluster
        .carry_out_with(wire::Task {
            instructions: "gently".to_owned(),
            language: "zh".to_owned(),
            ..wire::Task::default()
        })
        .await;
    let plans = cluster.world.plans();
    assert_eq!(plans.len(), 3);
    let last = &plans[2];
    assert_eq!(
        (last.goal.as_str(), last.instructions.as_str()),
        ("do it", "gently")
    );
    assert_eq!(last.language.as_deref(), Some("zh"));
    assert_eq!(last.applications, ["editor"]);
    assert_eq!(
        (
            last.conversation.as_ref(),
            last.conversation_backend.as_str()
        ),
        (&[2][..], "scripted")
    );
    let intents: Vec<&str> = last
        .history
        .iter()
        .flat_map(|step| &step.actions)
        .map(|action| action.planned.intent.as_str())
        .collect();
    assert_eq!(intents, ["click \"Button 1\"", "click \"Button 2\""]);
    assert!(last.image.is_some(), "the backend wants the screen");
    assert!(last.history.iter().all(|step| step.image.is_some()));
    assert_eq!(last.remaining.steps, Some(77));
}

#[tokio::test]
async fn viewers_are_shown_each_click_with_its_target() {
    let cluster = Cluster::start(vec![act([click(1)]), act([click(2)])]).await;
    cluster.carry_out().await;
    cluster.world.called("mark_input", 2).await;
    let clicks = cluster.world.clicks();
    let marks = cluster.world.marks();
    for (mark, (element, (x, y))) in marks.iter().zip((1..).zip(clicks)) {
        assert_eq!(mark.presses, [CapturePoint::new(x, y)]);
        assert_eq!(mark.target, Some(box_of(element)));
    }
    assert_eq!(marks.len(), 2);
}

#[tokio::test]
async fn steps_and_screenshots_are_readable_after_the_task() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    let name = cluster.create().await;
    let story = cluster.follow(&name).await;
    let client = cluster.client();
    let steps = client.list_steps(&name).await.unwrap();
    assert_eq!(steps.len(), 2);
    let first = &steps[0];
    assert_eq!((first.number, first.thought.as_str()), (1, "thought 0"));
    assert_eq!(first.progress, "progress 0");
    assert_eq!(first.actions.len(), 1);
    assert_eq!(first.actions[0].retries, 0);
    assert_eq!(first.frame_after, steps[1].frame_before);
    let (artifact, content) = client.get_artifact(&first.frame_before).await.unwrap();
    assert_eq!(artifact.media_type, "image/webp");
    assert_eq!(artifact.size_bytes, content.len() as u64);
    assert!(content.starts_with(b"picture of frame-"));
    let scenes = story.all(|kind| match kind {
        Kind::Observed(observed) => observed.scene.clone(),
        _ => None,
    });
    assert_eq!(scenes.len(), 2);
    for scene in scenes {
        let (artifact, content) = client.get_artifact(&scene.name).await.unwrap();
        assert_eq!(artifact.media_type, "application/x-protobuf");
        let scene = common::Scene::decode(content).unwrap();
        assert!(!scene.elements.is_empty());
    }
}

#[tokio::test]
async fn the_archived_annotated_screenshot_is_the_one_that_the_model_received() {
    let cluster = Cluster::start(vec![act([click(1)]), act([click(2)])]).await;
    let name = cluster.create().await;
    cluster.follow(&name).await;
    let client = cluster.client();
    let steps = client.list_steps(&name).await.unwrap();
    let received = cluster.world.shown_to_model();
    assert_eq!((steps.len(), received.len()), (3, 3));
    for (step, received) in steps.iter().zip(received) {
        let archived = client.get_artifact(&step.annotated_frame).await.unwrap();
        let (artifact, content) = archived;
        assert_eq!(ImageContent::Bytes(content), received.content);
        assert_eq!(artifact.media_type, received.media_type);
    }
}

#[tokio::test]
async fn the_observation_of_a_step_has_the_pointer() {
    let script = vec![act([click(1)]), act([click(2)])];
    let cluster = Cluster::start_with(script, |settings| {
        settings.pointer_check.all_clicks = true;
    })
    .await;
    cluster.world.show_cursor();
    let story = cluster.carry_out().await;
    let pointers = story.all(|kind| match kind {
        Kind::Observed(observed) => observed.frame.as_ref()?.cursor?.position,
        _ => None,
    });
    let pointers: Vec<(i32, i32)> = pointers.iter().map(|at| (at.x, at.y)).collect();
    let (first, second) = (box_of(1).center(), box_of(2).center());
    assert_eq!(pointers[1..], [(first.x, first.y), (second.x, second.y)]);
}

#[tokio::test]
async fn current_url_reaches_the_planner_and_the_step() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster
        .world
        .show_page("https://ann:secret@shop.example/cart");
    let name = cluster.create().await;
    let story = cluster.follow(&name).await;
    let url = "https://shop.example/cart";
    let plans = cluster.world.plans();
    let urls = plans.iter().map(|plan| plan.current_url.clone());
    let urls: Vec<Option<String>> = urls.collect();
    assert_eq!(urls, [Some(url.to_owned()), Some(url.to_owned())]);
    let steps = cluster.client().list_steps(&name).await.unwrap();
    assert!(steps.iter().all(|step| step.current_url == url));
    let observed = story.all(|kind| match kind {
        Kind::Observed(observed) => Some(observed.current_url.clone()),
        _ => None,
    });
    assert_eq!(observed, [url, url]);

    let without_browser = Cluster::start(vec![act([click(1)])]).await;
    without_browser.carry_out().await;
    let current_url = &without_browser.world.plans()[0].current_url;
    assert_eq!(*current_url, None);
}

#[tokio::test]
async fn requests_and_responses_of_models_are_stored_with_the_step() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    let name = cluster.create().await;
    cluster.follow(&name).await;
    let client = cluster.client();
    let steps = client.list_steps(&name).await.unwrap();
    for (number, step) in steps.iter().enumerate() {
        let (artifact, content) = client.get_artifact(&step.responses).await.unwrap();
        assert_eq!(artifact.media_type, "application/json");
        let kept: serde_json::Value = serde_json::from_slice(&content).unwrap();
        assert_eq!(kept, serde_json::json!([{"thought": number}]));
        let (_, content) = client.get_artifact(&step.requests).await.unwrap();
        let sent: serde_json::Value = serde_json::from_slice(&content).unwrap();
        let prompt = format!("step {number}");
        assert_eq!(sent, serde_json::json!([{"messages": [prompt]}]));
    }
}

/// Returns the requests and the responses that an event has.
fn exchange(kind: &Kind) -> Option<[Option<wire::Artifact>; 2]> {
    let (requests, responses) = match kind {
        Kind::Extracted(extracted) => (&extracted.requests, &extracted.responses),
        Kind::PointerChecked(checked) => (&checked.requests, &checked.responses),
        Kind::Summarized(summary) => (&summary.requests, &summary.responses),
        Kind::BackendSkipped(skipped) => (&skipped.requests, &skipped.responses),
        _ => return None,
    };
    responses.as_ref()?;
    Some([requests.clone(), responses.clone()])
}

#[tokio::test]
async fn exchanges_of_other_calls_are_stored_and_exported() {
    let extract = Next::Extract {
        json_schema: "{}".to_owned(),
        instruction: "all prices".to_owned(),
    };
    let verified = PlannedAction {
        verify_pointer: true,
        ..click(1)
    };
    let cluster = Cluster::start(vec![extract, act([verified]), done(" ")]).await;
    cluster.world.extract(Ok(r#"{"prices": [3]}"#));
    cluster.world.locate([(false, 3, 0), (true, 0, 0)]);
    cluster.world.summarise("All is done.");
    let used = Usage {
        calls: 1,
        ..Usage::default()
    };
    let failed = ErrorReport::new(Code::Unavailable, "ALL_BACKENDS_FAILED", "none decides")
        .retry_after(Duration::from_millis(1))
        .with_usage(used)
        .with_model_responses(&[r#"{"invalid":1}"#.to_owned()]);
    cluster.world.fail("plan", 1, &failed);
    let name = cluster.create().await;
    let story = cluster.follow(&name).await;
    let kept = story.all(exchange);
    let folder = replay::check(&cluster, &name).await;
    let mut contents = Vec::new();
    for [requests, responses] in kept {
        let mut call = Vec::new();
        for (which, artifact) in [("requests", requests), ("responses", responses)] {
            let Some(artifact) = artifact else {
                continue;
            };
            let (_, content) = cluster.client().get_artifact(&artifact.name).await.unwrap();
            let path = folder.path().join(which).join(&artifact.file_name);
            assert_eq!(std::fs::read(path).unwrap(), content.as_ref());
            call.push(serde_json::from_slice::<serde_json::Value>(&content).unwrap());
        }
        contents.push(call);
    }
    let asked = |prompt: &str| serde_json::json!({"messages": [prompt]});
    let look = asked("where is the pointer");
    let expected = [
        vec![serde_json::json!([{"invalid": 1}])],
        vec![
            serde_json::json!([asked("read it")]),
            serde_json::json!([{"extracted": 1}]),
        ],
        vec![
            serde_json::json!([look, look]),
            serde_json::json!([{"on_target": false}, {"on_target": true}]),
        ],
        vec![
            serde_json::json!([asked("what was done")]),
            serde_json::json!([{"summary": "All is done."}]),
        ],
    ];
    assert_eq!(contents, expected, "{}", story.text());
}

#[tokio::test]
async fn history_names_the_target_element() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.carry_out().await;
    let past = &cluster.world.plans()[1].history[0].actions[0];
    assert_eq!(past.target_label.as_deref(), Some("button \"Button 1\""));
}

#[tokio::test]
async fn steps_add_up_to_the_usage_of_the_task() {
    let cluster = Cluster::start(vec![act([click(1)]), act([click(2)])]).await;
    let usage = |tokens, seconds| Usage {
        input_tokens: Some(tokens),
        output_tokens: Some(1),
        calls: 1,
        inference_time: Duration::from_secs(seconds),
        ..Usage::default()
    };
    cluster.world.charge(usage(100, 2));
    cluster.world.skip_backend(BackendAttempt {
        backend: "first".to_owned(),
        reason: "TRANSIENT".to_owned(),
        message: "overloaded".to_owned(),
        usage: usage(7, 1),
    });
    let name = cluster.create().await;
    cluster.follow(&name).await;
    let whole = cluster.get(&name).await.usage.unwrap();
    let steps = cluster.client().list_steps(&name).await.unwrap();
    let of_steps: Vec<_> = steps.iter().filter_map(|step| step.usage).collect();
    assert_eq!(of_steps.len(), 3);
    let tokens: u64 = of_steps.iter().filter_map(|usage| usage.input_tokens).sum();
    assert_eq!((Some(tokens), tokens), (whole.input_tokens, 3 * 107));
    let seconds: i64 = of_steps
        .iter()
        .filter_map(|usage| usage.inference_time)
        .map(|time| time.seconds)
        .sum();
    assert_eq!(seconds, whole.inference_time.unwrap().seconds);
}

#[tokio::test]
async fn only_textual_targets_are_resolved_by_the_planner() {
    let at_a_point = PlannedAction {
        action: Action::Click {
            at: Some(Target::Point(box_of(3).center())),
            button: Button::Left,
            count: 1,
            modifiers: Vec::new(),
        },
        ..click(3)
    };
    let cluster = Cluster::start(vec![act([click(1)]), act([at_a_point])]).await;
    cluster.carry_out().await;
    assert_eq!(cluster.world.count("resolve_target"), 0);

    let cluster = Cluster::start(vec![act([click_text("Button 2")])]).await;
    cluster.carry_out().await;
    assert_eq!(cluster.world.count("resolve_target"), 1);
    let centre = box_of(2).center();
    assert_eq!(cluster.world.clicks(), [(centre.x, centre.y)]);
}

#[tokio::test]
async fn attachments_are_uploaded_and_results_fetched() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.add_file("out.pdf", b"a result");
    let task = wire::Task {
        attachments: vec![wire::Attachment {
            name: "in.txt".to_owned(),
            data: Bytes::from_static(b"a file"),
            ..wire::Attachment::default()
        }],
        results: vec!["out.pdf".to_owned(), "missing.pdf".to_owned()],
        ..wire::Task::default()
    };
    let name = cluster.create_with(task).await;
    let story = cluster.follow(&name).await;
    assert_eq!(
        story.answer(),
        "it is done",
        "a missing result undoes nothing"
    );
    assert_eq!(cluster.world.files()["in.txt"].as_ref(), b"a file");
    assert_eq!(story.count("attachment_put"), 1);
    let fetched = story.all(|kind| match kind {
        wire::event::Kind::ResultFetched(fetched) => Some(fetched.clone()),
        _ => None,
    });
    let artifact = fetched[0].artifact.clone().unwrap();
    assert_eq!(artifact.file_name, "out.pdf");
    let (_, content) = cluster.client().get_artifact(&artifact.name).await.unwrap();
    assert_eq!(content.as_ref(), b"a result");
    assert!(fetched[1].error.contains("missing.pdf"), "{:?}", fetched[1]);
    let listed = cluster.get(&name).await;
    assert!(
        listed.attachments.iter().all(|file| file.data.is_empty()),
        "a task is shown without what is in its files"
    );
}

#[tokio::test]
async fn success_is_accepted_when_all_expectations_hold() {
    use wire::expectation::Expectation as Wanted;

    let cluster = Cluster::start(vec![done("saved")]).await;
    cluster.world.add_file("report.txt", b"x");
    let expect = |wanted: Wanted| wire::Expectation {
        expectation: Some(wanted),
    };
    let task = wire::Task {
        expectations: vec![
            expect(Wanted::TextOnScreen("button 4".to_owned())),
            expect(Wanted::WindowTitle("editor".to_owned())),
            expect(Wanted::FileExists("report.txt".to_owned())),
        ],
        ..wire::Task::default()
    };
    let story = cluster.carry_out_with(task).await;
    assert_eq!(story.answer(), "saved");
    assert_eq!(story.count("completion_checked"), 1);
}

#[tokio::test]
async fn unmet_expectation_is_rejected_once_then_fails_the_task() {
    let cluster = Cluster::start(vec![done("saved"), done("really")]).await;
    let task = wire::Task {
        expectations: vec![wire::Expectation {
            expectation: Some(wire::expectation::Expectation::TextOnScreen(
                "Saved as".to_owned(),
            )),
        }],
        ..wire::Task::default()
    };
    let story = cluster.carry_out_with(task).await;
    story.check_failure("EXPECTATION_NOT_MET", "\"Saved as\" is not on the screen");
    assert_eq!(story.count("completion_checked"), 2);
    let notices = &cluster.world.plans()[1].notices;
    assert!(
        notices.iter().any(|notice| notice.contains("Saved as")),
        "{notices:?}"
    );
}

#[tokio::test]
async fn tasks_take_turns_at_one_desktop_by_priority() {
    let cluster = Cluster::start(vec![done("done")]).await;
    cluster.world.hold("plan");
    let first = cluster.create().await;
    cluster.world.called("plan", 1).await;
    let ordinary = cluster.create().await;
    let urgent = cluster
        .create_with(wire::Task {
            priority: 5,
            ..wire::Task::default()
        })
        .await;
    assert_eq!(cluster.get(&ordinary).await.state(), State::Pending);
    cluster.world.release("plan");
    for name in [&first, &ordinary, &urgent] {
        assert_eq!(cluster.follow(name).await.answer(), "done");
    }
    let started = |task: wire::Task| {
        let time = task.start_time.unwrap();
        (time.seconds, time.nanos)
    };
    let (ordinary, urgent) = (cluster.get(&ordinary).await, cluster.get(&urgent).await);
    assert!(
        started(urgent) < started(ordinary),
        "the urgent one goes first"
    );
    cluster.world.called("released", 3).await;
}
