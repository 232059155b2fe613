import { ArrowUp, FileDown, Paperclip, Pause, Play, Square, Upload, X } from "lucide-react";
import { useEffect, useRef, useState, type ClipboardEvent, type KeyboardEvent, type ReactNode } from "react";
import { createPortal } from "react-dom";
import { UPLOAD_LIMIT_BYTES } from "@/api/uploads.ts";
import { Button } from "@/components/ui/button.tsx";
import { ProblemNotice } from "@/components/ui/problem-notice.tsx";
import { Tooltip } from "@/components/ui/tooltip.tsx";
import { useText } from "@/i18n/index.ts";
import { cn } from "@/lib/class-names.ts";
import { formatBytes } from "@/lib/format.ts";
import { STOP_KEYS } from "@/lib/platform.ts";
import { useCommand, type Command } from "@/lib/use-command.ts";
import { useFileDrop } from "@/lib/use-file-drop.ts";
import { TaskState, type TaskView } from "@/model/task.ts";
import { pause, resume, stop } from "@/store/commands.ts";
import { addFiles, changeDraft, clearDraft, removeFile, resultNames, useDraft } from "@/store/prompt.ts";

interface PromptBoxProps {
  /** Conversation whose draft is written. */
  readonly conversation: string;
  readonly placeholder: string;
  readonly disabled?: boolean;
  /** Task that is not at its end. What is sent goes to it, and it is stopped from here. */
  readonly running?: TaskView | undefined;
  onSend(text: string, files: readonly File[], results: readonly string[]): void;
}

export const PROMPT_ID = "prompt";
/** The button that the key for stopping presses. */
export const STOP_ID = "stop-task";

