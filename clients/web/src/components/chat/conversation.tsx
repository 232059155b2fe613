import { ArrowDown, History, X } from "lucide-react";
import { useEffect, type ReactNode } from "react";
import { Button } from "@/components/ui/button.tsx";
import { ProblemNotice } from "@/components/ui/problem-notice.tsx";
import { RunPlaceholder } from "@/components/run/run-placeholder.tsx";
import { useText } from "@/i18n/index.ts";
import { formatBytes } from "@/lib/format.ts";
import { useStickToBottom } from "@/lib/use-stick-to-bottom.ts";
import { titleOf } from "@/model/conversations.ts";
import { hasEnded, TaskState } from "@/model/task.ts";
import { editAgain, send, sendAgain } from "@/store/commands.ts";
import { dismissMissed, openConversation, tasksInOrder, useConversation } from "@/store/conversation.ts";
import { NEW } from "@/store/prompt.ts";
import { useSending, type Sending } from "@/store/sending.ts";
import { ErrorBoundary } from "@/components/layout/error-boundary.tsx";
import { PromptBox } from "./prompt-box.tsx";
import { TaskBlock } from "./task-block.tsx";
import { UserMessage } from "./user-message.tsx";
import { Welcome } from "./welcome.tsx";

/** A conversation, or the empty page on which the next one begins. */
export function Conversation({ name }: { readonly name: string | undefined }): ReactNode {
  const t = useText();
  const { tasks, link, missedEvents } = useConversation();
  const sending = useSending((state) => state.entries).filter((entry) => entry.conversation === (name ?? NEW));
  const empty = name === undefined && sending.length === 0;
  const { scroller, content, atEnd, toEnd } = useStickToBottom(!empty);
  useEffect(() => {
    if (name !== undefined) openConversation(name);
  }, [name]);

  const ordered = tasksInOrder(tasks);
  const last = ordered.at(-1);
  const running = last !== undefined && !hasEnded(last);
  useTitle(name === undefined ? undefined : ordered[0]?.goal, last?.state === TaskState.AWAITING_USER);
  const onSend = (text: string, files: readonly File[], results: readonly string[]): void => {
    void send(text, files, results);
    requestAnimationFrame(toEnd);
  };
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto [scrollbar-gutter:stable_both-edges]">
        <div ref={content} className="mx-auto flex min-h-full w-full max-w-[56rem] flex-col px-3 pt-4 pb-4 sm:px-6">
          {empty ? <Welcome /> : <h1 className="sr-only">{ordered[0]?.goal ?? t("conversations")}</h1>}
          {link.kind === "failed" && name !== undefined && <ProblemNotice problem={link.problem} />}
          {name !== undefined && link.kind === "connecting" && ordered.length === 0 && <Loading />}
          <div className="space-y-10">
            {ordered.map((task) => <ErrorBoundary key={task.name}><TaskBlock task={task} /></ErrorBoundary>)}
            {sending.map((entry) => <BeingSent key={entry.id} entry={entry} />)}
          </div>
        </div>
      </div>
      <div className="relative mx-auto w-full max-w-[56rem] px-3 pb-[max(0.75rem,env(safe-area-inset-bottom))] sm:px-6 sm:pb-5">
        <div className="pointer-events-none absolute inset-x-0 -top-4 h-4 bg-linear-to-t from-background to-transparent" />
        {!atEnd && !empty && (
          <Button size="small" className="absolute -top-11 left-1/2 -translate-x-1/2 rounded-full shadow-raised" onClick={toEnd}>
            <ArrowDown />{t("toEnd")}
          </Button>
        )}
        {missedEvents > 0 && (
          <div role="status" className="mb-2 flex items-center gap-2.5 rounded-xl border border-warning-line bg-warning-soft py-1.5 pr-1.5 pl-3.5 text-sm">
            <History className="size-4 shrink-0 text-warning" />
            <span className="flex-1">{t("missed", { count: missedEvents })}</span>
            <Button variant="ghost" size="iconSmall" className="size-7" aria-label={t("dismiss")} onClick={dismissMissed}><X /></Button>
          </div>
        )}
        <PromptBox
          conversation={name ?? NEW}
          placeholder={running ? t("prompt.running") : ordered.length > 0 ? t("prompt.followUp") : t("prompt.new")}
          running={running ? last : undefined}
          onSend={onSend}
        />
      </div>
    </div>
  );
}

/** Names the browser's tab after the conversation, with a mark while it waits for the user. */
function useTitle(goal: string | undefined, waiting: boolean): void {
  useEffect(() => {
    document.title = goal === undefined ? "Motorium" : `${waiting ? "● " : ""}${titleOf(goal)} – Motorium`;
    return () => {
      document.title = "Motorium";
    };
  }, [goal, waiting]);
}

function BeingSent({ entry }: { readonly entry: Sending }): ReactNode {
  const t = useText();
  const { id, problem } = entry;
  return (
    <div className="space-y-5">
      <UserMessage text={entry.text} files={entry.files.map((file) => file.name)} faded={problem === undefined && !entry.upload} />
      {!problem && entry.upload && <UploadBar upload={entry.upload} />}
      {problem && (
        <ProblemNotice
          problem={problem}
          note={entry.refused ? t("send.refused") : t("send.uncertain")}
          onRetry={() => void sendAgain(id)}
          {...(entry.refused ? { onEdit: () => editAgain(id) } : {})}
        />
      )}
      {!problem && !entry.upload && entry.request.kind === "task" && <RunPlaceholder />}
    </div>
  );
}

/** The progress of an upload. The message follows its files. */
function UploadBar({ upload: { sent, total, cancel } }: { readonly upload: NonNullable<Sending["upload"]> }): ReactNode {
  const t = useText();
  const percent = total === 0 ? 100 : Math.floor((sent / total) * 100);
  return (
    <div className="ml-auto flex w-full max-w-sm items-center gap-3">
      <div className="min-w-0 flex-1">
        <p className="mb-1 text-right text-xs text-muted-foreground tabular-nums">
          {t("upload.progress", { sent: formatBytes(sent), total: formatBytes(total) })}
        </p>
        <div role="progressbar" aria-label={t("upload.label")} aria-valuemin={0} aria-valuemax={100} aria-valuenow={percent} className="h-1.5 overflow-hidden rounded-full bg-muted">
          <div className="h-full rounded-full bg-primary transition-[width] duration-200" style={{ width: `${percent}%` }} />
        </div>
      </div>
      <Button variant="ghost" size="small" onClick={cancel}>{t("upload.cancel")}</Button>
    </div>
  );
}

function Loading(): ReactNode {
  const t = useText();
  return (
    <div role="status" className="space-y-5" aria-label={t("loading")}>
      <div className="ml-auto h-11 w-2/5 animate-breathe rounded-2xl bg-muted" />
      <div className="h-80 animate-breathe rounded-2xl bg-muted" />
    </div>
  );
}
