import { useEffect, useRef, useState } from "react";

/** Takes files that are dropped anywhere on the page. True while some are held over it. */
export function useFileDrop(take: (files: Iterable<File>) => void): boolean {
  const [held, setHeld] = useState(false);
  const taking = useRef(take);
  taking.current = take;
  useEffect(() => {
    const listeners = {
      dragover: (event: DragEvent) => setHeld(holdsFiles(event)),
      dragleave: (event: DragEvent) => {
        // Out of the window, not from one element to the next.
        if (event.relatedTarget === null) setHeld(false);
      },
      drop: (event: DragEvent) => {
        setHeld(false);
        if (event.dataTransfer && event.dataTransfer.files.length > 0) taking.current(event.dataTransfer.files);
      },
    };
    for (const [name, listener] of Object.entries(listeners)) window.addEventListener(name, listener as EventListener);
    return () => {
      for (const [name, listener] of Object.entries(listeners)) window.removeEventListener(name, listener as EventListener);
    };
  }, []);
  return held;
}

/** Keeps the browser from leaving the page for a file that is dropped on it, also where no view takes files. */
export function keepPageOnDrop(): () => void {
  const keep = (event: DragEvent): void => {
    if (holdsFiles(event)) event.preventDefault();
  };
  window.addEventListener("dragover", keep);
  window.addEventListener("drop", keep);
  return () => {
    window.removeEventListener("dragover", keep);
    window.removeEventListener("drop", keep);
  };
}

function holdsFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}
