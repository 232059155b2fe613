//! User actions during a task: take-over, approvals, messages, manual input, and their visibility to the planner.

use std::time::Duration;

use motorium_proto::domain::action::{Action, Button, Target};
use motorium_proto::domain::decision::{Next, PlannedAction, SafetyCheck};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::approval::State;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_tests::scripted_planner::{act, click, done, typing};
use motorium_tests::simulated_user::SimulatedUser;
use motorium_tests::testbed::{TaskRun, Testbed};
use motorium_tests::watched_task::WatchedTask;

use super::task;

/// Interval between the simulated user's clicks.
const CLICK_INTERVAL: Duration = Duration::from_millis(500);

/// Returns the description of a user action event.
fn user_action_description(kind: &Kind) -> Option<String> {
    match kind {
        Kind::HumanActed(acted) => Some(acted.description.clone()),
        _ => None,
    }
}

/// Returns the position of an element of the page on the screen.
async fn place_of(stage: &mut Testbed, element: &str) -> (i32, i32) {
    let found = [act(click(element)), done("found")];
    let run = stage.run_task(task("find it"), found).await;
    stage.site.reload_page().await;
    run.events.clicks()[0]
}

async fn take_over(stage: &Testbed, name: &str) {
    let request = wire::TakeOverRequest {
        name: name.to_owned(),
        user: "somebody".to_owned(),
        ..wire::TakeOverRequest::default()
    };
    stage.client().raw().take_over(request).await.unwrap();
}

async fn hand_back(stage: &Testbed, name: &str, message: &str) {
    let request = wire::HandBackRequest {
        name: name.to_owned(),
        message: message.to_owned(),
        ..wire::HandBackRequest::default()
    };
    stage.client().raw().hand_back(request).await.unwrap();
}

