import { ChevronDown, Pause, Play } from "lucide-react";
import { useCallback, useEffect, useMemo, useState, type KeyboardEvent, type ReactNode } from "react";
import { Button } from "@/components/ui/button.tsx";
import { Menu, MenuChoice } from "@/components/ui/menu.tsx";
import { Tooltip } from "@/components/ui/tooltip.tsx";
import { useText } from "@/i18n/index.ts";
import { cn } from "@/lib/class-names.ts";
import { toneOfStep } from "@/model/actions.ts";
import { positionAfterKey, positionOf, selectionAt, shareOf } from "@/model/scrubber.ts";
import { hasEnded, isThinking, newestLine, TaskState, type TaskView } from "@/model/task.ts";
import { select, useSelection } from "@/store/selection.ts";
import { RunControls } from "./run-controls.tsx";
import { ScreenWindow } from "./screen-window.tsx";
import { Scrubber } from "./scrubber.tsx";
import { StepMark, Timeline } from "./timeline.tsx";
import { useActorLine } from "./use-actor-line.ts";

/** A task at work, or the record of one that has ended: progress above, the screen below, and the scrubber under it. */
export function RunCard({ task }: { readonly task: TaskView }): ReactNode {
  const t = useText();
  const [unfolded, setUnfolded] = useState(false);
  const ended = hasEnded(task);
  const numbers = useMemo(() => task.steps.map((step) => step.number), [task.steps]);
  const tones = useMemo(() => task.steps.map((step) => toneOfStep(step, !ended)), [task.steps, ended]);
  const position = positionOf(useSelection(task.name), numbers);
  const move = useCallback(
    (next: number) => select(task.name, selectionAt(next, numbers)),
    [task.name, numbers],
  );
  const shown = task.steps[position];
  const label = shown ? t("step.of", { number: shown.number, count: task.steps.length }) : ended ? t("end") : t("live");

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || isSlider(event.target)) return;
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const next = positionAfterKey(event.key, position, task.steps.length);
    if (next !== undefined) move(next);
  };

  return (
    <section
      aria-label={t("run.label")}
      data-run
      onKeyDown={onKeyDown}
      className={cn(
        "animate-rise overflow-hidden rounded-2xl border bg-card text-card-foreground shadow-card in-[:fullscreen]:rounded-none in-[:fullscreen]:border-0 [&:fullscreen]:overflow-y-auto",
        // The whole card fits into the window, with two lines of the goal above, the prompt below and, unfolded, the timeline.
        fitted(unfolded, task.takenOverBy !== undefined),
      )}
    >
      <ProgressHeader task={task} unfolded={unfolded} onToggle={() => setUnfolded(!unfolded)} />
      {unfolded && task.steps.length > 0 && <Timeline task={task} position={position} onSelect={move} />}
      <ScreenWindow task={task} position={position}>
        <div className="flex items-center gap-1.5">
          {ended && task.steps.length > 0 && <Playback task={task} position={position} onMove={move} />}
          <div className="min-w-0 flex-1">
            <Scrubber
              tones={tones}
              position={position}
              ended={ended}
              label={label}
              onMove={move}
            />
          </div>
        </div>
      </ScreenWindow>
      {!ended && <RunControls task={task} />}
    </section>
  );
}

/** Height that is left for the screen. The class names are whole, so that Tailwind finds them. */
function fitted(unfolded: boolean, taken: boolean): string {
  if (unfolded && taken) return "[--screen-height:max(12rem,calc(100dvh-43.75rem))]";
  if (unfolded) return "[--screen-height:max(12rem,calc(100dvh-38.75rem))]";
  return taken ? "[--screen-height:max(12rem,calc(100dvh-31.25rem))]" : "[--screen-height:max(12rem,calc(100dvh-26.25rem))]";
}

function isTyping(target: EventTarget): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
}

function isSlider(target: EventTarget): boolean {
  return target instanceof HTMLElement && target.role === "slider";
}

interface ProgressHeaderProps {
  readonly task: TaskView;
  readonly unfolded: boolean;
  onToggle(): void;
}

