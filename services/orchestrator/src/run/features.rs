//! Features of the loop that recordings of earlier versions lack.
//!
//! A replay does what the recorded run did, so a feature that a recording does not name is off in its replay. Settings that
//! a person chooses are not here: they are in [`super::RunConfig`].

use serde::{Deserialize, Serialize};

/// Features that the loop has gained. A recording that does not name one was made without it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoopFeatures {
    /// The policy's principal is the authenticated creator of the task.
    pub authenticated_creator: bool,
    /// Correct the progress line of a step that turned out otherwise than announced.
    pub correct_progress: bool,
    /// Tell the planner the URL of the page that the browser in front shows.
    pub tell_page_url: bool,
    /// Tell the planner which texts of the task a model wrote.
    pub tell_authors: bool,
    /// Read entered text again on the next screen.
    pub read_text_back: bool,
    /// Read the text of a page only if a browser is in front.
    pub gate_page_text: bool,
    /// Capture the screen after the last action of a task that ends without success.
    pub capture_end_screen: bool,
    /// Capture the screen after each action that another one of its step follows.
    pub capture_each_action: bool,
    /// Find out on the next screen whether a page moved before a click came.
    pub find_arrivals: bool,
    /// Fence an action after a failed call, so that it cannot start later.
    pub fence_actions: bool,
    /// Tell the Executor the last action that its journal has when an action is fenced.
    pub fences_name_actions: bool,
    /// Tell the Executor the private hosts that the user named.
    pub names_hosts: bool,
    /// Tell the Executor the ports of these hosts as well.
    pub names_ports: bool,
    /// Tell the Executor the addresses that typed text and keys may open in an address bar.
    pub sends_addresses: bool,
    /// Compare the surroundings of risky actions and approvals right before the input.
    pub last_look: bool,
    /// Paste what the task has copied as that text, whatever owns the clipboard.
    pub paste_known_text: bool,
    /// Compare the pixels of an approved target also if the pointer came or went.
    pub compare_highlights: bool,
    /// Do not count it as an effect of a click that another field loses the focus.
    pub notice_lost_focus: bool,
    /// Have the Executor put the files of other tenants aside.
    pub tenant_files: bool,
    /// Read files of the desktop under the lease of the task.
    pub lease_files: bool,
    /// Look once more at a change elsewhere that a success rests on, and name it in the answer.
    pub recheck_elsewhere: bool,
    /// Also look once more if the look of the target changed beside it.
    pub recheck_beside_look: bool,
    /// Name it in the answer if only the look of what was clicked has changed.
    pub name_own_look: bool,
    /// Take a change of a tab or a list for its look if it goes with the pointer, and that of a target on which the pointer was before.
    pub doubt_more_looks: bool,
    /// Compare the text of a cell that was entered by a double click with its former one.
    pub read_cells_back: bool,
    /// Tell by its pixels whether a field that shows nothing is as empty as before.
    pub read_empty_fields: bool,
    /// Read a text again before another action of its step follows.
    pub read_each_text: bool,
    /// Want evidence that is new on the screen if nothing tells whether the last action had an effect.
    pub doubt_hidden_effects: bool,
    /// Put the pointer on the target before an approval is requested or used.
    pub rest_before_approval: bool,
    /// Leave the target of an approved action only if something covers it, and within the screen.
    pub leave_covered_targets: bool,
    /// Compare the check boxes, radio buttons and switches around the target of a risky action.
    pub compare_toggles: bool,
    /// Read the texts of a form again when success is claimed.
    pub read_left_fields: bool,
    /// Compare an entered text with what its field showed before, and one of several lines by its lines.
    pub compare_former_text: bool,
    /// Wait longer for a notice to go that says nothing about the action.
    pub outwait_notices: bool,
    /// Do not take a text that came after the last action and reports a failure for success.
    pub heed_failures: bool,
}

impl LoopFeatures {
    /// Everything that this version does.
    pub const ALL: Self = Self {
        authenticated_creator: true,
        correct_progress: true,
        tell_page_url: true,
        tell_authors: true,
        read_text_back: true,
        gate_page_text: true,
        capture_end_screen: true,
        capture_each_action: true,
        find_arrivals: true,
        fence_actions: true,
        fences_name_actions: true,
        names_hosts: true,
        names_ports: true,
        sends_addresses: true,
        last_look: true,
        paste_known_text: true,
        compare_highlights: true,
        notice_lost_focus: true,
        tenant_files: true,
        lease_files: true,
        recheck_elsewhere: true,
        recheck_beside_look: true,
        name_own_look: true,
        doubt_more_looks: true,
        read_cells_back: true,
        read_empty_fields: true,
        read_each_text: true,
        doubt_hidden_effects: true,
        rest_before_approval: true,
        leave_covered_targets: true,
        compare_toggles: true,
        read_left_fields: true,
        compare_former_text: true,
        outwait_notices: true,
        heed_failures: true,
    };
}