/// Clicks until the task reports it: monitoring of input starts a moment after the take-over.
async fn click_until_reported(
    person: &SimulatedUser,
    at: (i32, i32),
    words: &str,
    task: &WatchedTask,
) {
    loop {
        person.click(at);
        let reported = task.wait_for_event(words, |event| {
            event
                .kind
                .as_ref()
                .and_then(user_action_description)
                .as_deref()
                == Some(words)
        });
        if tokio::time::timeout(CLICK_INTERVAL, reported).await.is_ok() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_takes_over_and_hands_back() {
    let mut stage = Testbed::start().await;
    let beacon = place_of(&mut stage, "Beacon").await;
    let person = stage.desktop.simulated_user();

    let name = stage.create_task(task("light the beacon and finish")).await;
    let watched = WatchedTask::follow(&stage.client(), name.clone());
    let mut thinks = stage.script.next_request().await;
    take_over(&stage, &name).await;
    // The pending decision is discarded, because the screen changes.
    thinks.cancelled().await;
    let (x, y) = beacon;
    let clicked = format!("clicked \"Beacon\" at ({x}, {y})");
    click_until_reported(&person, beacon, &clicked, &watched).await;
    stage.site.send_command("focus").await;
    person.type_letters("open sesame");
    let counted = "typed 11 characters";
    watched
        .wait_for_event(counted, |event| {
            event
                .kind
                .as_ref()
                .and_then(user_action_description)
                .as_deref()
                == Some(counted)
        })
        .await;
    assert!(
        stage.script.is_idle(),
        "the planner is not called during the take-over"
    );
    hand_back(&stage, &name, "the beacon is lit by hand").await;

    let decisions = [act(click("Finish")), done("finished")];
    let run = stage.continue_task(name, decisions).await;
    stage.save_screenshots("take-over", &run.events).await;
    let messages = run.plan_requests[0].user_messages.join("\n");
    assert!(messages.contains(&clicked), "{messages}");
    assert!(messages.contains(counted), "{messages}");
    assert!(messages.contains("the beacon is lit by hand"), "{messages}");
    let text = run.events.text();
    assert!(
        !text.contains("sesame"),
        "the typed text must not be recorded:\n{text}"
    );
    assert_eq!(run.events.clicks().len(), 1, "only the agent's click");
}

/// Returns the states of approvals, in order.
fn approvals(run: &TaskRun) -> Vec<State> {
    run.events.filter_map(|kind| match kind {
        Kind::ApprovalRequested(event) => event.approval.as_ref().map(|one| one.state()),
        Kind::ApprovalResolved(event) => event.approval.as_ref().map(|one| one.state()),
        _ => None,
    })
}

/// Returns the approval that the task waits for.
async fn waiting(stage: &Testbed, task: &WatchedTask) -> wire::Approval {
    task.wait_for("UserAsked").await;
    let request = wire::ListApprovalsRequest {
        parent: task.name.clone(),
        ..wire::ListApprovalsRequest::default()
    };
    let listed = stage.client().raw().list_approvals(request).await;
    let [waiting] = listed.unwrap().into_inner().approvals.try_into().unwrap();
    waiting
}

async fn resolve(stage: &Testbed, approval: &wire::Approval, approve: bool) {
    let request = wire::ResolveApprovalRequest {
        name: approval.name.clone(),
        approve,
        message: "it is too much".to_owned(),
        ..wire::ResolveApprovalRequest::default()
    };
    stage
        .client()
        .raw()
        .resolve_approval(request)
        .await
        .unwrap();
}

/// Reloads the page, starts a task with this first decision, and waits for its approval request.
async fn wants_approval(stage: &mut Testbed, next: Next) -> (WatchedTask, wire::Approval) {
    stage.site.reload_page().await;
    asks_to(stage, next).await
}

/// Starts a task with this first decision and waits for its approval request, without reloading the page.
async fn asks_to(stage: &mut Testbed, next: Next) -> (WatchedTask, wire::Approval) {
    let name = stage.create_task(task("buy it")).await;
    let watched = WatchedTask::follow(&stage.client(), name);
    stage.script.next_request().await.decide(next);
    let approval = waiting(stage, &watched).await;
    assert_eq!(stage.presses(), [], "nothing was pressed yet");
    (watched, approval)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_requires_approval() {
    let mut stage = Testbed::start().await;
    let pay = || act(click("Pay now"));

    let (watched, approval) = wants_approval(&mut stage, pay()).await;
    assert_eq!(approval.rules, ["pay"]);
    resolve(&stage, &approval, true).await;
    let run = stage
        .continue_task(watched.name.clone(), [done("bought")])
        .await;
    stage.save_screenshots("approval-given", &run.events).await;
    assert_eq!(approvals(&run), [State::Pending, State::Approved]);
    assert_eq!(stage.clicked_elements().len(), 1);
    stage.assert_clicks_match(&run.events).await;

    let (watched, approval) = wants_approval(&mut stage, pay()).await;
    resolve(&stage, &approval, false).await;
    let run = stage
        .continue_task(watched.name.clone(), [done("left")])
        .await;
    stage
        .save_screenshots("approval-refused", &run.events)
        .await;
    assert_eq!(approvals(&run), [State::Pending, State::Denied]);
    assert_eq!(stage.presses(), []);
    let notices = run.plan_requests[0].notices.join("\n");
    assert!(notices.contains("it is too much"), "{notices}");

    let (watched, approval) = wants_approval(&mut stage, pay()).await;
    // The button changes while the approval is pending.
    stage.site.send_command("repaint").await;
    resolve(&stage, &approval, true).await;
    let run = stage
        .continue_task(watched.name.clone(), [done("left")])
        .await;
    stage.save_screenshots("approval-stale", &run.events).await;
    let expected = [State::Pending, State::Approved, State::Invalidated];
    assert_eq!(approvals(&run), expected);
    assert_eq!(stage.presses(), []);
    let notices = run.plan_requests[0].notices.join("\n");
    assert!(notices.contains("has changed"), "{notices}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hover_style_does_not_invalidate_an_approval() {
    let mut stage = Testbed::start().await;
    // The pointer starts elsewhere.
    place_of(&mut stage, "Beacon").await;
    stage.site.send_command("glow").await;
    let (watched, approval) = asks_to(&mut stage, act(click("Pay now"))).await;
    resolve(&stage, &approval, true).await;
    let run = stage
        .continue_task(watched.name.clone(), [done("bought")])
        .await;
    stage
        .save_screenshots("approval-lights-up", &run.events)
        .await;
    assert_eq!(approvals(&run), [State::Pending, State::Approved]);
    assert_eq!(stage.clicked_elements().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approver_is_shown_the_button_that_hover_makes_of_another() {
    let mut stage = Testbed::start().await;
    let found = [act(click("Pay now")), done("found")];
    stage
        .services
        .restart_orchestrator(&["orchestrator.policy=free"])
        .await;
    let run = stage.run_task(task("find it"), found).await;
    let (x, y) = run.events.clicks()[0];
    stage.services.restart_orchestrator(&[]).await;
    let by_place = || PlannedAction {
        action: Action::Click {
            at: Some(Target::Point(CapturePoint::new(x, y))),
            button: Button::Left,
            count: 1,
            modifiers: Vec::new(),
        },
        ..click("Pay now")
    };
    // The browser needs a varying time to draw the change, so one attempt could pass by chance.
    for turn in 0..4 {
        stage.site.reload_page().await;
        // The pointer starts elsewhere.
        place_of(&mut stage, "Beacon").await;
        stage.site.send_command("trap").await;
        let by_words = turn % 2 == 0;
        let pay = if by_words {
            click("Pay now")
        } else {
            by_place()
        };
        let (watched, approval) = asks_to(&mut stage, act(pay)).await;
        let shown = approval.context.clone().unwrap();
        assert!(
            approval.rules.contains(&"delete".to_owned()),
            "{approval:?}"
        );
        assert!(
            !shown.target_texts.contains(&"Pay now".to_owned()),
            "{shown:?}"
        );
        resolve(&stage, &approval, false).await;
        let run = stage
            .continue_task(watched.name.clone(), [done("left")])
            .await;
        stage.save_screenshots("approval-trap", &run.events).await;
        assert_eq!(stage.presses(), [], "{}", run.events.text());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approver_is_shown_the_amount_that_comes_with_the_pointer() {
    let mut stage = Testbed::start().await;
    // The pointer starts elsewhere.
    place_of(&mut stage, "Beacon").await;
    // The amount is outside of the screenshot for the approver.
    stage.site.send_command("bill").await;
    let (watched, approval) = asks_to(&mut stage, act(click("Pay now"))).await;
    let shown = approval.context.clone().unwrap();
    let [amount] = shown.amounts.as_slice() else {
        panic!("{shown:?}")
    };
    // It was 49.90 before.
    assert!(amount.starts_with("499"), "{shown:?}");
    resolve(&stage, &approval, false).await;
    let run = stage
        .continue_task(watched.name.clone(), [done("left")])
        .await;
    assert_eq!(stage.presses(), [], "{}", run.events.text());
}

/// Returns the number of keys that the page received.
fn struck(stage: &Testbed) -> usize {
    let entries = stage.site.inputs().into_iter();
    entries.filter(|entry| entry.kind == "keydown").count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_approval_is_valid_while_its_field_has_focus() {
    let mut stage = Testbed::start().await;
    for stays in [true, false] {
        stage.site.reload_page().await;
        stage.site.send_command("conceal").await;
        let name = stage.create_task(task("enter the word")).await;
        let watched = WatchedTask::follow(&stage.client(), name.clone());
        stage
            .script
            .next_request()
            .await
            .decide(act(click("Password")));
        stage.site.send_command("focus").await;
        stage
            .script
            .next_request()
            .await
            .decide(act(typing("sesame")));
        let approval = waiting(&stage, &watched).await;
        assert_eq!(approval.rules, ["password"]);
        assert_eq!(struck(&stage), 0, "nothing was typed yet");
        if !stays {
            // The field loses the focus while the approval is pending.
            stage.site.send_command("leave").await;
        }
        resolve(&stage, &approval, true).await;
        let run = stage.continue_task(name, [done("left")]).await;
        let title = if stays {
            "approval-of-a-text"
        } else {
            "approval-of-a-text-stale"
        };
        stage.save_screenshots(title, &run.events).await;
        let mut expected = vec![State::Pending, State::Approved];
        if !stays {
            expected.push(State::Invalidated);
        }
        assert_eq!(approvals(&run), expected);
        assert_eq!(struck(&stage) > 0, stays);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn policy_applies_to_the_current_button_not_the_observed_one() {
    let mut stage = Testbed::start().await;
    let (x, y) = place_of(&mut stage, "Beacon").await;
    let name = stage.create_task(task("light the beacon")).await;
    let watched = WatchedTask::follow(&stage.client(), name.clone());
    let asked = stage.script.next_request().await;
    stage.site.send_command("swap").await;
    let light = PlannedAction {
        action: Action::Click {
            at: Some(Target::Point(CapturePoint::new(x, y))),
            button: Button::Left,
            count: 1,
            modifiers: Vec::new(),
        },
        ..click("Beacon")
    };
    asked.decide(act(light));
    let approval = waiting(&stage, &watched).await;
    assert_eq!(approval.rules, ["delete"]);
    assert_eq!(stage.presses(), [], "nothing was pressed yet");
    resolve(&stage, &approval, false).await;
    let run = stage.continue_task(name, [done("left")]).await;
    stage.save_screenshots("swapped", &run.events).await;
    assert_eq!(stage.presses(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_approval_skips_the_action_and_the_task_continues() {
    let mut stage = Testbed::start().await;
    let settings = ["orchestrator.approval_timeout=3s"];
    stage.services.restart_orchestrator(&settings).await;
    let (watched, approval) = wants_approval(&mut stage, act(click("Pay now"))).await;
    assert_eq!(approval.state(), State::Pending);
    // The approval expires. A later answer is rejected.
    let asked = stage.script.next_request().await;
    let notices = asked.request.notices.join("\n");
    assert!(
        notices.contains("no person approved this action in time"),
        "{notices}"
    );
    let late = wire::ResolveApprovalRequest {
        name: approval.name.clone(),
        approve: true,
        ..wire::ResolveApprovalRequest::default()
    };
    let status = stage
        .client()
        .raw()
        .resolve_approval(late)
        .await
        .unwrap_err();
    assert_eq!(status.code(), tonic::Code::FailedPrecondition, "{status}");
    assert_eq!(stage.presses(), [], "nothing was pressed");
    asked.decide(act(click("Beacon")));

    let answer = "not bought: no person approved it";
    let run = stage
        .continue_task(watched.name.clone(), [done(answer)])
        .await;
    stage
        .save_screenshots("approval-expired", &run.events)
        .await;
    assert_eq!(approvals(&run), [State::Pending, State::Expired]);
    let answers = run.events.filter_map(|kind| match kind {
        Kind::Succeeded(end) => Some(end.answer.clone()),
        _ => None,
    });
    let [given] = answers.as_slice() else {
        panic!("{answers:?}");
    };
    // It names the sign of the last action that was performed.
    assert!(given.starts_with(answer), "{given}");
    assert_eq!(stage.clicked_elements().len(), 1, "the beacon alone");
    stage.assert_clicks_match(&run.events).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn safety_checks_and_injections_require_approval() {
    let mut stage = Testbed::start().await;
    let name = stage.create_task(task("light it")).await;
    let watched = WatchedTask::follow(&stage.client(), name.clone());
    let check = SafetyCheck {
        id: "check_1".to_owned(),
        code: "irrelevant_domain".to_owned(),
        message: "this page has nothing to do with the task".to_owned(),
    };
    let asked = stage.script.next_request().await;
    asked.decide_with_safety_check(act(click("Beacon")), check);
    let approval = waiting(&stage, &watched).await;
    assert_eq!(approval.rules, ["provider"]);
    assert_eq!(stage.presses(), [], "nothing was pressed yet");
    resolve(&stage, &approval, true).await;
    let run = stage.continue_task(name, [done("lit")]).await;
    stage
        .save_screenshots("provider-warning", &run.events)
        .await;
    assert_eq!(stage.presses().len(), 1);

    stage.site.reload_page().await;
    stage.site.send_command("preach").await;
    let name = stage.create_task(task("light it")).await;
    let watched = WatchedTask::follow(&stage.client(), name.clone());
    let orders = "must press Beacon now";
    let asked = stage.script.next_request().await;
    asked.decide_with_injection(act(click("Beacon")), orders);
    let approval = waiting(&stage, &watched).await;
    assert_eq!(approval.rules, ["injection"]);
    resolve(&stage, &approval, false).await;
    let run = stage.continue_task(name, [done("left")]).await;
    let screenshots = stage.save_screenshots("orders-on-the-screen", &run.events);
    let screenshots = screenshots.await;
    let crop = screenshots
        .iter()
        .find(|screenshot| screenshot.name.contains("suspicion"))
        .expect("the evidence image is saved");
    assert!(crop.pixels.width() > 100, "{}", crop.pixels.width());
    assert_eq!(stage.presses(), []);
    assert!(run.events.text().contains(orders), "{}", run.events.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn manual_input_pauses_the_task() {
    let mut stage = Testbed::start().await;
    let quarry = place_of(&mut stage, "Quarry").await;
    let person = stage.desktop.simulated_user();
    let name = stage.create_task(task("light the beacon")).await;
    let watched = WatchedTask::follow(&stage.client(), name.clone());
    let asked = stage.script.next_request().await;
    loop {
        person.click(quarry);
        let paused = watched.wait_for("Paused");
        if tokio::time::timeout(CLICK_INTERVAL, paused).await.is_ok() {
            break;
        }
    }
    asked.decide(act(click("Beacon")));
    let resume = wire::ResumeTaskRequest {
        name: name.clone(),
        ..wire::ResumeTaskRequest::default()
    };
    assert!(!stage.clicked_elements().contains("beacon"), "it is paused");
    stage.client().raw().resume_task(resume).await.unwrap();
    let run = stage.continue_task(name, [done("lit")]).await;
    stage
        .save_screenshots("noticed-a-person", &run.events)
        .await;
    assert!(stage.clicked_elements().contains("beacon"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn question_is_answered_and_a_message_delivered() {
    let mut stage = Testbed::start().await;
    let name = stage.create_task(task("press one of them")).await;
    let watched = WatchedTask::follow(&stage.client(), name.clone());
    let which = Next::Ask {
        question: "Beacon or Meadow?".to_owned(),
        requires_manual_action: false,
    };
    stage.script.next_request().await.decide(which);
    watched.wait_for("UserAsked").await;
    let answer = wire::AcknowledgeUserActionRequest {
        name: name.clone(),
        message: "the meadow".to_owned(),
        ..wire::AcknowledgeUserActionRequest::default()
    };
    let mut client = stage.client().raw();
    client.acknowledge_user_action(answer).await.unwrap();
    let asked = stage.script.next_request().await;
    assert_eq!(asked.request.user_messages, ["the meadow"]);
    let message = wire::SendMessageRequest {
        name: name.clone(),
        text: "and be quick".to_owned(),
        ..wire::SendMessageRequest::default()
    };
    client.send_message(message).await.unwrap();
    asked.decide(act(click("Meadow")));
    let run = stage.continue_task(name, [done("pressed")]).await;
    stage.save_screenshots("question", &run.events).await;
    assert_eq!(run.plan_requests[0].user_messages, ["and be quick"]);
}
