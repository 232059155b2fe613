//! The history of a conversation that a task continues, as a file with messages.
//!
//! Images of the user within it become attachments of the task, so that they are put on the desktop and shown to the model
//! like any other. A message names the ones that it had.
//!
//! An image that is only named by an address is not downloaded: it is an error.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::ImageFormat;
use motorium_messages::Message as Text;
use motorium_proto::v1::common::EarlierMessage;
use motorium_proto::v1::common::earlier_message::Role;
use serde::Deserialize;
use serde_json::Value;

use crate::error::Error;
use crate::show::terminal_language;

/// A conversation.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) messages: Vec<EarlierMessage>,
    /// Images of the user, the oldest first.
    pub(super) images: Vec<HistoryImage>,
}

/// An image of a conversation, as a file.
#[derive(Debug)]
pub(super) struct HistoryImage {
    pub(super) name: String,
    pub(super) content: Vec<u8>,
}

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

/// A text, or parts of which the texts and images are taken.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
struct Part {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    text: String,
    /// Data URL of an image, in OpenAI's protocols; in one of them within an object.
    #[serde(default)]
    image_url: Value,
    /// Content of an image, in Anthropic's protocol.
    #[serde(default)]
    source: Value,
}

/// A history that cannot be used.
#[derive(Debug)]
enum Problem {
    Json(serde_json::Error),
    /// A part that is an image, by its place in the list.
    Image {
        field: String,
        problem: ImageProblem,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ImageProblem {
    /// It is only named by an address.
    NotEmbedded,
    /// It is no base64, or not a PNG, JPEG or WebP.
    Unreadable,
    OfAssistant,
}

/// Reads the messages of the user and of the assistant.
pub(super) fn read(path: &Path) -> Result<History, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })?;
    history(&text).map_err(|problem| {
        let path = &path.display().to_string();
        Error::Usage(problem.text(path))
    })
}

impl Problem {
    fn text(&self, path: &str) -> String {
        let language = terminal_language();
        match self {
            Problem::Json(error) => {
                let problem = &error.to_string();
                Text::HistoryUnreadable { path, problem }.text(language)
            }
            Problem::Image { field, problem } => match problem {
                ImageProblem::NotEmbedded => Text::HistoryImageNotEmbedded { path, field },
                ImageProblem::Unreadable => Text::HistoryImageUnreadable { path, field },
                ImageProblem::OfAssistant => Text::HistoryImageOfAssistant { path, field },
            }
            .text(language),
        }
    }
}

fn history(json: &str) -> Result<History, Problem> {
    let messages: Vec<Message> = serde_json::from_str(json).map_err(Problem::Json)?;
    let mut history = History::default();
    for (index, message) in messages.into_iter().enumerate() {
        let role = match message.role {
            MessageRole::User => Role::User,
            MessageRole::Assistant => Role::Assistant,
            MessageRole::System | MessageRole::Developer | MessageRole::Tool => continue,
        };
        let text = match message.content {
            Content::Text(text) => text,
            Content::Parts(parts) => history.take_parts(index, role, parts)?,
        };
        if !text.trim().is_empty() {
            history.messages.push(EarlierMessage {
                role: role.into(),
                text,
            });
        }
    }
    Ok(history)
}

impl History {
    /// Takes the images of a message, and returns its text. A name in brackets stands for each image.
    fn take_parts(
        &mut self,
        message: usize,
        role: Role,
        parts: Vec<Part>,
    ) -> Result<String, Problem> {
        let mut texts = Vec::with_capacity(parts.len());
        for (index, part) in parts.into_iter().enumerate() {
            let image = part.image();
            let Some(image) = image else {
                texts.push(part.text);
                continue;
            };
            let image = match role {
                Role::User => image,
                _ => Err(ImageProblem::OfAssistant),
            };
            let (content, extension) = image.map_err(|problem| Problem::Image {
                field: format!("[{message}].content[{index}]"),
                problem,
            })?;
            let name = format!("history-{}.{extension}", self.images.len() + 1);
            texts.push(format!("[{name}]"));
            self.images.push(HistoryImage { name, content });
        }
        Ok(texts.join("\n"))
    }
}

