/**
 * Puts what the user has copied on the desktop on the clipboard of their browser. Browsers allow it only for a press of the user,
 * so it is called in the handler of one, and never for what the agent copies.
 */
import { ClipboardWithheld } from "@/api/operate.ts";

/** `withheld`: it may be a secret, or is too long. `denied`: the browser does not allow it. `lost`: the desktop did not answer. */
export type CopyResult = "copied" | "nothing" | "withheld" | "denied" | "lost";

class NothingCopied extends Error {}

/** Copies a text that is still on its way. */
export async function copyFromDesktop(text: Promise<string>): Promise<CopyResult> {
  const content = text.then((arrived) => {
    // Nothing does not take the place of what the user has.
    if (arrived === "") throw new NothingCopied();
    return new Blob([arrived], { type: "text/plain" });
  });
  const failure = content.then(() => undefined, (error: unknown) => error);
  try {
    // The promise and not its text: by the time the text arrives, the press is over.
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": content })]);
    return "copied";
  } catch {
    const error = await failure;
    if (error === undefined) return "denied";
    if (error instanceof NothingCopied) return "nothing";
    return error instanceof ClipboardWithheld ? "withheld" : "lost";
  }
}
