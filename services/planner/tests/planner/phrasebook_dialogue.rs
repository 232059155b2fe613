//! Decisions of the phrasebook, step by step, on changing screens.

use crate::request::request;
use motorium_phrasebook::screens::{Seen, screen};
use motorium_planner::backends::phrasebook::Phrasebook;
use motorium_planner::backends::{Backend, BackendError, UsageMeter};
use motorium_proto::domain::action::{Action, ScrollAmount, Target, Text, WindowSelector};
use motorium_proto::domain::decision::{Decision, Next, PastAction, PastStep};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, ChangeMap, Effect, Verdict};
use motorium_proto::domain::key::Key;
use motorium_proto::service::PlanRequest;

/// A task as the orchestrator runs it: every decision is performed, and the next call sees its effect.
struct Task {
    request: PlanRequest,
}

impl Task {
    fn new(goal: &str) -> Self {
        Self {
            request: request(goal, ""),
        }
    }

    /// Decides on a screen.
    fn decide(&mut self, seen: &str) -> Result<Decision, BackendError> {
        let Seen { frame, scene } = screen(seen);
        (self.request.frame, self.request.scene) = (frame, scene);
        let decision =
            futures::executor::block_on(Phrasebook.plan(&self.request, &UsageMeter::default()))?;
        self.request.conversation = decision.conversation.clone();
        self.request
            .conversation_backend
            .clone_from(&decision.backend);
        self.request.user_messages.clear();
        Ok(decision)
    }

    /// Decides on a screen, and performs the decision with this verdict for every action.
    fn step_with(&mut self, seen: &str, verdict: Verdict) -> String {
        let decision = self.decide(seen).unwrap();
        self.perform(&decision, ActionResult::Performed, verdict);
        shown(&decision.next)
    }

    fn step(&mut self, seen: &str) -> String {
        self.step_with(seen, Verdict::Confirmed)
    }

    fn perform(&mut self, decision: &Decision, result: ActionResult, verdict: Verdict) {
        let Next::Act(actions) = &decision.next else {
            return;
        };
        let performed = |planned: &motorium_proto::domain::decision::PlannedAction| PastAction {
            planned: planned.clone(),
            outcome: ActionOutcome::new(result, "a rule of the test"),
            effect: (result == ActionResult::Performed).then(|| effect(verdict)),
            retries: 0,
        };
        let step = PastStep {
            actions: actions.iter().map(performed).collect(),
            ..PastStep::default()
        };
        self.request.history.push(step);
    }

    fn says(&mut self, message: &str) {
        self.request.user_messages.push(message.to_owned());
    }
}

fn effect(verdict: Verdict) -> Effect {
    Effect {
        verdict,
        change: ChangeMap::default(),
        share_near_target: 0.0,
        window_changed: false,
        explanation: String::new(),
        settled: true,
        settle_time: Default::default(),
    }
}

fn shown(next: &Next) -> String {
    match next {
        Next::Act(actions) => actions
            .iter()
            .map(|planned| action(&planned.action))
            .collect::<Vec<_>>()
            .join("; "),
        Next::Done { answer, evidence } => format!("done: {answer} {evidence:?}"),
        Next::Fail { reason } => format!("fail: {reason}"),
        Next::Ask { question, .. } => format!("ask: {question}"),
        other => format!("{other:?}"),
    }
}

fn target(target: &Target) -> String {
    match target {
        Target::Element(id) => format!("#{id}"),
        Target::Point(point) => format!("({}, {})", point.x, point.y),
        Target::Text(anchor) => format!("{anchor:?}"),
    }
}

fn text(text: &Text) -> String {
    match text {
        Text::Literal(text) => format!("{text:?}"),
        Text::Secret(name) => format!("secret:{name}"),
    }
}

fn chord(keys: &[Key]) -> String {
    keys.iter()
        .map(Key::to_string)
        .collect::<Vec<_>>()
        .join("+")
}

