/*
 * How core and the nodes agree on fencing tokens. README.md says what is modelled, and why that is enough.
 *
 * One process makes one step after another. Most steps are a message that arrives at a node, and what its reply does to
 * the client if it is heard; others just happen. A message that was sent may arrive at any node at any later step, any
 * number of times or never, so there are no channels: which messages there are follows from the stage of the client.
 *
 * What a wrong variant does instead stands under an #ifdef with the name of the variant.
 */

#ifndef NODES
#define NODES 3
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef QUORUM
#define QUORUM (NODES / 2 + 1)
#endif
#define PROPOSALS 3 /* maxProposals in acquire.ts */

#define NOBODY 0
#ifdef SHARED_OWNER
#define OWNER 1
#else
#define OWNER (c + 1)
#endif

/* A client makes one attempt. The vote and the agreement are its two parts; what comes after a lock is part of HELD. */
#define IDLE 0
#define VOTING 1
#define AGREEING 2
#define HELD 3
#define FAILED 4

typedef Node {
  byte holder;
  byte counter
}

typedef Client {
  byte stage;
  byte heard[NODES];        /* the fence that each node was last heard to have, 0 if it was not */
  byte proposed[PROPOSALS];
  byte proposals;
  byte token;               /* 0 as long as it has no lock */
  byte before               /* a bit for each client whose lock was complete when this one started */
}

Node node[NODES];
Client client[CLIENTS];
byte started;

/* What the step at hand is about. They are 0 between steps, so as not to tell states apart. */
byte c, n, i, fence, count;

#define CLIENT client[c]
#define NODE node[n]
#define IS_HOLDER (NODE.holder == OWNER)
#define MAX(a, b) ((a) > (b) -> (a) : (b))

#ifdef NUMBERS
/* For people: fences are numbers, up to this one, and each node stays where it is. */
byte top = NUMBERS;
#else
/* For proof: see canonical.c. A step may take each fence in use, one in each gap between them, and one above them all. */
byte top = 1;
c_code {
#include "canonical.c"
}
#endif

inline endStep() {
#ifdef NUMBERS
  printf("NODES");
  for (i : 0 .. NODES - 1) { printf(" %d:%d", node[i].holder, node[i].counter) }
  printf("\n");
  c = 0; n = 0; i = 0; fence = 0; count = 0
#else
  c_code { canonical(); now.c = now.n = now.i = now.fence = now.count = 0; }
#endif
}

inline start() {
  c = started;
  started++;
  CLIENT.stage = VOTING;
  for (i : 0 .. CLIENTS - 1) { CLIENT.before = CLIENT.before | ((client[i].token > 0) << i) }
  printf("STEP %c starts, and asks all nodes for the lock\n", 65 + c)
}

/* What the client has learned matters no longer, and what it proposed does not either: see README.md. */
inline forget() {
  for (i : 0 .. NODES - 1) { CLIENT.heard[i] = 0 }
#ifndef LINGER
  for (i : 0 .. PROPOSALS - 1) { CLIENT.proposed[i] = 0 }
  CLIENT.proposals = 0;
#endif
  CLIENT.before = 0
}

inline fail() {
  CLIENT.stage = FAILED;
#ifndef LINGER
  for (i : 0 .. NODES - 1) { node[i].holder = (node[i].holder == OWNER -> NOBODY : node[i].holder) }
#endif
  forget()
}

inline complete() {
  CLIENT.stage = HELD;
  CLIENT.token = fence;
  printf("STEP %c has the lock, with token %d\n", 65 + c, fence);
  for (i : 0 .. CLIENTS - 1) {
    if
    :: i != c && client[i].token == fence ->
       printf("WRONG %c and %c have the same token, %d\n", 65 + i, 65 + c, fence);
       assert(false)
    :: (CLIENT.before & (1 << i)) && client[i].token > fence ->
       printf("WRONG %c had token %d before %c started, which has token %d\n", 65 + i, client[i].token, 65 + c, fence);
       assert(false)
    :: else
    fi
  }
  forget()
}

/* Finds the highest fence heard, and how many nodes were heard to have it. */
inline tally() {
  fence = 0;
  for (i : 0 .. NODES - 1) { fence = MAX(fence, CLIENT.heard[i]) }
  count = 0;
  for (i : 0 .. NODES - 1) { count = count + (CLIENT.heard[i] == fence) }
}

inline propose() {
  CLIENT.stage = AGREEING;
  CLIENT.proposed[CLIENT.proposals] = fence;
  CLIENT.proposals++;
  /* Lower fences are never counted again: as good as not heard. */
  for (i : 0 .. NODES - 1) { CLIENT.heard[i] = (CLIENT.heard[i] == fence -> fence : 0) }
  printf("STEP %c proposes %d to the others\n", 65 + c, fence)
}

/* agreeOnFence() in acquire.ts, as soon as the votes or the replies to a proposal decide. */
inline agree() {
  tally();
#ifdef NO_AGREEMENT
  count = NODES;
#endif
  if
  :: count >= QUORUM -> complete()
  :: else -> propose()
  fi
}

