//! What is read of the browser's answers: of each as much as is used, so that a newer browser may say more.
//!
//! Source: the DevTools protocol, by the names of its methods and types. Not here: what is asked, and why.

use serde::Deserialize;
use serde_json::Value;

/// A page, as the browser lists it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Target {
    pub(super) target_id: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) subtype: Option<String>,
    #[serde(default)]
    pub(super) url: String,
}

impl Target {
    /// Whether it is something in a tab, rather than a worker, a frame, or a page that is only being prepared.
    pub(super) fn is_page(&self) -> bool {
        self.kind == "page" && self.subtype.as_deref().unwrap_or_default().is_empty()
    }
}

/// Answer of `Target.getTargets`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Targets {
    pub(super) target_infos: Vec<Target>,
}

/// Answer of `Target.createTarget`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Created {
    pub(super) target_id: String,
}

/// Answer of `Target.attachToTarget`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Attached {
    pub(super) session_id: String,
}

/// Answer of `Page.getFrameTree`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FrameTreeAnswer {
    pub(super) frame_tree: FrameTree,
}

/// A frame and those inside of it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FrameTree {
    pub(super) frame: Frame,
    #[serde(default)]
    pub(super) child_frames: Vec<FrameTree>,
}

/// A frame; `unreachable_url` is what it could not load.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Frame {
    pub(super) id: String,
    pub(super) url: String,
    pub(super) unreachable_url: Option<String>,
}

/// Answer of `Page.createIsolatedWorld`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct World {
    pub(super) execution_context_id: i64,
}

/// Answer of `Runtime.evaluate`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Evaluated {
    #[serde(default)]
    pub(super) result: Remote,
    pub(super) exception_details: Option<Value>,
}

/// A value of a page.
#[derive(Debug, Deserialize, Default)]
pub(super) struct Remote {
    #[serde(default)]
    pub(super) value: Value,
}

/// Answer of `Page.navigate`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Navigated {
    pub(super) error_text: Option<String>,
}

/// Answer of `Page.getNavigationHistory`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct History {
    pub(super) current_index: i64,
    pub(super) entries: Vec<HistoryEntry>,
}

/// A page of a history.
#[derive(Debug, Deserialize)]
pub(super) struct HistoryEntry {
    pub(super) id: i64,
}

impl FrameTree {
    /// This frame and those inside of it, as they stand in the page.
    pub(super) fn ids(&self) -> Vec<&str> {
        let below = self.child_frames.iter().flat_map(FrameTree::ids);
        std::iter::once(self.frame.id.as_str())
            .chain(below)
            .collect()
    }
}
