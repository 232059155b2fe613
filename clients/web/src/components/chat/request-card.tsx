import { Hand, MessageCircleQuestionMark, MousePointerClick, Square } from "lucide-react";
import { useState, type FormEvent, type ReactNode } from "react";
import { LiveScreen } from "@/components/run/live-screen.tsx";
import { NewestScreen } from "@/components/run/screen-window.tsx";
import { Markdown } from "./markdown.tsx";
import { Button } from "@/components/ui/button.tsx";
import { ProblemNotice } from "@/components/ui/problem-notice.tsx";
import { useText, type Key } from "@/i18n/index.ts";
import { useCommand } from "@/lib/use-command.ts";
import { choicesOf, type Choice } from "@/model/choices.ts";
import { RequestKind, type TaskView } from "@/model/task.ts";
import { acknowledge, stop, takeOver } from "@/store/commands.ts";
import { useIsRunShown } from "@/store/selection.ts";

/** A question of the task, or a manual action that it asks for. */
export function RequestCard({ task }: { readonly task: TaskView }): ReactNode {
  const t = useText();
  const manual = task.request?.kind === RequestKind.MANUAL_ACTION;
  const { message, choices } = choicesOf(task.request?.message ?? "");
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
        <div className="text-[0.9375rem]"><Markdown text={manual ? task.request?.message ?? "" : message} /></div>
        <AskedScreen task={task} />
        {manual ? <ManualAction task={task} /> : <Question task={task} choices={choices} />}
      </div>
    </section>
  );
}

/** The screen that the request is about, as it is now. Hidden while the whole run is shown below. */
function AskedScreen({ task }: { readonly task: TaskView }): ReactNode {
  const t = useText();
  const isRunShown = useIsRunShown(task.name);
  const newest = task.steps.findLast((step) => step.screen !== undefined);
  if (isRunShown || task.desktop === "") return null;
  const screen = newest?.screen;
  const image = screen && <NewestScreen step={newest} screen={screen} />;
  if (task.desktopReleased && !image) return null;
  return (
    <div className="overflow-hidden rounded-xl border [--screen-height:min(22rem,40dvh)]">
      {task.desktopReleased
        ? image
        : <LiveScreen source={task.name} label={t("screen.altLive")} {...(screen ? { aspect: screen.width / screen.height, fallback: image } : {})} />}
    </div>
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
        <Button variant="danger" className="ml-auto" disabled={stopping.busy} onClick={() => stopping.run(task.name)}>
          <Square className="fill-current" />{t("stop")}
        </Button>
      </div>
      {problem && <ProblemNotice problem={problem} />}
    </div>
  );
}

/** A question with answers to press, or one to be answered in words. */
function Question({ task, choices }: { readonly task: TaskView; readonly choices: readonly Choice[] }): ReactNode {
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
    <div className="space-y-3.5">
      {choices.some((choice) => choice.label === "done") && <p className="font-semibold">{t("choice.question")}</p>}
      {choices.length > 0 && (
        <div className="flex flex-wrap gap-2">
          {choices.map((choice, index) => (
            <Button
              key={choice.answer}
              variant={index === 0 && typeof choice.label === "string" ? "primary" : "secondary"}
              className="h-auto min-h-9 py-1.5 text-left whitespace-normal"
              disabled={answering.busy}
              onClick={() => answering.run(task.name, choice.answer)}
            >
              {typeof choice.label === "string" ? t(CHOICES[choice.label]) : choice.label.candidate}
            </Button>
          ))}
        </div>
      )}
      <form onSubmit={submit} className="flex flex-wrap gap-2">
        <input
          autoFocus={choices.length === 0}
          value={text}
          onChange={(event) => setText(event.target.value)}
          placeholder={choices.length === 0 ? t("question.placeholder") : t("question.otherwise")}
          aria-label={t("question.placeholder")}
          className="h-9 min-w-48 flex-1 rounded-lg border border-input bg-background px-3 text-sm placeholder:text-muted-foreground"
        />
        <Button type="submit" variant={choices.length === 0 ? "primary" : "secondary"} disabled={answering.busy || text.trim() === ""}>{t("question.send")}</Button>
      </form>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        {!choices.some((choice) => choice.label === "done") && (
          <span className="flex items-center gap-1 text-sm text-muted-foreground">
            {t("question.myself")}
            <Button variant="ghost" size="small" className="text-primary" disabled={answering.busy} onClick={() => answering.run(task.name, t("acknowledgement"))}>{t("acknowledgement")}</Button>
          </span>
        )}
        <Button variant="danger" className="ml-auto" disabled={stopping.busy} onClick={() => stopping.run(task.name)}>
          <Square className="fill-current" />{t("stop")}
        </Button>
      </div>
      {problem && <ProblemNotice problem={problem} />}
    </div>
  );
}

const CHOICES: Record<"done" | "retry", Key> = { done: "choice.done", retry: "choice.retry" };
