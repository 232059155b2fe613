import { ClipboardCopy, Hand, Keyboard, Pause, Play, Square } from "lucide-react";
import { useState, type FormEvent, type ReactNode } from "react";
import { Button } from "@/components/ui/button.tsx";
import { Menu, MenuItem } from "@/components/ui/menu.tsx";
import { ProblemNotice } from "@/components/ui/problem-notice.tsx";
import { useText } from "@/i18n/index.ts";
import { formatClock } from "@/lib/format.ts";
import { useCommand } from "@/lib/use-command.ts";
import { useNow } from "@/lib/use-now.ts";
import { TaskState, type TaskView } from "@/model/task.ts";
import { copyFromDesktop, type CopyResult } from "@/lib/copy-from-desktop.ts";
import { useActor } from "@/store/actor.ts";
import { handBack, pause, resume, stop, takeOver } from "@/store/commands.ts";
import { useIdentity } from "@/store/identity.ts";
import { useOperation } from "@/store/operation.ts";
import { COPY_WORDS } from "./copy-words.ts";
import { DetailsButton } from "./run-details.tsx";
import { useActorLine } from "./use-actor-line.ts";

/** Stop, pause and take over: always within reach while a task is not at its end. */
export function RunControls({ task }: { readonly task: TaskView }): ReactNode {
  const t = useText();
  const stopping = useCommand(stop);
  const pausing = useCommand(pause);
  const resuming = useCommand(resume);
  const taking = useCommand(takeOver);
  const now = useNow(1_000);
  const problem = stopping.problem ?? pausing.problem ?? resuming.problem ?? taking.problem;
  const actor = useActor(task);
  const begun = task.state !== TaskState.PENDING;
  // An unnamed person may be this one, in another browser.
  const mayTakeOver = actor.kind === "agent" || (actor.kind === "person" && actor.name === "");

  return (
    <div className="border-t">
      {actor.kind === "you" && <HandBackForm task={task} />}
      {actor.kind === "person" && <OtherOperator task={task} />}
      <div className="flex flex-wrap items-center gap-2 px-3 py-2.5">
        {task.state === TaskState.RUNNING && (
          <Button size="small" disabled={pausing.busy} onClick={() => pausing.run(task.name)}><Pause />{t("pause")}</Button>
        )}
        {task.state === TaskState.PAUSED && (
          <Button size="small" variant="primary" disabled={resuming.busy} onClick={() => resuming.run(task.name)}><Play />{t("resume")}</Button>
        )}
        {begun && mayTakeOver && (
          <Button size="small" disabled={taking.busy} onClick={() => taking.run(task.name)}><Hand />{t("takeOver")}</Button>
        )}
        <Button size="small" variant="danger" disabled={stopping.busy || task.stopping} onClick={() => stopping.run(task.name)}>
          <Square className="fill-current" />{t("stop")}
        </Button>
        <span className="ml-auto hidden text-xs text-muted-foreground tabular-nums sm:inline">
          {formatClock(now - (task.startedAt ?? task.createdAt))}
        </span>
        <span className="ml-auto sm:ml-0"><DetailsButton task={task} /></span>
      </div>
      {problem && <ProblemNotice problem={problem} className="mx-3 mb-3" />}
    </div>
  );
}

/** Says who has the desktop. Only that person uses it and hands it back, or an administrator if they have gone. */
function OtherOperator({ task }: { readonly task: TaskView }): ReactNode {
  const t = useText();
  const actorLine = useActorLine(task);
  const actor = useActor(task);
  const isAdministrator = useIdentity(({ roles }) => roles.includes("admin"));
  const mayFree = isAdministrator && actor.kind === "person" && actor.name !== "";
  const handing = useCommand(handBack);
  return (
    <div className="border-b border-warning-line bg-warning-soft px-3.5 py-3">
      <p className="flex items-center gap-2 text-sm font-medium"><Hand className="size-4 text-warning" />{actorLine}</p>
      <p className="mt-0.5 text-[0.8125rem] text-muted-foreground">{t(mayFree ? "takeOver.freeHint" : "takeOver.otherHint")}</p>
      {mayFree && <Button size="small" className="mt-2.5" disabled={handing.busy} onClick={() => handing.run(task.name, "")}>{t("handBack")}</Button>}
      {handing.problem && <ProblemNotice problem={handing.problem} className="mt-2.5" />}
    </div>
  );
}

function HandBackForm({ task }: { readonly task: TaskView }): ReactNode {
  const t = useText();
  const [note, setNote] = useState("");
  const handing = useCommand(handBack);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    handing.run(task.name, note.trim());
  };
  return (
    <form onSubmit={submit} className="border-b border-warning-line bg-warning-soft px-3.5 py-3">
      <p className="flex items-start gap-2 text-[0.8125rem] text-muted-foreground"><Hand aria-hidden className="mt-0.5 size-4 shrink-0 text-warning" />{t("takeOver.hint")}</p>
      <div className="mt-2.5 flex flex-wrap gap-2">
        <input
          value={note}
          onChange={(event) => setNote(event.target.value)}
          placeholder={t("takeOver.note")}
          aria-label={t("takeOver.note")}
          className="h-9 min-w-40 flex-1 basis-full rounded-lg border border-input bg-card px-3 text-sm placeholder:text-muted-foreground sm:basis-0"
        />
        <KeysMenu />
        <CopyButton />
        <Button type="submit" variant="primary" className="grow sm:grow-0" disabled={handing.busy}>{t("handBack")}</Button>
      </div>
      {handing.problem && <ProblemNotice problem={handing.problem} className="mt-2.5" />}
    </form>
  );
}

/** Brings the text that was copied on the desktop to the clipboard of this browser. */
function CopyButton(): ReactNode {
  const t = useText();
  const operation = useOperation((state) => state.operation);
  const [result, setResult] = useState<CopyResult>();
  const copy = async (): Promise<void> => {
    if (operation !== undefined) setResult(await copyFromDesktop(operation.copiedText()));
  };
  return (
    <>
      <Button className="grow sm:grow-0" disabled={operation === undefined} onClick={() => void copy()} title={t("copy.hint")}><ClipboardCopy />{t("copy")}</Button>
      {result && <p role="status" className="order-last basis-full text-[0.8125rem] text-muted-foreground">{t(COPY_WORDS[result])}</p>}
    </>
  );
}

/** Keys that browsers keep for themselves, or that the keyboard of a phone lacks. */
const OFFERED_KEYS: readonly (readonly string[])[] = [
  ["escape"], ["tab"], ["delete"], ["ctrl", "a"], ["ctrl", "z"], ["ctrl", "w"], ["ctrl", "t"], ["ctrl", "n"], ["ctrl", "tab"], ["alt", "tab"], ["f11"],
];

/** Presses keys on the desktop that cannot be typed here. */
function KeysMenu(): ReactNode {
  const t = useText();
  const operation = useOperation((state) => state.operation);
  const trigger = <Button className="grow sm:grow-0" disabled={operation === undefined} title={t("keys.hint")}><Keyboard />{t("keys")}</Button>;
  return (
    <Menu trigger={trigger} side="top" align="start">
      {OFFERED_KEYS.map((keys) => (
        <MenuItem key={keys.join("+")} onSelect={() => operation?.send({ case: "keyChord", value: { keys: [...keys], repeat: 1 } })}>
          {keys.map((key) => key.charAt(0).toUpperCase() + key.slice(1)).join("+")}
        </MenuItem>
      ))}
    </Menu>
  );
}
