/*
 * One change of servers: clients go from the old set of nodes to both sets, and then to the new one, while a tool takes
 * the nodes along. This adds the epochs of clients and nodes, and the tool, to fencing.pml. README.md explains what is
 * modelled.
 *
 * A client of epoch 1 needs a majority of the old set, one of epoch 3 a majority of each set, and one of epoch 5 a
 * majority of the new set. A client of any epoch may start at any step. Nodes serve clients whose epoch differs from
 * their own by 1 at most: the tool takes old nodes from 0 to 3, and new ones from 2 to 5.
 *
 * The code of a wrong variant is under an #ifdef with the name of the variant.
 */

#ifndef OLD /* a bit for each node of the set; nodes in the same sets are neighbours */
#define NODES 4
#define OLD 7
#define NEW 8
#endif

#define EXTENDED
#define NODE_STATE ; byte epoch; byte floor; bit isClean
#define CLIENT_STATE byte epoch;
#define MAJORITY_OF(all, set) (2 * SIZE((set) & (all)) > SIZE(all))
#define IS_OLD (OLD >> n & 1)
#define IS_NEW (NEW >> n & 1)

#ifdef MAJORITY_OF_UNION
#define IS_QUORUM(set) MAJORITY_OF((CLIENT.epoch == 1 -> OLD : (CLIENT.epoch == 5 -> NEW : OLD | NEW)), set)
#else
#define IS_QUORUM(set) \
  ((CLIENT.epoch == 5 || MAJORITY_OF(OLD, set)) && (CLIENT.epoch == 1 || MAJORITY_OF(NEW, set)))
#endif
#define KNOWS_NODE (CLIENT.epoch < 5 && IS_OLD || CLIENT.epoch > 1 && IS_NEW)
#ifdef EPOCH_IGNORED
#define SERVES true
#else
#define SERVES (NODE.epoch == 0 || NODE.epoch <= CLIENT.epoch + 1 && CLIENT.epoch <= NODE.epoch + 1)
#endif
#if defined(WITHOUT_TOKENS)
#define GRANTS_FROM 0
#elif defined(NO_FLOOR)
#define GRANTS_FROM NODE.counter
#else
#define GRANTS_FROM MAX(NODE.counter, NODE.floor)
#endif
#define JOINS_AT GRANTS_FROM
#define settled()

/* With EXCLUSION, a lock rests on any quorum that holds it, so its claims may expire elsewhere, and rejoin there. */
#define HOLDS(at) (((node[at].holders & BIT) > 0) << (at))
#if NODES == 5
#define HOLDING (HOLDS(0) | HOLDS(1) | HOLDS(2) | HOLDS(3) | HOLDS(4))
#elif NODES == 4
#define HOLDING (HOLDS(0) | HOLDS(1) | HOLDS(2) | HOLDS(3))
#else
#define HOLDING (HOLDS(0) | HOLDS(1) | HOLDS(2))
#endif
#ifdef EXCLUSION
#define IS_RELIED_ON (CLIENT.stage < HELD || CLIENT.stage == HELD && !IS_QUORUM(HOLDING & (255 - (1 << n))))
#endif

#define EACH_OTHER_FENCE(DO) \
  DO(now.highest); \
  for (n = 0; n < NODES; n++) DO(now.node[n].floor);
#define SETS_OF(at) ((OLD >> (at) & 1) | (NEW >> (at) & 1) << 1)
#define OTHER_STATE(at) (now.node[at].floor << 4 | now.node[at].epoch << 1 | now.node[at].isClean)

byte highest; /* what the tool has read on nodes of the old set */
bit isSettled; /* no claim of epoch 1 counts any more */

inline begun() {
#if defined(OLD_FIRST) /* a small part of the states, for variants */
  client[c].epoch = (c == 0 -> 1 : 5);
#elif defined(WITHOUT_JOINT)
  if
  :: client[c].epoch = 1
  :: client[c].epoch = 5
  fi;
#else
  if
  :: client[c].epoch = 1
  :: client[c].epoch = 3
  :: client[c].epoch = 5
  fi;
#endif
  printf("ALSO it is of epoch %d\n", client[c].epoch)
}

#include "fencing.pml"

/* Clients of epoch 5 start after this. A few nodes may be left out: those that are no majority of the new set. */
inline begin() {
#ifndef BEGIN_LEFT_OUT
  for (n : 0 .. NODES - 1) {
    if
    :: IS_NEW -> NODE.epoch = 2
    :: IS_NEW && !MAJORITY_OF(NEW, left | 1 << n) -> left = left | 1 << n
    :: !IS_NEW
    fi
  }
#endif
  skip
}

