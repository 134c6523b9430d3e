import { readFile } from "node:fs/promises";
import type { RedisServer } from "@holdfast/testkit";

/** The user that has only the documented permissions. */
export const user = { username: "holdfast", password: "p@ss word" };

/** What tools need besides to raise floors. */
export const forFloors: readonly string[] = ["+info", "+mget", "+mset", "+exists"];

/** What tools that heal and replace servers need besides. */
export const forOperators: readonly string[] = [...forFloors, "+scan", "+strlen"];

/** Returns the permissions that the README lists for a node, in order. */
export function documentedPermissions(): Promise<string[]> {
  return permissionsListedFor("holdfast");
}

/** Returns the permissions that the README lists for a fenced store, in order. */
export function fencedPermissions(): Promise<string[]> {
  return permissionsListedFor("storage");
}

async function permissionsListedFor(name: string): Promise<string[]> {
  const readme = await readFile(new URL("../../redis/README.md", import.meta.url), "utf8");
  const list = new RegExp(`ACL SETUSER ${name} .*\\n((?:.*\\n)*?) *\x60{3}`).exec(readme)?.[1];
  if (list === undefined) throw new Error(`packages/redis/README.md has no list of permissions for ${name}`);
  return list.split(/\s+/).filter((word) => word !== "");
}

/** Creates or changes the user, so that it has exactly these permissions. */
export async function allow(server: Pick<RedisServer, "command">, permissions: readonly string[]): Promise<void> {
  const rules = ["reset", "on", `>${user.password}`, ...permissions];
  // Redis 6.0 has no permissions for channels.
  const known = (await knowsChannels(server)) ? rules : rules.filter((rule) => !rule.startsWith("&"));
  await server.command("ACL", "SETUSER", user.username, ...known);
}

async function knowsChannels({ command }: Pick<RedisServer, "command">): Promise<boolean> {
  return !/redis_version:6\.0\./.test(String(await command("INFO", "server")));
}
