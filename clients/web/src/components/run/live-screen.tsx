import { useEffect, useRef, useState, type ReactNode } from "react";
import { NOT_SHOWN, openLive, type LiveConnection, type LiveState } from "@/api/live.ts";
import { useText } from "@/i18n/index.ts";
import { cn } from "@/lib/class-names.ts";
import { ScreenBox } from "./screen-box.tsx";
import { reportLive, reportTrouble, type Trouble } from "@/store/live.ts";

interface LiveScreenProps {
  /** `desktops/…`, or `tasks/…` for the screen of a task by the rights of the task. */
  readonly source: string;
  readonly label: string;
  readonly className?: string;
  /** Width to the height, before the first frame says it. */
  readonly aspect?: number;
  /** Drawn over the screen, whose size in its own pixels it gets. */
  readonly overlay?: (width: number, height: number) => ReactNode;
  /** Takes the place of a live screen that is not shown to this user, or not yet. */
  readonly fallback?: ReactNode;
}

// Steps of the requested width: a page that is resized slowly should not open a stream for each pixel.
const WIDTH_STEP = 160;

/** The live screen of a desktop or a task, in the size in which it is shown. */
export function LiveScreen({ source, label, className, aspect = 16 / 10, overlay, fallback }: LiveScreenProps): ReactNode {
  const t = useText();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [state, setState] = useState<LiveState>({ kind: "connecting" });
  const [ratio, setRatio] = useState(aspect);
  const [drawn, setDrawn] = useState(false);
  const [screen, setScreen] = useState<{ readonly width: number; readonly height: number }>();
  const connection = useRef<LiveConnection>(undefined);
  const width = useRequestedWidth(canvas);
  const height = Math.round(width / ratio);
  const size = useRef({ width, height });
  size.current = { width, height };
  const onScreen = useOnScreen(canvas);
  const visible = width > 0 && onScreen;

  useEffect(() => {
    if (!visible) return;
    // Two frames may be decoded at once, and the smaller one is done first.
    let newest = -1;
    const opened = openLive(source, size.current, {
      onState: (next) => {
        // Another connection counts its frames anew.
        if (next.kind !== "open") newest = -1;
        setState(next);
        // It is lost until it is shown again, not only until the next try.
        if (next.kind !== "connecting") reportTrouble(source, troubleOf(next));
      },
      onStatistics: (statistics) => reportLive(source, statistics),
      onFrame: async ({ header, image }) => {
        const bitmap = await createImageBitmap(image);
        const target = canvas.current;
        if (target && header.index > newest) {
          newest = header.index;
          if (target.width !== bitmap.width || target.height !== bitmap.height) {
            target.width = bitmap.width;
            target.height = bitmap.height;
            setRatio(header.screen_width / header.screen_height);
            setScreen({ width: header.screen_width, height: header.screen_height });
          }
          target.getContext("2d", { alpha: false })?.drawImage(bitmap, 0, 0);
          setDrawn(true);
        }
        bitmap.close();
      },
    });
    connection.current = opened;
    return () => {
      opened.close();
      reportLive(source, undefined);
      reportTrouble(source, undefined);
    };
  }, [source, visible]);
  useEffect(() => {
    if (visible) connection.current?.resize(width, height);
  }, [width, height, visible]);

  const trouble = state.kind === "lost" || state.kind === "waiting" || state.kind === "refused";
  // Also until the first frame arrives, which is soon: an empty screen would look as if something were wrong.
  const instead = troubleOf(state) === "hidden" || !drawn ? fallback : undefined;
  return (
    <ScreenBox ratio={ratio} className={className ?? ""}>
      {instead !== undefined && <div className="absolute inset-0">{instead}</div>}
      <canvas
        ref={canvas}
        role="img"
        aria-label={label}
        className={cn("block size-full transition-opacity duration-300", instead === undefined && drawn ? "opacity-100" : "opacity-0", trouble && "grayscale")}
      />
      {screen && instead === undefined && overlay?.(screen.width, screen.height)}
      {(!drawn || trouble) && (
        <div className={cn("pointer-events-none absolute inset-0 flex justify-center p-3", instead === undefined ? "items-center" : "items-start")}>
          <span className="rounded-2xl text-center bg-card/90 px-3.5 py-1.5 text-sm text-muted-foreground shadow-card">
            {wordsOf(state, t, instead !== undefined)}
          </span>
        </div>
      )}
    </ScreenBox>
  );
}

function troubleOf(state: LiveState): Trouble | undefined {
  if (state.kind === "open" || state.kind === "connecting") return undefined;
  return state.kind === "refused" || (state.kind === "waiting" && state.reason === NOT_SHOWN) ? "hidden" : "lost";
}

function wordsOf(state: LiveState, t: ReturnType<typeof useText>, hasStored: boolean): string {
  switch (state.kind) {
    case "waiting": return state.reason !== NOT_SHOWN ? t("live.waiting") : hasStored ? t("live.notShown") : t("live.hidden");
    case "lost": return t("live.lost");
    case "refused": return state.problem.kind === "denied" ? t("live.denied") : t(`problem.${state.problem.kind}`);
    default: return t("live.connecting");
  }
}

// A screen that is about to be scrolled into view is there when it comes.
const AHEAD = "200px";

/** True while an element is in view in a visible tab: other screens are not streamed, so that hundreds of desktops can be listed. */
function useOnScreen(element: React.RefObject<HTMLElement | null>): boolean {
  const [near, setNear] = useState(false);
  const [hidden, setHidden] = useState(document.hidden);
  useEffect(() => {
    const target = element.current;
    if (!target) return;
    const observer = new IntersectionObserver((entries) => setNear(entries.at(-1)?.isIntersecting ?? false), { rootMargin: AHEAD });
    observer.observe(target);
    const onVisibility = (): void => setHidden(document.hidden);
    document.addEventListener("visibilitychange", onVisibility);
    return () => {
      observer.disconnect();
      document.removeEventListener("visibilitychange", onVisibility);
    };
  }, [element]);
  return near && !hidden;
}

function useRequestedWidth(element: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const target = element.current;
    if (!target) return;
    const measure = (): void => {
      const pixels = target.clientWidth * Math.min(window.devicePixelRatio, 2);
      setWidth(Math.ceil(pixels / WIDTH_STEP) * WIDTH_STEP);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(target);
    measure();
    return () => observer.disconnect();
  }, [element]);
  return width;
}
