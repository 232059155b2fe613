/** Events after which a list of the sidebar or of a view shows something else: tasks, approvals and desktops. Pure. */
import type { Event } from "@gen/orchestrator/v1/event_pb.ts";

const KINDS: ReadonlySet<Event["kind"]["case"]> = new Set([
  "created", "started", "recovered", "desktopAcquired", "desktopReleased", "userAsked", "userAcknowledged", "approvalRequested",
  "approvalResolved", "takenOver", "handedBack", "paused", "resumed", "succeeded", "failed", "cancelled",
]);

export function changesLists(event: Event): boolean {
  return KINDS.has(event.kind.case);
}
