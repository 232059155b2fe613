import { useEffect, useRef, useState, type ClipboardEvent, type CompositionEvent, type FormEvent, type KeyboardEvent, type PointerEvent, type ReactNode, type WheelEvent } from "react";
import { Button as MouseButton, ScrollUnit } from "@gen/common/v1/action_pb.ts";
import { operate, pointAt, type Operation, type OperationState } from "@/api/operate.ts";
import { useOperation } from "@/store/operation.ts";
import { useSettings } from "@/store/settings.ts";
import { useText } from "@/i18n/index.ts";
import { cn } from "@/lib/class-names.ts";
import { copyFromDesktop, type CopyResult } from "@/lib/copy-from-desktop.ts";
import { isCopyChord, meaningOf } from "@/model/keyboard.ts";
import { clickOrDrag, modifiersOf } from "@/model/modified-press.ts";
import { PressCounter } from "@/model/presses.ts";
import { TouchGestures, type PagePoint, type TouchMeaning } from "@/model/touch.ts";
import { COPY_WORDS } from "./copy-words.ts";

interface OperateSurfaceProps {
  readonly task: string;
  /** Size of the screen, in its pixels. */
  readonly width: number;
  readonly height: number;
}

/** A press with keys held, until its button is released. */
interface Modified {
  readonly modifiers: readonly string[];
  readonly path: [number, number][];
  readonly count: number;
}

// The contract has at most 1000; one is kept for the release.
const MAX_DRAG_POINTS = 500;
const BUTTONS = [MouseButton.LEFT, MouseButton.MIDDLE, MouseButton.RIGHT, MouseButton.BACK, MouseButton.FORWARD] as const;
// The desktop scrolls in notches of 120 pixels; a touchpad sends a few pixels at a time.
const SCROLL_STEP_PIXELS = 60;
const LINE_PIXELS = 40;
const NOTE_SHOWN_MS = 4_000;

