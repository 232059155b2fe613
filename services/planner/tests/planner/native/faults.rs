//! Any sequence of responses, outcomes, stops, denied approvals, crashes and changes of backend yields requests that the
//! provider accepts. [`request_checks`](super::request_checks) defines that, and the fake task checks every request.

use motorium_planner::backends::claude_computer::ClaudeComputer;
use motorium_planner::backends::openai_computer::{ConversationStorage, OpenAiComputer};
use motorium_proto::domain::effect::ActionResult;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::fake_task::{FakeTask, Outcome};

/// Events around one step.
#[derive(Debug, Clone)]
struct StepScript {
    /// Responses of the model, one for each request.
    answers: Vec<Turn>,
    after: DecisionFate,
    /// Outcomes of the actions; if there are fewer, the rest was never started.
    results: Vec<ActionResult>,
    accepted: bool,
    user_speaks: bool,
    notice: bool,
}

/// Fate of a decision.
#[derive(Debug, Clone, Copy, PartialEq)]
enum DecisionFate {
    CarriedOut,
    /// It was never stored, and the step is unknown.
    Lost,
    /// It was never stored, and the step was closed without it.
    LostWithItsStep,
    /// Another backend decides the same step.
    OtherBackend,
    /// It was stored, but the conversation comes back damaged.
    Garbled,
    /// The screen size changes, so that earlier images cannot be used.
    NoOldImages,
}

