import { useCallback, useEffect, useRef, useState, type RefObject } from "react";

// As near to the end that the reader means the end.
const NEAR_PX = 96;

/** Keeps a scrolled view at its end while the content grows, unless the reader has scrolled up. */
export function useStickToBottom(active: boolean): {
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly content: RefObject<HTMLDivElement | null>;
  readonly atEnd: boolean;
  readonly toEnd: () => void;
} {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const sticking = useRef(true);
  const [atEnd, setAtEnd] = useState(true);

  const toEnd = useCallback(() => {
    sticking.current = true;
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  }, []);

  useEffect(() => {
    const view = scroller.current;
    const inner = content.current;
    if (!view || !inner) return;
    const onScroll = (): void => {
      const near = view.scrollHeight - view.scrollTop - view.clientHeight < NEAR_PX;
      sticking.current = near;
      setAtEnd(near);
    };
    let height = 0;
    const observer = new ResizeObserver(() => {
      // Content that shrinks moves nothing: a folded timeline would otherwise jump.
      if (active && sticking.current && inner.offsetHeight > height) view.scrollTo({ top: view.scrollHeight });
      height = inner.offsetHeight;
    });
    view.addEventListener("scroll", onScroll, { passive: true });
    observer.observe(inner);
    return () => {
      view.removeEventListener("scroll", onScroll);
      observer.disconnect();
    };
  }, [active]);
  return { scroller, content, atEnd, toEnd };
}
