import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reapedDirectory } from "@holdfast/testkit";
import { findFaketime } from "./find-faketime.ts";

/** The time of day as one server sees it, which can be set while the server runs. Its monotonic clock is left alone. */
export interface FakeClock {
  /** What the server must be started with. */
  readonly env: Readonly<Record<string, string>>;
  /** Sets the clock so many seconds ahead of the true time; behind it, if negative. */
  setAhead(seconds: number): Promise<void>;
}

/**
 * Makes clocks by libfaketime, which takes the place of the functions that tell the time.
 *
 * @throws {Error} saying what to install, when it is not there
 */
export async function fakeClocks(): Promise<() => Promise<FakeClock>> {
  const library = await findFaketime();
  if (library === undefined) {
    throw new Error(
      "clock jumps need libfaketime: install it (Debian: apt-get install libfaketime), " +
        "tell where libfaketimeMT.so.1 is by HOLDFAST_FAKETIME, or choose other nemeses (--list)",
    );
  }
  return async () => {
    const file = join(await reapedDirectory(), "clock");
    const setAhead = async (seconds: number): Promise<void> => {
      // By a rename, so that the server never reads half of it.
      await writeFile(`${file}.new`, `${seconds < 0 ? "" : "+"}${seconds}`);
      await rename(`${file}.new`, file);
    };
    await setAhead(0);
    return {
      env: {
        // libc behind it: without, libfaketime and the server's allocator wait for each other at the start.
        LD_PRELOAD: `${library} libc.so.6`,
        FAKETIME_TIMESTAMP_FILE: file,
        FAKETIME_NO_CACHE: "1",
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
      },
      setAhead,
    };
  };
}
