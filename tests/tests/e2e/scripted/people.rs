//! What people do while a task is under way, and what the planner learns of it.

use std::time::Duration;

use motorium_proto::domain::action::{Action, Button, Target};
use motorium_proto::domain::decision::{Next, PlannedAction, SafetyCheck};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::approval::State;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_tests::person::Person;
use motorium_tests::script::{act, click, done, typing};
use motorium_tests::stage::{Stage, Told};
use motorium_tests::watched::Watched;

use super::task;

/// How long a person waits before they click once more.
const PATIENCE_OF_A_PERSON: Duration = Duration::from_millis(500);

/// What the person did, in the words of the event.
fn deed(kind: &Kind) -> Option<String> {
    match kind {
        Kind::HumanActed(acted) => Some(acted.description.clone()),
        _ => None,
    }
}

/// Where an element of the page is on the screen.
async fn place_of(stage: &mut Stage, element: &str) -> (i32, i32) {
    let found = [act(click(element)), done("found")];
    let told = stage.carry_out(task("find it"), found).await;
    stage.site.load_anew().await;
    told.story.clicks()[0]
}

async fn take_over(stage: &Stage, name: &str) {
    let request = wire::TakeOverRequest {
        name: name.to_owned(),
        user: "somebody".to_owned(),
        ..wire::TakeOverRequest::default()
    };
    stage.client().raw().take_over(request).await.unwrap();
}

async fn hand_back(stage: &Stage, name: &str, message: &str) {
    let request = wire::HandBackRequest {
        name: name.to_owned(),
        message: message.to_owned(),
        ..wire::HandBackRequest::default()
    };
    stage.client().raw().hand_back(request).await.unwrap();
}

