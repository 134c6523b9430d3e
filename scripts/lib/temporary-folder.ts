import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Creates a folder outside this workspace, and removes it when `use` settles. */
export async function withTemporaryFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