/** The input of a message, with files: chosen, dropped or pasted. Enter sends, Shift+Enter makes a new line. */
export function PromptBox({ conversation, placeholder, disabled = false, running, onSend }: PromptBoxProps): ReactNode {
  const t = useText();
  const { text, files, results } = useDraft(conversation);
  // Only a new task fetches files.
  const fetching = running === undefined && results !== undefined;
  const [refused, setRefused] = useState<string>();
  const area = useRef<HTMLTextAreaElement>(null);
  const chooser = useRef<HTMLInputElement>(null);
  const stopping = useCommand(stop, running?.name);
  const pausing = useCommand(pause, running?.name);
  const resuming = useCommand(resume, running?.name);
  const problem = stopping.problem ?? pausing.problem ?? resuming.problem;
  useGrowing(area, text);
  useEffect(() => setRefused(undefined), [conversation]);

  const take = (taken: Iterable<File>): void => {
    const all = [...taken];
    const large = all.find((file) => file.size > UPLOAD_LIMIT_BYTES);
    setRefused(large && t("upload.tooLarge", { name: large.name, size: formatBytes(large.size), limit: formatBytes(UPLOAD_LIMIT_BYTES) }));
    addFiles(conversation, all.filter((file) => file.size <= UPLOAD_LIMIT_BYTES));
  };
  const empty = text.trim() === "";
  const submit = (): void => {
    if (empty || disabled) return;
    onSend(text.trim(), files, fetching ? resultNames(results) : []);
    clearDraft(conversation);
    setRefused(undefined);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    // Enter that chooses a word of an input method is not the end of the text.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  const onPaste = (event: ClipboardEvent): void => {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    take(event.clipboardData.files);
  };
  const dropping = useFileDrop(take);

  return (
    <div
      className={cn(
        "relative rounded-2xl border border-input bg-card shadow-card transition-[border-color,box-shadow] focus-within:border-ring focus-within:shadow-raised",
        dropping && "border-primary",
      )}
    >
      {files.length > 0 && (
        <ul aria-label={t("files")} className="flex flex-wrap gap-1.5 px-3 pt-3">
          {files.map((file, index) => (
            <li key={`${index}.${file.name}`} className="flex max-w-full items-center gap-2 rounded-lg border bg-muted py-1 pr-1 pl-2.5 text-xs">
              <span className="truncate font-medium">{file.name}</span>
              <span className="shrink-0 text-muted-foreground">{formatBytes(file.size)}</span>
              <Button variant="ghost" size="iconSmall" className="size-6" aria-label={t("upload.remove", { name: file.name })} onClick={() => removeFile(conversation, index)}>
                <X className="size-3.5" />
              </Button>
            </li>
          ))}
        </ul>
      )}
      {running && problem && <ProblemNotice problem={problem} className="mx-3 mt-3" />}
      {refused !== undefined && <p role="alert" className="px-4 pt-3 text-sm text-destructive">{refused}</p>}
      {fetching && (
        <div className="mx-3 mt-3 flex items-center gap-2 rounded-lg border bg-muted px-2.5 py-1.5 text-xs">
          <label className="flex min-w-0 flex-1 items-center gap-2">
            <FileDown className="size-3.5 shrink-0 text-muted-foreground" />
            <span className="shrink-0 font-medium">{t("results")}</span>
            <input
              autoFocus
              value={results}
              onChange={(event) => changeDraft(conversation, { results: event.target.value })}
              onKeyDown={(event) => {
                // Escape that ends an input method keeps what was written.
                if (event.key === "Escape" && !event.nativeEvent.isComposing) changeDraft(conversation, { results: undefined });
                else onKeyDown(event);
              }}
              placeholder={t("results.placeholder")}
              className="min-w-0 flex-1 bg-transparent py-0.5 outline-none placeholder:text-muted-foreground"
            />
          </label>
          <Button variant="ghost" size="iconSmall" className="size-6" aria-label={t("results.none")} onClick={() => changeDraft(conversation, { results: undefined })}>
            <X className="size-3.5" />
          </Button>
        </div>
      )}
      <textarea
        ref={area}
        id={PROMPT_ID}
        rows={1}
        value={text}
        onChange={(event) => changeDraft(conversation, { text: event.target.value })}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
        placeholder={placeholder}
        aria-label={placeholder}
        maxLength={16_384}
        className="block max-h-56 w-full resize-none bg-transparent px-4 pt-3.5 pb-1 text-[0.9375rem] leading-relaxed outline-none placeholder:text-muted-foreground"
      />
      <div className="flex items-center gap-2 px-2.5 pb-2.5">
        <input ref={chooser} type="file" multiple hidden onChange={(event) => {
          take(event.target.files ?? []);
          event.target.value = "";
        }} />
        <Tooltip label={t("upload.add")}>
          <Button variant="ghost" size="icon" className="rounded-xl" aria-label={t("upload.add")} onClick={() => chooser.current?.click()}>
            <Paperclip />
          </Button>
        </Tooltip>
        {running === undefined && (
          <Tooltip label={t("results.text")}>
            <Button
              variant="ghost" size="icon" className="rounded-xl aria-pressed:bg-accent aria-pressed:text-primary" aria-label={t("results")} aria-pressed={fetching}
              onClick={() => changeDraft(conversation, { results: fetching ? undefined : "" })}
            >
              <FileDown />
            </Button>
          </Tooltip>
        )}
        <span className="flex-1" />
        <span className="hidden text-xs text-muted-foreground sm:inline">{t("prompt.hint")}</span>
        {running?.state === TaskState.RUNNING && <PauseButton task={running} label={t("pause.task")} icon={<Pause />} command={pausing} />}
        {running?.state === TaskState.PAUSED && <PauseButton task={running} label={t("resume.task")} icon={<Play />} command={resuming} />}
        {running && <StopButton task={running} stopping={stopping} />}
        <Tooltip label={t("send")} keys={["↵"]}>
          <Button variant="primary" size="icon" className="rounded-xl" disabled={empty || disabled} aria-label={t("send")} onClick={submit}>
            <ArrowUp strokeWidth={2.5} />
          </Button>
        </Tooltip>
      </div>
      {dropping && createPortal(
        <div className="pointer-events-none fixed inset-0 z-50 flex items-center justify-center bg-background/80 p-4 backdrop-blur-[2px]">
          <span className="flex items-center gap-2.5 rounded-2xl border-2 border-dashed border-primary bg-card px-8 py-6 text-base font-medium text-primary shadow-raised">
            <Upload className="size-5" />{t("upload.drop")}
          </span>
        </div>,
        document.body,
      )}
    </div>
  );
}

/** Stops the task from the prompt, which is in sight wherever the reader has scrolled to. */
function StopButton({ task, stopping }: { readonly task: TaskView; readonly stopping: Command<[string]> }): ReactNode {
  const t = useText();
  return (
    <Tooltip label={t("stop.task")} keys={STOP_KEYS}>
      <Button
        id={STOP_ID}
        variant="danger" size="icon" className="rounded-xl" disabled={stopping.busy || task.stopping}
        aria-label={t("stop.task")} onClick={() => stopping.run(task.name)}
      >
        <Square className="fill-current" />
      </Button>
    </Tooltip>
  );
}

interface PauseButtonProps {
  readonly task: TaskView;
  readonly label: string;
  readonly icon: ReactNode;
  readonly command: Command<[string]>;
}

/** Pauses or resumes the task from the prompt. */
function PauseButton({ task, label, icon, command }: PauseButtonProps): ReactNode {
  return (
    <Tooltip label={label}>
      <Button size="icon" className="rounded-xl" disabled={command.busy || task.stopping} aria-label={label} onClick={() => command.run(task.name)}>
        {icon}
      </Button>
    </Tooltip>
  );
}

/** Lets a text area grow with its text, to the height that the style allows. */
function useGrowing(area: React.RefObject<HTMLTextAreaElement | null>, text: string): void {
  useEffect(() => {
    const element = area.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
  }, [area, text]);
}
