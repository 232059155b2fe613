import { Crosshair, Expand, ScanSearch } from "lucide-react";
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { artifactUrl } from "@/api/client.ts";
import { Badge } from "@/components/ui/badge.tsx";
import { Button } from "@/components/ui/button.tsx";
import { Tooltip } from "@/components/ui/tooltip.tsx";
import { useText } from "@/i18n/index.ts";
import { cn } from "@/lib/class-names.ts";
import { plainDirection } from "@/lib/plain-direction.ts";
import { boxOf } from "@/model/actions.ts";
import { hasEnded, screenAfter, TaskState, type ScreenView, type StepView, type TaskView } from "@/model/task.ts";
import { useActor } from "@/store/actor.ts";
import { useConversation } from "@/store/conversation.ts";
import { useIdentity } from "@/store/identity.ts";
import { useLists } from "@/store/lists.ts";
import { useLive, type Trouble } from "@/store/live.ts";
import { fragmentOf } from "@/store/route.ts";
import type { DesktopWait } from "@gen/orchestrator/v1/task_pb.ts";
import { LiveScreen } from "./live-screen.tsx";
import { OperateSurface } from "./operate-surface.tsx";
import { Overlay } from "./overlay.tsx";
import { ScreenBox } from "./screen-box.tsx";
import { TargetBox } from "./target-box.tsx";
import { Verdict } from "./verdict.tsx";
import { WaitingScreen } from "./waiting-screen.tsx";

interface ScreenWindowProps {
  readonly task: TaskView;
  readonly position: number;
  readonly children: ReactNode;
}

/** The window that shows the desktop: a step's screenshot with what was done, or the live screen. */
export function ScreenWindow({ task, position, children }: ScreenWindowProps): ReactNode {
  const t = useText();
  const frame = useRef<HTMLDivElement>(null);
  const [marks, setMarks] = useState(false);
  const [moment, setMoment] = useState<"before" | "after">("before");
  const step = task.steps[position];
  const after = step ? screenAfter(task, position) : undefined;
  const shownMoment = after === undefined ? "before" : moment;

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "m" && step) setMarks(!marks);
    else if (event.key === "f" && document.fullscreenEnabled) void toggleFullscreen(task, frame.current);
  };
  return (
    <div ref={frame} onKeyDown={onKeyDown} className="overflow-hidden bg-card">
      <div className="flex h-10 items-center gap-3 border-y bg-muted/60 px-3.5">
        <span aria-hidden className="hidden gap-1.5 sm:flex">
          <i className="size-2.5 rounded-full bg-border" />
          <i className="size-2.5 rounded-full bg-border" />
          <i className="size-2.5 rounded-full bg-border" />
        </span>
        <ScreenTitle task={task} step={step} />
        {step && (
          <div className="flex items-center gap-1">
            <div role="group" aria-label={t("screen.moment")} className="flex rounded-lg bg-secondary p-0.5">
              <Segment pressed={shownMoment === "before"} onPress={() => setMoment("before")}>{t("screen.before")}</Segment>
              <Segment pressed={shownMoment === "after"} disabled={after === undefined} onPress={() => setMoment("after")}>{t("screen.after")}</Segment>
            </div>
            <Tooltip label={t("screen.marks")} keys={["M"]}>
              <Button
                variant="ghost" size="iconSmall" className="size-7.5 aria-pressed:bg-accent aria-pressed:text-primary"
                aria-pressed={marks} aria-label={t("screen.marks")}
                onClick={() => setMarks(!marks)}
              >
                <ScanSearch />
              </Button>
            </Tooltip>
          </div>
        )}
        {document.fullscreenEnabled && (
          <Tooltip label={t("screen.full")} keys={["F"]}>
            <Button
              variant="ghost" size="iconSmall" className="-ml-2 size-7.5" aria-label={t("screen.full")}
              onClick={() => void toggleFullscreen(task, frame.current)}
            >
              <Expand />
            </Button>
          </Tooltip>
        )}
      </div>
      <div className={cn("relative bg-screen in-[:fullscreen]:bg-black", task.takenOverBy === undefined ? "in-[:fullscreen]:[--screen-height:max(12rem,calc(100dvh-14rem))]" : "in-[:fullscreen]:[--screen-height:max(12rem,calc(100dvh-21.5rem))]")}>
        <Screen task={task} step={step} position={position} moment={shownMoment} after={after} marks={marks} />
      </div>
      {step && <Verdict step={step} />}
      <div className="border-t px-3 py-2">{children}</div>
    </div>
  );
}