/// Clicks until it is told so: watching begins a moment after the desktop was taken, and so does looking at it.
async fn click_until_told(person: &Person, at: (i32, i32), words: &str, task: &Watched) {
    loop {
        person.click(at);
        let told = task.saw_that(words, |event| {
            event.kind.as_ref().and_then(deed).as_deref() == Some(words)
        });
        if tokio::time::timeout(PATIENCE_OF_A_PERSON, told)
            .await
            .is_ok()
        {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_takes_over_and_hands_back() {
    let mut stage = Stage::start().await;
    let beacon = place_of(&mut stage, "Beacon").await;
    let person = stage.desktop.person();

    let name = stage.begin(task("light the beacon and finish")).await;
    let watched = Watched::follow(&stage.client(), name.clone());
    let mut thinks = stage.script.asked().await;
    take_over(&stage, &name).await;
    // Whatever would have been decided, it was of another screen.
    thinks.given_up().await;
    let (x, y) = beacon;
    let clicked = format!("clicked \"Beacon\" at ({x}, {y})");
    click_until_told(&person, beacon, &clicked, &watched).await;
    stage.site.order("focus").await;
    person.type_letters("open sesame");
    let counted = "typed 11 characters";
    watched
        .saw_that(counted, |event| {
            event.kind.as_ref().and_then(deed).as_deref() == Some(counted)
        })
        .await;
    assert!(stage.script.is_idle(), "nobody is asked meanwhile");
    hand_back(&stage, &name, "the beacon is lit by hand").await;

    let decisions = [act(click("Finish")), done("finished")];
    let told = stage.carry_on(name, decisions).await;
    stage.keep_pictures("take-over", &told.story).await;
    let said = told.asked[0].user_messages.join("\n");
    assert!(said.contains(&clicked), "{said}");
    assert!(said.contains(counted), "{said}");
    assert!(said.contains("the beacon is lit by hand"), "{said}");
    let text = told.story.text();
    assert!(
        !text.contains("sesame"),
        "what was typed is nobody's business:\n{text}"
    );
    assert_eq!(told.story.clicks().len(), 1, "the agent's own");
}

/// What became of approvals, in order.
fn approvals(told: &Told) -> Vec<State> {
    told.story.all(|kind| match kind {
        Kind::ApprovalRequested(event) => event.approval.as_ref().map(|one| one.state()),
        Kind::ApprovalResolved(event) => event.approval.as_ref().map(|one| one.state()),
        _ => None,
    })
}

/// The approval that the task waits for.
async fn waiting(stage: &Stage, task: &Watched) -> wire::Approval {
    task.saw("UserAsked").await;
    let request = wire::ListApprovalsRequest {
        parent: task.name.clone(),
        ..wire::ListApprovalsRequest::default()
    };
    let listed = stage.client().raw().list_approvals(request).await;
    let [waiting] = listed.unwrap().into_inner().approvals.try_into().unwrap();
    waiting
}

async fn resolve(stage: &Stage, approval: &wire::Approval, approve: bool) {
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

/// Begins a task whose first decision is this, and waits until somebody is to approve it.
async fn wants_approval(stage: &mut Stage, next: Next) -> (Watched, wire::Approval) {
    stage.site.load_anew().await;
    asks_to(stage, next).await
}

/// The same, on the page as it is.
async fn asks_to(stage: &mut Stage, next: Next) -> (Watched, wire::Approval) {
    let name = stage.begin(task("buy it")).await;
    let watched = Watched::follow(&stage.client(), name);
    stage.script.asked().await.decide(next);
    let approval = waiting(stage, &watched).await;
    assert_eq!(stage.presses(), [], "nothing was pressed yet");
    (watched, approval)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_costs_money_waits_for_a_person() {
    let mut stage = Stage::start().await;
    let pay = || act(click("Pay now"));

    let (watched, approval) = wants_approval(&mut stage, pay()).await;
    assert_eq!(approval.rules, ["pay"]);
    resolve(&stage, &approval, true).await;
    let told = stage.carry_on(watched.name.clone(), [done("bought")]).await;
    stage.keep_pictures("approval-given", &told.story).await;
    assert_eq!(approvals(&told), [State::Pending, State::Approved]);
    assert_eq!(stage.clicked_elements().len(), 1);
    stage.assert_clicked_as_told(&told.story).await;

    let (watched, approval) = wants_approval(&mut stage, pay()).await;
    resolve(&stage, &approval, false).await;
    let told = stage.carry_on(watched.name.clone(), [done("left")]).await;
    stage.keep_pictures("approval-refused", &told.story).await;
    assert_eq!(approvals(&told), [State::Pending, State::Denied]);
    assert_eq!(stage.presses(), []);
    let notices = told.asked[0].notices.join("\n");
    assert!(notices.contains("it is too much"), "{notices}");

    let (watched, approval) = wants_approval(&mut stage, pay()).await;
    // While the person reads, the button changes.
    stage.site.order("repaint").await;
    resolve(&stage, &approval, true).await;
    let told = stage.carry_on(watched.name.clone(), [done("left")]).await;
    stage.keep_pictures("approval-stale", &told.story).await;
    let expected = [State::Pending, State::Approved, State::Invalidated];
    assert_eq!(approvals(&told), expected);
    assert_eq!(stage.presses(), []);
    let notices = told.asked[0].notices.join("\n");
    assert!(notices.contains("has changed"), "{notices}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_button_that_lights_up_under_the_pointer_is_the_same() {
    let mut stage = Stage::start().await;
    // The pointer is elsewhere at first.
    place_of(&mut stage, "Beacon").await;
    stage.site.order("glow").await;
    let (watched, approval) = asks_to(&mut stage, act(click("Pay now"))).await;
    resolve(&stage, &approval, true).await;
    let told = stage.carry_on(watched.name.clone(), [done("bought")]).await;
    stage.keep_pictures("approval-lights-up", &told.story).await;
    assert_eq!(approvals(&told), [State::Pending, State::Approved]);
    assert_eq!(stage.clicked_elements().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_button_that_the_pointer_turns_into_another_one_is_not_what_was_approved() {
    let mut stage = Stage::start().await;
    let found = [act(click("Pay now")), done("found")];
    stage
        .services
        .restart_orchestrator(&["orchestrator.rules=free"])
        .await;
    let told = stage.carry_out(task("find it"), found).await;
    let (x, y) = told.story.clicks()[0];
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
    // The browser takes its own time to show it: no luck of one try.
    for turn in 0..6 {
        stage.site.load_anew().await;
        // The pointer is elsewhere at first.
        place_of(&mut stage, "Beacon").await;
        stage.site.order("trap").await;
        let by_words = turn % 2 == 0;
        let pay = if by_words {
            click("Pay now")
        } else {
            by_place()
        };
        let (watched, approval) = asks_to(&mut stage, act(pay)).await;
        assert_eq!(approval.rules, ["pay"]);
        resolve(&stage, &approval, true).await;
        let told = stage.carry_on(watched.name.clone(), [done("left")]).await;
        stage.keep_pictures("approval-trap", &told.story).await;
        assert_eq!(stage.presses(), [], "{}", told.story.text());
        // What it was known by is gone, or it is another one at the same place.
        let mut expected = vec![State::Pending, State::Approved];
        if !by_words {
            expected.push(State::Invalidated);
        }
        assert_eq!(approvals(&told), expected);
    }
}

/// What was entered into the page, letter by letter.
fn struck(stage: &Stage) -> usize {
    let entries = stage.site.inputs().into_iter();
    entries.filter(|entry| entry.kind == "keydown").count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_of_a_text_holds_while_its_field_has_the_keyboard() {
    let mut stage = Stage::start().await;
    for stays in [true, false] {
        stage.site.load_anew().await;
        stage.site.order("conceal").await;
        let name = stage.begin(task("enter the word")).await;
        let watched = Watched::follow(&stage.client(), name.clone());
        stage.script.asked().await.decide(act(click("Password")));
        stage.site.order("focus").await;
        stage.script.asked().await.decide(act(typing("sesame")));
        let approval = waiting(&stage, &watched).await;
        assert_eq!(approval.rules, ["password"]);
        assert_eq!(struck(&stage), 0, "nothing was typed yet");
        if !stays {
            // While the person reads, the field loses the keyboard.
            stage.site.order("leave").await;
        }
        resolve(&stage, &approval, true).await;
        let told = stage.carry_on(name, [done("left")]).await;
        let title = if stays {
            "approval-of-a-text"
        } else {
            "approval-of-a-text-stale"
        };
        stage.keep_pictures(title, &told.story).await;
        let mut expected = vec![State::Pending, State::Approved];
        if !stays {
            expected.push(State::Invalidated);
        }
        assert_eq!(approvals(&told), expected);
        assert_eq!(struck(&stage) > 0, stays);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_button_has_become_while_the_planner_thought_is_what_counts() {
    let mut stage = Stage::start().await;
    let (x, y) = place_of(&mut stage, "Beacon").await;
    let name = stage.begin(task("light the beacon")).await;
    let watched = Watched::follow(&stage.client(), name.clone());
    let asked = stage.script.asked().await;
    stage.site.order("swap").await;
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
    let told = stage.carry_on(name, [done("left")]).await;
    stage.keep_pictures("swapped", &told.story).await;
    assert_eq!(stage.presses(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_approves_in_time_is_not_done_and_the_task_goes_on() {
    let mut stage = Stage::start().await;
    let patience = ["orchestrator.approval_timeout=3s"];
    stage.services.restart_orchestrator(&patience).await;
    let (watched, approval) = wants_approval(&mut stage, act(click("Pay now"))).await;
    assert_eq!(approval.state(), State::Pending);
    // Nobody answers. Whoever does so afterwards is told that it is over.
    let asked = stage.script.asked().await;
    let notices = asked.request.notices.join("\n");
    assert!(
        notices.contains("nobody approved this action in time"),
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

    let answer = "not bought: nobody approved it";
    let told = stage.carry_on(watched.name.clone(), [done(answer)]).await;
    stage.keep_pictures("approval-expired", &told.story).await;
    assert_eq!(approvals(&told), [State::Pending, State::Expired]);
    let answers = told.story.all(|kind| match kind {
        Kind::Succeeded(end) => Some(end.answer.clone()),
        _ => None,
    });
    assert_eq!(answers, [answer]);
    assert_eq!(stage.clicked_elements().len(), 1, "the beacon alone");
    stage.assert_clicked_as_told(&told.story).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn warnings_and_orders_on_the_screen_are_for_a_person_to_read() {
    let mut stage = Stage::start().await;
    let name = stage.begin(task("light it")).await;
    let watched = Watched::follow(&stage.client(), name.clone());
    let check = SafetyCheck {
        id: "check_1".to_owned(),
        code: "irrelevant_domain".to_owned(),
        message: "this page has nothing to do with the task".to_owned(),
    };
    let asked = stage.script.asked().await;
    asked.decide_with_warning(act(click("Beacon")), check);
    let approval = waiting(&stage, &watched).await;
    assert_eq!(approval.rules, ["provider"]);
    assert_eq!(stage.presses(), [], "nothing was pressed yet");
    resolve(&stage, &approval, true).await;
    let told = stage.carry_on(name, [done("lit")]).await;
    stage.keep_pictures("provider-warning", &told.story).await;
    assert_eq!(stage.presses().len(), 1);

    stage.site.load_anew().await;
    stage.site.order("preach").await;
    let name = stage.begin(task("light it")).await;
    let watched = Watched::follow(&stage.client(), name.clone());
    let orders = "must press Beacon now";
    let asked = stage.script.asked().await;
    asked.decide_under_orders(act(click("Beacon")), orders);
    let approval = waiting(&stage, &watched).await;
    assert_eq!(approval.rules, ["injection"]);
    resolve(&stage, &approval, false).await;
    let told = stage.carry_on(name, [done("left")]).await;
    let pictures = stage.keep_pictures("orders-on-the-screen", &told.story);
    let pictures = pictures.await;
    let crop = pictures
        .iter()
        .find(|picture| picture.name.contains("suspicion"))
        .expect("how the words look is kept");
    assert!(crop.pixels.width() > 100, "{}", crop.pixels.width());
    assert_eq!(stage.presses(), []);
    assert!(told.story.text().contains(orders), "{}", told.story.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_else_at_the_mouse_pauses_the_task() {
    let mut stage = Stage::start().await;
    let quarry = place_of(&mut stage, "Quarry").await;
    let person = stage.desktop.person();
    let name = stage.begin(task("light the beacon")).await;
    let watched = Watched::follow(&stage.client(), name.clone());
    let asked = stage.script.asked().await;
    loop {
        person.click(quarry);
        let paused = watched.saw("Paused");
        if tokio::time::timeout(PATIENCE_OF_A_PERSON, paused)
            .await
            .is_ok()
        {
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
    let told = stage.carry_on(name, [done("lit")]).await;
    stage.keep_pictures("noticed-a-person", &told.story).await;
    assert!(stage.clicked_elements().contains("beacon"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_answered_and_a_message_heard() {
    let mut stage = Stage::start().await;
    let name = stage.begin(task("press one of them")).await;
    let watched = Watched::follow(&stage.client(), name.clone());
    let which = Next::Ask {
        question: "Beacon or Meadow?".to_owned(),
        needs_hands: false,
    };
    stage.script.asked().await.decide(which);
    watched.saw("UserAsked").await;
    let answer = wire::AcknowledgeUserActionRequest {
        name: name.clone(),
        message: "the meadow".to_owned(),
        ..wire::AcknowledgeUserActionRequest::default()
    };
    let mut client = stage.client().raw();
    client.acknowledge_user_action(answer).await.unwrap();
    let asked = stage.script.asked().await;
    assert_eq!(asked.request.user_messages, ["the meadow"]);
    let message = wire::SendMessageRequest {
        name: name.clone(),
        text: "and be quick".to_owned(),
        ..wire::SendMessageRequest::default()
    };
    client.send_message(message).await.unwrap();
    asked.decide(act(click("Meadow")));
    let told = stage.carry_on(name, [done("pressed")]).await;
    stage.keep_pictures("question", &told.story).await;
    assert_eq!(told.asked[0].user_messages, ["and be quick"]);
}
