/*
 * A node loses its memory, comes back, and is healed: it gets a floor for its counters before it votes again. This adds
 * the loss and the tool to fencing.pml. README.md explains what is modelled.
 *
 * The code of a wrong variant is under an #ifdef with the name of the variant.
 */

#ifndef LOSSES
#define LOSSES 1 /* one after the other: a node is healed before the next one loses its memory */
#endif
#ifndef READS
#define READS (NODES - QUORUM + 1) /* how many of the other nodes the tool reads */
#endif

#define EXTENDED
#define NODE_STATE ; byte floor; bit isLost; bit isRead
#define CLIENT_STATE bit isOld; /* its attempt is in progress, and the lost node granted it before the loss */
#define IS_QUORUM(set) (SIZE(set) >= QUORUM)
#define KNOWS_NODE true
#define SERVES (!NODE.isLost)
#define begun()
#define settled() CLIENT.isOld = false

/* The counter that a grant starts from, and that of a sharer that joins. */
#if defined(NO_FLOOR)
#define GRANTS_FROM NODE.counter
#elif defined(FLOOR_FOR_MISSING_COUNTERS)
#define GRANTS_FROM (NODE.counter == 0 -> NODE.floor : NODE.counter)
#else
#define GRANTS_FROM MAX(NODE.counter, NODE.floor)
#endif
#ifdef JOINER_IGNORES_FLOOR
#define JOINS_AT NODE.counter
#else
#define JOINS_AT GRANTS_FROM
#endif

#define EACH_OTHER_FENCE(DO) \
  DO(now.highest); \
  for (n = 0; n < NODES; n++) DO(now.node[n].floor);
#define SETS_OF(node) 0
#define OTHER_STATE(at) (now.node[at].floor << 2 | now.node[at].isLost << 1 | now.node[at].isRead)

byte losses, reads;
byte highest; /* what the tool has read */
bit isHealing; /* a node is lost */

#include "fencing.pml"

inline loseMemory() {
  losses++;
  isHealing = true;
  NODE.holders = NOBODY;
  NODE.counter = 0;
  NODE.floor = 0;
  NODE.isLost = true;
  d_step {
    for (i : 0 .. CLIENTS - 1) {
      client[i].isOld = ((client[i].stage == VOTING || client[i].stage == AGREEING) && client[i].heard[n] > 0)
    }
  }
  printf("STEP node %d loses its memory\n", n + 1)
}

/* The tool waits until the attempts that the lost node had granted have ended: no validity outlasts the ttl. */
#ifdef READ_TOO_EARLY
#define HAVE_ENDED true
#elif CLIENTS == 2
#define HAVE_ENDED !(client[0].isOld || client[1].isOld)
#else
#define HAVE_ENDED !(client[0].isOld || client[1].isOld || client[2].isOld)
#endif
#ifdef READ_BEFORE_LOSS
#define MAY_LOSE (losses < LOSSES && reads >= READS && !NODE.isRead && MAY_LOSE_NOW)
#define MAY_READ (losses < LOSSES && reads < READS && !NODE.isRead)
#else
#define MAY_LOSE (losses < LOSSES && !isHealing && MAY_LOSE_NOW)
#define MAY_READ (isHealing && !NODE.isLost && !NODE.isRead && HAVE_ENDED)
#endif

/* A small part of the states, for variants: one client starts before the loss, and the other one after the floor. */
#ifdef HEALED_BETWEEN
#define MAY_LOSE_NOW (started == 1)
#define MAY_START (started == (losses == LOSSES && !isHealing))
#else
#define MAY_LOSE_NOW true
#define MAY_START (started < CLIENTS)
#endif

inline readNode() {
  reads++;
  NODE.isRead = true;
  highest = MAX(highest, MAX(NODE.counter, NODE.floor));
  printf("STEP the tool reads node %d: %d\n", n + 1, highest)
}

/* The floor is above all that was read, by any amount, because it is the floor of all resources. */
inline raiseFloor() {
#ifdef FLOOR_IS_HIGHEST
  NODE.floor = highest;
#else
  NODE.floor = highest + 1;
#endif
  do
  :: NODE.floor < top -> NODE.floor++
  :: break
  od;
  NODE.isLost = false;
  isHealing = false;
  highest = 0;
  reads = 0;
  d_step {
    for (i : 0 .. NODES - 1) { node[i].isRead = false }
  }
  printf("STEP the tool heals node %d: floor %d\n", n + 1, NODE.floor)
}

/* A stranger that has a lock restores its claim on the lost node, which leaves it with a counter of any size. */
#define MAY_BE_REJOINED (NODE.isLost && NODE.counter == 0)

inline strangerRejoins() {
  NODE.counter = 1;
  advanceFurther();
  if
#if !defined(SHARED) || SHARED != 0
  :: NODE.holders = SHARERS
#endif
  :: true
  fi;
  printf("STEP node %d rejoins another owner: fence %d\n", n + 1, NODE.counter)
}

inline toolStep() {
  select(n : 0 .. NODES - 1);
  if
  :: MAY_LOSE -> loseMemory()
  :: MAY_READ -> readNode()
  :: NODE.isLost && reads >= READS -> raiseFloor()
  :: MAY_BE_REJOINED -> strangerRejoins()
  :: else
  fi
}

init {
  do
  :: atomic { MAY_START -> start(); endStep() }
  :: atomic { started > 0 -> clientStep(); endStep() }
  :: atomic { toolStep(); endStep() }
  od
}
