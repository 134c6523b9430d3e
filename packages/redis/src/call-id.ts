/** Returns a random number that the reply to a call must repeat, so that the reply to another call is recognised. */
export function newCallId(): number {
  return Math.floor(Math.random() * 2 ** 48);
}
