//! Names of the command line in place of those of the API: a service names the field of a request, and the user gave a flag.
//!
//! Invariant: a text without such a name is returned unchanged.

/// Fields of the requests that commands send, and the flags or arguments that they are made of.
const FIELDS: [(&str, &str); 23] = [
    ("limits.max_duration", "`--max-time`"),
    ("limits.max_steps", "`--max-steps`"),
    ("limits.max_tokens", "`--max-tokens`"),
    ("limits.max_cost_micros_usd", "`--max-cost`"),
    ("instructions", "`--instructions`"),
    ("session", "`--session`"),
    ("session_id", "`--session`"),
    ("labels", "`--label`"),
    ("backends", "`--planner`"),
    ("desktop_selector", "`--desktop`"),
    ("desktop_selector.desktop", "`--desktop`"),
    ("attachments", "`--attach`"),
    ("earlier_messages", "`--history`"),
    ("results", "`--fetch`"),
    ("expectations", "`--expect-text`"),
    ("tool_endpoints", "`--tool`"),
    ("language", "`--language`"),
    ("goal", "the goal"),
    ("name", "the name"),
    ("parent", "the name"),
    ("page_size", "`--limit`"),
    ("text", "the message"),
    ("message", "the message"),
];

/// Fields of the limits, which messages also name in the middle.
const LIMITS: &str = "limits.";

/// Returns the message of a refused request with the flag in place of the field that it begins with (`task.results[0]: …`).
pub(crate) fn in_flags(message: &str) -> String {
    let beginning = message.split_once(": ");
    let flagged = beginning.and_then(|(path, rest)| Some(format!("{}: {rest}", flag_of(path)?)));
    flagged.unwrap_or_else(|| message.to_owned())
}

/// Returns the reason of a failure with flags in place of the limits that it names.
pub(crate) fn limits_in_flags(reason: &str) -> String {
    let mut text = reason.to_owned();
    for (field, flag) in FIELDS {
        if field.starts_with(LIMITS) {
            // A Chinese message has it in backticks already.
            text = text.replace(&format!("`{field}`"), flag);
            text = text.replace(field, flag);
        }
    }
    text
}

/// Returns the flag of a field, which may have an index or a part (`task.expectations[0].text_on_screen`).
fn flag_of(path: &str) -> Option<&'static str> {
    let path = path.strip_prefix("task.").unwrap_or(path);
    let is_of = |field: &str| {
        let rest = path.strip_prefix(field)?;
        (rest.is_empty() || rest.starts_with(['[', '.'])).then_some(field.len())
    };
    // The longest one says most.
    let known = FIELDS
        .iter()
        .filter_map(|(field, flag)| Some((is_of(field)?, *flag)));
    known
        .max_by_key(|(length, _)| *length)
        .map(|(_, flag)| flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_requests_are_named_as_flags() {
        let check = |message: &str, expected: &str| assert_eq!(in_flags(message), expected);
        check(
            "task.results[0]: is not a plain file name",
            "`--fetch`: is not a plain file name",
        );
        check(
            "task.expectations[0].text_on_screen: is empty",
            "`--expect-text`: is empty",
        );
        check("task.tool_endpoints[1]: unknown", "`--tool`: unknown");
        check(
            "session_id: `x/y` is not a name",
            "`--session`: `x/y` is not a name",
        );
        check(
            "task.limits.max_duration: is negative",
            "`--max-time`: is negative",
        );
    }

    #[test]
    fn limits_are_named_as_flags() {
        let check = |reason: &str, expected: &str| assert_eq!(limits_in_flags(reason), expected);
        check(
            "the time limit of 3 s is used up; raise limits.max_duration if the task needs longer",
            "the time limit of 3 s is used up; raise `--max-time` if the task needs longer",
        );
        check("请调高 `limits.max_steps`", "请调高 `--max-steps`");
        check("click \"limit\"", "click \"limit\"");
    }

    #[test]
    fn other_words_stay_as_they_are() {
        for message in [
            "there is no tasks/one",
            "languages: none",
            "result: goal: x",
            "the goal: it is empty",
            "",
        ] {
            assert_eq!(in_flags(message), message);
        }
    }
}
