import { hostname, userInfo } from "node:os";

/** What core allows. */
const lengthMax = 100;

/** Says to people who holds a lock, such as `root@web-1[4711]`: where to look, and for which process. */
export function defaultLabel(): string {
  const process_ = `[${process.pid}]`;
  const who = `${userName()}@${hostname()}`.replaceAll(/\p{C}/gu, "");
  return who.slice(0, lengthMax - process_.length) + process_;
}

/** In a container, a user often has no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "user");
  }
}
