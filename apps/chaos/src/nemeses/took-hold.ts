/** Checks that a fault has taken effect: an attack without effect would prove nothing. */
import { Stuck } from "../attack/stage.ts";
import type { ChaosNode } from "../world/node.ts";

const longestMs = 10_000;

/** Waits until the server refuses writes with this error code. */
export async function refusesWrites({ name, server }: ChaosNode, code: string): Promise<void> {
  await tookHold(`${code} on ${name}`, async () => {
    const reply = server.command("SET", "chaos:probe", 1, "PX", 1);
    return reply.then(
      () => false,
      (error: Error) => error.message.startsWith(code),
    );
  });
}

/** Waits until the server's time of day is about that many seconds ahead of ours. */
export async function isAhead({ name, server }: ChaosNode, seconds: number): Promise<void> {
  await tookHold(`the clock of ${name}`, async () => {
    const [now] = (await server.command("TIME")) as [seconds: string];
    return Math.abs(Number(now) - Date.now() / 1000 - seconds) < 60;
  });
}

async function tookHold(fault: string, isThere: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + longestMs;
  while (!(await isThere())) {
    if (performance.now() > endMs) throw new Stuck(`a fault did not take effect: ${fault}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