/**
 * Shows the run in full screen, with its controls. While the task goes on, that is its whole place in the conversation: an approval or a
 * question takes the place of the run there, and is answered in full screen, too.
 */
function toggleFullscreen(task: TaskView, element: HTMLElement | null): Promise<void> {
  if (document.fullscreenElement) return document.exitFullscreen();
  const shown = element?.closest(hasEnded(task) ? "[data-run]" : "[data-task-body]");
  return shown?.requestFullscreen() ?? Promise.resolve();
}

function Segment({ pressed, disabled = false, onPress, children }: {
  readonly pressed: boolean; readonly disabled?: boolean; onPress(): void; readonly children: ReactNode;
}): ReactNode {
  return (
    <button
      type="button"
      aria-pressed={pressed}
      disabled={disabled}
      onClick={onPress}
      className={cn(
        "h-6 rounded-md px-2 text-xs font-medium transition-colors disabled:opacity-45",
        pressed ? "bg-card text-foreground shadow-xs" : "text-muted-foreground hover:text-foreground",
      )}
    >
      {children}
    </button>
  );
}

const STATES: Record<Trouble | "live", (t: ReturnType<typeof useText>) => ReactNode> = {
  live: (t) => <Badge tone="good"><span className="size-1.5 animate-breathe rounded-full bg-success" />{t("live")}</Badge>,
  lost: (t) => <Badge tone="bad">{t("link.lost")}</Badge>,
  hidden: (t) => <Badge tone="neutral">{t("screen.newest")}</Badge>,
};

