import { memo, useRef, useState, useLayoutEffect, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";
import { useText } from "@/i18n/index.ts";
import { cn } from "@/lib/class-names.ts";
import type { Tone } from "@/model/actions.ts";
import { knotRadius, positionAfterKey, positionAtShare, shareOf } from "@/model/scrubber.ts";

interface ScrubberProps {
  readonly tones: readonly Tone[];
  /** 0 … tones.length − 1 for steps, tones.length for the last knot. */
  readonly position: number;
  readonly ended: boolean;
  readonly label: string;
  onMove(position: number): void;
}

const HEIGHT = 20;
const FILLS: Record<Tone, string> = {
  good: "fill-primary",
  neutral: "fill-primary",
  active: "fill-primary",
  unsure: "fill-warning",
  bad: "fill-destructive",
};

/** One knot per step and a last one for the live screen. */
export function Scrubber({ tones, position, ended, label, onMove }: ScrubberProps): ReactNode {
  const t = useText();
  const track = useRef<HTMLDivElement>(null);
  const width = useWidth(track);
  const [dragging, setDragging] = useState(false);
  const count = tones.length;

  const moveTo = (event: PointerEvent): void => {
    const bounds = track.current?.getBoundingClientRect();
    if (!bounds || bounds.width === 0) return;
    const next = positionAtShare((event.clientX - bounds.left) / bounds.width, count);
    if (next !== position) onMove(next);
  };
  const onPointerDown = (event: PointerEvent<HTMLDivElement>): void => {
    event.currentTarget.setPointerCapture(event.pointerId);
    setDragging(true);
    moveTo(event);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = positionAfterKey(event.key, position, count);
    if (next === undefined) return;
    event.preventDefault();
    onMove(next);
  };

  const radius = knotRadius(width, count);
  const atLive = position === count;
  return (
    <div className="flex items-center gap-3 select-none">
      <div
        role="slider"
        tabIndex={0}
        aria-label={t("scrubber")}
        aria-valuemin={0}
        aria-valuemax={count}
        aria-valuenow={position}
        aria-valuetext={label}
        onPointerDown={onPointerDown}
        onPointerMove={(event) => dragging && moveTo(event)}
        onPointerUp={() => setDragging(false)}
        onPointerCancel={() => setDragging(false)}
        onKeyDown={onKeyDown}
        className="group relative h-9 min-w-0 flex-1 cursor-pointer touch-none rounded-lg px-2 outline-offset-0"
      >
        <div ref={track} className="relative mx-1 h-full">
          <div className="absolute top-1/2 right-0 left-0 h-1 -translate-y-1/2 rounded-full bg-secondary dark:bg-muted" />
          <div
            className="absolute top-1/2 left-0 h-1 -translate-y-1/2 rounded-full bg-primary/45"
            style={{ width: `${shareOf(position, count) * 100}%` }}
          />
          <svg width={width} height={HEIGHT} className="absolute top-1/2 left-0 -translate-y-1/2 overflow-visible" aria-hidden>
            <KnotPaths tones={tones} radius={radius} width={width} />
          </svg>
          <span
            aria-hidden
            className={cn(
              "absolute top-1/2 right-0 size-3 translate-x-1/2 -translate-y-1/2 rounded-full border-2 border-card",
              ended ? "bg-muted-foreground" : "bg-success",
            )}
          />
          <span
            aria-hidden
            className={cn(
              "absolute top-1/2 size-4.5 -translate-1/2 rounded-full border-[3px] border-primary bg-card shadow-md",
              "group-hover:scale-110 group-focus-visible:scale-110",
              !dragging && "transition-[left,scale] duration-150 ease-out",
              dragging && "scale-115",
              atLive && !ended && "border-success",
            )}
            style={{ left: `${shareOf(position, count) * 100}%` }}
          />
        </div>
      </div>
      <button
        type="button"
        onClick={() => onMove(count)}
        aria-pressed={atLive}
        className={cn(
          "inline-flex h-7 items-center gap-1.5 rounded-full px-2.5 text-xs font-semibold transition-colors",
          atLive && !ended && "bg-success-soft text-success",
          atLive && ended && "bg-muted text-foreground",
          !atLive && "text-muted-foreground hover:bg-accent hover:text-accent-foreground",
        )}
      >
        {!ended && <span className={cn("size-1.5 rounded-full bg-success", atLive && "animate-breathe")} />}
        {ended ? t("end") : t("live")}
      </button>
    </div>
  );
}

/** All knots as one path for each colour, so that 500 steps are a handful of elements. A move does not draw them again. */
const KnotPaths = memo(function KnotPaths({ tones, radius, width }: { readonly tones: readonly Tone[]; readonly radius: number; readonly width: number }): ReactNode {
  const paths = new Map<string, string>();
  tones.forEach((tone, index) => {
    const x = shareOf(index, tones.length) * width;
    const knot = `M${(x - radius).toFixed(2)} ${HEIGHT / 2}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`;
    const fill = FILLS[tone];
    paths.set(fill, (paths.get(fill) ?? "") + knot);
  });
  return [...paths].map(([fill, path]) => <path key={fill} d={path} className={fill} />);
});

function useWidth(element: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const target = element.current;
    if (!target) return;
    const observer = new ResizeObserver(() => setWidth(target.clientWidth));
    observer.observe(target);
    setWidth(target.clientWidth);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
