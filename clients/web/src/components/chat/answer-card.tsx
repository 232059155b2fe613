import { ChevronDown, CircleCheck, CircleSlash, CircleX, Download, FileText, Info } from "lucide-react";
import type { ReactNode } from "react";
import { artifactUrl } from "@/api/client.ts";
import { DetailsButton } from "@/components/run/run-details.tsx";
import { RunCard } from "@/components/run/run-card.tsx";
import { useText, type Key } from "@/i18n/index.ts";
import { cn } from "@/lib/class-names.ts";
import { formatBytes, formatDuration } from "@/lib/format.ts";
import { hasEnded, TaskState, type FileEntry, type TaskView } from "@/model/task.ts";
import { showRun, useIsRunShown } from "@/store/selection.ts";
import { Extractions } from "./extractions.tsx";
import { InlineCode, Markdown } from "./markdown.tsx";

/** The answer of a task that has ended. Its run stays one click away. */
export function AnswerCard({ task }: { readonly task: TaskView }): ReactNode {
  const t = useText();
  return (
    <section aria-label={t("answer.label")} className="animate-rise space-y-3.5">
      <Outcome task={task} />
      {task.answer !== "" && !repeatsFailure(task) && <div className="text-[0.9375rem]"><Markdown text={task.answer} /></div>}
      {task.unmet.length > 0 && task.state === TaskState.FAILED && (
        <ul className="list-disc pl-5 text-sm text-muted-foreground">{task.unmet.map((text) => <li key={text}>{text}</li>)}</ul>
      )}
      <Extractions task={task} />
      <Files files={task.results} />
      <RunRecord task={task} />
    </section>
  );
}

/** A task without a model sums up a failure in an answer that begins with the failure itself. */
function repeatsFailure(task: TaskView): boolean {
  const message = task.failure?.message.replace(/[.。]$/, "") ?? "";
  return message !== "" && task.answer.includes(message);
}

const ENDS: Partial<Record<TaskState, { readonly key: Key; readonly icon: ReactNode; readonly className: string }>> = {
  [TaskState.SUCCEEDED]: { key: "end.succeeded", icon: <CircleCheck />, className: "text-success" },
  [TaskState.FAILED]: { key: "end.failed", icon: <CircleX />, className: "text-destructive" },
  [TaskState.CANCELLED]: { key: "end.cancelled", icon: <CircleSlash />, className: "text-muted-foreground" },
};

function Outcome({ task }: { readonly task: TaskView }): ReactNode {
  const t = useText();
  const end = ENDS[task.state];
  if (!end) return null;
  const elapsed = (task.endedAt ?? task.createdAt) - (task.startedAt ?? task.createdAt);
  return (
    <div className="space-y-2.5">
      <p role="status" className="flex items-center gap-2 text-sm">
        <span className={cn("flex items-center gap-2 font-semibold [&_svg]:size-4.5", end.className)}>{end.icon}{t(end.key)}</span>
        <span className="text-muted-foreground tabular-nums">{t("steps", { count: task.steps.length })} · {formatDuration(elapsed)}</span>
      </p>
      {task.failure && (
        <div className="rounded-xl border border-danger-line bg-danger-soft px-4 py-3 text-[0.9375rem]">
          <Markdown text={repeatsFailure(task) ? task.answer : task.failure.message} />
          {task.failure.reason !== "" && (
            <details className="mt-1.5 text-xs text-muted-foreground">
              <summary className="w-fit rounded select-none hover:text-foreground">{t("failure.details")}</summary>
              <p className="mt-1 font-mono">{task.failure.reason}</p>
            </details>
          )}
        </div>
      )}
      {task.state === TaskState.CANCELLED && task.cancelReason !== "" && <p className="text-sm text-muted-foreground wrap-anywhere">{task.cancelReason}</p>}
    </div>
  );
}

export function Files({ files }: { readonly files: readonly FileEntry[] }): ReactNode {
  const t = useText();
  if (files.length === 0) return null;
  return (
    <ul aria-label={t("files")} className="flex flex-wrap gap-2">
      {files.map((file) => (
        <li key={file.name} className="max-w-full">
          {file.artifact !== undefined ? (
            <a
              href={`${artifactUrl(file.artifact)}?download`}
              download={file.name}
              className="flex items-center gap-3 rounded-xl border bg-card px-3.5 py-2.5 text-sm shadow-card transition-colors hover:bg-accent"
            >
              <FileText className="size-5 shrink-0 text-primary" />
              <span className="min-w-0">
                <span className="block truncate font-medium">{file.name}</span>
                <span className="block text-xs text-muted-foreground">{formatBytes(file.sizeBytes ?? 0)}</span>
              </span>
              <Download className="ml-1 size-4 shrink-0 text-muted-foreground" />
            </a>
          ) : (
            <span className="flex items-center gap-2.5 rounded-xl border border-danger-line bg-danger-soft px-3.5 py-2.5 text-sm">
              <Info className="size-4 shrink-0 text-destructive" /><span className="wrap-anywhere"><InlineCode text={problemOf(file)} /></span>
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

/** The server names the file in most of its errors. */
function problemOf({ name, error = "" }: FileEntry): string {
  return error.startsWith(name) ? error : `${name}: ${error}`;
}

/** Shows or hides the run behind an answer or a question. */
export function RunRecord({ task }: { readonly task: TaskView }): ReactNode {
  const t = useText();
  const open = useIsRunShown(task.name);
  if (task.steps.length === 0) return null;
  return (
    <div className="space-y-3">
      <div className="flex items-center gap-1">
        <button
          type="button"
          aria-expanded={open}
          onClick={() => showRun(task.name, !open)}
          className="-ml-2 inline-flex h-8 items-center gap-1.5 rounded-lg px-2 text-[0.8125rem] font-medium text-muted-foreground hover:bg-accent hover:text-accent-foreground"
        >
          <ChevronDown className={cn("size-4 transition-transform", !open && "-rotate-90")} />
          {open ? t("run.hide") : t("run.show")}
        </button>
        {hasEnded(task) && <DetailsButton task={task} labelled />}
      </div>
      {open && <RunCard task={task} />}
    </div>
  );
}
