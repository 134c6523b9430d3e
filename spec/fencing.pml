/*
 * How core and the nodes agree on fencing tokens of exclusive and shared locks. README.md explains what is modelled,
 * and why that is enough.
 *
 * A single process takes one step after another. In most steps, a message arrives at a node, and its reply may reach
 * the client. A message that was sent may arrive at any later step, any number of times or never, so there are no
 * channels: the stage of the client determines which messages are in flight.
 *
 * The code of a wrong variant is under an #ifdef with the name of the variant.
 *
 * heal.pml and change.pml add servers that lose their memory, and servers that are replaced: they include this file,
 * and define the macros of the section "For the models that include this one".
 *
 * A hand-over is an acquire that may replace the claim of another owner. For tokens, the owner does not matter: here,
 * any acquire may replace any claim. EXCLUSION models the other half: no claim expires while its client relies on it, a
 * claim may replace only a claim of the client that hands over to it, and no two clients may have the lock at once,
 * unless both share it.
 *
 * Other resources may share the counters of this one, and advance them at any moment. An advance is a part of the step in
 * which a client hears of it, or a step of its own with AT_ANY_MOMENT. EXCLUSION leaves it out.
 *
 * With SEVERAL, each lock is on several resources, and the counters of the model are those of one of them. A reply is the
 * highest counter of all, so it may be higher than the one of the model.
 */
#if !defined(EXCLUSION) && !defined(AT_ANY_MOMENT)
#define OTHERS_WHEN_HEARD
#endif

#ifndef NODES
#define NODES 3
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef QUORUM
#define QUORUM (NODES / 2 + 1)
#endif
#define SIZE(set) (((set) & 1) + ((set) >> 1 & 1) + ((set) >> 2 & 1) + ((set) >> 3 & 1) + ((set) >> 4 & 1))
#ifndef PROPOSALS
#define PROPOSALS 3 /* fence.ts makes more: each is a round like these */
#endif

/*
 * The claims of a node are a set of bits: bit 1 is the claim of the first client, and so on. SHARERS is set if the
 * claims are shared, and stays set when these claims end, as a stranger's shared claim may still be in force. The next
 * exclusive grant clears it. If no client is forgotten, there are no strangers, and the bit ends with the last claim.
 */
#define SHARERS 128

/*
 * A client makes one attempt; another attempt is another client. HELD covers everything after a lock, except with
 * EXCLUSION, where a client stops relying on its lock before it releases it or hands it over.
 */
#define IDLE 0
#define VOTING 1
#define AGREEING 2
#define HELD 3
#define ENDED 4
#define FAILED 5

/* The stage from which a client is forgotten, because a stranger could do all that it can. NEVER keeps all clients. */
#define NEVER 6
#ifndef FORGET
#define FORGET FAILED
#endif

#define NOBODY 0
/* For EXCLUSION, strangers need no model: all that they can do is to have acquires denied. */
#ifdef EXCLUSION
#define WITHOUT_STRANGERS 1
#else
#define WITHOUT_STRANGERS (FORGET == NEVER)
#endif
#ifdef SHARED_OWNER
#define OWNER 1
#else
#define OWNER (c + 1)
#endif

/* For the models that include this one: what else there is in a state, and what it changes. */
#ifndef EXTENDED
#define NODE_STATE
#define CLIENT_STATE
#define IS_QUORUM(set) (SIZE(set) >= QUORUM) /* of this client's nodes, a set of bits */
#define KNOWS_NODE true /* whether this node is one of this client's */
#define SERVES true /* whether this node grants claims to this client */
#define GRANTS_FROM NODE.counter
#define JOINS_AT NODE.counter
#define begun()
#define settled()
#endif

typedef Node {
  byte holders;
#ifdef OTHERS_SUFFICE
  bit advanced; /* whether another resource has advanced the counter since the last grant */
#endif
  byte counter
  NODE_STATE
}

typedef Client {
  byte stage;
  bit shared;
  byte heard[NODES]; /* the last fence that the client received from each node for this claim, or 0 */
#ifdef SEVERAL
  bit doubted[NODES]; /* whether only some of the counters may have this fence */
#endif
  byte proposed[PROPOSALS];
  byte proposals;
  byte token; /* 0 while it has no lock */
#ifdef EXCLUSION
  byte takesOver; /* the owner whose claims it may replace, or 0 */
#endif
  CLIENT_STATE
  byte before /* a bit for each client that had its lock when this one started */
}

