/** The events of a step, drawn over its screenshot. All texts are SVG or React text, never HTML. */
import { useEffect, useState, type ReactNode } from "react";
import type { Element } from "@gen/common/v1/element_pb.ts";
import { loadScene } from "@/api/scene.ts";
import { useText } from "@/i18n/index.ts";
import { boxOf, pointsOf, toneOfVerdict, type Box, type Point } from "@/model/actions.ts";
import type { ScreenView, StepView } from "@/model/task.ts";

interface OverlayProps {
  readonly step: StepView;
  readonly screen: ScreenView;
  readonly moment: "before" | "after";
  readonly marks: boolean;
}

export function Overlay({ step, screen, moment, marks }: OverlayProps): ReactNode {
  const t = useText();
  // An annotated screenshot has the marks already.
  const { elements, failed } = useScene(marks && moment === "before" && step.annotated === undefined ? step.scene : undefined);
  // Lines are as thick on a phone as on a wall: they are given in screen pixels, and the box in frame pixels.
  const unit = screen.width / 900;
  const path = step.actions.flatMap((action) => {
    const points = pointsOf(action.performed);
    // A click without a point happens where the pointer is; typing happens at the focus, so a halo would mislead.
    const atPointer = points.length === 0 && action.performed?.action.case === "click" && action.pointer !== undefined;
    return atPointer && action.pointer ? [{ x: action.pointer.x, y: action.pointer.y }] : points;
  });
  const start = screen.cursor ? [{ x: screen.cursor.x, y: screen.cursor.y }] : [];
  return (
    <>
    {failed && <p role="status" className="absolute inset-x-0 bottom-3 mx-auto w-fit rounded-full bg-card/95 px-3 py-1 text-xs text-muted-foreground shadow-card">{t("marks.none")}</p>}
    <svg viewBox={`0 0 ${screen.width} ${screen.height}`} className="pointer-events-none absolute inset-0 size-full" aria-hidden>
      {elements.map((element) => <Mark key={element.id} element={element} screen={screen} unit={unit} />)}
      {moment === "after"
        ? step.actions.flatMap((action, index) =>
            (action.effect?.change?.regions ?? []).map((region, at) => (
              <Rect key={`${index}.${at}`} box={boxOf(region.bounds)} unit={unit} className="fill-emerald-500/12 stroke-emerald-500" dashed />
            )))
        : step.actions.map((action) => (
            <Rect
              key={action.id}
              box={boxOf(action.target)}
              unit={unit}
              className={toneOfVerdict(action.effect?.verdict) === "bad" ? "fill-red-500/10 stroke-red-500" : "fill-indigo-500/12 stroke-indigo-500"}
            />
          ))}
      {path.length > 0 && <Pointer path={moment === "before" ? [...start, ...path] : path.slice(-1)} unit={unit} />}
    </svg>
    </>
  );
}

function Rect({ box, unit, className, dashed = false }: {
  readonly box: Box | undefined; readonly unit: number; readonly className: string; readonly dashed?: boolean;
}): ReactNode {
  if (!box) return null;
  const margin = 2 * unit;
  return (
    <rect
      x={box.x - margin}
      y={box.y - margin}
      width={box.width + 2 * margin}
      height={box.height + 2 * margin}
      rx={3 * unit}
      strokeWidth={2 * unit}
      strokeDasharray={dashed ? `${5 * unit} ${4 * unit}` : undefined}
      className={className}
    />
  );
}

/** The way of the pointer, and a halo where it acted. */
function Pointer({ path, unit }: { readonly path: readonly Point[]; readonly unit: number }): ReactNode {
  const end = path.at(-1);
  if (!end) return null;
  return (
    <g>
      {path.length > 1 && (
        <polyline
          points={path.map((point) => `${point.x},${point.y}`).join(" ")}
          className="fill-none stroke-rose-500/70"
          strokeWidth={2 * unit}
          strokeLinecap="round"
          strokeDasharray={`${0.1 * unit} ${6 * unit}`}
        />
      )}
      <g style={{ transformOrigin: `${end.x}px ${end.y}px` }} className="animate-halo">
        <circle cx={end.x} cy={end.y} r={16 * unit} className="fill-none stroke-rose-500" strokeWidth={2.5 * unit} />
      </g>
      <circle cx={end.x} cy={end.y} r={13 * unit} className="fill-rose-500/20 stroke-rose-500" strokeWidth={2.5 * unit} />
      <circle cx={end.x} cy={end.y} r={3 * unit} className="fill-rose-500 stroke-white" strokeWidth={1 * unit} />
    </g>
  );
}

function Mark({ element, screen, unit }: { readonly element: Element; readonly screen: ScreenView; readonly unit: number }): ReactNode {
  const bounds = element.bounds;
  if (!bounds) return null;
  const x = bounds.x1 * screen.width;
  const y = bounds.y1 * screen.height;
  const label = String(element.id);
  const size = 10 * unit;
  const width = (label.length * 0.64 + 0.6) * size;
  const colour = element.interactable ? "fill-indigo-600" : "fill-slate-500";
  return (
    <g>
      <rect
        x={x}
        y={y}
        width={(bounds.x2 - bounds.x1) * screen.width}
        height={(bounds.y2 - bounds.y1) * screen.height}
        rx={2 * unit}
        strokeWidth={1.25 * unit}
        className={element.interactable ? "fill-none stroke-indigo-500" : "fill-none stroke-slate-400"}
      />
      <rect x={x} y={y - size * 0.6} width={width} height={size * 1.2} rx={2 * unit} className={colour} />
      <text x={x + width / 2} y={y + size * 0.34} fontSize={size} fontWeight={600} textAnchor="middle" className="fill-white">{label}</text>
    </g>
  );
}

const NO_ELEMENTS: readonly Element[] = [];

interface Scene {
  readonly artifact: string;
  readonly elements: readonly Element[];
  readonly failed: boolean;
}

function useScene(artifact: string | undefined): { readonly elements: readonly Element[]; readonly failed: boolean } {
  const [loaded, setLoaded] = useState<Scene>();
  useEffect(() => {
    if (artifact === undefined) return;
    const reading = new AbortController();
    loadScene(artifact, reading.signal).then(
      (elements) => setLoaded({ artifact, elements, failed: false }),
      () => reading.signal.aborted || setLoaded({ artifact, elements: NO_ELEMENTS, failed: true }),
    );
    return () => reading.abort();
  }, [artifact]);
  return artifact !== undefined && loaded?.artifact === artifact ? loaded : { elements: NO_ELEMENTS, failed: false };
}
