import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reapedDirectory } from "@holdfast/testkit";
import { findFaketime } from "./find-faketime.ts";

/** The time of day of one server, which can be set while the server runs. Its monotonic clock does not change. */
export interface FakeClock {
  /** The environment variables of the server. */
  readonly env: Readonly<Record<string, string>>;
  /** Sets the clock ahead of the true time by that many seconds; behind it, if negative. */
  setAhead(seconds: number): Promise<void>;
}

/**
 * Makes clocks with libfaketime, which replaces the system functions for the time.
 *
 * @throws {Error} if libfaketime is missing, with the package to install
 */
export async function fakeClocks(): Promise<() => Promise<FakeClock>> {
  const library = await findFaketime();
  if (library === undefined) {
    throw new Error(
      "clock jumps need libfaketime: install it (Debian: apt-get install libfaketime), " +
        "set HOLDFAST_FAKETIME to the path of libfaketimeMT.so.1, or choose other nemeses (--list)",
    );
  }
  return async () => {
    const file = join(await reapedDirectory(), "clock");
    const setAhead = async (seconds: number): Promise<void> => {
      // Renamed, so that the server never reads half of it.
      await writeFile(`${file}.new`, `${seconds < 0 ? "" : "+"}${seconds}`);
      await rename(`${file}.new`, file);
    };
    await setAhead(0);
    return {
      env: {
        // With libc after it. Otherwise libfaketime and the server's allocator deadlock at the start.
        LD_PRELOAD: `${library} libc.so.6`,
        FAKETIME_TIMESTAMP_FILE: file,
        FAKETIME_NO_CACHE: "1",
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
      },
      setAhead,
    };
  };
}
