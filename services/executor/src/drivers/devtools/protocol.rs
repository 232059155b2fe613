//! Response types of the DevTools protocol, with the used fields only, so that newer browsers may add more.
//!
//! Source: the DevTools protocol, under the names of its methods and types. The calls themselves are in `pages` and
//! `url_filter`.

use serde::Deserialize;
use serde_json::Value;

/// A target as listed by the browser.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BrowserTarget {
    pub(super) target_id: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) subtype: Option<String>,
    #[serde(default)]
    pub(super) url: String,
}

impl BrowserTarget {
    /// Returns whether this is a page in a tab, not a worker, a frame or a prerendered page.
    pub(super) fn is_page(&self) -> bool {
        self.kind == "page" && self.subtype.as_deref().unwrap_or_default().is_empty()
    }
}

/// Response of `Target.getTargets`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TargetList {
    pub(super) target_infos: Vec<BrowserTarget>,
}

/// Response of `Target.createTarget`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CreatedTarget {
    pub(super) target_id: String,
}

/// Response of `Target.attachToTarget`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AttachedSession {
    pub(super) session_id: String,
}

/// Response of `Page.getFrameTree`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FrameTreeResponse {
    pub(super) frame_tree: FrameTree,
}

/// A frame and its child frames.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FrameTree {
    pub(super) frame: Frame,
    #[serde(default)]
    pub(super) child_frames: Vec<FrameTree>,
}

/// A frame. `unreachable_url` is the URL that failed to load.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Frame {
    pub(super) id: String,
    pub(super) url: String,
    pub(super) unreachable_url: Option<String>,
}

/// Response of `Page.createIsolatedWorld`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct IsolatedWorld {
    pub(super) execution_context_id: i64,
}

/// Response of `Runtime.evaluate`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EvaluationResult {
    #[serde(default)]
    pub(super) result: RemoteValue,
    pub(super) exception_details: Option<Value>,
}

/// A value returned by a page.
#[derive(Debug, Deserialize, Default)]
pub(super) struct RemoteValue {
    #[serde(default)]
    pub(super) value: Value,
}

/// Response of `Page.navigate`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NavigationResult {
    pub(super) error_text: Option<String>,
}

/// Response of `Page.getNavigationHistory`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NavigationHistory {
    pub(super) current_index: i64,
    pub(super) entries: Vec<HistoryEntry>,
}

/// An entry of a navigation history.
#[derive(Debug, Deserialize)]
pub(super) struct HistoryEntry {
    pub(super) id: i64,
}

impl FrameTree {
    /// Returns the ids of this frame and its descendants in document order.
    pub(super) fn ids(&self) -> Vec<&str> {
        let below = self.child_frames.iter().flat_map(FrameTree::ids);
        std::iter::once(self.frame.id.as_str())
            .chain(below)
            .collect()
    }
}
