/**
 * Texts without the invisible marks that reorder what stands around them. A goal or a page can have them in it, and would then be
 * shown with other words than it has. Letters keep the direction of their script.
 */

// Marks, embeddings, overrides and isolates of Unicode's bidirectional algorithm (UAX 9).
const DIRECTION_MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export function plainDirection(text: string): string {
  return text.replace(DIRECTION_MARKS, "");
}
