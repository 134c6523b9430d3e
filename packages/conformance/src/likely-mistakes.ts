/**
 * Which mistake makes a test fail most often, by the statement of the test: what its report begins with. Tests that find out
 * more about a mistake say so themselves, and are not here.
 */
const byStatement: Readonly<Record<string, string>> = {
  "acquire() grants a resource that was never claimed":
    "a resource without an entry in the store counts as held, or its counter does not begin at 0",
  "acquire() grants a resource that was released": "a release leaves the claim in the store",
  "acquire() grants several resources at once, and then holds each": "only some of several resources are claimed",
  "acquire() grants different resources to different owners": "claims are not kept by resource",
  "acquire() denies while another owner holds the resource, whichever client asks":
    "a denial is an error, or no denial at all",
  "acquire() that is denied leaves the holder, its ttl and the counter alone":
    "the claim is written before the owner is compared",
  "acquire() that is denied does not prolong the claim in the way": "the ttl is set before the owner is compared",
  "acquire() denies while another owner holds any one of the resources, and changes nothing":
    "several resources are claimed one after the other, and those that were claimed stay claimed",
  "acquire() denies an owner that holds some of the resources while the rest is free, and changes nothing":
    "an own claim on some of the resources counts as free",
  "acquire() names a wait within the ttl of the claim in the way, if it names one":
    "retryAfterMs is a point in time, or not in milliseconds",
  "acquire() names a wait within a short ttl to the millisecond, if it names one":
    "retryAfterMs is rounded up to whole seconds",
  "acquire() names the longest wait among several claims in the way, if it names one":
    "retryAfterMs is that of the first claim, or not in milliseconds",
  "acquire() names the holder that is in the way, if it names one": "holder is not the owner in the store",
  "acquire() names the holder of the claim that lasts longest, and never the owner of the request":
    "holder is the owner of the first resource",
  "acquire() names as held only resources that another owner holds, if it names any":
    "heldResources counts claims that have ended",
  "acquire() does not name as held what the owner of the request holds itself":
    "heldResources counts claims of the request's own owner",
  "acquire() resent by the holder grants again with the same fence, whatever it hints":
    "a command that was resent is not recognized by its owner",
  "acquire() resent by the holder does not prolong the claim": "a command that was resent sets the ttl again",
  "acquire() resent by the holder does not shorten the claim": "a command that was resent sets the ttl again",
  "acquire() resent for several resources grants with the highest of their counters, and changes none":
    "a command that was resent for several resources answers the counter of one of them",
  "acquire() resent after the release is a new claim, with a new fence": "the owner of a released claim is remembered",
  "extend() of a held claim makes it last longer": "an extension does not set the ttl",
  "extend() of a held claim keeps it for the ttl of the request, from then on":
    "an extension adds the ttl to what remains, or keeps the old one",
  "extend() of a held claim for less than it will be kept leaves it as it is":
    "an extension sets the ttl even if that is shorter",
  "extend() of several held resources makes each last longer, and none end sooner":
    "an extension of several resources sets one ttl for all of them",
  "extend() of a held claim raises the counter to the fence": "an extension leaves the counter alone",
  "extend() of a held claim to a fence below the counter answers the counter, and leaves it":
    "an extension sets the counter even if that is lower, or answers the fence of the request",
  "extend() of a held claim does not advance the counter by itself, however often": "an extension counts as a grant",
  "extend() of several held resources raises each counter that is lower, and answers the highest":
    "an extension of several resources sets one counter for all of them",
  "extend() of another owner's claim answers not held, and leaves claim and counter alone":
    "an extension does not compare owners, or only after it has written",
  "extend() does not prolong another owner's claim": "an extension sets the ttl before it compares owners",
  "extend() without rejoin of a claim never made changes nothing": "an extension makes a claim where there is none",
  "extend() without rejoin of a released claim changes nothing": "an extension makes a claim where there is none",
  "extend() without rejoin of an expired claim changes nothing": "an extension confirms a claim that has expired",
  "extend() without rejoin takes a claim on some of the resources for none, and changes nothing":
    "an extension looks at the first of several resources only, or extends those that are held",
  "extend() changes nothing where another owner holds any one of the resources, with rejoin or without":
    "an extension of several resources writes before it has compared all owners",
  "extend() with rejoin claims a free resource again, and says rejoined and not held":
    "a claim that was made again is answered as held",
  "extend() with rejoin claims an expired claim again": "an expired claim still counts as its owner's",
  "extend() with rejoin keeps the new claim for the ttl of the request": "a claim that was made again gets another ttl",
  "extend() with rejoin sent twice rejoins once, and is held the second time":
    "a claim that was made again does not count as held",
  "extend() with rejoin advances the counter past the old one, as a grant does":
    "a claim that was made again keeps its old fence",
  "extend() with rejoin of an expired claim advances the counter": "a claim that was made again keeps its old fence",
  "extend() with rejoin sets the counter to the fence of the request where that is ahead":
    "a claim that was made again ignores the fence of the request",
  "extend() with rejoin claims all of several free resources, past the highest of their counters":
    "the counters of several resources advance separately",
  "extend() with rejoin takes some held and the rest free for free: it claims all, and all counters advance":
    "only the free ones of several resources are claimed again",
  "extend() with rejoin changes nothing where another owner holds any one of the resources":
    "the free ones of several resources are claimed although another owner holds one",
  "release() frees the owner's claim for the next owner": "a release leaves the claim in the store",
  "release() keeps the counter": "a release deletes the counter with the claim",
  "release() frees all of several resources, and keeps each counter":
    "a release reaches only some of several resources",
  "release() of some of the resources leaves the others held": "a release frees all claims of the owner",
  "release() of resources held in part frees just those":
    "a release frees nothing unless the owner holds all of the resources",
  "release() frees the owner's claims among another owner's, and leaves those":
    "a release compares the owner of one resource, and frees all",
  "release() sent again changes nothing, and is no error": "released is always true, or a second release is an error",
  "release() sent again leaves the next owner's claim alone": "a release does not compare owners",
  "release() of a claim never made changes nothing, and is no error": "a release of what is not held is an error",
  "release() leaves another owner's claim and counter alone": "a release does not compare owners",
  "release() compares owners exactly": "owners are compared in part, without case, or as patterns",
  "release() of an expired claim frees nothing, and says so": "an expired claim still counts as its owner's",
  "release() of an expired claim leaves the next owner's claim alone": "a release does not compare owners",
  "a claim is kept for its ttl at least, and then is free":
    "claims end early, late or never: is the ttl in milliseconds?",
  "a claim on several resources is kept for its ttl on each, and then each is free":
    "only some of several resources get the ttl",
  "a claim with a ttl of 1 ms is granted, and ends": "a short ttl is rounded to 0, which is no ttl",
  "a claim that is not extended stays for a long ttl": "claims end before their ttl",
  "a claim for thirty days is granted, and stays": "a ttl of more than 2^31 milliseconds overflows",
  "a claim is extended by thirty days, and stays": "a ttl of more than 2^31 milliseconds overflows",
  "an expired claim is no longer its owner's: it is neither extended nor released":
    "an expired claim still counts as its owner's",
  "an expired claim is claimed anew by its owner, not resent: the counter advances":
    "an expired claim still counts as its owner's",
  "an old claim's end does not end the next owner's claim": "a timer of an old claim deletes the new one",
  "the fence of a grant is one more than the counter, after a release by either client":
    "fences are counted in the client, or begin again",
  "the fence of a grant is one more than the counter, after an expiry": "the counter expires with the claim",
  "the counter outlives the claim": "the counter expires soon after the claim",
  "fences increase strictly over release, expiry, rival, takeover and rejoin":
    "one way of passing a claim on does not advance the counter",
  "the counter does not go down by a lower hint": "the hint replaces the counter",
  "the counter does not go down by a lower raise": "the fence of an extension replaces the counter",
  "the counter is left alone by a denied claim, however large its hint":
    "the counter is set before the owner is compared",
  "the fence is exactly the hint where that is ahead of the counter": "the hint is ignored, or cut to 32 bits",
  "the fence is exactly the hint where that is the time in microseconds":
    "digits of large fences are lost, as in a floating-point number that becomes a string",
  "the fence is exactly the hint of a client whose clock is hours ahead":
    "the hint is clamped to less than a day ahead",
  "a hint counts at most as the node's clock plus a day": "the hint is not clamped",
  "a hint beyond all bounds, given again and again, advances the counter no faster than the clock":
    "the hint is clamped to a day after the counter, and not after the clock",
  "the counters of different resources are independent": "there is one counter for all resources",
  "the fence over several resources is one more than their highest counter, for each":
    "the counters of several resources advance separately",
  "the fence over several resources is exactly the hint where that is ahead of all":
    "the counters of several resources advance separately",
  "acquire() with takeover passes the claim from that owner to the new one": "takeover is ignored",
  "acquire() with takeover advances the counter past the old owner's fence": "a takeover keeps the old fence",
  "acquire() with takeover keeps the claim for the ttl of the request, longer": "a takeover keeps the old ttl",
  "acquire() with takeover keeps the claim for the ttl of the request, shorter": "a takeover keeps the old ttl",
  "acquire() with takeover resent grants again with the same fence":
    "a takeover that was resent is not recognized by its owner",
  "acquire() with takeover grants what is free, as without it": "a takeover needs a claim to take over",
  "acquire() with takeover takes over what that owner holds along with what is free":
    "a takeover needs claims on all of the resources",
  "acquire() with takeover from an owner that does not hold the resource is denied":
    "a takeover does not compare owners",
  "acquire() with takeover compares owners exactly": "owners are compared in part, without case, or as patterns",
  "release() by the old owner does nothing after a takeover": "the old owner's claim is still there",
  "extend() by the old owner does nothing after a takeover": "the old owner's claim is still there",
  "acquire() by the old owner, resent, is denied after a takeover": "the old owner's claim is still there",
  "names that are not well-formed Unicode are rejected, or are resources of their own":
    "names are kept as UTF-8, in which all half surrogates are the same",
  "owners are kept letter for letter, label and all": "owners are cut, folded or interpreted",
  "acquire() rejects a malformed request, and changes nothing":
    "requests are not checked: call assertAcquire of @holdfast/core/requests",
  "extend() rejects a malformed request, and changes nothing":
    "requests are not checked: call assertExtend of @holdfast/core/requests",
  "release() rejects a malformed request, and changes nothing":
    "requests are not checked: call assertRelease of @holdfast/core/requests",
  "both clients see a claim of either": "claims are kept in the client",
  "both clients count the fences of a resource together": "fences are counted in the client",
  "a claim belongs to its owner, not to the client that sent it":
    "claims belong to a connection or a client, and not to the owner",
  "acquire() grants exactly one of 100 claims sent at once, round after round":
    "a call is not atomic: it looks first, and writes in a second step",
  "acquire() with takeover grants exactly one of many sent at once": "a takeover is not atomic",
  "extend() with rejoin grants exactly one of many sent at once": "an extension that rejoins is not atomic",
  "acquire() grants one of many overlapping claims sent at once, whole": "a claim on several resources is not atomic",
  "acquire() grants both copies of a command that arrives twice at once, with one fence":
    "a command that was resent counts as a new grant while the first one is under way",
  "release() sent many times at once frees no claim of the next owner":
    "a release is not atomic: it compares owners first, and deletes in a second step",
  "acquire() and release() in a storm of workers keep the claims apart and the fences increasing":
    "calls are not atomic",
  "acquire() and release() in a storm over overlapping resources do the same for each":
    "calls for several resources are not atomic",
  "watch() hears of a release by the rival client": "releases are not announced, or by the name that the store keeps",
  "watch() hears of a release by its own client": "releases are announced to other clients only",
  "watch() hears of nothing that release() did not free": "releases are announced before owners are compared",
  "unwatch() ends the watch, and only that one": "the end of a watch ends all watches of the resource, or none",
  "acquire() grants a free resource to any client, whichever waiter is next":
    "a waiting list decides who is granted, and not only who is woken",
  "inspect() tells a remaining time that runs down": "inspect() answers the ttl of the claim",
  "inspect() of a released resource tells that it is free, and the fence it had":
    "inspect() answers no counter for a free resource",
  "inspect() of an expired claim tells that the resource is free, and the fence it had":
    "inspect() does not compare the end of the claim with the clock",
  "acquire() rejects in time while the server is gone, and neither grants nor denies":
    "a lost connection is answered as a denial, or the call waits for the connection",
  "extend() rejects in time while the server is gone, and says nothing of the claim":
    "a lost connection is answered as not held, or the call waits for the connection",
  "the same clients work again when the server is back, time and again": "the client does not reconnect",
  "acquire() that was rejected while the server was gone claims nothing when it is back":
    "the client keeps commands for later while it has no connection",
  "extend() that was rejected while the server was gone claims nothing when it is back":
    "the client keeps commands for later while it has no connection",
  "calls that are granted, denied or resent leave no connection open": "each call opens a connection of its own",
  "outages leave no connection open": "a lost connection is replaced and not closed",
  "watches that have ended leave no connection open": "the connection of a watch is not closed with it",
};

/** The mistake that makes the test with this statement fail most often, if the suite knows one. */
export function likelyMistake(statement: string): string | undefined {
  // What holds for an extension holds whether it may rejoin or not.
  return byStatement[statement] ?? byStatement[statement.replace("extend() with rejoin of", "extend() of")];
}

/** The statements that a mistake is known for. */
export const statementsWithMistake: readonly string[] = Object.keys(byStatement);
