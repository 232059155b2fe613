//! Decisions of the phrasebook, step by step, on changing screens.

use crate::request::request;
use motorium_phrasebook::screens::{DescribedScreen, screen};
use motorium_planner::backends::phrasebook::Phrasebook;
use motorium_planner::backends::{Backend, BackendError, CallContext};
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
        let DescribedScreen { frame, scene } = screen(seen);
        (self.request.frame, self.request.scene) = (frame, scene);
        let usage = CallContext::default();
        let planned = futures::executor::block_on(Phrasebook.plan(&self.request, &usage))?;
        let decision = planned.decision;
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
            target_label: None,
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

/// A page with unsaved changes.
const DRAFT: &str = r#"
    window 0,0 900x700 "Draft" active browser
    label 100,100 200x30 "Draft"
"#;

/// The same page, over which the browser asks.
const LEAVING: &str = r#"
    window 0,0 900x700 "Draft" active browser
    label 100,100 200x30 "Draft"
    text 400,200 200x30 "Reload site?"
    text 400,240 400x30 "Changes you made may not be saved."
    button 500,300 100x30 "Cancel"
    button 620,300 100x30 "Reload"
"#;

#[test]
fn the_question_of_a_browser_whether_to_leave_a_page_is_the_users() {
    let mut task = Task::new("refresh the page");
    task.step(DRAFT);
    let asked = task.step(LEAVING);
    assert!(
        asked.starts_with("ask: ") && asked.contains("Reload site?"),
        "{asked}"
    );
    task.says("done");
    assert!(task.step(DRAFT).starts_with("done: "));

    // A goal that answers it itself.
    let mut task = Task::new("refresh the page, then click \"Reload\"");
    task.step(DRAFT);
    assert_eq!(task.step(LEAVING), "click #5");
    assert!(task.step(DRAFT).starts_with("done: "));

    // Another clause first: nothing is typed into the question.
    let mut task = Task::new("刷新页面，然后点击“Draft”");
    task.step(DRAFT);
    let asked = task.step(LEAVING);
    assert!(asked.contains("浏览器询问"), "{asked}");
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

/// A browser with tabs, and a page with links.
const TABS_AND_LINKS: &str = r#"
    window 0,0 900x700 "Links - Chromium" active browser
    tab 10,5 120x30 "Users x"
    tab 140,5 120x30 "Links x" selected
    icon 870,5 20x20 "close"
    text_field 100,40 600x30 "127.0.0.1:8000/links.html"
    text 40,120 200x30 "Links"
    link 40,160 100x20 "First page"
    link 40,200 100x20 "Second page"
    text 40,260 100x20 "Call mum"
    icon 400,260 20x20 "close"
"#;

#[test]
fn a_browsers_own_bars_are_not_counted() {
    check("click the second link", TABS_AND_LINKS, &["click #7"]);
    check("click the first link", TABS_AND_LINKS, &["click #6"]);
    check("click the second tab", TABS_AND_LINKS, &["click #2"]);
    check("click the first icon", TABS_AND_LINKS, &["click #9"]);
    // The x of a tab is not beside an entry of the page, whose x is an icon.
    let goal = r#"click the "x" next to "Call mum""#;
    check(goal, TABS_AND_LINKS, &["click #9"]);
    check(
        r#"click the x next to "Call mum""#,
        TABS_AND_LINKS,
        &["click #9"],
    );
    let plus = "icon 40,100 20x20 \"add\"\ntext 40,200 80x20 \"Guests\"";
    check(r#"click "+""#, plus, &["click #1"]);
}

#[test]
fn a_field_that_was_typed_into_is_not_the_result() {
    let goal = r#"type "dracula" into "Title", click "Search" and then click "Dracula""#;
    let page = |results: &str| {
        format!(
            r#"
    window 0,0 900x700 "Library" active browser
    text 40,100 60x20 "Title"
    text_field 110,95 300x30 "dracula"
    button 430,95 100x30 "Search"
    {results}
"#
        )
    };
    let mut task = Task::new(goal);
    let empty = page("").replace("\"dracula\"", "\"\"");
    assert_eq!(task.step(&empty), r##"click #2; type "dracula""##);
    assert_eq!(task.step(&page("")), "click #3");
    assert_eq!(task.step(&page("")), "wait 600ms");
    let results = page(r#"link 40,200 200x20 "Dracula""#);
    assert_eq!(task.step(&results), "click #4");
}

#[test]
fn a_text_without_a_label_stands_for_the_radio_button_beside_it() {
    let page = r#"
    window 0,0 900x700 "Plan" active browser
    radio 40,100 16x16 unchecked
    text 64,98 120x20 "Professional"
    radio 40,140 16x16 unchecked
    text 64,138 120x20 "Student"
    button 40,200 120x30 "Continue"
"#;
    check(r#"choose "Professional""#, page, &["click #1"]);
    check(r#"click "Student""#, page, &["click #3"]);
    check(r#"click "Continue""#, page, &["click #5"]);
}

#[test]
fn clauses_become_actions_one_by_one() {
    check(
        r#"type "Alice" into "Name", then type secret:PW into "Password", click "I agree" and click "Save""#,
        FORM,
        &[
            r##"click #2; type "Alice""##,
            "click #4; type secret:PW",
            "click #6",
            "click #7",
            r#"done: Done: type "Alice" into "Name", then type secret:PW into "Password", click "I agree" and click "Save". ["Save"]"#,
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
        &[
            "done: Done: uncheck \"I agree\". Was already so: \"uncheck \"I agree\"\". [\"I agree\"]",
        ],
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
        r#"done: Done, all 7 instructions; the last one: click "Save". ["Save"]"#
    );
    let text = "长".repeat(90);
    assert_eq!(
        last_words(&format!("在“Name”中输入“{text}”，然后点击“Save”")),
        r#"done: 已完成全部 2 条指令，最后一条：点击“Save”。 ["Save"]"#
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
fn a_field_that_keeps_its_text_is_not_cleared() {
    let filled = |text: &str| {
        form(&[(
            "text_field 100,15 200x30",
            &format!("text_field 100,15 200x30 \"{text}\""),
        )])
    };
    let cleared = |after: &str| {
        let mut task = Task::new(r#"clear the "Name" field"#);
        task.step(&filled("Alice"));
        let mut next = task.step(after);
        if next == "click (200, 30) x3; press delete" {
            // Tk takes Ctrl+A for the beginning of the line.
            let mut looks = std::iter::repeat_with(|| task.step(after));
            next = looks.find(|step| step != "wait 600ms").unwrap();
        }
        next
    };
    let rest = cleared(&filled("lice"));
    assert!(
        rest.starts_with("fail: ") && rest.contains("lice"),
        "{rest}"
    );
    let kept = cleared(&filled("Alice"));
    assert!(
        kept.starts_with("fail: ") && kept.contains("Alice"),
        "{kept}"
    );
    // What it shows then may be its placeholder.
    assert!(cleared(&filled("Your full name")).starts_with("done: "));
    assert!(cleared(FORM).starts_with("done: "));
}

#[test]
fn a_missing_target_names_what_is_in_front() {
    let page = "window 0,0 900x700 \"Mail\" active browser\nbutton 20,300 80x30 \"Log in\"";
    let end = |screen: &str| {
        let mut task = Task::new(r#"click "Log in" then click "Inbox""#);
        task.step(page);
        let mut looks = std::iter::repeat_with(|| task.step(screen));
        looks.find(|step| step != "wait 600ms").unwrap()
    };
    let bubble = end(&format!("{page}\ntext 500,80 200x30 \"Save password?\""));
    assert!(
        bubble.contains("\"Save password?\" is in front"),
        "{bubble}"
    );
    let plain = end(&format!("{page}\ntext 500,80 200x30 \"Welcome\""));
    assert!(
        plain.starts_with("fail: ") && !plain.contains("in front"),
        "{plain}"
    );
}

#[test]
fn missing_element_is_waited_for_briefly() {
    let mut task = Task::new(r#"click "Save" then click "Really""#);
    assert_eq!(task.step(FORM), "click #7");
    assert_eq!(task.step(FORM), "wait 600ms");
    let dialog = format!("{FORM}\nbutton 400,300 80x30 \"Really\"");
    assert_eq!(task.step(&dialog), "click #9");

    let mut task = Task::new(r#"click "Save" then click "Cancle it""#);
    assert_eq!(task.step(FORM), "click #7");
    // A click may have something loaded, which takes seconds.
    for _ in 0..8 {
        assert_eq!(task.step(FORM), "wait 600ms");
    }
    let end = task.step(FORM);
    assert!(end.starts_with("fail: `click \"Cancle it\"`: \"Cancle it\" is not on the screen. The closest matches are \"Cancel\""), "{end}");
}

#[test]
fn missing_target_declines_the_goal_before_any_action() {
    let mut task = Task::new(r#"click "Submit""#);
    task.step(FORM);
    task.step(FORM);
    assert!(matches!(
        task.decide(FORM),
        Err(BackendError::Declined { .. })
    ));
}

#[test]
fn only_text_without_effect_is_left_for_another_match() {
    let nothing = "fail: `click \"Delete\"` was performed, but nothing on the screen changed.";
    let controls = r#"
        button 20,20 80x30 "Delete"
        button 20,60 160x30 "Delete all"
    "#;
    let mut task = Task::new(r#"click "Delete""#);
    assert_eq!(task.step_with(controls, Verdict::NoEffect), "click #1");
    assert_eq!(task.step_with(controls, Verdict::NoEffect), nothing);
    // A heading is no control, and the link of that name was meant.
    let heading = r#"
        label 20,20 80x30 "Delete"
        link 20,60 160x30 "Delete it"
    "#;
    let mut task = Task::new(r#"click "Delete""#);
    assert_eq!(task.step_with(heading, Verdict::NoEffect), "click #1");
    assert_eq!(task.step_with(heading, Verdict::NoEffect), "click #2");
    assert_eq!(task.step(heading), nothing);

    let mut task = Task::new(r#"type "x" into "Name""#);
    task.step_with(FORM, Verdict::NoEffect);
    let mut looks = std::iter::repeat_with(|| task.step(FORM));
    let end = looks.find(|step| step != "wait 600ms").unwrap();
    assert!(end.starts_with("fail: "), "{end}");
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
        ("Bob", "click #4"),
        ("the one of Bob", "click #4"),
        ("Alice的那个", "click #2"),
    ];
    for (answer, expected) in answers {
        let mut task = Task::new(r#"click "Edit""#);
        let question = task.step(seen);
        assert_eq!(
            question,
            r#"ask: `click "Edit"`: 2 elements match: (1) button "Edit", beside "Alice", (2) button "Edit", beside "Bob". Which one do you mean?"#
        );
        task.says(answer);
        assert_eq!(task.step(seen), expected, "{answer}");
    }
    check(r#"click "Edit" in the row of "Bob""#, seen, &["click #4"]);
}

#[test]
fn an_answer_that_names_no_candidate_says_how_to_answer() {
    let seen = r#"
        text 20,20 40x20 "Alice"
        button 800,20 80x30 "Edit"
        text 20,60 40x20 "Bob"
        button 800,60 80x30 "Edit"
    "#;
    let mut task = Task::new(r#"click "Edit""#);
    let question = task.step(seen);
    for answer in ["maybe", "not Bob", "Carol", "3"] {
        task.says(answer);
        let again = task.step(seen);
        let expected = format!("ask: \"{answer}\" names none of them, or more than one.");
        assert!(again.starts_with(&expected), "{again}");
        assert!(
            again.contains("Answer with a number from 1 to 2"),
            "{again}"
        );
        assert!(
            again.contains(question.trim_start_matches("ask: ")),
            "{again}"
        );
    }
    task.says("2");
    assert_eq!(task.step(seen), "click #4");
}

#[test]
fn candidates_without_a_row_are_told_apart_as_well() {
    let seen = r#"
        button 20,20 80x30 "Edit"
        button 20,60 80x30 "Edit"
        button 20,100 80x30 "Edit"
        button 800,700 80x30 "Edit"
    "#;
    let question = Task::new(r#"click "Edit""#).step(seen);
    let expected = r#"(1) button "Edit", top left, number 1 there, (2) button "Edit", top left, number 2 there, (3) button "Edit", top left, number 3 there, (4) button "Edit", bottom right. Which"#;
    assert!(question.contains(expected), "{question}");
    // A text that all rows have tells none of them apart.
    let seen = r#"
        text 20,20 40x20 "Open"
        button 800,20 80x30 "Edit"
        text 20,60 40x20 "Open"
        button 800,60 80x30 "Edit"
    "#;
    let question = Task::new(r#"click "Edit""#).step(seen);
    assert!(!question.contains("beside"), "{question}");
}

#[test]
fn only_close_and_visible_texts_are_suggested() {
    let seen = r#"
        icon 20,20 20x20 "more vertical"
        icon 60,20 20x20 "Portagul"
        text 20,60 200x20 "Workshop registration"
        text 20,100 60x20 "Notes"
    "#;
    let mut task = Task::new(r#"press Tab, click "Portugal""#);
    let mut last = String::new();
    for _ in 0..10 {
        last = task.step(seen);
    }
    assert_eq!(
        last,
        "fail: `click \"Portugal\"`: \"Portugal\" is not on the screen."
    );
}

#[test]
fn a_reply_that_says_nothing_of_the_outcome_is_named() {
    let mut task = Task::new(r#"click "Save" then click "Cancel""#);
    let decision = task.decide(FORM).unwrap();
    task.perform(&decision, ActionResult::Unknown, Verdict::Unknown);
    task.step(FORM);
    task.says("maybe");
    let again = task.step(FORM);
    assert!(
        again.starts_with("ask: \"maybe\" does not say whether it took effect. Interrupted"),
        "{again}"
    );
    task.says("done");
    assert_eq!(task.step(FORM), "click #8");
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
        let chosen = closed.replace("Germany", "China");
        assert_eq!(task.step(&chosen), "wait 600ms", "{goal}");
        assert!(task.step(&chosen).starts_with("done: "), "{goal}");
        // The page sets it back once it was read.
        let mut task = Task::new(goal);
        task.step(closed);
        task.step(&open);
        task.step(&chosen);
        let mut looks = std::iter::repeat_with(|| task.step(closed));
        let end = looks.find(|step| step != "wait 600ms").unwrap();
        assert!(end.starts_with("fail: "), "{end}");
        // The page sets it back, or shows the entry late.
        let mut task = Task::new(goal);
        task.step(closed);
        task.step(&open);
        assert_eq!(task.step(closed), "wait 600ms", "{goal}");
        let mut looks = std::iter::repeat_with(|| task.step(closed));
        let end = looks.find(|step| step != "wait 600ms").unwrap();
        assert!(
            end.starts_with("fail: ") && end.contains("Germany"),
            "{end}"
        );
        let mut task = Task::new(goal);
        task.step(closed);
        task.step(&open);
        let other = closed.replace("Germany", "Portugal");
        let mut looks = std::iter::repeat_with(|| task.step(&other));
        let end = looks.find(|step| step != "wait 600ms").unwrap();
        assert!(end.starts_with("ask: "), "{end}");
    }
    // A menu only ever shows its name.
    let menu = "drop_down 100,15 150x30 \"Sort by\"";
    let open_menu =
        format!("{menu}\nlist_item 100,45 150x25 \"Name\"\nlist_item 100,70 150x25 \"Price\"");
    let mut task = Task::new(r#"choose "Price" from "Sort by""#);
    task.step(menu);
    assert_eq!(task.step(&open_menu), "click #3");
    assert!(task.step(menu).starts_with("done: "));
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
fn scrolling_continues_until_the_text_or_the_end() {
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
    // In the middle may have been a list that scrolls by itself.
    assert_eq!(
        task.step_with(page, Verdict::EndReached),
        "scroll 0,5 (990, 400)"
    );
    assert_eq!(
        task.step(page),
        "fail: `scroll to \"Imprint\"`: reached the end, but \"Imprint\" did not appear."
    );

    // A last scroll that moves nothing is no success; what follows it tells by itself.
    for (goal, expected) in [
        (
            "scroll down",
            "fail: `scroll down`: nothing moved; the end is reached.",
        ),
        (r#"scroll down then press Tab"#, "press tab"),
    ] {
        let mut task = Task::new(goal);
        task.step_with(page, Verdict::EndReached);
        task.step_with(page, Verdict::EndReached);
        assert_eq!(task.step(page), expected);
    }
    let mut task = Task::new("scroll to the bottom");
    task.step_with(page, Verdict::EndReached);
    task.step_with(page, Verdict::EndReached);
    let end = task.step(page);
    assert!(end.contains("Was already so"), "{end}");

    let mut task = Task::new("滚动到底部");
    assert_eq!(task.step(page), "scroll 0,15 (500, 400)");
    assert_eq!(
        task.step_with(page, Verdict::EndReached),
        "scroll 0,15 (500, 400)"
    );
    assert_eq!(task.step(page), "scroll 0,15 (990, 400)");
    assert_eq!(
        task.step_with(page, Verdict::EndReached),
        "scroll 0,15 (990, 400)"
    );
    assert!(task.step(page).starts_with("done: 已完成"));

    // A list is below its caption.
    let mut task = Task::new(r#"scroll down in the "Beginning" list"#);
    assert_eq!(
        task.step_with(page, Verdict::EndReached),
        "scroll 0,5 (70, 80)"
    );
    assert_eq!(task.step(page), "scroll 0,5 #1");
    assert!(task.step(page).starts_with("done: "));
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
    for _ in 0..9 {
        task.step(failed);
    }
    assert_eq!(
        task.step(failed),
        "fail: `make sure \"Error\" is not shown`: \"Error\" is shown."
    );
}

/// A text that was there before the last action has not appeared by it.
#[test]
fn a_text_that_was_there_before_does_not_appear() {
    let goal = r#"press Enter, wait until "Chosen" appears for up to 10 seconds"#;
    let before = r#"text 20,20 200x20 "No file chosen""#;
    let mut task = Task::new(goal);
    task.step(before);
    assert_eq!(task.step(before), "wait 600ms");
    assert_eq!(
        task.step(r#"text 20,20 200x20 "no file  Chosen.""#),
        "wait 600ms"
    );
    let end = task.step(r#"text 20,20 200x20 "Chosen: note.txt""#);
    assert!(
        end.starts_with("done: ") && !end.contains("already"),
        "{end}"
    );
    // A second line with the same text is new.
    let mut task = Task::new(goal);
    task.step(before);
    let twice = format!("{before}\ntext 20,60 200x20 \"No file chosen\"");
    let end = task.step(&twice);
    assert!(
        end.starts_with("done: ") && !end.contains("already"),
        "{end}"
    );
    // The answer says so if no other one comes.
    let mut task = Task::new(goal);
    task.step(before);
    let mut looks = std::iter::repeat_with(|| task.step(before));
    let end = looks.find(|step| step != "wait 600ms").unwrap();
    assert!(
        end.contains(r#"Was already so: "wait until "Chosen" appears for up to 10 seconds""#),
        "{end}"
    );
    // Without an action before it, nothing is compared.
    let end = Task::new(r#"wait until "Chosen" appears"#).step(before);
    assert!(
        end.starts_with("done: ") && !end.contains("already"),
        "{end}"
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
        &["done: Done: switch to mousepad. Was already so: \"switch to mousepad\". []"],
    );
}

/// A browser that has begun to load a page: its tab and its address bar name it.
const LOADING: &str = r#"
    window 0,0 1000x780 "example.org/welcome - Chromium" active browser
    text 20,10 200x20 "example.org/welcome"
    text_field 100,50 600x30 "example.org/welcome"
"#;

fn with_lines(lines: &str) -> String {
    format!("{LOADING}\n{lines}")
}

#[test]
fn a_page_has_come_once_it_shows_more_than_its_address() {
    let goal = r#"open https://example.org/welcome then wait until "Welcome" appears"#;
    let failed = with_lines(
        r#"
        label 100,300 400x40 "This site can’t be reached"
        label 100,350 400x20 "Check if there is a typo in example.org."
        label 100,380 200x16 "ERR_NAME_NOT_RESOLVED"
    "#,
    );
    let mut task = Task::new(goal);
    assert_eq!(task.step(LOADING), "open https://example.org/welcome");
    assert_eq!(task.step(LOADING), "wait 600ms");
    let come = with_lines(r#"label 100,300 400x40 "Welcome, Ann""#);
    let done = task.step(&come);
    assert!(done.ends_with(r#"["Welcome, Ann"]"#), "{done}");

    let mut task = Task::new(goal);
    task.step(LOADING);
    let error = task.step(&failed);
    assert!(
        error.ends_with("could not show the page: ERR_NAME_NOT_RESOLVED."),
        "{error}"
    );

    // At the end of the goal, something has to have come.
    let mut task = Task::new("open https://example.org");
    task.step(LOADING);
    assert_eq!(task.step(LOADING), "wait 600ms", "it is blank");
    let mut last = String::new();
    for _ in 0..30 {
        last = task.step(LOADING);
    }
    assert!(last.starts_with("ask: "), "{last}");
    let mut task = Task::new("open https://example.org");
    task.step(LOADING);
    assert!(task.step(&come).starts_with("done: "));
}

#[test]
fn a_page_is_waited_for_while_another_window_is_in_front() {
    let editor = "window 0,0 900x700 \"Notes\" active\ntext 20,20 100x20 \"Beginning\"";
    let mut task = Task::new("open https://example.org");
    task.step(editor);
    let mut looks = std::iter::repeat_with(|| task.step(editor));
    let end = looks.find(|step| step != "wait 600ms").unwrap();
    assert!(end.starts_with("ask: "), "{end}");
    // Another application may be the one for the address.
    let mut task = Task::new("open file:///home/ann/notes.txt");
    task.step(editor);
    let end = task.step(editor);
    assert!(end.starts_with("done: "), "{end}");
    let mut task = Task::new("open file:///home/ann/notes.txt");
    task.step_with(editor, Verdict::NoEffect);
    assert!(task.step(editor).starts_with("fail: "));
}

#[test]
fn a_page_that_its_server_did_not_have_is_said() {
    let missing = with_lines(
        "text 100,200 200x20 \"Error response\"\ntext 100,240 200x20 \"Error code: 404\"",
    );
    let mut task = Task::new("open https://example.org/missing");
    task.step(LOADING);
    let end = task.step(&missing);
    assert!(
        end.starts_with(
            "done: Done: open https://example.org/missing. The page says \"Error code: 404\"."
        ),
        "{end}"
    );
}

#[test]
fn unperformed_action_fails_or_asks_the_user() {
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
fn later_user_messages_are_appended_as_clauses() {
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
fn goal_started_by_another_backend_is_declined() {
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
fn multi_word_names_match_when_present_on_screen() {
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

/// The form with another first field, box, or window.
fn form(changed: &[(&str, &str)]) -> String {
    let replace = |form: String, (from, to): &(&str, &str)| form.replace(from, to);
    changed.iter().fold(FORM.to_owned(), replace)
}

#[test]
fn a_toggled_box_is_read_again() {
    let checked = form(&[("unchecked", "checked")]);
    let mut task = Task::new(r#"check "I agree" then click "Save""#);
    assert_eq!(task.step(FORM), "click #5");
    assert_eq!(task.step(&checked), "click #7");

    // Pixels changed, but the box did not: only a focus ring appeared.
    let mut task = Task::new(r#"check "I agree""#);
    task.step(FORM);
    task.step(FORM);
    task.step(FORM);
    assert_eq!(
        task.step(FORM),
        "fail: `check \"I agree\"` was performed, but it is still unchecked."
    );
    check(
        r#"check "I agree" then click "Save""#,
        &checked,
        &[
            "click #7",
            r#"done: Done: check "I agree" then click "Save". Was already so: "check "I agree"". ["Save"]"#,
        ],
    );
}

/// Two labels that text recognition joined, as Perception reads them, on the left and on the right of their boxes.
#[test]
fn a_line_of_two_labels_names_two_boxes() {
    let after = r#"
        checkbox 34,63 13x13 "K" checked
        text 45,62 204x20 "Two-factor login  Newsletter"
        checkbox 160,63 13x13 unchecked
    "#;
    let before = r#"
        text 28,96 185x20 "Two-factor  Newsletter"
        checkbox 103,98 13x13 unchecked
        checkbox 197,98 13x13 checked
    "#;
    check(r#"uncheck "Two-factor login""#, after, &["click #1"]);
    check(r#"check Newsletter"#, after, &["click #3"]);
    check(r#"check "Two-factor""#, before, &["click #2"]);
    check(r#"uncheck "Newsletter""#, before, &["click #3"]);
    check(
        r#"check "Two-factor login""#,
        after,
        &[
            r#"done: Done: check "Two-factor login". Was already so: "check "Two-factor login"". ["Two-factor login"]"#,
        ],
    );
}

#[test]
fn an_entered_text_is_read_back() {
    let filled = |shown: &str| form(&[("text_field 100,15 200x30", shown)]);
    let field = |text: &str| filled(&format!("text_field 100,15 200x30 \"{text}\""));
    let steps = |goal: &str, verdict: Verdict, after: &str| {
        let mut task = Task::new(goal);
        task.step_with(FORM, verdict);
        // A field that shows nothing of its text is looked at again for a while.
        let looks = std::iter::repeat_with(|| task.step(after));
        looks.take(16).find(|step| step != "wait 600ms").unwrap()
    };
    let fill = r#"fill "Name" with "Bob""#;
    let nothing = "fail: `fill \"Name\" with \"Bob\"`: the field did not take the text.";
    assert_eq!(steps(fill, Verdict::NoEffect, FORM), nothing);
    assert_eq!(
        steps(fill, Verdict::NoEffect, &field("Alice")),
        r#"click (200, 30) x3; paste "Bob""#
    );
    assert_eq!(
        steps(fill, Verdict::NoEffect, &field("Bob")),
        r#"done: Done: fill "Name" with "Bob". Was already so: "fill "Name" with "Bob"". ["Bob"]"#
    );
    let typed = r#"type "Hamburg-Altona" into "Name""#;
    assert!(steps(typed, Verdict::Confirmed, &field("Hamburg-Altona")).starts_with("done: "));
    assert!(steps(typed, Verdict::Confirmed, FORM).starts_with("done: "));
    // The Orchestrator has found that the field is as empty as before.
    let end = steps(typed, Verdict::TextDiffers, FORM);
    assert!(end.ends_with("the field did not take the text."), "{end}");
    // Typed without a field: the one that was clicked before was read by the Orchestrator.
    let end = steps(r#"type "SPRING10""#, Verdict::TextDiffers, FORM);
    assert!(end.starts_with("fail: `type \"SPRING10\"` failed"), "{end}");
    // The field was empty, so that all of its text is replaced.
    assert_eq!(
        steps(typed, Verdict::Confirmed, &field("Berlin")),
        r#"click (200, 30) x3; paste "Hamburg-Altona""#
    );
    let mut task = Task::new(typed);
    task.step_with(
        &filled("text_field 100,15 200x30 \"Anna\""),
        Verdict::Confirmed,
    );
    let looks = std::iter::repeat_with(|| task.step(&field("Berlin")));
    let end = looks.take(16).find(|step| step != "wait 600ms").unwrap();
    assert_eq!(
        end,
        "fail: `type \"Hamburg-Altona\" into \"Name\"`: the field did not take the text; it shows \"Berlin\"."
    );
}

/// A slow application shows a text bit by bit, also for longer than a field is looked at that shows nothing.
#[test]
fn a_text_that_is_arriving_is_waited_for() {
    let field = |text: &str| {
        form(&[(
            "text_field 100,15 200x30",
            &format!("text_field 100,15 200x30 \"{text}\""),
        )])
    };
    let typed = "Hamburg-Altona an der Elbe";
    let mut task = Task::new(&format!("type \"{typed}\" into \"Name\""));
    task.step_with(FORM, Verdict::NoEffect);
    for length in 0..typed.len() {
        assert_eq!(
            task.step(&field(&typed[..length])),
            "wait 600ms",
            "{length}"
        );
    }
    let end = task.step(&field(typed));
    assert!(end.starts_with("done: "), "{end}");
}

#[test]
fn a_text_that_a_busy_application_takes_late_is_waited_for() {
    let field = |text: &str| form(&[("text_field 100,15 200x30", text)]);
    let (empty, old) = (
        FORM.to_owned(),
        field(r#"text_field 100,15 200x30 "Alice""#),
    );
    let taken = field(r#"text_field 100,15 200x30 "Hamburg-Altona""#);
    for (verdict, meanwhile) in [(Verdict::NoEffect, &empty), (Verdict::Confirmed, &old)] {
        let mut task = Task::new(r#"type "Hamburg-Altona" into "Name""#);
        task.step_with(FORM, verdict);
        assert_eq!(task.step(meanwhile), "wait 600ms");
        assert_eq!(task.step(meanwhile), "wait 600ms");
        let end = task.step(&taken);
        assert!(end.starts_with("done: "), "{end}");
    }
    // A text that stood there before is not the one that was typed.
    let mut task = Task::new(r#"type "Hamburg-Altona" into "Name""#);
    task.step_with(&taken, Verdict::NoEffect);
    let end = task.step(&taken);
    assert!(end.starts_with("fail: "), "{end}");
}

#[test]
fn an_unknown_effect_at_the_end_is_asked_about() {
    let after = |goal: &str, seen: &str| {
        let mut task = Task::new(goal);
        task.step_with(FORM, Verdict::Unknown);
        task.step(seen)
    };
    for goal in [
        r#"click "Save""#,
        "press ctrl+s",
        "go back",
        r#"type "Bob""#,
    ] {
        let end = after(goal, FORM);
        assert!(end.starts_with("ask: "), "{goal}: {end}");
    }
    // These tell by themselves, or have nothing to show.
    let field = r#"text_field 100,15 200x30 "Bob""#;
    let filled = form(&[("text_field 100,15 200x30", field)]);
    for (goal, seen) in [
        (r#"type "Bob" into "Name""#, filled.as_str()),
        ("press ctrl+c", FORM),
    ] {
        let end = after(goal, seen);
        assert!(end.starts_with("done: "), "{goal}: {end}");
    }
    // What follows tells.
    assert_eq!(after(r#"press Escape then click "Save""#, FORM), "click #7");
}

#[test]
fn ineffective_last_clause_is_a_failure() {
    for goal in ["press ctrl+s", "go back", "undo", "按 Ctrl+S"] {
        let mut task = Task::new(goal);
        task.step_with(FORM, Verdict::NoEffect);
        let end = task.step(FORM);
        assert!(end.starts_with("fail: "), "{goal}: {end}");
    }
    // These change nothing that can be seen.
    for goal in ["press ctrl+c", "copy", "hold shift for 1 second"] {
        let mut task = Task::new(goal);
        task.step_with(FORM, Verdict::NoEffect);
        let end = task.step(FORM);
        assert!(end.starts_with("done: "), "{goal}: {end}");
    }
    // What follows shows whether it was needed.
    let mut task = Task::new(r#"press Escape then click "Save""#);
    task.step_with(FORM, Verdict::NoEffect);
    assert_eq!(task.step(FORM), "click #7");
}

#[test]
fn a_last_click_on_a_list_or_field_needs_an_effect() {
    let form = r#"
        label 20,20 60x20 "Country"
        drop_down 100,15 200x30 "Select"
        label 20,60 60x20 "Name"
        text_field 100,55 200x30
    "#;
    let mut task = Task::new(r#"click the "Country" dropdown"#);
    assert_eq!(task.step_with(form, Verdict::NoEffect), "click #2");
    let end = task.step(form);
    assert!(end.starts_with("fail: "), "{end}");

    // Its caret may have stood there before.
    let mut task = Task::new(r#"click the "Name" field"#);
    assert_eq!(task.step_with(form, Verdict::NoEffect), "click #4");
    let end = task.step(form);
    assert!(end.starts_with("ask: "), "{end}");

    // The text is read back.
    let mut task = Task::new(r#"click the "Name" field then type "Ann""#);
    task.step_with(form, Verdict::NoEffect);
    assert_eq!(task.step(form), "type \"Ann\"");
}

#[test]
fn enter_is_repeated_while_the_dialog_is_open() {
    let open = r#"window 100,100 500x400 "Save File" active"#;
    let closed = r#"window 0,0 900x700 "Downloads" active"#;
    let begun = |verdict| {
        let mut task = Task::new(r#"type "/tmp/mine.csv" then press Enter"#);
        task.step(open);
        assert_eq!(task.step_with(open, verdict), "press enter");
        task
    };
    // The first one only closed the list of completions, unless the dialog is just being closed.
    for verdict in [Verdict::NoEffect, Verdict::Confirmed] {
        let mut task = begun(verdict);
        assert!(task.step(open).starts_with("wait "));
        assert!(task.step(closed).starts_with("done: "));

        let mut task = begun(verdict);
        task.step(open);
        assert_eq!(task.step(open), "press enter");
        assert!(task.step(closed).starts_with("done: "));

        let mut task = begun(verdict);
        task.step(open);
        task.step(open);
        assert_eq!(
            task.step(open),
            "fail: `press Enter` was performed, but the dialog \"Save File\" is still open."
        );
    }
    assert!(begun(Verdict::Confirmed).step(closed).starts_with("done: "));
}

#[test]
fn a_dialog_that_closes_without_the_file_is_doubted() {
    let open = r#"window 100,100 500x400 "Open File" active"#;
    let begun = || {
        let mut task = Task::new(r#"type "/tmp/receipt.txt" then press Enter"#);
        task.step(open);
        assert_eq!(task.step(open), "press enter");
        task
    };
    let without = r#"window 0,0 900x700 "Files" active"#;
    let after = |mut task: Task, seen: &str| {
        let mut looks = std::iter::repeat_with(|| task.step(seen));
        looks.find(|step| step != "wait 600ms").unwrap()
    };
    let question = after(begun(), without);
    assert!(
        question.starts_with("ask: The dialog closed after `press Enter`, but \"receipt.txt\""),
        "{question}"
    );
    let none = format!("{without}\ntext 40,40 200x20 \"No file chosen\"");
    let failed = after(begun(), &none);
    assert!(failed.starts_with("fail: "), "{failed}");
    for with in [
        r#"window 0,0 900x700 "receipt.txt - Editor" active"#,
        "window 0,0 900x700 \"Files\" active\ntext 40,40 200x20 \"Chosen: receipt.txt\"",
    ] {
        let end = begun().step(with);
        assert!(end.starts_with("done: "), "{end}");
    }
}

/// In some dialogs, a double click on a file presses the button that cancels.
#[test]
fn a_double_click_is_to_choose_the_file_wherever_it_is_in_the_goal() {
    let open = r#"
        window 0,0 900x700 "Upload - Browser"
        window 100,100 500x400 "Open File" active
        table_row 120,150 400x20 "note one.txt 6 bytes"
        button 450,460 60x30 "Open"
    "#;
    let page = |text: &str| {
        format!("window 0,0 900x700 \"Upload - Browser\" active\ntext 40,40 200x20 \"{text}\"")
    };
    let begun = |goal: &str| {
        let mut task = Task::new(goal);
        let mut clicked = String::new();
        while !clicked.contains("click") {
            clicked = task.step(open);
        }
        task
    };
    let after = |mut task: Task, seen: &str| {
        let mut looks = std::iter::repeat_with(|| task.step(seen));
        looks.find(|step| step != "wait 600ms").unwrap()
    };
    let goal = r#"double-click "note one.txt", press Tab"#;
    assert_eq!(after(begun(goal), &page("note one.txt")), "press tab");
    assert_eq!(
        after(begun(goal), &page("No file chosen")),
        "fail: `double-click \"note one.txt\"`: the dialog closed without choosing \"note one.txt\"; the page shows \"No file chosen\". Click its button instead, such as `Open`."
    );
    let question = after(begun(goal), &page("Thank you"));
    assert!(question.starts_with("ask: The dialog closed"), "{question}");
    // A folder is opened in the same dialog.
    assert_eq!(after(begun(goal), open), "press tab");

    // A row that is selected already stays so, and Enter is for that file.
    let mut task = Task::new(r#"click "note one.txt", press Enter, press Tab"#);
    assert_eq!(task.step_with(open, Verdict::NoEffect), "click #1");
    assert_eq!(task.step(open), "press enter");
    assert_eq!(after(task, &page("Picked note one.txt")), "press tab");
    let mut task = Task::new(r#"click "note one.txt", press Enter, press Tab"#);
    task.step(open);
    task.step(open);
    assert!(after(task, &page("No file chosen")).starts_with("fail: "));
}

/// Nothing can be done twice of an action that was not sent, nor of a wait.
#[test]
fn unsent_actions_and_waits_are_simply_repeated() {
    let mut task = Task::new(r#"click "Save" then click "Cancel""#);
    let decision = task.decide(FORM).unwrap();
    task.perform(&decision, ActionResult::Cancelled, Verdict::Unknown);
    task.request.history[0].actions[0].outcome.sent_nothing = true;
    assert_eq!(
        task.step(FORM),
        "click #7",
        "its approval is asked for again"
    );
    assert_eq!(task.step(FORM), "click #8");

    let mut task = Task::new(r#"wait 12 seconds then click "Cancel""#);
    let decision = task.decide(FORM).unwrap();
    task.perform(&decision, ActionResult::Unknown, Verdict::Unknown);
    assert_eq!(task.step(FORM), "wait 12s");
    assert_eq!(task.step(FORM), "click #8");
}

#[test]
fn unclear_reply_repeats_the_question() {
    let seen = r#"
        button 800,20 80x30 "Edit"
        button 800,700 80x30 "Edit"
    "#;
    for reply in ["OK", "continue", "skip", "", "  ", "what?"] {
        let mut task = Task::new(r#"click "Edit" then press Enter"#);
        let question = task.step(seen);
        task.says(reply);
        let again = task.step(seen);
        let repeated = question.strip_prefix("ask: ").unwrap();
        assert!(again.contains(repeated), "{reply}: {again}");
        task.says("2");
        assert_eq!(task.step(seen), "click #2", "{reply}");
    }
    for reply in ["I have done it", "done", "我已经操作"] {
        let mut task = Task::new(r#"click "Edit" then press Enter"#);
        task.step(seen);
        task.says(reply);
        assert_eq!(task.step(seen), "press enter", "{reply}");
    }
    for reply in ["", "perhaps", "ok"] {
        let mut task = Task::new(r#"click "Save" then click "Cancel""#);
        let decision = task.decide(FORM).unwrap();
        task.perform(&decision, ActionResult::Unknown, Verdict::Unknown);
        let question = task.step(FORM);
        task.says(reply);
        let again = task.step(FORM);
        let repeated = question.strip_prefix("ask: ").unwrap();
        assert!(again.contains(repeated), "{reply}: {again}");
    }
}

#[test]
fn a_step_with_fewer_outcomes_than_actions_was_not_performed() {
    let mut task = Task::new(r#"click "Save" then click "Cancel""#);
    task.decide(FORM).unwrap();
    task.request.history.push(PastStep::default());
    task.request.notices = vec!["the target moved away".to_owned()];
    assert_eq!(
        task.step(FORM),
        "fail: `click \"Save\"` failed: the target moved away"
    );
}

/// Fields and sliders as Perception reads a browser's.
#[test]
fn a_date_is_entered_in_the_order_of_its_field() {
    let empty = |shown: &str| {
        format!("text 27,29 94x23 \"Date of birth\"\ndrop_down 121,30 125x21 \"{shown}\"")
    };
    let start = "click (131, 40); press left x2";
    let goal = r#"enter "1990-05-17" into "Date of birth""#;
    for (shown, typed) in [
        ("mm/dd/yyyy", r#"type "05/17/1990""#),
        ("TT.MM.JJJJ", r#"type "17.05.1990""#),
        ("年/月/日", r#"type "1990"; press right; type "0517""#),
    ] {
        check(goal, &empty(shown), &[&format!("{start}; {typed}")]);
    }
    // A field that shows its format as it shows a value has segments; one that hints at it has none.
    let plain = |hint: &str| {
        format!("text 27,29 94x23 \"Date of birth\"\ntext_field 121,30 125x21 \"mm/dd/yy\"{hint}")
    };
    check(
        goal,
        &plain(""),
        &[&format!(r#"{start}; type "05/17/1990""#)],
    );
    check(
        goal,
        &plain(" placeholder"),
        &[r#"click #2; type "1990-05-17""#],
    );
    // A date does not tell its order, so the field is emptied first.
    let mut task = Task::new(r#"set "Date of birth" to "1990-05-17""#);
    assert_eq!(
        task.step(&empty("05/06/1980")),
        format!(
            "{start}; press backspace; press right; press backspace; press right; press backspace"
        )
    );
    assert_eq!(
        task.step(&empty("dd/mm/yyyy")),
        format!(r#"{start}; type "17/05/1990""#)
    );
    assert!(task.step(&empty("17/05/1990")).starts_with("done: "));

    let mut task = Task::new(goal);
    task.step(&empty("mm/dd/yyyy"));
    let end = task.step(&empty("12/09/0517"));
    assert!(end.ends_with("it shows \"12/09/0517\"."), "{end}");
}

#[test]
fn a_slider_is_set_and_read_again() {
    let at = |shown: &str| {
        format!(
            "text 26,124 64x24 \"Volume\"\nslider 94,126 128x17\ntext 224,128 21x16 \"{shown}\"
            text_field 94,160 128x24 \"none\""
        )
    };
    let goal = r#"set the "Volume" slider to 80"#;
    let set = "click #2; press home; press right x80";
    let mut task = Task::new(goal);
    assert_eq!(task.step(&at("50")), set);
    assert!(task.step(&at("80")).starts_with("done: "));

    // A press moves it by five.
    let measured = |goal: &str, step: &str| {
        let mut task = Task::new(goal);
        task.step(&at("20"));
        assert_eq!(task.step(&at("100")), "press home");
        assert_eq!(task.step(&at("0")), "press right");
        (task.step(&at(step)), task)
    };
    let (next, mut task) = measured(goal, "5");
    assert_eq!(next, "press right x15");
    assert!(task.step(&at("80")).starts_with("done: "));
    // One that cannot take the value is put back.
    let (next, mut task) = measured(r#"set the "Volume" slider to 73"#, "10");
    assert_eq!(next, "press right");
    let end = task.step(&at("20"));
    assert!(
        end.ends_with("the slider does not take this value; it is back at 20."),
        "{end}"
    );
    // It ends before the value.
    let (next, mut task) = measured(r#"set the "Volume" slider to 120"#, "10");
    assert_eq!(next, "press right x11");
    assert_eq!(task.step(&at("100")), "press left x8");
    let end = task.step(&at("20"));
    assert!(end.ends_with("it is back at 20."), "{end}");

    let end = Task::new(goal).step(&at("80"));
    assert!(end.contains("Was already so"), "{end}");
    let mut task = Task::new(r#"press Tab then set the "Volume" slider to "loud""#);
    task.step(&at("50"));
    assert!(task.step(&at("50")).contains("is no whole number"));
}

#[test]
fn a_chinese_goal_gets_messages_in_chinese_with_each_clause_once() {
    let seen = "text 20,20 80x20 \"Comment\"\nbutton 20,60 80x20 \"Save\"";
    let ending = |goal: &str| {
        let mut task = Task::new(goal);
        loop {
            match task.decide(seen) {
                Ok(decision) => match &decision.next {
                    Next::Act(_) => {
                        task.perform(&decision, ActionResult::Performed, Verdict::Confirmed)
                    }
                    next => return shown(next),
                },
                Err(error) => return error.to_string(),
            }
        }
    };
    assert_eq!(
        ending("点击第二个“Comment”链接"),
        "“点击第二个“Comment”链接”：屏幕上找不到第2个“Comment”链接，只有文字“Comment”。"
    );
    assert_eq!(
        ending("点击“Submit”旁边的复选框"),
        "“点击“Submit”旁边的复选框”：屏幕上找不到“Submit”旁边的复选框。"
    );
    assert_eq!(ending("点击“保存”").matches("点击“保存”").count(), 1);
}

#[test]
fn a_question_says_how_many_candidates_it_does_not_list() {
    let rows = |count: i32| {
        let row = |number: i32| format!("button 20,{} 80x20 \"Delete\"", 20 + 30 * number);
        (0..count).map(row).collect::<Vec<_>>().join("\n")
    };
    let question = |count| Task::new("click \"Delete\"").step(&rows(count));
    assert!(!question(9).contains("more"), "{}", question(9));
    let many = question(11);
    assert!(many.contains("11 elements match"), "{many}");
    assert!(many.contains(", and 2 more. Which"), "{many}");
}
