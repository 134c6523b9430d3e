/**
 * The most likely mistake behind a failed test, by the test's statement: its failure message starts with it. Tests that
 * find out more about a mistake report it themselves, and are not listed here.
 */
const byStatement: Readonly<Record<string, string>> = {
  "the node has a name, and suggests a timeout in whole milliseconds, if any, the same for both clients":
    "the name is empty, or suggestedTimeoutMs is not a positive integer",
  "acquire() and release() of one owner sent at once take effect in either order, as their replies say":
    "a reply says what the adapter expects, not what the server did",
  "acquire() with takeover and the release of the old owner sent at once leave the claim to the new owner":
    "a release compares the owner first and frees the resource in a second step",
  "release() with a waiter that is in the list already keeps it there once": "a list contains a waiter twice",
  "acquire() grants a resource that was never claimed":
    "a resource without an entry in the store counts as held, or its counter does not begin at 0",
  "acquire() grants several resources at once and holds each of them": "only some of several resources are claimed",
  "acquire() denies a resource that another owner holds, through either client":
    "the node rejects instead of denying, or grants",
  "acquire() changes neither holder, ttl nor counter when it is denied":
    "the claim is written before the owner is compared",
  "acquire() does not prolong another owner's claim when it is denied": "the ttl is set before the owner is compared",
  "acquire() denies and changes nothing while another owner holds any of the resources":
    "several resources are claimed one by one, and a denial leaves the first ones claimed",
  "acquire() denies and changes nothing if the owner already holds some of the resources and the rest is free":
    "the owner's claim on some of the resources counts as free",
  "acquire() gives a wait within the ttl of the blocking claim, if it gives one":
    "retryAfterMs is a point in time, or not in milliseconds",
  "acquire() gives a wait within a short ttl to the millisecond, if it gives one":
    "retryAfterMs is rounded up to whole seconds",
  "acquire() gives the longest wait among several blocking claims, if it gives one":
    "retryAfterMs is that of the first claim, or not in milliseconds",
  "acquire() names the holder of the blocking claim, if it names one": "holder is not the owner in the store",
  "acquire() names the holder of the claim that lasts longest, and never the requesting owner":
    "holder is the owner of the first resource",
  "acquire() lists as held only resources that another owner holds, if it lists any":
    "heldResources counts claims that have ended",
  "acquire() does not list as held what the requesting owner holds":
    "heldResources counts claims of the request's own owner",
  "acquire() resent by the holder grants again with the same fence, whatever its hint":
    "a resent request is not recognized by its owner",
  "acquire() resent by the holder neither prolongs nor shortens the claim": "a resent request sets the ttl again",
  "acquire() resent for several resources grants with their highest counter, and changes none":
    "a resent request for several resources returns the counter of one of them",
  "extend() of a held claim makes it last longer": "an extension does not set the ttl",
  "extend() of a held claim makes it last for the ttl of the request from then on":
    "an extension adds the ttl to what remains, or keeps the old one",
  "extend() of a held claim with less than its remaining ttl does not shorten it":
    "an extension sets the ttl even if that is shorter",
  "extend() of several held resources prolongs each, and shortens none":
    "an extension of several resources sets one ttl for all of them",
  "extend() of a held claim raises a lower counter to the fence, and leaves a higher one alone":
    "an extension leaves the counter alone, or sets it even if that lowers it, or returns the fence of the request",
  "extend() of several held resources raises each lower counter, and returns the highest":
    "an extension of several resources sets one counter for all of them",
  "extend() of another owner's claim returns not held, and changes neither claim nor counter":
    "an extension does not compare owners, or only after it has written",
  "extend() does not prolong another owner's claim": "an extension sets the ttl before it compares owners",
  "extend() without rejoin of a resource that is free changes nothing":
    "an extension makes a claim where there is none, or confirms one that has expired",
  "extend() without rejoin returns not held and changes nothing if the owner holds only some of the resources":
    "an extension checks only the first of several resources, or extends those that are held",
  "extend() changes nothing while another owner holds any of the resources, with or without rejoin":
    "an extension of several resources writes before it has compared all owners",
  "extend() with rejoin claims a free resource again, and returns rejoined the first time only":
    "a rejoined claim is returned as held, or does not count as held",
  "extend() with rejoin claims an expired claim again, and advances the counter":
    "an expired claim still counts as its owner's, or a rejoined one keeps its old fence",
  "extend() with rejoin makes the new claim last for the ttl of the request": "a rejoined claim gets another ttl",
  "extend() with rejoin advances the counter, as a grant does": "a rejoined claim keeps its old fence",
  "extend() with rejoin sets the counter to the fence of the request if that is higher":
    "a rejoined claim ignores the fence of the request",
  "extend() with rejoin claims all of several free resources, with a fence above their highest counter":
    "the counters of several resources advance separately",
  "extend() with rejoin claims all resources and advances all counters if some are held and the rest is free":
    "only the free ones of several resources are rejoined",
  "extend() with rejoin changes nothing while another owner holds any of the resources":
    "the free ones of several resources are rejoined although another owner holds one",
  "release() frees the owner's claim for the next owner, and keeps the counter":
    "a release leaves the claim in the store, or deletes the counter with it",
  "release() frees all of several resources, and keeps each counter":
    "a release reaches only some of several resources",
  "release() of some of the resources leaves the others held": "a release frees all claims of the owner",
  "release() frees those of several resources that the owner holds":
    "a release frees nothing unless the owner holds all of the resources",
  "release() frees the owner's claims, and leaves another owner's among the same resources":
    "a release compares the owner of one resource, and frees all",
  "release() of a resource never claimed, or sent again, changes nothing, and does not reject":
    "released is always true, or a second release is an error",
  "release() of a released or expired claim leaves the next owner's claim alone": "a release does not compare owners",
  "release() leaves another owner's claim and counter alone": "a release does not compare owners",
  "a claim lasts for at least its ttl, and then the resource is free":
    "claims end early, late or never: is the ttl in milliseconds?",
  "a claim on several resources lasts for at least its ttl on each, and then each is free":
    "only some of several resources get the ttl",
  "a claim with a long ttl lasts without an extension": "claims end before their ttl",
  "a claim for thirty days is granted and extended, and lasts": "a ttl of more than 2^31 milliseconds overflows",
  "an expired claim can be neither extended nor released by its owner, and a new one advances the counter":
    "an expired claim still counts as its owner's",
  "the expiry of an old claim does not end the next owner's claim": "a timer of an old claim deletes the new one",
  "the fence of a grant is one more than the counter, after a release by either client":
    "fences are counted in the client, or start again",
  "the fence of a grant is one more than the counter, after an expiry": "the counter expires with the claim",
  "the counter outlives the claim": "the counter expires soon after the claim",
  "fences increase strictly across releases, expiries, clients, takeovers and rejoins":
    "one way of passing on a claim does not advance the counter",
  "the counter is not lowered by a lower hint": "the hint replaces the counter",
  "the fence is exactly the hint if that is above the counter": "the hint is ignored, or cut to 32 bits",
  "the fence is exactly the hint if that is the time in microseconds":
    "digits of large fences are lost, as in a floating-point number that becomes a string",
  "a hint is limited to a day ahead of the store's clock, or of the adapter's": "the hint is not clamped",
  "a hint beyond this limit, however often it is sent, advances the counter no faster than the clock":
    "the hint is clamped to a day after the counter, and not after the clock",
  "the counter of a resource is no higher than if all resources shared it":
    "a request raises the counters of other resources by more than its own",
  "the counter of a resource advances with each of its grants, whatever other resources do":
    "a grant that finds a counter advanced by another resource does not advance it, or another resource lowers it",
  "scan() without claims reads the counters, and may leave claims out": "a scan without claims misses counters",
  "the fence of several resources is one more than their highest counter, for each of them":
    "the counters of several resources advance separately",
  "the fence of several resources is exactly the hint if that is above all their counters":
    "the counters of several resources advance separately",
  "acquire() with takeover passes the claim to the new owner, and advances the counter":
    "takeover is ignored, or keeps the old fence",
  "acquire() with takeover makes the claim last for the ttl of the request, longer or shorter":
    "a takeover keeps the old ttl",
  "acquire() with takeover grants a free resource": "a takeover needs a claim to take over",
  "acquire() with takeover takes over that owner's claims together with free resources":
    "a takeover needs claims on all of the resources",
  "acquire() with takeover from an owner that does not hold the resource is denied":
    "a takeover does not compare owners",
  "the old owner can do nothing after a takeover": "the old owner's claim is still there",
  "acquire() of a shared claim is denied while another owner holds the resource alone, and changes nothing":
    "a shared request does not look for an exclusive claim",
  "acquire() of an exclusive claim is denied until the last sharer has released, and changes nothing":
    "an exclusive request writes before it looks for sharers",
  "acquire() of a shared claim on several resources denies and changes nothing while any is held alone":
    "several resources are shared one by one, and a denial leaves the first ones claimed",
  "acquire() of an exclusive claim on several resources denies and changes nothing while any is shared":
    "a request looks for sharers of one of several resources only",
  "acquire() of a shared claim resent grants again with the counter, whatever its hint":
    "a resent shared request is not recognized by its owner",
  "acquire() of a shared claim resent is still one claim, which one release ends":
    "a resent shared request counts as another sharer",
  "acquire() of a shared claim resent neither prolongs nor shortens it": "a resent shared request sets the ttl again",
  "acquire() of a shared claim advances the counter if it joins nobody, as any grant does":
    "shared claims never advance the counter, so that an old one has the fence of a new one",
  "acquire() of a shared claim advances the counter if all earlier sharers have expired":
    "sharers that have expired still count as claims to join",
  "acquire() of a shared claim that joins leaves the counter alone, whatever its hint":
    "a shared claim that joins counts as a grant, and sharers on several nodes never agree on one fence",
  "extend() of one shared claim raises the counter for all sharers": "each sharer has a counter",
  "acquire() of an exclusive claim after sharers advances the counter beyond what any sharer raised":
    "a raised counter ends with the claim that raised it, or an exclusive claim keeps the counter of sharers",
  "acquire() that joins sharers on every one of several resources sets each counter to the highest":
    "a shared claim that joins on several resources leaves their counters different",
  "acquire() that joins sharers on only some of several resources advances the counter of each":
    "a shared claim on several resources joins if one of them is shared",
  "extend() of a shared claim prolongs that claim and no other": "all sharers have one ttl",
  "extend() of a shared claim with less than its remaining ttl does not shorten it":
    "an extension sets the ttl even if that is shorter",
  "extend() without rejoin of a resource that only others share changes nothing":
    "an extension does not look for the owner among the sharers, or adds it",
  "extend() of shared claims on several resources raises each counter, and needs a claim on each":
    "an extension checks only the first of several resources",
  "release() of one shared claim leaves the others, and keeps the counter":
    "a release ends the claims of all sharers, or of none until the last one",
  "release() of several resources ends the owner's claims, and leaves the other sharers of each":
    "a release ends the claims of all sharers, or of none until the last one",
  "shared claims last until the last of them ends, and then the resource is free":
    "shared claims end early, late or never (is the ttl in milliseconds?), or with another one",
  "a shared claim that has expired counts no longer, while another one lasts":
    "a shared claim lasts as long as the longest one on its resource",
  "an owner whose shared claim has expired joins again while another one lasts":
    "an expired shared claim still counts as its owner's",
  "a shared claim outlasts a shorter one that joins, is extended, expires or is released":
    "the ttl of the last sharer applies to all",
  "a shared claim is not prolonged by a longer one that joins or is extended": "the longest ttl applies to all sharers",
  "a resource is free when its last shared claim ends, although a longer one was released":
    "the resource keeps the longest ttl that any sharer had",
  "extend() with rejoin of a shared claim joins the sharers, and raises the counter no further than its fence":
    "a rejoined shared claim does not join, does not count as held, or counts as a grant where it joins",
  "extend() with rejoin of a shared claim advances the counter if it joins nobody, and others can join it":
    "a rejoined shared claim keeps its old fence, or becomes exclusive",
  "extend() with rejoin of a shared claim that joins on only some of several resources advances each counter":
    "several shared claims are rejoined one by one",
  "acquire() with takeover makes the claim of the only sharer exclusive, and advances the counter":
    "a takeover does not look for the old owner among the sharers",
  "acquire() with takeover makes an exclusive claim shared, and advances the counter":
    "a takeover keeps the mode of the old claim",
  "acquire() with takeover passes one of several shared claims on, and leaves the counter and the others alone":
    "a takeover keeps the old sharer, or replaces all of them",
  "acquire() with takeover passes the only shared claim on to a sharer, and never lowers the counter":
    "a takeover does not look for the old owner among the sharers",
  "acquire() denied by sharers gives the wait for the one that lasts longest and its owner, if it gives any":
    "a denial describes one of the sharers, and not the one that lasts longest",
  "acquire() grants all of many shared claims sent at once, with one fence":
    "a shared claim looks for others to join before it is made, in two steps",
  "acquire() and release() exclude concurrent writers from all others, and keep fences in order":
    "calls for shared and exclusive claims are not atomic",
  "acquire() and release() of one sharer sent at once take effect in either order, as their replies say":
    "a reply says what the adapter expects, not what the server did",
  "acquire() of a shared claim is denied while another owner holds the resource, and denies it to others":
    "the node shares claims although it declares that it cannot",
  "inspect() lists no sharer that has released or expired":
    "inspect() does not compare the end of each shared claim with the clock",
  "inspect() lists at least the hundred sharers that last longest": "inspect() lists the first sharers, or too few",
  "release() of an exclusive claim removes all waiters of shared requests, and names one of them":
    "readers are named one at a time, although they can share the resource",
  "release() names waiters of shared requests before exclusive ones that joined earlier":
    "readers and writers wait in one order, so that readers are not named together",
  "release() of the last shared claim names the first exclusive waiter before waiters of shared requests":
    "readers are named after readers, and keep writers out",
  "release() of the last shared claim names waiters of shared requests if nobody else waits":
    "after sharers only exclusive waiters are named, and readers that wait learn nothing",
  "release() of a shared claim names no waiter while another owner shares the resource":
    "each release of a sharer names a waiter, although the resource is not free",
  "acquire() treats waiters of shared and of exclusive requests as different, even with one value":
    "one value stands for one waiter, although a process may wait both to share and to hold alone",
  "raiseFloor() keeps every digit of the floor and the epoch":
    "digits of large numbers are lost, as in a floating-point number that becomes a string",
  "raiseFloor() rejects a malformed request, and changes nothing":
    "requests are not checked: call assertFloor of @holdfast/core/node",
  "acquire() grants one more than the counter if that is not below the floor":
    "the floor replaces the counter instead of being a minimum",
  "acquire() of a shared claim that joins counters above the floor leaves them alone":
    "the floor replaces the counter instead of being a minimum",
  "acquire() without an epoch counts as one of epoch 1": "a request without an epoch is always served, or never",
  "raiseFloor() changes no waiting list": "raiseFloor() deletes more than it writes",
  "raiseFloor() and scan() reject in time while the server is unreachable":
    "a lost connection is returned as a reply, or the call waits for the connection",
  "Redlock grants fences above the floor of a majority of its nodes": "a grant does not obey the floor",
  "scan() of a fresh node reads no counter and no claim":
    "other entries of the store are read, or the series has no end",
  "scan() reads each claim in force with its owner and its remaining time":
    "remaining times are not in milliseconds, or those of another claim",
  "scan() reads the claim of every sharer with its own remaining time, and no ended one":
    "scan() reads the key of shared claims instead of each sharer",
  "scan() reads names and owners exactly as they were given":
    "names are read from keys without undoing the encoding, or are used as patterns",
  "scan() does not prolong claims": "scan() writes what it reads",
  "the node offers neither raiseFloor() nor scan()": "the node has a method that it declares not to have",
  "acquire() with an epoch is granted and denied as without one":
    "a node without an epoch looks at the epoch of requests",
  "calls of raiseFloor() and scan() leave no connection open": "each call opens a connection of its own",
  "names that are not well-formed Unicode are rejected, or are separate resources":
    "names are kept as UTF-8, in which all half surrogates are the same",
  "owners are kept exactly, including their labels": "owners are cut, folded or interpreted",
  "acquire() rejects a malformed request, and changes nothing":
    "requests are not checked: call assertAcquire of @holdfast/core/node",
  "extend() rejects a malformed request, and changes nothing":
    "requests are not checked: call assertExtend of @holdfast/core/node",
  "release() rejects a malformed request, and changes nothing":
    "requests are not checked: call assertRelease of @holdfast/core/node",
  "both clients see each other's claims": "claims are kept in the client",
  "both clients share the fence counter of a resource": "fences are counted in the client",
  "a claim belongs to its owner, not to the client that sent it":
    "claims belong to a connection or a client, and not to the owner",
  "acquire() grants exactly one of 100 claims sent at once, in every round":
    "a call is not atomic: it reads first and writes in a second step",
  "acquire() with takeover grants exactly one of many claims sent at once": "a takeover is not atomic",
  "extend() with rejoin rejoins exactly one of many owners at once": "an extension that rejoins is not atomic",
  "acquire() grants exactly one of many overlapping claims sent at once, as a whole":
    "a claim on several resources is not atomic",
  "acquire() grants both copies of a request that arrives twice at once, with one fence":
    "a resent request counts as a new grant while the first one is in flight",
  "release() sent many times at once frees no claim of the next owner":
    "a release is not atomic: it compares owners first and deletes in a second step",
  "acquire() and release() exclude concurrent workers and keep fences increasing": "calls are not atomic",
  "acquire() and release() do so for each of several overlapping resources":
    "calls for several resources are not atomic",
  "watch() notifies of a release by the rival client":
    "watchers are not notified of releases, or by the name in the store",
  "watch() notifies of a release by its own client": "only other clients are notified of releases",
  "watch() does not notify of resources that release() did not free":
    "watchers are notified before owners are compared",
  "unwatch() ends the watch, and only that one": "the end of a watch ends all watches of the resource, or none",
  "acquire() grants a free resource to any client, whichever waiter is next":
    "a waiting list decides which client is granted, not only which one is notified",
  "inspect() returns a remaining time that runs down": "inspect() returns the ttl of the claim",
  "inspect() of a free resource returns no owner and the last fence":
    "inspect() returns no counter for a free resource, or does not compare the end of a claim with the clock",
  "acquire() rejects in time while the server is unreachable, and neither grants nor denies":
    "a lost connection is returned as a denial, or the call waits for the connection",
  "extend() rejects in time while the server is unreachable, and reports nothing about the claim":
    "a lost connection is returned as not held, or the call waits for the connection",
  "the same clients work again after each outage": "the client does not reconnect",
  "acquire() and extend() that were rejected during an outage claim nothing afterwards":
    "the client queues commands while it has no connection",
  "calls that are granted, denied, resent or rejected leave no connection open":
    "each call opens a connection of its own",
  "outages leave no connection open": "a lost connection is replaced and not closed",
  "ended watches leave no connection open": "the connection of a watch is not closed with it",
};

/** Returns the most likely mistake when the test with this statement fails, if the suite knows one. */
export function likelyMistake(statement: string): string | undefined {
  // Mistakes in extensions are the same with and without rejoin.
  return byStatement[statement] ?? byStatement[statement.replace("extend() with rejoin of", "extend() of")];
}

/** The statements with a known mistake. */
export const statementsWithMistake: readonly string[] = Object.keys(byStatement);
