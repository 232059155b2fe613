//! Images of the user in a conversation: each is sent once, and stays when screens are removed.

use motorium_planner::backends::claude_computer::ClaudeComputer;
use motorium_planner::backends::openai_computer::{ConversationStorage, OpenAiComputer};
use motorium_proto::domain::effect::ActionResult::{Performed, Refused};
use motorium_proto::domain::session::UserImage;
use serde_json::{Value, json};

use super::fake_task::FakeTask;
use super::request_checks::of_type;
use crate::fixtures::fixture;
use crate::user_images::{base64, user_image};

fn claude(name: &str) -> Value {
    fixture(&format!("anthropic/{name}.json"))
}

fn openai(name: &str) -> Value {
    fixture(&format!("openai-responses/{name}.json"))
}

/// Returns how often each image is in a request.
fn counts(body: &Value, images: &[&UserImage]) -> Vec<usize> {
    let body = body.to_string();
    let count = |image: &&UserImage| body.matches(&base64(image)).count();
    images.iter().map(count).collect()
}

fn photos() -> [UserImage; 2] {
    [
        user_image("plan.png", 301, 1),
        user_image("photo.png", 302, 2),
    ]
}

#[test]
fn claude_keeps_an_image_where_it_was_said_and_a_later_one_comes_with_the_results() {
    let [plan, photo] = photos();
    let mut world = FakeTask::new(ClaudeComputer, "claude-opus-4-6", Some("user-images"));
    world.request.context.images = vec![plan.clone()];
    let reading = world.decide(&[claude("click")]);
    let first = world.last_sent.clone().unwrap();
    assert_eq!(counts(&first, &[&plan]), [1]);
    world.carry_out(&reading, &[Performed]);
    world.request.context.images.push(photo.clone());
    let asked = world.ask().body;
    assert_eq!(counts(&asked, &[&plan, &photo]), [1, 1]);
    let parts = |body: &Value| body["messages"][0]["content"].as_array().unwrap()[..3].to_vec();
    // The fourth is marked for the cache while it is the newest.
    assert!(parts(&asked) == parts(&first), "the prefix stays cached");
    let result = &of_type(&asked["messages"][2], "tool_result")[0]["content"];
    let kinds: Vec<&str> = result.as_array().unwrap().iter().map(kind).collect();
    assert_eq!(kinds, ["text", "text", "image", "image"]);
    let label = "The image \"photo.png\", which the user attached before step 2:";
    assert_eq!(result[1]["text"], label);
}

fn kind(part: &Value) -> &str {
    part["type"].as_str().unwrap()
}

#[test]
fn claude_is_shown_an_image_after_an_error_which_may_only_have_text() {
    let [_, photo] = photos();
    let mut world = FakeTask::new(ClaudeComputer, "claude-opus-4-6", Some("user-images-error"));
    let reading = world.decide(&[claude("click")]);
    world.carry_out(&reading, &[Refused]);
    world.request.context.images = vec![photo.clone()];
    let asked = world.ask().body;
    let content = asked["messages"][2]["content"].as_array().unwrap();
    let kinds: Vec<&str> = content.iter().map(kind).collect();
    assert_eq!(kinds, ["tool_result", "image", "image"]);
    let error = content[0]["content"].as_str().unwrap();
    assert!(
        error.ends_with("which the user attached before step 2:"),
        "{error}"
    );
    assert_eq!(content[1]["source"]["data"], base64(&photo));
}

#[test]
fn openai_is_not_sent_an_image_again_that_it_keeps() {
    let [plan, photo] = photos();
    let stored = OpenAiComputer {
        conversation_storage: ConversationStorage::Stored,
    };
    let mut world = FakeTask::new(stored, "gpt-5.6-sol", Some("user-images"));
    world.request.context.images = vec![plan.clone()];
    let reading = world.decide(&[openai("batch")]);
    assert_eq!(counts(world.last_sent.as_ref().unwrap(), &[&plan]), [1]);
    world.carry_out(&reading, &[Performed; 4]);
    world.request.context.images.push(photo.clone());
    let mut answer = openai("batch");
    answer["id"] = json!("resp_3");
    answer["output"][1]["call_id"] = json!("call_3");
    let reading = world.decide(&[answer]);
    let second = world.last_sent.clone().unwrap();
    assert_eq!(counts(&second, &[&plan, &photo]), [0, 1]);
    let label = "The image \\\"photo.png\\\", which the user attached before step 2:";
    assert!(second.to_string().contains(label));
    world.carry_out(&reading, &[Performed; 4]);
    assert_eq!(counts(&world.ask().body, &[&plan, &photo]), [0, 0]);
}

#[test]
fn a_conversation_that_is_sent_as_a_whole_has_each_image_once() {
    let [plan, photo] = photos();
    let stateless = OpenAiComputer {
        conversation_storage: ConversationStorage::Stateless,
    };
    let mut world = FakeTask::new(stateless, "gpt-5.6-sol", Some("user-images-stateless"));
    world.request.context.images = vec![plan.clone(), photo.clone()];
    for _ in 0..3 {
        let reading = world.decide(&[openai("batch")]);
        assert_eq!(
            counts(world.last_sent.as_ref().unwrap(), &[&plan, &photo]),
            [1, 1]
        );
        world.carry_out(&reading, &[Performed; 4]);
    }
}

#[test]
fn images_of_the_user_stay_when_screens_are_removed() {
    let [plan, _] = photos();
    let mut world = FakeTask::new(ClaudeComputer, "claude-opus-4-6", None);
    world.retain_images(100, 1);
    world.model().max_images = 10;
    world.request.context.images = vec![plan.clone()];
    for step in 1..=8 {
        let reading = world.decide(&[claude("click")]);
        let sent = world.last_sent.clone().unwrap();
        assert_eq!(counts(&sent, &[&plan]), [1], "step {step}");
        let images = of_type(&sent["messages"], "image").len();
        // Four are kept free for closer looks.
        assert!(images <= 6, "step {step}: {images}");
        world.carry_out(&reading, &[Performed]);
    }
}

#[test]
fn an_image_that_is_not_sent_any_more_is_replaced_by_words() {
    let [plan, photo] = photos();
    let mut world = FakeTask::new(ClaudeComputer, "claude-opus-4-6", None);
    world.request.context.images = vec![plan.clone(), photo.clone()];
    let reading = world.decide(&[claude("click")]);
    world.carry_out(&reading, &[Performed]);
    world.request.context.images = vec![photo.clone()];
    let asked = world.ask().body;
    assert_eq!(counts(&asked, &[&plan, &photo]), [0, 1]);
    assert!(
        asked
            .to_string()
            .contains("(An image of the user, which is no longer shown.)")
    );
}