inline hearVote() {
  CLIENT.heard[n] = NODE.counter;
  printf("STEP   and %c hears it\n", 65 + c);
  count = 0;
  for (i : 0 .. NODES - 1) { count = count + (CLIENT.heard[i] > 0) }
  if
  :: count >= QUORUM -> agree()
  :: else
  fi
}

inline hearRaise() {
  CLIENT.heard[n] = NODE.counter;
#ifdef RAISE_MISREPORTED
  CLIENT.heard[n] = fence;
#endif
  printf("STEP   and %c hears it\n", 65 + c);
  if
  :: CLIENT.heard[n] > fence && CLIENT.proposals == PROPOSALS -> fail()
  :: CLIENT.heard[n] > fence && CLIENT.proposals < PROPOSALS ->
     fence = CLIENT.heard[n];
     propose()
  :: else ->
     tally();
     if
     :: count >= QUORUM -> complete()
     :: else
     fi
  fi
}

/* The node advances its counter by any amount: the client's hint, the node's clock, strangers in between. */
inline grant() {
  do
  :: fence < top -> fence++
  :: break
  od;
  NODE.counter = fence;
  NODE.holder = OWNER
}

inline acquireArrives() {
  if
  :: IS_HOLDER -> printf("STEP node %d has the acquire of %c again: fence %d\n", n + 1, 65 + c, NODE.counter)
  :: NODE.holder == NOBODY && NODE.counter < top ->
     fence = NODE.counter + 1;
     grant();
     printf("STEP node %d grants the acquire of %c: fence %d\n", n + 1, 65 + c, NODE.counter)
  :: NODE.holder != NOBODY && !IS_HOLDER && NODE.counter < top ->
#ifdef TAKEOVER_WITHOUT_ADVANCE
     NODE.holder = OWNER;
#else
     fence = NODE.counter + 1;
     grant();
#endif
     printf("STEP node %d hands over to %c: fence %d\n", n + 1, 65 + c, NODE.counter)
  fi;
  if
  :: CLIENT.stage == VOTING && CLIENT.heard[n] == 0 -> hearVote()
  :: skip
  fi
}

inline proposalArrives() {
  select(i : 0 .. CLIENT.proposals - 1);
  fence = CLIENT.proposed[i];
  NODE.counter = MAX(NODE.counter, fence);
  printf("STEP node %d has the proposal of %c, %d: fence %d\n", n + 1, 65 + c, fence, NODE.counter);
#ifdef RECREATED
  NODE.holder = OWNER;
#endif
  if
  :: CLIENT.stage == AGREEING && i + 1 == CLIENT.proposals && CLIENT.heard[n] == 0 -> hearRaise()
  :: skip
  fi
}

#if defined(EXPIRED_CONFIRMED) || defined(RECREATED)
#define MAY_RAISE (IS_HOLDER || NODE.holder == NOBODY)
#else
#define MAY_RAISE IS_HOLDER
#endif

inline extensionArrives() {
  if
  :: IS_HOLDER -> NODE.counter = MAX(NODE.counter, CLIENT.token)
  :: NODE.holder == NOBODY && NODE.counter < top ->
#ifdef REJOIN_WITHOUT_ADVANCE
     NODE.counter = MAX(NODE.counter, CLIENT.token);
     NODE.holder = OWNER
#else
     fence = MAX(NODE.counter + 1, CLIENT.token);
     grant()
#endif
  fi;
  printf("STEP node %d has an extension of %c: fence %d\n", n + 1, 65 + c, NODE.counter)
}

inline releaseArrives() {
  NODE.holder = NOBODY;
#ifdef RELEASE_RESETS
  NODE.counter = 0;
#endif
  printf("STEP node %d has the release of %c\n", n + 1, 65 + c)
}

inline messageArrives() {
  if
  :: IS_HOLDER || NODE.counter < top -> acquireArrives()
  :: CLIENT.proposals > 0 && MAY_RAISE -> proposalArrives()
  :: CLIENT.stage == HELD && (IS_HOLDER || (NODE.holder == NOBODY && NODE.counter < top)) -> extensionArrives()
  :: CLIENT.stage >= HELD && IS_HOLDER -> releaseArrives()
  :: else
  fi
}

/* Steps of a node by itself. */
inline nodeChanges() {
  NODE.holder = NOBODY;
#ifdef FORGETFUL_NODE
  NODE.counter = 0;
#endif
  printf("STEP the claim on node %d expires\n", n + 1)
}

init {
  do
  :: atomic { started < CLIENTS -> start(); endStep() }
  :: atomic { select(n : 0 .. NODES - 1); nodeChanges(); endStep() }
  :: atomic { started > 0 ->
       select(c : 0 .. started - 1);
       if
       :: CLIENT.stage < HELD -> fail(); printf("STEP %c gives up\n", 65 + c)
       :: CLIENT.stage == FAILED
#ifdef LINGER
         ; select(n : 0 .. NODES - 1); messageArrives()
#endif
       :: CLIENT.stage != FAILED -> select(n : 0 .. NODES - 1); messageArrives()
       fi;
       endStep() }
  od
}
