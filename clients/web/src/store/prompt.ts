/** What the user is writing. Kept while they look at another view. */
import { create } from "zustand";

interface Prompt {
  readonly text: string;
  readonly files: readonly File[];
  setText(text: string): void;
  addFiles(files: readonly File[]): void;
  removeFile(index: number): void;
  clear(): void;
}

export const usePrompt = create<Prompt>((set) => ({
  text: "",
  files: [],
  setText: (text) => set({ text }),
  addFiles: (files) => set((state) => ({ files: [...state.files, ...files] })),
  removeFile: (index) => set((state) => ({ files: state.files.filter((_, at) => at !== index) })),
  clear: () => set({ text: "", files: [] }),
}));
