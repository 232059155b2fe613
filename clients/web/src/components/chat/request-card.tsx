import { Hand, MessageCircleQuestionMark, MousePointerClick } from "lucide-react";
import { useState, type FormEvent, type ReactNode } from "react";
import { Markdown } from "./markdown.tsx";
import { Button } from "@/components/ui/button.tsx";
import { ProblemNotice } from "@/components/ui/problem-notice.tsx";
import { useText } from "@/i18n/index.ts";
import { useCommand } from "@/lib/use-command.ts";
import { RequestKind, type TaskView } from "@/model/task.ts";
import { acknowledge, stop, takeOver } from "@/store/commands.ts";

/** A question of the task, or a manual action that it asks for. */
export function RequestCard({ task }: { readonly task: TaskView }): ReactNode {
  const t = useText();
  const manual = task.request?.kind === RequestKind.MANUAL_ACTION;
  return (
    <section
      aria-label={manual ? t("manual.label") : t("question.label")}
      className="animate-rise overflow-hidden rounded-2xl border border-warning-line bg-card shadow-card"
    >
      <p role="status" className="flex items-center gap-2 border-b border-warning-line bg-warning-soft px-4 py-2.5 text-sm font-semibold text-warning">
        {manual ? <MousePointerClick className="size-4.5" /> : <MessageCircleQuestionMark className="size-4.5" />}
        {manual ? t("manual.label") : t("question.label")}
      </p>
      <div className="space-y-4 px-4 py-4">
        <div className="text-[0.9375rem]"><Markdown text={task.request?.message ?? ""} /></div>
        {manual ? <ManualAction task={task} /> : <Question task={task} />}
      </div>
    </section>
  );
}

function ManualAction({ task }: { readonly task: TaskView }): ReactNode {
  const t = useText();
  const done = useCommand(acknowledge);
  const taking = useCommand(takeOver);
  const stopping = useCommand(stop);
  const problem = done.problem ?? taking.problem ?? stopping.problem;
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap gap-2">
        <Button variant="primary" disabled={done.busy} onClick={() => done.run(task.name, t("acknowledgement"))}>{t("acknowledgement")}</Button>
        <Button disabled={taking.busy} onClick={() => taking.run(task.name)}><Hand />{t("takeOver")}</Button>
        <Button variant="danger" disabled={stopping.busy} onClick={() => stopping.run(task.name)}>{t("stop")}</Button>
      </div>
      {problem && <ProblemNotice problem={problem} />}
    </div>
  );
}

function Question({ task }: { readonly task: TaskView }): ReactNode {
  const t = useText();
  const [text, setText] = useState("");
  const answering = useCommand(acknowledge);
  const stopping = useCommand(stop);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (text.trim() !== "") answering.run(task.name, text.trim());
  };
  const problem = answering.problem ?? stopping.problem;
  return (
    <form onSubmit={submit} className="space-y-3">
      <input
        autoFocus
        value={text}
        onChange={(event) => setText(event.target.value)}
        placeholder={t("question.placeholder")}
        aria-label={t("question.placeholder")}
        className="h-10 w-full rounded-lg border border-input bg-background px-3 text-[0.9375rem] placeholder:text-muted-foreground"
      />
      <div className="flex flex-wrap gap-2">
        <Button type="submit" variant="primary" disabled={answering.busy || text.trim() === ""}>{t("question.send")}</Button>
        <Button disabled={answering.busy} onClick={() => answering.run(task.name, t("acknowledgement"))}>{t("acknowledgement")}</Button>
        <Button variant="danger" disabled={stopping.busy} onClick={() => stopping.run(task.name)}>{t("stop")}</Button>
      </div>
      {problem && <ProblemNotice problem={problem} />}
    </form>
  );
}
