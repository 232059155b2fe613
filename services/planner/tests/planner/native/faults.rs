//! Any order of answers, outcomes, stops, denied approvals, crashes and changes of backend: each request is sound for its
//! provider. What is sound is in [`sound`](super::sound); the world holds every request against it.

use motorium_planner::backends::claude_computer::ClaudeComputer;
use motorium_planner::backends::openai_computer::{Keeping, OpenAiComputer};
use motorium_proto::domain::effect::ActionResult;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::world::{Outcome, World};

/// What happens around one step.
#[derive(Debug, Clone)]
struct Happening {
    /// What the model says, should it be asked so often.
    answers: Vec<Turn>,
    after: After,
    /// What came of the actions; fewer than there are means that the rest was never begun.
    results: Vec<ActionResult>,
    accepted: bool,
    user_speaks: bool,
    notice: bool,
}

/// What becomes of a decision.
#[derive(Debug, Clone, Copy, PartialEq)]
enum After {
    CarriedOut,
    /// It was never stored, and nobody knows of it.
    Lost,
    /// It was never stored, and the step was closed without it.
    LostWithItsStep,
    /// The same step is decided by another backend instead.
    OtherBackend,
    /// Stored, and the conversation does not come back as it was.
    Garbled,
    /// The screen has another size from here on; the pictures of before are of no use.
    NoOldPictures,
}