/** The newest line of progress. Unfolds to the timeline. */
function ProgressHeader({ task, unfolded, onToggle }: ProgressHeaderProps): ReactNode {
  const t = useText();
  const line = useHeadline(task);
  return (
    <button
      type="button"
      onClick={onToggle}
      aria-expanded={unfolded}
      disabled={task.steps.length === 0}
      className="flex w-full items-center gap-3 px-3.5 py-3 text-left transition-colors hover:bg-muted/60 disabled:cursor-default disabled:hover:bg-transparent"
    >
      <StateMark task={task} />
      <span className="min-w-0 flex-1" aria-live="polite">
        <span className="block truncate text-sm font-medium" title={line}>{line}</span>
      </span>
      {isThinking(task) && <Thinking />}
      {task.steps.length > 0 && (
        <>
          <span className="text-xs whitespace-nowrap text-muted-foreground tabular-nums">{t("steps", { count: task.steps.length })}</span>
          <ChevronDown className={cn("size-4 shrink-0 text-muted-foreground transition-transform", unfolded && "rotate-180")} />
          <span className="sr-only">{unfolded ? t("timeline.fold") : t("timeline.unfold")}</span>
        </>
      )}
    </button>
  );
}

/** The agent looks at a screenshot and has not decided yet. */
function Thinking(): ReactNode {
  const t = useText();
  return (
    <span role="status" className="flex items-center gap-1.5 rounded-full bg-accent px-2 py-0.5 text-xs font-medium whitespace-nowrap text-accent-foreground">
      <span aria-hidden className="flex gap-0.5">
        {["", "[animation-delay:0.2s]", "[animation-delay:0.4s]"].map((delay) => <i key={delay} className={cn("size-1 animate-breathe rounded-full bg-current", delay)} />)}
      </span>
      {t("run.thinking")}
    </span>
  );
}

function useHeadline(task: TaskView): string {
  const t = useText();
  const actorLine = useActorLine(task);
  if (task.stopping) return t("run.stopping");
  if (actorLine !== undefined) return actorLine;
  switch (task.state) {
    case TaskState.PENDING:
      return task.wait?.queuePosition ? t("wait.queue", { position: task.wait.queuePosition }) : task.wait?.message || t("run.starting");
    case TaskState.PAUSED: return task.pausedReason ? t("run.pausedBecause", { reason: task.pausedReason }) : t("run.paused");
    default: return newestLine(task) || t("run.looking");
  }
}

function StateMark({ task }: { readonly task: TaskView }): ReactNode {
  switch (task.state) {
    case TaskState.SUCCEEDED: return <StepMark tone="good" />;
    case TaskState.FAILED: return <StepMark tone="bad" />;
    case TaskState.CANCELLED: case TaskState.PAUSED: return <StepMark tone="neutral" />;
    case TaskState.AWAITING_USER: return <StepMark tone="unsure" />;
    default: return <StepMark tone="active" />;
  }
}

const SPEEDS = ["0.5", "1", "2", "4"] as const;
type Speed = (typeof SPEEDS)[number];
// A step is shown as long as it took, within what a viewer can follow.
const MIN_STEP_MS = 700;
const MAX_STEP_MS = 2_500;

interface PlaybackProps {
  readonly task: TaskView;
  readonly position: number;
  onMove(position: number): void;
}

/** Plays a finished run step by step. */
function Playback({ task, position, onMove }: PlaybackProps): ReactNode {
  const t = useText();
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState<Speed>("1");
  const count = task.steps.length;

  useEffect(() => {
    if (!playing) return;
    if (position >= count) {
      setPlaying(false);
      return;
    }
    const step = task.steps[position];
    const taken = step?.endedAt === undefined ? MIN_STEP_MS : step.endedAt - step.startedAt;
    const pause = Math.max(MIN_STEP_MS, Math.min(MAX_STEP_MS, taken)) / Number(speed);
    const timer = setTimeout(() => onMove(position + 1), pause);
    return () => clearTimeout(timer);
  }, [playing, position, count, speed, task, onMove]);

  const toggle = (): void => {
    if (!playing && shareOf(position, count) === 1) onMove(0);
    setPlaying(!playing);
  };
  return (
    <>
      <Tooltip label={playing ? t("playback.pause") : t("playback.play")}>
        <Button variant="subtle" size="iconSmall" className="rounded-full" onClick={toggle} aria-label={playing ? t("playback.pause") : t("playback.play")}>
          {playing ? <Pause className="fill-current" /> : <Play className="translate-x-px fill-current" />}
        </Button>
      </Tooltip>
      <Menu
        side="top"
        align="start"
        trigger={<Button variant="ghost" size="small" className="w-11 px-0 text-xs tabular-nums" aria-label={`${t("playback.speed")}: ${speed}×`}>{speed}×</Button>}
      >
        <MenuChoice<Speed> value={speed} onChange={setSpeed} choices={SPEEDS.map((value) => ({ value, label: `${value}×` }))} />
      </Menu>
    </>
  );
}

