const flag = new Int32Array(new SharedArrayBuffer(4));

/** Blocks this process, as long work in a callback does, without use of the processor that its servers share. */
export function stall(ms: number): void {
  Atomics.wait(flag, 0, 0, ms);
}
