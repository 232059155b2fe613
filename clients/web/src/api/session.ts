/** The session of this browser at the gateway. */

export interface Session {
  readonly version: string;
  readonly expireTime: number | undefined;
  /** Name of the user, as the server has authenticated them. */
  readonly name: string | undefined;
  readonly roles: readonly string[];
}

/** Returns the session, or undefined if there is none or the gateway does not answer. */
export async function readSession(): Promise<Session | undefined> {
  try {
    const response = await fetch("/api/session", { credentials: "same-origin" });
    if (!response.ok) return undefined;
    const body = (await response.json()) as {
      readonly version?: string; readonly expire_time?: string; readonly name?: string; readonly roles?: readonly string[];
    };
    return {
      version: body.version ?? "",
      expireTime: body.expire_time ? Date.parse(body.expire_time) : undefined,
      name: body.name,
      roles: body.roles ?? [],
    };
  } catch {
    return undefined;
  }
}

/** Returns true if the gateway answers that this browser has no session. */
export async function isSignedOut(): Promise<boolean> {
  try {
    return (await fetch("/api/session", { credentials: "same-origin" })).status === 401;
  } catch {
    return false;
  }
}

// Reading the session renews its cookie, which lasts for days.
const RENEWAL_MS = 12 * 60 * 60 * 1_000;

/** Renews the session now and while the page is open, and tells whose it is. Returns the function that stops it. */
export function keepSession(onSession: (session: Session) => void): () => void {
  const read = (): void => void readSession().then((session) => session && onSession(session));
  read();
  const timer = setInterval(read, RENEWAL_MS);
  return () => clearInterval(timer);
}

export async function logOut(): Promise<void> {
  await fetch("/api/logout", { method: "POST", credentials: "same-origin" });
}
