//! Tests of the default policy against cases with a known decision, in `cases.toml`.
//!
//! The table of decisions is the snapshot `verdicts`; `cargo t --test policy -- --nocapture` prints it.

#![expect(clippy::print_stdout, reason = "prints the table with --nocapture")]

mod screens;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::SystemTime;

use motorium_policy::context::{self, argument};
use motorium_policy::described_step::{DescribedStep, DescribedTarget, POINT, Surroundings};
use motorium_policy::named_private_hosts;
use motorium_policy::provenance::{Origin, ScreenTexts, TextSources};
use motorium_policy::{
    ActionContext, ActionInputs, CallInputs, Creator, Judgement, Policy, PolicyDecision, Requester,
};
use motorium_proto::domain::action::{Action, Button, ControlCharacters, ScrollAmount, Text};
use motorium_proto::domain::action::{Target, TextAnchor};
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::element::{Element, ElementKind, ElementSource, ElementState, Scene};
use motorium_proto::domain::frame::{Frame, Window};
use motorium_proto::domain::geometry::{
    CapturePoint, CaptureRect, CaptureSize, NormalisedPoint, NormalisedRect,
};
use motorium_proto::domain::id::{DisplayId, ElementId, FrameId};
use motorium_proto::domain::key::Key;
use motorium_task::keyboard::KeyboardHistory;
use serde::Deserialize;

/// A task of a caller that no server authenticates.
const LOCAL: Requester<'static> = Requester {
    task: "tasks/t",
    creator: Creator::Principal {
        name: "local",
        tenant: "default",
        roles: &[],
    },
};

const SIZE: CaptureSize = CaptureSize::new(1280, 800);

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Case {
    expect: String,
    rules: BTreeSet<String>,
    click: Option<String>,
    /// A click without a point, on the last target.
    click_again: Option<String>,
    /// Dragged from one end to the other.
    slide: Option<String>,
    right_click: Option<String>,
    press: Option<String>,
    drop_on: Option<String>,
    scroll: Option<String>,
    keys: Option<String>,
    /// Target of the click before.
    on: Option<String>,
    r#type: Option<String>,
    open: Option<String>,
    start: Option<String>,
    count: Option<u8>,
    kind: Option<String>,
    beside: Option<String>,
    /// Another button, a space to the right of the target.
    next_button: Option<String>,
    /// Another button, below the target.
    button_below: Option<String>,
    intent: String,
    around: Vec<String>,
    field: Option<String>,
    app: Option<String>,
    window: String,
    dialog: bool,
    url: Option<String>,
    bar: Option<String>,
    /// The last click was into the address bar.
    in_bar: bool,
    goal: String,
    screen: Vec<String>,
    /// Data extracted from the screen before, as JSON.
    extracted: Option<String>,
    /// Result of a function before, as JSON.
    returned: Option<String>,
    /// Text entered right before.
    before: String,
    /// Keys may have moved the focus since the last click.
    moved_on: bool,
    middle_click: Option<String>,
    middle_press: Option<String>,
    /// Text that the task has put into the clipboard and now pastes.
    paste: Option<String>,
    /// The clipboard was filled by a page or another program.
    unknown_clipboard: bool,
    injected: bool,
    /// A function of the tool `tool`.
    call: Option<String>,
    arguments: Option<String>,
    /// Its tool declares that it may be destructive.
    destructive: bool,
}

/// Position of the target.
const TARGET: (i32, i32, i32, i32) = (600, 400, 60, 24);
/// Position of the address bar.
const BAR: (i32, i32, i32, i32) = (200, 40, 400, 24);
/// Position of the last clicked field.
const FIELD: (i32, i32, i32, i32) = (600, 600, 200, 30);

fn rect((x, y, width, height): (i32, i32, i32, i32)) -> CaptureRect {
    CaptureRect::new(
        CapturePoint::new(x, y),
        CapturePoint::new(x + width, y + height),
    )
}

