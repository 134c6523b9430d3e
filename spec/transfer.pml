/*
 * A lock is handed to another process by a ticket. Fences and exclusion need no new proof, as an adoption is an acquire
 * with a takeover, and nobody relies on the owner that it names. This model is about the ticket: at most one client
 * adopts it, and nobody else has had the lock since the transfer. README.md explains what is modelled.
 *
 * A request arrives at any step after it was sent, any number of times, in any order, or never. A reply is lost, or is
 * heard while it is of use. The code of a wrong variant is under an #ifdef with the name of the variant.
 */

#define NODES 3
#define CLIENTS 2
#define SIZE(set) (((set) & 1) + ((set) >> 1 & 1) + ((set) >> 2 & 1))
#define IS_QUORUM(set) (SIZE(set) >= 2)
#define BIT (1 << n)

/* Who holds the resource on a node: the clients that adopt are CLIENT(0) and CLIENT(1). */
#define NOBODY 0
#define OLD 1
#define TICKET 2
#define STRANGER 3
#define CLIENT(c) (4 + (c))
#define HELD_BY(owner) ((holder[0] == (owner)) | (holder[1] == (owner)) << 1 | (holder[2] == (owner)) << 2)

/* The stages of a client. It asks for the guard, asks whether the ticket is held, and takes it over. */
#define IDLE 0
#define GUARDING 1
#define CHECKING 2
#define TAKING 3
#define FAILED 4
#define HOLDING 5
#define ENDED 6

byte holder[NODES];
byte guard[NODES]; /* 1 + the client that has it, or 0 */
byte moved; /* the nodes that had granted the transfer when it settled; 0 before */
byte heard; /* those that the old holder has heard meanwhile */
byte stage[CLIENTS];
byte heardBy[CLIENTS]; /* the nodes that a client has heard in this stage */
byte checked[CLIENTS]; /* the nodes that have told a client that they hold the ticket */
bit isTaking[CLIENTS]; /* its takeover was sent, and may be in flight */
byte adopted;
bit strangerHadIt;
bit isDrained; /* no request of the transfer is in flight any more */
byte n, c;

inline enter(next) {
  stage[c] = next;
  heardBy[c] = 0
}

/* The old holder. It stops relying on its lock before it sends the first request. */
inline transfer() {
  if
#ifdef OWNER_KEPT
  :: moved == 0 -> moved = 7
#else
  :: !isDrained && (holder[n] == NOBODY || holder[n] == OLD || holder[n] == TICKET) ->
     holder[n] = TICKET;
     if
     :: moved == 0 ->
        heard = heard | BIT;
        if
        :: IS_QUORUM(heard) -> moved = heard
        :: else
        fi
     :: true
     fi
#endif
  :: moved > 0 -> isDrained = true
  :: moved > 0 && holder[n] == NOBODY -> holder[n] = OLD /* a late extension, which rejoins */
  :: moved > 0 && holder[n] == OLD -> holder[n] = NOBODY /* a release, or its end */
  :: else
  fi
}

#ifdef OWNER_KEPT
#define TICKET_OWNER OLD
#define NEW_OWNER OLD
#else
#define TICKET_OWNER TICKET
#define NEW_OWNER CLIENT(c)
#endif