/** Lies over the live screen of a desktop that the user has taken over, and passes mouse and keyboard on to it. */
export function OperateSurface({ task, width, height }: OperateSurfaceProps): ReactNode {
  const t = useText();
  const language = useSettings((settings) => settings.language);
  const keyboard = useRef<HTMLTextAreaElement>(null);
  const operation = useRef<Operation>(undefined);
  const scrolled = useRef({ x: 0, y: 0 });
  const presses = useRef(new PressCounter());
  const modified = useRef<Modified>(undefined);
  const surface = useRef<HTMLDivElement>(null);
  const onTouch = useRef<(meaning: TouchMeaning) => void>(undefined);
  const touches = useRef(new TouchGestures((meaning) => onTouch.current?.(meaning)));
  const [state, setState] = useState<OperationState>({ kind: "connecting" });
  const [latency, setLatency] = useState<number>();
  const [failure, setFailure] = useState("");
  const [copied, setCopied] = useState<CopyResult>();
  const [focused, setFocused] = useState(false);

  useEffect(() => {
    const opened = operate(task, { onState: setState, onLatency: setLatency, onFailure: setFailure });
    operation.current = opened;
    useOperation.setState({ operation: opened });
    return () => {
      opened.close();
      useOperation.setState({ operation: undefined });
    };
  }, [task]);
  useEffect(() => {
    if (failure === "" && copied === undefined) return;
    const timer = setTimeout(() => {
      setFailure("");
      setCopied(undefined);
    }, NOTE_SHOWN_MS);
    return () => clearTimeout(timer);
  }, [failure, copied]);

  if (state.kind === "refused") {
    return (
      <span role="alert" className="absolute right-2 bottom-2 left-2 mx-auto w-fit rounded-xl bg-card/95 px-3 py-1.5 text-sm shadow-card wrap-anywhere">
        {t("operate.refused", { reason: t(`problem.${state.problem.kind}`) })}
        {language === "en" && state.problem.detail !== "" && <span className="block text-xs text-muted-foreground">{state.problem.detail}</span>}
      </span>
    );
  }

  const pointOf = (place: PagePoint): [number, number] => {
    const box = surface.current?.getBoundingClientRect() ?? new DOMRect(0, 0, 1, 1);
    const along = (offset: number, length: number, pixels: number): number =>
      Math.min(pixels - 1, Math.max(0, Math.round((offset / length) * pixels)));
    return [along(place.clientX - box.left, box.width, width), along(place.clientY - box.top, box.height, height)];
  };
  onTouch.current = (meaning) => {
    const at = pointAt(...pointOf(meaning.at));
    switch (meaning.kind) {
      case "tap": {
        // Shows the keyboard of a phone, which only a touch may do.
        keyboard.current?.focus({ preventScroll: true });
        const { clientX, clientY, timeStamp } = meaning.at;
        const count = presses.current.count({ button: 0, clientX, clientY, timeStamp });
        operation.current?.send({ case: "click", value: { at, button: MouseButton.LEFT, count } });
        break;
      }
      case "longPress": return operation.current?.send({ case: "click", value: { at, button: MouseButton.RIGHT, count: 1 } });
      case "press": return operation.current?.send({ case: "mouseDown", value: { at, button: MouseButton.LEFT } });
      case "release": return operation.current?.send({ case: "mouseUp", value: { at, button: MouseButton.LEFT } });
      case "move": return operation.current?.move(...pointOf(meaning.at));
      // The content follows the fingers: the wheel turns the other way.
      case "scroll": return scroll(meaning.at, -meaning.x, -meaning.y);
    }
  };
  const onPointerDown = (event: PointerEvent): void => {
    if (event.pointerType === "touch") {
      event.currentTarget.setPointerCapture(event.pointerId);
      return touches.current.down(touchOf(event));
    }
    const button = BUTTONS[event.button];
    if (button === undefined) return;
    event.preventDefault();
    event.currentTarget.setPointerCapture(event.pointerId);
    keyboard.current?.focus({ preventScroll: true });
    const count = presses.current.count(event);
    const modifiers = modifiersOf(event);
    // A press alone carries no keys: what is done with them is sent whole, once the button is released.
    modified.current = modifiers.length > 0 ? { modifiers, path: [pointOf(event)], count } : undefined;
    if (modified.current !== undefined) return;
    const at = pointAt(...pointOf(event));
    // The desktop keeps presses apart that come one by one, so that they are no double click by chance.
    if (count > 1) operation.current?.send({ case: "click", value: { at, button, count } });
    else operation.current?.send({ case: "mouseDown", value: { at, button } });
  };
  const onPointerUp = (event: PointerEvent): void => {
    if (event.pointerType === "touch") return touches.current.up(touchOf(event));
    const button = BUTTONS[event.button];
    if (button === undefined) return;
    if (modified.current !== undefined) {
      const { modifiers, path, count } = modified.current;
      modified.current = undefined;
      operation.current?.send(clickOrDrag([...path, pointOf(event)], button, count, modifiers));
      return;
    }
    if (presses.current.last > 1) return;
    operation.current?.send({ case: "mouseUp", value: { at: pointAt(...pointOf(event)), button } });
  };
  const onPointerMove = (event: PointerEvent): void => {
    if (event.pointerType === "touch") return touches.current.move(touchOf(event));
    if (modified.current === undefined) operation.current?.move(...pointOf(event));
    else if (modified.current.path.length < MAX_DRAG_POINTS) modified.current.path.push(pointOf(event));
  };
  const onWheel = (event: WheelEvent): void => {
    const scale = event.deltaMode === 0 ? 1 : LINE_PIXELS;
    scroll(event, event.deltaX * scale, event.deltaY * scale);
  };
  /** Turns the wheel by these pixels, as soon as they make a notch. */
  const scroll = (at: PagePoint, byX: number, byY: number): void => {
    scrolled.current.x += byX;
    scrolled.current.y += byY;
    const { x, y } = scrolled.current;
    if (Math.abs(x) < SCROLL_STEP_PIXELS && Math.abs(y) < SCROLL_STEP_PIXELS) return;
    scrolled.current = { x: 0, y: 0 };
    // At least one notch, which is what a step of a mouse wheel is.
    const notches = (pixels: number): number => (Math.abs(pixels) < SCROLL_STEP_PIXELS ? 0 : Math.sign(pixels) * Math.max(1, Math.round(Math.abs(pixels) / 120)));
    operation.current?.send({ case: "scroll", value: { at: pointAt(...pointOf(at)), unit: ScrollUnit.NOTCHES, x: notches(x), y: notches(y) } });
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    // Neither the page nor its shortcuts take part.
    event.stopPropagation();
    const { key, ctrlKey, altKey, metaKey, shiftKey } = event;
    const meaning = meaningOf({
      key, ctrlKey, altKey, metaKey, shiftKey, altGraph: event.getModifierState("AltGraph"), composing: event.nativeEvent.isComposing,
    });
    if (meaning.kind === "text" || meaning.kind === "paste") return;
    event.preventDefault();
    if (meaning.kind === "leave") event.currentTarget.blur();
    if (event.repeat && operation.current?.isBehind()) return;
    if (meaning.kind !== "chord") return;
    operation.current?.send({ case: "keyChord", value: { keys: [...meaning.keys], repeat: 1 } });
    if (isCopyChord(meaning.keys) && !event.repeat) void copy();
  };
  /** Copies what the press copies on the desktop. In a terminal it may interrupt a program instead, which is worth no word. */
  const copy = async (): Promise<void> => {
    const result = await copyFromDesktop(operation.current?.copiedText("keys") ?? Promise.resolve(""));
    setCopied(result === "nothing" ? undefined : result);
  };
  /** Sends what the browser has entered, and empties the field. */
  const sendText = (field: HTMLTextAreaElement): void => {
    const text = field.value;
    field.value = "";
    if (text !== "") operation.current?.send({ case: "typeText", value: { text: { source: { case: "literal", value: text } } } });
  };
  const onInput = (event: FormEvent<HTMLTextAreaElement>): void => {
    if (!(event.nativeEvent as InputEvent).isComposing) sendText(event.currentTarget);
  };
  const onPaste = (event: ClipboardEvent): void => {
    event.preventDefault();
    const text = event.clipboardData.getData("text/plain");
    if (text !== "") operation.current?.send({ case: "paste", value: { text: { source: { case: "literal", value: text } } } });
  };

  const noteOf = (): string | undefined => {
    if (failure !== "") return language === "en" ? t("operate.failed", { detail: failure }) : t("operate.notTaken");
    return copied && t(COPY_WORDS[copied]);
  };

  return (
    <div
      ref={surface}
      className={cn("group absolute inset-0 touch-none ring-2 ring-transparent ring-inset", focused ? "cursor-none ring-warning" : "cursor-pointer")}
      data-state={state.kind}
      onPointerDown={onPointerDown}
      onPointerUp={onPointerUp}
      onPointerMove={onPointerMove}
      onPointerCancel={(event) => event.pointerType === "touch" && touches.current.cancel(touchOf(event))}
      onWheel={onWheel}
      // After a tap, browsers send the presses of a mouse, too, which would take the focus from the keyboard.
      onMouseDown={(event) => event.preventDefault()}
      onContextMenu={(event) => event.preventDefault()}
    >
      <textarea
        ref={keyboard}
        aria-label={t("operate.keyboard")}
        className="absolute top-1/2 left-1/2 size-px resize-none opacity-0"
        autoCapitalize="off" autoComplete="off" autoCorrect="off" spellCheck={false}
        onFocus={() => setFocused(true)}
        onBlur={() => setFocused(false)}
        onKeyDown={onKeyDown}
        onKeyUp={(event) => event.stopPropagation()}
        onInput={onInput}
        onCompositionEnd={(event: CompositionEvent<HTMLTextAreaElement>) => sendText(event.currentTarget)}
        onPaste={onPaste}
      />
      <span role="status" className="pointer-events-none absolute right-2 bottom-2 rounded-full bg-card/90 px-3 py-1 text-xs text-muted-foreground tabular-nums shadow-card">
        {noteOf() ?? statusOf(t, state, focused, latency)}
      </span>
    </div>
  );
}

function touchOf({ pointerId, clientX, clientY, timeStamp }: PointerEvent): { id: number; clientX: number; clientY: number; timeStamp: number } {
  return { id: pointerId, clientX, clientY, timeStamp };
}

function statusOf(t: ReturnType<typeof useText>, state: OperationState, focused: boolean, latency: number | undefined): string {
  if (state.kind === "lost") return t("operate.lost");
  if (state.kind !== "open") return t("operate.connecting");
  if (!focused) return t("operate.click");
  return latency === undefined ? t("operate.leave") : t("operate.active", { latency: Math.round(latency) });
}