Node node[NODES];
Client client[CLIENTS];
byte started;

/* The variables of the current step. They are 0 between steps, so that they do not distinguish states. */
byte c, n, i, fence, voters, left;

#define CLIENT client[c]
#define NODE node[n]
#define BIT (1 << OWNER)
#define IS_HOLDER ((NODE.holders & BIT) > 0)
#define IS_FREE(claims) (((claims) & (255 - SHARERS)) == NOBODY)
#ifdef WITHOUT_TOKENS /* for EXCLUSION alone: all fences count as equal, so that nodes agree on any */
#define CAN_ADVANCE true
#define CAN_REJOIN true
#else
#define CAN_ADVANCE (GRANTS_FROM < top)
#define CAN_REJOIN (NODE.counter < top)
#endif
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define NAME(c) (65 + (c))

#ifdef NUMBERS
/* For people: fences are plain numbers up to this one, and nodes are not reordered. */
byte top = NUMBERS;
#else
/* For the proof: a step may choose every fence in use, one in each gap between them, and one above all. */
byte top = 1;
c_code {
#include "canonical.c"
}
#endif

inline endStep() {
#ifdef NUMBERS
  printf("NODES");
  for (i : 0 .. NODES - 1) { printf(" %d:%d", node[i].holders, node[i].counter) }
  printf("\n");
  c = 0; n = 0; i = 0; fence = 0; voters = 0; left = 0
#else
  c_code { canonical(); now.c = now.n = now.i = now.fence = now.voters = now.left = 0; }
#endif
}

inline start() {
  c = started;
  started++;
  CLIENT.stage = VOTING;
#ifdef SHARED /* a bit for each client that shares */
  CLIENT.shared = (SHARED >> c) & 1;
#else
  if
  :: CLIENT.shared = false
  :: CLIENT.shared = true
  fi;
#endif
  d_step {
    for (i : 0 .. CLIENTS - 1) { CLIENT.before = CLIENT.before | ((client[i].token > 0) << i) }
  }
  begun();
  if
  :: CLIENT.shared -> printf("STEP %c starts, and asks all nodes to share\n", NAME(c))
  :: else -> printf("STEP %c starts, and asks all nodes\n", NAME(c))
  fi;
#if defined(EXCLUSION) && !defined(EXTENDED)
  select(i : 0 .. CLIENTS - 1);
  if
  :: client[i].stage == HELD ->
     CLIENT.takesOver = i + 1;
#ifndef HANDED_OVER_WHILE_HELD
     client[i].stage = ENDED;
#endif
     printf("ALSO %c hands its lock over to it\n", NAME(i))
  :: true
  fi
#endif
}

#ifdef SEVERAL
#define IS_DOUBTED(at) CLIENT.doubted[at]
#define trust(at) CLIENT.doubted[at] = false
#else
#define IS_DOUBTED(at) false
#define trust(at) skip
#endif

/* What the client has learned, and the order of its late proposals, no longer matter. */
inline end() {
  d_step {
    for (i : 0 .. NODES - 1) { CLIENT.heard[i] = 0; trust(i) }
#if FORGET != NEVER
    for (i : 0 .. PROPOSALS - 1) { CLIENT.proposed[i] = 0 }
    CLIENT.proposals = 0;
#endif
    CLIENT.before = 0
  }
  settled()
}

inline endClaim(at) {
  at.holders = at.holders & (255 - BIT);
#if WITHOUT_STRANGERS
  at.holders = (at.holders == SHARERS -> NOBODY : at.holders)
#endif
}

inline loseClaims() {
  d_step {
    for (i : 0 .. NODES - 1) { endClaim(node[i]) }
  }
}

inline fail() {
  CLIENT.stage = FAILED;
#if FORGET <= FAILED
  loseClaims();
#endif
  end()
}

/* Ends the search with the run that led here. */
inline stop() {
#ifdef NUMBERS
  endStep();
#endif
  assert(false)
}

