//! Tool calls in a model's text.

use motorium_planner::response::tool_calls::{computer_use, read, words_before};

use super::describe;

fn understood(text: &str) -> Result<String, String> {
    let calls = read(text).map_err(|error| error.to_string())?;
    let commands = computer_use::read(&calls).map_err(|error| error.to_string())?;
    Ok(describe(&commands))
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(understood(text).as_deref(), Ok(expected), "{text}");
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = understood(text).expect_err(text);
    assert!(error.contains(expected), "{text}\n{error}");
}

/// Returns a JSON call with these arguments.
fn call(arguments: &str) -> String {
    format!(
        "<tool_call>\n{{\"name\": \"computer_use\", \"arguments\": {{{arguments}}}}}\n</tool_call>"
    )
}

#[test]
fn every_argument_is_honoured_or_refused() {
    for (arguments, expected) in [
        // A text with a place goes to that place.
        (
            r#""action": "type", "text": "a", "coordinate": [5, 3]"#,
            "left x1 at (5, 3); type \"a\"",
        ),
        (r#""action": "type", "text": "a", "keys": []"#, "type \"a\""),
        (r#""action": "press", "key": "enter""#, "press enter x1"),
        (
            r#""action": "scroll", "direction": "down""#,
            "scroll 0,500 pixels",
        ),
        (
            r#""action": "scroll", "direction": "left", "pixels": 300"#,
            "scroll -300,0 pixels",
        ),
        (r#""action": "done""#, "done \"\""),
        (r#""action": "fail", "text": "no""#, "fail \"no\""),
    ] {
        check(&call(arguments), expected);
    }
    for (arguments, expected) in [
        (
            r#""action": "key", "keys": "a", "coordinate": [5, 3]"#,
            "takes no `coordinate`",
        ),
        (
            r#""action": "wait", "coordinate": [5, 3]"#,
            "takes no `coordinate`",
        ),
        (
            r#""action": "mouse_move", "coordinate": [5, 3], "keys": "ctrl""#,
            "takes no `keys`",
        ),
        (
            r#""action": "left_click", "coordinate": [5, 3], "text": "a""#,
            "takes no `text`",
        ),
        (
            r#""action": "left_click", "coordinate": [5, 3], "pixels": 3"#,
            "takes no `pixels`",
        ),
        (
            r#""action": "left_click", "coordinate": [5, 3], "keys": ["a"]"#,
            "cannot be held",
        ),
        (
            r#""action": "type", "text": "a", "keys": ["ctrl"]"#,
            "takes no `keys`",
        ),
        (
            r#""action": "scroll", "direction": "sideways""#,
            "is no direction",
        ),
    ] {
        refused(&call(arguments), expected);
    }
}

#[test]
fn every_action_in_json() {
    for (arguments, expected) in [
        (
            r#""action": "left_click", "coordinate": [500, 320]"#,
            "left x1 at (500, 320)",
        ),
        (
            r#""action": "LEFT_CLICK", "coordinate": [500.5, 320]"#,
            "left x1 at (500.5, 320)",
        ),
        (
            r#""action": "right_click", "coordinate": [5, 3]"#,
            "right x1 at (5, 3)",
        ),
        (
            r#""action": "middle_click", "coordinate": [5, 3]"#,
            "middle x1 at (5, 3)",
        ),
        (
            r#""action": "double_click", "coordinate": [5, 3]"#,
            "left x2 at (5, 3)",
        ),
        (r#""action": "triple_click""#, "left x3"),
        (
            r#""action": "mouse_move", "coordinate": "[5, 3]""#,
            "move (5, 3)",
        ),
        (
            r#""action": "left_click_drag", "coordinate": [5, 3]"#,
            "left down; move (5, 3); left up",
        ),
        (
            r#""action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [5, 3]"#,
            "left drag (1, 2) to (5, 3)",
        ),
        (
            r#""action": "key", "keys": ["ctrl", "s"]"#,
            "press ctrl+s x1",
        ),
        (r#""action": "key", "keys": ["ctrl+s"]"#, "press ctrl+s x1"),
        (r#""action": "key", "keys": "enter""#, "press enter x1"),
        (r#""action": "type", "text": "世界\n""#, "type \"世界\\n\""),
        (r#""action": "type", "text": 2024"#, "type \"2024\""),
        (
            r#""action": "type", "text": "secret:PIN""#,
            "type secret PIN",
        ),
        (
            r#""action": "scroll", "pixels": -500, "coordinate": null"#,
            "scroll 0,500 pixels",
        ),
        (
            r#""action": "scroll", "pixels": 300, "coordinate": [1, 2]"#,
            "scroll 0,-300 pixels at (1, 2)",
        ),
        (
            r#""action": "hscroll", "pixels": 120"#,
            "scroll 120,0 pixels",
        ),
        (r#""action": "wait", "time": 1.5"#, "wait 1.5s"),
        (r#""action": "wait""#, "wait 1s"),
        (r#""action": "terminate", "status": "success""#, "done \"\""),
        (r#""action": "terminate", "status": "failure""#, "fail \"\""),
        (r#""action": "answer", "text": "42""#, "done \"42\""),
    ] {
        check(&call(arguments), expected);
    }
}

#[test]
fn the_same_in_xml() {
    let xml = |parameters: &[(&str, &str)]| {
        let parameters: String = parameters
            .iter()
            .map(|(key, value)| format!("<parameter={key}>\n{value}\n</parameter>\n"))
            .collect();
        format!("<tool_call>\n<function=computer_use>\n{parameters}</function>\n</tool_call>")
    };
    check(
        &xml(&[("action", "left_click"), ("coordinate", "[500, 320]")]),
        "left x1 at (500, 320)",
    );
    check(
        &xml(&[("action", "key"), ("keys", "[\"ctrl\", \"s\"]")]),
        "press ctrl+s x1",
    );
    check(
        &xml(&[("action", "scroll"), ("pixels", "-5")]),
        "scroll 0,5 pixels",
    );
    check(
        &xml(&[("action", "type"), ("text", "[1]\n  two ")]),
        "type \"[1]\\n  two \"",
    );
    check(
        "<function=computer_use><parameter=action>wait</parameter></function>",
        "wait 1s",
    );
    check(
        "<tool_call><function=\"computer_use\"><parameter=\"action\">wait</parameter></function>",
        "wait 1s",
    );
    // A truncated call may have been a click with a coordinate.
    refused(
        "<tool_call><function=computer_use><parameter=action>left_click</parameter>",
        "the function does not end",
    );
    refused(
        "<tool_call><function=computer_use><parameter=action>type</parameter><parameter=text>half a",
        "a parameter does not end",
    );
    refused(
        &xml(&[("action", "wait"), ("action", "left_click")]),
        "given twice",
    );
}

#[test]
fn text_around_tool_calls() {
    let click = call(r#""action": "left_click", "coordinate": [1, 2]"#);
    let typed = call(r#""action": "type", "text": "a""#);
    check(
        &format!("Action: Click Save.\n{click}\nDone."),
        "left x1 at (1, 2)",
    );
    check(click.trim_end_matches("</tool_call>"), "left x1 at (1, 2)");
    check(
        &format!("{click}\n{typed}"),
        "left x1 at (1, 2); type \"a\"",
    );
    refused(
        &format!("I could say {typed} but I say {click}"),
        "words between",
    );
    check(
        &format!("<think>I could say {typed}</think>\n{click}"),
        "left x1 at (1, 2)",
    );
    check(
        r#"{"name": "computer_use", "arguments": {"action": "wait"}}"#,
        "wait 1s",
    );
    check(
        "```json\n{\"name\": \"computer_use\", \"arguments\": {\"action\": \"wait\"}}\n```",
        "wait 1s",
    );
    check(
        r#"<tool_call>{"name": "computer_use", "arguments": "{\"action\": \"wait\"}"}</tool_call>"#,
        "wait 1s",
    );
    check(
        &format!(
            "{}\n{}",
            call(r#""action": "answer", "text": "7""#),
            call(r#""action": "terminate", "status": "success""#)
        ),
        "done \"7\"",
    );
    assert_eq!(
        words_before(&format!("Action: Click Save.\n{click}")),
        "Action: Click Save."
    );
    assert_eq!(words_before(" nothing else "), "nothing else");
}

#[test]
fn malformed_tool_calls_are_refused() {
    refused("I would click on Save.", "no tool call");
    refused("", "no tool call");
    refused("<tool_call>", "not well-formed");
    refused("<tool_call>click</tool_call>", "not well-formed");
    refused(
        r#"<tool_call>{"arguments": {}}</tool_call>"#,
        "it has no name",
    );
    refused(
        r#"<tool_call>{"name": "computer_use", "arguments": [1]}</tool_call>"#,
        "no object",
    );
    refused(
        r#"<tool_call>{"name": "shell", "arguments": {}}</tool_call>"#,
        "no function `shell`",
    );
    refused(
        r#"<tool_call>{"name": "computer_use", "arguments": {"action": "type", "te"#,
        "not well-formed",
    );
    for (arguments, expected) in [
        (r#""coordinate": [1, 2]"#, "`action` is missing"),
        (
            r#""action": "fly""#,
            "no action `fly`; there are: key, type",
        ),
        (r#""action": "mouse_move""#, "`coordinate` is missing"),
        (
            r#""action": "left_click", "coordinate": [1, 2, 3, 4]"#,
            "two numbers",
        ),
        (
            r#""action": "left_click", "coordinate": ["a", 2]"#,
            "two numbers",
        ),
        (
            r#""action": "left_click", "coordinate": "NaN""#,
            "two numbers",
        ),
        (r#""action": "key", "keys": ["flurb"]"#, "`flurb`"),
        (r#""action": "key""#, "`keys` is missing"),
        (r#""action": "type", "text": """#, "empty"),
        (r#""action": "type", "text": ["a"]"#, "must be a text"),
        (r#""action": "scroll""#, "`pixels` is missing"),
        (r#""action": "scroll", "pixels": 0"#, "1 to 20000"),
        (r#""action": "scroll", "pixels": 0.3"#, "1 to 20000"),
        (r#""action": "wait", "time": 1e9"#, "0 to 60"),
        (
            r#""action": "terminate", "status": "later""#,
            "`later` is no status",
        ),
    ] {
        refused(&call(arguments), expected);
    }
    let click = call(r#""action": "left_click", "coordinate": [1, 2]"#);
    refused(&format!("{click}{}", call(r#""action": "fly""#)), "`fly`");
    refused(
        &format!("{}{click}", call(r#""action": "answer", "text": "7""#)),
        "nothing can follow",
    );
    refused(&click.repeat(33), "33 tool calls");
}