function ScreenTitle({ task, step }: { readonly task: TaskView; readonly step: StepView | undefined }): ReactNode {
  const t = useText();
  const unlinked = useConversation((state) => state.link.kind === "lost");
  const trouble = useLive((live) => live.troubles[task.name]);
  const state = unlinked ? "lost" : trouble ?? "live";
  const shown = step ?? task.steps.at(-1);
  const desktop = task.desktop.replace(/^desktops\//, "");
  // The window in front is known from observations, which a person who has the desktop does not wait for.
  const window = step === undefined && task.takenOverBy !== undefined ? "" : shown?.screen?.title;
  const title = window || (desktop ? t("desktop.name", { name: desktop }) : t("screen.title"));
  return (
    <div className="flex min-w-0 flex-1 items-center gap-2.5">
      {step
        ? <Badge tone="neutral" className="bg-secondary tabular-nums">{t("step.of", { number: step.number, count: task.steps.length })}</Badge>
        : !hasEnded(task) && task.desktop !== "" && STATES[state](t)}
      <span className="truncate text-[0.8125rem] text-muted-foreground" title={shown?.screen?.url || title}>{title}</span>
    </div>
  );
}

interface ScreenProps {
  readonly task: TaskView;
  readonly step: StepView | undefined;
  readonly position: number;
  readonly moment: "before" | "after";
  readonly after: string | undefined;
  readonly marks: boolean;
}

function Screen({ task, step, position, moment, after, marks }: ScreenProps): ReactNode {
  const t = useText();
  const actor = useActor(task);
  const isAdministrator = useIdentity(({ roles }) => roles.includes("admin"));
  if (step) {
    if (!step.screen) return <WaitingScreen text={t("step.looking")} busy />;
    const before = (marks ? step.annotated : undefined) ?? step.screen.image;
    const image = moment === "after" && after !== undefined ? after : before;
    return (
      <StepScreen
        image={image}
        screen={step.screen}
        alt={t("screen.alt", { number: step.number, title: step.screen.title || t("screen.title") })}
      >
        <Overlay step={step} screen={step.screen} moment={moment} marks={marks} />
      </StepScreen>
    );
  }
  if (hasEnded(task)) {
    const last = task.steps[position - 1]?.screen;
    if (!last) return <WaitingScreen text={t("screen.none")} />;
    return <StepScreen image={task.endScreen ?? last.image} screen={last} alt={t("screen.altEnd")} />;
  }
  if (task.state === TaskState.PENDING || task.desktop === "" || task.desktopReleased) return <WaitingForDesktop task={task} />;
  const newest = task.steps.findLast((candidate) => candidate.screen !== undefined);
  const size = newest?.screen;
  const operates = actor.kind === "you";
  const overlay = overlayOf(task, operates);
  // A stored screenshot does not show what the input does.
  const storedOverlay = operates ? undefined : overlay;
  return (
    <LiveScreen
      // The screen of a task is hidden once it has entered a secret. Who operates has to see it, where the role allows that.
      source={operates && isAdministrator ? task.desktop : task.name}
      {...(newest?.screen ? { fallback: <NewestScreen step={newest} screen={newest.screen} overlay={storedOverlay} /> } : {})}
      label={t("screen.altLive")}
      {...(size ? { aspect: size.width / size.height } : {})}
      {...(overlay ? { overlay } : {})}
    />
  );
}

/** The newest screenshot in place of a live screen, operated as that one is. */
export function NewestScreen({ step, screen, overlay }: {
  readonly step: StepView; readonly screen: ScreenView; readonly overlay?: ((width: number, height: number) => ReactNode) | undefined;
}): ReactNode {
  const t = useText();
  return (
    <StepScreen image={screen.image} screen={screen} alt={t("screen.alt", { number: step.number, title: screen.title || t("screen.title") })}>
      {overlay?.(screen.width, screen.height)}
    </StepScreen>
  );
}

/** The overlay of the live screen: the input of the person who has taken over, or the target that waits for approval. */
function overlayOf(task: TaskView, operates: boolean): ((width: number, height: number) => ReactNode) | undefined {
  if (task.takenOverBy !== undefined && !operates) return undefined;
  if (task.takenOverBy !== undefined) return (width, height) => <OperateSurface task={task.name} width={width} height={height} />;
  // The pointer is still where it acted last, which would be taken for the target.
  const target = boxOf(task.approval?.context?.target);
  if (!target || task.state !== TaskState.AWAITING_USER) return undefined;
  return (width, height) => (
    <svg viewBox={`0 0 ${width} ${height}`} className="pointer-events-none absolute inset-0 size-full" aria-hidden data-target>
      <TargetBox box={target} unit={width / 900} />
    </svg>
  );
}

function WaitingForDesktop({ task }: { readonly task: TaskView }): ReactNode {
  const t = useText();
  const wait = task.wait;
  if (task.desktopReleased) return <WaitingScreen text={t("wait.released")} />;
  if (!wait) return <WaitingScreen text={t("wait.desktop")} busy />;
  if (wait.sessionTask !== "") return <WaitingScreen text={t("wait.session")} detail={wait.message} busy />;
  if (wait.queuePosition === 0) return <WaitingScreen text={t("wait.time")} detail={wait.message} busy />;
  return <WaitingScreen text={t("wait.queue", { position: wait.queuePosition })} detail={<Holders wait={wait} />} busy />;
}

/** The tasks that have the desktops now, by what they do. */
function Holders({ wait }: { readonly wait: DesktopWait }): ReactNode {
  const t = useText();
  const tasks = useLists((lists) => lists.tasks);
  return wait.holds.map((hold) => {
    const holder = tasks.find((task) => task.name === hold.holder);
    const name = hold.desktop.replace(/^desktops\//, "");
    return (
      <span key={hold.desktop} className="block">
        {hold.holder === "" ? t("wait.unreachable", { desktop: name }) : t("wait.holder", { desktop: name })}{" "}
        {hold.holder !== "" && (
          <a className="font-medium text-foreground underline underline-offset-3" href={fragmentOf({ view: "conversation", name: holder?.session || hold.holder })}>
            {holder ? plainDirection(holder.goal) : hold.holder}
          </a>
        )}
      </span>
    );
  });
}

interface StepScreenProps {
  readonly image: string;
  readonly screen: ScreenView;
  readonly alt: string;
  readonly children?: ReactNode;
}

function StepScreen({ image, screen, alt, children }: StepScreenProps): ReactNode {
  const t = useText();
  const { shown, failed } = useDecoded(artifactUrl(image), alt);
  const current = shown?.url === artifactUrl(image);
  return (
    <ScreenBox ratio={screen.width / screen.height}>
      {shown !== undefined && <img src={shown.url} alt={shown.alt} draggable={false} className={cn("block size-full object-fill", failed && "invisible")} />}
      {current && children}
      {failed && (
        <div className="absolute inset-0 flex flex-col items-center justify-center gap-2 text-sm text-muted-foreground">
          <Crosshair className="size-5" />
          {t("screen.failed")}
        </div>
      )}
    </ScreenBox>
  );
}

interface DecodedImage {
  readonly url: string;
  readonly alt: string;
}

/** Keeps the former image until the next one can be drawn at once, so that scrubbing does not flicker. */
function useDecoded(url: string, alt: string): { readonly shown: DecodedImage | undefined; readonly failed: boolean } {
  const [shown, setShown] = useState<DecodedImage>();
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    let current = true;
    const image = new Image();
    image.src = url;
    image.decode().then(
      () => {
        if (!current) return;
        setShown({ url, alt });
        setFailed(false);
      },
      () => current && setFailed(true),
    );
    return () => {
      current = false;
    };
  }, [url, alt]);
  return { shown, failed };
}
