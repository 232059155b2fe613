/** Time until the lists are read again. Pure. */
import type { Approval, Task } from "@gen/orchestrator/v1/task_pb.ts";
import { TaskState } from "./task.ts";

interface RefreshState {
  readonly tasks: readonly Task[];
  readonly approvals: readonly Approval[];
  readonly problem: unknown;
}

// As long as a viewer of another person's task waits without impatience.
const BUSY_MS = 4_000;
// Nothing is at work: only a task from another page, or the command line, can change that.
const IDLE_MS = 15_000;

const ENDED: ReadonlySet<TaskState> = new Set([TaskState.SUCCEEDED, TaskState.FAILED, TaskState.CANCELLED]);

export function pauseBeforeRefresh({ tasks, approvals, problem }: RefreshState): number {
  // A server that restarts is noticed soon.
  if (problem !== undefined) return BUSY_MS;
  return approvals.length > 0 || tasks.some((task) => !ENDED.has(task.state)) ? BUSY_MS : IDLE_MS;
}