inline complete() {
  CLIENT.stage = HELD;
  CLIENT.token = fence;
  printf("ALSO %c has the lock, with token %d\n", NAME(c), fence);
#ifdef REACHABLE
  if
  :: CLIENT.before > 0 && CLIENT.proposals > 0 -> stop()
  :: else
  fi;
#endif
  for (i : 0 .. CLIENTS - 1) {
    if
#ifdef EXCLUSION
    :: i != c && !(client[i].shared && CLIENT.shared) && client[i].stage == HELD ->
       printf("WRONG %c and %c have the lock at the same time\n", NAME(i), NAME(c));
       stop()
#endif
#ifndef WITHOUT_TOKENS
    :: i != c && !(client[i].shared && CLIENT.shared) && client[i].token == fence ->
       printf("WRONG %c and %c have the same token, %d\n", NAME(i), NAME(c), fence);
       stop()
    :: (CLIENT.before & (1 << i)) && client[i].token > fence ->
       printf("WRONG %c had its lock before %c started, and has the larger token\n", NAME(i), NAME(c));
       stop()
#endif
    :: else
    fi
  }
#if FORGET <= HELD
  loseClaims();
#endif
  end()
}

/* Finds the highest fence received, and the nodes that returned it. */
inline tally() {
  d_step {
    fence = 0;
    for (i : 0 .. NODES - 1) { fence = MAX(fence, CLIENT.heard[i]) }
    voters = 0;
    for (i : 0 .. NODES - 1) { voters = voters | ((CLIENT.heard[i] == fence && !IS_DOUBTED(i)) << i) }
  }
#ifdef NO_AGREEMENT
  voters = 255
#endif
}

inline propose() {
  CLIENT.stage = AGREEING;
  CLIENT.proposed[CLIENT.proposals] = fence;
  CLIENT.proposals++;
  /* A lower fence no longer counts, as if not received. */
  d_step {
    for (i : 0 .. NODES - 1) {
      CLIENT.heard[i] = (CLIENT.heard[i] == fence && !IS_DOUBTED(i) -> fence : 0);
      trust(i)
    }
  }
  printf("ALSO %c proposes %d\n", NAME(c), fence)
}

/* The client receives the counter or, for several resources, that of another one which is higher. */
inline hear() {
  CLIENT.heard[n] = NODE.counter;
#ifdef SEVERAL
  do
  :: CLIENT.heard[n] < top -> CLIENT.heard[n]++
  :: break
  od
#endif
}

/* A grant sets the counters of all resources to one number, and says so. A repeated one reports the highest of them. */
inline hearVote() {
#if !defined(SEVERAL) || defined(HIGHEST_TRUSTED)
  hear();
#else
  if
  :: CLIENT.heard[n] = NODE.counter
  :: hear(); CLIENT.doubted[n] = true
  fi;
#endif
  printf("ALSO %c hears %d\n", NAME(c), CLIENT.heard[n]);
  d_step {
    voters = 0;
    for (i : 0 .. NODES - 1) { voters = voters | ((CLIENT.heard[i] > 0) << i) }
  }
  if
  :: !IS_QUORUM(voters)
  :: else ->
     tally();
     if
     :: IS_QUORUM(voters) -> complete()
     :: else -> propose()
     fi
  fi
}

inline hearRaise() {
#ifdef RAISE_MISTAKEN
  CLIENT.heard[n] = fence;
#else
  hear();
#endif
#if defined(SEVERAL) && !defined(LARGER_TRUSTED)
  CLIENT.doubted[n] = CLIENT.heard[n] > fence;
#endif
  printf("ALSO %c hears %d\n", NAME(c), CLIENT.heard[n]);
  if
#if defined(EXCLUSION) && PROPOSALS >= NODES
  :: CLIENT.heard[n] > fence && CLIENT.proposals == PROPOSALS && CLIENT.shared -> fail()
  :: CLIENT.heard[n] > fence && CLIENT.proposals == PROPOSALS && !CLIENT.shared ->
     assert(false) /* impossible if claims last */
#else
  :: CLIENT.heard[n] > fence && CLIENT.proposals == PROPOSALS -> fail()
#endif
#if PROPOSALS > 1
  :: CLIENT.heard[n] > fence && CLIENT.proposals < PROPOSALS -> fence = CLIENT.heard[n]; propose()
#endif
  :: else ->
     tally();
     if
     :: !IS_QUORUM(voters)
     :: else -> complete()
     fi
  fi
}

/*
 * The claims at the node that the acquire does not replace. An acquire replaces the claim that it takes over; for
 * tokens, every exclusive acquire replaces all claims, and every shared one an exclusive claim.
 */
#if defined(EXCLUSION) && !defined(TAKEOVER_OF_ANY)
#define REMAINING (NODE.holders & (255 - (1 << CLIENT.takesOver)))
#elif defined(SHARES_WITH_WRITER)
#define REMAINING (CLIENT.shared -> NODE.holders : NOBODY)
#else
#define REMAINING (CLIENT.shared && (NODE.holders & SHARERS) -> NODE.holders : NOBODY)
#endif