fn element(id: u32, text: &str, kind: ElementKind, bounds: CaptureRect) -> Element {
    let corner = |point: CapturePoint| {
        NormalisedPoint::new(
            f64::from(point.x) / f64::from(SIZE.width),
            f64::from(point.y) / f64::from(SIZE.height),
        )
    };
    Element {
        id: ElementId(id),
        kind,
        content: text.to_owned(),
        bounds: NormalisedRect::new(corner(bounds.min), corner(bounds.max)),
        interactable: true,
        confidence: 0.9,
        centre: bounds.center(),
        source: ElementSource::Both,
        state: ElementState::default(),
    }
}

impl Case {
    /// Label of the target.
    fn label(&self) -> Option<&String> {
        let texts = [
            &self.click,
            &self.click_again,
            &self.slide,
            &self.on,
            &self.right_click,
            &self.middle_click,
            &self.middle_press,
            &self.press,
            &self.drop_on,
            &self.scroll,
        ];
        texts.into_iter().flatten().next()
    }

    fn action(&self) -> Action<CapturePoint> {
        let at = rect(TARGET).center();
        let click = |button| Action::Click {
            at: Some(at),
            button,
            count: self.count.unwrap_or(1),
            modifiers: vec![],
        };
        let text = |text: &str| match text.strip_prefix("secret:") {
            Some(name) => Text::Secret(name.to_owned()),
            None => Text::Literal(text.to_owned()),
        };
        if self.click.is_some() {
            click(Button::Left)
        } else if self.click_again.is_some() {
            Action::Click {
                at: None,
                button: Button::Left,
                count: 1,
                modifiers: vec![],
            }
        } else if self.slide.is_some() {
            Action::Drag {
                path: vec![
                    CapturePoint::new(at.x - 20, at.y),
                    CapturePoint::new(at.x + 20, at.y),
                ],
                button: Button::Left,
                modifiers: vec![],
                duration: None,
                hold: None,
            }
        } else if self.right_click.is_some() {
            click(Button::Right)
        } else if self.middle_click.is_some() {
            click(Button::Middle)
        } else if self.middle_press.is_some() {
            Action::MouseDown {
                at: Some(at),
                button: Button::Middle,
            }
        } else if self.press.is_some() {
            Action::MouseDown {
                at: Some(at),
                button: Button::Left,
            }
        } else if self.drop_on.is_some() {
            Action::Drag {
                path: vec![CapturePoint::new(10, 10), at],
                button: Button::Left,
                modifiers: vec![],
                duration: None,
                hold: None,
            }
        } else if self.scroll.is_some() {
            Action::Scroll {
                at: Some(at),
                amount: ScrollAmount::Notches { x: 0, y: 3 },
                modifiers: vec![],
            }
        } else if let Some(keys) = &self.keys {
            Action::KeyChord {
                keys: Key::parse_chord("keys", keys).unwrap(),
                repeat: 1,
            }
        } else if let Some(written) = &self.r#type {
            Action::TypeText {
                text: text(written),
                control_characters: ControlCharacters::AsKeys,
            }
        } else if self.paste.is_some() {
            Action::Paste { text: None }
        } else if let Some(url) = &self.open {
            Action::OpenUrl { url: url.clone() }
        } else {
            Action::OpenApplication {
                name: self.start.clone().expect("something is done"),
            }
        }
    }

    fn planned(&self) -> PlannedAction {
        let target = Target::Text(TextAnchor::default());
        PlannedAction {
            action: self
                .action()
                .try_map(|_| Ok::<_, ()>(target.clone()))
                .unwrap(),
            intent: self.intent.clone(),
            verify_pointer: false,
            repeatable: true,
        }
    }

    fn scene(&self) -> Scene {
        let kind = self.kind.as_deref().map_or(ElementKind::Button, |kind| {
            ElementKind::from_name(kind).expect("it is a kind")
        });
        let mut elements = Vec::new();
        if let Some(label) = self.label() {
            elements.push(element(1, label, kind, rect(TARGET)));
        }
        if let Some(beside) = &self.beside {
            let (x, y, width, height) = TARGET;
            let next = rect((x + width + 2, y, width, height));
            elements.push(element(2, beside, kind, next));
        }
        let (x, y, width, height) = TARGET;
        let buttons = [
            (3, &self.next_button, (x + width + 4, y)),
            (4, &self.button_below, (x, y + height + 20)),
        ];
        for (number, label, (x, y)) in buttons {
            if let Some(label) = label {
                let bounds = rect((x, y, width, height));
                elements.push(element(number, label, ElementKind::Button, bounds));
            }
        }
        for (number, text) in (0..).zip(&self.around) {
            let above = rect((480, 280 + 30 * number, 300, 24));
            elements.push(element(10, text, ElementKind::Label, above));
        }
        if let Some(field) = &self.field {
            let (x, y, _, height) = FIELD;
            elements.push(element(
                20,
                field,
                ElementKind::Label,
                rect((x - 120, y, 100, height)),
            ));
        }
        if let Some(bar) = &self.bar {
            elements.push(element(30, bar, ElementKind::Label, rect(BAR)));
        }
        Scene {
            frame: FrameId::new("f"),
            elements,
            relations: vec![],
        }
    }

    fn frame(&self) -> Frame {
        let window = Window {
            id: "1".to_owned(),
            title: self.window.clone(),
            application: self.app.clone().unwrap_or_else(|| "mousepad".to_owned()),
            process: None,
            bounds: rect((0, 0, SIZE.width, SIZE.height)),
            active: true,
            minimised: false,
            modal: self.dialog,
        };
        Frame {
            id: FrameId::new("f"),
            display: DisplayId::new(":1"),
            origin: CapturePoint::zero(),
            size: SIZE,
            scale: 1.0,
            captured_at: SystemTime::UNIX_EPOCH,
            cursor: None,
            monitors: vec![],
            windows: vec![window],
        }
    }

    fn situation(&self, rules: &Policy) -> ActionContext {
        match &self.call {
            Some(function_in_tool) => self.situation_of_call(rules, function_in_tool),
            None => self.situation_of_action(rules),
        }
    }

    fn arguments(&self) -> &str {
        self.arguments.as_deref().unwrap_or("{}")
    }

    /// Texts read before.
    fn seen(&self) -> ScreenTexts {
        let mut seen = ScreenTexts::default();
        let texts = self.screen.iter();
        seen.record_scene(&Scene {
            frame: FrameId::new("before"),
            elements: texts
                .map(|text| element(1, text, ElementKind::Label, rect(TARGET)))
                .collect(),
            relations: vec![],
        });
        seen
    }

    /// Returns true if part of an argument is tainted.
    fn is_foreign(&self, before: &str, text: &str) -> bool {
        let seen = self.seen();
        let read = |json: &Option<String>, origin: Origin| {
            let values = json.iter().flat_map(|json| context::values(json));
            values
                .map(|value| (origin.clone(), value))
                .collect::<Vec<_>>()
        };
        let function = Origin::Function("tool_look_up".to_owned());
        let sources = TextSources {
            screen_texts: &seen,
            external_texts: [
                read(&self.extracted, Origin::Extraction),
                read(&self.returned, function),
            ]
            .concat(),
            user_texts: vec![self.goal.as_str()],
        };
        !sources.tainted_spans(before, text).is_empty()
    }

    fn situation_of_call(&self, rules: &Policy, function_in_tool: &str) -> ActionContext {
        let values = context::values(self.arguments());
        ActionContext::of_call(
            rules.lexicon(),
            &CallInputs {
                name: &format!("tool_{function_in_tool}"),
                function_in_tool,
                destructive: self.destructive,
                arguments: self.arguments(),
                labels: &BTreeMap::new(),
                tainted: values.iter().any(|value| self.is_foreign("", value)),
                suspected_injection: self.injected,
            },
        )
    }

    fn situation_of_action(&self, rules: &Policy) -> ActionContext {
        let (planned, action, scene, frame) =
            (self.planned(), self.action(), self.scene(), self.frame());
        let is_pointed = action.targets().next().is_some();
        let named_hosts = named_private_hosts([self.goal.as_str()]);
        ActionContext::of(
            rules.lexicon(),
            &ActionInputs {
                named_hosts: &named_hosts,
                planned: &planned,
                action: &action,
                target: is_pointed.then(|| rect(TARGET)),
                pointed_at: if self.in_bar {
                    Some(rect(BAR))
                } else if self.field.is_some() {
                    Some(rect(FIELD))
                } else {
                    (!self.around.is_empty() || self.label().is_some()).then(|| rect(TARGET))
                },
                keyboard: &KeyboardHistory {
                    line: self.before.clone(),
                    focus_may_have_moved: self.moved_on,
                },
                frame: &frame,
                scene: &scene,
                url: self.url.as_deref(),
                labels: &BTreeMap::new(),
                pasted: self.paste.as_deref(),
                tainted: match &self.paste {
                    Some(pasted) => self.is_foreign("", pasted),
                    None if self.unknown_clipboard => true,
                    None if self.middle_click.is_some() || self.middle_press.is_some() => true,
                    None => self.is_foreign(&self.before, &argument(&action).0),
                },
                suspected_injection: self.injected,
            },
        )
    }

    /// Describes the case, for the table.
    fn described(&self) -> String {
        let label = self.label().filter(|_| self.on.is_none());
        let mut words = match (&self.call, label) {
            (Some(name), _) => format!("call_function {name:?} {}", self.arguments()),
            (None, Some(label)) => format!("{} {label:?}", self.action().kind()),
            (None, None) => {
                let action = self.action();
                format!("{} {:?}", action.kind(), argument(&action).0)
            }
        };
        let mut add = |what: &str, value: String| {
            if !value.is_empty() && value != "[]" {
                let _ = write!(words, ", {what} {value}");
            }
        };
        add("on", self.on.clone().unwrap_or_default());
        if self.click_again.is_some() {
            add("where", "the pointer is".to_owned());
        }
        add("as", self.kind.clone().unwrap_or_default());
        add("beside", self.beside.clone().unwrap_or_default());
        add("next button", self.next_button.clone().unwrap_or_default());
        add(
            "button below",
            self.button_below.clone().unwrap_or_default(),
        );
        add("field", self.field.clone().unwrap_or_default());
        add("in", self.app.clone().unwrap_or_default());
        add("window", self.window.clone());
        add(
            "at",
            self.url.clone().or(self.bar.clone()).unwrap_or_default(),
        );
        add("below", self.around.join(" / "));
        add("to", self.intent.clone());
        let pasted = self.paste.clone().unwrap_or_default();
        add("to paste", pasted.replace('\n', "\\n"));
        add("goal:", self.goal.clone());
        add("read before:", self.screen.join(" / "));
        add(
            "extracted before:",
            self.extracted.clone().unwrap_or_default(),
        );
        add(
            "returned before:",
            self.returned.clone().unwrap_or_default(),
        );
        add("entered before:", self.before.clone());
        if self.moved_on {
            words += ", after Tab";
        }
        if self.in_bar {
            words += ", in the address bar";
        }
        if self.unknown_clipboard {
            words += ", unknown clipboard";
        }
        if self.destructive {
            words += ", declared destructive";
        }
        if self.injected {
            words += ", injection suspected";
        }
        words
    }
}