fn action(action: &Action<Target>) -> String {
    match action {
        Action::Move { to } => format!("move {}", target(to)),
        Action::Click {
            at,
            button,
            count,
            modifiers,
        } => {
            let at = at.as_ref().map_or("here".to_owned(), target);
            let how = if *count == 1 {
                String::new()
            } else {
                format!(" x{count}")
            };
            let held = if modifiers.is_empty() {
                String::new()
            } else {
                format!(" with {}", chord(modifiers))
            };
            format!("{button:?} click {at}{how}{held}").replace("Left click", "click")
        }
        Action::Drag { path, .. } => format!(
            "drag {}",
            path.iter().map(target).collect::<Vec<_>>().join(" to ")
        ),
        Action::Scroll { at, amount, .. } => {
            let at = at.as_ref().map_or("here".to_owned(), target);
            let ScrollAmount::Notches { x, y } = amount else {
                return format!("scroll {amount:?} {at}");
            };
            format!("scroll {x},{y} {at}")
        }
        Action::TypeText { text: typed, .. } => format!("type {}", text(typed)),
        Action::KeyChord { keys, repeat: 1 } => format!("press {}", chord(keys)),
        Action::KeyChord { keys, repeat } => format!("press {} x{repeat}", chord(keys)),
        Action::HoldKey { keys, duration } => format!("hold {} {duration:?}", chord(keys)),
        Action::Wait { duration } => format!("wait {duration:?}"),
        Action::Paste { text: None } => "paste".to_owned(),
        Action::Paste { text: Some(pasted) } => format!("paste {}", text(pasted)),
        Action::OpenApplication { name } => format!("open application {name}"),
        Action::OpenUrl { url } => format!("open {url}"),
        Action::GoToUrl { url } => format!("go to {url}"),
        Action::FocusWindow {
            window: WindowSelector::Id(id),
        } => format!("focus window {id}"),
        other => other.kind().to_string(),
    }
}

const FORM: &str = r#"
    label 20,20 60x20 "Name:"
    text_field 100,15 200x30
    label 20,60 60x20 "Password"
    text_field 100,55 200x30
    checkbox 20,100 16x16 unchecked
    text 44,98 120x20 "I agree"
    button 20,140 80x30 "Save"
    button 120,140 80x30 "Cancel"
"#;

/// Runs a goal to its end on one screen that confirms every action.
#[track_caller]
fn check(goal: &str, seen: &str, expected: &[&str]) {
    let mut task = Task::new(goal);
    for (number, expected) in expected.iter().enumerate() {
        assert_eq!(&task.step(seen), expected, "{goal}, step {}", number + 1);
    }
}

