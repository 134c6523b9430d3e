import { createHash } from "node:crypto";

/** What a server calls a script. */
export function sha1(text: string): string {
  return createHash("sha1").update(text).digest("hex");
}
