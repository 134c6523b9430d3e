import { hostname, userInfo } from "node:os";

/** The longest label that core allows. */
const lengthMax = 100;

/** Returns a label that shows people who holds a lock: `root@web-1[4711]` names the host and the process. */
export function defaultLabel(): string {
  const process_ = `[${process.pid}]`;
  const who = `${userName()}@${hostname()}`.replaceAll(/\p{C}/gu, "");
  return who.slice(0, lengthMax - process_.length) + process_;
}

/** Returns the name of the user, or the number: in a container, users often have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "user");
  }
}