#[test]
fn clauses_become_actions_one_by_one() {
    check(
        r#"type "Alice" into "Name", then type secret:PW into "Password", check "I agree" and click "Save""#,
        FORM,
        &[
            r##"click #2; type "Alice""##,
            "click #4; type secret:PW",
            "click #5",
            "click #7",
            r#"done: Done: type "Alice" into "Name", then type secret:PW into "Password", check "I agree" and click "Save". ["Save"]"#,
        ],
    );
    check(
        "在“Name”中输入“张三”，然后按回车",
        FORM,
        &[
            r##"click #2; type "张三""##,
            "press enter",
            "done: 已完成：在“Name”中输入“张三”，然后按回车。 []",
        ],
    );
    check(
        r#"fill "Name" with "Bob""#,
        FORM,
        &[r##"click #2; press ctrl+a; type "Bob""##],
    );
    check(
        r#"clear the "Name" field"#,
        FORM,
        &["click #2; press ctrl+a; press delete"],
    );
    check(
        r#"type "x" into both text fields"#,
        FORM,
        &[r##"click #2; type "x"; click #4; type "x""##],
    );
    check(r#"double-click "Save""#, FORM, &["click #7 x2"]);
    check(
        r#"ctrl+click "Save", "Cancel""#,
        FORM,
        &["click #7 with ctrl", "click #8 with ctrl"],
    );
    check(r#"right-click "Save""#, FORM, &["Right click #7"]);
    check(r#"hover over "Save""#, FORM, &["move #7"]);
    check(r#"drag "Save" onto "Cancel""#, FORM, &["drag #7 to #8"]);
    check("press Tab 3 times", FORM, &["press tab x3"]);
    check("hold shift for 2 seconds", FORM, &["hold shift 2s"]);
    check("wait 2 seconds", FORM, &["wait 2s"]);
    check(
        r#"select all the text in "Name", copy, then paste it into "Password""#,
        FORM,
        &["click #2; press ctrl+a", "press ctrl+c", "click #4; paste"],
    );
    check(
        "uncheck \"I agree\"",
        FORM,
        &["done: Done: uncheck \"I agree\". [\"I agree\"]"],
    );
    check(
        "open https://example.com/a then go back",
        FORM,
        &["open https://example.com/a", "go_back"],
    );
    check("click the second text field", FORM, &["click #4"]);
    check(
        r#"paste "long text" into "Name""#,
        FORM,
        &[r##"click #2; paste "long text""##],
    );
}

#[test]
fn a_long_goal_is_not_repeated_in_full() {
    let last_words = |goal: &str| {
        let mut task = Task::new(goal);
        (0..9)
            .map(|_| task.step(FORM))
            .find(|step| step.starts_with("done: "))
            .expect("it comes to an end")
    };
    let steps = "press Tab, press Tab, press Tab, press Tab, press Tab";
    assert_eq!(
        last_words(&format!(
            r#"{steps}, type "a text that goes on for quite a while" into "Name", then click "Save"."#
        )),
        r#"done: Done, all 7 steps; the last one: click "Save". ["Save"]"#
    );
    let text = "长".repeat(90);
    assert_eq!(
        last_words(&format!("在“Name”中输入“{text}”，然后点击“Save”")),
        r#"done: 已完成全部 2 步，最后一步：点击“Save”。 ["Save"]"#
    );
    // Long typed text is truncated in the middle, so that its target stays readable.
    let typed = last_words(&format!(r#"type "{}" into "Name""#, "word ".repeat(60)));
    assert!(
        typed.starts_with(r#"done: Done: type "word word "#)
            && typed.contains(" … ")
            && typed.contains(r#"" into "Name"."#)
            && typed.chars().count() < 130,
        "{typed}"
    );
}

#[test]
fn a_goal_that_is_not_understood_is_declined_before_anything_happens() {
    let declined = |goal: &str| match Task::new(goal).decide(FORM) {
        Err(BackendError::Declined { clause, reason }) => (clause, reason),
        other => panic!("{goal}: {other:?}"),
    };
    let (clause, reason) = declined(r#"click "Save" and then do something nice"#);
    assert_eq!(clause, "do something nice");
    assert!(
        reason.contains("does not start with a known verb") && reason.contains(r#"click "Save""#),
        "{reason}"
    );
    assert!(declined("clik \"Save\"").1.contains("did you mean `click`"));
    assert!(declined("写一首诗").1.contains("开头不是已知的动词"));
    assert!(declined("").1.contains("the goal is empty"));
}

#[test]
fn what_is_not_there_is_waited_for_a_little() {
    let mut task = Task::new(r#"click "Save" then click "Really""#);
    assert_eq!(task.step(FORM), "click #7");
    assert_eq!(task.step(FORM), "wait 600ms");
    let dialog = format!("{FORM}\nbutton 400,300 80x30 \"Really\"");
    assert_eq!(task.step(&dialog), "click #9");

    let mut task = Task::new(r#"click "Save" then click "Cancle it""#);
    assert_eq!(task.step(FORM), "click #7");
    assert_eq!(
        (task.step(FORM), task.step(FORM)),
        ("wait 600ms".to_owned(), "wait 600ms".to_owned())
    );
    let end = task.step(FORM);
    assert!(end.starts_with("fail: `click \"Cancle it\"`: \"Cancle it\" is not on the screen. The closest matches are \"Cancel\""), "{end}");
}

#[test]
fn what_is_never_there_is_declined_while_nothing_was_touched() {
    let mut task = Task::new(r#"click "Submit""#);
    task.step(FORM);
    task.step(FORM);
    assert!(matches!(
        task.decide(FORM),
        Err(BackendError::Declined { .. })
    ));
}

#[test]
fn a_click_in_vain_is_tried_on_the_next_best_thing_once() {
    let seen = r#"
        button 20,20 80x30 "Delete"
        button 20,60 160x30 "Delete all"
    "#;
    let mut task = Task::new(r#"click "Delete""#);
    assert_eq!(task.step_with(seen, Verdict::NoEffect), "click #1");
    assert_eq!(task.step_with(seen, Verdict::NoEffect), "click #2");
    assert_eq!(
        task.step(seen),
        "fail: `click \"Delete\"` was performed, but nothing on the screen changed."
    );

    let mut task = Task::new(r#"type "x" into "Name""#);
    task.step_with(FORM, Verdict::NoEffect);
    assert!(task.step(FORM).starts_with("fail: "));
}

#[test]
fn several_candidates_are_a_question() {
    let seen = r#"
        text 20,20 40x20 "Alice"
        button 800,20 80x30 "Edit"
        text 20,700 40x20 "Bob"
        button 800,700 80x30 "Edit"
    "#;
    let answers = [
        ("2", "click #4"),
        ("the second one", "click #4"),
        ("第一个", "click #2"),
        ("the last", "click #4"),
        ("at the bottom right", "click #4"),
    ];
    for (answer, expected) in answers {
        let mut task = Task::new(r#"click "Edit""#);
        let question = task.step(seen);
        assert_eq!(
            question,
            r#"ask: `click "Edit"`: 2 elements match: (1) button "Edit", top right, (2) button "Edit", bottom right. Which one do you mean?"#
        );
        task.says(answer);
        assert_eq!(task.step(seen), expected, "{answer}");
    }
    check(r#"click "Edit" in the row of "Bob""#, seen, &["click #4"]);
}

#[test]
fn a_list_is_opened_and_an_entry_chosen() {
    let closed = r#"
        label 20,20 60x20 "Country"
        drop_down 100,15 150x30 "Germany"
        button 20,300 80x30 "Submit"
    "#;
    let open =
        format!("{closed}\nlist_item 100,45 150x25 \"Germany\"\nlist_item 100,70 150x25 \"China\"");
    for goal in [
        r#"choose "China" from "Country""#,
        "从“Country”下拉框中选择“China”",
        "set the Country dropdown to China",
        r#"fill "Country" with "China""#,
    ] {
        let mut task = Task::new(goal);
        assert_eq!(task.step(closed), "click #2", "{goal}");
        assert_eq!(task.step(&open), "click #5", "{goal}");
        assert!(task.step(closed).starts_with("done: "), "{goal}");
    }
    let mut task = Task::new(r#"choose "Germany" from "Country""#);
    task.step(closed);
    assert_eq!(task.step(&open), "click #4");
    // A list that is already open is not opened again.
    check(
        r#"select "China" from the list"#,
        "list_item 100,45 150x25 \"Germany\"\nlist_item 100,70 150x25 \"China\"",
        &[
            "click #2",
            r#"done: Done: select "China" from the list. ["China"]"#,
        ],
    );
}

#[test]
fn scrolling_goes_on_until_it_is_over() {
    let page = r#"
        window 0,0 1000x800 "Page" active
        text 20,20 100x20 "Beginning"
    "#;
    let end = r#"
        window 0,0 1000x800 "Page" active
        link 20,700 100x20 "Imprint"
    "#;
    let mut task = Task::new(r#"scroll down until "Imprint" appears, then click it"#);
    assert_eq!(task.step(page), "scroll 0,5 (500, 400)");
    assert_eq!(task.step(page), "scroll 0,5 (500, 400)");
    assert_eq!(task.step(end), "click #1");

    let mut task = Task::new(r#"scroll to "Imprint""#);
    task.step(page);
    task.step_with(page, Verdict::EndReached);
    assert_eq!(
        task.step(page),
        "fail: `scroll to \"Imprint\"`: reached the end, but \"Imprint\" did not appear."
    );

    let mut task = Task::new("滚动到底部");
    assert_eq!(task.step(page), "scroll 0,15 (500, 400)");
    assert_eq!(
        task.step_with(page, Verdict::EndReached),
        "scroll 0,15 (500, 400)"
    );
    assert!(task.step(page).starts_with("done: 已完成"));
}

#[test]
fn texts_are_waited_for_and_checked() {
    let busy = r#"text 20,20 100x20 "Loading…""#;
    let ready = r#"text 20,20 200x20 "All files are saved""#;
    let mut task = Task::new(r#"wait until "Loading" disappears then check that "saved" is shown"#);
    assert_eq!(task.step(busy), "wait 600ms");
    assert_eq!(
        task.step(ready),
        r#"done: Done: wait until "Loading" disappears then check that "saved" is shown. ["All files are saved"]"#
    );

    let mut task = Task::new(r#"press Enter, then wait for "Done" for up to 1 second"#);
    task.step(busy);
    task.step(busy);
    task.step(busy);
    assert_eq!(
        task.step(busy),
        "fail: `wait for \"Done\" for up to 1 second`: \"Done\" did not appear within 1 seconds."
    );

    let mut task = Task::new(r#"press Enter; make sure "Error" is not shown"#);
    let failed = r#"text 20,20 200x20 "Error: no space""#;
    task.step(failed);
    task.step(failed);
    task.step(failed);
    assert_eq!(
        task.step(failed),
        "fail: `make sure \"Error\" is not shown`: \"Error\" is shown."
    );
}

#[test]
fn an_application_is_opened_by_its_configured_name_and_waited_for() {
    let desktop = r#"window 0,0 500x500 "Files" active"#;
    let opened = r#"
        window 100,100 500x500 "Untitled 1 - Mousepad" active
        window 0,0 500x500 "Files"
    "#;
    let mut task = Task::new(r#"open Mousepad and type "hello""#);
    task.request.applications = vec!["files".to_owned(), "mousepad".to_owned()];
    assert_eq!(task.step(desktop), "open application mousepad");
    assert_eq!(task.step(desktop), "wait 600ms");
    assert_eq!(task.step(opened), r#"type "hello""#);

    let mut task = Task::new("open Photoshop");
    task.request.applications = vec!["mousepad".to_owned()];
    assert!(
        matches!(task.decide(desktop), Err(BackendError::Declined { reason, .. }) if reason.contains("mousepad"))
    );
    check(
        "switch to the window \"Files\"",
        opened,
        &["focus window Files"],
    );
    check(
        "switch to mousepad",
        opened,
        &["done: Done: switch to mousepad. []"],
    );
}

#[test]
fn an_action_that_was_not_performed_is_not_passed_over() {
    let mut task = Task::new(r#"click "Save" then click "Cancel""#);
    let decision = task.decide(FORM).unwrap();
    task.perform(&decision, ActionResult::Refused, Verdict::Unknown);
    assert_eq!(
        task.step(FORM),
        "fail: `click \"Save\"` is not allowed: a rule of the test"
    );

    for (answer, expected) in [
        ("done", "click #8"),
        ("again", "click #7"),
        ("已完成", "click #8"),
    ] {
        let mut task = Task::new(r#"click "Save" then click "Cancel""#);
        let decision = task.decide(FORM).unwrap();
        task.perform(&decision, ActionResult::Unknown, Verdict::Unknown);
        assert!(
            task.step(FORM)
                .starts_with("ask: Interrupted while performing `click \"Save\"`")
        );
        task.says(answer);
        assert_eq!(task.step(FORM), expected, "{answer}");
    }
}

#[test]
fn what_the_user_says_later_is_done_later() {
    let mut task = Task::new(r#"click "Save""#);
    task.step(FORM);
    task.says(r#"then click "Cancel""#);
    assert_eq!(task.step(FORM), "click #8");
    task.says("how is the weather?");
    let decision = task.decide(FORM).unwrap();
    assert_eq!(
        decision.progress,
        "`how is the weather?` is not understood and is ignored."
    );
    assert!(matches!(decision.next, Next::Done { .. }));
}

#[test]
fn a_goal_that_another_has_begun_is_not_taken_over() {
    let mut task = Task::new(r#"click "Save""#);
    let decision = task.decide(FORM).unwrap();
    task.perform(&decision, ActionResult::Performed, Verdict::Confirmed);
    task.request.conversation = Default::default();
    assert!(matches!(
        task.decide(FORM),
        Err(BackendError::Declined { .. })
    ));
    task.request.history.clear();
    task.request.conversation = bytes::Bytes::from_static(b"someone else's");
    assert!(matches!(
        task.decide(FORM),
        Err(BackendError::Declined { .. })
    ));
}

#[test]
fn names_of_several_words_are_one_name_where_they_stand_so() {
    let one = r#"link 20,20 160x20 "Terms and Conditions""#;
    check(
        "click Terms and Conditions",
        one,
        &[
            "click #1",
            "done: Done: click Terms and Conditions. [\"Conditions\"]",
        ],
    );
    let two =
        "button 20,20 80x30 \"Red\"\nbutton 120,20 80x30 \"Blue\"\nbutton 220,20 80x30 \"Submit\"";
    check(
        "Select Red, Blue and click Submit",
        two,
        &["click #1", "click #2", "click #3"],
    );
    let names = "label 20,20 80x20 \"Name\"\ntext_field 120,15 100x30\nlabel 20,60 80x20 \"First Name\"\ntext_field 120,55 100x30";
    check(
        "type Bob into First Name",
        names,
        &[r##"click #4; type "Bob""##],
    );
    check(
        "type Bob into the first name field",
        names,
        &[r##"click #4; type "Bob""##],
    );
    let search = "button 20,20 90x30 \"Search\"\nbutton 120,20 130x30 \"Search button\"";
    check("click the Search button", search, &["click #2"]);
}

#[test]
fn progress_is_the_clause_in_the_users_own_words() {
    let mut task = Task::new(r#"请点击“Save”，然后点击"Cancel""#);
    let decision = task.decide(FORM).unwrap();
    assert_eq!(decision.progress, "点击“Save” (1/2)");
    assert_eq!(decision.thought, r#"click "Save""#);
    let Next::Act(actions) = &decision.next else {
        panic!("it acts")
    };
    assert_eq!(actions[0].intent, "点击“Save”");
    assert!(actions[0].repeatable);
}