fn verdict(decision: &PolicyDecision) -> (&'static str, BTreeSet<String>) {
    let names =
        |rules: &[motorium_policy::PolicyRule]| rules.iter().map(|rule| rule.id.clone()).collect();
    match decision {
        PolicyDecision::Allow => ("allowed", BTreeSet::new()),
        PolicyDecision::RequireApproval(rules) => ("approval", names(rules)),
        PolicyDecision::Deny(rules) => ("refused", names(rules)),
    }
}

#[test]
fn every_policy_case_has_the_expected_verdict() {
    let cases: BTreeMap<String, Vec<Case>> = toml::from_str(include_str!("cases.toml")).unwrap();
    let rules = Policy::default();
    let (mut table, mut wrong, mut count) = (String::new(), String::new(), 0);
    for (group, cases) in &cases {
        let _ = writeln!(table, "{group}");
        for case in cases {
            count += 1;
            let decision = rules.judge(LOCAL, &case.situation(&rules)).decision;
            let (verdict, by) = verdict(&decision);
            let by: Vec<&str> = by.iter().map(String::as_str).collect();
            let row = format!("  {verdict:<9}{:<28}{}\n", by.join(" "), case.described());
            table += &row;
            let expected_rules = case.rules.iter().all(|rule| by.contains(&rule.as_str()));
            if verdict != case.expect || !expected_rules {
                let _ = write!(wrong, "expected {} {:?}:{row}", case.expect, case.rules);
            }
        }
    }
    println!("{table}\n{count} situations");
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(count >= 150, "only {count}");
    insta::assert_snapshot!("verdicts", table);
}

