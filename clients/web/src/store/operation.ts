/** The way to the desktop that this page has opened, for the controls beside the screen. At most one is open at a time. */
import { create } from "zustand";
import type { Operation } from "@/api/operate.ts";

export const useOperation = create<{ readonly operation?: Operation | undefined }>()(() => ({}));
