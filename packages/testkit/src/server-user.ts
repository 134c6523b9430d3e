import { execFile } from "node:child_process";
import { chmod, chown } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";

/** The user of a server process; undefined for the user of this process. */
export type ServerUser = { readonly uid: number; readonly gid: number } | undefined;

/** Returns another user for servers that refuse to run as root, such as PostgreSQL, if this process runs as root. */
export async function serverUser(): Promise<ServerUser> {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ["postgres", "nobody"]) {
    try {
      const [uid, gid] = await Promise.all(["-u", "-g"].map((option) => promisify(execFile)("id", [option, name])));
      return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) };
    } catch {} // there is no such user
  }
  throw new Error("this server does not run as root, and there is no user postgres or nobody");
}

/** Gives the directory to the user, who may also pass through its parent. */
export async function letIn(user: ServerUser, directory: string): Promise<void> {
  if (user === undefined) return;
  await chown(directory, user.uid, user.gid);
  await chmod(dirname(directory), 0o711);
}