/// Reads a file of the repository by its path from the crate.
fn read(path: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn at_most_two_percent_of_harmless_steps_require_approval() {
    let steps: BTreeMap<String, Vec<Case>> =
        toml::from_str(&read("tests/policy/harmless.toml")).unwrap();
    let rules = Policy::default();
    let (mut different, mut asking) = (BTreeSet::new(), String::new());
    let mut asked = 0;
    for step in steps.values().flatten() {
        let decision = rules.judge(LOCAL, &step.situation(&rules)).decision;
        let (verdict, by) = verdict(&decision);
        assert!(
            different.insert(format!("{step:?}")),
            "twice: {}",
            step.described()
        );
        if verdict != "allowed" {
            asked += 1;
            let by: Vec<String> = by.into_iter().collect();
            let _ = writeln!(asking, "{verdict} {}: {}", by.join(" "), step.described());
        }
    }
    println!("{asking}\n{asked} of {} harmless steps", different.len());
    assert!(different.len() >= 500, "only {}", different.len());
    assert!(asked * 50 <= different.len(), "more than 2 %:\n{asking}");
    // The figure is published.
    let published = format!("{asked} of {} harmless steps", different.len());
    let documentation = read("../../docs/policy.md").replace('\n', " ");
    assert!(
        documentation.contains(&published),
        "docs/policy.md lacks: {published}"
    );
    insta::assert_snapshot!("harmless_steps_that_ask", asking);
}

#[test]
fn unusable_policies_are_reported_with_the_error() {
    let words = include_str!("../../../text/src/lexicon.toml");
    let check = |policies: &str, words: &str, expected: &str| {
        let error = Policy::read(policies, words).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(
        "permit (principal, action",
        words,
        "unexpected end of input",
    );
    let misspelt =
        "permit (principal, action, resource) when { resource.meaning.contains(\"pay\") };";
    check(misspelt, words, "meaning");
    check(
        "permit (principal, action, resource);",
        "meanings = 3",
        "meanings",
    );
    let keys = "[meanings]\n[[keys]]\nchord = \"ctrl+frobnicate\"\nmeaning = \"x\"";
    check("permit (principal, action, resource);", keys, "frobnicate");
}

/// Tests a demand that a policy makes by forbidding this Cedar action.
fn check_demand(action: &str, asked: fn(&Judgement) -> bool) {
    let case = Case {
        click: Some("Next".to_owned()),
        ..Case::default()
    };
    let demands = |policies: &str| {
        let words = include_str!("../../../text/src/lexicon.toml");
        let rules = Policy::read(policies, words).unwrap();
        asked(&rules.judge(LOCAL, &case.situation(&rules)))
    };
    let forbid = |condition: &str| {
        format!(
            r#"permit (principal, action, resource);
            forbid (principal, action == Action::"{action}", resource) when {{ {condition} }};"#
        )
    };
    assert!(demands(&forbid("resource.changes")));
    assert!(!demands(&forbid("resource.navigates")));
    assert!(!demands(motorium_policy::engine::CAREFUL));
    // Policies from before there was this action.
    let older = r#"permit (principal, action == Action::"perform", resource);
        permit (principal, action == Action::"performUnattended", resource);"#;
    assert!(!demands(older));
    let older = r#"permit (principal, action == Action::"perform", resource);
        forbid (principal, action == Action::"performUnattended", resource);"#;
    assert!(!demands(older));
}

#[test]
fn policies_may_demand_a_check_of_the_pointer() {
    check_demand("performUnverified", |judgement| judgement.verify_pointer);
}

#[test]
fn policies_may_demand_a_second_person() {
    check_demand("performOnOwnApproval", |judgement| judgement.second_person);
}

#[test]
fn an_own_policy_judges_typed_addresses_like_opened_ones() {
    let own = r#"
        @id("all") permit (principal, action, resource);
        @id("inside") forbid (principal, action == Action::"perform", resource)
        when {
          resource.address_hosts.containsAny(["127.0.0.1", "[::1]", "localhost", "intranet", "www.intranet.com"]) ||
          resource.address_schemes.contains("file")
        };
    "#;
    let rules = Policy::read(own, include_str!("../../../text/src/lexicon.toml")).unwrap();
    let verdict_of = |case: &Case| {
        let decision = rules.judge(LOCAL, &case.situation(&rules)).decision;
        verdict(&decision).0
    };
    let check = |address: &str, expected: &str| {
        let browser = Case {
            app: Some("chromium".to_owned()),
            ..Case::default()
        };
        let opened = Case {
            open: Some(address.to_owned()),
            ..browser.clone()
        };
        assert_eq!(verdict_of(&opened), expected, "open_url {address}");
        for url in [None, Some("https://example.org/".to_owned())] {
            for (text, before) in [
                (address.to_owned(), ""),
                (format!("{address}\n"), ""),
                (address[1..].to_owned(), &address[..1]),
            ] {
                let typed = Case {
                    r#type: Some(text),
                    before: before.to_owned(),
                    in_bar: true,
                    url: url.clone(),
                    ..browser.clone()
                };
                assert_eq!(verdict_of(&typed), expected, "{}", typed.described());
            }
            let pasted = Case {
                paste: Some(address.to_owned()),
                in_bar: true,
                url: url.clone(),
                ..browser.clone()
            };
            assert_eq!(verdict_of(&pasted), expected, "{}", pasted.described());
            let key_by_key = Case {
                keys: Some("Return".to_owned()),
                before: address.to_owned(),
                moved_on: true,
                url,
                ..browser.clone()
            };
            assert_eq!(
                verdict_of(&key_by_key),
                expected,
                "{}",
                key_by_key.described()
            );
        }
    };
    for address in [
        "127.0.0.1",
        "http://127.0.0.1:8080/admin",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "[::1]/",
        "::1",
        "localhost",
        "LOCALHOST:3000",
        "localhost./x",
        "intranet/wiki",
        "intranet:8080",
        "file:///etc/passwd",
        "view-source:file:///etc/passwd",
        "view-source:http://localhost/",
        "/etc/passwd",
        "ann:pw@localhost",
        "ann@localhost",
        "ann@127.0.0.1",
        "::1/admin",
        "//localhost/x",
        "file:a@b/etc/passwd",
        "file:80/etc/passwd",
        "file://a@b/etc/passwd",
        "ile:/etc/passwd",
        "view-source:file:a@b/etc/passwd",
    ] {
        check(address, "refused");
    }
    for (keys, name, expected) in [
        ("ctrl+Return", "intranet", "refused"),
        ("Return", "intranet", "allowed"),
        ("shift+ctrl+KP_Enter", "intranet", "refused"),
        ("ctrl+Return", "www.intranet", "refused"),
        ("ctrl+Return", "example", "allowed"),
        ("ctrl+Return", "the intranet", "allowed"),
    ] {
        let completed = Case {
            keys: Some(keys.to_owned()),
            before: name.to_owned(),
            in_bar: true,
            app: Some("chromium".to_owned()),
            ..Case::default()
        };
        assert_eq!(
            verdict_of(&completed),
            expected,
            "{}",
            completed.described()
        );
    }
    for address in [
        "https://example.org",
        "example.org/a",
        "cheap flights",
        "intranet",
        "ann@example.org",
    ] {
        check(address, "allowed");
    }
}

#[test]
fn a_title_that_looks_like_an_address_does_not_become_the_host() {
    let own = r#"
        @id("all") permit (principal, action, resource);
        @id("elsewhere") forbid (principal, action == Action::"perform", resource)
        when { resource.changes && !(resource.host_known && resource.host == "example.org") };
    "#;
    let rules = Policy::read(own, include_str!("../../../text/src/lexicon.toml")).unwrap();
    let verdict_at = |url: Option<&str>, shown: &str| {
        let case = Case {
            click: Some("Next".to_owned()),
            app: Some("chromium".to_owned()),
            url: url.map(str::to_owned),
            bar: Some(shown.to_owned()),
            ..Case::default()
        };
        verdict(&rules.judge(LOCAL, &case.situation(&rules)).decision).0
    };
    assert_eq!(
        verdict_at(Some("https://example.org/"), "evil.example"),
        "allowed"
    );
    assert_eq!(
        verdict_at(Some("https://evil.example/"), "example.org"),
        "refused"
    );
    assert_eq!(verdict_at(None, "example.org"), "refused");
    assert_eq!(verdict_at(None, "https://example.org/"), "refused");
}

#[test]
fn policies_may_refer_to_the_principal_and_labels() {
    let own = r#"
        @id("all") permit (principal, action, resource);
        @id("night") forbid (principal in User::"night", action, resource) when { resource.changes };
        @id("guests") forbid (principal in Tenant::"guests", action, resource) when { resource.changes };
        @id("viewers") forbid (principal in Role::"viewer", action, resource) when { resource.changes };
        @id("production") @because("nothing is changed there")
        forbid (principal, action == Action::"perform", resource)
        when { resource.labels.contains("env=production") && resource.changes };
    "#;
    let rules = Policy::read(own, include_str!("../../../text/src/lexicon.toml")).unwrap();
    let case = Case {
        click: Some("Next".to_owned()),
        ..Case::default()
    };
    let judge = |name, tenant, role: &str, labels: &[(&str, &str)]| {
        let mut situation = case.situation(&rules);
        situation.labels = labels
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let roles = [role.to_owned()];
        let requester = Requester {
            task: "tasks/t",
            creator: Creator::Principal {
                name,
                tenant,
                roles: &roles,
            },
        };
        match rules.judge(requester, &situation).decision {
            PolicyDecision::Allow => "allowed".to_owned(),
            PolicyDecision::Deny(by) => by[0].id.clone(),
            PolicyDecision::RequireApproval(_) => "approval".to_owned(),
        }
    };
    assert_eq!(judge("day", "acme", "author", &[]), "allowed");
    assert_eq!(judge("night", "acme", "author", &[]), "night");
    assert_eq!(judge("day", "guests", "author", &[]), "guests");
    assert_eq!(judge("day", "acme", "viewer", &[]), "viewers");
    let production = [("env", "production")];
    assert_eq!(judge("day", "acme", "author", &production), "production");
    // A label makes no principal, neither to gain rights nor to frame others.
    for label in [("user", "night"), ("user", "day"), ("client", "night")] {
        assert_eq!(judge("day", "acme", "author", &[label]), "allowed");
        assert_eq!(judge("night", "acme", "author", &[label]), "night");
    }
}

#[test]
fn recordings_of_earlier_versions_are_judged_by_labels() {
    let own = r#"
        @id("all") permit (principal, action, resource);
        @id("night") forbid (principal in User::"night", action, resource);
        @id("crm") forbid (principal in Client::"crm", action, resource);
    "#;
    let rules = Policy::read(own, include_str!("../../../text/src/lexicon.toml")).unwrap();
    let case = Case {
        click: Some("Next".to_owned()),
        ..Case::default()
    };
    for (label, value) in [("user", "night"), ("client", "crm")] {
        let labels = [(label.to_owned(), value.to_owned())].into();
        let requester = Requester {
            task: "tasks/t",
            creator: Creator::Labels(&labels),
        };
        let decision = rules.judge(requester, &case.situation(&rules)).decision;
        assert!(matches!(decision, PolicyDecision::Deny(by) if by[0].id == value));
    }
}

#[test]
fn policies_that_name_a_client_are_refused() {
    let check = |rule: &str, refused: bool| {
        let rules = Policy::read(rule, include_str!("../../../text/src/lexicon.toml")).unwrap();
        let checked = rules.check_entities();
        assert_eq!(checked.is_err(), refused, "{rule}: {checked:?}");
    };
    check(
        r#"@id("a") forbid (principal in Client::"x", action, resource);"#,
        true,
    );
    check(
        r#"@id("a") forbid (principal, action, resource) when { principal in Client::"x" };"#,
        true,
    );
    check(
        r#"@id("a") permit (principal, action, resource)
        unless { principal in [Client::"x", Client::"y"] };"#,
        true,
    );
    check(
        r#"@id("a") forbid (principal in User::"Client", action, resource)
        when { resource.labels.contains("client=x") };"#,
        false,
    );
    check(motorium_policy::engine::CAREFUL, false);
}

impl Case {
    /// Returns the case as a described step, if nothing more is said about it.
    fn as_described_step(&self) -> Option<DescribedStep<'_>> {
        let plain = Case {
            expect: self.expect.clone(),
            rules: self.rules.clone(),
            click: self.click.clone(),
            keys: self.keys.clone(),
            r#type: self.r#type.clone(),
            open: self.open.clone(),
            start: self.start.clone(),
            around: self.around.clone(),
            field: self.field.clone(),
            app: self.app.clone(),
            window: self.window.clone(),
            url: self.url.clone(),
            ..Case::default()
        };
        if format!("{plain:?}") != format!("{self:?}") {
            return None;
        }
        let action = match self.action() {
            Action::Click {
                button,
                count,
                modifiers,
                ..
            } => Action::Click {
                at: Some(POINT),
                button,
                count,
                modifiers,
            },
            action => action,
        };
        let field = self
            .field
            .clone()
            .map(|label| DescribedTarget::Field { label });
        let target = self.click.clone().map(|label| DescribedTarget::Element {
            label,
            kind: ElementKind::Button,
        });
        Some(DescribedStep {
            action,
            intent: "",
            target: target.or(field),
            surroundings: Surroundings {
                texts: &self.around,
                application: self.app.as_deref().unwrap_or("mousepad"),
                window_title: &self.window,
                url: self.url.as_deref(),
                user_text: &self.goal,
            },
        })
    }
}

#[test]
fn a_described_step_is_judged_as_the_step_on_a_screen() {
    let cases: BTreeMap<String, Vec<Case>> = toml::from_str(include_str!("cases.toml")).unwrap();
    let rules = Policy::default();
    let mut judged = 0;
    for case in cases.values().flatten() {
        let Some(step) = case.as_described_step() else {
            continue;
        };
        judged += 1;
        let decision = rules.judge(LOCAL, &step.context(rules.lexicon())).decision;
        assert_eq!(verdict(&decision).0, case.expect, "{}", case.described());
    }
    assert!(judged > 200, "only {judged} cases are plain enough");
}