#ifdef SHARES_WITH_WRITER
#define JOINS (CLIENT.shared && left != NOBODY)
#else
#define JOINS (CLIENT.shared && (left & SHARERS))
#endif
#define MAY_GRANT (JOINS || IS_FREE(left))

inline findRemaining() {
  left = REMAINING;
#if WITHOUT_STRANGERS
  left = (left == SHARERS -> NOBODY : left)
#endif
}

/* By any amount, because of the client's hint, the node's clock, strangers in between, and other resources. */
inline advanceFurther() {
#ifdef WITHOUT_TOKENS
  skip
#else
  do
  :: CAN_ADVANCE -> NODE.counter++
  :: break
  od
#endif
}

/*
 * Other resources may advance the counter at any moment, and proposals of strangers may raise it while a claim is shared.
 * It matters only when the client hears it.
 */
inline othersRaise() {
#if defined(OTHERS_WHEN_HEARD)
#ifdef OTHERS_SUFFICE
  i = NODE.counter;
#endif
  advanceFurther();
#ifdef OTHERS_SUFFICE
  NODE.advanced = NODE.advanced || NODE.counter > i;
#endif
  printf("ALSO others may raise it: %d\n", NODE.counter)
#elif WITHOUT_STRANGERS
  skip
#else
  if
  :: CLIENT.shared ->
     advanceFurther();
     printf("ALSO others may raise it: %d\n", NODE.counter)
  :: else
  fi
#endif
}

#ifdef AT_ANY_MOMENT
/* Another resource advances the counter of a node. */
inline otherResource() {
  select(n : 0 .. NODES - 1);
  advanceFurther();
  printf("STEP another resource advances node %d: fence %d\n", n + 1, NODE.counter)
}
#endif

inline claim() {
  NODE.holders = (CLIENT.shared -> left | BIT | SHARERS : BIT)
}

/* Variants in which a grant that joins nobody leaves the counter as it is. */
#if defined(GRANT_WITHOUT_ADVANCE)
#define ADVANCES (!IS_FREE(NODE.holders))
#elif defined(OTHERS_SUFFICE)
#define ADVANCES (!NODE.advanced)
#elif defined(TAKEOVER_WITHOUT_ADVANCE)
#define ADVANCES (IS_FREE(NODE.holders))
#elif defined(SHARED_WITHOUT_ADVANCE)
#define ADVANCES (!CLIENT.shared)
#elif defined(WRITER_AFTER_READERS_WITHOUT_ADVANCE)
#define ADVANCES (CLIENT.shared || !(NODE.holders & SHARERS))
#else
#define ADVANCES true
#endif

inline join() {
  NODE.counter = JOINS_AT;
  claim();
  printf("STEP node %d lets %c join: fence %d\n", n + 1, NAME(c), NODE.counter)
}

inline grant() {
  NODE.counter = GRANTS_FROM + ADVANCES;
  claim();
#if defined(OTHERS_SUFFICE)
  advanceFurther();
  NODE.advanced = false;
#elif defined(OTHERS_WHEN_HEARD)
  /* The hint advances the counter when the client hears it, as others do. */
#elif WITHOUT_STRANGERS
  advanceFurther();
#else
  if
  :: CLIENT.shared /* strangers may raise the counter later */
  :: else -> advanceFurther()
  fi;
#endif
  printf("STEP node %d grants %c: fence %d\n", n + 1, NAME(c), NODE.counter)
}

#define EXPECTS_VOTE (CLIENT.stage == VOTING && CLIENT.heard[n] == 0)

inline acquireArrives() {
  if
  :: IS_HOLDER ->
#ifdef RESEND_ADVANCES
     NODE.counter++;
#endif
     printf("STEP node %d grants %c again: fence %d\n", n + 1, NAME(c), NODE.counter)
  :: !IS_HOLDER && JOINS -> join()
  :: !IS_HOLDER && !JOINS -> grant()
  fi;
  if
  :: EXPECTS_VOTE -> othersRaise(); hearVote()
  :: skip
  fi
}

#if defined(EXPIRED_CONFIRMED) || defined(CLAIM_RECREATED)
#define MAY_RAISE (IS_HOLDER || IS_FREE(NODE.holders))
#else
#define MAY_RAISE IS_HOLDER
#endif
#define EXPECTS_RAISE (CLIENT.stage == AGREEING && i == CLIENT.proposals - 1 && CLIENT.heard[n] == 0)

