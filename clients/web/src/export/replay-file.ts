/**
 * One HTML file that replays a run offline: the run as JSON, its screenshots as data URLs, and a player.
 *
 * Nothing in the file is loaded from elsewhere, and its policy forbids it to. The JSON is data: the player shows every text of
 * it as text. Loaded on demand, because only an export needs it.
 */
import { artifactUrl } from "@/api/client.ts";
import { UploadError } from "@/api/errors.ts";
import type { Replay } from "@/model/replay.ts";
import player from "./player.js?raw";
import style from "./player.css?raw";

export interface ReplayWords {
  readonly language: string;
  readonly [key: string]: string;
}

// At once: more do not load faster from the same server.
const PARALLEL_READS = 6;

/** Reads the screenshots and returns the file. `onProgress` gets the share that was read, from 0 to 1. */
export async function replayFile(
  replay: Replay, artifacts: readonly string[], words: ReplayWords, onProgress: (share: number) => void,
): Promise<Blob> {
  const images: string[] = [];
  let next = 0;
  let done = 0;
  const read = async (): Promise<void> => {
    for (let index = next++; index < artifacts.length; index = next++) {
      images[index] = await dataUrl(artifacts[index] ?? "");
      onProgress(++done / artifacts.length);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL_READS }, read));
  return new Blob([htmlOf(replay, images, words)], { type: "text/html" });
}

async function dataUrl(artifact: string): Promise<string> {
  const response = await fetch(artifactUrl(artifact), { credentials: "same-origin" });
  // A deleted screenshot leaves a gap in the replay; anything else is a failure of the export.
  if (response.status === 404) return "";
  if (!response.ok) throw new UploadError("server", `${response.status} ${response.statusText}`);
  const image = await response.blob();
  if (!/^image\/(png|webp|jpeg)$/.test(image.type)) return "";
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error("the image cannot be read"));
    reader.readAsDataURL(image);
  });
}

/** The file. Inline scripts and styles run by their nonce alone, so that no text can become one. */
export function htmlOf(replay: Replay, images: readonly string[], words: ReplayWords): string {
  const nonce = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const policy = `default-src 'none'; img-src data:; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="${words.language === "zh" ? "zh-CN" : "en"}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Motorium">
<title>${escapeHtml(replay.goal)}</title>
<style nonce="${nonce}">${style}</style>
</head>
<body>
<main id="player"></main>
<script nonce="${nonce}" type="application/json" id="data">${embeddable({ replay, images, words })}</script>
<script nonce="${nonce}">${player}</script>
</body>
</html>
`;
}

/** JSON that cannot end the script element which it is in. */
function embeddable(value: unknown): string {
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A name for the file that every system takes. */
export function fileNameOf(goal: string): string {
  const words = goal.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "");
  return `${[...words].slice(0, 48).join("") || "run"}.html`;
}
