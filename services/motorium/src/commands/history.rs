//! The history of a conversation that a task continues, as a file with messages.

use std::fs;
use std::path::Path;

use motorium_proto::v1::common::EarlierMessage;
use motorium_proto::v1::common::earlier_message::Role;
use serde::Deserialize;

use crate::error::Error;
use crate::show::terminal_language;

/// A message in the form that chat models are called with.
#[derive(Debug, Deserialize)]
struct Message {
    role: MessageRole,
    content: Content,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum MessageRole {
    User,
    Assistant,
    /// Instructions of another program, which do not apply to this one.
    System,
    Developer,
    Tool,
}

/// A text, or parts of which the texts are taken.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

/// Reads the messages of the user and of the assistant.
pub(super) fn read(path: &Path) -> Result<Vec<EarlierMessage>, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })?;
    messages(&text).map_err(|error| {
        let unreadable = motorium_messages::Message::HistoryUnreadable {
            path: &path.display().to_string(),
            problem: &error.to_string(),
        };
        Error::Usage(unreadable.text(terminal_language()))
    })
}

fn messages(json: &str) -> Result<Vec<EarlierMessage>, serde_json::Error> {
    let messages: Vec<Message> = serde_json::from_str(json)?;
    let known = messages.into_iter().filter_map(|message| {
        let role = match message.role {
            MessageRole::User => Role::User,
            MessageRole::Assistant => Role::Assistant,
            MessageRole::System | MessageRole::Developer | MessageRole::Tool => return None,
        };
        let text = match message.content {
            Content::Text(text) => text,
            Content::Parts(parts) => {
                let texts: Vec<String> = parts.into_iter().map(|part| part.text).collect();
                texts.join("\n")
            }
        };
        (!text.trim().is_empty()).then(|| EarlierMessage {
            role: role.into(),
            text,
        })
    });
    Ok(known.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_both_sides_are_read_in_the_form_of_chat_models() {
        let json = r#"[
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "open the report"},
            {"role": "assistant", "content": [{"type": "text", "text": "which one?"}]},
            {"role": "user", "content": " "}
        ]"#;
        let read = messages(json).unwrap();
        let texts: Vec<(Role, &str)> = read
            .iter()
            .map(|it| (it.role(), it.text.as_str()))
            .collect();
        assert_eq!(
            texts,
            [
                (Role::User, "open the report"),
                (Role::Assistant, "which one?")
            ]
        );
        assert!(messages(r#"{"role": "user"}"#).is_err());
    }
}