inline proposalArrives() {
  select(i : 0 .. CLIENT.proposals - 1);
  fence = CLIENT.proposed[i];
  NODE.counter = MAX(NODE.counter, fence);
#ifdef CLAIM_RECREATED
  claim();
#endif
  printf("STEP node %d has proposal %d of %c: fence %d\n", n + 1, fence, NAME(c), NODE.counter);
  if
  :: EXPECTS_RAISE -> othersRaise(); hearRaise()
  :: skip
  fi
}

#define CAN_EXTEND (IS_HOLDER -> NODE.counter < CLIENT.token : MAY_REJOIN)
#define MAY_REJOIN (JOINS_AGAIN || IS_FREE(NODE.holders) && CAN_REJOIN)
#define JOINS_AGAIN (CLIENT.shared && (NODE.holders & SHARERS))

#ifdef EXCLUSIVE_REJOIN_WITHOUT_ADVANCE
#define REJOIN_ADVANCES (CLIENT.shared && !JOINS_AGAIN)
#elif defined(SHARED_REJOIN_WITHOUT_ADVANCE)
#define REJOIN_ADVANCES (!CLIENT.shared)
#else
#define REJOIN_ADVANCES (!JOINS_AGAIN)
#endif

inline extensionArrives() {
  if
  :: IS_HOLDER ->
     NODE.counter = MAX(NODE.counter, CLIENT.token);
     printf("STEP node %d extends for %c: fence %d\n", n + 1, NAME(c), NODE.counter)
  :: else ->
     NODE.counter = MAX(NODE.counter + REJOIN_ADVANCES, CLIENT.token);
     left = (CLIENT.shared -> NODE.holders : NOBODY);
     claim();
     printf("STEP node %d rejoins %c: fence %d\n", n + 1, NAME(c), NODE.counter)
  fi
}

/* A client stops relying on its claims before they expire: its attempt fails, or its lock ends. */
#ifdef EXCLUSION
#ifndef IS_RELIED_ON
#define IS_RELIED_ON (CLIENT.stage <= HELD)
#endif
#define MAY_RELEASE (CLIENT.stage > HELD)
#else
#define IS_RELIED_ON false
#define MAY_RELEASE (CLIENT.stage >= HELD)
#endif

inline releaseArrives() {
  endClaim(NODE);
#ifdef RELEASE_RESETS
  NODE.counter = 0;
#endif
  printf("STEP node %d is released by %c\n", n + 1, NAME(c))
}

inline claimExpires() {
  endClaim(NODE);
#ifdef NODE_FORGETS
  NODE.counter = 0;
#endif
  printf("STEP node %d lets the claim of %c expire\n", n + 1, NAME(c))
}

/* Messages without effect are left out, such as a repeated acquire whose reply is lost. */
#ifdef RESEND_ADVANCES
#define MAY_ACQUIRE (CAN_ADVANCE && (IS_HOLDER || MAY_GRANT))
#else
#define MAY_ACQUIRE (IS_HOLDER -> EXPECTS_VOTE : MAY_GRANT && (JOINS || CAN_ADVANCE))
#endif

inline messageArrives() {
  findRemaining();
  if
  :: SERVES && MAY_ACQUIRE -> acquireArrives()
  :: CLIENT.proposals > 0 && MAY_RAISE -> proposalArrives()
  :: (CLIENT.stage == HELD || CLIENT.stage == ENDED) && CAN_EXTEND -> extensionArrives()
  :: MAY_RELEASE && IS_HOLDER -> releaseArrives()
  :: IS_HOLDER && !IS_RELIED_ON -> claimExpires()
  :: else
  fi
}

inline clientStep() {
  select(c : 0 .. started - 1);
  if
  :: CLIENT.stage < HELD -> fail(); printf("STEP %c gives up\n", NAME(c))
#ifdef EXCLUSION
  :: CLIENT.stage == HELD -> CLIENT.stage = ENDED; printf("STEP %c is done with its lock\n", NAME(c))
#endif
  :: CLIENT.stage < FORGET ->
     select(n : 0 .. NODES - 1);
     if
     :: KNOWS_NODE -> messageArrives()
     :: else
     fi
  :: else
  fi
}

#ifndef EXTENDED
init {
  do
  :: atomic { started < CLIENTS -> start(); endStep() }
  :: atomic { started > 0 -> clientStep(); endStep() }
#ifdef AT_ANY_MOMENT
  :: atomic { otherResource(); endStep() }
#endif
  od
}
#endif
