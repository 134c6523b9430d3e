/** Counts for the whole process, as several users of a client may share it, from anywhere, as processes may share a proxy. */
let lastTicket = Math.floor(Math.random() * 2 ** 30);

/** What a call sends along for its reply to repeat, so that the reply to another call is not taken for it. */
export function nextTicket(): number {
  lastTicket += 1;
  return lastTicket;
}