/* The claims of clients of epoch 1. */
inline findOlder() {
  d_step {
    left = 0;
    for (i : 0 .. CLIENTS - 1) { left = left | ((client[i].epoch == 1) << (i + 1)) }
  }
#ifdef WITHOUT_WAITING
  left = 0
#endif
}

/* Reads the counter, too. */
inline findClean() {
  findOlder();
  if
  :: (NODE.holders & left) == 0 ->
     NODE.isClean = true;
#if defined(WITHOUT_TOKENS)
     highest = 0;
#elif defined(FLOOR_FROM_ONE_NODE)
     highest = (highest == 0 -> NODE.counter : highest);
#else
     highest = MAX(highest, NODE.counter);
#endif
     printf("STEP the tool finds no older claim on node %d: fence %d\n", n + 1, NODE.counter)
  :: else
  fi
}

/* For tokens, it is enough that each node is found without older claims. For exclusion, all must be at one moment. */
inline settle() {
  findOlder();
  d_step {
    voters = 0;
    for (i : 0 .. NODES - 1) {
      voters = voters | (node[i].isClean << i);
#if defined(EXCLUSION) && !defined(SCANNED_ONE_BY_ONE)
      left = left | (node[i].isClean && (node[i].holders & left) -> 1 : 0)
#endif
    }
  }
  if
#ifdef RAISED_ON_TOO_FEW
  :: voters != 0 && !(left & 1) ->
#else
  :: MAJORITY_OF(OLD, voters) && !(left & 1) ->
#endif
     isSettled = true;
     d_step {
       for (i : 0 .. NODES - 1) { node[i].isClean = false }
     }
     printf("STEP the tool has finished the old nodes: highest fence %d\n", highest)
  :: else
  fi
}

/* Above all that was read, by any amount, because it is the floor of all resources. */
inline raiseNew() {
  NODE.epoch = 4;
  NODE.floor = highest + 1;
  do
  :: NODE.floor < top -> NODE.floor++
  :: break
  od;
  printf("STEP the tool raises node %d to epoch 4, with floor %d\n", n + 1, NODE.floor)
}

/* When a majority of the new set has the floor, clients of epoch 5 replace the others. */
#define HAS_FLOOR(at) ((node[at].floor > 0) << (at))
#if NODES == 5
#define HAVE_FLOOR (HAS_FLOOR(0) | HAS_FLOOR(1) | HAS_FLOOR(2) | HAS_FLOOR(3) | HAS_FLOOR(4))
#elif NODES == 4
#define HAVE_FLOOR (HAS_FLOOR(0) | HAS_FLOOR(1) | HAS_FLOOR(2) | HAS_FLOOR(3))
#else
#define HAVE_FLOOR (HAS_FLOOR(0) | HAS_FLOOR(1) | HAS_FLOOR(2))
#endif

#ifdef OPENED_TOO_EARLY
#define JOINT 4 /* serves clients of epochs 3 and 5 */
#else
#define JOINT 3 /* serves clients of epoch 3 alone */
#endif

inline toolStep() {
  select(n : 0 .. NODES - 1);
  if
  :: !isSettled && IS_OLD && NODE.epoch < JOINT ->
     NODE.epoch = JOINT;
     printf("STEP the tool raises node %d to epoch %d\n", n + 1, JOINT)
  :: !isSettled && IS_OLD && NODE.epoch == JOINT && !NODE.isClean -> findClean()
  :: !isSettled -> settle()
  :: isSettled && IS_NEW && NODE.floor == 0 -> raiseNew()
#ifdef SERVED_BEFORE_FLOOR
  :: !isSettled && IS_NEW && NODE.epoch < 4 ->
     NODE.epoch = 4;
     printf("STEP the tool raises node %d to epoch 4, without a floor\n", n + 1)
#endif
  :: IS_NEW && NODE.epoch == 4 && MAJORITY_OF(NEW, HAVE_FLOOR) ->
     NODE.epoch = 5;
     printf("STEP the tool raises node %d to epoch 5\n", n + 1)
  :: else
  fi
}

init {
  atomic { begin(); endStep() }
  do
  :: atomic { started < CLIENTS -> start(); endStep() }
  :: atomic { started > 0 -> clientStep(); endStep() }
  :: atomic { toolStep(); endStep() }
  od
}
