//! Steps described in a sentence, judged by the active policy.
//!
//! The sentence is read by the phrasebook. Nothing is performed, and no screen is looked at: what a step acts on has the label in
//! the sentence and the texts around it that the caller gives.

use motorium_kit::principal::Principal;
use motorium_phrasebook::grammar::{self, EditCommand, Instruction, TargetPhrase};
use motorium_policy::described_step::{DescribedStep, DescribedTarget, POINT, Surroundings};
use motorium_policy::{Creator, Judgement, Policy, PolicyDecision, Requester};
use motorium_proto::domain::action::{Action, Button, ControlCharacters, ScrollAmount, Text};
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::key::Key;
use motorium_proto::error::FieldError;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::policy_trial::Decision;

use super::ownership;
use super::policy::{PolicySettings, rule_message};

/// Maximum number of steps of a sentence that are judged.
const MAX_STEPS: usize = 20;
/// Maximum number of texts around what a step acts on.
const MAX_SURROUNDING_TEXTS: usize = 20;
/// Name of a task that does not exist, for rules that name one.
const TRIED: &str = "tasks/trial";

impl PolicySettings {
    /// Judges the steps of a sentence for a task of a principal.
    pub(super) fn test(
        &self,
        principal: &Principal,
        request: &wire::TestPolicyRequest,
    ) -> Result<Vec<wire::PolicyTrial>, FieldError> {
        if request.surrounding_texts.len() > MAX_SURROUNDING_TEXTS {
            let problem = format!("has more than {MAX_SURROUNDING_TEXTS} texts");
            return Err(FieldError::new("surrounding_texts", problem));
        }
        let clauses = grammar::parse(&request.sentence).map_err(|error| {
            let problem = format!("{error}; name a step as `click \"Pay now\"` does");
            FieldError::new("sentence", problem)
        })?;
        if clauses.len() > MAX_STEPS {
            let problem = format!("has more than {MAX_STEPS} steps; try them in parts");
            return Err(FieldError::new("sentence", problem));
        }
        let policy = self.active();
        let trials = clauses
            .iter()
            .map(|clause| self.trial(&policy, principal, request, &clause.instruction));
        Ok(trials.collect())
    }

    fn trial(
        &self,
        policy: &Policy,
        principal: &Principal,
        request: &wire::TestPolicyRequest,
        instruction: &Instruction,
    ) -> wire::PolicyTrial {
        let words = instruction.to_string();
        let step = DescribedStep {
            action: action(instruction),
            intent: &words,
            target: described_target(instruction),
            surroundings: Surroundings {
                texts: &request.surrounding_texts,
                application: &request.application,
                window_title: &request.window_title,
                url: Some(request.url.as_str()).filter(|url| !url.is_empty()),
                user_text: &request.sentence,
            },
        };
        let roles: Vec<String> = principal.roles().iter().map(ToString::to_string).collect();
        let requester = Requester {
            task: TRIED,
            creator: Creator::Principal {
                name: principal.name(),
                tenant: principal.tenant(),
                roles: &roles,
            },
        };
        let Judgement {
            decision,
            verify_pointer,
            second_person,
        } = policy.judge(requester, &step.context(policy.lexicon()));
        let (decision, rules) = match decision {
            PolicyDecision::Allow => (Decision::Allow, Vec::new()),
            PolicyDecision::RequireApproval(rules) => (Decision::RequireApproval, rules),
            PolicyDecision::Deny(rules) => (Decision::Deny, rules),
        };
        let applies = |id: &str| rules.iter().any(|rule| rule.id == id);
        let described = policy.descriptions().into_iter();
        let visible =
            described.filter(|it| applies(&it.rule.id) && ownership::sees_rule(principal, it));
        wire::PolicyTrial {
            step: words,
            decision: decision.into(),
            rules: visible.map(rule_message).collect(),
            second_person: decision == Decision::RequireApproval
                && (second_person || self.needs_second_person()),
            verify_pointer,
        }
    }
}

/// Returns what a step acts on. A field that text is entered into was clicked before.
fn described_target(instruction: &Instruction) -> Option<DescribedTarget> {
    let target = instruction.target()?;
    let named = |target: &TargetPhrase| target.text.clone().unwrap_or_default();
    let default = match instruction {
        Instruction::Type { .. }
        | Instruction::PasteText { .. }
        | Instruction::Clear { .. }
        | Instruction::Edit { .. } => {
            return Some(DescribedTarget::Field {
                label: named(target),
            });
        }
        Instruction::Toggle { .. } => ElementKind::Checkbox,
        _ => ElementKind::Button,
    };
    Some(DescribedTarget::Element {
        label: named(target),
        kind: target.kind.unwrap_or(default),
    })
}

/// Returns the action that carries an instruction out. Of several, the one that has its effect.
fn action(instruction: &Instruction) -> Action<CapturePoint> {
    let click = |button, count, modifiers: &[Key]| Action::Click {
        at: Some(POINT),
        button,
        count,
        modifiers: modifiers.to_vec(),
    };
    let chord = |keys: &str| Action::KeyChord {
        keys: Key::parse_chord("keys", keys).expect("the chords of this module are known"),
        repeat: 1,
    };
    let typed = |text: &Text| Action::TypeText {
        text: text.clone(),
        control_characters: ControlCharacters::AsKeys,
    };
    match instruction {
        Instruction::Click {
            target,
            button,
            count,
            modifiers,
        } => match target {
            Some(_) => click(*button, *count, modifiers),
            None => Action::Click {
                at: None,
                button: *button,
                count: *count,
                modifiers: modifiers.clone(),
            },
        },
        Instruction::Toggle { .. } | Instruction::Choose { .. } => click(Button::Left, 1, &[]),
        Instruction::Hover { .. } => Action::Move { to: POINT },
        Instruction::Type { text, .. } => typed(text),
        Instruction::PasteText { text, .. } => Action::Paste {
            text: Some(text.clone()),
        },
        Instruction::Clear { .. } => chord("Delete"),
        Instruction::Press { keys, repeat } => Action::KeyChord {
            keys: keys.clone(),
            repeat: *repeat,
        },
        Instruction::Hold { keys, duration } => Action::HoldKey {
            keys: keys.clone(),
            duration: duration.unwrap_or_default(),
        },
        Instruction::Scroll { .. } => Action::Scroll {
            at: Some(POINT),
            amount: ScrollAmount::Notches { x: 0, y: 3 },
            modifiers: Vec::new(),
        },
        Instruction::Drag { .. } => Action::Drag {
            path: vec![CapturePoint::zero(), POINT],
            button: Button::Left,
            modifiers: Vec::new(),
            duration: None,
            hold: None,
        },
        Instruction::Edit { command, .. } => match command {
            EditCommand::Copy => chord("ctrl+c"),
            EditCommand::Cut => chord("ctrl+x"),
            EditCommand::Paste => Action::Paste { text: None },
            EditCommand::SelectAll => chord("ctrl+a"),
            EditCommand::Undo => chord("ctrl+z"),
            EditCommand::Redo => chord("ctrl+shift+z"),
        },
        Instruction::OpenUrl { url } => Action::OpenUrl { url: url.clone() },
        Instruction::Launch { name } => Action::OpenApplication { name: name.clone() },
        Instruction::FocusWindow { .. }
        | Instruction::GoBack
        | Instruction::GoForward
        | Instruction::Refresh => Action::Refresh,
        Instruction::Wait { .. } | Instruction::WaitForText { .. } | Instruction::Verify { .. } => {
            Action::Move { to: POINT }
        }
    }
}
