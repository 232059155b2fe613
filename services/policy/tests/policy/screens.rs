//! Scores the default policy on whole screens, in `screens.toml`, on which harmless controls stand beside risky ones.
//!
//! The layout is that of a plain page: rows of cells, from left to right. It draws nothing, and recognises nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use motorium_policy::{ActionContext, ActionInputs, Policy};
use motorium_proto::domain::action::{Action, Button, ControlCharacters, Target, Text, TextAnchor};
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::element::{Element, ElementKind, Scene};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::FrameId;
use motorium_proto::domain::key::Key;
use motorium_task::keyboard::KeyboardHistory;
use serde::Deserialize;

use crate::{Case, LOCAL, element, read, rect, verdict};

/// Corner of the first cell, below the address bar.
const ORIGIN: (i32, i32) = (200, 180);
const HEIGHT: i32 = 24;
/// Distance of two rows, and of rows that follow each other closely.
const ROW_PITCH: i32 = 36;
const LINE_PITCH: i32 = HEIGHT;
const FIELD_WIDTH: i32 = 220;
/// Minimum width of the column of labels in front of fields.
const LABEL_WIDTH: i32 = 140;
const GAP: i32 = 14;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Screens {
    screen: Vec<Screen>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Screen {
    name: String,
    app: String,
    #[serde(default)]
    held_out: bool,
    #[serde(default)]
    rows: Vec<String>,
    #[serde(default)]
    lines: Vec<String>,
    /// Distance of two cells in a row.
    #[serde(default = "default_gap")]
    gap: i32,
    #[serde(default)]
    clicks: Vec<String>,
    #[serde(default)]
    safe: Vec<Step>,
    #[serde(default)]
    risky: Vec<Step>,
}

fn default_gap() -> i32 {
    GAP
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Step {
    click: Option<String>,
    drag: Option<String>,
    to: String,
    r#type: Option<String>,
    keys: Option<String>,
    into: String,
    row: Option<usize>,
    moved_on: bool,
    before: String,
    intent: String,
    rule: String,
}

/// A cell with its row, counted from 1.
struct Cell {
    row: usize,
    element: Element,
    bounds: CaptureRect,
}

impl Screen {
    fn cells(&self) -> Vec<Cell> {
        let (rows, pitch) = match self.rows.is_empty() {
            false => (&self.rows, ROW_PITCH),
            true => (&self.lines, LINE_PITCH),
        };
        let mut cells = Vec::new();
        for (row, (text, y)) in rows
            .iter()
            .zip((ORIGIN.1..).step_by(pitch as usize))
            .enumerate()
        {
            let mut x = ORIGIN.0;
            let written: Vec<(ElementKind, &str)> = text.split(" | ").map(kind_and_text).collect();
            for (column, (kind, text)) in written.iter().enumerate() {
                let width = width_of(*kind, text);
                let bounds = rect((x, y, width, HEIGHT));
                let number = u32::try_from(cells.len()).unwrap() + 1;
                cells.push(Cell {
                    row: row + 1,
                    element: element(number, text, *kind, bounds),
                    bounds,
                });
                let before_field = matches!(
                    (kind, written.get(column + 1)),
                    (ElementKind::Label, Some((ElementKind::TextField, _)))
                );
                x += self.gap
                    + if before_field {
                        width.max(LABEL_WIDTH)
                    } else {
                        width
                    };
            }
        }
        cells
    }

    fn harmless(&self) -> Vec<Step> {
        let clicks = self.clicks.iter().map(|label| Step {
            click: Some(label.clone()),
            ..Step::default()
        });
        self.safe.iter().cloned().chain(clicks).collect()
    }

    fn context(&self, policy: &Policy, step: &Step) -> ActionContext {
        let cells = self.cells();
        let find = |label: &str, row: Option<usize>| {
            let is_meant = |cell: &&Cell| {
                cell.element.content == label && row.is_none_or(|row| cell.row == row)
            };
            let found = cells.iter().find(is_meant);
            found
                .unwrap_or_else(|| panic!("{}: no {label:?} in {row:?}", self.name))
                .bounds
        };
        let (action, target, focus) = match step {
            Step {
                click: Some(label), ..
            } => {
                let target = find(label, step.row);
                (click(target.center()), Some(target), None)
            }
            Step {
                drag: Some(label), ..
            } => {
                let target = find(&step.to, step.row);
                let path = vec![find(label, None).center(), target.center()];
                (drag(path), Some(target), None)
            }
            Step {
                r#type: Some(text), ..
            } => (typed(text), None, Some(field(&cells, &step.into))),
            Step {
                keys: Some(keys), ..
            } => (pressed(keys), None, Some(field(&cells, &step.into))),
            _ => panic!("{}: a step does nothing: {step:?}", self.name),
        };
        let to = Target::Text(TextAnchor::default());
        let planned = PlannedAction {
            action: action.clone().try_map(|_| Ok::<_, ()>(to.clone())).unwrap(),
            intent: step.intent.clone(),
            verify_pointer: false,
            repeatable: true,
        };
        let window = Case {
            app: Some(self.app.clone()),
            window: self.name.clone(),
            ..Case::default()
        };
        ActionContext::of(
            policy.lexicon(),
            &ActionInputs {
                planned: &planned,
                action: &action,
                target,
                pointed_at: target.or(focus),
                keyboard: &KeyboardHistory {
                    line: step.before.clone(),
                    focus_may_have_moved: step.moved_on,
                },
                frame: &window.frame(),
                scene: &Scene {
                    frame: FrameId::new("f"),
                    elements: cells.into_iter().map(|cell| cell.element).collect(),
                    relations: vec![],
                },
                url: None,
                labels: &BTreeMap::new(),
                named_hosts: &Default::default(),
                pasted: None,
                tainted: false,
                suspected_injection: false,
            },
        )
    }
}

fn kind_and_text(cell: &str) -> (ElementKind, &str) {
    let (kind, text) = cell
        .split_once(':')
        .unwrap_or_else(|| panic!("{cell:?} has no kind"));
    // `dropdown` is how people write it.
    let kind = kind.trim().replace("dropdown", "drop_down");
    let kind = ElementKind::from_name(&kind).unwrap_or_else(|| panic!("{kind} is no kind"));
    (kind, text.trim())
}

fn width_of(kind: ElementKind, text: &str) -> i32 {
    let letters = text
        .chars()
        .map(|letter| if letter.is_ascii() { 8 } else { 14 });
    let width: i32 = letters.sum();
    match kind {
        ElementKind::TextField => FIELD_WIDTH.max(width + 20),
        ElementKind::Icon => HEIGHT,
        ElementKind::Button | ElementKind::Tab | ElementKind::DropDown => width + 20,
        _ => width.max(20),
    }
}

/// Returns the bounds of the field that shows a text, or that comes after the label with this text.
fn field(cells: &[Cell], text: &str) -> CaptureRect {
    let is_field = |cell: &&Cell| cell.element.kind == ElementKind::TextField;
    let showing = cells
        .iter()
        .filter(is_field)
        .find(|cell| cell.element.content == text);
    let labelled = || {
        let label = cells.iter().position(|cell| cell.element.content == text)?;
        cells[label..].iter().find(is_field)
    };
    let found = showing.or_else(labelled);
    found.unwrap_or_else(|| panic!("no field {text:?}")).bounds
}

fn click(at: CapturePoint) -> Action<CapturePoint> {
    Action::Click {
        at: Some(at),
        button: Button::Left,
        count: 1,
        modifiers: vec![],
    }
}

fn drag(path: Vec<CapturePoint>) -> Action<CapturePoint> {
    Action::Drag {
        path,
        button: Button::Left,
        modifiers: vec![],
        duration: None,
        hold: None,
    }
}

fn typed(text: &str) -> Action<CapturePoint> {
    Action::TypeText {
        text: Text::Literal(text.to_owned()),
        control_characters: ControlCharacters::AsKeys,
    }
}

fn pressed(keys: &str) -> Action<CapturePoint> {
    Action::KeyChord {
        keys: Key::parse_chord("keys", keys).unwrap(),
        repeat: 1,
    }
}

/// Number of steps, and those that were judged otherwise than expected, for display.
#[derive(Default)]
struct Score {
    steps: usize,
    wrong: Vec<String>,
}

impl Score {
    fn add(&mut self, screen: &Screen, step: &Step, is_right: bool, rules: &str) {
        self.steps += 1;
        if !is_right {
            let row = format!("{}: {}: {}", screen.name, described(step), rules);
            self.wrong.push(row);
        }
    }
}

fn described(step: &Step) -> String {
    let mut words = match step {
        Step {
            click: Some(label), ..
        } => format!("click {label:?}"),
        Step {
            drag: Some(label), ..
        } => format!("drag {label:?} to {:?}", step.to),
        Step {
            r#type: Some(text), ..
        } => format!("type {text:?} into {:?}", step.into),
        _ => format!(
            "press {} in {:?}",
            step.keys.as_deref().unwrap_or_default(),
            step.into
        ),
    };
    if let Some(row) = step.row {
        let _ = write!(words, " in row {row}");
    }
    if step.moved_on {
        words += ", after Tab";
    }
    if !step.intent.is_empty() {
        let _ = write!(words, ", to {}", step.intent);
    }
    words
}

#[test]
fn at_most_two_percent_of_harmless_steps_beside_risky_controls_require_approval() {
    let screens: Screens = toml::from_str(&read("tests/policy/screens.toml")).unwrap();
    let policy = Policy::default();
    let (mut known, mut held_out, mut risky) =
        (Score::default(), Score::default(), Score::default());
    for screen in &screens.screen {
        for step in screen.harmless() {
            let decision = policy
                .judge(LOCAL, &screen.context(&policy, &step))
                .decision;
            let (verdict, by) = verdict(&decision);
            let by: Vec<String> = by.into_iter().collect();
            let score = if screen.held_out {
                &mut held_out
            } else {
                &mut known
            };
            score.add(screen, &step, verdict == "allowed", &by.join(" "));
        }
        for step in &screen.risky {
            let decision = policy.judge(LOCAL, &screen.context(&policy, step)).decision;
            let (verdict, by) = verdict(&decision);
            risky.add(
                screen,
                step,
                verdict == "approval" && by.contains(&step.rule),
                verdict,
            );
        }
    }
    let asked = known.wrong.len() + held_out.wrong.len();
    let steps = known.steps + held_out.steps;
    let asked_held_out = held_out.wrong.len();
    let asking = [known.wrong, held_out.wrong].concat().join("\n");
    println!(
        "{asking}\n{} of {} on the screens that were held out; {asked} of {steps}",
        asked_held_out, held_out.steps
    );
    assert!(
        risky.wrong.is_empty(),
        "not asked: {}",
        risky.wrong.join("\n")
    );
    assert!(
        risky.steps >= 100 && steps >= 500,
        "only {} and {steps}",
        risky.steps
    );
    assert!(asked * 50 <= steps, "more than 2 %:\n{asking}");
    // The figures are published.
    let documentation = read("../../docs/policy.md").replace('\n', " ");
    let published = [
        format!("{asked} of {steps} harmless steps beside risky controls"),
        format!("all {} risky steps", risky.steps),
    ];
    for figure in published {
        assert!(
            documentation.contains(&figure),
            "docs/policy.md lacks: {figure}"
        );
    }
    insta::assert_snapshot!("harmless_steps_beside_risky_controls_that_ask", asking);
}
