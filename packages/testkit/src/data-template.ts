import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inServerDirectory } from "./server-process.ts";
import type { ServerUser } from "./server-user.ts";

const templates = new Map<string, Promise<string>>();

/**
 * Returns the data directory of an empty server, which others are copied from: creating one takes ten times as long. The
 * processes of a test run share it.
 *
 * @param name the kind of the server
 * @param user the user of the server
 * @param create creates the data directory, and may use the one around it
 */
export function dataTemplate(
  name: string,
  user: ServerUser,
  create: (data: string, directory: string) => Promise<unknown>,
): Promise<string> {
  const template = templates.get(name) ?? createTemplate(name, user, create);
  templates.set(name, template);
  return template;
}

async function createTemplate(...[name, user, create]: Parameters<typeof dataTemplate>): Promise<string> {
  const folder = process.env.HOLDFAST_TESTS_FOLDER;
  // A test, or a project, may have another temporary folder.
  const shared = folder === tmpdir() ? join(folder, `data-of-${name}`) : undefined;
  if (shared !== undefined && existsSync(shared)) return shared;
  return inServerDirectory(user, async (directory) => {
    const data = join(directory, "data");
    await create(data, directory);
    if (shared === undefined) return data;
    await rename(data, shared).catch((error) => {
      if (!existsSync(shared)) throw error; // otherwise another process was faster
    });
    return shared;
  });
}
