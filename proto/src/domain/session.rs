//! Background of a task: the earlier tasks of its session, its files, and the images that the user gave.

use super::frame::Image;

/// The background of a task besides its goal.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaskContext {
    /// Earlier tasks of the same session, the oldest first.
    pub earlier_tasks: Vec<EarlierTask>,
    /// Files of the task on the desktop.
    pub files: Vec<TaskFile>,
    /// Messages of a conversation that the task continues, the oldest first.
    pub messages: Vec<EarlierMessage>,
    /// Images that the user attached, the oldest first.
    pub images: Vec<UserImage>,
}

/// An image that the user gave to a task.
#[derive(Debug, Clone, PartialEq)]
pub struct UserImage {
    /// Name of the file that it is.
    pub name: String,
    /// `None` if no backend needs images.
    pub image: Option<Image>,
    /// First step that is decided with it.
    pub step: u32,
}

/// A message of a conversation from before a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierMessage {
    pub role: MessageRole,
    pub text: String,
}

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageRole {
    User,
    /// The assistant that the user talked to.
    Assistant,
}

/// A file of a task on its desktop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFile {
    /// File name without a path.
    pub name: String,
    /// Path of the file, as applications on the desktop see it. Empty if it is not known.
    pub path: String,
    pub origin: FileOrigin,
}

/// Origin of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOrigin {
    /// Given by the user.
    Attached,
    /// A result of the task.
    Saved,
    /// A result that the task still has to save, under this name.
    Wanted,
}

/// An earlier task of a session. Bounded in size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierTask {
    /// Resource name of the task.
    pub task: String,
    pub goal: String,
    pub outcome: TaskEnd,
    /// Final answer for the user, or the reason of the failure.
    pub answer: String,
    /// Messages of the user during the task, the oldest first.
    pub user_messages: Vec<String>,
    /// Performed actions, one line each, the oldest first.
    pub actions: Vec<String>,
    /// Data that was extracted from the screen last.
    pub extracted_json: Option<String>,
    pub files: Vec<TaskFile>,
    /// A model wrote the goal or one of the messages, and not a person.
    pub written_by_model: bool,
}

/// End of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskEnd {
    Succeeded,
    Failed,
    Cancelled,
}
