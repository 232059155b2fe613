import { CornerDownRight, TriangleAlert } from "lucide-react";
import { memo, type ReactNode } from "react";
import { RunCard } from "@/components/run/run-card.tsx";
import { useText, type Key } from "@/i18n/index.ts";
import { cn } from "@/lib/class-names.ts";
import { hasEnded, noticesForPeople, RequestKind, TaskState, type Message, type Notice, type NoticeKind, type TaskView } from "@/model/task.ts";
import { AnswerCard, RunRecord } from "./answer-card.tsx";
import { ApprovalCard } from "./approval-card.tsx";
import { InlineCode, Markdown } from "./markdown.tsx";
import { RequestCard } from "./request-card.tsx";
import { UserMessage } from "./user-message.tsx";

/** One task of a conversation: the goal, the messages meanwhile, and the run, the request or the answer. */
export const TaskBlock = memo(function TaskBlock({ task }: { readonly task: TaskView }): ReactNode {
  const t = useText();
  const open = openQuestion(task);
  return (
    <article className="space-y-4" aria-label={task.goal}>
      <UserMessage text={task.goal} files={task.attachments.map((file) => file.name)} />
      {task.messages.map((message, index) => {
        if (message.kind !== "question") {
          return (
            <UserMessage
              key={String(message.sequence)}
              text={message.text}
              files={message.files}
              {...noteOf(message, t)}
            />
          );
        }
        // The last question is the card below while it waits for its answer.
        if (open && index === task.messages.length - 1) return null;
        return <div key={String(message.sequence)} className="text-[0.9375rem]"><Markdown text={message.text} /></div>;
      })}
      <Notices notices={noticesForPeople(task)} />
      <div data-task-body className="[&:fullscreen]:overflow-y-auto [&:fullscreen]:bg-background"><Body task={task} /></div>
    </article>
  );
});

function noteOf({ kind, step }: Message, t: ReturnType<typeof useText>): { readonly note?: string } {
  if (kind === "handBack") return { note: t("message.handBack") };
  return kind === "message" && step > 0 ? { note: t("message.duringStep", { number: step }) } : {};
}

function openQuestion(task: TaskView): boolean {
  const kind = task.request?.kind;
  return task.state === TaskState.AWAITING_USER && (kind === RequestKind.QUESTION || kind === RequestKind.MANUAL_ACTION);
}

// In full screen, what is not the screen itself keeps its width and a margin.
const ALONE = "in-[:fullscreen]:mx-auto in-[:fullscreen]:w-full in-[:fullscreen]:max-w-[56rem] in-[:fullscreen]:p-6";

function Body({ task }: { readonly task: TaskView }): ReactNode {
  if (hasEnded(task)) return <div className={ALONE}><AnswerCard task={task} /></div>;
  if (task.state === TaskState.AWAITING_USER && task.takenOverBy === undefined) {
    const request = task.approval
      ? <ApprovalCard key={task.approval.name} approval={task.approval} />
      : openQuestion(task) ? <RequestCard task={task} /> : undefined;
    if (request) return <div className={cn("space-y-3", ALONE)}>{request}<RunRecord task={task} /></div>;
  }
  return <RunCard task={task} />;
}

// Every kind is named, so that a new one is decided about. The others are states of the task, which its card shows.
const WORDS: Record<NoticeKind, Key | undefined> = {
  recovered: "notice.recovered",
  injection: "notice.injection",
  loop: "notice.loop",
  attachment: "notice.attachment",
  backend: "notice.backend",
  hook: "notice.hook",
  transient: "notice.transient",
  paused: undefined,
  resumed: undefined,
  takenOver: undefined,
  handedBack: undefined,
  human: undefined,
  released: undefined,
};
// Older ones are in the export.
const MAX_NOTICES = 4;

function Notices({ notices }: { readonly notices: readonly Notice[] }): ReactNode {
  const t = useText();
  const shown = notices.filter((notice) => WORDS[notice.kind] !== undefined).slice(-MAX_NOTICES);
  if (shown.length === 0) return null;
  return (
    <ul className="space-y-2">
      {shown.map((notice) => {
        const key = WORDS[notice.kind];
        return key === undefined ? null : (
          <li key={String(notice.sequence)} className="flex items-start gap-2.5 rounded-xl border border-warning-line bg-warning-soft px-3.5 py-2.5 text-sm">
            {notice.serious ? <TriangleAlert className="mt-0.5 size-4 shrink-0 text-warning" /> : <CornerDownRight className="mt-0.5 size-4 shrink-0 text-warning" />}
            <span className="min-w-0">
              <span className="font-medium">{t(key)}</span>
              {notice.text !== "" && <span className="mt-0.5 line-clamp-3 text-[0.8125rem] text-muted-foreground wrap-anywhere"><InlineCode text={notice.text} /></span>}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
