/** Returns a random number for a reply to repeat, so that the reply to another call is not mistaken for the one to this. */
export function newCallId(): number {
  return Math.floor(Math.random() * 2 ** 48);
}