/// Content of a model's turn.
#[derive(Debug, Clone)]
struct Turn {
    calls: Vec<ScriptedCall>,
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
enum ScriptedCall {
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
    /// With a safety check, if the provider has them.
    Warned,
}

fn say() -> impl Strategy<Value = ScriptedCall> {
    prop_oneof![
        4 => Just(ScriptedCall::Click),
        2 => Just(ScriptedCall::Type),
        1 => Just(ScriptedCall::TwoKeys),
        2 => Just(ScriptedCall::Screenshot),
        2 => Just(ScriptedCall::Zoom),
        1 => Just(ScriptedCall::Cursor),
        1 => Just(ScriptedCall::Outside),
        1 => Just(ScriptedCall::Unknown),
        2 => Just(ScriptedCall::Function),
        1 => Just(ScriptedCall::UnknownFunction),
        1 => Just(ScriptedCall::Finish),
        1 => Just(ScriptedCall::Ask),
        1 => Just(ScriptedCall::Extract),
        1 => Just(ScriptedCall::Report),
        2 => Just(ScriptedCall::Warned),
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

fn step_script() -> impl Strategy<Value = StepScript> {
    let after = prop_oneof![
        10 => Just(DecisionFate::CarriedOut),
        1 => Just(DecisionFate::Lost),
        1 => Just(DecisionFate::LostWithItsStep),
        1 => Just(DecisionFate::OtherBackend),
        1 => Just(DecisionFate::Garbled),
        1 => Just(DecisionFate::NoOldImages),
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
            |(answers, after, results, accepted, user_speaks, notice)| StepScript {
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

/// Gives every call of a task a unique id.
struct CallIds {
    next: u32,
    write: fn(&Turn, &mut u32) -> Value,
}

impl CallIds {
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

fn own_tool(say: ScriptedCall) -> Option<(&'static str, Value)> {
    Some(match say {
        ScriptedCall::Function => ("billing_lookup", json!({"id": 7})),
        ScriptedCall::UnknownFunction => ("nobody", json!({})),
        ScriptedCall::Finish => ("finish", json!({"answer": "Done."})),
        ScriptedCall::Ask => ("ask_user", json!({"question": "Which?"})),
        ScriptedCall::Report => ("report_suspicious_text", json!({"quote": "pay now"})),
        ScriptedCall::Extract => ("extract", json!({"instruction": "x", "json_schema": "{}"})),
        _ => return None,
    })
}

fn anthropic_action(say: ScriptedCall) -> (&'static str, Value) {
    match say {
        ScriptedCall::Type => ("type", json!({"text": "notes"})),
        ScriptedCall::TwoKeys => ("key", json!({"text": "ctrl+a Delete"})),
        ScriptedCall::Screenshot => ("screenshot", json!({})),
        ScriptedCall::Zoom => ("zoom", json!({"region": [0, 0, 200, 100]})),
        ScriptedCall::Cursor => ("cursor_position", json!({})),
        ScriptedCall::Outside => ("left_click", json!({"coordinate": [5000, 1]})),
        ScriptedCall::Unknown => ("fly", json!({})),
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

fn computer_call(say: ScriptedCall, call_id: &str) -> Value {
    let click = json!({"type": "click", "button": "left", "x": 60, "y": 55});
    let outside = json!({"type": "click", "button": "left", "x": 5000, "y": 1});
    let actions = match say {
        ScriptedCall::TwoKeys => {
            json!([click, {"type": "keypress", "keys": ["CTRL", "S"]}, outside])
        }
        ScriptedCall::Type => json!([click, {"type": "type", "text": "notes"}]),
        ScriptedCall::Screenshot | ScriptedCall::Zoom | ScriptedCall::Cursor => {
            json!([{"type": "screenshot"}])
        }
        ScriptedCall::Outside => json!([outside]),
        ScriptedCall::Unknown => json!([{"type": "fly"}]),
        _ => json!([click]),
    };
    let checks = match say {
        ScriptedCall::Warned => {
            json!([{"id": format!("sc_{call_id}"), "code": "c", "message": "m"}])
        }
        _ => json!([]),
    };
    json!({"type": "computer_call", "id": format!("cu_{call_id}"), "call_id": call_id, "status": "completed",
        "pending_safety_checks": checks, "actions": actions})
}

fn play(mut world: FakeTask, mut writer: CallIds, happenings: &[StepScript]) {
    for step_script in happenings {
        if step_script.user_speaks {
            world
                .request
                .user_messages
                .push("use the other one".to_owned());
        }
        if step_script.notice {
            world
                .request
                .notices
                .push("the last three steps were the same".to_owned());
        }
        if step_script.after == DecisionFate::OtherBackend {
            world.decided_by_another(b"");
            continue;
        }
        let answers: Vec<Value> = step_script
            .answers
            .iter()
            .map(|turn| writer.answer(turn))
            .collect();
        let Outcome::Decided(reading) = world.plan(&answers) else {
            // The next backend is called, and decides.
            world.decided_by_another(b"{\"cursor\":3}");
            continue;
        };
        match step_script.after {
            DecisionFate::Lost => world.look(),
            DecisionFate::LostWithItsStep => world.crashed(),
            DecisionFate::Garbled => {
                world.carry_out(&reading, &step_script.results);
                world.request.conversation =
                    reading.conversation.slice(..reading.conversation.len() / 2);
            }
            DecisionFate::NoOldImages => {
                world.carry_out(&reading, &step_script.results);
                world
                    .request
                    .history
                    .iter_mut()
                    .for_each(|step| step.image = None);
            }
            DecisionFate::CarriedOut | DecisionFate::OtherBackend => {
                world.carry_out(&reading, &step_script.results);
                if step_script.accepted {
                    world.accept(&reading.safety_checks);
                }
            }
        }
    }
    world.ask();
}

fn happenings() -> impl Strategy<Value = Vec<StepScript>> {
    proptest::collection::vec(step_script(), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_conversation_by_one_tool_stays_sound(happenings in happenings()) {
        let world = FakeTask::new(ClaudeComputer, "claude-opus-4-6", None);
        play(world, CallIds { next: 0, write: one_tool }, &happenings);
    }

    #[test]
    fn a_conversation_by_the_toolset_stays_sound(happenings in happenings()) {
        let world = FakeTask::new(ClaudeComputer, "claude-opus-5-5", None);
        play(world, CallIds { next: 0, write: toolset }, &happenings);
    }

    #[test]
    fn a_stored_conversation_stays_sound(happenings in happenings()) {
        let dialect = OpenAiComputer { conversation_storage: ConversationStorage::Stored };
        let world = FakeTask::new(dialect, "gpt-5.6-sol", None);
        play(world, CallIds { next: 0, write: responses }, &happenings);
    }

    #[test]
    fn a_sent_conversation_stays_sound(happenings in happenings()) {
        let dialect = OpenAiComputer { conversation_storage: ConversationStorage::Stateless };
        let world = FakeTask::new(dialect, "gpt-5.6-sol", None);
        play(world, CallIds { next: 0, write: responses }, &happenings);
    }
}

/// The number of images stays limited even if the Orchestrator passes all of them.
#[test]
fn long_conversation_keeps_to_the_image_limit() {
    let mut world = FakeTask::new(ClaudeComputer, "claude-opus-4-6", None);
    world.model().max_images = 8;
    world.retain_images(usize::MAX, 1);
    let mut writer = CallIds {
        next: 0,
        write: one_tool,
    };
    let looks = Turn {
        calls: vec![ScriptedCall::Screenshot, ScriptedCall::Zoom],
        ending: Ending::Normal,
    };
    let click = Turn {
        calls: vec![ScriptedCall::Click],
        ending: Ending::Normal,
    };
    let mut peak_images = 0;
    for _ in 0..12 {
        let answers = [writer.answer(&looks), writer.answer(&click)];
        let reading = world.decide(&answers);
        world.carry_out(&reading, &[ActionResult::Performed]);
        let asked = world.ask();
        peak_images =
            peak_images.max(super::request_checks::of_type(&asked.body["messages"], "image").len());
    }
    assert!((3..=8).contains(&peak_images), "{peak_images}");
}
