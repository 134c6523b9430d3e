import { networkInterfaces } from "node:os";

/** Returns the machine with an IP address: `local` for this one; null if there is no address. */
export function machineOf(address: string | undefined): string | null {
  if (address === undefined) return null;
  const plain = address.replace(/^::ffff:/, "");
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const isOwn = plain.startsWith("127.") || plain === "::1" || own.some((other) => other.address === plain);
  return isOwn ? "local" : address;
}
