import { readFile } from "node:fs/promises";
import type { RedisServer } from "@holdfast/testkit";

/** A user that may do what the README says is needed, and nothing else. */
export const user = { username: "holdfast", password: "p@ss word" };

/** Every permission that the README lists for a node, in its order. */
export function documentedPermissions(): Promise<string[]> {
  return permissionsListedFor("holdfast");
}

/** The same for a fenced store. */
export function fencedPermissions(): Promise<string[]> {
  return permissionsListedFor("storage");
}

async function permissionsListedFor(name: string): Promise<string[]> {
  const readme = await readFile(new URL("../../redis/README.md", import.meta.url), "utf8");
  const list = new RegExp(`ACL SETUSER ${name} .*\\n((?:.*\\n)*?) *\x60{3}`).exec(readme)?.[1];
  if (list === undefined) throw new Error("packages/redis/README.md does not list the permissions that are needed");
  return list.split(/\s+/).filter((word) => word !== "");
}

/** Makes that user, with these permissions, or changes it to have them. */
export async function allow(server: Pick<RedisServer, "command">, permissions: readonly string[]): Promise<void> {
  const rules = ["reset", "on", `>${user.password}`, ...permissions];
  // Redis 6.0 has no permissions for channels: there everybody may use all.
  const known = (await knowsChannels(server)) ? rules : rules.filter((rule) => !rule.startsWith("&"));
  await server.command("ACL", "SETUSER", user.username, ...known);
}

async function knowsChannels({ command }: Pick<RedisServer, "command">): Promise<boolean> {
  return !/redis_version:6\.0\./.test(String(await command("INFO", "server")));
}