impl Part {
    /// Returns the image that the part is, with the extension of its file; `None` if it is none.
    fn image(&self) -> Option<Result<(Vec<u8>, &'static str), ImageProblem>> {
        let data = match self.kind.as_str() {
            "image_url" | "input_image" => {
                let url = self
                    .image_url
                    .get("url")
                    .unwrap_or(&self.image_url)
                    .as_str();
                let data = url.and_then(|url| url.strip_prefix("data:"));
                let data = data.and_then(|data| data.split_once(";base64,"));
                data.map(|(_, data)| data)
            }
            "image" => self.source["data"].as_str(),
            _ => return None,
        };
        let data = data.ok_or(ImageProblem::NotEmbedded);
        Some(data.and_then(decoded))
    }
}

fn decoded(base64: &str) -> Result<(Vec<u8>, &'static str), ImageProblem> {
    let content = STANDARD.decode(base64);
    let content = content.map_err(|_| ImageProblem::Unreadable)?;
    let extension = match image::guess_format(&content) {
        Ok(ImageFormat::Png) => "png",
        Ok(ImageFormat::Jpeg) => "jpg",
        Ok(ImageFormat::WebP) => "webp",
        _ => return Err(ImageProblem::Unreadable),
    };
    Ok((content, extension))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The first bytes of a PNG, which identify it.
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

    fn of(messages: &Value) -> Result<History, Problem> {
        history(&messages.to_string())
    }

    fn texts(history: &History) -> Vec<(Role, &str)> {
        let messages = history.messages.iter();
        messages.map(|it| (it.role(), it.text.as_str())).collect()
    }

    #[test]
    fn history_is_read_from_chat_messages() {
        let read = of(&json!([
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "open the report"},
            {"role": "assistant", "content": [{"type": "text", "text": "which one?"}]},
            {"role": "user", "content": " "},
        ]));
        assert_eq!(
            texts(&read.unwrap()),
            [
                (Role::User, "open the report"),
                (Role::Assistant, "which one?")
            ]
        );
        assert!(matches!(
            of(&json!({"role": "user"})),
            Err(Problem::Json(_))
        ));
    }

    #[test]
    fn images_of_the_user_become_files_in_the_form_of_each_provider() {
        let data = STANDARD.encode(PNG);
        let url = format!("data:image/png;base64,{data}");
        let source = json!({"type": "base64", "media_type": "image/png", "data": data});
        let read = of(&json!([
            {"role": "user", "content": [
                {"type": "text", "text": "like this:"},
                {"type": "image_url", "image_url": {"url": url}},
                {"type": "input_image", "image_url": url},
            ]},
            {"role": "user", "content": [{"type": "image", "source": source}]},
        ]))
        .unwrap();
        assert_eq!(
            texts(&read),
            [
                (Role::User, "like this:\n[history-1.png]\n[history-2.png]"),
                (Role::User, "[history-3.png]"),
            ]
        );
        let names: Vec<&str> = read
            .images
            .iter()
            .map(|image| image.name.as_str())
            .collect();
        assert_eq!(names, ["history-1.png", "history-2.png", "history-3.png"]);
        assert!(read.images.iter().all(|image| image.content == PNG));
    }

    #[test]
    fn an_image_that_cannot_be_taken_is_named() {
        let check = |role: &str, part: Value, expected: ImageProblem| {
            let messages = json!([
                {"role": "user", "content": "look"},
                {"role": role, "content": [{"type": "text", "text": "here"}, part]},
            ]);
            let Err(Problem::Image { field, problem }) = of(&messages) else {
                panic!("{messages}");
            };
            assert_eq!((field.as_str(), problem), ("[1].content[1]", expected));
        };
        let url = json!({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}});
        check("user", url, ImageProblem::NotEmbedded);
        let file = json!({"type": "image", "source": {"type": "file", "file_id": "file_1"}});
        check("user", file, ImageProblem::NotEmbedded);
        let gif = format!("data:image/gif;base64,{}", STANDARD.encode("GIF89a"));
        let gif = json!({"type": "input_image", "image_url": gif});
        check("user", gif, ImageProblem::Unreadable);
        let wrong = json!({"type": "image", "source": {"type": "base64", "data": "%"}});
        check("user", wrong, ImageProblem::Unreadable);
        let data = STANDARD.encode(PNG);
        let of_assistant = json!({"type": "image", "source": {"type": "base64", "data": data}});
        check("assistant", of_assistant, ImageProblem::OfAssistant);
    }
}