/// What a model says in a turn.
#[derive(Debug, Clone)]
struct Turn {
    calls: Vec<Say>,
    ending: Ending,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Ending {
    Normal,
    Refusal,
    CutOff,
    TooLong,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Say {
    Click,
    Type,
    TwoKeys,
    Screenshot,
    Zoom,
    Cursor,
    Outside,
    Unknown,
    Function,
    UnknownFunction,
    Finish,
    Ask,
    Extract,
    Report,
    /// With a warning of the provider, where there are such.
    Warned,
}

fn say() -> impl Strategy<Value = Say> {
    prop_oneof![
        4 => Just(Say::Click),
        2 => Just(Say::Type),
        1 => Just(Say::TwoKeys),
        2 => Just(Say::Screenshot),
        2 => Just(Say::Zoom),
        1 => Just(Say::Cursor),
        1 => Just(Say::Outside),
        1 => Just(Say::Unknown),
        2 => Just(Say::Function),
        1 => Just(Say::UnknownFunction),
        1 => Just(Say::Finish),
        1 => Just(Say::Ask),
        1 => Just(Say::Extract),
        1 => Just(Say::Report),
        2 => Just(Say::Warned),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    let ending = prop_oneof![
        12 => Just(Ending::Normal),
        1 => Just(Ending::Refusal),
        1 => Just(Ending::CutOff),
        1 => Just(Ending::TooLong),
    ];
    (proptest::collection::vec(say(), 0..4), ending)
        .prop_map(|(calls, ending)| Turn { calls, ending })
}

fn result() -> impl Strategy<Value = ActionResult> {
    prop_oneof![
        6 => Just(ActionResult::Performed),
        1 => Just(ActionResult::Refused),
        1 => Just(ActionResult::Failed),
        1 => Just(ActionResult::Unknown),
        1 => Just(ActionResult::Cancelled),
    ]
}

fn happening() -> impl Strategy<Value = Happening> {
    let after = prop_oneof![
        10 => Just(After::CarriedOut),
        1 => Just(After::Lost),
        1 => Just(After::LostWithItsStep),
        1 => Just(After::OtherBackend),
        1 => Just(After::Garbled),
        1 => Just(After::NoOldPictures),
    ];
    let answers = proptest::collection::vec(turn(), 1..5);
    let results = proptest::collection::vec(result(), 0..4).prop_map(up_to_the_first_failure);
    (
        answers,
        after,
        results,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(
            |(answers, after, results, accepted, user_speaks, notice)| Happening {
                answers,
                after,
                results,
                accepted,
                user_speaks,
                notice,
            },
        )
}

fn up_to_the_first_failure(results: Vec<ActionResult>) -> Vec<ActionResult> {
    let failed = results
        .iter()
        .position(|result| *result != ActionResult::Performed);
    let length = failed.map_or(results.len(), |first| first + 1);
    results[..length].to_vec()
}

/// Gives every call of a task a number of its own.
struct Writer {
    next: u32,
    write: fn(&Turn, &mut u32) -> Value,
}

impl Writer {
    fn answer(&mut self, turn: &Turn) -> Value {
        (self.write)(turn, &mut self.next)
    }
}

fn stop_reason(ending: Ending) -> &'static str {
    match ending {
        Ending::Normal => "tool_use",
        Ending::Refusal => "refusal",
        Ending::CutOff => "max_tokens",
        Ending::TooLong => "model_context_window_exceeded",
    }
}

fn own_tool(say: Say) -> Option<(&'static str, Value)> {
    Some(match say {
        Say::Function => ("billing_lookup", json!({"id": 7})),
        Say::UnknownFunction => ("nobody", json!({})),
        Say::Finish => ("finish", json!({"answer": "Done."})),
        Say::Ask => ("ask_user", json!({"question": "Which?"})),
        Say::Report => ("report_suspicious_text", json!({"quote": "pay now"})),
        Say::Extract => ("extract", json!({"instruction": "x", "json_schema": "{}"})),
        _ => return None,
    })
}

fn anthropic_action(say: Say) -> (&'static str, Value) {
    match say {
        Say::Type => ("type", json!({"text": "notes"})),
        Say::TwoKeys => ("key", json!({"text": "ctrl+a Delete"})),
        Say::Screenshot => ("screenshot", json!({})),
        Say::Zoom => ("zoom", json!({"region": [0, 0, 200, 100]})),
        Say::Cursor => ("cursor_position", json!({})),
        Say::Outside => ("left_click", json!({"coordinate": [5000, 1]})),
        Say::Unknown => ("fly", json!({})),
        _ => ("left_click", json!({"coordinate": [60, 55]})),
    }
}

fn anthropic(turn: &Turn, next: &mut u32, block: impl Fn(&str, Value) -> Value) -> Value {
    let mut content =
        vec![json!({"type": "thinking", "thinking": "", "signature": format!("sig{next}")})];
    for say in &turn.calls {
        *next += 1;
        let mut call = match own_tool(*say) {
            Some((name, input)) => json!({"type": "tool_use", "name": name, "input": input}),
            None => {
                let (name, input) = anthropic_action(*say);
                block(name, input)
            }
        };
        call["id"] = json!(format!("toolu_{next}"));
        content.push(call);
    }
    json!({"content": content, "stop_reason": stop_reason(turn.ending)})
}

fn one_tool(turn: &Turn, next: &mut u32) -> Value {
    anthropic(turn, next, |name, mut input| {
        input["action"] = json!(name);
        json!({"type": "tool_use", "name": "computer", "input": input})
    })
}

fn toolset(turn: &Turn, next: &mut u32) -> Value {
    anthropic(turn, next, |name, input| {
        json!({"type": "tool_use", "name": name, "toolset_name": "computer", "caller": {"type": "direct"},
            "input": input})
    })
}

fn responses(turn: &Turn, next: &mut u32) -> Value {
    *next += 1;
    let id = format!("resp_{next}");
    let mut output = Vec::new();
    for say in &turn.calls {
        *next += 1;
        output.push(json!({"type": "reasoning", "id": format!("rs_{next}"), "summary": [], "encrypted_content": "g"}));
        let call_id = format!("call_{next}");
        output.push(match own_tool(*say) {
            Some((name, arguments)) => {
                json!({"type": "function_call", "call_id": call_id, "name": name,
                "arguments": arguments.to_string()})
            }
            None => computer_call(*say, &call_id),
        });
    }
    let (status, reason) = match turn.ending {
        Ending::Normal => ("completed", Value::Null),
        Ending::Refusal => ("incomplete", json!("content_filter")),
        Ending::CutOff => ("incomplete", json!("max_output_tokens")),
        Ending::TooLong => ("failed", Value::Null),
    };
    json!({"id": id, "status": status, "output": output, "incomplete_details": {"reason": reason}})
}

fn computer_call(say: Say, call_id: &str) -> Value {
    let click = json!({"type": "click", "button": "left", "x": 60, "y": 55});
    let outside = json!({"type": "click", "button": "left", "x": 5000, "y": 1});
    let actions = match say {
        Say::TwoKeys => json!([click, {"type": "keypress", "keys": ["CTRL", "S"]}, outside]),
        Say::Type => json!([click, {"type": "type", "text": "notes"}]),
        Say::Screenshot | Say::Zoom | Say::Cursor => json!([{"type": "screenshot"}]),
        Say::Outside => json!([outside]),
        Say::Unknown => json!([{"type": "fly"}]),
        _ => json!([click]),
    };
    let checks = match say {
        Say::Warned => json!([{"id": format!("sc_{call_id}"), "code": "c", "message": "m"}]),
        _ => json!([]),
    };
    json!({"type": "computer_call", "id": format!("cu_{call_id}"), "call_id": call_id, "status": "completed",
        "pending_safety_checks": checks, "actions": actions})
}

fn play(mut world: World, mut writer: Writer, happenings: &[Happening]) {
    for happening in happenings {
        if happening.user_speaks {
            world
                .request
                .user_messages
                .push("use the other one".to_owned());
        }
        if happening.notice {
            world
                .request
                .notices
                .push("the last three steps were the same".to_owned());
        }
        if happening.after == After::OtherBackend {
            world.decided_by_another(b"");
            continue;
        }
        let answers: Vec<Value> = happening
            .answers
            .iter()
            .map(|turn| writer.answer(turn))
            .collect();
        let Outcome::Decided(reading) = world.plan(&answers) else {
            // The next backend is asked, and decides.
            world.decided_by_another(b"{\"cursor\":3}");
            continue;
        };
        match happening.after {
            After::Lost => world.look(),
            After::LostWithItsStep => world.crashed(),
            After::Garbled => {
                world.carry_out(&reading, &happening.results);
                world.request.conversation =
                    reading.conversation.slice(..reading.conversation.len() / 2);
            }
            After::NoOldPictures => {
                world.carry_out(&reading, &happening.results);
                world
                    .request
                    .history
                    .iter_mut()
                    .for_each(|step| step.image = None);
            }
            After::CarriedOut | After::OtherBackend => {
                world.carry_out(&reading, &happening.results);
                if happening.accepted {
                    world.accept(&reading.safety_checks);
                }
            }
        }
    }
    world.ask();
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    proptest::collection::vec(happening(), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_conversation_by_one_tool_stays_sound(happenings in happenings()) {
        let world = World::new(ClaudeComputer, "claude-opus-4-6", None);
        play(world, Writer { next: 0, write: one_tool }, &happenings);
    }

    #[test]
    fn a_conversation_by_the_toolset_stays_sound(happenings in happenings()) {
        let world = World::new(ClaudeComputer, "claude-opus-5-5", None);
        play(world, Writer { next: 0, write: toolset }, &happenings);
    }

    #[test]
    fn a_stored_conversation_stays_sound(happenings in happenings()) {
        let dialect = OpenAiComputer { keeping: Keeping::Stored };
        let world = World::new(dialect, "gpt-5.6-sol", None);
        play(world, Writer { next: 0, write: responses }, &happenings);
    }

    #[test]
    fn a_sent_conversation_stays_sound(happenings in happenings()) {
        let dialect = OpenAiComputer { keeping: Keeping::Sent };
        let world = World::new(dialect, "gpt-5.6-sol", None);
        play(world, Writer { next: 0, write: responses }, &happenings);
    }
}

/// Pictures would pile up if the Orchestrator gave all of them.
#[test]
fn a_long_conversation_keeps_within_the_limit_of_pictures() {
    let mut world = World::new(ClaudeComputer, "claude-opus-4-6", None);
    world.model().max_images = 8;
    world.retain_pictures(usize::MAX, 1);
    let mut writer = Writer {
        next: 0,
        write: one_tool,
    };
    let looks = Turn {
        calls: vec![Say::Screenshot, Say::Zoom],
        ending: Ending::Normal,
    };
    let click = Turn {
        calls: vec![Say::Click],
        ending: Ending::Normal,
    };
    let mut most = 0;
    for _ in 0..12 {
        let answers = [writer.answer(&looks), writer.answer(&click)];
        let reading = world.decide(&answers);
        world.carry_out(&reading, &[ActionResult::Performed]);
        let asked = world.ask();
        most = most.max(super::sound::of_type(&asked.body["messages"], "image").len());
    }
    assert!((3..=8).contains(&most), "{most}");
}