inline adopt() {
  if
  :: stage[c] == IDLE && moved > 0 ->
#ifdef NO_GUARD
     enter(CHECKING)
#else
     enter(GUARDING)
#endif
  :: stage[c] == GUARDING && (guard[n] == 0 || guard[n] == 1 + c) ->
     guard[n] = 1 + c;
     hear();
     if
     :: IS_QUORUM(heardBy[c]) ->
#ifdef NO_CHECK
        isTaking[c] = true;
        enter(TAKING)
#else
        enter(CHECKING)
#endif
     :: else
     fi
  :: stage[c] == CHECKING && holder[n] == TICKET_OWNER ->
     hear();
     checked[c] = heardBy[c];
     if
     :: IS_QUORUM(checked[c]) ->
        isTaking[c] = true;
        enter(TAKING)
     :: else
     fi
  :: isTaking[c] && (holder[n] == NOBODY || holder[n] == TICKET_OWNER || holder[n] == NEW_OWNER) ->
     holder[n] = NEW_OWNER;
     if
     :: stage[c] == TAKING ->
        hear();
        if
        :: IS_QUORUM(heardBy[c]) ->
           adopted++;
           assert(adopted == 1);
           assert(!strangerHadIt);
           enter(HOLDING);
           releaseGuard()
        :: else
        fi
     :: else
     fi
  :: stage[c] == HOLDING && isDrained -> enter(ENDED) /* it releases */
  :: stage[c] > IDLE && stage[c] < FAILED && (isDrained || !isTaking[c]) -> giveUp()
  :: (stage[c] == FAILED || stage[c] == ENDED) && holder[n] == CLIENT(c) -> holder[n] = NOBODY
  :: isTaking[c] && stage[c] >= FAILED && holder[n] == TICKET -> holder[n] = NOBODY
  :: else
  fi
}

inline hear() {
  if
  :: heardBy[c] = heardBy[c] | BIT
  :: true
  fi
}

/* Once a client has sent a takeover that fails, it leaves the guard to its ttl: the takeover may arrive late. */
#ifdef GUARD_RELEASED
#define LEAVES_GUARD false
#else
#define LEAVES_GUARD isTaking[c]
#endif

inline giveUp() {
  if
  :: !LEAVES_GUARD -> releaseGuard()
  :: else
  fi;
  enter(FAILED)
}

/* A release that is lost is one of a guard that ends later. */
inline releaseGuard() {
  for (n : 0 .. NODES - 1) {
    if
    :: guard[n] == 1 + c -> guard[n] = 0
    :: true
    fi
  }
}

inline stranger() {
  if
  :: moved > 0 && holder[n] == NOBODY -> holder[n] = STRANGER
  :: holder[n] == STRANGER -> holder[n] = NOBODY
  :: else
  fi;
  strangerHadIt = strangerHadIt || IS_QUORUM(HELD_BY(STRANGER));
  assert(!(IS_QUORUM(HELD_BY(STRANGER)) && (stage[0] == HOLDING || stage[1] == HOLDING)))
}

/*
 * Where a client relies on what it has checked, the end of the ticket there is the end of its attempt. So is the end of its
 * guard anywhere: a client trusts its guard for less than its ttl. None of its requests arrives after that.
 */
inline expire() {
  if
  :: isDrained && holder[n] == TICKET ->
     holder[n] = NOBODY;
#ifndef CHECK_TOO_SHORT
     for (c : 0 .. CLIENTS - 1) {
       if
       :: (stage[c] == CHECKING || stage[c] == TAKING) && (checked[c] & BIT) -> enter(FAILED)
       :: else
       fi
     }
#endif
  :: guard[n] > 0 ->
     c = guard[n] - 1;
     if
     :: stage[c] >= HOLDING -> guard[n] = 0
#ifdef GUARD_NOT_TIMED
     :: stage[c] < FAILED -> guard[n] = 0
     :: stage[c] == FAILED && (isDrained || !isTaking[c]) ->
#else
     :: stage[c] <= FAILED && (isDrained || !isTaking[c]) ->
        enter(FAILED);
#endif
        isTaking[c] = false;
        guard[n] = 0
     :: else
     fi
  :: else
  fi
}

init {
  d_step {
    holder[0] = OLD;
    holder[1] = OLD
  }
  do
  :: atomic {
       select(n : 0 .. NODES - 1);
       select(c : 0 .. CLIENTS - 1);
       if
       :: true -> transfer()
       :: true -> adopt()
       :: true -> stranger()
       :: true -> expire()
       fi;
       n = 0;
       c = 0
     }
  od
}
