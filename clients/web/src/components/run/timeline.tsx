import { useVirtualizer } from "@tanstack/react-virtual";
import { Check, CircleDashed, Minus, TriangleAlert, X } from "lucide-react";
import { memo, useEffect, useRef, type ReactNode } from "react";
import { useText } from "@/i18n/index.ts";
import { cn } from "@/lib/class-names.ts";
import { formatDuration } from "@/lib/format.ts";
import { toneOfStep, type Tone } from "@/model/actions.ts";
import { outcomeOf } from "@/model/outcome.ts";
import { hasEnded, type StepView, type TaskView } from "@/model/task.ts";
import { VERDICT_WORDS } from "./verdict-words.ts";

interface TimelineProps {
  readonly task: TaskView;
  /** Index of the highlighted step, or the number of steps for the live screen. */
  readonly position: number;
  onSelect(position: number): void;
}

// Rows are measured once they are drawn; this only places the scroll bar until then.
const ROW_HEIGHT = 44;

/** The steps in their order along a vertical rule. Only the visible rows exist, so 500 steps scroll as smoothly as five. */
export function Timeline({ task, position, onSelect }: TimelineProps): ReactNode {
  const t = useText();
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: task.steps.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: (index) => task.steps[index]?.number ?? index,
    overscan: 8,
  });
  const count = task.steps.length;
  useEffect(() => {
    if (count === 0) return;
    rows.scrollToIndex(Math.min(position, count - 1), { align: position >= count ? "end" : "auto" });
  }, [position, count, rows]);

  const running = !hasEnded(task);
  return (
    <div ref={scroller} className="max-h-52 overflow-y-auto overscroll-contain border-t px-2 py-2" tabIndex={-1}>
      <ol aria-label={t("timeline")} className="relative" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((row) => {
          const step = task.steps[row.index];
          if (!step) return null;
          return (
            <li
              key={row.key}
              ref={rows.measureElement}
              data-index={row.index}
              className="absolute top-0 left-0 w-full"
              style={{ transform: `translateY(${row.start}px)` }}
            >
              <TimelineRow
                step={step}
                first={row.index === 0}
                last={row.index === count - 1}
                selected={row.index === position}
                tone={toneOfStep(step, running)}
                onSelect={() => onSelect(row.index)}
              />
            </li>
          );
        })}
      </ol>
    </div>
  );
}

interface TimelineRowProps {
  readonly step: StepView;
  readonly first: boolean;
  readonly last: boolean;
  readonly selected: boolean;
  readonly tone: Tone;
  onSelect(): void;
}

const TimelineRow = memo(function TimelineRow({ step, first, last, selected, tone, onSelect }: TimelineRowProps): ReactNode {
  const t = useText();
  const elapsed = step.endedAt === undefined ? undefined : step.endedAt - step.startedAt;
  const words = outcomeOf(step);
  const outcome = step.problem || (words === undefined ? "" : "text" in words ? words.text : t(VERDICT_WORDS[words.verdict]));
  return (
    <button
      type="button"
      onClick={onSelect}
      aria-current={selected ? "step" : undefined}
      className={cn(
        "group relative flex w-full items-start gap-3 rounded-lg py-1.5 pr-3 pl-2 text-left transition-colors",
        selected ? "bg-accent" : "hover:bg-muted",
      )}
    >
      <span aria-hidden data-rule className={cn("absolute left-[1.21875rem] w-px bg-border", first ? "top-5" : "top-0", last ? "h-3" : "bottom-0")} />
      <span className="relative mt-0.5">
        <StepMark tone={tone} />
      </span>
      <span className="min-w-0 flex-1">
        <span className="line-clamp-2 text-sm leading-5.5 wrap-anywhere">{step.progress || t(step.endedAt === undefined ? "step.looking" : "step.number", { number: step.number })}</span>
        {outcome !== "" && (
          <span className={cn("line-clamp-2 text-xs wrap-anywhere", step.problem ? "text-destructive" : "text-muted-foreground")}>{outcome}</span>
        )}
      </span>
      {step.missed && <span className="mt-1 rounded-full bg-warning-soft px-1.5 text-[0.6875rem] font-medium text-warning">{t("step.missed")}</span>}
      <span className="mt-1 text-xs whitespace-nowrap text-muted-foreground tabular-nums">
        {elapsed === undefined ? "" : formatDuration(elapsed)}
      </span>
    </button>
  );
}, sameRow);

/** The callback of a row is a new one each time, and does the same. */
function sameRow(a: TimelineRowProps, b: TimelineRowProps): boolean {
  return a.step === b.step && a.first === b.first && a.last === b.last && a.selected === b.selected && a.tone === b.tone;
}

const MARKS: Record<Tone, string> = {
  good: "border-success/35 bg-success-soft text-success",
  bad: "border-destructive/35 bg-danger-soft text-destructive",
  unsure: "border-warning/35 bg-warning-soft text-warning",
  neutral: "border-border bg-card text-muted-foreground",
  active: "border-primary/40 bg-accent text-primary",
};

export function StepMark({ tone }: { readonly tone: Tone }): ReactNode {
  return (
    <span className={cn("flex size-5.5 items-center justify-center rounded-full border [&_svg]:size-3", MARKS[tone])}>
      {tone === "good" && <Check strokeWidth={3} />}
      {tone === "bad" && <X strokeWidth={3} />}
      {tone === "unsure" && <TriangleAlert strokeWidth={2.5} />}
      {tone === "neutral" && <Minus strokeWidth={3} />}
      {tone === "active" && <CircleDashed strokeWidth={3} className="animate-spin [animation-duration:2.4s]" />}
    </span>
  );
}
